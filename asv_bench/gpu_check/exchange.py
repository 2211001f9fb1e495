"""Checks of the exchange with each library, both ways, by each protocol: the same address, the same values, no copy.

What is lent goes out as a buffer (bytes) and as a column (numbers). What is borrowed is a library's own array, read as
it comes, and by one protocol at a time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from buflend.maximal import Buffer, as_buffer, as_column, as_cupy, as_memoryview

from .check import SkippedError, check, expect, expect_values, hold
from .offers import Only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Taken = tuple[int, NDArray[Any]]

CUDA = 2  # DLDeviceType
COUNT = 1000
SIZE = COUNT * 4
"""Elements and bytes of what is exchanged."""

START = 64
"""Element at which a part begins, so that it is aligned as everybody wants it."""


def numbers() -> NDArray[Any]:
    """Return what is lent, on the host."""
    import numpy as np

    return np.arange(COUNT, dtype=np.float32) / 4


def lent() -> Iterator[tuple[str, Any, int, NDArray[Any]]]:
    """Yield what we lend of an array of CuPy: its name, itself, the address, and the values that must arrive."""
    import cupy

    array, values = cupy.asarray(numbers()), numbers()
    yield "buffer", as_buffer(array), array.data.ptr, values.view("uint8")
    yield "column", as_column(array), array.data.ptr, values
    yield "part of a column", as_column(array[START:]), array.data.ptr + 4 * START, values[START:]


def goes_to(**ways: Callable[[Any], Taken]) -> None:
    """Show that what we lend arrives by each way; a way returns the address and the values that arrived."""
    for name, ours, address, values in lent():
        for way, take in ways.items():
            found, arrived = take(ours)
            expect(f"{name}, {way}: address", found, address)
            expect(f"{name}, {way}: type", str(arrived.dtype), str(values.dtype))
            expect_values(f"{name}, {way}", arrived.tolist(), values.tolist())


PROTOCOLS = {
    "by DLPack": ("__dlpack__", "__dlpack_device__"),
    "by the CUDA array interface": ("__cuda_array_interface__",),
}
"""Way in -> the names of a protocol."""


def comes_from(array: Any, address: int) -> None:
    """Show that an array of `numbers()` is borrowed, as it comes and by each protocol that it has."""
    import cupy

    ways: dict[str, Any] = {"itself": array}
    for protocol, names in PROTOCOLS.items():
        if all(hasattr(array, name) for name in names):
            ways[protocol] = Only(array, *names)
    for way, offered in ways.items():
        buffer, column = as_buffer(offered), as_column(offered)
        expect(f"{way}: bytes", (buffer.ptr, buffer.bufsize), (address, SIZE))
        expect(f"{way}: device", (buffer.__dlpack_device__(), column.__dlpack_device__()), ((CUDA, 0), (CUDA, 0)))
        expect(f"{way}: column", (column.size(), column.dtype.bits), (COUNT, 32))
        viewed = {
            "as_cupy of the buffer": as_cupy(buffer, "float32"),
            "as_cupy of the array": as_cupy(offered, "float32"),
            "cupy.from_dlpack of the column": cupy.from_dlpack(column),
            "cupy.asarray of the column": cupy.asarray(column),
        }
        for name, view in viewed.items():
            expect(f"{way}, {name}: address", view.data.ptr, address)
            expect_values(f"{way}, {name}", view.get().tolist(), numbers().tolist())
        expect_values(f"{way}: to_host()", list(as_memoryview(buffer.to_host())), list(numbers().tobytes()))


@check("cupy")
def to_cupy_and_back() -> None:
    """Show CuPy's arrays out and in, by DLPack and by the CUDA array interface."""
    import cupy

    def of(array: Any) -> Taken:
        return array.data.ptr, array.get()

    goes_to(dlpack=lambda ours: of(cupy.from_dlpack(ours)), interface=lambda ours: of(cupy.asarray(ours)))
    array = cupy.asarray(numbers())
    comes_from(array, array.data.ptr)


@check("cupy")
def a_pointer_to_cupy() -> None:
    """Show CuPy's view of the smallest buffer there is, by part and strides."""
    import cupy

    from buflend import minimal

    array = cupy.asarray(numbers())
    buffer = minimal.Buffer(array.data.ptr, array.nbytes, owner=array, device=(CUDA, 0))
    view = minimal.as_cupy(buffer, "float32", shape=(2, 3), strides=(40, 4), offset=8)
    expect("address", view.data.ptr, array.data.ptr + 8)
    expect("values", view.get().tolist(), [numbers()[2:5].tolist(), numbers()[12:15].tolist()])


