"""The columns of a table by name, and the frame of the dataframe interchange protocol that they are.

Lives here: the constructor, the parts, the cutting into chunks. Must not know: other protocols. Source:
data-apis/dataframe-api, `protocol/dataframe_protocol.py` (version 0).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from ..shared.interchange import DtypeKind
from .column import Column
from .column_interchange import spread
from .metadata import unpack
from .offer import ARROW, HOST, ONE_PIECE
from .piece import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .arrow_form import Form
    from .piece import Piece


class Columns:
    """The base of `Table`: names and columns."""

    __slots__ = ("__weakref__", "_allow_copy", "_can", "_chunks", "_columns", "_form", "_metadata", "_names")

    version = 0
    """Of the dataframe interchange protocol."""

    def __init__(self, columns: "Mapping[str, Column]") -> None:
        # What each is, and not what it says of its class; and asked once: another mapping may answer otherwise.
        if not issubclass(type(columns), Mapping):
            raise TypeError(f"columns: got a {type(columns).__name__}, expected a mapping of names to Columns")
        pairs: list[tuple[Any, Any]] = list(columns.items())
        for name, column in pairs:
            if not issubclass(type(name), str):
                raise TypeError(f"column names: got {name!r}, expected text")
            if not issubclass(type(column), Column):
                got = type(column).__name__
                raise TypeError(f"column {name!r}: got a {got}, expected a Column; as_table makes them of arrays")
        columns = dict(pairs)
        lengths = {name: column.size() for name, column in pairs}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns: got the lengths {lengths}, expected one")
        self._names = tuple(columns)
        self._columns = tuple([column.rename(name) for name, column in columns.items()])
        self._metadata: bytes | None = None
        self._allow_copy = True
        self._can = -1
        self._form: Form | None = None
        self._chunks: list[tuple[Piece, ...]] | None = None

    def _with(self, names: "Sequence[str]", columns: "Sequence[Column]", *, allow_copy: bool | None = None) -> Self:
        made = self.__new__(type(self))
        made._names, made._columns = tuple(names), tuple(columns)
        made._metadata = self._metadata
        made._allow_copy = self._allow_copy if allow_copy is None else allow_copy
        made._chunks = None
        made._can = -1
        made._form = None
        return made

    def _look(self) -> int:
        shared = ARROW | HOST
        for column in self._columns:
            shared &= column._look()
        return shared | (ONE_PIECE if self.num_chunks() == 1 else 0)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, as they lie."""
        return self._columns

    def __getitem__(self, key: "str | slice") -> "Column | Self":
        """Return a column by name, or some rows by a slice; nothing is copied."""
        if type(key) is slice:
            return self._with(self._names, [column[key] for column in self._columns])
        return self._columns[self._number(key)]

    def keys(self) -> "list[str]":
        """Return the names, so that `dict(table)` has the columns by name."""
        return list(self._names)

    def __iter__(self) -> "Iterator[str]":
        """Yield the names."""
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a column of that name."""
        return name in self._names

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._columns[0]) if self._columns else 0

    def __repr__(self) -> str:
        """Show rows, names and formats; no memory is read."""
        pairs = zip(self._names, self._columns, strict=True)
        shown = ", ".join(
            f"{name}: {column.dtype.format or DtypeKind(column.dtype.kind).name}" for name, column in pairs
        )
        return f"<buflend.maximal.Table of {len(self)} rows: {shown}>"

    def tolist(self) -> list[dict[str, Any]]:
        """Return the rows as dicts of Python objects, None where a value is missing."""
        lists = [column.tolist() for column in self._columns]
        return [dict(zip(self._names, row, strict=True)) for row in zip(*lists, strict=True)]

    @property
    def _aligned(self) -> "list[tuple[Piece, ...]]":
        if self._chunks is None:
            self._chunks = align([column._pieces for column in self._columns])
        return self._chunks

    def _number(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(f"{name!r}: the columns are {list(self._names)}")
        return self._names.index(name)

    # The frame of the dataframe interchange protocol.

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Self:  # noqa: FBT001, FBT002
        """Return the frame that consumers of the dataframe interchange protocol read; its columns copy what they must.

        With `allow_copy=False` a column that the protocol cannot say as it lies raises when it is asked for.
        """
        return self._with(self._names, self._columns, allow_copy=allow_copy)

    @property
    def metadata(self) -> dict[str, str]:
        """What an Arrow schema says beside the columns."""
        return unpack(self._metadata)

    def num_columns(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self)

    def num_chunks(self) -> int:
        """Return the number of chunks: cuts of any column cut all."""
        return len(self._aligned) or 1

    def column_names(self) -> "list[str]":
        """Return the names."""
        return list(self._names)

    def get_column(self, i: int) -> Column:
        """Return a column by its number, as the protocol can say it."""
        return self._columns[i].for_interchange(allow_copy=self._allow_copy)

    def get_column_by_name(self, name: str) -> Column:
        """Return a column by its name, as the protocol can say it."""
        return self.get_column(self._number(name))

    def get_columns(self) -> "list[Column]":
        """Return all columns, as the protocol can say them."""
        return [self.get_column(i) for i in range(len(self._columns))]

    def select_columns(self, indices: "Sequence[int]") -> Self:
        """Return a table of some columns, by their numbers."""
        return self._with([self._names[i] for i in indices], [self._columns[i] for i in indices])

    def select_columns_by_name(self, names: "Sequence[str]") -> Self:
        """Return a table of some columns, by their names."""
        return self.select_columns([self._number(name) for name in names])

    def get_chunks(self, n_chunks: int | None = None) -> "Iterator[Self]":
        """Yield the chunks, or `n_chunks` of them, a multiple of `num_chunks()`; columns are in one piece there."""
        if not self._columns:
            yield self
            return
        chunks = self._aligned
        first = Column._make(self._columns[0]._type, tuple([chunk[0] for chunk in chunks]))
        for chunk, parts in zip(chunks, spread(first, n_chunks), strict=True):
            for start, stop in parts:
                cut = chunk if len(parts) == 1 else [piece.cut(start, stop) for piece in chunk]
                yield self._with(
                    self._names, [Column._make(c._type, (piece,)) for c, piece in zip(self._columns, cut, strict=True)]
                )
