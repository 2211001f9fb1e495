"""Arrow in, from devices: where memory is, when it is ready, and that the host looks at none that it cannot read."""

import ctypes
import gc
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from buflend.maximal import as_column
from buflend.shared import DeviceError, cuda
from buflend.shared.arrow_import import Imported, read_device_array

from . import arrow_producer as make
from . import cuda_runtime
from .arrow_producer import Lie, Log


def content(array: Imported, name: str) -> bytes:
    return ctypes.string_at(*array.buffers[name])


def ints(*values: int) -> bytes:
    return struct.pack(f"={len(values)}i", *values)


def test_device_arrays() -> None:
    lie = Lie("u", 2, [None, ints(0, 1, 2), b"ab"])
    for device, expected in [((1, -1), (1, 0)), ((1, 0), (1, 0)), ((3, 0), (3, 0)), ((13, 1), (13, 1))]:
        log = Log()
        array = read_device_array(make.schema(lie, log), make.device_array(lie, log, device))
        assert array.device == expected
        assert content(array, "data") == b"ab"
        del array
        assert log.arrays == [""]


def test_memory_that_the_host_cannot_read_is_not_looked_at() -> None:
    nowhere = 0xDEAD0000
    columns = [
        Lie("l", 3, [nowhere, nowhere], null_count=-1),
        Lie("+l", 3, [nowhere, nowhere], null_count=2, children=[Lie("c", 9, [None, nowhere])]),
        Lie("+r", 3, children=[Lie("i", 2, [nowhere, nowhere], null_count=-1), Lie("c", 2, [None, nowhere])]),
        Lie("vu", 3, [None, nowhere, None]),
        Lie("c", 3, [None, nowhere], dictionary=Lie("l", 1, [None, nowhere])),
    ]
    for device in [(2, 0), (8, 0), (10, 3)]:
        for options in [{"buffers": [None]}, {"buffers": [nowhere], "null_count": -1}]:
            log = Log()
            lie = Lie("+s", 3, children=columns, **options)  # type: ignore[arg-type]
            array = read_device_array(make.schema(lie, log), make.device_array(lie, log, device))
            assert {child.device for child in array.children} == {device}
            assert log.arrays == ([] if "null_count" in options else [""])
            assert array.children[0].buffers["data"] == (nowhere, 24)


def test_a_column_keeps_the_array_and_so_does_each_of_its_buffers() -> None:
    log, lie = Log(), Lie("l", 3, [0xBEEF0000, 0xDEAD0000], null_count=-1)
    pair = make.schema(lie, log), make.device_array(lie, log, (2, 1))
    column = as_column(SimpleNamespace(__arrow_c_device_array__=lambda: pair))
    held = [column.data, column.validity]
    del column
    while held:
        gc.collect()
        assert log.arrays == []
        held.pop()
    gc.collect()
    assert log.arrays == [""]


@pytest.mark.parametrize("device", [(8, 0), (10, 0), (4, 0)])
def test_sizes_that_only_the_device_knows_are_refused(device: tuple[int, int]) -> None:
    for lie in [Lie("u", 1, [None, 0xDEAD0000, 0xDEAD0000]), Lie("vu", 1, [None, 0xDEAD0000, 0xDEAD0000, 0xDEAD0000])]:
        log = Log()
        with pytest.raises(DeviceError, match="to the host"):
            read_device_array(make.schema(lie, log), make.device_array(lie, log, device))
        gc.collect()
        assert log.arrays == [""]


@pytest.mark.parametrize("device", [(1, -1), (8, 0), (10, 0)])
def test_events_that_cannot_be_waited_for_are_refused(device: tuple[int, int]) -> None:
    log, lie = Log(), Lie("c", 1, [None, b"a"])
    with pytest.raises(DeviceError, match="event"):
        read_device_array(make.schema(lie, log), make.device_array(lie, log, device, event=0xDEAD0000))
    gc.collect()
    assert log.arrays == [""]


@pytest.mark.parametrize("device", [2, 3, 13])
def test_cudas_event_is_waited_for_before_anything_is_read(device: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []

    class Runtime:
        @staticmethod
        def cudaEventSynchronize(event: int) -> int:  # noqa: N802 - the runtime's name
            waited.append((event, list(log.arrays)))
            return 0

    monkeypatch.setattr(cuda, "runtime", lambda: Runtime)
    log, lie = Log(), Lie("c", 1, [None, 0xDEAD0000])
    event = make.keep(ctypes.c_uint64(0xE4E47))
    array = read_device_array(make.schema(lie, log), make.device_array(lie, log, (device, 0), event=event))
    assert waited == [(0xE4E47, [])]  # what the pointer points at
    assert array.buffers["data"] == (0xDEAD0000, 1)


def test_one_offset_is_copied_from_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def to_host(_: object, tensor: Any) -> bytearray:
        asked.append((tensor.ptr, tensor.nbytes, tensor.device))
        return bytearray(ints(7))

    monkeypatch.setattr(cuda, "to_host", to_host)
    log, lie = Log(), Lie("u", 2, [None, 0xDEAD0000, 0xBEEF0000], offset=3)
    array = read_device_array(make.schema(lie, log), make.device_array(lie, log, (2, 1)))
    assert asked == [(0xDEAD0000 + 4 * 5, 4, (2, 1))]
    assert array.buffers == {"offsets": (0xDEAD0000, 24), "data": (0xBEEF0000, 7)}


def test_an_offset_of_a_device_without_an_ordinal(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = cuda_runtime.install(monkeypatch, ordinal=1)
    log, lie = Log(), Lie("u", 2, [None, ints(0, 1, 2), 0xBEEF0000])
    array = read_device_array(make.schema(lie, log), make.device_array(lie, log, (2, -1)))
    assert array.buffers["data"] == (0xBEEF0000, 2)
    last = array.buffers["offsets"][0] + 8
    assert runtime.calls == [
        ("cudaPointerGetAttributes", last),
        ("cudaMemcpyAsync", last, 4, 2, 1),
        ("cudaStreamSynchronize", 1),
    ]
    assert (runtime.devices[1:], runtime.current) == ([1, 1], 0)
