"""Arrays of NumPy become columns: same memory, type, strides, owner, what is missing.

Format strings are those of Apache Arrow's C data interface, written by hand; addresses are NumPy's own.
"""

import sys
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Column, as_column
from buflend.shared import CopyRequiredError

SWAPPED = "<" if sys.byteorder == "big" else ">"
NON_NULLABLE, USE_NAN, USE_BITMASK, USE_BYTEMASK = 0, 1, 3, 4
StringDType: Any = getattr(getattr(np, "dtypes", None), "StringDType", None)
needs_stringdtype = pytest.mark.skipif(StringDType is None, reason="NumPy 1 has no StringDType")

# dtype of NumPy -> kind and bits of the interchange protocol (from 100 on of ours), format string of Arrow
TYPES = {
    "i1": (0, 8, "c"), "i2": (0, 16, "s"), "i4": (0, 32, "i"), "i8": (0, 64, "l"),
    "u1": (1, 8, "C"), "u2": (1, 16, "S"), "u4": (1, 32, "I"), "u8": (1, 64, "L"),
    "f2": (2, 16, "e"), "f4": (2, 32, "f"), "f8": (2, 64, "g"),
    "?": (20, 8, "b"), "c8": (104, 64, ""), "c16": (104, 128, ""),
    "M8[s]": (22, 64, "tss:"), "M8[ms]": (22, 64, "tsm:"), "M8[us]": (22, 64, "tsu:"), "M8[ns]": (22, 64, "tsn:"),
    "m8[s]": (22, 64, "tDs"), "m8[ms]": (22, 64, "tDm"), "m8[us]": (22, 64, "tDu"), "m8[ns]": (22, 64, "tDn"),
    "M8[D]": (22, 64, "tdD"), "S5": (101, 40, "w:5"), "V3": (101, 24, "w:3"),
}  # fmt: skip


def address(array: Any) -> int:
    found: int = np.asarray(array).__array_interface__["data"][0]
    return found


def first(column: Column) -> int:
    """Return the address of element 0, by what the column says of itself."""
    assert column.data is not None
    assert column.strides is not None
    return column.data.ptr + column.byte_offset + column.offset * column.strides[0]


@pytest.mark.parametrize(("name", "expected"), TYPES.items())
def test_types(name: str, expected: tuple[int, int, str]) -> None:
    array = np.zeros(4, name)
    column = as_column(array, allow_copy=False)
    assert tuple(column.dtype) == (*expected, "=")
    assert (column.size(), column.offset, column.strides) == (4, 0, (array.dtype.itemsize,))
    assert first(column) == address(array)
    assert column.data is not None
    assert column.data.bufsize == array.nbytes
    assert column.null_kind == (USE_NAN if array.dtype.kind in "Mm" else NON_NULLABLE)
    assert column.null_count == 0


@pytest.mark.parametrize("name", [name for name in TYPES if name[-1] != "1" and name[0] not in "?SV"])
def test_foreign_byte_order_is_kept(name: str) -> None:
    array = np.zeros(4, SWAPPED + name)
    column = as_column(array, allow_copy=False)
    assert tuple(column.dtype) == (*TYPES[name], SWAPPED)
    assert first(column) == address(array)


def test_a_long_double_has_no_format() -> None:
    wide = np.zeros(2, np.longdouble)
    dtype = as_column(wide).dtype
    assert (dtype.kind, dtype.bits) == (2, 8 * wide.itemsize)
    assert dtype.format == ("" if wide.itemsize > 8 else "g")


@given(
    st.sampled_from(sorted(TYPES)),
    st.integers(0, 30),
    st.integers(-31, 31),
    st.integers(-31, 31),
    st.integers(-4, 4).filter(bool),
)
def test_slices_span_their_items_and_no_more(name: str, size: int, start: int, stop: int, step: int) -> None:
    whole = np.arange(size * np.dtype(name).itemsize, dtype="u1").view(name)
    part = whole[start:stop:step]
    column = as_column(part, allow_copy=False)
    assert column.size() == len(part)
    assert column.data is not None
    if len(part):
        assert column.strides == part.strides
        assert first(column) == address(part)
        ends = (address(part), address(part) + (len(part) - 1) * part.strides[0])
        assert column.data.ptr == min(ends)
        assert column.data.bufsize == max(ends) - min(ends) + part.dtype.itemsize
    else:
        assert column.data.bufsize == 0


