"""A producer of the dataframe interchange protocol that does what a test tells it to, lies included.

Nothing is checked: what a case announces is what a consumer is told. A consumer that misreads must be *seen* to
misread: a buffer can overwrite its memory when it dies, and every object writes down what it was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from buflend.shared.interchange import DtypeKind, NullKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

Kind, Null = DtypeKind, NullKind


class Dtype(NamedTuple):
    """The protocol's type: kind, width in bits, Arrow format string, byte order."""

    kind: Any
    bits: Any
    format: Any
    endianness: Any = "="


_EXPORTS: dict[str, tuple[DtypeKind, int, str]] = {
    "int8": (Kind.INT, 8, "c"),
    "int16": (Kind.INT, 16, "s"),
    "int32": (Kind.INT, 32, "i"),
    "int64": (Kind.INT, 64, "l"),
    "uint8": (Kind.UINT, 8, "C"),
    "uint16": (Kind.UINT, 16, "S"),
    "uint32": (Kind.UINT, 32, "I"),
    "uint64": (Kind.UINT, 64, "L"),
    "float16": (Kind.FLOAT, 16, "e"),
    "float32": (Kind.FLOAT, 32, "f"),
    "float64": (Kind.FLOAT, 64, "g"),
    "bool": (Kind.BOOL, 8, "b"),
    "bits": (Kind.BOOL, 1, "b"),
    "string": (Kind.STRING, 8, "u"),
    "large_string": (Kind.STRING, 8, "U"),
}


def dtype(name: str, endianness: str = "=") -> Dtype:
    """Give the protocol's type for a short name, `"int64"`, `"bits"` or `"large_string"` say."""
    return Dtype(*_EXPORTS[name], endianness)


POISON = 0xEE
"""The byte that fills the memory of a dead buffer: no valid UTF-8, a negative integer, an absurd float."""

TRUTH: Any = ...
"""Stands for what is true, where something else can be announced."""

_GRAVES: list[npt.NDArray[np.uint8]] = []  # Keeps poisoned memory mapped: a late reader sees poison, not luck.


class Speaker:
    """Something that is asked: it writes down what for, and raises where it was told to."""

    def __init__(self, raises: Mapping[str, Exception] | None) -> None:
        self.asked: list[str] = []
        self._raises = dict(raises or {})

    def note(self, what: str) -> None:
        """Write down that `what` was asked for; raise the exception planned for it, if any."""
        self.asked.append(what)
        if what in self._raises:
            raise self._raises[what]


class Buf(Speaker):
    """A buffer of the protocol; an array is used in place, bytes are copied to an aligned array.

    `device`, `ptr` and `bufsize` (bytes) are what is announced, `raises` what to raise when one is asked for. With
    `poison` the memory is overwritten with 0xEE when this object dies and never freed, so that a consumer which did not
    keep this object reads poison every time.
    """

    def __init__(
        self,
        memory: npt.NDArray[Any] | bytes,
        *,
        device: Any = (1, 0),
        ptr: Any = TRUTH,
        bufsize: Any = TRUTH,
        poison: bool = False,
        raises: Mapping[str, Exception] | None = None,
    ) -> None:
        super().__init__(raises)
        array = np.frombuffer(bytearray(memory), np.uint8) if isinstance(memory, bytes) else memory
        self.memory: npt.NDArray[np.uint8] = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
        self.device = device
        self._ptr = ptr
        self._bufsize = bufsize
        self._poison = poison

    @property
    def address(self) -> int:
        """The true address of the first byte."""
        return int(self.memory.__array_interface__["data"][0])

    @property
    def ptr(self) -> Any:
        """The announced address."""
        self.note("ptr")
        return self.address if self._ptr is TRUTH else self._ptr

    @property
    def bufsize(self) -> Any:
        """The announced size in bytes."""
        self.note("bufsize")
        return self.memory.nbytes if self._bufsize is TRUTH else self._bufsize

    def __dlpack__(self) -> object:
        raise NotImplementedError("__dlpack__")

    def __dlpack_device__(self) -> Any:
        self.note("__dlpack_device__")
        return self.device

    def again(self) -> Self:
        """Return a new poisoning buffer with a copy of the memory, announcing the same."""
        options: dict[str, Any] = {
            "device": self.device,
            "ptr": self._ptr,
            "bufsize": self._bufsize,
            "raises": self._raises,
        }
        return type(self)(self.memory.copy(), poison=True, **options)

    def __del__(self) -> None:
        if getattr(self, "_poison", False):
            self.memory[...] = POISON
            _GRAVES.append(self.memory)


