"""Categorical columns: codes, their dictionary, and what a code may be.

Specification: codes lie in the data buffer, the categories are a complete column with nulls, offset and chunks of its
own. A code is checked unless its slot is missing, and never wrapped.
"""

from collections.abc import Iterator
from typing import Any

from ...producer import Col, Dtype, Frame, Kind, Null, dtype
from ._build import Case, bitmask, bools, bytemask, case, codes, liar, moments, nan, numbers, one, same, sentinel, text

_CODES = [0, None, 2, 1, None, 0]
_DECODED = ["x", None, "z", "y", None, "x"]


def _xyz(**options: Any) -> Col:
    return text(["x", "y", "z"], width=64, **options)


def _missing() -> Iterator[Case]:
    """Yield the ways a category can be missing."""
    for lead in (0, 9):
        yield case(
            f"categorical-sentinel-minus-1-offset-{lead}",
            f"int8 codes with -1 for missing at offset {lead}, as pandas writes them",
            one(codes, _CODES, _xyz(), lead=lead, nulls=sentinel(-1)),
            _DECODED,
        )
        yield case(
            f"categorical-sentinel-255-offset-{lead}",
            f"uint8 codes with 255 for missing at offset {lead}",
            one(codes, _CODES, _xyz(), type_="uint8", lead=lead, nulls=sentinel(255)),
            _DECODED,
        )
        yield case(
            f"categorical-bitmask-offset-{lead}",
            f"codes under a bit mask at offset {lead}, out of range where missing",
            one(codes, _CODES, _xyz(), type_="int32", lead=lead, nulls=bitmask()),
            _DECODED,
        )
        yield case(
            f"categorical-bytemask-offset-{lead}",
            f"codes under a byte mask at offset {lead}, negative where missing",
            one(codes, _CODES, _xyz(), type_="int16", lead=lead, hidden=-7, nulls=bytemask()),
            _DECODED,
        )
    yield same("categorical-all-missing", "nothing but nulls", codes, [None, None, None], _xyz(), nulls=sentinel(-1))
    yield same(
        "categorical-all-missing-no-category",
        "nothing but nulls, and a dictionary of no entry",
        codes,
        [None, None],
        text([]),
        nulls=sentinel(-1),
    )
    holed = text(["x", None, "z"], **bitmask()(["x", None, "z"], 0))
    yield case(
        "categorical-null-category",
        "a code that points at a null in the dictionary is missing",
        one(codes, [0, 1, 2], holed),
        ["x", None, "z"],
    )
    yield case(
        "categorical-null-category-beside-null",
        "a null in the dictionary and a missing code",
        one(codes, [None, 1, 2, 0], holed, nulls=bitmask()),
        [None, None, "z", "x"],
    )


def _dictionaries() -> Iterator[Case]:
    """Yield dictionaries of every type and shape."""
    pick = [2, 0, 1]
    kinds: dict[str, tuple[Col, list[Any]]] = {
        "int64": (numbers([10, 20, 30], lead=1), [30, 10, 20]),
        "uint8": (numbers([10, 20, 255], "uint8"), [255, 10, 20]),
        "float64": (numbers([0.5, 1.5, 2.5], "float64", lead=1), [2.5, 0.5, 1.5]),
        "packed-bool": (bools([True, False, True], packed=True, lead=9), [True, True, False]),
        "byte-bool": (bools([True, False, True], packed=False, lead=1), [True, True, False]),
        "timestamp": (
            moments([0, 1000, 86_400_000], "tsm:", lead=1),
            ["1970-01-02T00:00:00", "1970-01-01T00:00:00", "1970-01-01T00:00:01"],
        ),
        "date32": (moments([0, 1, 18262], "tdD", type_="int32"), ["2020-01-01", "1970-01-01", "1970-01-02"]),
        "string": (text(["x", "", "zé"], lead=3), ["zé", "x", ""]),
        "large-string": (_xyz(lead=2, first=3), ["z", "x", "y"]),
    }
    for word, (categories, expected) in kinds.items():
        yield case(f"categories-{word}", f"a dictionary of {word}", one(codes, pick, categories), expected)
    yield case(
        "categories-float-nan",
        "a dictionary of floats whose NaN is missing",
        one(codes, [0, 1, 2], numbers([0.5, None, 2.5], "float64", **nan()([0.5, None, 2.5], 0))),
        [0.5, None, 2.5],
    )
    yield case(
        "categories-duplicate",
        "a dictionary that holds an entry twice",
        one(codes, [0, 1, 2], text(["x", "y", "x"])),
        ["x", "y", "x"],
    )
    yield case(
        "categories-in-chunks",
        "a dictionary in two chunks",
        one(codes, pick, Col(None, dtype("large_string"), 4, chunks=[_xyz(), text(["w"], width=64)])),
        ["z", "x", "y"],
    )
    yield case(
        "categories-more-than-used",
        "a dictionary with entries that no code uses",
        one(codes, [2, 2], _xyz()),
        ["z", "z"],
    )