def test_broadcast() -> None:
    column = as_column(np.broadcast_to(np.int32(7), 1000), allow_copy=False)
    assert column.strides == (0,)
    assert column.data is not None
    assert (column.data.bufsize, column.data.readonly) == (4, True)
    assert column[998:].tolist() == [7, 7]


@pytest.mark.parametrize("step", [1, 2])
def test_access(step: int) -> None:
    array = np.arange(6)
    column = as_column(array[::step])
    assert column.data is not None
    assert not column.data.readonly
    array.flags.writeable = False
    column = as_column(array[::step])
    assert column.data is not None
    assert column.data.readonly


class Kept(np.ndarray[Any, Any]):
    """An array that can be watched."""


@pytest.mark.parametrize("step", [1, -2])
def test_the_owner_lives_as_long_as_the_column(step: int) -> None:
    array = np.arange(6).view(Kept)[::step]
    died = weakref.ref(array)
    column = as_column(array)
    part = column[1:]
    expected = array[1:].tolist()
    del array, column
    assert died() is not None
    assert part.tolist() == expected
    del part
    assert died() is None


@pytest.mark.parametrize("shape", [(), (2, 3), (2, 3, 4)])
def test_other_dimensions(shape: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match="as_table" if len(shape) > 1 else "reshape"):
        as_column(np.zeros(shape))


class TestTimes:
    def test_nat_is_missing(self) -> None:
        column = as_column(np.array(["2000-01-02", "NaT"], "M8[ns]"))
        assert column.null_count == 1
        assert column.tolist() == [np.datetime64("2000-01-02", "ns"), None]

    @pytest.mark.parametrize(
        ("name", "given", "text", "seconds"),
        [
            ("M8[Y]", [30, "NaT"], "tss:", 946_684_800),
            ("M8[M]", [1, "NaT"], "tss:", 31 * 86_400),
            ("M8[W]", [1, "NaT"], "tss:", 7 * 86_400),
            ("M8[h]", [-1, "NaT"], "tss:", -3600),
            ("M8[m]", [2, "NaT"], "tss:", 120),
            ("m8[W]", [1, "NaT"], "tDs", 7 * 86_400),
            ("m8[D]", [1, "NaT"], "tDs", 86_400),
            ("m8[h]", [2, "NaT"], "tDs", 7200),
            ("M8[10s]", [2, "NaT"], "tss:", 20),
            ("M8[25ms]", [2, "NaT"], "tsm:", 50),
            ("M8[2D]", [3, "NaT"], "tss:", 6 * 86_400),
        ],
    )
    def test_units_that_arrow_lacks(self, name: str, given: list[Any], text: str, seconds: int) -> None:
        array = np.array([0, 0], "i8").view(name)
        array[0] = np.array([given[0]], "i8").view(name)[0]
        array[1] = "NaT"
        column = as_column(array)
        assert column.dtype.format == text
        assert column.null_count == 1
        assert np.asarray(column).view("i8")[0] == seconds
        with pytest.raises(CopyRequiredError):
            as_column(array, allow_copy=False)

    @pytest.mark.parametrize("name", ["M8[Y]", "M8[W]", "m8[h]"])
    def test_too_far_away(self, name: str) -> None:
        with pytest.raises(OverflowError):
            as_column(np.array([2**62], "i8").view(name))

    @pytest.mark.parametrize("name", ["M8[ps]", "M8[fs]", "m8[as]", "M8", "m8", "m8[Y]", "m8[M]"])
    def test_units_that_are_refused(self, name: str) -> None:
        with pytest.raises(TypeError, match="unit"):
            as_column(np.zeros(2, "i8").view(name))


