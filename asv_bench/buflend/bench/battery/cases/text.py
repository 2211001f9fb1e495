"""Strings: characters, offsets of two widths, and the three buffers' own windows.

Specification: the offsets buffer's own type decides its width, whatever the format string says. The column's offset
counts strings, so it shifts offsets and masks and never the characters. Lengths are in bytes; data is UTF-8.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...producer import Buf, Col, Dtype, Frame, Kind, dtype
from ._build import OUTSIDE, Case, Nulls, bitmask, bytemask, case, liar, nothing, one, same, sentinel, text

_WORDS: list[str | None] = [
    "aa",
    "",
    "cé",
    None,
    "日本",
    "a\0b",
    None,
    "\U0001f600",
    "longer than any string that is kept inline",
]
_PRESENT = [word or "" for word in _WORDS]
_INVALID = {
    "stray-byte": b"a\xff",
    "cut-character": "é".encode()[:1],
    "surrogate": b"\xed\xa0\x80",
    "overlong": b"\xc0\xaf",
}


def _parts(offsets: list[int], characters: bytes, size: int, lead: int = 0, **column: Any) -> Frame:
    pair = (Buf(np.array(offsets, np.int32)), dtype("int32"))
    return Frame(
        {
            "a": Col(
                Buf(characters), dtype("string"), size, offset=lead, offsets=pair, data_dtype=dtype("uint8"), **column
            )
        }
    )


def _announced(type_: str) -> Frame:
    offsets = (Buf(np.arange(8, dtype=np.int64)), dtype(type_))
    return Frame({"a": Col(Buf(b"abc"), dtype("string"), 2, offsets=offsets, data_dtype=dtype("uint8"))})


def _windows() -> Iterator[Case]:
    """Yield both widths at several phases, with masks."""
    for word, width in (("string", 32), ("large-string", 64)):
        for lead in (0, 9):
            yield same(
                f"{word}-offset-{lead}",
                f"strings with int{width} offsets at offset {lead}",
                text,
                _PRESENT,
                width=width,
                lead=lead,
            )
            yield same(
                f"{word}-bitmask-offset-{lead}",
                f"the same under a bit mask, offset {lead}",
                text,
                _WORDS,
                width=width,
                lead=lead,
                nulls=bitmask(),
            )
            yield same(
                f"{word}-bytemask-offset-{lead}",
                f"the same under a byte mask, offset {lead}",
                text,
                _WORDS,
                width=width,
                lead=lead,
                nulls=bytemask(),
            )
        yield same(
            f"{word}-first-offset-not-0",
            "the first offset is 5: the characters before belong to nobody",
            text,
            _WORDS,
            width=width,
            first=5,
            nulls=bitmask(),
        )
        yield same(
            f"{word}-big-endian-offsets",
            "offsets stored and announced big-endian",
            text,
            _PRESENT,
            width=width,
            lead=1,
            order=">",
            may_refuse=True,
        )


def _announcements() -> Iterator[Case]:
    """Yield what the types of the column and of its buffers may say."""
    yield same(
        "format-u-int64-offsets",
        "format 'u' over int64 offsets, as pandas writes it: the offsets' own type decides",
        text,
        _WORDS,
        width=64,
        announced=dtype("string"),
        nulls=bytemask(missing=0),
    )
    yield same(
        "format-large-u-int32-offsets",
        "format 'U' over int32 offsets",
        text,
        _PRESENT,
        width=32,
        lead=2,
        announced=dtype("large_string"),
    )
    yield same(
        "data-announced-as-string",
        "the character buffer announced with the column's type, as old producers do",
        text,
        _WORDS,
        lead=1,
        data_dtype=dtype("string"),
        nulls=bitmask(),
    )
    for mark in ("NA", "", "日本"):
        values = ["x", None, "y", None, "NAN"]
        yield same(
            f"string-sentinel-{'na' if mark == 'NA' else mark.encode().hex() or 'empty'}",
            f"the text {mark!r} stands for missing",
            text,
            values,
            lead=1,
            nulls=sentinel(mark),
        )
    yield same(
        "string-byte-order-not-applicable",
        "'|' for the byte order of column and characters",
        text,
        ["a", "b"],
        announced=Dtype(Kind.STRING, 8, "u", "|"),
        data_dtype=dtype("uint8", "|"),
    )


def _empties() -> Iterator[Case]:
    """Yield columns with nothing in them."""
    for size in (1, 3):
        yield case(
            f"strings-all-empty-null-pointer-{size}",
            "nothing but empty strings, no characters at the null pointer",
            partial(_empty, size),
            [""] * size,
        )
        yield case(
            f"strings-all-missing-null-pointer-{size}",
            "nothing but nulls, no characters at the null pointer",
            partial(_empty, size, nulls=bitmask()),
            [None] * size,
        )
    yield same(
        "strings-all-missing-bytemask",
        "nothing but nulls under a byte mask, with characters under them",
        text,
        [None, None, None],
        lead=1,
        nulls=bytemask(),
    )


def _empty(size: int, nulls: Nulls | None = None) -> Frame:
    offsets = (Buf(np.zeros(size + 1, np.int32)), dtype("int32"))
    described = nulls([None] * size, 0) if nulls else {}
    column = Col(nothing(), dtype("string"), size, offsets=offsets, data_dtype=dtype("uint8"), **described)
    return Frame({"a": column})


def _encodings() -> Iterator[Case]:
    """Yield bytes that are no UTF-8, where they matter and where they do not."""
    for word, raw in _INVALID.items():
        yield liar(f"invalid-utf8-{word}", f"{raw!r} in a slot that is present", one(text, ["a", raw, "c"], lead=1))
    values = ["a", None, "c"]
    for mask, word in ((bitmask, "bitmask"), (bytemask, "bytemask")):
        yield same(
            f"invalid-utf8-under-null-{word}",
            "bytes that are no UTF-8 under a missing slot",
            text,
            values,
            lead=1,
            hidden=b"\xff\xfe",
            nulls=mask(),
        )
    yield case(
        "invalid-utf8-outside-the-window",
        "bytes that are no UTF-8 before the first offset and behind the last",
        lambda: _parts([2, 3, 5, 7], b"\xff\xfeabc\xff\xff", 2),
        ["a", "bc"],
    )
    yield liar(
        "valid-bytes-invalid-strings",
        "the bytes together are UTF-8, an offset cuts a character in two",
        lambda: _parts([0, 1, 2], "é".encode(), 2),
    )
    yield same("byte-order-mark-stays", "U+FEFF at the start of a string is a character", text, ["\ufeffa", "b"])


def _offsets() -> Iterator[Case]:
    """Yield offsets that go wrong, inside the window and outside."""
    for lead in (0, 2):
        yield same(
            f"string-buffers-roomy-offset-{lead}",
            f"more strings in the buffers than in the column, at offset {lead}",
            text,
            _PRESENT,
            lead=lead,
            tail=2,
        )
        yield same(
            f"string-buffers-roomy-bitmask-offset-{lead}",
            f"the same under a bit mask, offset {lead}",
            text,
            _WORDS,
            lead=lead,
            tail=2,
            nulls=bitmask(),
        )
    wrong = {
        "decreasing": [0, 2, 1, 3],
        "negative": [-1, 1, 2, 3],
        "past-the-data": [0, 1, 2, 4],
        "far-past-the-data": [0, 1, 2, 2**31 - 1],
        "middle-past-the-data": [0, 1000, 2, 3],
    }
    for word, offsets in wrong.items():
        yield liar(
            f"string-offsets-{word}", f"offsets {offsets} over three characters", partial(_parts, offsets, b"abc", 3)
        )
    yield case(
        "string-offsets-junk-outside",
        "offsets before and behind the window are junk",
        lambda: _parts([OUTSIDE, -5, 0, 1, 3, -7], b"abc", 2, lead=2),
        ["a", "bc"],
    )
    yield case(
        "string-offsets-end-with-the-data",
        "the last offset is the size of the data",
        lambda: _parts([0, 1, 3], b"abc", 2),
        ["a", "bc"],
    )
    yield liar(
        "string-offsets-none",
        "a string column without offsets",
        lambda: Col(Buf(b"abc"), dtype("string"), 3, data_dtype=dtype("uint8")),
    )
    for type_ in ("float64", "bits"):
        yield liar(f"string-offsets-announced-{type_}", f"offsets announced as {type_}", partial(_announced, type_))


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _windows()
    yield from _announcements()
    yield from _empties()
    yield from _encodings()
    yield from _offsets()
