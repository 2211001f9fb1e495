"""A column as an ndarray, by `__array__` and `__array_interface__`, and its parts as columns of numbers.

Columns are made by hand from bytes; what is expected is written beside them.
"""

import datetime as dt
import struct
import sys
import weakref
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Buffer, Column, as_buffer, as_column
from buflend.shared import STATIC, DeviceError, ProducerError

SWAPPED = "<" if sys.byteorder == "big" else ">"
NON_NULLABLE, USE_NAN, USE_SENTINEL, USE_BITMASK, USE_BYTEMASK = range(5)
NAT = -(2**63)
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
StringDType: Any = getattr(getattr(np, "dtypes", None), "StringDType", None)
COPIED = pytest.mark.skipif(NUMPY < (2, 0), reason="NumPy 1 has no copy= for asarray and __array__")


class Owner(bytearray):
    """Bytes that can be watched."""


def packed(code: str, *values: Any) -> Buffer:
    """Return numbers one after another, in native byte order."""
    return as_buffer(Owner(struct.pack(f"={len(values)}{code}", *values)))


def bits(*values: int) -> Buffer:
    """Return bits, the first one the least significant."""
    return as_buffer(
        bytes(sum(bit << i for i, bit in enumerate(values[at : at + 8])) for at in range(0, len(values), 8))
    )


def ints(*values: int, **more: Any) -> Column:
    return Column("l", len(values), data=packed("q", *values), **more)


def floats(*values: float, **more: Any) -> Column:
    return Column("g", len(values), data=packed("d", *values), **more)


def text(*values: str, **more: Any) -> Column:
    encoded = [value.encode() for value in values]
    ends = [sum(map(len, encoded[:i])) for i in range(len(values) + 1)]
    data = as_buffer(b"".join(encoded) or b"\0")
    return Column("u", len(values), data=data, offsets=packed("i", *ends), **more)


def codes(*values: int, of: Column, **more: Any) -> Column:
    return Column("c", len(values), data=packed("b", *values), dictionary=of, **more)


def masked(*present: int) -> dict[str, Any]:
    """Return the arguments of Arrow's mask."""
    return {"validity": bits(*present), "null": (USE_BITMASK, 0)}


def chunked(*columns: Column) -> Column:
    """Return columns of one type as the chunks of one."""
    return Column._make(columns[0]._type, tuple(column._piece for column in columns))


def same_memory(array: Any, buffer: Buffer | None) -> bool:
    assert buffer is not None
    return buffer.ptr <= array.__array_interface__["data"][0] < buffer.ptr + max(buffer.bufsize, 1)


