"""Memory of a CUDA device: how each library makes it, and the plain kind of the runtime where there is none.

Lives here: how each library copies an array of the host into memory of its own, how many bytes it counts as lent, and
what it calls the device. Must not know: buffers of ours, what is measured. No library is imported before its function
is called. Everything lies on the first device that is visible, and is ready when a function returns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from . import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ..taking import Lent

ORDINAL = 0
"""The device, as the process sees it."""

DEVICE = (2, ORDINAL)
"""The same as a pair of DLPack."""

PLAIN = "cudaMalloc"
"""The source where no library is: memory that the runtime gives."""

SOURCES = ("cupy", "torch", "numba.cuda")
"""Whose memory is lent, the first that is here and sees the device; else plain."""


class Maker(NamedTuple):
    """How memory is made of an array of the host, what the device is called, and who counts what is lent how."""

    make: Callable[[NDArray[Any]], Lent]
    device_name: Callable[[], str]
    held: Callable[[], int] | None = None
    counted_by: str = ""


def _cupy(array: NDArray[Any]) -> Lent:
    import cupy

    made = cupy.asarray(array)
    cupy.cuda.Device(ORDINAL).synchronize()
    return made, made.data.ptr


def _cupy_name() -> str:
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(ORDINAL)["name"].decode())


def _cupy_held() -> int:
    import cupy

    return int(cupy.get_default_memory_pool().used_bytes())


def _torch(array: NDArray[Any]) -> Lent:
    import torch

    made = torch.from_numpy(array.copy()).to(f"cuda:{ORDINAL}")
    torch.cuda.synchronize()
    return made, made.data_ptr()


def _torch_name() -> str:
    import torch

    return str(torch.cuda.get_device_name(ORDINAL))


def _torch_held() -> int:
    import torch

    return int(torch.cuda.memory_allocated(ORDINAL))


def _numba(array: NDArray[Any]) -> Lent:
    cuda = import_module("numba.cuda")
    made = cuda.to_device(array)
    cuda.synchronize()
    return made, made.device_ctypes_pointer.value


def _numba_name() -> str:
    name = import_module("numba.cuda").get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def _numba_held() -> int:
    context = import_module("numba.cuda").current_context()
    context.memory_manager.deallocations.clear()  # it frees later, many at once
    free, total = context.get_memory_info()
    return int(total - free)


def _jax(array: NDArray[Any]) -> Lent:
    import jax

    made = jax.device_put(array, jax.devices("cuda")[ORDINAL]).block_until_ready()
    return made, made.unsafe_buffer_pointer()


def _jax_name() -> str:
    import jax

    return str(jax.devices("cuda")[ORDINAL].device_kind)


def _cuda_core(array: NDArray[Any]) -> Lent:
    device = import_module("cuda.core").Device(ORDINAL)
    device.set_current()
    made = device.allocate(array.nbytes, stream=device.default_stream)
    device.default_stream.sync()
    (status,) = import_module("cuda.bindings.driver").cuMemcpyHtoD(int(made.handle), array.ctypes.data, array.nbytes)
    if int(status):
        raise RuntimeError(f"copying to a buffer of cuda.core: {status!r}")
    return made, int(made.handle)


def _cuda_core_name() -> str:
    return str(import_module("cuda.core").Device(ORDINAL).name)


MAKERS = {
    "cupy": Maker(_cupy, _cupy_name, _cupy_held, "CuPy's memory pool"),
    "torch": Maker(_torch, _torch_name, _torch_held, "PyTorch's allocator"),
    "numba.cuda": Maker(_numba, _numba_name, _numba_held, "the driver, after what numba had put off to free"),
    "jax": Maker(_jax, _jax_name),
    "cuda.core": Maker(_cuda_core, _cuda_core_name),
    PLAIN: Maker(
        plain.make, lambda: plain.device_name(ORDINAL), plain.held, "what cudaMalloc gave and cudaFree took back"
    ),
}
"""Import name, or `PLAIN` -> how memory of it is made."""


def package(source: str) -> str:
    """Return what must be imported for a source, empty where nothing must."""
    return "" if source == PLAIN else source
