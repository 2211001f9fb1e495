"""What `allow_copy=False` promises, and what nobody may do to the producer's memory.

Specification: `allow_copy=False` gives the producer's own memory or an error, never a copy in silence. Which of the two
depends on what the consumer's arrays can hold, so every consumer may refuse; a copy that says nothing is wrong. Memory
of the producer is never written to.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import dtype
from ..pages import read_only
from ..producer import Buf, Col, Frame
from ._build import Make, around, bitmask, bools, bytemask, codes, moments, nan, numbers, one, sentinel, text
from ._case import Case

if TYPE_CHECKING:
    from ..consumers import Reading

_VALUES = [1, 2, 3, 4]
_HOLED = [1, None, 3, 4]
_COPY = ("CopyRequiredError",)


def same_memory(reading: "Reading | None", frame: Frame) -> str | None:
    """Find a column whose values lie elsewhere than the producer's, at the offset."""
    if reading is None:
        return None
    for name, column in zip(frame.names, frame.columns, strict=True):
        buf, type_ = column.parts["data"]
        got = reading.address.get(name)
        offset = 0 if column.parts["offsets"] else column.offset * type_[1] // 8
        if got is None:
            continue  # The consumer does not show where its values lie.
        if got != buf.address + offset:
            return f"column {name!r} was copied in silence"
    return None


def _zero_copy() -> Iterator[Case]:
    """Yield columns that an array can lie over: the producer's memory, or an error."""
    stamps = ["1970-01-01T00:00:01", "1970-01-01T00:00:02"]
    plain: dict[str, tuple[Make, list[Any]]] = {
        **{t: (one(numbers, _VALUES, t), _VALUES) for t in ("int8", "int64", "uint64")},
        **{t: (one(numbers, [0.5, 1.5], t), [0.5, 1.5]) for t in ("float16", "float64")},
        "int64-offset-3": (one(numbers, _VALUES, lead=3), _VALUES),
        "int64-never-missing": (one(numbers, _VALUES, null_count=0), _VALUES),
        "byte-bool": (one(bools, [True, False, True], packed=False, lead=1), [True, False, True]),
        "timestamp": (one(moments, [1, 2], "tss:", lead=1), stamps),
        "duration": (one(moments, [1, 2], "tDn"), [1, 2]),
    }
    for word, (make, values) in plain.items():
        yield Case(
            f"no-copy-{word}",
            f"{word.replace('-', ' ')}, allow_copy=False: the producer's memory or an error",
            make,
            {"a": values},
            may_refuse=True,
            allow_copy=False,
            after=same_memory,
        )
    yield Case(
        "no-copy-unaligned",
        "int64 at an odd address, allow_copy=False",
        lambda: Frame({"a": Col(Buf(np.frombuffer(b"\0" + np.arange(3).tobytes(), np.uint8)[1:]), dtype("int64"), 3)}),
        {"a": [0, 1, 2]},
        may_refuse=True,
        allow_copy=False,
        after=same_memory,
    )


def _unavoidable() -> Iterator[Case]:
    """Yield what NumPy arrays cannot hold as it lies there: buflend must raise, another may have a way."""
    chunk = partial(numbers, _VALUES)
    needing: dict[str, tuple[Make, dict[str, list[Any]]]] = {
        "bitmask": (one(numbers, _HOLED, nulls=bitmask()), {"a": _HOLED}),
        "bytemask": (one(numbers, _HOLED, nulls=bytemask()), {"a": _HOLED}),
        "sentinel": (one(numbers, _HOLED, nulls=sentinel(-1)), {"a": _HOLED}),
        "nan": (one(numbers, [0.5, None, 2.5], "float64", nulls=nan()), {"a": [0.5, None, 2.5]}),
        "nat": (one(moments, [0, None], "tsn:", nulls=sentinel(-(2**63))), {"a": ["1970-01-01T00:00:00", None]}),
        "packed-bool": (one(bools, [True, False, True], packed=True), {"a": [True, False, True]}),
        "string": (one(text, ["a", "bc"]), {"a": ["a", "bc"]}),
        "date32": (one(moments, [0, 1], "tdD", type_="int32"), {"a": ["1970-01-01", "1970-01-02"]}),
        "chunks": (
            lambda: Frame({"a": chunk()}, chunks=[Frame({"a": chunk()}), Frame({"a": chunk()})]),
            {"a": _VALUES * 2},
        ),
        "categories": (one(codes, [1, 0], text(["x", "y"])), {"a": ["y", "x"]}),
    }
    for word, (make, values) in needing.items():
        yield Case(
            f"must-copy-{word}",
            f"{word.replace('-', ' ')}, allow_copy=False: an array of NumPy's needs a copy",
            make,
            values,
            may_refuse=True,
            errors=_COPY,
            allow_copy=False,
            after=None if word == "chunks" else same_memory,
        )
    for order in "><":
        yield Case(
            f"no-copy-{'big' if order == '>' else 'little'}-endian",
            "another byte order, allow_copy=False: swapped means copied",
            one(numbers, _VALUES, order=order),
            {"a": _VALUES},
            may_refuse=True,
            allow_copy=False,
            after=same_memory,
        )
    yield Case(
        "no-copy-producer-refuses",
        "the producer itself raises at allow_copy=False",
        lambda: Frame({"a": numbers(_VALUES)}, raises={"allow_copy=False": RuntimeError("I would have to copy")}),
        None,
        errors=_COPY,
        allow_copy=False,
    )
    yield Case(
        "no-copy-column-refuses",
        "the column raises at get_buffers under allow_copy=False",
        one(numbers, _VALUES, raises={"get_buffers": RuntimeError("I would have to copy")}),
        None,
        errors=_COPY,
        allow_copy=False,
    )


