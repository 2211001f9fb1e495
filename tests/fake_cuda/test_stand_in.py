"""The stand-in CUDA library keeps the contract, and does what tests ask of it."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

from .build import DRIVER, RUNTIME
from .hooks import CONTRACT, Copies, StandIn, contract, elsewhere

SUCCESS, INVALID_VALUE, NO_MEMORY, NO_DEVICE, INVALID_DEVICE, INVALID_HANDLE = 0, 1, 2, 100, 101, 400
LEGACY, PER_THREAD = 1, 2
STATED = 25  # what the contract states for any library


class TestContract:
    @pytest.mark.parametrize(("part", "count"), [("contract", STATED), ("stand_in_only", 14)])
    def test_it_is_kept(self, stand_in: StandIn, part: str, count: int) -> None:
        facts = list(getattr(contract, part)(stand_in))
        assert [fact for fact in facts if not fact.holds] == []
        assert len({fact.what for fact in facts}) == len(facts) == count

    def test_the_command(self, tmp_path: Path) -> None:
        command = [sys.executable, str(CONTRACT), RUNTIME, "--json", str(tmp_path / "found.json")]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        found = json.loads((tmp_path / "found.json").read_text("utf-8"))
        assert sum(fact["part"] == "contract" for fact in found["facts"]) == STATED
        assert found["differences"] == 0
        assert all(fact["holds"] for fact in found["facts"])

    def test_differences_are_counted_and_said(
        self, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        stand_in.fail_next("cudaMallocHost", NO_MEMORY)
        monkeypatch.setattr(sys, "argv", ["contract.py", RUNTIME])
        assert contract.main() == 2  # it is not made, so not read either
        differ = [line for line in capsys.readouterr().out.splitlines() if line.startswith("DIFF")]
        assert "pinned memory: got (2, (0, 0, -2)), expected (0, (0, 1, 0))" in differ[0]

    def test_every_call_fails_without_a_device(
        self, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        stand_in.set_devices(0)
        assert [fact.what for fact in contract.contract(stand_in) if fact.holds] == []
        monkeypatch.setattr(sys, "argv", ["contract.py", RUNTIME])
        assert contract.main() >= STATED
        assert "every call failed with 100 (cudaErrorNoDevice: no CUDA-capable" in capsys.readouterr().out


class TestHooks:
    def test_calls_by_name(self, stand_in: StandIn) -> None:
        stand_in.call("cudaFree", 0)
        stand_in.call("cudaStreamSynchronize", 12345)
        stand_in.driver.cuInit(0)
        assert stand_in.calls() == ["cudaFree", "cudaStreamSynchronize", "cuInit"]
        stand_in.forget_calls()
        assert stand_in.calls() == []

    def test_many_calls(self, stand_in: StandIn) -> None:
        for _ in range(5000):
            stand_in.call("cudaFree", 0)
        assert stand_in.calls() == ["cudaFree"] * 5000

    def test_bytes_by_device(self, stand_in: StandIn) -> None:
        before = [stand_in.used(device) for device in (0, 1)]
        first, second = stand_in.allocate(b"1" * 100), stand_in.allocate(b"2" * 20, device=1)
        assert [stand_in.used(device) - before[device] for device in (0, 1)] == [100, 20]
        assert stand_in.call("cudaFree", second) == stand_in.call("cudaFree", first) == SUCCESS
        assert [stand_in.used(device) for device in (0, 1)] == before

    def test_live_events_and_streams(self, stand_in: StandIn) -> None:
        before = stand_in.events(), stand_in.streams()
        event, stream = stand_in.event(), stand_in.stream()
        stand_in.call("cudaStreamSynchronize", PER_THREAD)  # made by nobody
        assert (stand_in.events(), stand_in.streams()) == (before[0] + 1, before[1] + 1)
        stand_in.call("cudaEventDestroy", event)
        stand_in.call("cudaStreamDestroy", stream)
        assert (stand_in.events(), stand_in.streams()) == before

    def test_a_failure_that_was_asked_for(self, stand_in: StandIn) -> None:
        before = stand_in.used(0)
        stand_in.fail_next("cudaMalloc", NO_MEMORY)
        assert stand_in.call("cudaFree", 0) == SUCCESS
        assert stand_in.make("cudaMalloc", 8) == (NO_MEMORY, 0)
        assert stand_in.used(0) == before
        status, memory = stand_in.make("cudaMalloc", 8)
        assert (status, stand_in.call("cudaFree", memory)) == (SUCCESS, SUCCESS)
        assert stand_in.call("cudaGetLastError") == NO_MEMORY

    @pytest.mark.parametrize(
        "name", sorted(set(contract.PROTOTYPES) - {"cudaRuntimeGetVersion", "cudaDriverGetVersion"})
    )
    def test_no_device(self, stand_in: StandIn, name: str) -> None:
        stand_in.set_devices(0)
        room = ctypes.create_string_buffer(256)
        arguments = [room if kind is ctypes.c_void_p else 0 for kind in contract.PROTOTYPES[name]]
        assert stand_in.call(name, *arguments) == NO_DEVICE

    def test_versions_need_no_device(self, stand_in: StandIn) -> None:
        stand_in.set_devices(0)
        assert stand_in.number("cudaRuntimeGetVersion") == stand_in.number("cudaDriverGetVersion") == 13000

    def test_more_devices(self, stand_in: StandIn) -> None:
        assert stand_in.number("cudaGetDeviceCount") == 2
        assert stand_in.call("cudaSetDevice", 2) == INVALID_DEVICE
        stand_in.set_devices(3)
        assert stand_in.number("cudaGetDeviceCount") == 3
        memory = stand_in.allocate(b"x", device=2)
        assert stand_in.attributes(memory) == (SUCCESS, contract.DEVICE, 2)
        assert stand_in.call("cudaFree", memory) == SUCCESS

    def test_less_strict_the_legacy_stream_drains_blocking_ones(self, stand_in: StandIn, copies: Copies) -> None:
        blocking, other = stand_in.stream(flags=0), stand_in.stream()
        copies.queue(b"b", blocking)
        stand_in.call("cudaStreamSynchronize", LEGACY)
        assert copies.seen() == b"0"
        stand_in.set_strict(False)
        stand_in.call("cudaStreamSynchronize", LEGACY)
        assert copies.seen() == b"b"
        copies.queue(b"n", other)
        stand_in.call("cudaStreamSynchronize", LEGACY)
        assert copies.seen() == b"b"

    def test_both_libraries_are_one(self, stand_in: StandIn) -> None:
        memory = stand_in.allocate(b"both", device=1)
        kind, ordinal = ctypes.c_uint(), ctypes.c_int()
        assert stand_in.driver.cuPointerGetAttribute(ctypes.byref(kind), 2, ctypes.c_void_p(memory)) == SUCCESS
        assert stand_in.driver.cuPointerGetAttribute(ctypes.byref(ordinal), 9, ctypes.c_void_p(memory)) == SUCCESS
        assert (kind.value, ordinal.value) == (2, 1)  # CU_MEMORYTYPE_DEVICE
        assert stand_in.driver.cuMemFree_v2(ctypes.c_void_p(memory)) == SUCCESS
        assert stand_in.call("cudaFree", memory) == INVALID_VALUE

    def test_the_driver_is_asked_for_functions_by_name(self, stand_in: StandIn) -> None:
        found, status = ctypes.c_void_p(), ctypes.c_int()
        ask = stand_in.driver.cuGetProcAddress_v2
        assert ask(b"cuMemFree", ctypes.byref(found), 13000, ctypes.c_uint64(0), ctypes.byref(status)) == SUCCESS
        assert found.value == ctypes.cast(ctypes.CDLL(DRIVER).cuMemFree_v2, ctypes.c_void_p).value
        assert ask(b"cuLaunchKernel", ctypes.byref(found), 13000, ctypes.c_uint64(0), ctypes.byref(status)) != SUCCESS
        assert (found.value, status.value) == (None, 1)


class TestLastError:
    def test_it_stays_until_it_is_asked_for(self, stand_in: StandIn) -> None:
        assert stand_in.call("cudaFree", 1) == INVALID_VALUE
        assert stand_in.call("cudaFree", 0) == SUCCESS
        assert [stand_in.call("cudaPeekAtLastError") for _ in range(2)] == [INVALID_VALUE] * 2
        assert [stand_in.call("cudaGetLastError") for _ in range(2)] == [INVALID_VALUE, SUCCESS]
        assert stand_in.call("cudaPeekAtLastError") == SUCCESS

    def test_the_last_one_counts(self, stand_in: StandIn) -> None:
        stand_in.call("cudaFree", 1)
        stand_in.call("cudaSetDevice", 7)
        assert stand_in.call("cudaGetLastError") == INVALID_DEVICE

    def test_each_thread_has_its_own(self, stand_in: StandIn) -> None:
        stand_in.call("cudaFree", 1)
        assert elsewhere(lambda: stand_in.call("cudaGetLastError")) == SUCCESS
        assert stand_in.call("cudaGetLastError") == INVALID_VALUE

    def test_the_driver_has_none(self, stand_in: StandIn) -> None:
        assert stand_in.driver.cuMemFree_v2(ctypes.c_void_p(1)) == INVALID_VALUE
        assert stand_in.call("cudaGetLastError") == SUCCESS

    @pytest.mark.parametrize(
        ("status", "text"),
        [
            (SUCCESS, "0 (cudaSuccess: no error)"),
            (INVALID_VALUE, "1 (cudaErrorInvalidValue: invalid argument)"),
            (INVALID_HANDLE, "400 (cudaErrorInvalidResourceHandle: invalid resource handle)"),
            (98765, "98765 (unrecognized error code: unrecognized error code)"),
        ],
    )
    def test_in_words(self, stand_in: StandIn, status: int, text: str) -> None:
        assert stand_in.error(status) == text