class TestViews:
    @pytest.mark.parametrize(
        ("code", "form", "dtype"),
        [("b", "c", "i1"), ("B", "C", "u1"), ("h", "s", "i2"), ("H", "S", "u2"), ("i", "i", "i4"), ("I", "I", "u4"),
         ("q", "l", "i8"), ("Q", "L", "u8"), ("e", "e", "f2"), ("f", "f", "f4"), ("d", "g", "f8"),
         ("q", "tsn:UTC", "M8[ns]"), ("q", "tsm:", "M8[ms]"), ("q", "tdm", "M8[ms]"), ("q", "ttu", "m8[us]"),
         ("q", "tDs", "m8[s]")],
    )  # fmt: skip
    def test_same_memory(self, code: str, form: str, dtype: str) -> None:
        column = Column(form, 3, data=packed(code, 1, 2, 3, 4), offset=1)
        array = np.asarray(column)
        assert array.dtype == np.dtype(dtype)
        assert same_memory(array, column.data)
        assert array.view(f"{dtype[0] if dtype[0] not in 'Mm' else 'i'}{array.itemsize}").tolist() == [2, 3, 4]

    def test_strides_and_byte_order(self) -> None:
        data = as_buffer(bytes(range(12)))
        column = Column((1, 16, "S", SWAPPED), 3, data=data, strides=(-4,), byte_offset=9)
        array = np.asarray(column)
        assert array.strides == (-4,)
        assert array.dtype == np.dtype(SWAPPED + "u2")
        assert array.tolist() == [
            int.from_bytes(bytes([n, n + 1]), {"<": "little", ">": "big"}[SWAPPED]) for n in (9, 5, 1)
        ]
        assert same_memory(array, data)

    @pytest.mark.parametrize("readonly", [True, False])
    def test_access_and_owner(self, readonly: bool) -> None:
        owner = Owner(16)
        died = weakref.ref(owner)
        lent = as_buffer(owner)
        column = Column("l", 2, data=Buffer(lent.ptr, 16, owner=owner, readonly=readonly))
        array = column.__array__()
        assert array.flags.writeable is not readonly
        assert np.asarray(column).flags.writeable is not readonly
        del owner, lent, column
        assert died() is not None
        assert array.tolist() == [0, 0]
        del array
        assert died() is None

    def test_fixed_binary(self) -> None:
        column = Column("w:3", 2, data=as_buffer(b"abcdef"))
        assert np.asarray(column).tolist() == [b"abc", b"def"]
        assert np.asarray(column).dtype == "V3"

    def test_nan_where_nothing_is_missing(self) -> None:
        for null in ((NON_NULLABLE, None), (USE_NAN, None)):
            column = floats(1.5, float("nan"), null=null)
            array = np.asarray(column)
            assert same_memory(array, column.data)
            assert np.isnan(array).tolist() == [False, True]

    def test_nat(self) -> None:
        for null in ((USE_NAN, None), (USE_SENTINEL, NAT)):
            column = Column("tss:", 2, data=packed("q", 5, NAT), null=null)
            array = np.asarray(column)
            assert same_memory(array, column.data)
            assert np.isnat(array).tolist() == [False, True]
            assert "__array_interface__" in dir(column)
            assert column.__array_interface__["typestr"] == np.dtype("M8[s]").str

    def test_another_sentinel_is_not_numpys(self) -> None:
        column = Column("tss:", 2, data=packed("q", 5, 7), null=(USE_SENTINEL, 7))
        assert np.isnat(np.asarray(column)).tolist() == [False, True]
        assert not hasattr(column, "__array_interface__")

    def test_a_mask_that_marks_nothing(self) -> None:
        column = ints(1, 2, **masked(1, 1))
        assert same_memory(np.asarray(column), column.data)

    def test_one_chunk_with_elements_is_viewed(self) -> None:
        filled = ints(1, 2)
        assert same_memory(np.asarray(chunked(ints(), filled, ints())), filled.data)

    @COPIED
    def test_copy(self) -> None:
        column = ints(1, 2)
        assert not same_memory(column.__array__(copy=True), column.data)
        assert same_memory(column.__array__(copy=False), column.data)
        assert column.__array__(copy=True).flags.writeable