Part = tuple[Buf, Dtype] | None


class Col(Speaker):
    """A column, or the chunk of one: each argument is what the method or property of its name answers.

    `validity` and `offsets` are pairs of buffer and type, `data_dtype` is the data buffer's own type where it is not
    the column's. A column in `chunks` raises when its buffers are asked for. A `lazy` one makes its buffers anew at
    each `get_buffers()`, poisoned when they die, and keeps none. `raises` has what to raise when a name is asked for.
    """

    def __init__(
        self,
        data: Buf | None,
        type_: Any,
        size: Any,
        *,
        offset: Any = 0,
        null: Any = (Null.NON_NULLABLE, None),
        validity: Part = None,
        offsets: Part = None,
        data_dtype: Any = None,
        null_count: Any = 0,
        categories: Col | None = None,
        ordered: bool = False,
        is_dictionary: bool = True,
        chunks: Sequence[Col] = (),
        lazy: bool = False,
        raises: Mapping[str, Exception] | None = None,
    ) -> None:
        super().__init__(raises)
        self.parts: dict[str, Any] = {
            "data": None if data is None else (data, type_ if data_dtype is None else data_dtype),
            "validity": validity,
            "offsets": offsets,
        }
        self._answers = {"dtype": type_, "size": size, "offset": offset, "null": null, "null_count": null_count}
        self.categories = categories
        self._categorical = {"is_ordered": ordered, "is_dictionary": is_dictionary, "categories": categories}
        self.chunks = tuple(chunks)
        self._lazy = lazy

    def size(self) -> Any:
        """Elements in this column or chunk."""
        self.note("size")
        return self._answers["size"]

    @property
    def offset(self) -> Any:
        """The first element."""
        self.note("offset")
        return self._answers["offset"]

    @property
    def dtype(self) -> Any:
        """The column's type."""
        self.note("dtype")
        return self._answers["dtype"]

    @property
    def describe_null(self) -> Any:
        """How missing values are marked."""
        self.note("describe_null")
        return self._answers["null"]

    @property
    def null_count(self) -> Any:
        """The announced number of missing values."""
        self.note("null_count")
        return self._answers["null_count"]

    @property
    def describe_categorical(self) -> Any:
        """The dictionary, as the protocol's mapping of three keys."""
        self.note("describe_categorical")
        if self._answers["dtype"][0] != Kind.CATEGORICAL:
            raise TypeError("describe_categorical: this column is not categorical")
        return dict(self._categorical)

    @property
    def metadata(self) -> Any:
        """An empty mapping."""
        self.note("metadata")
        return {}

    def num_chunks(self) -> Any:
        """Count the chunks."""
        self.note("num_chunks")
        return len(self.chunks) or 1

    def get_chunks(self, n_chunks: int | None = None) -> Iterable[Col]:  # noqa: ARG002 - the protocol's signature
        """Yield the chunks, this column itself where there is one."""
        self.note("get_chunks")
        return iter(self.chunks or (self,))

    def get_buffers(self) -> Any:
        """Return the buffers with their types."""
        self.note("get_buffers")
        if self.chunks:
            raise RuntimeError(f"get_buffers: this column has {len(self.chunks)} chunks, ask each of them")
        if not self._lazy:
            return dict(self.parts)
        return {name: part and (part[0].again(), part[1]) for name, part in self.parts.items()}


