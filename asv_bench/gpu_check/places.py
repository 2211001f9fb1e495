"""Checks of where memory lies: the device that is said, the one that is asked for, and what the host may do there."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from buflend import maximal, minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_cupy, as_memoryview, as_ndarray
from buflend.shared import CPU, CopyRequiredError, Device, DeviceError, cuda

from .check import FailedError, SkippedError, check, expect, hold, refused
from .offers import Interface, copied_by_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

CUDA, PINNED, MANAGED = 2, 3, 13
"""Of DLDeviceType."""

SIZE = 256
"""Bytes of memory of a special kind: much of it managed can hang a device."""


def here() -> Device:
    """Return the device that is current for CuPy."""
    import cupy

    return Device(CUDA, cupy.cuda.runtime.getDevice())


def managed(value: int) -> Any:
    """Return an array of CuPy over managed memory of one byte value."""
    import cupy
    import numpy as np

    array = cupy.ndarray((SIZE,), np.uint8, cupy.cuda.malloc_managed(SIZE))
    array.data.memset(value, SIZE)
    cupy.cuda.runtime.deviceSynchronize()
    return array


def arrays() -> dict[str, Any]:
    """Return arrays of CuPy whose elements fill one range of bytes, by what is special about them."""
    import cupy
    import numpy as np

    whole = cupy.arange(12, dtype=np.int32)
    return {
        "whole": whole,
        "slice": whole[3:],
        "transposed": whole.reshape(3, 4).T,
        "empty": cupy.empty((0, 3), np.float32),
        "empty slice": whole[12:],
    }


@check("cupy")
def the_device_is_what_the_runtime_says() -> None:
    """Show that a buffer over an array says device, address and size as the runtime and CuPy do."""
    import cupy

    for name, array in arrays().items():
        buffer = as_buffer(array)
        expect(f"{name}: device", (buffer.device, buffer.__dlpack_device__()), (here(), tuple(here())))
        expect(f"{name}: bytes", buffer.bufsize, array.nbytes)
        if not array.size:
            expect(f"{name}: interface", buffer.__cuda_array_interface__["data"][0], 0)
            continue
        expect(f"{name}: address", buffer.ptr, array.data.ptr)
        expect(f"{name}: the runtime asked by us", cuda.device_at(buffer.ptr), here())
        said = cupy.cuda.runtime.pointerGetAttributes(buffer.ptr)
        expect(f"{name}: the runtime asked by CuPy", (said.type, said.device), (2, here().id))
        expect(f"{name}: interface", buffer.__cuda_array_interface__["data"][0], buffer.ptr)


@check("cupy")
def a_strided_array_is_a_column_and_no_buffer() -> None:
    """Show that every second element is refused as a range of bytes, and taken as a column with strides."""
    array = arrays()["whole"][1::2]
    refused("as_buffer", lambda: as_buffer(array), CopyRequiredError)
    column = as_column(array)
    expect("strides", column.strides, (8,))
    expect("device", (column.device, column.__dlpack_device__()), (here(), tuple(here())))
    expect("address", column.__cuda_array_interface__["data"][0], array.data.ptr)
    expect("interface", column.__cuda_array_interface__["strides"], (8,))


@check("cupy")
def an_ordinal_that_nobody_named_is_asked_for() -> None:
    """Show that memory of every kind, described by address alone, is found where it is."""
    import cupy
    import numpy as np

    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(SIZE), np.uint8, SIZE)
    array = arrays()["whole"]
    kinds = {
        "device": (array, here()),
        "interior": (array[5:], here()),
        "managed": (managed(1), Device(MANAGED, 0)),
        "empty": (array[12:], here()),
    }
    for name, (described, device) in kinds.items():
        buffer = as_buffer(Interface(described))
        expect(f"{name}: device", buffer.device, device)
        expect(f"{name}: export", buffer.__dlpack_device__(), tuple(device))
    for name, address, device in (
        ("pinned", pinned.ctypes.data, Device(PINNED, 0)),
        ("host", np.zeros(SIZE, np.uint8).ctypes.data, CPU),
    ):
        expect(f"{name}: device", Buffer(address, SIZE, owner=pinned, device=(CUDA, -1)).device, device)
    expect("minimal", minimal.Buffer(array.data.ptr, 4, owner=array, device=(CUDA, -1)).device, here())


@check("cupy")
def managed_memory_is_shared_with_the_host() -> dict[str, Any]:
    """Show that the host reads and writes managed memory where it lies, once the device has finished."""
    array = managed(7)
    described = Buffer(array.data.ptr, SIZE, owner=array, device=(MANAGED, 0))
    kind = int(array.__dlpack_device__()[0])
    lent = [described, as_buffer(Interface(array)), *([as_buffer(array)] if kind == MANAGED else [])]
    for buffer in lent:
        view = as_ndarray(buffer)
        expect("address", view.ctypes.data, array.data.ptr)
        expect("what the host reads", set(view.tolist()), {7})
        expect("by memoryview", set(as_memoryview(buffer)), {7})
        expect("to_host() copies nothing", buffer.to_host().ptr, buffer.ptr)
    as_ndarray(described)[:] = 9
    expect("what the device reads", set(array.get().tolist()), {9})
    expect("as_cupy", set(as_cupy(described).get().tolist()), {9})
    return {"type of its device, said by CuPy": kind}


@check("cupy")
def pinned_memory_is_the_hosts() -> None:
    """Show that the host reads and writes pinned memory, and the device copies from it."""
    import cupy
    import numpy as np

    runtime, pinned = cupy.cuda.runtime, cupy.cuda.alloc_pinned_memory(SIZE)
    buffer = Buffer(pinned.ptr, SIZE, owner=pinned, device=(PINNED, 0))
    view = as_ndarray(buffer)
    view[:] = 5
    target = cupy.empty(SIZE, np.uint8)
    runtime.memcpy(target.data.ptr, buffer.ptr, SIZE, runtime.memcpyHostToDevice)
    expect("what the device reads", set(target.get().tolist()), {5})
    expect("address", view.ctypes.data, pinned.ptr)
    expect("device", (buffer.__dlpack_device__(), cuda.device_at(buffer.ptr)), ((PINNED, 0), Device(PINNED, 0)))
    hold("it has no CUDA array interface", not hasattr(buffer, "__cuda_array_interface__"))


@check("cupy", "torch")
def pinned_memory_of_torch_is_the_hosts() -> None:
    """Show that a pinned tensor is lent as memory of the host."""
    import torch

    tensor = torch.arange(16, dtype=torch.int64).pin_memory()
    buffer = as_buffer(tensor)
    expect("address", buffer.ptr, tensor.data_ptr())
    expect("values", as_ndarray(buffer, "int64").tolist(), list(range(16)))
    expect("the runtime asked by us", cuda.device_at(buffer.ptr), Device(PINNED, 0))


@check("cupy")
def to_host_copies_what_is_there() -> None:
    """Show that an explicit copy has the bytes of the device, by both ways to ask for it."""
    for name, array in arrays().items():
        buffer, expected = as_buffer(array), array.get(order="A").tobytes("A")
        expect(f"{name}: to_host()", bytes(as_memoryview(buffer.to_host())), expected)
        expect(f"{name}: device", buffer.to_host().device, CPU)
        if array.size:
            expect(f"{name}: dl_device", copied_by_numpy(buffer).tobytes(), expected)


@check("cupy")
def the_host_is_refused() -> None:
    """Show that no way in reads device memory from the host; had one, this process would be gone."""
    import numpy as np

    array = arrays()["whole"]
    ours: dict[str, tuple[Any, Any]] = {
        "maximal": (maximal, as_buffer(array)),
        "minimal": (minimal, minimal.Buffer(array.data.ptr, array.nbytes, owner=array, device=here())),
    }
    for name, (part, buffer) in ours.items():
        ways: dict[str, Callable[[], object]] = {
            "memoryview": lambda buffer=buffer: memoryview(buffer),  # type: ignore[misc]
            "as_ndarray": lambda part=part, buffer=buffer: part.as_ndarray(buffer),  # type: ignore[misc]
            "as_memoryview": lambda part=part, buffer=buffer: part.as_memoryview(buffer),  # type: ignore[misc]
            "numpy.from_dlpack": lambda buffer=buffer: np.from_dlpack(buffer),  # type: ignore[misc]
            "pickle": lambda buffer=buffer: pickle.dumps(buffer),  # type: ignore[misc]
        }
        for way, call in ways.items():
            refused(f"{name}: {way}", call, BufferError, RuntimeError, TypeError, AttributeError)
        taken = np.asarray(buffer)  # for NumPy an object like any other
        if taken.dtype != object or taken.shape or taken.item() is not buffer:
            raise FailedError(f"{name}: numpy.asarray read {taken.dtype} of shape {taken.shape}")
    column = as_column(array)
    refused("as_column, numpy.asarray", lambda: np.asarray(column, "int32"), Exception)
    refused("as_column, tolist", column.tolist, DeviceError)


@check("cupy")
def two_devices_are_told_apart() -> None:
    """Show that memory of the second device is lent while the first is current, which it stays."""
    import cupy
    import numpy as np

    if cuda.device_count() < 2:
        raise SkippedError("there is one device")
    first, second = here().id, 1 - min(here().id, 1)
    with cupy.cuda.Device(second):
        array = cupy.empty(SIZE, np.uint8)
        array.data.memset(6, SIZE)
        cupy.cuda.runtime.deviceSynchronize()
    for buffer in (as_buffer(array), as_buffer(Interface(array)), as_buffer(Interface(array, stream=1))):
        expect("device", buffer.__dlpack_device__(), (CUDA, second))
        expect("to_host()", set(as_memoryview(buffer.to_host())), {6})
        expect("as_cupy", (as_cupy(buffer).device.id, as_cupy(buffer).data.ptr), (second, array.data.ptr))
        expect("cupy.from_dlpack", cupy.from_dlpack(buffer).device.id, second)
    expect("the current device", cupy.cuda.runtime.getDevice(), first)
