"""What an object is, is told by its type, not by what it says of its class; of a subclass what it holds is taken."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from buflend import maximal, minimal
from buflend.maximal import Buffer, Column, Table, as_buffer, as_column, as_table
from buflend.maximal.cuda_array_interface import checked_stream
from buflend.shared import CPU, ProducerError
from buflend.shared.arrow_import import read_schema
from buflend.shared.context import Context
from buflend.shared.cpython import CAPSULE
from buflend.shared.dlpack_import import read_capsule
from buflend.shared.errors import Raised, _Verbatim

MEMORY = np.arange(4, dtype="int64")
LENT = as_column(MEMORY)


def liar(said: type, **attributes: object) -> Any:
    """Return what says that it is of a class, and has nothing of it."""
    return type("Liar", (), {"__class__": said, **attributes})()


def answering(name: str, answer: object) -> Any:
    """Return what has one attribute, or one method that is looked up on its type."""
    return type("Answering", (), {name: answer})()


def described(name: str, **fields: object) -> Any:
    said = {"version": 3, "shape": (32,), "typestr": "|u1", "data": (MEMORY.ctypes.data, False), **fields}
    return answering(name, said)


def column(**arguments: object) -> Column:
    return Column(**{"dtype": "l", "size": 4, "data": as_buffer(MEMORY), **arguments})  # type: ignore[arg-type]


class OtherMapping(Mapping[str, Column]):
    """Answers otherwise at each call."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]

    def __getitem__(self, name: str) -> Column:
        return self.answers.pop(0)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers.pop(0))

    def __len__(self) -> int:
        return 1

    def items(self) -> Any:
        return self.answers.pop(0).items()


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    # A person's arguments.
    "as_buffer": (lambda: as_buffer(liar(Buffer)), TypeError, "cannot read the memory"),
    "minimal.as_buffer": (lambda: minimal.as_buffer(liar(minimal.Buffer)), TypeError, "cannot read the memory"),
    "as_ndarray": (lambda: maximal.as_ndarray(liar(Buffer)), TypeError, "cannot read the memory"),
    "minimal.as_ndarray": (lambda: minimal.as_ndarray(liar(minimal.Buffer)), TypeError, "cannot read the memory"),
    "as_cupy": (lambda: maximal.as_cupy(liar(Buffer)), TypeError, "cannot read the memory"),
    "minimal.as_cupy": (lambda: minimal.as_cupy(liar(minimal.Buffer)), TypeError, "cannot read the memory"),
    "as_memoryview": (lambda: maximal.as_memoryview(liar(Buffer)), TypeError, "cannot read the memory"),
    "minimal.as_memoryview": (lambda: minimal.as_memoryview(liar(minimal.Buffer)), TypeError, "cannot read the memory"),
    "as_buffer of an ndarray": (lambda: as_buffer(liar(np.ndarray)), TypeError, "cannot read the memory"),
    "as_column": (lambda: as_column(liar(Column)), TypeError, "as a column: looked for"),
    "as_column of an ndarray": (lambda: as_column(liar(np.ndarray)), TypeError, "as a column: looked for"),
    "as_table": (lambda: as_table(liar(Table)), TypeError, "as a table: looked for"),
    "as_table of a column": (lambda: as_table(liar(Column)), TypeError, "as a table: looked for"),
    "as_table of a mapping": (lambda: as_table(liar(dict)), TypeError, "as a table: looked for"),
    "as_table of names": (
        lambda: as_table(OtherMapping(answering("items", lambda _: [(liar(str, __hash__=None), MEMORY)]))),
        TypeError,
        "column names: got .*, expected text",
    ),
    "a table": (lambda: Table(liar(dict)), TypeError, "columns: got a Liar, expected a mapping"),
    "a table of names": (lambda: Table({liar(str): LENT}), TypeError, "column names: got .*, expected text"),
    "a table of columns": (lambda: Table({"a": liar(Column)}), TypeError, "column 'a': got a Liar, expected a Column"),
    "metadata": (lambda: column(metadata=liar(dict)), TypeError, "metadata: got"),
    "metadata's names": (lambda: column(metadata={liar(str): "a"}), TypeError, "metadata: got"),
    "metadata's values": (lambda: column(metadata={"a": liar(str)}), TypeError, "metadata: got"),
    "a name": (lambda: column(name=liar(str)), TypeError, "name: got"),
    "a dtype": (lambda: column(dtype=liar(str)), TypeError, "dtype: got .*, expected an Arrow format or"),
    "a format": (lambda: column(dtype=(0, 64, liar(str), "=")), TypeError, r"dtype\[2\]: got"),
    "data": (lambda: column(data=liar(Buffer)), TypeError, "data: got Liar, expected a Buffer"),
    "children": (lambda: column(children=[liar(Column)]), TypeError, "children: got"),
    "sequence of children": (lambda: column(children=liar(tuple)), TypeError, "children: got"),
    "strides": (lambda: column(strides=liar(tuple)), TypeError, "strides: got"),
    "a sentinel": (lambda: column(null=(2, liar(int))), ValueError, "a value of the column's type"),
    "a mask's value": (lambda: column(null=(3, liar(int)), validity=as_buffer(b"\0")), ValueError, "0 or 1"),
    "a slice of a column": (lambda: LENT[liar(slice)], TypeError, "expected a slice"),
    "rows of a table": (lambda: Table({"a": LENT})[liar(slice)], KeyError, r"the columns are \['a'\]"),
    "text": (lambda: as_column(np.array(["a", liar(str)], object)), TypeError, "element 1 of the array is a Liar"),
    "a float": (lambda: as_column(np.array(["a", liar(float)], object)), TypeError, "element 1 of the array is a Liar"),
    # A producer's answers.
    "a pair of capsules": (
        lambda: as_column(answering("__arrow_c_array__", lambda _: liar(tuple))),
        ProducerError,
        "expected a tuple of two",
    ),
    "an interface": (
        lambda: as_buffer(answering("__array_interface__", liar(dict))),
        ProducerError,
        "expected a dict",
    ),
    "a shape": (
        lambda: as_buffer(described("__array_interface__", shape=liar(tuple))),
        ProducerError,
        r"\['shape'\].*expected a tuple of extents",
    ),
    "a typestr": (
        lambda: as_buffer(described("__array_interface__", typestr=liar(str))),
        ProducerError,
        r"\['typestr'\]",
    ),
    "an address and access": (
        lambda: as_buffer(described("__cuda_array_interface__", data=liar(tuple))),
        ProducerError,
        r"\['data'\].*expected a tuple",
    ),
    "a stream": (
        lambda: as_buffer(described("__cuda_array_interface__", stream=liar(int))),
        ProducerError,
        r"\['stream'\].*expected None, 1, 2 or a stream's handle",
    ),
    "a capsule of DLPack": (lambda: read_capsule(liar(CAPSULE)), ProducerError, "expected a capsule"),
    "a capsule of Arrow": (lambda: read_schema(liar(CAPSULE)), ProducerError, "expected a capsule named"),
    "a text": (
        lambda: Context("frame", allow_copy=True).text(liar(str), "names", "text"),
        ProducerError,
        "frame: names: got .*, expected text",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_says_it_is_another_is_refused(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_what_an_error_shows_of_a_liar() -> None:
    error = ProducerError("field", got=liar(Raised), expected="nothing")
    assert "field: got <" in str(error)
    assert "the producer is at fault" in str(error)


def test_what_an_error_shows_of_a_liar_that_cannot_be_shown() -> None:
    def fail(_: object) -> str:
        raise ZeroDivisionError

    error = ProducerError("field", got=liar(_Verbatim, __repr__=fail, __str__=fail), expected="nothing")
    assert "an object of type Liar whose repr raised ZeroDivisionError" in str(error)


@pytest.mark.parametrize("fields", [{"shape": (2**62,) * 400}, {"typestr": "<V" + "9" * 5000}, {"typestr": "<f\u0668"}])
def test_numbers_of_an_interface_that_cannot_be_meant(fields: dict[str, Any]) -> None:
    with pytest.raises(ProducerError, match=f"'{next(iter(fields))}'"):
        as_buffer(described("__array_interface__", **fields))


def test_what_a_buffer_is_natively() -> None:
    owner = liar(np.ndarray)
    assert Buffer(MEMORY.ctypes.data, 32, owner=owner).native is maximal.Native.NONE
    assert as_buffer(MEMORY).native is maximal.Native.NUMPY


def test_a_class_that_raises_is_not_asked() -> None:
    def say(_: object) -> type:
        raise ZeroDivisionError

    raising = liar(property(say))  # type: ignore[arg-type]
    for call in (as_buffer, as_column, as_table, read_capsule, read_schema, Table):
        with pytest.raises((TypeError, ProducerError)):
            call(raising)


class Text(str):
    """Says of itself that it is another text."""

    __slots__ = ()

    def __getitem__(self, _: object) -> str:
        return "wrong"

    def encode(self, *_: object) -> bytes:
        return b"wrong"

    def __str__(self) -> str:
        return "wrong"

    def partition(self, _: object) -> Any:
        return ("99", "", "")


class Dict(dict[Any, Any]):
    """Says of itself that it is empty."""

    def get(self, *_: object) -> Any:
        return None

    def __getitem__(self, _: object) -> Any:
        raise KeyError

    def items(self) -> Any:
        return []


class Integer(int):
    """Says of itself that it is another integer."""

    def __index__(self) -> int:
        return 7

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __lt__(self, _: object) -> bool:
        return True

    __gt__ = __le__ = __ge__ = __lt__


def test_texts_are_taken_for_what_they_hold() -> None:
    made = column(dtype=Text("l"), name=Text("a"), metadata={Text("k"): Text("v")})
    assert (made.dtype.format, made.name, made.metadata) == ("l", "a", {"k": "v"})
    assert type(made.name) is str
    assert Context("frame", allow_copy=True).text(Text("a"), "names", "text") == "a"
    assert type(Context("frame", allow_copy=True).text(Text("a"), "names", "text")) is str
    assert as_buffer(described("__array_interface__", typestr=Text("|u1"))).bufsize == 32


def test_interfaces_are_taken_for_what_they_hold() -> None:
    said = {"version": 3, "shape": (32,), "typestr": "|u1", "data": (MEMORY.ctypes.data, False)}
    assert as_buffer(answering("__array_interface__", Dict(said))).ptr == MEMORY.ctypes.data
    exporter = type("Liar", (bytearray,), {"__class__": tuple})(32)  # the other thing that `data` may be
    assert as_buffer(described("__array_interface__", data=exporter)).bufsize == 32


def test_pairs_of_capsules_are_as_long_as_they_are() -> None:
    said = type("Pair", (tuple,), {"__len__": lambda _: 2})((1, 2, 3))
    with pytest.raises(ProducerError, match="expected a tuple of two"):
        as_column(answering("__arrow_c_array__", lambda _: said))


def test_integers_are_taken_once_as_plain_ones() -> None:
    marked = column(null=(2, Integer(3))).describe_null[1]
    assert type(marked) is int
    stream = checked_stream(Integer(3), "stream")
    assert (type(stream), stream) == (int, 3)
    zero = type("Zero", (int,), {"__gt__": lambda *_: True, "__lt__": lambda *_: True})(0)
    with pytest.raises(ProducerError, match="0 is forbidden"):
        checked_stream(zero, "stream")


def test_mappings_are_asked_once() -> None:
    other = as_column(np.arange(5))
    table = Table(OtherMapping({"a": LENT}, {"b": other}, {"c": other}, {"d": other}))
    assert table.column_names() == ["a"]
    assert table.num_rows() == 4
    packed = column(metadata=OtherMapping({"a": "b"}, {"c": "d"}, {"e": "f"}, {}))  # type: ignore[dict-item]
    assert packed.metadata == {"a": "b"}


class Listed(OtherMapping):
    """Answers with what need not be pairs."""

    def items(self) -> Any:
        return self.answers


@pytest.mark.parametrize("pair", [(), ("a",), ("a", "b", "c"), ("a", 1)])
def test_metadata_is_packed_of_pairs_alone(pair: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="metadata: got"):
        column(metadata=Listed(("a", "b"), pair))
    assert column(metadata=Listed(iter("ab"), ("c", "d"))).metadata == {"a": "b", "c": "d"}


def test_ndarrays_are_taken_for_what_they_hold() -> None:
    class Array(np.ndarray[Any, Any]):
        nbytes, shape, ndim, dtype = 99, (99,), 7, np.dtype([("x", "i8")])  # type: ignore[assignment]

        def __getitem__(self, _: object) -> Any:
            return None

    memory = np.arange(6).reshape(2, 3)
    array = memory.view(Array)
    assert as_buffer(array).bufsize == 48
    assert as_column(memory[0].view(Array)).tolist() == [0, 1, 2]
    assert [one.tolist() for one in as_table(array).columns] == [[0, 3], [1, 4], [2, 5]]
    assert as_buffer(array).device == CPU
