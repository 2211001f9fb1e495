"""Arrow in, types: from an ArrowSchema to a `Field`.

Lives here: the reading of the struct at an address, its texts and its metadata, and what a type asks of its children.
Must not know: capsules, arrays, who releases. Source: Apache Arrow, "The Arrow C data interface", section "The
ArrowSchema structure".
"""

import ctypes
import struct
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from .arrow_c import Field
from .arrow_format import parse_format
from .errors import ProducerError
from .interchange import DtypeKind as Kind

MOST_PARTS = 2**20  # children, and buffers, of one array, and structs of one schema: more is nonsense
_MOST_LEVELS = 64  # as in Arrow's own libraries
_MOST_METADATA = 2**26  # bytes
_INDICES = frozenset("cCsSiIlL")
_RUN_ENDS = frozenset("sil")

# Every field up to `release`, read at once: a field by ctypes costs as much as all of them this way.
_SCHEMA = struct.Struct("@PPPqqPPP")
_INT32 = struct.Struct("@i")


class _Foreign(ctypes.c_char * sys.maxsize):  # type: ignore[misc]
    """Memory to be unpacked from; its length is a lie."""

    __slots__ = ()


foreign = _Foreign.from_address

# The value of such an array ends before the first NUL: at most so many bytes are looked at, one by one.
_FORMAT = ctypes.c_char * 2**12
_NAME = ctypes.c_char * 2**20


@lru_cache(64)
def _unpacker(count: int) -> Callable[[Any], tuple[int, ...]]:
    return struct.Struct(f"@{count}P").unpack_from


def pointers_at(address: int, count: int) -> tuple[int, ...]:
    """Return what an array of pointers holds."""
    return _unpacker(count)(foreign(address)) if count else ()


def broken(what: str, got: object, expected: str, name: str = "") -> ProducerError:
    """Return the error for a struct's field, with the name of the column that it belongs to."""
    return ProducerError(f"column {name!r}: {what}" if name else what, got=got, expected=expected)


def schema_at(address: int) -> Field:
    """Return what an unreleased ArrowSchema says, checked.

    Raises
    ------
    ProducerError
        When it is no type that Arrow defines, or cannot be read.
    """
    return _read(address, 1, iter(range(MOST_PARTS)))


def _read(address: int, level: int, budget: Iterator[int]) -> Field:
    raw = foreign(address)
    format_at, name_at, metadata_at, flags, n_children, children_at, dictionary_at, release = _SCHEMA.unpack_from(raw)
    if not release:
        raise broken("ArrowSchema.release", None, "a schema that was not released")
    if level > _MOST_LEVELS or next(budget, None) is None:
        raise broken("ArrowSchema", "more", f"at most {_MOST_LEVELS} levels and {MOST_PARTS} types in all")
    name = _text(_NAME, name_at, "name") if name_at else ""
    if not format_at:
        raise broken("ArrowSchema.format", None, "a format string", name)
    text = _text(_FORMAT, format_at, "format")
    try:
        layout = parse_format(text)
    except ValueError:
        raise broken("ArrowSchema.format", text, "a format string that Arrow defines", name) from None
    expected = layout.children
    if not 0 <= n_children <= MOST_PARTS or expected not in {None, n_children}:
        raise broken("ArrowSchema.n_children", n_children, f"{'0 or more' if expected is None else expected}", name)
    if dictionary_at and text not in _INDICES:
        raise broken("ArrowSchema.dictionary", text, "integers as format of the indices", name)
    children: tuple[Field, ...] = ()
    if n_children:
        children = tuple(
            _read(child, level + 1, budget) for child in children_of("ArrowSchema", children_at, n_children, name)
        )
        if layout.kind == Kind.MAP and (children[0].format != "+s" or len(children[0].children) != 2):
            raise broken("ArrowSchema.children", children[0].format, "a struct of two, keys and values", name)
        if layout.kind == Kind.RUN_END and children[0].format not in _RUN_ENDS:
            raise broken("ArrowSchema.children", children[0].format, "run ends of format s, i or l", name)
    dictionary = _read(dictionary_at, level + 1, budget) if dictionary_at else None
    metadata = _metadata(metadata_at, name) if metadata_at else None
    return Field(text, name, flags, children, dictionary, metadata)


def children_of(struct_name: str, address: int, count: int, name: str) -> tuple[int, ...]:
    """Return the addresses of the structs of one or more children."""
    children = pointers_at(address, count) if address else ()
    if not all(children) or not children:
        raise broken(f"{struct_name}.children", None, f"the addresses of {count} structs", name)
    return children


def _text(kind: type[ctypes.Array[ctypes.c_char]], address: int, what: str) -> str:
    found = kind.from_address(address).value
    if len(found) == ctypes.sizeof(kind):
        raise broken(f"ArrowSchema.{what}", "more", f"less than {len(found)} bytes before the NUL")
    try:
        return found.decode()
    except UnicodeDecodeError:
        raise broken(f"ArrowSchema.{what}", found, "UTF-8") from None


def _metadata(address: int, name: str) -> bytes:
    """Return the bytes of the pairs as they stand: their number, then a length before each text."""
    raw: Any = foreign(address)
    count: int = _INT32.unpack_from(raw)[0]
    end = _INT32.size
    if count < 0:
        raise broken("ArrowSchema.metadata", count, "a number of pairs", name)
    for _ in range(2 * count):
        length: int = _INT32.unpack_from(raw, end)[0]
        end += _INT32.size + length
        if length < 0 or end > _MOST_METADATA:
            raise broken("ArrowSchema.metadata", length, f"lengths of 0 or more, {_MOST_METADATA} bytes in all", name)
    return bytes(raw[:end])