class Frame(Speaker):
    """A frame, or the chunk of one: each argument is what the method of its name answers.

    As a sequence of pairs, columns can have a name twice, or one that is no string. `raises` has what to raise when a
    method is asked for; `"allow_copy=False"` stands for that request.
    """

    version = 0

    def __init__(
        self,
        columns: Mapping[str, Col] | Sequence[tuple[Any, Col]],
        *,
        chunks: Sequence[Frame] | None = None,
        rows: Callable[[], Any] | None = None,
        metadata: Any = TRUTH,
        raises: Mapping[str, Exception] | None = None,
    ) -> None:
        super().__init__(raises)
        pairs = list(columns.items()) if isinstance(columns, Mapping) else list(columns)
        self.names = [name for name, _ in pairs]
        self.columns = [column for _, column in pairs]
        self.chunks = chunks
        self._rows = rows
        self._metadata = {} if metadata is TRUTH else metadata

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Frame:  # noqa: FBT001, FBT002 - the protocol's signature
        self.note("__dataframe__")
        self.note(f"allow_copy={allow_copy}")
        return self

    @property
    def metadata(self) -> Any:
        """What the case put there."""
        self.note("metadata")
        return self._metadata

    def num_columns(self) -> int:
        """Count the columns."""
        self.note("num_columns")
        return len(self.columns)

    def num_rows(self) -> Any:
        """Count the rows over all chunks."""
        self.note("num_rows")
        if self._rows is not None:
            return self._rows()
        if self.chunks is not None:
            return sum(chunk.num_rows() for chunk in self.chunks)
        if not self.columns:
            return 0
        return sum(chunk.size() for chunk in self.columns[0].chunks or self.columns[:1])

    def num_chunks(self) -> int:
        """Count the chunks."""
        self.note("num_chunks")
        return 1 if self.chunks is None else len(self.chunks)

    def column_names(self) -> Iterable[Any]:
        """Return the names in order."""
        self.note("column_names")
        return list(self.names)

    def get_column(self, i: int) -> Col:
        """Return the column at a position."""
        self.note("get_column")
        return self.columns[i]

    def get_column_by_name(self, name: str) -> Col:
        """Return the first column of this name."""
        self.note("get_column_by_name")
        return self.columns[self.names.index(name)]

    def get_columns(self) -> Iterable[Col]:
        """Return the columns in order."""
        self.note("get_columns")
        return list(self.columns)

    def select_columns(self, indices: Sequence[int]) -> Frame:
        """Return a frame of some columns."""
        self.note("select_columns")
        return Frame([(self.names[i], self.columns[i]) for i in indices])

    def select_columns_by_name(self, names: Sequence[str]) -> Frame:
        """Return a frame of some columns."""
        self.note("select_columns_by_name")
        return Frame([(name, self.columns[self.names.index(name)]) for name in names])

    def get_chunks(self, n_chunks: int | None = None) -> Iterable[Frame]:  # noqa: ARG002 - the protocol's signature
        """Yield the chunks, the frame itself where there are none of its own."""
        self.note("get_chunks")
        return iter((self,) if self.chunks is None else self.chunks)

    def cols(self) -> Iterator[Col]:
        """Yield every column of the frame and of its chunks, and theirs, each object once."""
        seen: dict[int, Col] = {}
        todo = [*self.columns, *(column for chunk in self.chunks or () for column in chunk.columns)]
        while todo:
            column = todo.pop()
            if id(column) not in seen:
                seen[id(column)] = column
                todo += [*column.chunks, *([] if column.categories is None else [column.categories])]
        return iter(seen.values())

    def content(self) -> list[bytes]:
        """Return a copy of all memory below this frame: equal before and after, nobody wrote."""
        parts = (part for column in self.cols() for part in column.parts.values() if part is not None)
        return [part[0].memory.tobytes() for part in parts]
