"""Memory: on which device it lies, whether it is copied or written to, and who keeps it alive.

Specification: `__dlpack_device__` is asked before `ptr` is used, and 3 and 11 are host memory; the pointer on any other
device is 0xDEAD0000 here, and following it ends the process. `allow_copy=False` gives the producer's own memory or an
error, never a copy in silence. Memory of the producer is never written to. Nothing but the buffer object keeps it: a
lazy column makes buffers on the way, which overwrite their memory when they die.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...producer import Buf, Col, Frame, Kind, dtype
from ..pages import read_only
from ._build import (
    Case,
    Make,
    around,
    bitmap,
    bitmask,
    bools,
    bytemask,
    case,
    codes,
    moments,
    nan,
    numbers,
    one,
    sentinel,
    text,
)

if TYPE_CHECKING:
    from ..adapters import Reading

_HOST = (1, 3, 11)
_HOST_DEVICES = {"no-id": (1, None), "pinned": (3, 0), "rocm-pinned": (11, 0)}
_ELSEWHERE = {"cuda": (2, 0), "metal": (8, 0), "unknown": (99, 0)}


def _far(device: object = (2, 0), size: int = 64) -> Buf:
    return Buf(b"", device=device, ptr=0xDEAD0000, bufsize=size)


def never_asked(_: "Reading | None", frame: Frame) -> str | None:
    """Find a buffer on a device whose pointer was asked for, though nobody on the host can follow it."""
    for column in frame.cols():
        for buf, _type in filter(None, column.parts.values()):
            if buf.device[0] not in _HOST and "ptr" in buf.asked:
                return "the pointer of a buffer on a device was asked for"
    return None


def _with(part: str, device: object) -> Frame:
    """Return a column with one part on a device."""
    far = _far(device)
    column: dict[str, Any] = {
        "data": lambda: Col(far, dtype("int64"), 3),
        "bitmask": lambda: numbers([1, 2, 3], null=(3, 0), validity=(far, dtype("bits")), null_count=None),
        "bytemask": lambda: numbers([1, 2, 3], null=(4, 1), validity=(far, dtype("bool")), null_count=None),
        "string-offsets": lambda: _string(Buf(b"abc"), far),
        "characters": lambda: _string(far, Buf(around([0, 1, 3], "int32"))),
        "codes": lambda: Col(far, (Kind.CATEGORICAL, 8, "c", "="), 3, data_dtype=dtype("int8"), categories=text(["x"])),
        "categories": lambda: codes([0, 0, 0], Col(far, dtype("int64"), 1)),
        "packed-bool": lambda: Col(far, dtype("bits"), 3),
    }
    return Frame({"a": column[part]()})


def _near(device: object) -> Frame:
    return Frame({"a": Col(Buf(around([1, 2, 3], "int64"), device=device), dtype("int64"), 3)})


def _string(characters: Buf, offsets: Buf) -> Col:
    return Col(characters, dtype("string"), 2, offsets=(offsets, dtype("int32")), data_dtype=dtype("uint8"))


def devices() -> Iterator[Case]:
    """Yield the devices of this subject."""
    for word, device in _ELSEWHERE.items():
        yield case(
            f"device-{word}",
            f"data on device {device}",
            partial(_with, "data", device),
            None,
            errors=("DeviceError",),
            after=never_asked,
        )
    for part in ("bitmask", "bytemask", "string-offsets", "characters", "codes", "categories", "packed-bool"):
        yield case(
            f"device-cuda-{part}",
            f"{part.replace('-', ' ')} on CUDA",
            partial(_with, part, (2, 0)),
            None,
            errors=("DeviceError",),
            after=never_asked,
        )
    for word, near in _HOST_DEVICES.items():
        yield case(f"device-host-{word}", f"host memory announced as device {near}", partial(_near, near), [1, 2, 3])
    yield case(
        "device-ignored-mask-elsewhere",
        "not nullable; a mask on CUDA lies there and is not needed",
        lambda: numbers([1, 2, 3], validity=(_far(), dtype("bits"))),
        [1, 2, 3],
        may_refuse=True,
    )
    yield case(
        "device-second-column",
        "the second column on CUDA",
        lambda: Frame({"a": numbers([1, 2, 3]), "b": Col(_far(), dtype("int64"), 3)}),
        None,
        errors=("DeviceError",),
        after=never_asked,
    )
    yield case(
        "device-raises",
        "the device cannot be had",
        lambda: Col(Buf(bitmap([True]), raises={"__dlpack_device__": OSError("no device")}), dtype("bits"), 1),
        [True],
        may_refuse=True,
        errors=("ProducerError",),
    )


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
        yield case(
            f"no-copy-{word}",
            f"{word.replace('-', ' ')}, allow_copy=False: the producer's memory or an error",
            make,
            values,
            may_refuse=True,
            allow_copy=False,
            after=same_memory,
        )
    yield case(
        "no-copy-unaligned",
        "int64 at an odd address, allow_copy=False",
        lambda: Col(Buf(np.frombuffer(b"\0" + np.arange(3).tobytes(), np.uint8)[1:]), dtype("int64"), 3),
        [0, 1, 2],
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
        yield case(
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
        yield case(
            f"no-copy-{'big' if order == '>' else 'little'}-endian",
            "another byte order, allow_copy=False: swapped means copied",
            one(numbers, _VALUES, order=order),
            _VALUES,
            may_refuse=True,
            allow_copy=False,
            after=same_memory,
        )
    yield case(
        "no-copy-producer-refuses",
        "the producer itself raises at allow_copy=False",
        lambda: Frame({"a": numbers(_VALUES)}, raises={"allow_copy=False": RuntimeError("I would have to copy")}),
        None,
        errors=_COPY,
        allow_copy=False,
    )
    yield case(
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
        "timestamp-bitmask": (one(moments, [0, None], "tsn:", nulls=bitmask()), ["1970-01-01T00:00:00", None]),
        "categorical-bitmask": (one(codes, [0, None, 1], text(["x", "y"]), nulls=bitmask()), ["x", None, "y"]),
        "string-bytemask": (one(text, ["a", None, "c"], nulls=bytemask()), ["a", None, "c"]),
    }
    for word, (make, values) in kinds.items():
        yield case(
            f"not-written-{word}",
            f"{word.replace('-', ' ')}: the producer's memory is the same afterwards",
            make,
            values,
            intact=True,
        )
        yield case(
            f"read-only-{word}",
            f"{word.replace('-', ' ')} on pages that may not be written",
            partial(_on_read_only_pages, make),
            values,
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

    yield case(
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
    yield case(
        "allow-copy-passed-on",
        "allow_copy=False reaches the producer",
        lambda: Col(Buf(around(_VALUES, "int64")), dtype("int64"), 4),
        _VALUES,
        may_refuse=True,
        allow_copy=False,
        after=passed_on,
    )


def copies() -> Iterator[Case]:
    """Yield the copies of this subject."""
    yield from _zero_copy()
    yield from _unavoidable()
    yield from _intact()
    yield from _calls()


_MANY = [None if i % 7 == 0 else i for i in range(100)]
_FLOATS = [None if i % 5 == 0 else i / 2 for i in range(100)]
_BOOLS = [i % 3 == 0 for i in range(100)]
_TEXTS = [None if i % 4 == 0 else f"text number {i}" for i in range(100)]
_CODES = [None if i % 6 == 0 else i % 3 for i in range(100)]
_WORDS = ["x", "y", "z"]


def lifetimes() -> Iterator[Case]:
    """Yield the lifetimes of this subject."""
    filled = [value or 0 for value in _MANY]
    kinds: dict[str, tuple[Make, list[Any]]] = {
        "int64": (one(numbers, filled, lead=1, lazy=True), filled),
        "int64-bitmask": (one(numbers, _MANY, lead=1, lazy=True, nulls=bitmask()), _MANY),
        "int64-bytemask": (one(numbers, _MANY, lazy=True, nulls=bytemask()), _MANY),
        "int64-bytemask-inverted": (one(numbers, _MANY, lazy=True, nulls=bytemask(missing=0)), _MANY),
        "int64-sentinel": (one(numbers, _MANY, lazy=True, nulls=sentinel(-1)), _MANY),
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
        yield case(
            f"outlives-{word}",
            f"{word.replace('-', ' ')}: the last third, read after frame and result are gone",
            make,
            values,
            outlives=start,
        )
    for word in ("int64-bitmask", "string-bitmask", "categorical"):
        make, values = kinds[word]
        yield case(
            f"outlives-the-frame-{word}",
            f"{word.replace('-', ' ')}: the whole result, read after the frame is gone",
            make,
            values,
            outlives=0,
        )
