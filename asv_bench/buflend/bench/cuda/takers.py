"""Who can take memory of a CUDA device: every call on a buffer of ours and on what libraries hold such memory in.

Lives here: the calls and how their results are read, the lenders, and how what is not here is said. How a cell is
judged stands in `taking`. The result is read with the library's own means; one that has none, as a copy of ours.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import taking
from ..taking import Lender, Lent, Taken, Taker, content
from . import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OURS = "Buffers of ours on the device"
NATIVE = "For comparison: what libraries hold memory of the device in"

NATIVES = {
    "cupy.ndarray": "cupy",
    "torch.Tensor": "torch",
    "jax.Array": "jax",
    "numba.array": "numba.cuda",
    "cuda.core.Buffer": "cuda.core",
}
"""Lender -> the library that makes it."""

LIMIT = 90.0
"""Seconds a cell may take: each has to set up the device anew."""

NOT_HERE = "n/a"
"""What stands in the cells of a call whose library is not here."""


def lenders(source: str) -> list[Lender]:
    """Return all lenders, where buffers of ours lend memory of a source."""
    package = memory.package(source)
    ours = [Lender(name, package, OURS, partial(ours_over, name, source)) for name in ("maximal", "minimal")]
    return ours + [Lender(name, library, NATIVE, partial(native, library)) for name, library in NATIVES.items()]


def native(library: str) -> Lent:
    """Return the bytes in memory of a library's own, and where they lie."""
    import numpy as np

    return memory.MAKERS[library].make(np.array(content(), np.uint8))


def ours_over(name: str, source: str) -> Lent:
    """Return a buffer of `minimal` or `maximal` over the bytes in memory of a source."""
    owner, ptr = native(source)
    buffer = import_module(f"buflend.{name}").Buffer(ptr, taking.SIZE, owner=owner, device=memory.DEVICE)
    return buffer, buffer.ptr


def host_copy(ptr: int, owner: object) -> list[int]:
    """Return bytes of the device as numbers, copied by us."""
    from buflend.maximal import Buffer, as_memoryview

    return list(as_memoryview(Buffer(ptr, taking.SIZE, owner=owner, device=memory.DEVICE).to_host()))


TAKERS: list[Taker] = []
"""All calls in the order of display."""


def _taker(name: str, package: str = "") -> Callable[[Callable[[Any], Taken]], Callable[[Any], Taken]]:
    """List the function below as a call."""

    def listed(take: Callable[[Any], Taken]) -> Callable[[Any], Taken]:
        TAKERS.append(Taker(name, package, f"{__name__}:{take.__name__}"))
        return take

    return listed


def of_buffer(buffer: Any) -> Taken:
    """Return what a buffer of ours took."""
    return Taken(buffer.ptr, lambda: host_copy(buffer.ptr, buffer))


@_taker("minimal.as_buffer")
def _minimal_as_buffer(lent: Any) -> Taken:
    from buflend.minimal import as_buffer

    return of_buffer(as_buffer(lent))


@_taker("maximal.as_buffer")
def _maximal_as_buffer(lent: Any) -> Taken:
    from buflend.maximal import as_buffer

    return of_buffer(as_buffer(lent))


def _of_cupy(array: Any) -> Taken:
    return Taken(array.data.ptr, lambda: array.get().tolist(), str(array.dtype))


@_taker("maximal.as_cupy", "cupy")
def _maximal_as_cupy(lent: Any) -> Taken:
    from buflend.maximal import as_cupy

    return _of_cupy(as_cupy(lent))


@_taker("cupy.from_dlpack", "cupy")
def _cupy_from_dlpack(lent: Any) -> Taken:
    import cupy

    return _of_cupy(cupy.from_dlpack(lent))


@_taker("cupy.asarray", "cupy")
def _cupy_asarray(lent: Any) -> Taken:
    import cupy

    return _of_cupy(cupy.asarray(lent))


def _of_tensor(tensor: Any) -> Taken:
    return Taken(tensor.data_ptr(), lambda: tensor.cpu().tolist(), str(tensor.dtype).removeprefix("torch."))


@_taker("torch.from_dlpack", "torch")
def _torch_from_dlpack(lent: Any) -> Taken:
    import torch

    return _of_tensor(torch.from_dlpack(lent))


@_taker("torch.as_tensor", "torch")
def _torch_as_tensor(lent: Any) -> Taken:
    import torch

    # Without a device it would copy to the host what comes by the CUDA array interface.
    return _of_tensor(torch.as_tensor(lent, device=f"cuda:{memory.ORDINAL}"))


@_taker("jax from_dlpack", "jax")
def _jax_from_dlpack(lent: Any) -> Taken:
    import jax
    import numpy as np

    array = jax.dlpack.from_dlpack(lent)
    return Taken(array.unsafe_buffer_pointer(), lambda: np.asarray(array).tolist(), str(array.dtype))


@_taker("numba as_cuda_array", "numba.cuda")
def _numba_as_cuda_array(lent: Any) -> Taken:
    array = import_module("numba.cuda").as_cuda_array(lent)
    return Taken(array.device_ctypes_pointer.value, lambda: array.copy_to_host().tolist(), str(array.dtype))


def _of_view(view: Any) -> Taken:
    return Taken(view.ptr, lambda: host_copy(view.ptr, view), str(view.dtype))


def _on_device() -> Any:
    """Make the device current for cuda.core, and return its class of views."""
    import_module("cuda.core").Device(memory.ORDINAL).set_current()
    return import_module("cuda.core.utils").StridedMemoryView


@_taker("StridedMemoryView from_dlpack", "cuda.core")
def _view_from_dlpack(lent: Any) -> Taken:
    return _of_view(_on_device().from_dlpack(lent, stream_ptr=-1))


@_taker("StridedMemoryView by CAI", "cuda.core")
def _view_from_interface(lent: Any) -> Taken:
    return _of_view(_on_device().from_cuda_array_interface(lent, stream_ptr=-1))


def measure(device: Mapping[str, Any], progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Let every call take every lender's bytes; return what `taking.matrix` does, `NOT_HERE` where a library is not."""
    packages = {name: dict(one) for name, one in device["libraries"].items()}
    here = {"available": True, "reason": ""}
    lending: dict[str, dict[str, Any]] = {}
    for one in lenders(device["source"]):
        entry = here if one.group == OURS else {key: packages[one.package][key] for key in here}
        lending[one.name] = {**entry, "group": one.group}

    def told(text: str, fraction: float) -> None:
        progress(f"consumers: {text}", fraction)

    place = taking.Lenders(f"{__name__}:lenders", device["source"])
    return with_absent(taking.matrix(TAKERS, place, lending, packages, told, limit=LIMIT))


def with_absent(part: dict[str, Any]) -> dict[str, Any]:
    """Add the rows of the calls that cannot be made here; each cell says which package it needs."""
    present = [name for name, one in part["lenders"].items() if one["available"]]
    cells = {}
    for name, taker in part["takers"].items():
        detail = f"needs {needs(taker['package'], part['packages'])}"
        cells[name] = part["cells"].get(name) or {one: {"outcome": NOT_HERE, "detail": detail} for one in present}
    return part | {"device": "cuda", "cells": cells}


def needs(package: str, packages: Mapping[str, Mapping[str, Any]]) -> str:
    """Say of a package that is not here why, and what installs it."""
    one = packages.get(package, {"reason": ""})
    return f"{package}: {one['reason']}" + (f"; {one['get']}" if one.get("get") else "")