def _announcements() -> Iterator[Case]:
    """Yield order, widths and types of the codes."""
    for ordered in (True, False):
        yield case(
            f"categorical-{'ordered' if ordered else 'unordered'}",
            f"is_ordered is {ordered}",
            one(codes, [2, 0, 1], _xyz(), ordered=ordered),
            ["z", "x", "y"],
            ordered=ordered,
        )
    yield case(
        "categorical-ordered-missing",
        "ordered, with nulls at offset 1",
        one(codes, _CODES, _xyz(), ordered=True, lead=1, nulls=bitmask()),
        _DECODED,
        ordered=True,
    )
    for type_ in ("int8", "int64", "uint16", "uint64"):
        yield case(
            f"codes-{type_}",
            f"{type_} codes at offset 1",
            one(codes, [2, 0, 1], _xyz(), type_=type_, lead=1),
            ["z", "x", "y"],
        )
    yield case(
        "codes-announced-as-categorical",
        "the codes' buffer announced with the column's own type",
        one(codes, [2, 0, 1], _xyz(), data_dtype=Dtype(Kind.CATEGORICAL, 8, "c")),
        ["z", "x", "y"],
    )
    yield case(
        "codes-announced-wider",
        "int8 codes, announced as int32 on their buffer, and only 8 bits a row fit",
        one(codes, [2, 0, 1], _xyz(), tail=0, data_dtype=dtype("int32")),
        ["z", "x", "y"],
        may_refuse=True,
    )
    yield case(
        "codes-big-endian",
        "int16 codes stored and announced big-endian",
        one(codes, [2, 0, 1], _xyz(), type_="int16", order=">"),
        ["z", "x", "y"],
        may_refuse=True,
    )


def _refusals() -> Iterator[Case]:
    """Yield codes and dictionaries that mean nothing."""
    wrong = {"out-of-range": [0, 7, 1], "first-past-the-end": [0, 3, 1], "negative": [0, -1, 1]}
    for word, picked in wrong.items():
        yield liar(f"code-{word}", f"codes {picked} of three categories, none missing", one(codes, picked, _xyz()))
    yield liar(
        "code-out-of-range-unsigned",
        "uint8 code 255 of three categories, none missing",
        one(codes, [0, 255], _xyz(), type_="uint8"),
    )
    yield liar(
        "code-out-of-range-beside-sentinel",
        "the sentinel is -1, another code is -2",
        one(codes, [0, None, -2], _xyz(), nulls=sentinel(-1)),
    )
    yield liar("code-without-category", "a code, and a dictionary of no entry", one(codes, [0], text([])))
    yield liar(
        "is-dictionary-false",
        "is_dictionary is False: nobody knows what the codes mean",
        one(codes, [0, 1], _xyz(), is_dictionary=False),
    )
    yield liar("categories-none", "a dictionary is announced, categories is None", one(codes, [0, 1], None))
    yield liar(
        "codes-float",
        "codes announced as floats",
        one(codes, [0, 1], _xyz(), type_="int64", data_dtype=dtype("float64")),
    )
    yield liar(
        "describe-categorical-raises",
        "the dictionary cannot be had",
        one(codes, [0, 1], _xyz(), raises={"describe_categorical": ValueError("no dictionary today")}),
    )


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _missing()
    yield from _dictionaries()
    yield from _announcements()
    yield from _refusals()
    plain = text(["x", "y"])
    yield case(
        "two-categoricals",
        "two categorical columns over one dictionary, beside a column of numbers",
        lambda: Frame(
            {
                "a": codes([1, 0], plain),
                "b": codes([0, None], plain, null=(Null.USE_SENTINEL, -1), hidden=-1, null_count=1),
                "c": numbers([5, 6]),
            }
        ),
        {"a": ["y", "x"], "b": ["x", None], "c": [5, 6]},
    )
