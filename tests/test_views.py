"""Arrays over a buffer: values, bounds, access, and the layouts NumPy itself would give."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.minimal import Buffer, as_buffer, as_memoryview, as_ndarray
from buflend.shared import STATIC, DeviceError

BYTES = bytes(range(48))


def lent(size: int = 48, **options: Any) -> Buffer:
    memory = np.frombuffer(bytearray(BYTES), "uint8")
    return Buffer(memory.ctypes.data, size, owner=memory, **options)


class TestDtypes:
    @pytest.mark.parametrize(
        "dtype", ["uint8", "<i2", ">i4", "f8", "complex64", "M8[ns]", "S3", "U2", "V6", np.int64, bool]
    )
    def test_any_plain_type(self, dtype: Any) -> None:
        view = as_ndarray(lent(), dtype)
        assert view.dtype == np.dtype(dtype)
        assert view.tobytes() == BYTES

    def test_structured(self) -> None:
        fields = [("a", "<u2"), ("b", "u1", (2,))]
        assert as_ndarray(lent(), fields)["a"][1] == 0x0504

    def test_default_is_bytes(self) -> None:
        assert as_ndarray(lent()).tolist() == list(BYTES)

    @pytest.mark.parametrize(
        "dtype", ["O", [("a", "O")], getattr(getattr(np, "dtypes", None), "StringDType", lambda: "V8,O")()]
    )
    def test_references_are_refused(self, dtype: Any) -> None:
        with pytest.raises(TypeError, match="references"):
            as_ndarray(lent(), dtype)

    @pytest.mark.parametrize("dtype", ["S", "U", "V", "S0"])
    def test_types_without_size_are_refused(self, dtype: str) -> None:
        with pytest.raises(ValueError, match="size"):
            as_ndarray(lent(), dtype)

    def test_nonsense_is_numpys_to_refuse(self) -> None:
        with pytest.raises(TypeError):
            as_ndarray(lent(), "no such type")

    def test_a_type_whose_fields_are_renamed_is_not_remembered_wrongly(self) -> None:
        dtype = np.dtype([("a", "u1")])
        as_ndarray(lent(), dtype)
        dtype.names = ("b",)
        assert as_ndarray(lent(), dtype).dtype.names == ("b",)

    def test_equal_objects_of_other_types_are_not_remembered_for_one_another(self) -> None:
        assert as_ndarray(lent(), np.int64(1)).dtype == "int64"  # type: ignore[arg-type]
        assert as_ndarray(lent(), np.float64(1.0)).dtype == "float64"  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            as_ndarray(lent(), 1)  # type: ignore[arg-type]
        marked = np.dtype("i8", metadata={"a": 1})
        as_ndarray(lent(), marked)
        assert as_ndarray(lent(), np.dtype("i8")).dtype.metadata is None

    def test_nothing_with_a_dtype_is_kept(self) -> None:
        import weakref

        class Typed:
            dtype = np.dtype("u1")

        typed: Any = Typed()
        died = weakref.ref(typed)
        as_ndarray(lent(), typed)
        del typed
        assert died() is None

    def test_more_types_than_are_remembered(self) -> None:
        for size in range(1, 600):
            assert as_ndarray(lent(), f"S{size}", shape=0).itemsize == size


class TestBounds:
    def test_remainder_is_refused(self) -> None:
        with pytest.raises(ValueError, match="multiple of the item size, 8"):
            as_ndarray(lent(47), "int64")
        assert as_ndarray(lent(47), "int64", shape=5).shape == (5,)

    def test_offset_alone(self) -> None:
        assert as_ndarray(lent(), "u1", offset=46).tolist() == [46, 47]
        assert as_ndarray(lent(), "u1", offset=48).tolist() == []
        with pytest.raises(ValueError, match="multiple"):
            as_ndarray(lent(), "u2", offset=1)

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"shape": 7, "dtype": "u8"}, "bytes from 0 to 56"),
            ({"shape": (7, 7)}, "bytes from 0 to 49"),
            ({"shape": 48, "offset": 1}, "bytes from 1 to 49"),
            ({"offset": 49}, "offset"),
            ({"offset": -1}, "offset"),
            ({"offset": 49, "shape": 0}, "offset"),
            ({"shape": -1}, "extents"),
            ({"shape": (2, -1)}, "extents"),
            ({"strides": (1,)}, "shape"),
            ({"shape": (2, 2), "strides": (1,)}, "2 dimensions"),
            ({"shape": 2, "strides": 48}, "bytes from 0 to 49"),
            ({"shape": 2, "strides": -1}, "bytes from -1 to 1"),
            ({"shape": (2, 2), "strides": (40, 8)}, "bytes from 0 to 49"),
            ({"shape": 2**62, "dtype": "u8"}, "but the block has 48"),
            ({"shape": (2**40, 2**40)}, "but the block has 48"),
            ({"shape": (2**62,), "strides": (2**62,)}, "but the block has 48"),
            ({"shape": 2, "strides": (1, 1)}, "1 dimensions"),
        ],
    )
    def test_outside(self, options: dict[str, Any], word: str) -> None:
        with pytest.raises(ValueError, match=word):
            as_ndarray(lent(), **options)

    @pytest.mark.parametrize(
        "options", [{"shape": 1.5}, {"shape": ("a",)}, {"offset": 1.5}, {"shape": 1, "strides": 0.5}]
    )
    def test_wrong_types(self, options: dict[str, Any]) -> None:
        with pytest.raises(TypeError):
            as_ndarray(lent(), **options)

    @pytest.mark.parametrize("offset", [np.uint8(4), np.uint64(4), np.int8(4)])
    def test_integers_of_numpy_count_as_pythons(self, offset: Any) -> None:
        assert as_ndarray(bytes(1000), offset=offset).shape == (996,)
        assert as_ndarray(bytes(1000), shape=3, strides=-2, offset=offset).shape == (3,)
        with pytest.raises(ValueError, match="bytes from 200 to 300"):
            as_ndarray(bytes(210), shape=np.int8(100), offset=np.uint8(200))

    def test_anything_with_an_index_is_an_integer(self) -> None:
        class Four:
            def __index__(self) -> int:
                return 4

        assert as_ndarray(lent(), offset=Four()).shape == (44,)  # type: ignore[arg-type]
        assert as_ndarray(lent(), shape=np.array(3)).shape == (3,)  # type: ignore[arg-type]

    @pytest.mark.parametrize("offset", [None, "", 0.0])
    def test_no_offset_is_an_integer_too(self, offset: Any) -> None:
        with pytest.raises(TypeError):
            as_ndarray(lent(), offset=offset)

    def test_stride_zero_repeats(self) -> None:
        assert as_ndarray(lent(), shape=(3, 2), strides=(0, 1), offset=4).tolist() == [[4, 5]] * 3

    def test_zero_dimensions(self) -> None:
        assert as_ndarray(lent(), "u1", shape=(), offset=5).tolist() == 5

    def test_extent_one_takes_any_stride(self) -> None:
        assert as_ndarray(lent(), shape=(1, 3), strides=(10**6, 1)).tolist() == [[0, 1, 2]]

    def test_nothing_takes_any_stride(self) -> None:
        assert as_ndarray(lent(), shape=(0, 3), strides=(10**6, -1)).shape == (0, 3)

    def test_unaligned_items_are_flagged(self) -> None:
        view = as_ndarray(lent(), "<i8", shape=2, offset=1)
        assert not view.flags.aligned
        assert view[0] == int.from_bytes(BYTES[1:9], "little")

    @given(st.randoms(use_true_random=False))
    def test_agrees_with_a_reference_that_touches_each_item(self, rng: random.Random) -> None:
        ndim, itemsize = rng.randint(0, 3), rng.choice([1, 2, 4])
        shape = tuple(rng.randint(0, 4) for _ in range(ndim))
        strides = tuple(rng.randint(-20, 20) for _ in range(ndim))
        offset = rng.randint(-2, 50)
        starts = [offset + sum(i * s for i, s in zip(at, strides, strict=True)) for at in np.ndindex(shape)]
        inside = 0 <= offset <= 48 and all(0 <= start <= 48 - itemsize for start in starts)
        if not inside:
            with pytest.raises(ValueError, match=r"offset|bytes"):
                as_ndarray(lent(), f"<u{itemsize}", shape=shape, strides=strides, offset=offset)
            return
        view = as_ndarray(lent(), f"<u{itemsize}", shape=shape, strides=strides, offset=offset)
        assert view.shape == shape
        assert view.ravel().tolist() == [int.from_bytes(BYTES[s : s + itemsize], "little") for s in starts]


class TestAccess:
    @pytest.mark.parametrize("options", [{}, {"shape": (2, 2)}, {"shape": 2, "strides": 3}])
    def test_writable_memory_is_written(self, options: dict[str, Any]) -> None:
        buffer = lent()
        as_ndarray(buffer, **options).reshape(-1)[0] = 99
        assert as_memoryview(buffer)[0] == 99

    @pytest.mark.parametrize("options", [{}, {"shape": (2, 2)}, {"shape": 2, "strides": 3}, {"offset": 1}])
    def test_read_only_memory_is_not(self, options: dict[str, Any]) -> None:
        view = as_ndarray(lent(readonly=True), **options)
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.setflags(write=True)

    @pytest.mark.parametrize("kind", [3, 11, 13])
    def test_host_readable_devices(self, kind: int) -> None:
        assert as_ndarray(lent(device=(kind, 0)))[1] == 1
        assert as_memoryview(lent(device=(kind, 0)))[1] == 1

    @pytest.mark.parametrize("options", [{}, {"shape": 1}, {"dtype": "no such type"}, {"offset": -1}])
    def test_the_device_comes_first(self, options: dict[str, Any]) -> None:
        with pytest.raises(DeviceError, match="CUDA device 0"):
            as_ndarray(Buffer(0xDEAD0000, 8, owner=STATIC, device=(2, 0)), **options)


class TestReadOnlyForGood:
    """Nothing on the way from a read-only view to its owner can be written, or is longer than the buffer."""

    @pytest.mark.parametrize(
        "view",
        [
            as_memoryview(lent(4, readonly=True)),
            as_memoryview(b"lent"),
            as_ndarray(lent(4, readonly=True)).base,
            as_ndarray(lent(4, readonly=True), shape=2, strides=2).base,
            as_ndarray(b"lent", "<u2").base,
        ],
        ids=["view", "view of bytes", "base", "base of a part", "base of another type"],
    )
    def test_numpy_makes_no_writable_array_of_it(self, view: Any) -> None:
        array = np.ndarray((4,), "u1", view)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True

    @pytest.mark.parametrize("readonly", [False, True])
    def test_the_object_of_a_memoryview_has_its_bounds_and_access(self, readonly: bool) -> None:
        view = as_memoryview(lent(4, readonly=readonly))
        assert memoryview(view.obj).nbytes == 4  # type: ignore[arg-type]
        assert memoryview(view.obj).readonly is readonly  # type: ignore[arg-type]

    def test_the_anchor_refuses_to_be_used(self) -> None:
        anchor: Any = as_ndarray(lent(4)).base.obj  # type: ignore[union-attr]
        for use in (len, iter, list, lambda a: a[2**40], lambda a: a.__setitem__(0, 1)):
            with pytest.raises(TypeError, match="length is a lie"):
                use(anchor)


class TestMemoryview:
    def test_is_bytes(self) -> None:
        view = as_memoryview(lent())
        assert (view.format, view.itemsize, view.ndim, view.shape, view.contiguous) == ("B", 1, 1, (48,), True)
        assert view[:3].tolist() == [0, 1, 2]

    def test_reaches_no_further_than_the_buffer(self) -> None:
        view = as_memoryview(lent(3))
        assert len(view) == 3
        with pytest.raises(IndexError):
            view[3]

    def test_no_object_on_the_way_to_the_owner_exports_more_than_the_buffer(self) -> None:
        for view in (as_ndarray(lent(3)), as_ndarray(lent(3), shape=2, strides=2)):
            base: Any = view
            while (base := base.base) is not None:
                assert memoryview(base).nbytes == 3
                if not isinstance(base, np.ndarray):
                    break

    def test_foreign_objects_directly(self) -> None:
        assert as_memoryview(b"abc").obj is not None
        assert as_ndarray(as_buffer(b"abc")).tolist() == as_ndarray(b"abc").tolist() == [97, 98, 99]
