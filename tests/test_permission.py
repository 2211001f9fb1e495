"""What a caller or a producer permits: copies are made where they are asked for, and memory is written where it may be.

Expected values are the words of the protocols: NumPy, `__array__` and the array interface; the house's own rules.
"""

import sys

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, as_buffer, as_column, as_table
from buflend.shared import CopyRequiredError

DAYS = np.array(["2020-01-01", "NaT", "2020-01-03"], "M8[D]")


class TestArrayOfABuffer:
    def test_a_copy_is_one(self) -> None:
        memory = bytearray(b"lent")
        made = as_buffer(memory).__array__(copy=True)
        made[0] = 0
        assert memory == b"lent"

    def test_a_view_is_none(self) -> None:
        memory = bytearray(b"lent")
        for copy in (None, False):
            assert np.shares_memory(as_buffer(memory).__array__(copy=copy), np.frombuffer(memory, "u1"))

    def test_another_type_is_a_copy(self) -> None:
        buffer = as_buffer(b"lent")
        assert buffer.__array__("i8").tolist() == list(b"lent")
        with pytest.raises(ValueError, match="copy=False"):
            buffer.__array__("i8", copy=False)
        assert buffer.__array__("u1", copy=False).tolist() == list(b"lent")


@pytest.mark.parametrize("readonly", [False, True])
def test_the_cuda_interface_says_whether_memory_may_be_written(*, readonly: bool) -> None:
    buffer = Buffer(0xDEAD0000, 8, owner=object(), device=(2, 0), readonly=readonly)
    assert buffer.__cuda_array_interface__["data"] == (0xDEAD0000, readonly)
    assert Column("l", 1, data=buffer).__cuda_array_interface__["data"] == (0xDEAD0000, readonly)


class TestInterchange:
    """What the protocol cannot say is copied, where that is allowed."""

    @pytest.mark.parametrize(
        ("column", "why"),
        [
            (as_column(DAYS), "missing becomes a bit mask"),
            (as_column(DAYS[[0, 2]]), "days"),
            (as_column(np.arange(6)[::2]), "strided"),
            (as_column(np.arange(3, dtype=">i2" if sys.byteorder == "little" else "<i2")), "byte order"),
            (Column("i", 2, data=as_buffer(bytes(8)), validity=as_buffer(b"\x0a"), validity_offset=1), "mask"),
            (Column("vu", 1, data=as_buffer(bytes([1, 0, 0, 0, 97, *bytes(11)]))), "views"),
        ],
        ids=["missing days", "days", "strides", "byte order", "mask out of step", "views"],
    )
    def test_a_copy_is_made_where_it_may_be(self, column: Column, why: str) -> None:
        with pytest.raises(CopyRequiredError, match=why):
            column.for_interchange(allow_copy=False)
        assert column.for_interchange().tolist() == column.tolist()

    def test_where_the_elements_start(self) -> None:
        column = Column("C", 2, data=as_buffer(b"abcd"), byte_offset=1, offset=1)
        assert column.tolist() == [99, 100]
        made = column.for_interchange(allow_copy=False)
        buffer, _ = made.get_buffers()["data"]  # type: ignore[misc]
        assert made.byte_offset == 0
        assert bytes(buffer.memoryview())[made.offset :][:2] == b"cd"


def test_a_day_that_is_too_far_for_32_bits() -> None:
    column = as_column(np.array([2**31], "M8[D]"))
    with pytest.raises(OverflowError, match="32 bits"):
        column.for_interchange()


def test_a_copy_has_zeros_where_elements_are_missing() -> None:
    strided = np.ma.MaskedArray(np.array([1, 0, 77, 0, 3], "i2")[::2], [False, True, False])
    data = as_column(strided).for_interchange().data
    assert data is not None
    assert np.frombuffer(data.memoryview(), "i2").tolist() == [1, 0, 3]


def test_nothing_is_present_of_the_type_of_nothing() -> None:
    column = Column("n", 2)
    assert (column.tolist(), column.null_count) == ([None, None], 2)
    assert np.asarray(column).tolist() == [None, None]


def test_text_is_not_copied_in_silence() -> None:
    text = np.array(["a"])
    for make in (as_column, lambda obj, **options: as_table({"a": obj}, **options)):
        with pytest.raises(CopyRequiredError):
            make(text, allow_copy=False)
