"""Columns that lie: what one buffer says of another is refused before it is read, and never where it does not count."""

from typing import Any

import pytest

from buflend.maximal import Column
from buflend.maximal.text_views import to_large_text
from buflend.shared import ProducerError

from .hand import i8, i32, i64, inline, packed, pointing
from .hand import unchecked as column

INTS = column("i", 6, data=i32(0, 1, 2, 3, 4, 5))
TEXT = column("u", 2, offsets=i32(0, 1, 2), data=b"a\xff")
FIELDS = [column("u", 2, offsets=i32(0, 1, 2), data=b"ab", name="x"), column("i", 2, data=i32(1, 2), name="x")]

# What it is -> a column, and what its error must say. Element 1 is the one that is wrong.
LIES: dict[str, tuple[Column, str]] = {
    "text that falls": (
        column("u", 2, offsets=i32(0, 2, 1), data=b"ab"),
        r"offsets of element 1: got \[2, 1\], expected numbers that never decrease, up to the 2 that there are",
    ),
    "text before its data": (
        column("z", 2, offsets=i32(-2, -1, 0), data=b"ab"),
        r"offsets of element 0: got \[-2, -1\]",
    ),
    "text behind its data": (column("u", 2, offsets=i32(0, 1, 3), data=b"ab"), r"element 1: got \[1, 3\]"),
    "text far behind its data": (column("U", 2, offsets=i64(0, 0, 2**62), data=b"ab"), "element 1: got"),
    "text of nothing": (column("u", 2, offsets=i32(0, 0, 1)), r"element 1: got \[0, 1\], .* up to the 0 "),
    "no UTF-8": (TEXT, r"text of element 1: got b'\\xff', expected UTF-8"),
    "view of less than nothing": (column("vz", 2, data=inline(b"") + i32(-1, 0, 0, 0)), "length of element 1: got -1"),
    "view of no buffer": (
        column("vu", 2, data=inline(b"a") + pointing(13, 1, 0), variadic=[bytes(20)]),
        "buffer of element 1: got 1, expected the number of one of 1 buffers",
    ),
    "view of a buffer before the first": (
        column("vu", 2, data=inline(b"a") + pointing(13, -1, 0), variadic=[bytes(20)]),
        "buffer of element 1: got -1",
    ),
    "view before its buffer": (
        column("vu", 2, data=inline(b"a") + pointing(13, 0, -1), variadic=[bytes(20)]),
        r"offset and length of element 1: got \[-1, 13\]",
    ),
    "view behind its buffer": (
        column("vz", 2, data=inline(b"a") + pointing(13, 0, 8), variadic=[bytes(20)]),
        r"offset and length of element 1: got \[8, 13\]",
    ),
    "view far behind its buffer": (
        column("vz", 2, data=inline(b"a") + pointing(2**31 - 1, 0, 2**31 - 1), variadic=[bytes(20)]),
        "offset and length of element 1",
    ),
    "view that is no UTF-8": (column("vu", 2, data=inline(b"a") + inline(b"\xc3")), "text of element 1"),
    "list that falls": (column("+l", 2, offsets=i32(0, 3, 2), children=[INTS]), r"element 1: got \[3, 2\]"),
    "list behind its items": (column("+L", 2, offsets=i64(0, 6, 7), children=[INTS]), r"element 1: got \[6, 7\]"),
    "list far behind its items": (column("+L", 2, offsets=i64(0, 0, 2**62), children=[INTS]), "element 1: got"),
    "list view of less than nothing": (
        column("+vl", 2, offsets=i32(0, 3), sizes=i32(6, -1), children=[INTS]),
        r"offset and size of element 1: got \[3, -1\]",
    ),
    "list view before its items": (column("+vl", 2, offsets=i32(0, -1), sizes=i32(6, 1), children=[INTS]), "element 1"),
    "list view behind its items": (column("+vl", 2, offsets=i32(0, 6), sizes=i32(6, 1), children=[INTS]), "element 1"),
    "list view whose sum overflows": (
        column("+vL", 2, offsets=i64(0, 2**62), sizes=i64(6, 2**62), children=[INTS]),
        "offset and size of element 1",
    ),
    "list of too few items": (
        column("+w:4", 2, children=[INTS]),
        "column '': items: got 6, expected 8, 4 for each element",
    ),
    "list of very many items": (column("+w:2147483647", 2, children=[INTS]), "items: got 6, expected 4294967294"),
    "list of a lie": (column("+l", 2, offsets=i32(0, 0, 2), children=[TEXT]), "column '', items: text of element 1"),
    "list of a later lie": (column("+l", 2, offsets=i32(1, 1, 2), children=[TEXT]), "items: text of element 1"),
    "struct of a lie": (column("+s", 2, children=[TEXT]), "column '', field '': text of element 1"),
    "struct of one name": (column("+s", 2, children=FIELDS), r"names of fields: got \['x', 'x'\]"),
    "map of no structs": (column("+m", 1, offsets=i32(0, 1), children=[INTS]), r"entries: got \('i', \[\]\)"),
    "map of no values": (
        column("+m", 1, offsets=i32(0, 1), children=[column("+s", 2, children=FIELDS[:1])]),
        r"entries: got \('\+s', \['x'\]\), expected structs, '\+s', of key and value",
    ),
    "member that there is not": (
        column("+us:0,5", 2, type_ids=i8(5, 1), children=FIELDS),
        r"type id of element 1: got 1, expected one of \[0, 5\]",
    ),
    "union of no members": (column("+us:", 1, type_ids=i8(0)), "type id of element 0"),
    "dense before its member": (
        column("+ud:0,5", 2, type_ids=i8(5, 0), offsets=i32(1, -1), children=FIELDS),
        "offset of element 1: got -1",
    ),
    "dense behind its member": (
        column("+ud:0,5", 2, type_ids=i8(0, 5), offsets=i32(0, 2), children=FIELDS),
        "member 5: elements: got 2, expected those from 2 to 2",
    ),
    "code of no category": (
        column("c", 2, data=i8(1, 2), dictionary=FIELDS[0]),
        "code of element 1: got 2, expected one of 2",
    ),
    "code before the first": (column("c", 2, data=i8(1, -1), dictionary=FIELDS[0]), "code of element 1: got -1"),
    "code of 64 bits": (
        column("L", 2, data=packed("Q", 1, 2**64 - 1), dictionary=FIELDS[0]),
        "code of element 1: got 18446744073709551615",
    ),
    "category of a lie": (column("c", 2, data=i8(0, 1), dictionary=TEXT), "column '', categories: text of element 1"),
}


