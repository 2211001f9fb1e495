"""Columns whose parts disagree, or whose answers misbehave: refused with a documented error, never read wrongly."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from buflend import maximal
from buflend.bench.producer import Buf, Col, Frame
from buflend.minimal import column_to_ndarray, dataframe_to_ndarrays
from buflend.shared import CopyRequiredError, ProducerError

USE_SENTINEL = 2
INT64 = (0, 64, "l", "=")
TEXT = (21, 8, "U", "=")


def numbers(values: Any, dtype: Any = INT64, **options: Any) -> Col:
    array = np.asarray(values)
    return Col(Buf(array), dtype, len(array), **options)


def texts(values: list[str], **options: Any) -> Col:
    raw = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, raw)])
    offsets = (Buf(ends.astype("int64")), INT64)
    return Col(Buf(b"".join(raw)), TEXT, len(values), offsets=offsets, data_dtype=(1, 8, "C", "="), **options)


def codes(values: Any, categories: Col, announced: str = "c", **options: Any) -> Col:
    array = np.asarray(values)
    kind, bits = (1 if array.dtype.kind == "u" else 0), array.itemsize * 8
    options = {"data_dtype": (kind, bits, announced, "="), **options}
    return Col(Buf(array), (23, bits, announced, "="), len(array), categories=categories, **options)


def chunked(*chunks: Col) -> Col:
    return Col(None, chunks[0].dtype, sum(chunk.size() for chunk in chunks), chunks=chunks)


def missing(column: Col) -> list[bool]:
    valid = column_to_ndarray(column).valid
    return [False] * column.size() if valid is None else (~valid).tolist()


class TestSentinels:
    """A sentinel marks what equals it, and nothing that only becomes equal on the way."""

    @pytest.mark.parametrize(
        ("values", "dtype", "sentinel", "marked"),
        [
            (np.array([np.inf, 1], "f4"), (2, 32, "f", "="), 1e300, [False, False]),
            (np.array([np.inf, 1], "f4"), (2, 32, "f", "="), np.inf, [True, False]),
            (np.array([2048, 1], "f2"), (2, 16, "e", "="), 2049.0, [False, False]),
            (np.array([2.0**53, 1]), (2, 64, "g", "="), 2**53 + 1, [False, False]),
            (np.array([2.0**53, 1]), (2, 64, "g", "="), 2**53, [True, False]),
            (np.array([np.nan, 1]), (2, 64, "g", "="), np.nan, [True, False]),
            (np.array([2**53, 2**53 + 1]), INT64, 2**53 + 1, [False, True]),
            (np.array([255, 1], "u1"), (1, 8, "C", "="), -1, [False, False]),
        ],
        ids=str,
    )
    def test_numbers(self, values: Any, dtype: Any, sentinel: Any, marked: list[bool]) -> None:
        assert missing(numbers(values, dtype, null=(USE_SENTINEL, sentinel))) == marked

    @pytest.mark.parametrize("sentinel", [2, -1])
    def test_a_bit_holds_two_values(self, sentinel: int) -> None:
        packed = (20, 1, "b", "=")
        assert missing(Col(Buf(b"\x05"), packed, 4, null=(USE_SENTINEL, sentinel))) == [False] * 4

    @pytest.mark.parametrize(
        ("values", "sentinel", "marked"),
        [
            (["NA", "NA\0", "b"], "NA\0", [False, True, False]),
            (["NA", "NA\0", "b"], "NA", [True, False, False]),
            (["", "\0", "b"], "\0", [False, True, False]),
            (["NA", "b"], "\ud800", [False, False]),
        ],
    )
    def test_text(self, values: list[str], sentinel: str, marked: list[bool]) -> None:
        assert missing(texts(values, null=(USE_SENTINEL, sentinel))) == marked

    @pytest.mark.parametrize("sentinel", ["5", b"6", None, [], object()])
    def test_no_number(self, sentinel: Any) -> None:
        with pytest.raises(ProducerError, match=r"describe_null\[1\]"):
            column_to_ndarray(numbers([1.0], (2, 64, "g", "="), null=(USE_SENTINEL, sentinel)))

    @pytest.mark.parametrize("said", [int, str, bytes])
    def test_a_number_is_none_by_its_class(self, said: type) -> None:
        sentinel = type("Liar", (), {"__class__": said, "__float__": lambda _: 1.0})()
        assert missing(numbers([2.0, 1.0], (2, 64, "g", "="), null=(USE_SENTINEL, sentinel))) == [False, True]

    def test_an_integer_is_one_by_its_type(self) -> None:
        said = {"__class__": str, "__float__": lambda _: 1.0, "__int__": lambda _: 1}
        sentinel = type("Liar", (int,), said)(2**53 + 1)  # holds another number than it says
        assert missing(numbers([2.0**53, 1.0], (2, 64, "g", "="), null=(USE_SENTINEL, sentinel))) == [False, False]


class TestWhatSaysItIsOurs:
    """Who speaks the protocol is read by it, whatever it says of its class."""

    def test_a_column(self) -> None:
        other = maximal.as_column(np.arange(3))
        said = {"__class__": maximal.Column, "__arrow_c_array__": lambda _: other.__arrow_c_array__()}
        column = type("Liar", (Col,), said)(Buf(np.array([1, 2])), INT64, 2)
        assert maximal.column_to_ndarray(column).values.tolist() == [1, 2]

    def test_a_frame(self) -> None:
        frame = Frame({"a": numbers([1, 2])})
        said = {"__class__": maximal.Table, "__dataframe__": lambda _, **options: frame.__dataframe__(**options)}
        liar = type("Liar", (dict,), said)({"b": np.arange(3)})
        assert list(maximal.dataframe_to_ndarrays(liar)) == ["a"]

    def test_a_column_of_ours_has_types_that_the_protocol_lacks(self) -> None:
        column = maximal.Column("d:5,2", 1, data=maximal.as_buffer((125).to_bytes(16, "little")))
        assert maximal.column_to_ndarray(column).values.tolist() == [Decimal("1.25")]


class TestDisagreement:
    """What column and buffer say differently, and the size of the buffer cannot decide, is refused."""

    @pytest.mark.parametrize(
        ("dtype", "data_dtype", "values"),
        [
            (INT64, (2, 64, "g", "="), [1.0, 2.0]),
            (INT64, (1, 64, "L", "="), np.array([2**64 - 1], "u8")),
            (INT64, (0, 64, "l", ">"), np.array([1, 2], ">i8")),
            ((0, 64, "l", ">"), INT64, [1, 2]),
            ((2, 64, "g", "="), INT64, [1, 2]),
            ((20, 8, "b", "="), (1, 8, "C", "="), np.array([0, 1], "u1")),
            ((22, 64, "tsn:", "="), (2, 64, "g", "="), [1.0, 2.0]),
        ],
        ids=str,
    )
    def test_kind_and_byte_order(self, dtype: Any, data_dtype: Any, values: Any) -> None:
        with pytest.raises(ProducerError, match=r"data dtype|endianness"):
            column_to_ndarray(numbers(values, dtype, data_dtype=data_dtype))

    def test_width_of_codes(self) -> None:
        with pytest.raises(ProducerError, match="bits of an element"):
            column_to_ndarray(codes(np.array([0, 1]), texts(["a", "b"]), data_dtype=(0, 8, "c", "=")))

    def test_byte_order_of_bytes_means_nothing(self) -> None:
        column = numbers(np.array([1, 2], "u1"), (1, 8, "C", ">"), data_dtype=(1, 8, "C", "="))
        assert column_to_ndarray(column).values.tolist() == [1, 2]

    @pytest.mark.parametrize("stored", [1, 86_399_999, -1, 140_000_000_000_016])
    def test_a_date_in_milliseconds_is_a_whole_day(self, stored: int) -> None:
        dates = (22, 64, "tdm", "=")
        with pytest.raises(ProducerError, match="whole days"):
            column_to_ndarray(numbers([0, stored], dates, data_dtype=INT64))
        hidden = numbers([0, stored], dates, data_dtype=INT64, null=(USE_SENTINEL, stored))
        assert column_to_ndarray(hidden).values[0] == np.datetime64("1970-01-01", "ms")


class TestDictionaries:
    def test_codes_of_two_types_stay_integers(self) -> None:
        for one, other in (("i8", "u8"), ("i1", "u8"), ("i1", "u1")):
            first = codes(np.array([0, 1], one), texts(["a", "b"]))
            second = codes(np.array([1, 0], other), texts(["a", "b"]))
            read = column_to_ndarray(chunked(first, second))
            assert read.values.dtype.kind in "iu"
            assert read.tolist() == ["a", "b", "b", "a"]

    @staticmethod
    def _gaps(values: list[str | None], *, ordered: bool = True) -> Col:
        bits = sum((value is not None) << i for i, value in enumerate(values))
        inner = texts([value or "" for value in values], null=(3, 0), validity=(Buf(bytes([bits])), (20, 1, "b", "=")))
        inner._answers["null_count"] = None
        return codes(np.arange(len(values), dtype="i1"), inner, ordered=ordered)

    def test_a_missing_category_has_no_place_in_the_order(self) -> None:
        read = column_to_ndarray(chunked(self._gaps(["a", None, "b"]), self._gaps([None, "a", "b"])))
        assert read.tolist() == ["a", None, "b", None, "a", "b"]
        assert read.categories is not None
        assert read.categories.tolist() == ["a", "b"]
        assert read.ordered is True

    def test_a_missing_category_is_no_empty_one(self) -> None:
        read = column_to_ndarray(chunked(self._gaps(["a", None], ordered=False), self._gaps(["", "b"], ordered=False)))
        assert read.tolist() == ["a", None, "", "b"]

    def test_duplicates_are_no_contradiction(self) -> None:
        first = codes(np.array([0, 1, 2], "i1"), texts(["a", "b", "a"]), ordered=True)
        second = codes(np.array([0], "i1"), texts(["a"]), ordered=True)
        assert column_to_ndarray(chunked(first, second)).tolist() == ["a", "b", "a", "a"]

    def test_an_order_that_the_chunks_contradict_or_leave_open(self) -> None:
        for one, other, word in ((["a", "b"], ["b", "a"], "contradict"), (["a"], ["b"], "leave open")):
            chunks = [codes(np.arange(len(c), dtype="i1"), texts(c), ordered=True) for c in (one, other)]
            with pytest.raises(ProducerError, match=word):
                column_to_ndarray(chunked(*chunks))

    def test_an_order_that_only_all_chunks_together_give(self) -> None:
        chunks = [codes(np.arange(2, dtype="i1"), texts(c), ordered=True) for c in (["b", "c"], ["a", "b"])]
        read = column_to_ndarray(chunked(*chunks))
        assert read.categories is not None
        assert read.categories.tolist() == ["a", "b", "c"]
        assert read.tolist() == ["b", "c", "a", "b"]

    def test_categories_that_turn_out_to_be_categorical(self) -> None:
        inner = codes(np.array([0, 1], "i1"), texts(["p", "q"]))
        nested = chunked(inner, inner)
        nested._answers["dtype"] = TEXT
        with pytest.raises(ProducerError, match="categories of categories"):
            column_to_ndarray(codes(np.array([0, 1], "i1"), nested))

    def test_categories_that_are_themselves(self) -> None:
        itself = Col(None, TEXT, 2)
        column = codes(np.array([0, 1], "i1"), itself)
        itself.chunks = (column, column)
        with pytest.raises(ProducerError, match="categories of categories"):
            column_to_ndarray(column)


class _PanicError(BaseException):
    """What a library in Rust raises."""


def _hostile(error: type[BaseException]) -> dict[str, Callable[[], Any]]:
    """Return columns of which one answer raises the error somewhere inside."""

    def fail(*_: object) -> Any:
        raise error("not today")

    bad: Any = type(
        "Bad", (), dict.fromkeys(("__index__", "__iter__", "__hash__", "__bool__", "__float__", "keys"), fail)
    )
    mapping: Any = type("Mapping", (), {"keys": fail, "__getitem__": fail})
    text: Any = type("Text", (str,), {"__hash__": fail, "partition": fail, "__eq__": fail, "startswith": fail})

    def with_buffers(buffers: Any) -> Col:
        column = numbers([1])
        column.get_buffers = lambda: buffers  # type: ignore[method-assign]
        return column

    def categorical(**answers: Any) -> Col:
        column = codes(np.array([0], "i1"), texts(["a"]))
        column._categorical.update(answers)
        return column

    return {
        "dtype iterates": lambda: numbers([1], bad()),
        "dtype kind": lambda: numbers([1], (bad(), 64, "l", "=")),
        "dtype text": lambda: numbers([1], (0, 64, text("l"), "=")),
        "dtype order": lambda: numbers([1], (0, 64, "l", text("="))),
        "time format": lambda: numbers([1], (22, 64, text("tsn:"), "="), data_dtype=INT64),
        "null iterates": lambda: numbers([1], null=bad()),
        "null kind": lambda: numbers([1], null=(bad(), None)),
        "sentinel of floats": lambda: numbers([1.0], (2, 64, "g", "="), null=(USE_SENTINEL, bad())),
        "size": lambda: Col(Buf(np.array([1])), INT64, bad()),
        "offset": lambda: numbers([1], offset=bad()),
        "device hashes": lambda: Col(Buf(np.array([1]), device=(bad(), 0)), INT64, 1),
        "device iterates": lambda: Col(Buf(np.array([1]), device=bad()), INT64, 1),
        "buffers": lambda: with_buffers(mapping()),
        "pair of a buffer": lambda: with_buffers({"data": bad()}),
        "is_ordered": lambda: categorical(is_ordered=bad()),
        "is_dictionary": lambda: categorical(is_dictionary=bad()),
    }


@pytest.mark.parametrize("error", [RuntimeError, KeyError, _PanicError], ids=lambda error: error.__name__)
@pytest.mark.parametrize("where", _hostile(RuntimeError))
def test_what_a_foreign_object_raises_becomes_ours(where: str, error: type[BaseException]) -> None:
    column = _hostile(error)[where]()
    caught: BaseException | None = None
    try:
        column_to_ndarray(column)
    except BaseException as raised:  # noqa: BLE001 - which one it is, is what is tested
        caught = raised
    assert caught is None or isinstance(caught, ProducerError), repr(caught)
    assert caught is None or str(caught)


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        column_to_ndarray(_hostile(KeyboardInterrupt)["dtype iterates"]())


@pytest.mark.parametrize("field", ["size", "offset", "null_count"])
def test_a_number_of_any_length_gets_its_error(field: str) -> None:
    column = numbers([1], null=(3, 0))
    column._answers[field] = 10**5000
    with pytest.raises(ProducerError, match="64 bits at most"):
        column_to_ndarray(column)


class TestCopiesRefused:
    def test_a_refusal_to_copy_is_one(self) -> None:
        frame = Frame({"a": numbers([1])}, raises={"allow_copy=False": RuntimeError("would copy")})
        with pytest.raises(CopyRequiredError, match="would copy"):
            dataframe_to_ndarrays(frame, allow_copy=False)

    @pytest.mark.parametrize("error", [NotImplementedError("no lists"), RecursionError("deep"), ValueError("odd")])
    def test_another_refusal_is_none(self, error: Exception) -> None:
        frame = Frame({"a": numbers([1])}, raises={"allow_copy=False": error})
        with pytest.raises(ProducerError, match=str(error)):
            dataframe_to_ndarrays(frame, allow_copy=False)


def test_what_a_foreign_buffer_permits_does_not_make_a_frame_writable() -> None:
    buffer: Any = Buf(np.array([1, 2]))
    buffer.readonly = False
    mask: Any = Buf(np.array([1, 0], "u1"))
    mask.readonly = False
    column = Col(buffer, INT64, 2, null=(4, 0), validity=(mask, (20, 8, "b", "=")), null_count=1)
    read = column_to_ndarray(column)
    assert read.valid is not None
    assert not read.values.flags.writeable
    assert not read.valid.flags.writeable


def test_an_unreadable_column_says_how_to_read_the_others() -> None:
    with pytest.raises(ProducerError) as caught:
        dataframe_to_ndarrays(Frame({"a": numbers([1]), "b": numbers([1], (99, 64, "l", "="))}))
    assert any("without column 'b'" in note and "select_columns_by_name" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("obj", [None, 1, [1], np.arange(3)], ids=lambda obj: type(obj).__name__)
def test_what_is_no_column(obj: Any) -> None:
    with pytest.raises(TypeError, match="get_column_by_name"):
        column_to_ndarray(obj)
