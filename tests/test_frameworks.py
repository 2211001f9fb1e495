"""Views handed on to frameworks: the owner lives as long as their tensor does."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from buflend.minimal import Buffer, as_buffer, as_ndarray

pytestmark = pytest.mark.peers


class Owner:
    """Memory that can be watched."""

    def __init__(self) -> None:
        self.memory = np.arange(6, dtype="float32")


def lend(*, readonly: bool = False) -> tuple[Buffer, "weakref.ref[Owner]", int]:
    owner = Owner()
    address = owner.memory.ctypes.data
    return Buffer(address, 24, owner=owner, readonly=readonly), weakref.ref(owner), address


@pytest.mark.parametrize("take", ["from_numpy", "from_dlpack", "asarray"])
def test_torch(take: str) -> None:
    torch: Any = pytest.importorskip("torch")
    buffer, died, address = lend()
    tensor = getattr(torch, take)(as_ndarray(buffer, "float32"))[1:]
    del buffer
    assert tensor.data_ptr() == address + 4
    assert tensor.tolist() == [1, 2, 3, 4, 5]
    del tensor
    assert died() is None


def test_a_tensor_without_a_described_pointer_is_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"torch\.Tensor.*buffer protocol"):
        as_buffer(torch.arange(3))


def test_a_tensor_lends_by_its_pointer() -> None:
    torch: Any = pytest.importorskip("torch")
    tensor = torch.arange(6)
    died = weakref.ref(tensor)
    view = as_ndarray(Buffer(tensor.data_ptr(), tensor.nbytes, owner=tensor), "int64", shape=(2, 3))
    view[1, 2] = 50
    assert tensor.tolist() == [0, 1, 2, 3, 4, 50]
    del tensor
    assert died() is not None
    assert view[1].tolist() == [3, 4, 50]
    del view
    assert died() is None


def test_torch_tensors_are_read() -> None:
    torch: Any = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.int32)
    view = as_ndarray(tensor.numpy(), "int32")
    assert view.ctypes.data == tensor.data_ptr()
    del tensor
    assert view.tolist() == [0, 1, 2, 3]


def test_jax_holds_or_copies_and_releases() -> None:
    jnp: Any = pytest.importorskip("jax.numpy")
    buffer, died, _ = lend()
    array = jnp.asarray(as_ndarray(buffer, "float32"))
    del buffer
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    del array
    gc.collect()  # JAX returns what it borrowed late
    assert died() is None


def test_a_jax_array_is_read_only() -> None:
    jnp: Any = pytest.importorskip("jax.numpy")
    view = as_ndarray(jnp.arange(4, dtype="int32"), "int32")
    gc.collect()
    assert view.tolist() == [0, 1, 2, 3]
    assert not view.flags.writeable


def test_pyarrow_holds_the_owner() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    buffer, died, address = lend(readonly=True)
    array = pa.array(as_ndarray(buffer, "float32"))
    del buffer
    assert array.buffers()[1].address == address
    assert array.to_pylist() == [0, 1, 2, 3, 4, 5]
    del array
    assert died() is None


def test_pandas_and_polars_take_views() -> None:
    pd: Any = pytest.importorskip("pandas")
    pl: Any = pytest.importorskip("polars")
    buffer, died, address = lend()
    series = pd.Series(as_ndarray(buffer, "float32"), copy=False)
    assert series.to_numpy().ctypes.data == address
    column = pl.Series(as_ndarray(buffer, "float32"))
    del buffer
    assert series.tolist() == column.to_list() == [0, 1, 2, 3, 4, 5]
    del series, column
    assert died() is None
