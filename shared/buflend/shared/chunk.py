"""One chunk of a foreign column: what its producer says of it, checked before any memory is read.

Lives here: the description and the buffers, devices first, then sizes. Must not know: what becomes of the values.
"""

import sys
from typing import Any, NamedTuple

from .context import Context
from .device import require_host
from .interchange import BYTE_ORDERS, NullKind
from .memory import Memory, borrow, device_of, offers

_NULL_KINDS = {int(kind): kind for kind in NullKind}


class Dtype(NamedTuple):
    """The protocol's description of a type: kind, bits, Arrow format string, byte order in NumPy's characters."""

    kind: int
    bits: int
    format: str
    order: str


class Part(NamedTuple):
    """A buffer of a chunk: `name`, its memory, the type that its own tuple announces, and whose it is."""

    name: str
    memory: Memory
    dtype: Dtype
    context: Context

    def require(self, needed: int, reason: str) -> None:
        """Raise `ProducerError` unless the buffer has the `needed` bytes."""
        if self.memory.bufsize < needed:
            raise self.context.broken(
                f"{self.name} buffer: bufsize", self.memory.bufsize, f"at least {needed} bytes for {reason}"
            )


class Chunk(NamedTuple):
    """A chunk of `size` elements that start at element `offset` of every buffer."""

    context: Context
    column: Any
    size: int
    offset: int
    dtype: Dtype
    null_kind: NullKind
    null_value: Any
    parts: dict[str, Part]

    def null_count(self) -> int | None:
        """Return how many elements the producer says are missing: asked only where a mask can be held against it.

        Many producers count on demand, which takes longer than all else.
        """
        count = self.context.get(self.column, "null_count")
        return None if count is None else self.context.integer(count, "null_count")

    def part(self, name: str) -> Part:
        """Return a buffer that must be there."""
        try:
            return self.parts[name]
        except KeyError:
            raise self.context.broken(f"get_buffers()[{name!r}]", None, "a buffer and its dtype") from None

    @property
    def window(self) -> str:
        """The elements, for messages."""
        return f"offset {self.offset} + size {self.size}"


def describe(column: Any, context: Context, *, host: bool = True) -> Chunk:
    """Return the chunk that a foreign column describes; `get_buffers` is called once, and not for an empty chunk.

    With `host`, memory that the host cannot read is refused.

    Raises
    ------
    ProducerError
        When a part of the description is missing or cannot be true.
    DeviceError
        When a buffer lies where the host cannot read; no pointer was asked for then.
    """
    size = context.get(column, "size")
    size = context.integer(context.call(column, "size") if callable(size) else size, "size()")
    offset = context.integer(context.get(column, "offset"), "offset")
    if size < 0 or offset < 0:
        raise context.broken("size() and offset", (size, offset), "numbers of 0 or more")
    dtype = _dtype(context.get(column, "dtype"), "dtype", context)
    null_kind, null_value = _null(context.get(column, "describe_null"), context)
    parts = _parts(context.call(column, "get_buffers"), null_kind, context, host=host) if size else {}
    return Chunk(context, column, size, offset, dtype, null_kind, null_value, parts)


def _dtype(given: Any, field: str, context: Context) -> Dtype:
    expected = "a tuple (kind, bits, format string, endianness)"
    kind, bits, text, order = context.parts(given, 4, field, expected)
    text = context.text(text, f"{field}[2]", "an Arrow format string")
    announced = context.text(order, f"{field}[3]", "an endianness")
    if announced not in BYTE_ORDERS:
        raise context.broken(f"{field}[3]", order, f"an endianness, one of {', '.join(map(repr, BYTE_ORDERS))}")
    bits = context.integer(bits, f"{field}[1]")
    return Dtype(context.integer(kind, f"{field}[0]"), bits, text, BYTE_ORDERS[announced])


def _null(given: Any, context: Context) -> tuple[NullKind, Any]:
    kind, value = context.parts(given, 2, "describe_null", "a tuple (null kind, value)")
    number = context.integer(kind, "describe_null[0]")
    if number not in _NULL_KINDS:
        raise context.broken("describe_null[0]", kind, "a null kind from 0 to 4")
    return _NULL_KINDS[number], value


def _parts(buffers: Any, null_kind: NullKind, context: Context, *, host: bool) -> dict[str, Part]:
    """Return the buffers by name: every device is looked at before the first pointer is asked for."""
    if not offers(buffers, "keys"):
        raise context.broken("get_buffers()", buffers, "a dict with 'data', 'validity' and 'offsets'")
    masked = null_kind in (NullKind.USE_BITMASK, NullKind.USE_BYTEMASK)
    found = []
    for name in ("data", "validity", "offsets"):
        given = context.item(buffers, name, "get_buffers()", None)
        # Without a mask kind the validity buffer has no meaning: some producers leave junk there.
        if given is None or (name == "validity" and not masked):
            continue
        buffer, dtype = context.parts(given, 2, f"get_buffers()[{name!r}]", "a tuple (buffer, dtype), or None")
        if buffer is None:
            continue
        whose = f"{context.whose}: {name} buffer"
        device = device_of(buffer, whose)
        if host:
            require_host(device, whose)
        found.append((name, buffer, device, _dtype(dtype, f"{name} dtype", context), whose))
    return {
        name: Part(name, borrow(Memory, buffer, whose, device, writable=False), dtype, context)
        for name, buffer, device, dtype, whose in found
    }


def settle_width(chunk: Chunk, part: Part, *more: int) -> int:
    """Return the bits of one element where column, buffer and format may disagree.

    The buffer's size decides between widths that differ: one that does not fit cannot be meant. Where it cannot decide,
    the column is refused.
    """
    announced = sorted({chunk.dtype.bits, part.dtype.bits, *more})
    if len(announced) == 1:
        return announced[0]
    rows = chunk.offset + chunk.size
    fitting = [bits for bits in announced if bits > 0 and -(-rows * bits // 8) <= part.memory.bufsize]
    if len(fitting) == 1:
        return fitting[0]
    raise chunk.context.broken(
        f"bits of an element in {part.name}",
        f"{chunk.dtype.bits} (column), {part.dtype.bits} (buffer), format {chunk.dtype.format!r}",
        f"one width; a bufsize of {part.memory.bufsize} bytes does not decide for {chunk.window}",
    )


def settle_order(chunk: Chunk, part: Part, *kinds: int) -> str:
    """Return the byte order of the elements, after holding the buffer's own type against the column's.

    Parameters
    ----------
    chunk, part : Chunk, Part
        The column and its buffer.
    *kinds : int
        Kinds that the buffer may announce for such a column; none of them can be decided by the buffer's size.
    """
    kind, _, text, order = part.dtype
    if kind not in kinds:
        raise chunk.context.broken(
            f"{part.name} dtype", (kind, text), f"the type of a column of kind {chunk.dtype.kind}: a kind among {kinds}"
        )
    if chunk.dtype.bits > _BYTE and (order in NATIVE) != (chunk.dtype.order in NATIVE):
        raise chunk.context.broken(
            "endianness", f"{chunk.dtype.order!r} (column), {order!r} (buffer)", "one byte order; none can be preferred"
        )
    return order


_BYTE = 8  # bits: what is no wider has no byte order
NATIVE = ("=", "<" if sys.byteorder == "little" else ">")