WORDS = ["", "a", "Zürich", "日本語", "🎉 😀", "tail", "x" * 300]


class TestText:
    @pytest.mark.parametrize("order", ["=", SWAPPED])
    @pytest.mark.parametrize("step", [1, -2])
    def test_fixed_width(self, order: str, step: int) -> None:
        array = np.array(WORDS).astype(f"{order}U300")[::step]
        column = as_column(array)
        assert tuple(column.dtype) == (21, 8, "U", "=")
        assert column.tolist() == WORDS[::step]
        assert column.null_kind == NON_NULLABLE

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=9))
    def test_bytes_and_offsets(self, texts: list[str]) -> None:
        for array in (np.array(texts, object), np.array([text.rstrip("\0") for text in texts], "U9")):
            expected = [text.rstrip("\0") if array.dtype.kind == "U" else text for text in texts]
            column = as_column(array)
            assert column.data is not None
            assert column.offsets is not None
            encoded = [text.encode() for text in expected]
            assert bytes(column.data.memoryview()) == b"".join(encoded)
            ends = np.frombuffer(column.offsets.memoryview(), "i8").tolist()
            assert ends == [sum(map(len, encoded[:i])) for i in range(len(encoded) + 1)]

    def test_only_a_copy(self) -> None:
        with pytest.raises(CopyRequiredError, match="UTF-8"):
            as_column(np.array(["a"]), allow_copy=False)

    def test_a_lone_surrogate(self) -> None:
        with pytest.raises(UnicodeError):
            as_column(np.array(["a", "\ud800"]))

    def test_nothing_at_the_end_is_padding_and_within_is_not(self) -> None:
        assert as_column(np.array(["a\0b", "c\0", "\0"])).tolist() == ["a\0b", "c", ""]

    @needs_stringdtype
    def test_stringdtype(self) -> None:
        column = as_column(np.array([*WORDS, "nul\0"], StringDType()))
        assert column.tolist() == [*WORDS, "nul\0"]
        assert column.null_kind == NON_NULLABLE

    @needs_stringdtype
    @pytest.mark.parametrize("nothing", [None, float("nan"), "n/a"])
    def test_stringdtype_with_nothing(self, nothing: Any) -> None:
        column = as_column(np.array(["a", nothing, "", "ü"], StringDType(na_object=nothing)))
        assert column.tolist() == ["a", None, "", "ü"]
        assert (column.null_count, column.describe_null) == (1, (USE_BITMASK, 0))

    def test_objects(self) -> None:
        column = as_column(np.array(["a", None, float("nan"), np.str_("ü"), ""], object))
        assert column.tolist() == ["a", None, None, "ü", ""]
        assert column.null_count == 2

    def test_all_missing(self) -> None:
        assert as_column(np.array([None, None], object)).tolist() == [None, None]

    @pytest.mark.parametrize("item", [1, b"a", 1.5, [], object()])
    def test_other_objects(self, item: object) -> None:
        array = np.empty(2, object)
        array[:] = ["a", None]
        array[1] = item
        with pytest.raises(TypeError, match=f"element 1.*{type(item).__name__}"):
            as_column(array)

    def test_what_a_mask_hides_is_not_looked_at(self) -> None:
        column = as_column(np.ma.array(np.array(["a", 3, "b"], object), mask=[0, 1, 0]))
        assert column.tolist() == ["a", None, "b"]
        column = as_column(np.ma.array(["aaa", "b"], mask=[1, 0]))
        assert column.tolist() == [None, "b"]
        assert column.data is not None
        assert bytes(column.data.memoryview()) == b"b"


