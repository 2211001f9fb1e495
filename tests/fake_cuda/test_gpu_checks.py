"""The checks for a GPU, on the stand-in and a double of CuPy: that they can pass, and that each finds what it is for.

What they show of CUDA and of CuPy is for hardware to say. Here they are what is tested: a check that passes with a
`buflend` that orders nothing, or holds no owner, would prove nothing on hardware either.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from buflend.maximal import as_buffer, cuda_array_interface
from buflend.shared import Device, arrays, cuda, dlpack_export

from ..gpu_checks import load
from . import cupy_like
from .hooks import StandIn

check, exchange, owners, race = (load(name) for name in ("check", "exchange", "owners", "race"))
CHECKS: dict[str, Any] = load("checks").CHECKS

# Libraries that run on the stand-in; the others have no double.
USABLE = {"cupy", "numba.cuda", "cuda.core"}
HERE = [name for name, one in CHECKS.items() if set(one.needs) <= USABLE]
ELSEWHERE = [name for name in CHECKS if name not in HERE]
ORDER = [name for name in HERE if CHECKS[name].function.__module__ == "gpu_check.order"]

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def _cupy(stand_in: StandIn, monkeypatch: Patch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cupy", cupy_like.library(stand_in))
    monkeypatch.setattr(owners, "EXCHANGES", 300)
    monkeypatch.setattr(owners, "WARMING", 10)
    monkeypatch.setattr(owners, "SIZE", 1 << 16)
    race.streams.cache_clear()
    yield
    race.streams.cache_clear()


def judged(name: str) -> dict[str, Any]:
    for library in CHECKS[name].needs:
        pytest.importorskip(library)
    row: dict[str, Any] = check.judge(CHECKS[name])
    assert row["check"] == name
    return row


@pytest.mark.parametrize("name", HERE)
def test_it_passes(name: str) -> None:
    row = judged(name)
    assert (row["verdict"], row["reason"]) == ("PASS", "")
    assert "sick" not in row


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_needs_another_library_is_skipped(name: str, monkeypatch: Patch) -> None:
    for library in ("torch", "jax"):
        monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed: importing takes long
    row = check.judge(CHECKS[name])
    assert (row["verdict"], row["figures"]) == ("SKIP", {})
    assert row["reason"] in {"torch is not installed", "jax is not installed"}


def nothing_is_ordered(patch: Patch) -> None:
    patch.setattr(cuda, "order", lambda *_: None)


def nothing_is_waited_for(patch: Patch) -> None:
    for module in (cuda, cuda_array_interface):
        patch.setattr(module, "synchronize", lambda *_: None)


def events_are_not_waited_for(patch: Patch) -> None:
    patch.setattr(cuda, "wait_event", lambda _: None)


def no_stream_is_named(patch: Patch) -> None:
    patch.setattr(cuda_array_interface, "stream_of", lambda _: None)


def no_order_is_asked_for(patch: Patch) -> None:
    ordered = cupy_like.ndarray.__dlpack__
    patch.setattr(cupy_like.ndarray, "__dlpack__", lambda array, **options: ordered(array, **{**options, "stream": -1}))


def the_host_waits_instead(patch: Patch) -> None:
    patch.setattr(cuda, "order", lambda before, _, ordinal, *__: cuda.synchronize(before, ordinal))


def nothing_is_late(patch: Patch) -> None:
    start = cupy_like.RawKernel.__call__

    def at_once(kernel: Any, *arguments: Any) -> None:
        start(kernel, *arguments)
        cupy_like.State.call("cudaDeviceSynchronize")

    patch.setattr(cupy_like.RawKernel, "__call__", at_once)


def exports_hold_no_owner(patch: Patch) -> None:
    exporter = dlpack_export.exporter
    patch.setattr(dlpack_export, "exporter", lambda _, tensor, **options: exporter(object(), tensor, **options))


def buffers_stay(patch: Patch) -> None:
    kept: list[object] = []
    patch.setattr(owners, "as_buffer", lambda array: kept.append(made := as_buffer(array)) or made)


def memory_is_not_returned(patch: Patch) -> None:
    leaked: list[object] = []

    def leak(array: Any) -> Any:
        leaked.append(cupy_like.ndarray(1, "u1"))
        return as_buffer(array)

    patch.setattr(owners, "as_buffer", leak)


def buffers_are_copies(patch: Patch) -> None:
    patch.setattr(exchange, "as_buffer", lambda array: as_buffer(cupy_like.asarray(array.get())))


def bytes_are_wrong(patch: Patch) -> None:
    def spoilt(array: Any) -> Any:
        array.data.memset(1, 1)
        cupy_like.State.call("cudaDeviceSynchronize")
        return as_buffer(array)

    patch.setattr(exchange, "as_buffer", spoilt)


def the_ordinal_is_wrong(patch: Patch) -> None:
    patch.setattr(cuda, "device_at", lambda _: Device(2, 1))


def the_host_is_let_in(patch: Patch) -> None:
    patch.setattr(arrays, "admit_host", lambda *_: None)


# What is broken -> checks that must find it, and words of the reason.
BROKEN: list[tuple[Callable[[Patch], None], tuple[str, ...], str]] = [
    (
        nothing_is_ordered,
        (
            "dlpack_orders_streams",
            "dlpack_of_a_column_orders_streams",
            "dlpack_orders_the_default_stream",
            "as_cupy_orders_streams",
            "an_interface_in_as_cupy_orders_streams",
            "cuda_core_orders_streams",
            "streams_of_the_second_device_are_ordered",
        ),
        "old bytes were seen",
    ),
    (
        nothing_is_waited_for,
        ("an_interface_in_is_waited_for", "arrow_out_is_ready", "the_host_reads_managed_memory_when_it_is_ready"),
        "old bytes were seen",
    ),
    (events_are_not_waited_for, ("arrow_in_is_waited_for",), "old bytes were seen"),
    (
        no_stream_is_named,
        ("an_interface_out_is_waited_for_by_numba", "cuda_core_orders_streams"),
        "old bytes were seen",
    ),
    (no_stream_is_named, ("an_interface_out_names_its_stream",), "stream: got None, expected 1"),
    (
        no_order_is_asked_for,
        ("dlpack_orders_streams", "arrow_out_is_ready", "the_copy_to_the_host_comes_behind_the_producer"),
        "old bytes were seen",
    ),
    (the_host_waits_instead, ("dlpack_orders_streams", "as_cupy_orders_streams"), "the host waited for the producer"),
    (nothing_is_late, tuple(ORDER), "proves nothing: without order, too, new bytes are seen"),
    (exports_hold_no_owner, ("the_owner_lives_as_long_as_cupys_view",), "the owner lives while it is viewed"),
    (buffers_stay, ("the_owner_lives_as_long_as_cupys_view",), "the owner, when nothing views it: got <"),
    (buffers_stay, ("nothing_is_left_by_100000_exchanges",), "references to the source: got "),
    (memory_is_not_returned, ("nothing_is_left_by_100000_exchanges",), "bytes that CuPy has lent: got 310, expected 0"),
    (buffers_are_copies, ("to_cupy_and_back", "to_numba_and_back", "to_cuda_core_and_back"), "address: got"),
    (bytes_are_wrong, ("to_cupy_and_back", "to_numba_and_back", "to_cuda_core_and_back"), "value 0: got 1, expected 0"),
    (the_ordinal_is_wrong, ("an_ordinal_that_nobody_named_is_asked_for",), "device: got Device"),
    (the_host_is_let_in, ("the_host_is_refused",), "as_ndarray: got ndarray, expected"),
]


@pytest.mark.parametrize(
    ("break_it", "name", "said"),
    [
        pytest.param(broken, name, said, id=f"{broken.__name__}-{name}")
        for broken, names, said in BROKEN
        for name in names
    ],
)
def test_it_finds_what_is_broken(monkeypatch: Patch, break_it: Callable[[Patch], None], name: str, said: str) -> None:
    break_it(monkeypatch)
    row = judged(name)
    assert row["verdict"] == "FAIL"
    assert said in row["reason"]


def test_every_check_of_order_is_named() -> None:
    assert len(ORDER) >= 14
    assert {name for _, names, _ in BROKEN for name in names} >= set(ORDER)


def test_the_benchmarks(monkeypatch: Patch) -> None:
    pytest.importorskip("buflend.bench.timing", reason="the command is not installed")
    for library in ("torch", "jax"):
        monkeypatch.setitem(sys.modules, library, None)
    found = {row["check"]: row for row in load("benchmarks").run(0.02)}
    for name, row in found.items():
        absent = row["reason"].endswith(" is not installed")
        assert (row["verdict"], bool(row["reason"])) == ("SKIP" if absent else "PASS", absent), (name, row["reason"])
        assert not absent or "torch" in name or "tensor" in name or "numba_cuda" in name or "views" in name
    exported = found["a CuPy array by DLPack: cupy.from_dlpack(buffer)"]["figures"]
    assert {"bar", "bar is", "stretch", "stretch is", "ratio", "microseconds", "rounds", "calls"} <= exported.keys()
    assert (exported["bar"], exported["stretch"], exported["against"]) == (1.3, 1.1, "cupy.from_dlpack(array)")


class TestErrors:
    def judge(self, function: Callable[[], object]) -> dict[str, Any]:
        row: dict[str, Any] = check.judge(check.Check("made_here", (), function))
        return row

    def test_one_that_is_left_behind(self, stand_in: StandIn) -> None:
        row = self.judge(lambda: stand_in.call("cudaFree", 0xDEAD) and None)
        assert (row["verdict"], row["reason"]) == ("FAIL", "a CUDA error was left behind: 1, invalid argument")
        assert "sick" not in row
        assert self.judge(lambda: None)["verdict"] == "PASS"

    def test_one_of_whoever_was_here_before(self, stand_in: StandIn) -> None:
        stand_in.call("cudaFree", 0xDEAD)
        assert self.judge(lambda: None)["verdict"] == "PASS"

    def test_that_a_stream_is_at_work_is_none(self, stand_in: StandIn) -> None:
        def ask() -> None:
            address, stream = stand_in.allocate(b"x"), stand_in.stream()
            stand_in.call("cudaMemsetAsync", address, 1, 1, stream)
            assert stand_in.call("cudaStreamQuery", stream) == 600

        assert self.judge(ask)["verdict"] == "PASS"

    def test_a_device_that_answers_no_more(self, stand_in: StandIn) -> None:
        row = self.judge(lambda: stand_in.fail_next("cudaStreamSynchronize", 700))
        assert (row["verdict"], row["sick"]) == ("FAIL", True)
        assert "CUDA error 700, an illegal memory access was encountered" in row["reason"]