class TestCopies:
    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (chunked(ints(1, 2), ints(3)), np.array([1, 2, 3])),
            (Column("b", 3, data=bits(0, 1, 0, 1), offset=1), np.array([True, False, True])),
            (Column((20, 8, "b", "="), 3, data=as_buffer(bytes([0, 1, 7]))), np.array([False, True, True])),
            (Column("tdD", 2, data=packed("i", 1, -1)), np.array(["1970-01-02", "1969-12-31"], "M8[D]")),
            (Column("tts", 2, data=packed("i", 1, 2)), np.array([1, 2], "m8[s]")),
            (Column("ttm", 1, data=packed("i", 7)), np.array([7], "m8[ms]")),
            (Column("tdD", 2, data=packed("i", 1, 2), **masked(0, 1)), np.array(["NaT", "1970-01-03"], "M8[D]")),
            (Column("tsu:", 2, data=packed("q", 1, 2), **masked(1, 0)), np.array([1, "NaT"], "M8[us]")),
            (floats(1, 2, 3, **masked(1, 0, 1)), np.array([1, np.nan, 3])),
            (codes(1, 0, 1, of=ints(70, 80)), np.array([80, 70, 80])),
            (codes(1, 9, 0, of=floats(0.5, 1.5), **masked(1, 0, 1)), np.array([1.5, np.nan, 0.5])),
            (codes(0, 0, of=floats(), **masked(0, 0)), np.array([np.nan, np.nan])),
            (codes(1, 1, of=ints(5, 6, **masked(0, 1))), np.array([6, 6])),
            (chunked(codes(0, of=ints(5)), codes(0, of=ints(6))), np.array([5, 6])),
        ],
    )
    def test_values(self, column: Column, expected: Any) -> None:
        array = np.asarray(column)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)
        with pytest.raises(ValueError, match="copy=False"):
            column.__array__(copy=False)

    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (ints(1, 2, **masked(1, 0)), [1, None]),
            (ints(1, 2, null=(USE_SENTINEL, 2)), [1, None]),
            (chunked(ints(1), ints(3, 4, **masked(0, 1))), [1, None, 4]),
            (Column("b", 2, data=bits(1, 1), **masked(1, 0)), [True, None]),
            (Column("n", 2), [None, None]),
            (text("a", "b", **masked(0, 1)), [None, "b"]),
            (Column("z", 1, data=as_buffer(b"ab"), offsets=packed("i", 0, 2)), [b"ab"]),
            (Column("w:2", 2, data=as_buffer(b"abcd"), **masked(1, 0)), [b"ab", None]),
            (Column("d:3,1", 1, data=packed("q", 15, 0)), [Decimal("1.5")]),
            (codes(0, 1, of=text("x", "y"), **masked(1, 0)), ["x", None]),
            (codes(0, 1, of=text("x", "y", **masked(1, 0))), ["x", None]),
        ],
    )
    def test_objects(self, column: Column, expected: list[Any]) -> None:
        array = np.asarray(column)
        assert array.dtype == object
        assert array.tolist() == expected
        with pytest.raises(ValueError, match="copy=False"):
            column.__array__(copy=False)

    def test_lists_of_one_length_stay_lists(self) -> None:
        column = Column("+l", 2, offsets=packed("i", 0, 2, 4), children=[ints(1, 2, 3, 4)])
        array = np.asarray(column)
        assert (array.shape, array.dtype) == ((2,), object)
        assert array.tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize(
        "column",
        [text("ü", "", "z"), codes(1, 2, 0, of=text("z", "ü", "")), chunked(text("ü"), text("", "z"))],
    )
    def test_text(self, column: Column) -> None:
        array = np.asarray(column)
        assert array.tolist() == ["ü", "", "z"]
        assert array.dtype == (object if StringDType is None else StringDType())
        with pytest.raises(ValueError, match="copy=False"):
            column.__array__(copy=False)

    @pytest.mark.parametrize("code", [-1, 2])
    def test_codes_that_stand_for_nothing(self, code: int) -> None:
        with pytest.raises(ProducerError, match="codes"):
            np.asarray(codes(0, code, of=ints(5, 6)))
        with pytest.raises(ProducerError, match="codes"):
            np.asarray(codes(0, of=ints()))

    def test_types_that_numpy_lacks(self) -> None:
        with pytest.raises(TypeError, match="part"):
            np.asarray(Column((105, 16, "", "="), 2, data=packed("h", 1, 2)))


class TestDtype:
    def test_missing_as_nan(self) -> None:
        assert np.asarray(ints(1, 2, **masked(1, 0)), "f4").tolist()[0] == 1
        assert np.isnan(np.asarray(ints(1, 2, **masked(1, 0)), "f4")).tolist() == [False, True]
        assert np.isnan(np.asarray(Column("b", 2, data=bits(1, 1), **masked(1, 0)), float)).tolist() == [False, True]
        column = Column("d:3,1", 2, data=packed("q", 15, 0, 0, 0), **masked(1, 0))
        array = np.asarray(column, "f8")
        assert array[0] == 1.5
        assert np.isnan(array[1])

    @pytest.mark.parametrize("dtype", ["i4", "u8", "?", "U5"])
    def test_missing_without_a_value_for_it(self, dtype: str) -> None:
        for column in (
            ints(1, 2, 3, **masked(1, 0, 0)),
            floats(1, 2, 3, **masked(1, 0, 0)),
            floats(1, np.nan, np.nan, null=(USE_NAN, None)),
        ):
            with pytest.raises(ValueError, match="2 of the column's 3 elements"):
                column.__array__(dtype)  # of NaN and NaT NumPy may ask the interface instead, and cast itself

    def test_what_stands_where_nothing_is_means_nothing(self) -> None:
        # A cast of it would warn, which is an error here.
        array = np.asarray(floats(1, 1e300, **masked(1, 0)), "f4")
        assert np.isnan(array).tolist() == [False, True]

    def test_times(self) -> None:
        column = Column("tdD", 2, data=packed("i", 1, 2), **masked(1, 0))
        assert np.asarray(column, "M8[s]").astype("i8").tolist() == [86_400, NAT]
        assert np.asarray(column, "M8").dtype == "M8[D]"

    def test_other_types(self) -> None:
        assert np.asarray(ints(1, 2), "f8").tolist() == [1.0, 2.0]
        assert np.asarray(ints(1, 2), object).tolist() == [1, 2]
        assert np.asarray(text("1.5", "2"), "f8").tolist() == [1.5, 2.0]
        assert np.asarray(text("ab", "c"), "U5").tolist() == ["ab", "c"]
        assert np.asarray(Column((0, 16, "s", SWAPPED), 1, data=as_buffer(b"\1\2")), "i2").dtype.isnative
        with pytest.raises(ValueError, match="copy=False"):
            ints(1).__array__("f8", copy=False)
        assert Column("tsn:", 1, data=packed("q", 5)).__array__(object).tolist() == [np.datetime64(5, "ns")]

    @pytest.mark.skipif(StringDType is None, reason="NumPy 1 has no StringDType")
    def test_a_string_type_with_a_value_for_nothing(self) -> None:
        array = np.asarray(text("a", "b", **masked(1, 0)), StringDType(na_object=None))
        assert array.tolist() == ["a", None]

    @given(
        st.lists(st.tuples(st.integers(-9, 9), st.booleans()), max_size=20),
        st.integers(0, 9),
        st.sampled_from([(USE_BITMASK, 0), (USE_BITMASK, 1), (USE_BYTEMASK, 0), (USE_BYTEMASK, 1)]),
        st.sampled_from(["=", SWAPPED]),
    )
    def test_every_mask(self, rows: list[tuple[int, bool]], offset: int, null: tuple[int, int], order: str) -> None:
        said = [int(there) ^ null[1] for _, there in rows]
        mask = bits(*[1] * offset, *said) if null[0] == USE_BITMASK else as_buffer(bytes([1] * offset + said))
        data = as_buffer(np.array([99] * offset + [value for value, _ in rows], f"{order}i4").tobytes())
        column = Column((0, 32, "i", order), len(rows), data=data, validity=mask, null=null, offset=offset)
        expected = [float(value) if there else None for value, there in rows]
        array = np.asarray(column, "f8")
        assert [None if np.isnan(item) else item for item in array.tolist()] == expected


