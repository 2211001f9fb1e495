"""Checks of owners: memory that is lent lives as long as it is viewed, goes when nothing views it, and nothing is left.

Who has freed too early is found out by an array of the same size, which a pool would put in the same place. Before
bytes are counted garbage is collected: arrays of earlier checks may die late.
"""

from __future__ import annotations

import gc
import sys
import time
import weakref
from importlib import import_module
from itertools import repeat
from typing import TYPE_CHECKING, Any

from buflend.maximal import Buffer, as_buffer, as_column, as_cupy, as_memoryview, live_exports

from .check import check, expect, hold
from .offers import Arrow

if TYPE_CHECKING:
    from collections.abc import Callable

    Take = Callable[[Any], Any]

CUDA = 2
SIZE = 1 << 24
"""Bytes that are lent."""

EXCHANGES = 100_000
WARMING = 1_000


def used() -> int:
    """Return the bytes that CuPy has lent, when all is done."""
    import cupy

    gc.collect()
    cupy.cuda.runtime.deviceSynchronize()
    return int(cupy.get_default_memory_pool().used_bytes())


def free() -> int:
    """Return the bytes of the device that nobody has, when CuPy has given back what it keeps."""
    import cupy

    gc.collect()
    cupy.cuda.runtime.deviceSynchronize()
    cupy.get_default_memory_pool().free_all_blocks()
    return int(cupy.cuda.runtime.memGetInfo()[0])


def block(value: int) -> Any:
    """Return an array of CuPy of one byte value."""
    import cupy
    import numpy as np

    array = cupy.empty(SIZE, np.uint8)
    array.data.memset(value, SIZE)
    cupy.cuda.runtime.deviceSynchronize()
    return array


def lives_with_its_views(**takers: Take) -> None:
    """Show for each call that its result alone keeps the source, and returns it when it goes."""
    for name, take in takers.items():
        before = used()
        source = block(1)
        address, alive = source.data.ptr, weakref.ref(source)
        view = take(source)
        del source
        hold(f"{name}: the owner lives while it is viewed", alive() is not None)
        hold(f"{name}: its bytes are lent while it is viewed", used() - before >= SIZE)
        other = block(2)
        hold(f"{name}: another array lies elsewhere", other.data.ptr != address)
        host = as_memoryview(Buffer(address, SIZE, owner=view, device=(CUDA, 0)).to_host())
        expect(f"{name}: values that are not 1", SIZE - bytes(host).count(1), 0)
        del view, other, host
        gc.collect()
        expect(f"{name}: the owner, when nothing views it", alive(), None)
        expect(f"{name}: bytes lent, when nothing views it", used() - before, 0)


@check("cupy")
def the_owner_lives_as_long_as_cupys_view() -> None:
    """Show it by DLPack, by the CUDA array interface, by Arrow, by pointer, and of a column."""
    import cupy

    lives_with_its_views(
        from_dlpack=lambda array: cupy.from_dlpack(as_buffer(array)),
        asarray=lambda array: cupy.asarray(as_buffer(array)),
        as_cupy=lambda array: as_cupy(as_buffer(array), "int32", shape=(2, 3), offset=16),
        column=lambda array: cupy.from_dlpack(as_column(array)),
        capsule=lambda array: as_buffer(array).__dlpack__(max_version=(1, 0)),
        arrow=lambda array: as_buffer(array).__arrow_c_device_array__(),
        arrow_and_back=lambda array: as_column(Arrow(as_buffer(array).__arrow_c_device_array__())),
    )


@check("cupy", "torch")
def the_owner_lives_as_long_as_torchs_view() -> None:
    """Show it by DLPack and by the CUDA array interface."""
    import torch

    lives_with_its_views(
        from_dlpack=lambda array: torch.from_dlpack(as_buffer(array)),
        as_tensor=lambda array: torch.as_tensor(as_buffer(array), device="cuda:0"),
    )


@check("cupy", "jax")
def the_owner_lives_as_long_as_jaxs_view() -> None:
    """Show it by DLPack."""
    import jax.dlpack

    lives_with_its_views(from_dlpack=lambda array: jax.dlpack.from_dlpack(as_buffer(array)))


