"""CuPy arrays over device memory: made, described and dropped without a GPU; no byte is read.

CuPy makes a view without a driver where the device's ordinal is given. None of this was run on a GPU.
"""

import sys
import weakref
from typing import Any

import pytest

from buflend.minimal import Buffer, as_cupy
from buflend.shared import STATIC, DeviceError

ADDRESS = 0x7F0000000000


class Owner:
    """Something that can be watched."""


class TestWithoutCupy:
    @pytest.mark.parametrize(
        ("device", "word"), [((1, 0), "view it with as_ndarray"), ((3, 0), "as_ndarray"), ((14, 0), "ONEAPI device 0")]
    )
    def test_other_memory_is_refused(self, device: tuple[int, int], word: str) -> None:
        with pytest.raises(DeviceError, match=word):
            as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=device))

    def test_no_cupy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(DeviceError, match="install the cupy package"):
            as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=(2, 0)))


@pytest.mark.peers
class TestWithCupy:
    @pytest.fixture(autouse=True)
    def _cupy(self) -> None:
        pytest.importorskip("cupy")

    def test_address_shape_and_device(self) -> None:
        view = as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=(2, 1)), "float32")
        assert (view.data.ptr, view.shape, view.dtype, view.device.id) == (ADDRESS, (16,), "float32", 1)

    def test_part(self) -> None:
        buffer = Buffer(ADDRESS, 64, owner=STATIC, device=(2, 0))
        view = as_cupy(buffer, "int16", shape=(3, 2), strides=(-8, 2), offset=20)
        assert (view.data.ptr, view.shape, view.strides) == (ADDRESS + 20, (3, 2), (-8, 2))

    def test_managed_and_empty(self) -> None:
        assert as_cupy(Buffer(ADDRESS, 8, owner=STATIC, device=(13, 0)), "int64").shape == (1,)
        assert as_cupy(Buffer(0, 0, owner=STATIC, device=(2, 1)), "int64").shape == (0,)

    @pytest.mark.parametrize("options", [{"shape": 17, "dtype": "f4"}, {"offset": 65}, {"shape": 2, "strides": -4}])
    def test_bounds(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="bytes"):
            as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=(2, 0)), **options)

    def test_the_view_holds_the_owner_and_returns_it(self) -> None:
        owner = Owner()
        died = weakref.ref(owner)
        view = as_cupy(Buffer(ADDRESS, 64, owner=owner, device=(2, 0)), "int64")
        part = view[2:4].reshape(2, 1)
        del owner, view
        assert died() is not None
        del part
        assert died() is None

    def test_an_unknown_ordinal_without_a_driver(self) -> None:
        import cupy

        if cupy.cuda.runtime.driverGetVersion():
            pytest.skip("a driver is there: it would be asked for an address that is none")
        with pytest.raises(DeviceError, match="CUDA runtime does not answer"):
            as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=(2, -1)))

    def test_the_other_build(self) -> None:
        with pytest.raises(DeviceError, match="other kind of GPU"):
            as_cupy(Buffer(ADDRESS, 64, owner=STATIC, device=(10, 0)))