class TestInterface:
    def test_says_what_lies_there(self) -> None:
        data = as_buffer(bytes(range(12)))
        column = Column((1, 16, "S", SWAPPED), 2, data=data, strides=(-4,), byte_offset=9, offset=1)
        assert column.__array_interface__ == {
            "version": 3, "shape": (2,), "typestr": SWAPPED + "u2", "data": (data.ptr + 5, True), "strides": (-4,)
        }  # fmt: skip

    def test_of_nothing(self) -> None:
        said = Column("l", 0).__array_interface__
        assert said["shape"] == (0,)
        assert said["data"][0], "NumPy before 2.4 misreads the address 0"
        assert np.asarray(Column("l", 0)).dtype == "i8"

    @pytest.mark.parametrize(
        "column",
        [
            ints(1, 2, **masked(1, 0)),
            ints(1, 2, null=(USE_SENTINEL, 1)),
            Column("b", 2, data=bits(1, 0)),
            Column("tdD", 1, data=packed("i", 1)),
            Column("d:3,1", 1, data=packed("q", 15, 0)),
            text("a"),
            codes(0, of=ints(5)),
            chunked(ints(1), ints(2)),
            Column("n", 2),
            Column("l", 2, data=Buffer(64, 16, owner=STATIC, device=(2, 0))),
        ],
    )
    def test_absent(self, column: Column) -> None:
        assert not hasattr(column, "__array_interface__")

    def test_a_device_is_not_looked_at(self) -> None:
        column = Column("l", 2, data=Buffer(64, 16, owner=STATIC, device=(2, 0)))
        assert not hasattr(column, "__array__")
        with pytest.raises(DeviceError):
            column.__array__()


class TestCuda:
    def column(self, form: Any = "f", device: tuple[int, int] = (2, 0), **more: Any) -> Column:
        return Column(form, 4, data=Buffer(0x1000, 64, owner=STATIC, device=device), **more)

    @pytest.mark.parametrize("device", [(2, 0), (2, 1), (13, 0)])
    def test_numbers(self, device: tuple[int, int]) -> None:
        column = self.column(device=device, offset=1, strides=(8,))
        assert column.__cuda_array_interface__ == {
            "version": 3, "shape": (4,), "typestr": np.dtype("f4").str, "data": (0x1008, False), "strides": (8,),
            "stream": None, "mask": None
        }  # fmt: skip

    def test_a_byte_mask_whose_zeros_mean_missing(self) -> None:
        mask = Buffer(0x2000, 8, owner=STATIC, device=(2, 0), readonly=True)
        column = self.column(validity=mask, null=(USE_BYTEMASK, 0), validity_offset=3)
        said = column.__cuda_array_interface__["mask"].__cuda_array_interface__
        assert (said["shape"], said["typestr"], said["data"], said["strides"]) == ((4,), "|b1", (0x2003, True), None)

    @pytest.mark.parametrize("null", [(USE_BYTEMASK, 1), (USE_BITMASK, 0), (USE_SENTINEL, 1)])
    def test_what_it_cannot_say(self, null: tuple[int, int]) -> None:
        mask = Buffer(0x2000, 8, owner=STATIC, device=(2, 0))
        assert not hasattr(self.column(validity=mask, null=null), "__cuda_array_interface__")
        assert hasattr(self.column(validity=mask, null=null, null_count=0), "__cuda_array_interface__")

    def test_absent(self) -> None:
        assert not hasattr(ints(1), "__cuda_array_interface__")
        assert not hasattr(self.column("tss:"), "__cuda_array_interface__")
        assert not hasattr(self.column("b"), "__cuda_array_interface__")
        assert not hasattr(self.column("w:4"), "__cuda_array_interface__")


