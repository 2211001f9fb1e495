"""Memory whose only owner is the buffer that was handed out.

Specification: nothing but the Buffer object keeps its memory. So `get_buffers` makes them here on the way, keeps none,
and a buffer that dies overwrites its memory. The result is read after frame and columns are gone, whole and through a
slice that outlives it.
"""

from collections.abc import Iterator
from typing import Any

from ._build import Make, bitmask, bools, bytemask, codes, moments, nan, numbers, one, sentinel, text
from ._case import Case

_INTS = [None if i % 7 == 0 else i for i in range(100)]
_FLOATS = [None if i % 5 == 0 else i / 2 for i in range(100)]
_BOOLS = [i % 3 == 0 for i in range(100)]
_TEXTS = [None if i % 4 == 0 else f"text number {i}" for i in range(100)]
_CODES = [None if i % 6 == 0 else i % 3 for i in range(100)]
_WORDS = ["x", "y", "z"]


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    filled = [value or 0 for value in _INTS]
    kinds: dict[str, tuple[Make, list[Any]]] = {
        "int64": (one(numbers, filled, lead=1, lazy=True), filled),
        "int64-bitmask": (one(numbers, _INTS, lead=1, lazy=True, nulls=bitmask()), _INTS),
        "int64-bytemask": (one(numbers, _INTS, lazy=True, nulls=bytemask()), _INTS),
        "int64-bytemask-inverted": (one(numbers, _INTS, lazy=True, nulls=bytemask(missing=0)), _INTS),
        "int64-sentinel": (one(numbers, _INTS, lazy=True, nulls=sentinel(-1)), _INTS),
        "float64": (one(numbers, [0.5, 1.5, 2.5], "float64", lazy=True), [0.5, 1.5, 2.5]),
        "float64-nan": (one(numbers, _FLOATS, "float64", lazy=True, nulls=nan()), _FLOATS),
        "packed-bool": (one(bools, _BOOLS, packed=True, lead=3, lazy=True), _BOOLS),
        "byte-bool": (one(bools, _BOOLS, packed=False, lazy=True), _BOOLS),
        "string-bitmask": (one(text, _TEXTS, lazy=True, nulls=bitmask()), _TEXTS),
        "large-string-bytemask": (one(text, _TEXTS, width=64, lazy=True, nulls=bytemask()), _TEXTS),
        "timestamp": (
            one(moments, [0, 1, 2], "tsu:", lazy=True),
            ["1970-01-01T00:00:00", "1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000002"],
        ),
        "date32": (
            one(moments, [0, 1, 2], "tdD", type_="int32", lazy=True),
            ["1970-01-01", "1970-01-02", "1970-01-03"],
        ),
        "duration": (one(moments, [0, 1, 2], "tDn", lazy=True), [0, 1, 2]),
        "categorical": (
            one(codes, _CODES, text(_WORDS, lazy=True), lazy=True, nulls=sentinel(-1)),
            [None if code is None else _WORDS[code] for code in _CODES],
        ),
    }
    for word, (make, values) in kinds.items():
        start = len(values) * 2 // 3
        yield Case(
            f"outlives-{word}",
            f"{word.replace('-', ' ')}: the last third, read after frame and result are gone",
            make,
            {"a": values},
            outlives=start,
        )
    for word in ("int64-bitmask", "string-bitmask", "categorical"):
        make, values = kinds[word]
        yield Case(
            f"outlives-the-frame-{word}",
            f"{word.replace('-', ' ')}: the whole result, read after the frame is gone",
            make,
            {"a": values},
            outlives=0,
        )
