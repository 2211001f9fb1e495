"""Where device memory lies: ordinals that no protocol named, asked of the pointer, once, and when somebody wants them.

What the runtime answers is a double's; expected are the numbers of `cudaMemoryType` (NVIDIA, "CUDA Runtime API") and of
`DLDeviceType` (`dlpack.h` 1.3).
"""

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from buflend import maximal, minimal
from buflend.maximal import as_buffer, as_column, as_ndarray, as_table
from buflend.shared import CPU, STATIC, DeviceError, DeviceType
from buflend.shared.device import Device
from tests import capsules, cuda_runtime
from tests.only import lend, only
from tests.streams import Described

ASKED = "cudaPointerGetAttributes"
# cudaMemoryType and ordinal, as the runtime answers -> the device, as DLPack numbers it.
ANSWERS = {
    "device 0": ((2, 0), (2, 0)),
    "device 1": ((2, 1), (2, 1)),
    "pinned": ((1, 0), (3, 0)),
    "pinned by device 1": ((1, 1), (3, 0)),
    "managed": ((3, 0), (13, 0)),
    "managed by device 1": ((3, 1), (13, 0)),
    "unregistered": ((0, -2), (1, 0)),
}


@pytest.fixture(params=ANSWERS)
def answer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[cuda_runtime.Runtime, Any]:
    (kind, ordinal), expected = ANSWERS[request.param]
    return cuda_runtime.install(monkeypatch, kind=kind, ordinal=ordinal), expected


WANTS: dict[str, Callable[[Any], Any]] = {
    "device": lambda made: made.device,
    "__dlpack_device__": lambda made: made.__dlpack_device__(),
    "capsule": lambda made: capsules.read_struct(made.__dlpack__(max_version=(1, 3)))["device"],
    "legacy capsule": lambda made: capsules.read_struct(made.__dlpack__())["device"],
}
LEVELS: dict[str, Callable[[Any], Any]] = {
    "buffer": as_buffer,
    "column": as_column,
}


class TestAsked:
    @pytest.mark.parametrize("want", WANTS)
    @pytest.mark.parametrize("level", LEVELS)
    def test_when_somebody_wants_it(self, level: str, want: str, answer: tuple[cuda_runtime.Runtime, Any]) -> None:
        runtime, expected = answer
        obj = Described()
        made = LEVELS[level](obj)
        assert not runtime.calls, "not in the constructor: a call costs more than all else"
        assert WANTS[want](made) == expected
        assert runtime.calls == [(ASKED, ctypes.addressof(obj.memory))]

    @pytest.mark.parametrize("level", LEVELS)
    def test_once(self, level: str, answer: tuple[cuda_runtime.Runtime, Any]) -> None:
        runtime, expected = answer
        made = LEVELS[level](Described())
        for want in ("device", "__dlpack_device__", "device", "capsule"):
            assert WANTS[want](made) == expected
        assert runtime.names() == [ASKED]

    def test_the_names_are_those_of_the_enum(self, answer: tuple[cuda_runtime.Runtime, Any]) -> None:
        _, expected = answer
        device = as_buffer(Described()).device
        assert device.type is DeviceType(expected[0])
        assert device == expected

    def test_what_the_host_can_read_it_may(self, answer: tuple[cuda_runtime.Runtime, Any]) -> None:
        _, expected = answer
        buffer = as_buffer(Described())
        readable = expected[0] in (1, 3, 13)
        assert hasattr(buffer, "__array_interface__") is readable
        if readable:
            assert as_ndarray(buffer).tolist() == list(range(64))
            assert buffer.to_host() is buffer
        else:
            with pytest.raises(DeviceError, match=f"CUDA device {expected[1]}"):
                as_ndarray(buffer)

    def test_a_read_of_memory_without_an_ordinal_asks_first(self, answer: tuple[cuda_runtime.Runtime, Any]) -> None:
        runtime, expected = answer
        buffer = as_buffer(Described())
        if expected[0] == 2:
            with pytest.raises(DeviceError):
                as_ndarray(buffer)
        else:
            as_ndarray(buffer)
        assert runtime.calls[0][0] == ASKED

    def test_arrow_has_the_ordinal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.install(monkeypatch, ordinal=1)
        for made in (as_buffer(Described()), as_column(Described()), as_table({"n": Described()})):
            address = capsules.struct_of(made.__arrow_c_device_array__()[1])
            assert ctypes.c_int64.from_address(address + 80).value == 1

    def test_a_copy_has_it_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=1)
        first = as_buffer(Described())
        assert first.device == (2, 1)
        assert minimal.as_buffer(first).device == (2, 1)
        assert runtime.names() == [ASKED]

    @pytest.mark.parametrize("part", [minimal, maximal], ids=["minimal", "maximal"])
    def test_of_a_buffer_made_by_hand(self, part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=1)
        buffer = part.Buffer(0xDEAD0000, 8, owner=STATIC, device=(2, None))
        assert not runtime.calls
        assert buffer.__dlpack_device__() == (2, 1)
        assert [type(number) for number in buffer.__dlpack_device__()] == [int, int]
        assert runtime.calls == [(ASKED, 0xDEAD0000)]

    def test_a_copy_to_the_host_is_of_that_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=1)
        assert as_ndarray(as_buffer(Described()).to_host()).tolist() == list(range(64))
        assert runtime.names() == [ASKED, "cudaMemcpyAsync", "cudaStreamSynchronize"]
        assert runtime.devices[1:] == [1, 1]

    def test_an_announced_ordinal_is_believed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=0)
        buffer, _ = lend(device=(2, 3))
        assert (buffer.device, buffer.__dlpack_device__()) == ((2, 3), (2, 3))
        assert as_buffer(only(buffer, "dlpack")).device == (2, 3)
        assert not runtime.calls


