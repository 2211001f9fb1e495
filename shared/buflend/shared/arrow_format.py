"""Format strings of the Arrow C data interface, as tables.

Lives here: what each type's elements are, which buffers an array of it has, how many children. Must not know: structs,
memory. Source: Apache Arrow, "The Arrow C data interface", section "Data type description -- format strings"; "Arrow
Columnar Format", section "Physical Memory Layout".
"""

from functools import cache
from typing import NamedTuple

from .interchange import DtypeKind as Kind


class Layout(NamedTuple):
    """What an array of a type consists of.

    Attributes
    ----------
    kind : DtypeKind
        Kind of the values.
    bits : int
        Width of one element of `data`; 8 for text, whose elements are characters; 0 where there is no `data`.
    buffers : tuple of str
        Names, in Arrow's order.
    offset_bits : int
        Width of one offset; 0 where there are none.
    children : int or None
        How many; None for any number.
    variadic : bool
        Whether `data` is followed by buffers of characters, and one with their sizes.
    parameter : int
        Bytes or elements of a fixed size; digits of a decimal.
    """

    kind: Kind
    bits: int
    buffers: tuple[str, ...]
    offset_bits: int = 0
    children: int | None = 0
    variadic: bool = False
    parameter: int = 0


_FIXED = ("validity", "data")
_TEXT = ("validity", "offsets", "data")
_LIST = ("validity", "offsets")

_LAYOUTS = {
    "n": Layout(Kind.NULL, 0, ()),
    "b": Layout(Kind.BOOL, 1, _FIXED),
    "c": Layout(Kind.INT, 8, _FIXED),
    "C": Layout(Kind.UINT, 8, _FIXED),
    "s": Layout(Kind.INT, 16, _FIXED),
    "S": Layout(Kind.UINT, 16, _FIXED),
    "i": Layout(Kind.INT, 32, _FIXED),
    "I": Layout(Kind.UINT, 32, _FIXED),
    "l": Layout(Kind.INT, 64, _FIXED),
    "L": Layout(Kind.UINT, 64, _FIXED),
    "e": Layout(Kind.FLOAT, 16, _FIXED),
    "f": Layout(Kind.FLOAT, 32, _FIXED),
    "g": Layout(Kind.FLOAT, 64, _FIXED),
    "u": Layout(Kind.STRING, 8, _TEXT, 32),
    "U": Layout(Kind.STRING, 8, _TEXT, 64),
    "z": Layout(Kind.BINARY, 8, _TEXT, 32),
    "Z": Layout(Kind.BINARY, 8, _TEXT, 64),
    "vu": Layout(Kind.STRING, 128, _FIXED, variadic=True),
    "vz": Layout(Kind.BINARY, 128, _FIXED, variadic=True),
    **{text: Layout(Kind.DATETIME, 32, _FIXED) for text in ("tdD", "tts", "ttm")},
    **{text: Layout(Kind.DATETIME, 64, _FIXED) for text in ("tdm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn")},
    "tiM": Layout(Kind.INTERVAL, 32, _FIXED),
    "tiD": Layout(Kind.INTERVAL, 64, _FIXED),
    "tin": Layout(Kind.INTERVAL, 128, _FIXED),
    "+l": Layout(Kind.LIST, 0, _LIST, 32, 1),
    "+L": Layout(Kind.LIST, 0, _LIST, 64, 1),
    "+vl": Layout(Kind.LIST, 0, (*_LIST, "sizes"), 32, 1),
    "+vL": Layout(Kind.LIST, 0, (*_LIST, "sizes"), 64, 1),
    "+s": Layout(Kind.STRUCT, 0, ("validity",), children=None),
    "+m": Layout(Kind.MAP, 0, _LIST, 32, 1),
    "+r": Layout(Kind.RUN_END, 0, (), children=2),
}

# (kind, bits) of a number -> its format. Booleans of 8 bits, NumPy's, become Arrow's when they are packed.
NUMBER_FORMATS: dict[tuple[int, int], str] = {
    **{(layout.kind, layout.bits): text for text, layout in _LAYOUTS.items() if text in "cCsSiIlLefg"},
    (Kind.BOOL, 8): "b",
}

# Bits of a decimal -> the most digits that it can hold.
_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}

_TIMESTAMPS = ("tss", "tsm", "tsu", "tsn")
_LARGEST = 2**31 - 1  # Arrow's own libraries keep fixed sizes in 32 bits


@cache
def parse_format(text: str) -> Layout:
    """Return the layout of a type by its format string.

    Raises
    ------
    ValueError
        For one that Arrow does not define.

    Examples
    --------
    >>> parse_format("tsu:UTC").bits, parse_format("w:3").bits, parse_format("+ud:0,5").children
    (64, 24, 2)
    """
    found = _LAYOUTS.get(text)
    if found is not None:
        return found
    head, colon, tail = text.partition(":")
    if not colon:
        raise ValueError(f"format: got {text!r}, expected one of Arrow's, such as 'l' for int64")
    if head in _TIMESTAMPS:
        return Layout(Kind.DATETIME, 64, _FIXED)
    numbers = [_number(part, text) for part in tail.split(",")] if tail else []
    if head in ("+us", "+ud"):
        if len(set(numbers)) != len(numbers) or not all(0 <= number <= _MOST_IDS for number in numbers):
            raise ValueError(f"format: got {text!r}, expected distinct type ids from 0 to {_MOST_IDS}")
        buffers = ("type_ids",) if head == "+us" else ("type_ids", "offsets")
        return Layout(Kind.UNION, 0, buffers, 0 if head == "+us" else 32, len(numbers))
    match head, numbers:
        case "w", [size] if 0 <= size <= _LARGEST:
            return Layout(Kind.BINARY, 8 * size, _FIXED, parameter=size)
        case "+w", [size] if 0 <= size <= _LARGEST:
            return Layout(Kind.LIST, 0, ("validity",), children=1, parameter=size)
        case "d", [digits, _, *rest] if len(rest) <= 1:
            bits = rest[0] if rest else 128
            if 1 <= digits <= _DIGITS.get(bits, 0):
                return Layout(Kind.DECIMAL, bits, _FIXED, parameter=digits)
    raise ValueError(f"format: got {text!r}, expected numbers that go with {head + ':'!r}")


_MOST_IDS = 127


def _number(part: str, text: str) -> int:
    # int() takes underscores, spaces and digits of other scripts
    digits = part.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > len(str(_LARGEST)):
        raise ValueError(f"format: got {text!r}, expected integers behind the colon")
    return int(part)