@check("cupy", "numba.cuda")
def the_owner_lives_as_long_as_numbas_view() -> None:
    """Show it by the CUDA array interface."""
    numba_cuda = import_module("numba.cuda")
    lives_with_its_views(as_cuda_array=lambda array: numba_cuda.as_cuda_array(as_buffer(array)))


@check("cupy", "cuda.core")
def the_owner_lives_as_long_as_cuda_cores_view() -> None:
    """Show it by DLPack and by the CUDA array interface."""
    views = import_module("cuda.core.utils").StridedMemoryView
    lives_with_its_views(
        from_dlpack=lambda array: views.from_dlpack(as_buffer(array), stream_ptr=-1),
        interface=lambda array: views.from_cuda_array_interface(as_buffer(array), stream_ptr=-1),
    )


@check("cupy", "torch")
def the_owner_of_torch_lives_as_long_as_cupys_view() -> None:
    """Show it of a tensor that is borrowed, counted by PyTorch's own allocator."""
    import torch

    takers: dict[str, Take] = {"as_cupy": as_cupy, "through a buffer": lambda tensor: as_cupy(as_buffer(tensor))}
    for name, take in takers.items():
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated(0)
        tensor = torch.ones(SIZE, dtype=torch.uint8, device="cuda:0")
        address = tensor.data_ptr()
        view = take(tensor)
        del tensor
        gc.collect()
        other = torch.full((SIZE,), 2, dtype=torch.uint8, device="cuda:0")
        torch.cuda.synchronize()
        hold(f"{name}: another tensor lies elsewhere", other.data_ptr() != address)
        expect(f"{name}: values that are not 1", SIZE - view.get().tobytes().count(1), 0)
        del view, other
        gc.collect()
        expect(f"{name}: bytes lent, when nothing views it", torch.cuda.memory_allocated(0) - before, 0)


def leaves_nothing(source: Any, address: int, **exchanges: Callable[[], object]) -> dict[str, Any]:
    """Show for each exchange that doing it many times changes no count; return the time of one, in microseconds."""
    taken = {}
    for name, exchange in exchanges.items():
        lent, references, loans = used(), sys.getrefcount(source), lent_of(address)
        for _ in repeat(None, WARMING):
            exchange()
        left, start = free(), time.perf_counter()
        for _ in repeat(None, EXCHANGES):
            exchange()
        taken[name] = round((time.perf_counter() - start) / EXCHANGES * 1e6, 2)
        expect(f"{name}: bytes that CuPy has lent", used() - lent, 0)
        expect(f"{name}: references to the source", sys.getrefcount(source) - references, 0)
        expect(f"{name}: loans of the source", lent_of(address), loans)
        hold(f"{name}: less than a byte of the device's memory is gone per exchange", left - free() < EXCHANGES)
    return {"microseconds": taken}


def lent_of(address: int) -> list[str]:
    """Return the kinds of the loans of an address that live."""
    return [loan.kind for loan in live_exports() if loan.ptr == address]


@check("cupy")
def nothing_is_left_by_100000_exchanges() -> dict[str, Any]:
    """Show it of CuPy to CuPy, through a buffer, by each protocol."""
    import cupy

    array = cupy.zeros(1024, "uint8")
    buffer, column = as_buffer(array), as_column(array)
    return leaves_nothing(
        array,
        array.data.ptr,
        dlpack=lambda: cupy.from_dlpack(as_buffer(array)),
        pointer=lambda: as_cupy(as_buffer(array)),
        interface=lambda: cupy.asarray(buffer),
        column=lambda: cupy.from_dlpack(column),
    )


@check("cupy", "torch")
def nothing_is_left_by_100000_exchanges_with_torch() -> dict[str, Any]:
    """Show it of CuPy to PyTorch and back, on streams that must be ordered."""
    import cupy
    import torch

    array, tensor = cupy.zeros(1024, "uint8"), torch.zeros(1024, dtype=torch.uint8, device="cuda:0")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        out = leaves_nothing(array, array.data.ptr, out=lambda: torch.from_dlpack(as_buffer(array)))
        back = leaves_nothing(tensor, tensor.data_ptr(), back=lambda: as_cupy(as_buffer(tensor)))
    return {"microseconds": out["microseconds"] | back["microseconds"]}