class TestNothing:
    """An empty block has no address to ask about: it lies where work goes on."""

    @pytest.mark.parametrize("current", [0, 1])
    def test_is_on_the_current_device(self, current: int, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=5)
        runtime.current = current
        buffer = as_buffer(Described(shape=(0,), data=(0, False)))
        assert buffer.__cuda_array_interface__["data"] == (0, False)
        assert buffer.__dlpack_device__() == (2, current)
        assert not runtime.calls, "no pointer is asked"

    @pytest.mark.parametrize("want", WANTS)
    @pytest.mark.parametrize("level", LEVELS)
    def test_whoever_wants_to_know(self, level: str, want: str, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, ordinal=5)
        runtime.current = 1
        assert WANTS[want](LEVELS[level](Described(shape=(0,), data=(0, False)))) == (2, 1)
        assert not runtime.calls

    def test_or_on_the_one_that_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch)
        assert as_buffer(capsules.Producer(device=(2, 1), shape=(0,), data=0)).__dlpack_device__() == (2, 1)
        assert not runtime.calls


class TestUnanswered:
    def test_no_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)
        buffer = as_buffer(Described())
        assert buffer.device == (2, -1), "as much as is known"
        assert "CUDA:-1" in repr(buffer)
        for want in ("__dlpack_device__", "capsule"):
            with pytest.raises(DeviceError, match="no CUDA runtime library can be loaded: looked for lib"):
                WANTS[want](buffer)
        with pytest.raises(DeviceError, match="no CUDA runtime library"):
            buffer.to_host()
        with pytest.raises(DeviceError, match="which the host cannot read"):
            as_ndarray(buffer)

    def test_asking_what_it_speaks_raises_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)
        for made in (as_buffer(Described()), as_column(Described())):
            found = {name for name in dir(made) if name.startswith("__") and hasattr(made, name)}
            assert {"__dlpack__", "__dlpack_device__", "__cuda_array_interface__"} <= found
            assert "__array_interface__" not in found

    def test_it_is_asked_again_when_a_library_has_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as without:
            cuda_runtime.remove(without)
            buffer = as_buffer(Described())
            assert buffer.device == (2, -1)
        cuda_runtime.install(monkeypatch, ordinal=1)
        assert buffer.device == (2, 1)

    @pytest.mark.parametrize("status", [35, 100, 700])
    def test_a_runtime_that_fails(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, fails=ASKED, status=status)
        obj = Described()
        buffer = as_buffer(obj)
        assert buffer.device == (2, -1)
        with pytest.raises(DeviceError, match=rf"{ctypes.addressof(obj.memory):#x} failed: CUDA error {status}"):
            buffer.__dlpack_device__()
        assert runtime.cleared == 2, "the error of a failed query would be the next call's"

    def test_a_type_that_nobody_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.install(monkeypatch, kind=9)
        with pytest.raises(DeviceError, match="type 9"):
            as_buffer(Described()).__dlpack_device__()

    @pytest.mark.parametrize("kind", [4, 7, 8, 10, 14, 99])
    def test_other_devices_cannot_be_asked(self, kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch)
        buffer = maximal.Buffer(0xDEAD0000, 8, owner=STATIC, device=(kind, None))  # type: ignore[arg-type]
        assert buffer.device == (kind, -1)
        with pytest.raises(DeviceError, match="did not name"):
            buffer.__dlpack_device__()
        assert not runtime.calls

    @pytest.mark.parametrize("kind", [3, 13])
    def test_of_pinned_and_managed_memory_it_is_always_0(self, kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)
        buffer = maximal.Buffer(0xDEAD0000, 8, owner=STATIC, device=(kind, None))  # type: ignore[arg-type]
        assert buffer.__dlpack_device__() == (kind, 0)


def test_the_host_has_no_ordinal_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = cuda_runtime.install(monkeypatch)
    buffer = as_buffer(b"abc")
    assert buffer.device is CPU
    assert (buffer.__dlpack_device__(), copy.copy(buffer.device)) == ((1, 0), Device(1, 0))
    assert not runtime.calls