@check("cupy", "torch")
def to_torch_and_back() -> None:
    """Show PyTorch's tensors out and in."""
    import torch

    def of(tensor: Any) -> Taken:
        expect("device", str(tensor.device), "cuda:0")
        return tensor.data_ptr(), tensor.cpu().numpy()

    goes_to(
        dlpack=lambda ours: of(torch.from_dlpack(ours)),
        # Without a device it would be copied to the host.
        interface=lambda ours: of(torch.as_tensor(ours, device="cuda:0")),
    )
    tensor = torch.from_numpy(numbers()).to("cuda:0")
    torch.cuda.synchronize()
    comes_from(tensor, tensor.data_ptr())


@check("cupy", "torch")
def torch_by_the_exchange_table() -> dict[str, Any]:
    """Show that a tensor is read through the table of its type: without a capsule, itself the owner."""
    import torch

    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        raise SkippedError(f"PyTorch {torch.__version__} has no exchange table")
    tensor = torch.from_numpy(numbers()).to("cuda:0")
    buffer = as_buffer(tensor)
    hold("the tensor is the owner", buffer.owner is tensor)
    hold("read-only, since the table does not say that it may be written", buffer.readonly)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        other = as_buffer(tensor)
    hold("the tensor is the owner, on a side stream", other.owner is tensor)
    interface = other.__cuda_array_interface__
    expect("the stream in whose order it is ready", interface["stream"], 1)
    expect("what the interface says of writing", interface["data"], (tensor.data_ptr(), True))
    return {"handle of the side stream": stream.cuda_stream}


@check("cupy", "jax")
def to_jax_and_back() -> dict[str, Any]:
    """Show JAX's arrays out and in."""
    import jax.dlpack
    import numpy as np

    def of(array: Any) -> Taken:
        return array.unsafe_buffer_pointer(), np.asarray(array)

    goes_to(dlpack=lambda ours: of(jax.dlpack.from_dlpack(ours)))
    device = jax.devices("cuda")[0]
    array = jax.device_put(numbers(), device).block_until_ready()
    comes_from(array, array.unsafe_buffer_pointer())
    return {"device": str(device)}


@check("cupy", "numba.cuda")
def to_numba_and_back() -> None:
    """Show numba-cuda's arrays out and in."""
    numba_cuda = import_module("numba.cuda")

    def of(array: Any) -> Taken:
        host = array.copy_to_host()
        numba_cuda.synchronize()  # where a stream is named the copy is queued on it, and not waited for
        return array.device_ctypes_pointer.value, host

    goes_to(interface=lambda ours: of(numba_cuda.as_cuda_array(ours)))
    array = numba_cuda.to_device(numbers())
    numba_cuda.synchronize()
    comes_from(array, array.device_ctypes_pointer.value)


@check("cupy", "cuda.core")
def to_cuda_core_and_back() -> None:
    """Show cuda.core's views out, and a buffer of its own in."""
    import cupy
    import numpy as np

    core, views = import_module("cuda.core"), import_module("cuda.core.utils").StridedMemoryView
    device = core.Device(0)
    device.set_current()

    def of(view: Any) -> Taken:
        nbytes = int(np.prod(view.shape)) * view.dtype.itemsize
        copied = Buffer(view.ptr, nbytes, owner=view, device=(CUDA, 0)).to_host()
        return view.ptr, np.frombuffer(as_memoryview(copied), view.dtype)

    goes_to(
        dlpack=lambda ours: of(views.from_dlpack(ours, stream_ptr=-1)),
        interface=lambda ours: of(views.from_cuda_array_interface(ours, stream_ptr=-1)),
    )
    made = device.allocate(SIZE, stream=device.default_stream)
    device.default_stream.sync()
    runtime, source = cupy.cuda.runtime, cupy.asarray(numbers())
    runtime.memcpy(int(made.handle), source.data.ptr, SIZE, runtime.memcpyDeviceToDevice)
    runtime.deviceSynchronize()
    buffer = as_buffer(made)
    expect("bytes", (buffer.ptr, buffer.bufsize), (int(made.handle), SIZE))
    expect("device", buffer.__dlpack_device__(), (CUDA, 0))
    expect_values("as_cupy", as_cupy(buffer, "float32").get().tolist(), numbers().tolist())
