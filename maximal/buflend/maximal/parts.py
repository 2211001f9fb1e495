"""What a column consists of, as a person sees it: sizes, offsets, strides, buffers.

Lives here: the constructor, the parts by name, and the cutting. Must not know: protocols.
"""

from typing import TYPE_CHECKING, Any, Self

from ..shared.arrow_c import NULLABLE, ORDERED
from ..shared.chunk import Dtype
from ..shared.device import HOST_READABLE, Device, device_name
from ..shared.interchange import DtypeKind, NullKind
from . import arguments
from .buffer import Buffer
from .fault import fault, fault_of_ends
from .metadata import pack
from .offer import ARROW, HOST, ONE_PIECE
from .piece import ARROW_NULLS, NO_NULLS, UNKNOWN, Piece, Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .column import Column


class Parts:
    """The base of `Column`: type and pieces."""

    __slots__ = ("__weakref__", "_allow_copy", "_can", "_form", "_pieces", "_type")

    _type: Type
    _pieces: tuple[Piece, ...]
    _allow_copy: bool  # what `__dataframe__` was told
    _can: int  # what protocols need, -1 where nobody asked yet
    _form: Any  # what Arrow's protocols say, where that needed no copy

    def __init__(
        self,
        dtype: "tuple[int, int, str, str] | str",
        size: int,
        *,
        data: Buffer | None = None,
        validity: Buffer | None = None,
        offsets: Buffer | None = None,
        sizes: Buffer | None = None,
        type_ids: Buffer | None = None,
        variadic: "Sequence[Buffer]" = (),
        children: "Sequence[Column]" = (),
        dictionary: "Column | None" = None,
        ordered: bool = False,
        null: tuple[int, Any] | None = None,
        null_count: int | None = None,
        offset: int = 0,
        byte_offset: int = 0,
        strides: tuple[int] | None = None,
        validity_offset: int | None = None,
        name: str = "",
        metadata: "Mapping[str, str] | None" = None,
    ) -> None:
        whole = dictionary is not None
        flags = (ORDERED if ordered else 0) | NULLABLE
        described = arguments.dtype(dtype, categorical=whole)
        self._type = type_ = Type(
            described, arguments.text(name, "name"), flags, pack({} if metadata is None else metadata)
        )
        given = {"validity": validity, "data": data, "offsets": offsets, "sizes": sizes, "type_ids": type_ids}
        if null is None:
            null = NO_NULLS if validity is None else ARROW_NULLS
        marked = arguments.null(null, type_)
        size = arguments.integer(size, "size")
        offset = arguments.integer(offset, "offset", 0, arguments.MOST - size)
        piece = Piece(
            size,
            offset,
            arguments.buffers(given),
            marked,
            0 if marked == NO_NULLS else UNKNOWN,
            arguments.integer(byte_offset, "byte_offset"),
            arguments.stride(strides, type_),
            offset if validity_offset is None else arguments.integer(validity_offset, "validity_offset"),
            variadic=arguments.instances(variadic, Buffer, "variadic", "Buffers"),
            children=arguments.instances(children, Parts, "children", "Columns"),
            dictionary=arguments.instances((dictionary,), Parts, "dictionary", "Columns")[0] if whole else None,
        )
        if null_count is not None:
            piece = piece._replace(null_count=arguments.integer(null_count, "null_count", 0, size))
        if wrong := fault(piece, type_) or fault_of_ends(piece, type_):
            raise ValueError(wrong)
        self._pieces = (piece,)
        self._allow_copy = True
        self._can = -1
        self._form = None

    __init__.__qualname__ = "Column.__init__"  # the class whose constructor a caller sees

    @classmethod
    def _make(cls, type: Type, pieces: tuple[Piece, ...], *, allow_copy: bool = True) -> Self:  # noqa: A002 - the record's name
        """Return a column of checked pieces, of which there is at least one."""
        made = cls.__new__(cls)
        made._type = type
        made._pieces = pieces
        made._allow_copy = allow_copy
        made._can = -1
        made._form = None
        return made

    def _look(self) -> int:
        parts = [*self._pieces[0].children, self._pieces[0].dictionary]
        known = self._type.dtype.format and all(part is None or part._look() & ARROW for part in parts)
        arrow = ARROW if known else 0
        one = ONE_PIECE if len(self._pieces) == 1 else 0
        on_host = all(piece.device[0] in HOST_READABLE for piece in self._pieces)
        return arrow | one | (HOST if on_host else 0)

    def rename(self, name: str) -> Self:
        """Return the column under another name; nothing is copied."""
        if arguments.text(name, "name") == self._type.name:
            return self
        return self._make(self._type._replace(name=name), self._pieces, allow_copy=self._allow_copy)

    # What it consists of.

    @property
    def _piece(self) -> Piece:
        if len(self._pieces) > 1:
            raise ValueError(f"the column has {len(self._pieces)} chunks, each with buffers of its own: take .chunks")
        return self._pieces[0]

    @property
    def name(self) -> str:
        """Name of the column."""
        return self._type.name

    @property
    def dtype(self) -> Dtype:
        """Kind, bits, Arrow format string and byte order, as the interchange protocol has them.

        The kind is a `DtypeKind`; from 100 on it is one that the protocol lacks. The format is empty where Arrow has
        none.
        """
        return self._type.dtype

    def size(self) -> int:
        """Return the number of elements."""
        return sum(piece.size for piece in self._pieces)

    __len__ = size

    @property
    def offset(self) -> int:
        """Elements before the first one, in every buffer that has an item for each element."""
        return self._piece.offset

    @property
    def byte_offset(self) -> int:
        """Bytes of `data` before the element of index 0; where strides are negative, it is not at the start."""
        return self._piece.byte_offset

    @property
    def strides(self) -> tuple[int] | None:
        """Bytes of `data` from one element to the next, as in NumPy; None for bits, text and nested types."""
        return (self._piece.stride,) if self._type.width else None

    @property
    def null_kind(self) -> NullKind:
        """How what is missing is marked."""
        return self._piece.null[0]

    @property
    def validity_offset(self) -> int:
        """Bits, of a byte mask bytes, before the mask's first."""
        return self._piece.validity_offset

    @property
    def validity_strides(self) -> tuple[int]:
        """Bytes from one element of a byte mask to the next."""
        return (self._piece.validity_stride,)

    @property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers by name, those that are there."""
        return dict(self._piece.buffers)

    @property
    def data(self) -> Buffer | None:
        """Values, codes, characters, or views of characters."""
        return self._piece.buffers.get("data")

    @property
    def validity(self) -> Buffer | None:
        """Mask of what is present or missing."""
        return self._piece.buffers.get("validity")

    @property
    def offsets(self) -> Buffer | None:
        """Where text, lists and members of a dense union start."""
        return self._piece.buffers.get("offsets")

    @property
    def sizes(self) -> Buffer | None:
        """Sizes of list views."""
        return self._piece.buffers.get("sizes")

    @property
    def type_ids(self) -> Buffer | None:
        """Which child a union's element is in."""
        return self._piece.buffers.get("type_ids")

    @property
    def variadic(self) -> tuple[Buffer, ...]:
        """The characters of views."""
        return self._piece.variadic

    @property
    def dictionary(self) -> "Column | None":
        """What codes stand for."""
        return self._piece.dictionary

    @property
    def ordered(self) -> bool:
        """Whether the categories are ordered."""
        return bool(self._type.flags & ORDERED)

    @property
    def nullable(self) -> bool:
        """Whether a schema lets elements be missing."""
        return bool(self._type.flags & NULLABLE)

    @property
    def timezone(self) -> str | None:
        """The zone whose local times the values, which are UTC, stand for; None where there is none."""
        text = self.dtype.format
        return text.partition(":")[2] or None if text.startswith("ts") else None

    @property
    def children(self) -> "tuple[Column, ...]":
        """The fields of a struct, cut where it is; else items, members of unions, or ends and values of runs, uncut."""
        piece = self._piece
        if self._type.dtype.format != "+s":
            return piece.children
        return tuple(child[piece.offset : piece.offset + piece.size] for child in piece.children)

    @property
    def chunks(self) -> tuple[Self, ...]:
        """The chunks, columns in one piece; of one that has no chunks, itself."""
        if len(self._pieces) == 1:
            return (self,)
        return tuple(self._make(self._type, (piece,), allow_copy=self._allow_copy) for piece in self._pieces)

    @property
    def device(self) -> Device:
        """Where the memory lies."""
        return self._pieces[0].device

    def part(self, name: str) -> Self:
        """Return a part as a column of numbers over the same memory, for protocols that lack the column's type.

        Parameters
        ----------
        name : {"data", "validity", "offsets", "sizes", "type_ids"}
            Values, codes and masks become unsigned integers of the width of an element, or bytes where there are no
            such integers; offsets and sizes stay signed. Bits become the bytes that hold them, and characters of text
            all bytes of their buffer, since offsets count from its start.

        Raises
        ------
        ValueError
            When the column has no such part, or has several chunks, each with parts of its own.
        """
        from .part import part

        return self._make(*part(self._piece, self._type, name), allow_copy=self._allow_copy)

    def __getitem__(self, key: "slice | object") -> Self:
        """Return a part of the elements, without a copy: a slice, with a step of 1."""
        if type(key) is not slice or key.step not in (None, 1):
            raise TypeError(f"index: got {key!r}, expected a slice with a step of 1; values are had by tolist()")
        start, stop, _ = key.indices(self.size())
        found, before = [], 0
        for piece in self._pieces:
            low, high = max(start - before, 0), min(stop - before, piece.size)
            if low < high:
                found.append(piece if (low, high) == (0, piece.size) else piece.cut(low, high))
            before += piece.size
        return self._make(self._type, tuple(found) or (self._pieces[0].cut(0, 0),), allow_copy=self._allow_copy)

    def __repr__(self) -> str:
        """Show name, type, size and device; no memory is read."""
        chunks = "" if len(self._pieces) == 1 else f" in {len(self._pieces)} chunks"
        kind = self.dtype.format or DtypeKind(self.dtype.kind).name
        where = device_name(self.device)
        return f"<buflend.maximal.Column {self.name!r}: {self.size()} of {kind!s}{chunks} on {where}>"
