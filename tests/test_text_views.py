"""Views of characters become text between offsets, in step with the mask."""

import pytest

from buflend.maximal import Column
from buflend.maximal.text_views import to_large_text

from .hand import column, inline, pointing

LONG = b"thirteen byte"
TEXTS = [b"a", b"", LONG, None, b"twelve bytes", LONG[1:] + b"!", None, b"z", LONG]
VIEWS = [
    inline(b"a"),
    inline(b""),
    pointing(13, 0, 0),
    pointing(-5, 7, 99),
    inline(b"twelve bytes"),
    pointing(13, 1, 1),
    pointing(2**31 - 1, 0, 0),
    inline(b"z"),
    pointing(13, 1, 20),
]
BUFFERS = [LONG, LONG + b"!??????" + LONG]
MASK = bytes([0b10110111, 0b1])


def large(made: Column) -> Column:
    """Return what the views become, as a column."""
    piece = to_large_text(made._piece, made._type)
    text = "U" if made.dtype.format == "vu" else "Z"
    return Column._make(made._type._replace(dtype=made.dtype._replace(bits=8, format=text)), (piece,))


@pytest.mark.parametrize("start", range(10))
def test_every_cut(start: int) -> None:
    made = column("vz", 9, validity=MASK, data=b"".join(VIEWS), variadic=BUFFERS)
    assert large(made[start:]).tolist() == TEXTS[start:]
    assert large(made[:start]).tolist() == TEXTS[:start]


def test_text() -> None:
    made = column("vu", 2, data=inline("é".encode()) + pointing(15, 0, 0), variadic=["fourteen bytés".encode()])
    found = large(made)
    assert found.tolist() == ["é", "fourteen bytés"]
    assert (found.dtype.format, found.strides, found._piece.variadic) == ("U", None, ())


def test_what_is_missing_is_empty_and_the_mask_is_kept() -> None:
    made = column("vz", 9, validity=MASK, data=b"".join(VIEWS), variadic=BUFFERS)[3:]
    piece = to_large_text(made._piece, made._type)
    # In step, but for whole bytes: no mask must be copied for Arrow.
    assert (piece.validity_offset - piece.offset) % 8 == 0
    assert piece.buffers["validity"] is made._piece.buffers["validity"]
    assert piece.buffers["data"].bufsize == sum(len(text) for text in TEXTS[3:] if text)
    assert all(piece.buffers[name].ptr % 64 == 0 for name in ("offsets", "data"))


def test_strided_views_and_none() -> None:
    content = b"".join(VIEWS[4:6] + VIEWS[7:9])
    assert large(column("vz", 2, data=content, strides=(32,), variadic=BUFFERS)).tolist() == [b"twelve bytes", b"z"]
    backwards = column("vz", 4, data=content, byte_offset=48, strides=(-16,), variadic=BUFFERS)
    assert large(backwards).tolist() == [LONG, b"z", LONG[1:] + b"!", b"twelve bytes"]
    assert large(column("vz", 0)).tolist() == []