def _intact() -> Iterator[Case]:
    """Yield memory that must be as before, and memory that cannot be written."""
    kinds: dict[str, tuple[Make, list[Any]]] = {
        "float-bitmask": (one(numbers, [1.0, None, 3.0], "float64", nulls=bitmask()), [1.0, None, 3.0]),
        "float-bytemask": (one(numbers, [1.0, None, 3.0], "float64", nulls=bytemask()), [1.0, None, 3.0]),
        "int-bitmask": (one(numbers, _HOLED, nulls=bitmask()), _HOLED),
        "bool-bytemask": (one(bools, [True, None, False], packed=False, nulls=bytemask()), [True, None, False]),
        "timestamp-bitmask": (
            one(moments, [0, None], "tsn:", nulls=bitmask()),
            ["1970-01-01T00:00:00", None],
        ),
        "categorical-bitmask": (one(codes, [0, None, 1], text(["x", "y"]), nulls=bitmask()), ["x", None, "y"]),
        "string-bytemask": (one(text, ["a", None, "c"], nulls=bytemask()), ["a", None, "c"]),
    }
    for word, (make, values) in kinds.items():
        yield Case(
            f"not-written-{word}",
            f"{word.replace('-', ' ')}: the producer's memory is the same afterwards",
            make,
            {"a": values},
            intact=True,
        )
        yield Case(
            f"read-only-{word}",
            f"{word.replace('-', ' ')} on pages that may not be written",
            partial(_on_read_only_pages, make),
            {"a": values},
        )


def _on_read_only_pages(make: Make) -> Frame:
    frame = make()
    for column in frame.cols():
        for name, part in column.parts.items():
            if part is not None:
                column.parts[name] = (Buf(read_only(part[0].memory)), part[1])
    return frame


def _calls() -> Iterator[Case]:
    """Yield what a consumer may ask for, and how often."""

    def once(_: "Reading | None", frame: Frame) -> str | None:
        counts = {
            name: column.asked.count("get_buffers") for name, column in zip(frame.names, frame.columns, strict=True)
        }
        often = {name: count for name, count in counts.items() if count > 1}
        return f"get_buffers was called more than once: {often}" if often else None

    def passed_on(_: "Reading | None", frame: Frame) -> str | None:
        return None if "allow_copy=False" in frame.asked else "allow_copy=False was not passed on to the producer"

    yield Case(
        "get-buffers-once",
        "buffers made anew at each call: one call a column",
        lambda: Frame(
            {
                "a": numbers(_HOLED, lazy=True, **bitmask()(_HOLED, 0)),
                "b": text(["a", "b", "c", None], lazy=True, **bytemask()(["a", "b", "c", None], 0)),
                "c": bools([True, False, True, True], packed=True, lazy=True),
            }
        ),
        {"a": _HOLED, "b": ["a", "b", "c", None], "c": [True, False, True, True]},
        after=once,
    )
    yield Case(
        "allow-copy-passed-on",
        "allow_copy=False reaches the producer",
        lambda: Frame({"a": Col(Buf(around(_VALUES, "int64")), dtype("int64"), 4)}),
        {"a": _VALUES},
        may_refuse=True,
        allow_copy=False,
        after=passed_on,
    )


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _zero_copy()
    yield from _unavoidable()
    yield from _intact()
    yield from _calls()