class TestStructs:
    def test_fields_are_strided_views(self) -> None:
        array = np.zeros(4, [("a", "<i4"), ("b", ">f8"), ("c", [("d", "u1"), ("e", "S3")])])
        array["a"], array["b"] = [1, 2, 3, 4], [0.5, 1.5, 2.5, 3.5]
        array["c"]["e"] = b"xyz"
        column = as_column(array[::-2], allow_copy=False)
        assert tuple(column.dtype) == (111, 0, "+s", "=")
        assert column.size() == 2
        a, b, c = column.children
        assert [child.name for child in column.children] == ["a", "b", "c"]
        assert (a.tolist(), b.tolist()) == ([4, 2], [3.5, 1.5])
        assert (a.strides, b.strides) == ((-32,), (-32,))
        assert (first(a), first(b)) == (address(array) + 48, address(array) + 52)
        assert b.dtype.order == (">" if sys.byteorder == "little" else "=")
        assert c.children[1].tolist() == [b"xyz", b"xyz"]

    def test_text_in_a_field_is_copied(self) -> None:
        array = np.array([("é", 1), ("", 2)], [("t", "U2"), ("n", "i8")])
        assert as_column(array).children[0].tolist() == ["é", ""]
        with pytest.raises(CopyRequiredError):
            as_column(array, allow_copy=False)

    def test_text_of_no_width(self) -> None:
        assert as_column(np.zeros(2, [("t", "U0"), ("n", "i8")])).children[0].tolist() == ["", ""]

    def test_fields_of_arrays_are_refused(self) -> None:
        with pytest.raises(TypeError, match="dimension"):
            as_column(np.zeros(3, [("a", "i4", (2,))]))

    def test_padding_is_no_field(self) -> None:
        array = np.zeros(2, np.dtype([("a", "i1"), ("b", "i8")], align=True))
        assert [child.strides for child in as_column(array).children] == [(16,), (16,)]


class TestMasked:
    def test_data_and_mask_are_lent(self) -> None:
        data, mask = np.arange(6.0), np.array([0, 1, 0, 0, 1, 0], bool)
        masked = np.ma.MaskedArray(data, mask, copy=False)
        column = as_column(masked, allow_copy=False)
        assert column.describe_null == (USE_BYTEMASK, 1)
        assert first(column) == address(data)
        assert column.validity is not None
        assert column.validity.ptr + column.validity_offset == address(np.ma.getmask(masked))
        assert column.tolist() == [0, None, 2, 3, None, 5]
        assert column.null_count == 2

    @given(st.lists(st.booleans(), max_size=12), st.integers(-3, 3).filter(bool), st.integers(-3, 3).filter(bool))
    def test_strides_of_both(self, flags: list[bool], step: int, other: int) -> None:
        size = len(flags)
        data = np.repeat(np.arange(size), abs(step))[::step][:size]
        mask = np.repeat(np.array(flags, bool), abs(other))[::other][:size]
        column = as_column(np.ma.MaskedArray(data, mask, copy=False), allow_copy=False)
        assert column.tolist() == [None if gone else n for n, gone in zip(data.tolist(), mask.tolist(), strict=True)]

    def test_without_a_mask(self) -> None:
        assert as_column(np.ma.array([1, 2])).null_kind == NON_NULLABLE

    def test_nan_beside_a_mask_is_a_number(self) -> None:
        first, second = as_column(np.ma.array([np.nan, 1.0], mask=[0, 1])).tolist()
        assert first != first  # noqa: PLR0124 - NaN
        assert second is None

    def test_nat_joins_the_mask(self) -> None:
        masked = np.ma.array(np.array(["NaT", "2000", "2001"], "M8[s]"), mask=[0, 0, 1])
        assert as_column(masked).null_count == 2
        with pytest.raises(CopyRequiredError, match="NaT"):
            as_column(masked, allow_copy=False)
        assert as_column(masked[1:], allow_copy=False).null_count == 1

    def test_masks_of_fields_are_refused(self) -> None:
        with pytest.raises(TypeError, match="field"):
            as_column(np.ma.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]))


@pytest.mark.peers
def test_types_of_other_libraries_are_refused() -> None:
    other = pytest.importorskip("ml_dtypes", reason="registers bfloat16 with NumPy")
    with pytest.raises(TypeError, match="bfloat16"):
        as_column(np.zeros(2, other.bfloat16))