def runs(code: str, *ends: int, size: int = 4, offset: int = 0, **parts: Any) -> Column:
    stops = column({"h": "s", "i": "i", "q": "l", "f": "f"}[code], len(ends), data=packed(code, *ends), **parts)
    return column("+r", size, offset=offset, children=[stops, INTS])


LIES |= {
    "runs that stand still": (
        runs("h", 2, 2, 4),
        r"run ends: got \[2, 2, 4\], expected growing numbers from 1 on, the last one 4",
    ),
    "runs that fall": (runs("i", 3, 1, 4), "run ends: got"),
    "runs from nothing": (runs("q", 0, 4), "run ends: got"),
    "runs that end early": (runs("q", 1, 3), r"run ends: got \[1, 3\]"),
    "runs that end before the cut does": (runs("q", 1, 4, offset=1), "the last one 5 or more"),
    "no runs": (runs("i"), r"run ends: got \[\]"),
    "runs of floats": (runs("f", 4), "run ends: got 'f', expected integers"),
    "missing run ends": (runs("i", 1, 4, validity=b"\x02"), "run ends: .* none of them missing"),
    "more runs than values": (runs("i", *range(1, 9), size=8), "values: elements: got 6, expected those from 0 to 7"),
    "many runs": (runs("i", *range(30), size=30), "run ends: got '30 of them, up to 29'"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused_and_named(name: str) -> None:
    made, message = LIES[name]
    with pytest.raises(ProducerError, match=message):
        made.tolist()


MASKED = [
    name for name, (made, text) in LIES.items() if "element 1" in text and made.dtype.format[:2] not in ("+u", "+r")
]


@pytest.mark.parametrize("name", MASKED)
def test_no_lie_where_nothing_is(name: str) -> None:
    # Element 1 is missing: whatever stands there is not looked at.
    made, _ = LIES[name]
    piece = made._piece
    mask = column("i", 2, validity=b"\x01", data=i32(0, 0))._piece
    hidden = piece._replace(
        buffers=piece.buffers | {"validity": mask.buffers["validity"]}, null=mask.null, null_count=1
    )
    found = Column._make(made._type, (hidden,)).tolist()
    assert len(found) == 2
    assert found[0] is not None
    assert found[1] is None


def test_a_character_cut_in_two() -> None:
    made = column("u", 2, offsets=i32(0, 1, 2), data="é".encode())
    with pytest.raises(ProducerError, match=r"text of element 0: got b'\\xc3'"):
        made.tolist()


def test_elements_are_numbered_by_the_column() -> None:
    bad = column("u", 5, offsets=i32(0, 1, 2, 3, 4, 5), data=b"abc\xffe", name="where")
    with pytest.raises(ProducerError, match="column 'where': text of element 3"):
        bad.tolist()
    chunked = Column._make(bad._type, (bad[:2]._piece, bad[2:]._piece))
    with pytest.raises(ProducerError, match="column 'where': text of element 3"):
        chunked.tolist()
    with pytest.raises(ProducerError, match="column 'where': text of element 1"):
        bad[2:].tolist()


@pytest.mark.parametrize("name", [name for name in LIES if name.startswith("view ") and "UTF-8" not in name])
def test_gathered_views_are_checked(name: str) -> None:
    made, message = LIES[name]
    with pytest.raises(ProducerError, match=message):
        to_large_text(made._piece, made._type)
