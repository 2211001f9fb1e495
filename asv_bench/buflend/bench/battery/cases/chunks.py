"""Frames in chunks, and frames with nothing in them.

Specification: `get_chunks` yields what the producer stores; zero chunks and empty chunks are met. With no chunk the
types come from the frame's columns. A null pointer is legal exactly where zero bytes are needed.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ...producer import Buf, Col, Dtype, Frame, Kind, Null, dtype
from ._build import Case, Nulls, bitmask, bools, bytemask, case, codes, liar, moments, nothing, numbers, sentinel, text

_KINDS: dict[str, Dtype] = {
    **{name: dtype(name) for name in ("int8", "int64", "float16", "float64", "bool", "bits")},
    "date32": Dtype(Kind.DATETIME, 32, "tdD"),
    "timestamp": Dtype(Kind.DATETIME, 64, "tsu:"),
    "duration": Dtype(Kind.DATETIME, 64, "tDn"),
}

# Rows of each chunk, and what it shows.
_SPLITS: dict[str, list[list[Any]]] = {
    "two": [[1, 2], [3]],
    "empty-first": [[], [1, None], [3]],
    "empty-middle": [[1, None], [], [3]],
    "empty-last": [[1, None], [3], []],
    "all-empty": [[], []],
    "fifty": [[i, None if i % 4 == 1 else -i] for i in range(50)],
}


def _joined(chunks: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for chunk in chunks for value in chunk]


def _frame(build: Callable[[list[Any]], Col], chunks: Sequence[list[Any]]) -> Frame:
    parts = [Frame({"a": build(values)}) for values in chunks]
    return Frame({"a": build(_joined(chunks))}, chunks=parts)


def _ints(values: list[Any]) -> Col:
    lead = len(values) % 3
    return numbers(values, lead=lead, **bitmask()(values, lead))


def _second_nullable(nulls: Nulls) -> Frame:
    whole, second = [1, None, 3], [None, 3]
    chunks = [Frame({"a": numbers([1])}), Frame({"a": numbers(second, **nulls(second, 0))})]
    return Frame({"a": numbers(whole, **nulls(whole, 0))}, chunks=chunks)


def _kind_in_chunks() -> Iterator[Case]:
    """Yield one split of every kind of column, with another phase in each chunk."""

    def masked(build: Callable[..., Col], values: list[Any], **options: Any) -> Col:
        lead = len(values) + 1
        return build(values, lead=lead, **options, **bitmask()(values, lead))

    kinds: dict[str, tuple[Callable[[list[Any]], Col], list[list[Any]], list[Any]]] = {
        "packed-bool": (
            partial(masked, bools, packed=True),
            [[True, None, False], [False]],
            [True, None, False, False],
        ),
        "byte-bool": (partial(masked, bools, packed=False), [[True, None, False], [False]], [True, None, False, False]),
        "string": (partial(masked, text), [["a", None], ["", "bcd"]], ["a", None, "", "bcd"]),
        "large-string": (partial(masked, text, width=64), [["a", None], ["", "bcd"]], ["a", None, "", "bcd"]),
        "float64": (partial(masked, numbers, type_="float64"), [[0.5, None], [1.5]], [0.5, None, 1.5]),
        "timestamp": (
            partial(masked, moments, format_="tsm:"),
            [[0, None], [1000]],
            ["1970-01-01T00:00:00", None, "1970-01-01T00:00:01"],
        ),
        "date32": (
            partial(masked, moments, format_="tdD", type_="int32"),
            [[0, None], [18262]],
            ["1970-01-01", None, "2020-01-01"],
        ),
    }
    for word, (build, chunks, expected) in kinds.items():
        yield case(f"chunks-{word}", f"{word} with nulls in two chunks", partial(_frame, build, chunks), expected)


def _chunks() -> Iterator[Case]:
    """Yield frames in chunks."""
    for word, chunks in _SPLITS.items():
        yield case(
            f"chunks-{word}",
            f"int64 in {len(chunks)} chunks: {word.replace('-', ' ')}",
            partial(_frame, _ints, chunks),
            _joined(chunks),
        )
    yield from _kind_in_chunks()
    described = {"bitmask": bitmask(), "bytemask": bytemask(), "sentinel": sentinel(-1)}
    for word, nulls in described.items():
        yield case(
            f"chunks-null-in-one-{word}",
            f"a {word} in the second chunk, the first is not nullable",
            partial(_second_nullable, nulls),
            [1, None, 3],
        )
    yield case(
        "chunks-of-columns",
        "one frame, whose columns are in two and in three chunks",
        lambda: Frame(
            {
                "a": Col(None, dtype("int64"), 3, chunks=[numbers([1, 2], lead=1), numbers([3])]),
                "b": Col(None, dtype("int64"), 3, chunks=[numbers([4]), numbers([5], lead=9), numbers([6])]),
            }
        ),
        {"a": [1, 2, 3], "b": [4, 5, 6]},
        may_refuse=True,
    )
    yield liar(
        "chunks-of-other-types",
        "the second chunk has another type",
        lambda: Frame({"a": numbers([1, 2])}, chunks=[Frame({"a": numbers([1])}), Frame({"a": text(["two"])})]),
    )
    yield liar(
        "chunks-of-other-columns",
        "the second chunk lacks a column",
        lambda: Frame(
            {"a": numbers([1, 2]), "b": numbers([3, 4])},
            chunks=[Frame({"a": numbers([1]), "b": numbers([3])}), Frame({"a": numbers([2])})],
        ),
    )


def _dictionaries() -> Iterator[Case]:
    """Yield chunks with dictionaries of their own."""

    def joined(parts: Sequence[tuple[list[int | None], Col]], *, ordered: bool = False) -> Frame:
        made = [codes(c, categories, ordered=ordered, **sentinel(-1)(c, 0)) for c, categories in parts]
        return Frame({"a": made[0]}, chunks=[Frame({"a": column}) for column in made])

    def frame(parts: Sequence[tuple[list[int | None], list[str]]], *, ordered: bool = False) -> Frame:
        return joined([(c, text(words)) for c, words in parts], ordered=ordered)

    holed = text(["y", None], **bitmask()(["y", None], 0))
    yield case(
        "dictionaries-differ-null-category",
        "another dictionary in each chunk, one with a null",
        lambda: joined([([0, 1], text(["x", "y"])), ([1, 0, None], holed)]),
        ["x", "y", None, "y", None],
    )
    yield case(
        "dictionaries-differ-integers",
        "another dictionary of integers in each chunk",
        lambda: joined([([1, 0], numbers([2**60 + 1, 7])), ([0, None], numbers([9, 7]))]),
        [7, 2**60 + 1, 9, None],
    )
    yield case(
        "dictionaries-differ-timestamps",
        "another dictionary of time stamps in each chunk",
        lambda: joined([([1, 0], moments([0, 1], "tsn:")), ([0, 1], moments([1000, 1], "tsn:"))]),
        [
            "1970-01-01T00:00:00.000000001",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.000001",
            "1970-01-01T00:00:00.000000001",
        ],
    )
    yield case(
        "dictionaries-differ-duplicate",
        "another dictionary in each chunk, one with an entry twice",
        lambda: frame([([0, 1, 2], ["x", "y", "x"]), ([1, 0], ["z", "y"])]),
        ["x", "y", "x", "y", "z"],
    )

    yield case(
        "dictionaries-differ",
        "each chunk has another dictionary, unordered",
        lambda: frame([([0, 1, None], ["x", "y"]), ([0, 1], ["y", "z"]), ([0], ["x"])]),
        ["x", "y", None, "y", "z", "x"],
    )
    yield case(
        "dictionaries-same-words-other-order",
        "each chunk has the same words in another order",
        lambda: frame([([0, 1], ["x", "y"]), ([0, None, 1], ["y", "x"])]),
        ["x", "y", "y", None, "x"],
    )
    yield case(
        "dictionaries-equal",
        "each chunk has a dictionary of its own that is the same",
        lambda: frame([([0, 1], ["x", "y"]), ([1, None], ["x", "y"])], ordered=True),
        ["x", "y", "y", None],
        ordered=True,
    )
    yield case(
        "dictionaries-ordered-consistent",
        "ordered, x < y and y < z: x < y < z",
        lambda: frame([([0, 1], ["x", "y"]), ([1, 0], ["y", "z"])], ordered=True),
        ["x", "y", "z", "y"],
        ordered=True,
    )
    for word, other in (("undetermined", ["x", "z"]), ("contradicting", ["y", "x"])):
        yield case(
            f"dictionaries-ordered-{word}",
            f"ordered, x < y and {other[0]} < {other[1]}: no order over both",
            partial(frame, [([0, 1], ["x", "y"]), ([1, 0], other)], ordered=True),
            ["x", "y", other[1], other[0]],
            may_refuse=True,
            errors=("ProducerError",),
        )


def _empties() -> Iterator[Case]:
    """Yield zero rows, in each kind, at the null pointer, and in no chunk at all."""

    def empty(word: str) -> Frame:
        nulls: dict[str, Any] = {"null": (Null.USE_BITMASK, 0), "validity": (nothing(), dtype("bits"))}
        column: dict[str, Callable[[], Col]] = {
            "string": lambda: Col(nothing(), dtype("string"), 0, offsets=(nothing(), dtype("int32")), **nulls),
            "large-string": lambda: Col(nothing(), dtype("large_string"), 0, offsets=(nothing(), dtype("int64"))),
            "categorical": lambda: codes([], text([]), **nulls),
        }
        return Frame({"a": column[word]() if word in column else Col(nothing(), _KINDS[word], 0, **nulls)})

    for word in (*_KINDS, "string", "large-string", "categorical"):
        yield case(
            f"no-rows-null-pointer-{word}",
            f"{word}, no rows, every buffer at the null pointer",
            partial(empty, word),
            [],
        )
    yield case(
        "no-rows-at-an-offset",
        "no rows at offset 3 of a buffer",
        lambda: Frame({"a": Col(Buf(b"\x4d" * 64), dtype("int64"), 0, offset=3), "b": text([], lead=3)}),
        {"a": [], "b": []},
    )
    yield case(
        "no-rows-of-many-columns",
        "no rows, memory behind every pointer",
        lambda: Frame({"a": numbers([]), "b": text([]), "c": bools([], packed=True), "d": codes([], text(["x"]))}),
        {"a": [], "b": [], "c": [], "d": []},
    )
    yield case(
        "no-chunks",
        "get_chunks yields nothing: the types come from the frame's columns",
        lambda: Frame({"a": numbers([]), "b": numbers([], "float64"), "c": text([])}, chunks=[]),
        {"a": [], "b": [], "c": []},
    )
    yield case(
        "no-chunks-categorical",
        "get_chunks yields nothing, the column is categorical",
        lambda: Frame({"a": codes([], text(["x"]), ordered=True)}, chunks=[]),
        [],
        ordered=True,
    )
    yield case("no-columns", "a frame without columns", lambda: Frame({}), {})


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _chunks()
    yield from _dictionaries()
    yield from _empties()
