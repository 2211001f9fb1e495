"""Memory lent to and by PyTorch, JAX and CuPy, where they are installed; no device but the CPU is needed.

CuPy's arrays are made over addresses that are never read, which is all that a view needs.
"""

import gc
import weakref
from typing import Any

import pytest

from buflend.minimal import Buffer, as_buffer, as_cupy, as_memoryview, as_ndarray
from buflend.shared import DeviceError

pytestmark = pytest.mark.peers

FAR = 0x7F00_0000_0000


class Owner:
    """Something that can be watched."""


def test_a_tensor_lends_and_is_kept() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.int64)
    watched = weakref.ref(tensor)
    view = as_ndarray(Buffer(tensor.data_ptr(), tensor.nbytes, owner=tensor), "int64", shape=(2, 3))
    view[1, 2] = 50
    assert tensor.tolist() == [0, 1, 2, 3, 4, 50]
    del tensor
    gc.collect()
    assert watched() is not None
    assert view.tolist() == [[0, 1, 2], [3, 4, 50]]
    del view
    gc.collect()
    assert watched() is None


def test_a_tensor_borrows_and_keeps() -> None:
    torch = pytest.importorskip("torch")
    lent = bytearray(range(8))
    tensor = torch.frombuffer(as_memoryview(lent), dtype=torch.uint8)
    tensor[0] = 9
    assert lent[0] == 9
    with pytest.raises(BufferError):
        lent.append(0)
    del tensor
    gc.collect()
    lent.append(0)


def test_a_tensor_without_a_described_pointer_is_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"torch\.Tensor.*buffer protocol"):
        as_buffer(torch.arange(3))


def test_a_jax_array_is_read_only() -> None:
    jax = pytest.importorskip("jax")
    lent = jax.numpy.arange(4, dtype="int32")
    buffer = as_buffer(lent)
    assert (buffer.bufsize, buffer.readonly) == (16, True)
    view = as_ndarray(buffer, "int32")
    del lent, buffer
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3]
    assert not view.flags.writeable


def test_cupy_views_device_memory_and_keeps_the_owner() -> None:
    cupy = pytest.importorskip("cupy")
    owner = Owner()
    watched = weakref.ref(owner)
    view: Any = as_cupy(
        Buffer(FAR, 96, owner=owner, device=(2, 0)), "float32", shape=(2, 3), strides=(16, 4), offset=32
    )
    del owner
    assert isinstance(view, cupy.ndarray)
    assert (view.data.ptr, view.shape, view.strides, view.dtype) == (FAR + 32, (2, 3), (16, 4), "float32")
    assert view.data.device_id == 0
    assert watched() is not None
    del view
    gc.collect()
    assert watched() is None


def test_cupy_views_all_by_default() -> None:
    pytest.importorskip("cupy")
    view = as_cupy(Buffer(FAR, 24, owner=Owner(), device=(2, 0)), "int64")
    assert (view.data.ptr, view.shape, view.nbytes) == (FAR, (3,), 24)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"dtype": "int64", "shape": 4}, "needs"),
        ({"dtype": "int64", "offset": 25}, "offset"),
        ({"dtype": "int64", "strides": [8]}, "strides"),
        ({"dtype": "int64", "offset": 4}, "multiple"),
        ({"dtype": "int64", "shape": 3, "strides": [-8]}, "needs"),
    ],
)
def test_cupy_views_stay_within_bounds(arguments: dict[str, Any], field: str) -> None:
    pytest.importorskip("cupy")
    with pytest.raises(ValueError, match=field):
        as_cupy(Buffer(FAR, 24, owner=Owner(), device=(2, 0)), **arguments)


def test_host_memory_is_no_matter_of_cupy() -> None:
    with pytest.raises(DeviceError, match="as_ndarray"):
        as_cupy(b"lent")
