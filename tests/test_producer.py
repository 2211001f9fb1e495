"""The controllable producer does what it says: what a case relies on is true."""

from typing import Any

import numpy as np
import pytest

from buflend.bench.producer import POISON, Buf, Col, Frame, Kind, Null, dtype


def column(**options: Any) -> Col:
    return Col(Buf(np.arange(5)), dtype("int64"), 3, offset=1, **options)


def test_a_buffer_tells_the_truth_by_default() -> None:
    memory = np.arange(5)
    buf = Buf(memory)
    assert (buf.ptr, buf.bufsize, buf.__dlpack_device__()) == (memory.ctypes.data, 40, (1, 0))
    assert Buf(b"abc").memory.tobytes() == b"abc"
    with pytest.raises(NotImplementedError):
        buf.__dlpack__()


def test_a_buffer_lies_when_told_to() -> None:
    buf = Buf(b"abc", device=(2, 0), ptr=0xDEAD0000, bufsize=-1)
    assert (buf.ptr, buf.bufsize, buf.__dlpack_device__()) == (0xDEAD0000, -1, (2, 0))
    assert Buf(b"abc", ptr=None).ptr is None
    assert buf.memory.tobytes() == b"abc"


def test_a_dead_buffer_leaves_poison() -> None:
    memory = np.arange(5)
    buf = Buf(memory, poison=True)
    assert memory.tolist() == [0, 1, 2, 3, 4]
    del buf
    assert memory.tobytes() == bytes([POISON]) * 40


def test_poisoned_memory_stays_mapped() -> None:
    buf = Buf(np.arange(5), poison=True)
    late = np.asarray(memoryview(buf.memory))
    address = buf.address
    del buf
    assert late.tobytes() == bytes([POISON]) * 40
    fresh = [Buf(np.arange(5)) for _ in range(100)]
    assert address not in {one.address for one in fresh}


def test_a_buffer_that_does_not_poison_leaves_its_memory() -> None:
    memory = np.arange(5)
    buf = Buf(memory)
    del buf
    assert memory.tolist() == [0, 1, 2, 3, 4]


def test_lazy_buffers_are_made_anew_and_kept_by_nobody() -> None:
    lazy = column(lazy=True, validity=(Buf(b"\x0f"), dtype("bits")))
    first, second = lazy.get_buffers(), lazy.get_buffers()
    for name in ("data", "validity"):
        assert first[name][0].ptr != second[name][0].ptr
    memory = first["data"][0].memory
    assert memory.view(np.int64).tolist() == [0, 1, 2, 3, 4]
    del first
    assert memory.tobytes() == bytes([POISON]) * 40
    assert second["data"][0].memory.view(np.int64).tolist() == [0, 1, 2, 3, 4]
    assert lazy.asked.count("get_buffers") == 2


def test_what_was_asked_is_written_down() -> None:
    asked = column()
    assert (asked.size(), asked.offset, asked.null_count) == (3, 1, 0)
    assert asked.asked == ["size", "offset", "null_count"]
    frame = Frame({"a": asked})
    frame.__dataframe__(allow_copy=False)
    assert frame.asked == ["__dataframe__", "allow_copy=False"]


def test_methods_raise_what_they_are_told_to() -> None:
    error = OSError("gone")
    with pytest.raises(OSError, match="gone"):
        column(raises={"get_buffers": error}).get_buffers()
    with pytest.raises(OSError, match="gone"):
        _ = Buf(b"", raises={"ptr": error}).ptr
    frame = Frame({"a": column()}, raises={"allow_copy=False": error})
    assert frame.__dataframe__() is frame
    with pytest.raises(OSError, match="gone"):
        frame.__dataframe__(allow_copy=False)


def test_a_column_in_chunks_has_no_buffers_of_its_own() -> None:
    chunks = [column(), column()]
    whole = Col(None, dtype("int64"), 6, chunks=chunks)
    assert list(whole.get_chunks()) == chunks
    assert whole.num_chunks() == 2
    with pytest.raises(RuntimeError, match="2 chunks"):
        whole.get_buffers()
    assert Frame({"a": whole}).num_rows() == 6


def test_a_column_is_its_own_chunk_and_a_frame_too() -> None:
    alone = column()
    assert (alone.num_chunks(), list(alone.get_chunks())) == (1, [alone])
    frame = Frame({"a": alone})
    assert (frame.num_chunks(), list(frame.get_chunks()), frame.num_rows()) == (1, [frame], 3)
    empty = Frame({"a": alone}, chunks=[])
    assert (empty.num_chunks(), list(empty.get_chunks()), empty.num_rows()) == (0, [], 0)


def test_a_frame_gives_its_columns_in_every_way() -> None:
    frame = Frame([("a", column()), ("b", column()), ("a", column())])
    assert list(frame.column_names()) == ["a", "b", "a"]
    assert frame.num_columns() == 3
    assert list(frame.get_columns()) == [frame.get_column(i) for i in range(3)]
    assert frame.get_column_by_name("b") is frame.get_column(1)
    assert frame.select_columns([2, 1]).columns == [frame.get_column(2), frame.get_column(1)]
    assert frame.select_columns_by_name(["b"]).columns == [frame.get_column(1)]


def test_only_a_categorical_column_describes_its_categories() -> None:
    categories = column()
    coded = Col(Buf(b"\0\1"), (Kind.CATEGORICAL, 8, "c", "="), 2, categories=categories, ordered=True)
    assert coded.describe_categorical == {"is_ordered": True, "is_dictionary": True, "categories": categories}
    with pytest.raises(TypeError):
        _ = column().describe_categorical


def test_content_shows_a_write_anywhere_below_a_frame() -> None:
    mask, categories = Buf(b"\x0f"), Buf(np.arange(3))
    coded = Col(
        Buf(b"\0\1"),
        (Kind.CATEGORICAL, 8, "c", "="),
        2,
        null=(Null.USE_BITMASK, 0),
        validity=(mask, dtype("bits")),
        categories=Col(categories, dtype("int64"), 3),
    )
    frame = Frame({"a": column()}, chunks=[Frame({"a": coded})])
    before = frame.content()
    assert frame.content() == before
    for buf in (mask, categories, coded.parts["data"][0], frame.columns[0].parts["data"][0]):
        buf.memory[-1] ^= 1
        assert frame.content() != before
        buf.memory[-1] ^= 1
    assert frame.content() == before
