"""What a column consists of: its type, and pieces of buffers.

Lives here: the two records behind `Column`, the bytes that a piece needs, and its cutting. Must not know: protocols,
values. Nothing is read here but the counts of masks.

A piece is what Arrow calls an array and the interchange protocol a chunk, and more: its elements may be strided, in
either byte order, and what is missing may be told by bits, bytes or the values themselves.
"""

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from ..shared.arrow_c import NULLABLE
from ..shared.arrow_format import Layout, parse_format
from ..shared.chunk import Dtype
from ..shared.device import CPU, Device
from ..shared.interchange import NullKind
from ..shared.memory import share
from .buffer import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .column import Column

NO_NULLS: tuple[NullKind, Any] = (NullKind.NON_NULLABLE, None)
ARROW_NULLS: tuple[NullKind, Any] = (NullKind.USE_BITMASK, 0)
UNKNOWN = -1  # a count of nulls that nobody made yet

MASKS = (NullKind.USE_BITMASK, NullKind.USE_BYTEMASK)


class Type(NamedTuple):
    """Type and name of a column, shared by its pieces: what a schema says, and what it cannot say (width, byte order).

    For categories the dtype's bits and format are those of the codes. `flags` and `metadata` are those of ArrowSchema.
    """

    dtype: Dtype
    name: str = ""
    flags: int = NULLABLE
    metadata: bytes | None = None

    @property
    def layout(self) -> Layout | None:
        """What an Arrow array of the type consists of; None for what Arrow has no type for."""
        return parse_format(self.dtype.format) if self.dtype.format else None

    @property
    def width(self) -> int:
        """Bytes from one element of `data` to the next where nothing else is said; 0 where elements have no bytes."""
        bits = self.dtype.bits
        return 0 if bits % 8 or self.is_text else bits // 8

    @property
    def is_text(self) -> bool:
        """Whether elements lie between offsets, as bytes."""
        return self.dtype.format in _TEXT

    @property
    def is_view(self) -> bool:
        """Whether elements are views of 16 bytes."""
        return self.dtype.format in _VIEWS


_TEXT, _VIEWS = ("u", "U", "z", "Z"), ("vu", "vz")


class Piece(NamedTuple):
    """Consecutive elements of a column, in buffers of which each has its own owner.

    Attributes
    ----------
    size : int
        Elements.
    offset : int
        Elements before the first one in every buffer that has an item for each element.
    buffers : dict of str to Buffer
        Those that are there of "validity", "data", "offsets", "sizes", "type_ids".
    null : tuple of (NullKind, value)
        How what is missing is marked, as the interchange protocol describes it.
    null_count : int
        -1 where it is not known.
    byte_offset : int
        Bytes of `data` before the element of index 0.
    stride : int
        Bytes of `data` from one element to the next; 0 for bits and text.
    validity_offset : int
        Bits, of a byte mask bytes, before the first element's.
    validity_stride : int
        Bytes from one element of a byte mask to the next; 1 for bits.
    variadic : tuple of Buffer
        The characters of views.
    children : tuple of Column
        As Arrow has them: not cut where this piece is.
    dictionary : Column or None
        What the codes stand for.
    """

    size: int
    offset: int
    buffers: dict[str, Buffer]
    null: tuple[NullKind, Any] = NO_NULLS
    null_count: int = 0
    byte_offset: int = 0
    stride: int = 0
    validity_offset: int = 0
    validity_stride: int = 1
    variadic: tuple[Buffer, ...] = ()
    children: "tuple[Column, ...]" = ()
    dictionary: "Column | None" = None

    def cut(self, start: int, stop: int) -> "Piece":
        """Return the elements from `start` to `stop`; nothing is copied."""
        return self._replace(
            size=stop - start,
            null_count=UNKNOWN if self.null_count and stop > start else 0,
            offset=self.offset + start,
            validity_offset=self.validity_offset + start * self.validity_stride,
        )

    @property
    def device(self) -> Device:
        """Where the piece lies; the CPU where it has no memory."""
        memory = self.memory
        return CPU if memory is None else memory.device

    @property
    def memory(self) -> Buffer | None:
        """The first buffer with bytes, which stands for all, since a piece lies on one device; else an empty one.

        None where there is no memory.
        """
        empty = None
        for buffer in (*self.buffers.values(), *self.variadic):
            if buffer._bufsize:
                return buffer
            empty = empty or buffer
        for part in (*self.children, *([] if self.dictionary is None else [self.dictionary])):
            found = part._pieces[0].memory
            if found is not None and found._bufsize:
                return found
            empty = empty or found
        return empty


def byte_range(buffer: Buffer, start: int, end: int) -> Buffer:
    """Return the bytes of a buffer from `start` to `end`, itself where that is all."""
    if (start, end) == (0, buffer._bufsize):
        return buffer
    return share(Buffer, buffer, start, end)


def align(columns: "Sequence[tuple[Piece, ...]]") -> "list[tuple[Piece, ...]]":
    """Return chunks of columns of the same length, with one piece of each column; only cut where the others are."""
    if not columns:
        return []
    ends = {end for pieces in columns for end in _ends(pieces)}
    bounds = sorted(ends - {0}) or [0]
    return list(zip(*[_cut_at(pieces, bounds) for pieces in columns], strict=True))


def _ends(pieces: "tuple[Piece, ...]") -> "Iterator[int]":
    return accumulate(piece.size for piece in pieces)


def _cut_at(pieces: "tuple[Piece, ...]", bounds: list[int]) -> "Iterator[Piece]":
    """Yield the piece before each bound; all ends of pieces that are not empty are among the bounds."""
    remaining = iter([piece for piece in pieces if piece.size] or pieces[:1])
    piece, start, before = next(remaining), 0, 0
    for bound in bounds:
        while start + piece.size <= before < bound:
            start, piece = start + piece.size, next(remaining)
        low, high = before - start, bound - start
        yield piece if (low, high) == (0, piece.size) else piece.cut(low, high)
        before = bound
