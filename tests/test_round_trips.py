"""Memory of four kinds of owner, lent to four libraries and read back: the same address all the way, and returned."""

import ctypes
import gc
import mmap
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, as_buffer, as_ndarray, live_exports

pytestmark = pytest.mark.peers

VALUES = list(range(24))


def from_mmap() -> Any:
    mapped = mmap.mmap(-1, 24)
    mapped[:] = bytes(VALUES)
    return as_buffer(mapped)


class Allocation:
    """A block of the C library, freed when this object dies."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype, self.libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.libc.free.restype, self.libc.free.argtypes = None, [ctypes.c_void_p]
        self.ptr = self.libc.malloc(24)
        ctypes.memmove(self.ptr, bytes(VALUES), 24)

    def __del__(self) -> None:
        self.libc.free(self.ptr)


def from_malloc() -> Any:
    block = Allocation()
    return Buffer(block.ptr, 24, owner=block)


def from_pandas() -> Any:
    pd: Any = pytest.importorskip("pandas")
    series = pd.Series(np.array(VALUES, "u1"), copy=False)
    return as_buffer(series.to_numpy())


def from_torch() -> Any:
    torch: Any = pytest.importorskip("torch")
    return as_buffer(torch.tensor(VALUES, dtype=torch.uint8))


def to_numpy(buffer: Any) -> tuple[Any, int]:
    array = np.from_dlpack(buffer)
    return array, array.ctypes.data


def to_torch(buffer: Any) -> tuple[Any, int]:
    torch: Any = pytest.importorskip("torch")
    tensor = torch.from_dlpack(buffer)
    return tensor, tensor.data_ptr()


def to_pyarrow(buffer: Any) -> tuple[Any, int]:
    pa: Any = pytest.importorskip("pyarrow")
    array = pa.array(buffer)
    return array, array.buffers()[1].address


def to_polars(buffer: Any) -> tuple[Any, int]:
    pl: Any = pytest.importorskip("polars")
    series = pl.Series(buffer)
    return series, series._get_buffer_info()[0]


def back(taken: Any) -> Any:
    """Return a buffer over what a library holds now."""
    if hasattr(taken, "_get_buffer_info"):  # polars: by its Arrow memory
        return as_buffer(taken.to_arrow().buffers()[1])
    return as_buffer(taken.buffers()[1] if hasattr(taken, "buffers") and not hasattr(taken, "data_ptr") else taken)


@pytest.mark.parametrize("take", [to_numpy, to_torch, to_pyarrow, to_polars], ids=lambda f: f.__name__)
@pytest.mark.parametrize("source", [from_mmap, from_malloc, from_pandas, from_torch], ids=lambda f: f.__name__)
def test_the_same_address_there_and_back(source: Callable[[], Any], take: Callable[[Any], tuple[Any, int]]) -> None:
    buffer = source()
    address, owner = buffer.ptr, buffer.owner
    try:
        died: Any = weakref.ref(owner)
    except TypeError:
        died = None
    del owner
    taken, seen = take(buffer)
    assert seen == address, "a copy was made"
    del buffer
    gc.collect()
    again = back(taken)
    assert again.ptr == address
    del taken
    gc.collect()
    assert as_ndarray(again).tolist() == VALUES
    assert died is None or died() is not None
    del again
    gc.collect()
    assert died is None or died() is None
    assert not [export for export in live_exports() if export.ptr == address]