class TestParts:
    def test_data_as_numbers_of_its_width(self) -> None:
        column = Column("tss:", 2, data=packed("q", 1, 2, 3), offset=1, name="t", **masked(1, 1, 0))
        part = column.part("data")
        assert (tuple(part.dtype), part.name, part.nullable, part.null_kind) == (
            (1, 64, "L", "="),
            "t",
            False,
            NON_NULLABLE,
        )
        assert np.from_dlpack(part).tolist() == [2, 3]
        assert part.data is column.data

    def test_strides_and_byte_order_stay(self) -> None:
        column = as_column(np.array([1, 2, 3, 4], SWAPPED + "M8[s]")[::-2])
        part = column.part("data")
        assert (part.dtype.order, part.strides, part.tolist()) == (SWAPPED, (-16,), [4, 2])

    def test_a_width_without_numbers(self) -> None:
        part = Column("d:3,1", 1, data=packed("q", 15, 0)).part("data")
        assert (part.dtype.format, part.tolist()) == ("w:16", [struct.pack("=qq", 15, 0)])

    def test_bits_are_the_bytes_that_hold_them(self) -> None:
        stored = as_buffer(bytes([1, 2, 3, 4]))
        column = Column("b", 6, data=stored, offset=11, validity=stored, null=(USE_BITMASK, 0), validity_offset=4)
        assert column.part("data").tolist() == [2, 3]
        assert column.part("validity").tolist() == [1, 2]
        assert column[:5].part("data").tolist() == [2]
        assert column[:0].part("data").tolist() == []

    def test_a_byte_mask(self) -> None:
        array = np.ma.MaskedArray(np.arange(4), [0, 1, 0, 1])[::-1]
        assert as_column(array).part("validity").tolist() == [1, 0, 1, 0]
        assert as_column(array)[1:3].part("validity").tolist() == [0, 1]

    def test_text(self) -> None:
        column = text("ab", "c", "def")[1:]
        assert column.part("offsets").tolist() == [2, 3, 6]
        assert column.part("offsets").dtype[:3] == (0, 32, "i")
        assert column.part("data").tolist() == list(b"abcdef")

    def test_views_unions_and_lists(self) -> None:
        views = Column(
            "+vL", 2, offsets=packed("q", 0, 1, 2), sizes=packed("q", 1, 1, 0), children=[ints(1, 2)], offset=1
        )
        assert (views.part("offsets").tolist(), views.part("sizes").tolist()) == ([1, 2], [1, 0])
        assert views.part("sizes").dtype[:3] == (0, 64, "l")
        union = Column(
            "+ud:0,5", 2, type_ids=as_buffer(b"\0\5"), offsets=packed("i", 0, 0), children=[ints(1), ints(2)]
        )
        assert (union.part("type_ids").tolist(), union.part("offsets").tolist()) == ([0, 5], [0, 0])
        assert union.part("type_ids").dtype[:3] == (0, 8, "c")

    def test_what_is_not_there(self) -> None:
        with pytest.raises(ValueError, match="data"):
            ints(1).part("validity")
        with pytest.raises(ValueError, match="chunks"):
            chunked(ints(1), ints(2)).part("data")

    def test_the_owner_goes_with_the_part(self) -> None:
        column = Column("tdD", 1, data=packed("i", 1))
        assert column.data is not None
        died = weakref.ref(column.data.owner)
        part = column.part("data")
        del column
        assert died() is not None
        del part
        assert died() is None


def test_dates_of_the_calendar() -> None:
    days = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
    assert np.asarray(Column("tdD", 1, data=packed("i", days))).astype(object).tolist() == [dt.date(2024, 2, 29)]
