"""Metadata of an Arrow schema: a count, and for each key and value its length and its bytes.

Lives here: from these bytes to a dict and back. Must not know: what is said in it. Source: Apache Arrow, "The Arrow C
data interface", `ArrowSchema.metadata`: lengths are 32-bit integers of the machine's byte order.
"""

import struct
from collections.abc import Mapping
from typing import Any, cast

_LENGTH = struct.Struct("=i")


def unpack(raw: bytes | None) -> dict[str, str]:
    """Return what checked bytes say; what is not UTF-8 is kept by surrogates.

    Examples
    --------
    >>> unpack(pack({"ARROW:extension:name": "arrow.uuid"}))
    {'ARROW:extension:name': 'arrow.uuid'}
    """
    if not raw:
        return {}
    texts, at = [], _LENGTH.size
    for _ in range(2 * _LENGTH.unpack_from(raw)[0]):
        (length,) = _LENGTH.unpack_from(raw, at)
        at += _LENGTH.size
        texts.append(raw[at : at + length].decode("utf-8", "surrogateescape"))
        at += length
    return dict(zip(texts[::2], texts[1::2], strict=True))


def pack(given: "Mapping[str, str] | object") -> bytes | None:
    """Return the bytes, None for an empty mapping."""
    # What it is, and not what it says of its class, and asked once: another mapping may answer otherwise.
    asked = cast("Mapping[str, str]", given).items() if issubclass(type(given), Mapping) else ((None,),)
    pairs: list[tuple[Any, ...]] = [tuple(pair) for pair in asked]
    if not all(len(pair) == 2 and all(issubclass(type(part), str) for part in pair) for pair in pairs):
        raise TypeError(f"metadata: got {given!r}, expected a mapping of text to text")
    if not pairs:
        return None
    parts = [_LENGTH.pack(len(pairs))]
    for text in (text for pair in pairs for text in pair):
        encoded = str.encode(text, "utf-8", "surrogateescape")
        parts += [_LENGTH.pack(len(encoded)), encoded]
    return b"".join(parts)
