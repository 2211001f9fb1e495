"""Sources: the things by which owners lend, one of each kind that the library reads.

Lives here: the things, and how each is read. Must not know: what becomes of it. Imported by tests, as
`from .sources import SOURCES`.
"""

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from . import arrow_producer, capsules
from .arrow_producer import Lie, Log, Script
from .capsules import Lent
from .lifetimes import CONTENT, SIZE, Life, Owner

# Each holds the owner; so does what it makes, until that is released.


class Described:
    """Pointer, size and device: also the buffer of the dataframe interchange protocol."""

    bufsize = SIZE
    readonly = False

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.ptr = owner.ptr

    def __dlpack_device__(self) -> tuple[int, None]:
        return 1, None


class Interchange:
    """A frame of the dataframe interchange protocol, its one column, and that column's chunk. Buffers are made anew."""

    dtype, describe_null, null_count, offset, metadata = (1, 8, "C", "="), (0, None), 0, 0, {}
    version = 0

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def __dataframe__(self, **_: object) -> "Interchange":
        return self

    def column_names(self) -> list[str]:
        return ["x"]

    def get_column_by_name(self, _: str) -> "Interchange":
        return self

    def get_chunks(self, _: object = None) -> "list[Interchange]":
        return [self]

    def num_chunks(self) -> int:
        return 1

    def num_rows(self) -> int:
        return SIZE

    def size(self) -> int:
        return SIZE

    def get_buffers(self) -> dict[str, Any]:
        return {"data": (Described(self.owner), self.dtype), "validity": None, "offsets": None}


class Exporter(ctypes.c_ubyte * SIZE):  # type: ignore[misc]
    """An exporter of the buffer protocol."""

    owner: Owner


def exporter(owner: Owner) -> Exporter:
    made = Exporter.from_address(owner.ptr)
    made.owner = owner
    return made


class Interface:
    """NumPy's array interface, by address."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (SIZE,), "typestr": "|u1", "data": (self.owner.ptr, False)}


class InterfaceOfExporter(Interface):
    """NumPy's array interface, whose data is an exporter that nobody else holds."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": (SIZE,), "typestr": "|u1", "data": exporter(self.owner)}


class Tabled:
    """DLPack by the C exchange table of its type, which describes the object that was asked last."""

    asked = 0

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def is_neg(self) -> bool:
        Tabled.asked = self.owner.ptr
        return False

    @staticmethod
    def fill(out: int) -> int:
        described = Lent()
        raw = capsules.tensor_bytes(described, data=Tabled.asked)
        Tabled.kept = described  # type: ignore[attr-defined] # shape and strides, until the next is asked
        ctypes.memmove(out, raw, len(raw))
        return 0


Tabled.__dlpack_c_exchange_api__ = capsules.table(Tabled.fill)  # type: ignore[attr-defined]


class Tensor:
    """DLPack by capsules, one for each time that it is asked; old ones where `versioned` is False."""

    versioned = True

    def __init__(self, owner: Owner, life: Life) -> None:
        self.owner = owner
        self.life = life

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: object) -> object:
        capsule, lent = capsules.lend(versioned=self.versioned, data=self.owner.ptr, held=self.owner)
        self.life.lent.append(lent)
        return capsule


class LegacyTensor(Tensor):
    versioned = False


class OneTensor(Tensor):
    """DLPack by one capsule, which is all that holds the owner afterwards."""

    def __dlpack__(self, **_: object) -> object:
        capsule = super().__dlpack__()
        del self.owner
        return capsule


class Arrow:
    """Arrow's capsules of bytes, of a struct around them where `field` is set; each array holds the owner."""

    def __init__(self, owner: Owner, life: Life, *, field: bool = False) -> None:
        self.owner = owner
        self.life = life
        self.field = field

    def described(self, *, arrays: int, schemas: int = 1, streams: int = 0) -> Lie:
        parts = 1 + self.field
        made = {"schemas": schemas * parts, "arrays": arrays * parts, "streams": streams}
        self.life.made = {name: count + made[name] for name, count in self.life.made.items()}
        child = Lie("C", SIZE, [None, self.owner.ptr], name="x", owner=weakref.ref(self.owner))
        return Lie("+s", SIZE, [None], children=[child], flags=0) if self.field else child


class ArrowArray(Arrow):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        lie, log = self.described(arrays=1), self.life.log
        return arrow_producer.schema(lie, log), arrow_producer.array(lie, log)


class OneArrowArray(ArrowArray):
    """Arrow's capsules, once: then they are all that holds the owner."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        pair = super().__arrow_c_array__(requested_schema)
        del self.owner
        return pair


class ArrowDeviceArray(Arrow):
    def __arrow_c_device_array__(self, requested_schema: object = None, **_: object) -> tuple[object, object]:
        lie, log = self.described(arrays=1), self.life.log
        return arrow_producer.schema(lie, log), arrow_producer.device_array(lie, log)


class ArrowStream(Arrow):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        lie = self.described(arrays=1, streams=1)
        return arrow_producer.stream(Script(lie, [lie]), self.life.log)


class Chunks:
    """A stream of Arrow in chunks, each with an owner of its own."""

    def __init__(self, owners: list[Owner], log: Log) -> None:
        self.owners = owners
        self.log = log

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        lies = [Lie("C", SIZE, [None, owner.ptr], name="x", owner=weakref.ref(owner)) for owner in self.owners]
        return arrow_producer.stream(Script(lies[0], lies), self.log)


def chunks(content: bytes) -> tuple[Chunks, list[Life], Log]:
    """Return a stream of two chunks, the second one backwards, and what is known of it."""
    owners, log = [Owner(content), Owner(content[::-1])], Log()
    lives = [Life(owner, owner.ptr, each) for owner, each in zip(owners, (content, content[::-1]), strict=True)]
    return Chunks(owners, log), lives, log


def _held(kind: Callable[[Owner], Any]) -> Callable[[bytes], tuple[Any, Life]]:
    def make(content: bytes = CONTENT) -> tuple[Any, Life]:
        owner = Owner(content)
        return kind(owner), Life(owner, owner.ptr, content)

    return make


def _calls(kind: Callable[..., Any], **options: Any) -> Callable[[bytes], tuple[Any, Life]]:
    def make(content: bytes = CONTENT) -> tuple[Any, Life]:
        owner = Owner(content)
        life = Life(owner, owner.ptr, content)
        return kind(owner, life, **options), life

    return make


def _array(content: bytes = CONTENT) -> tuple[Any, Life]:
    owner = np.frombuffer(content, np.uint8).copy()
    return owner, Life(owner, owner.ctypes.data, content)


def _view(content: bytes = CONTENT) -> tuple[Any, Life]:
    owner = np.zeros(2 * SIZE, np.uint8)
    owner[8 : 8 + SIZE] = np.frombuffer(content, np.uint8)
    return owner[8 : 8 + SIZE], Life(owner, owner.ctypes.data + 8, content)


def _arrow_buffer(owner: Owner) -> Any:
    import pyarrow as pa

    return pa.foreign_buffer(owner.ptr, SIZE, base=owner)


def _arrow_array(owner: Owner) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.uint8(), SIZE, [None, _arrow_buffer(owner)])


def _torch(owner: Owner) -> Any:
    return pytest.importorskip("torch").frombuffer(exporter(owner), dtype=pytest.importorskip("torch").uint8)


def _series(content: bytes = CONTENT) -> tuple[Any, Life]:
    pandas, (array, life) = pytest.importorskip("pandas"), _array(content)
    return pandas.Series(array, copy=False), life


def _frame(content: bytes = CONTENT) -> tuple[Any, Life]:
    series, life = _series(content)
    return series.to_frame("x"), life


def _of_arrow(library: str, name: str, **options: Any) -> Callable[[bytes], tuple[Any, Life]]:
    """Let a library take Arrow's capsules."""

    def take(owner: Owner, life: Life) -> Any:
        return getattr(pytest.importorskip(library), name)(ArrowArray(owner, life, **options))

    return _calls(take)


class Source(NamedTuple):
    """How an owner is lent.

    Attributes
    ----------
    make : callable
        Returns the thing that lends, which is all that holds the owner, and what is known of the owner.
    read : str
        By whom it is read: "minimal", "buffer", "column", "table".
    writable : bool
        Whether what is read may be written: the struct of DLPack before 1.0 cannot say so before it was asked.
    library : str
        What must be installed.
    gives : bool
        Whether the owner is given away with what is made of it: then it can be read once.
    """

    make: Callable[..., tuple[Any, Life]]
    read: str
    writable: bool = True
    library: str = ""
    gives: bool = False


BYTES = "buffer column table"
SOURCES = {
    "pointer and size": Source(_held(Described), "minimal buffer"),
    "buffer protocol": Source(_held(exporter), f"minimal {BYTES}"),
    "ndarray": Source(_array, f"minimal {BYTES}"),
    "view of an ndarray": Source(_view, f"minimal {BYTES}"),
    "array interface": Source(_held(Interface), BYTES),
    "array interface of an exporter": Source(_held(InterfaceOfExporter), BYTES),
    "DLPack exchange table": Source(_held(Tabled), "buffer", writable=False),
    "DLPack capsule": Source(_calls(Tensor), BYTES),
    "old DLPack capsule": Source(_calls(LegacyTensor), BYTES, writable=False),
    "DLPack capsule, given away": Source(_calls(OneTensor), BYTES, gives=True),
    "Arrow array, given away": Source(_calls(OneArrowArray), "column table", writable=False, gives=True),
    "Arrow array of structs, given away": Source(
        _calls(OneArrowArray, field=True), "frame", writable=False, gives=True
    ),
    "Arrow array": Source(_calls(ArrowArray), "column table", writable=False),
    "Arrow device array": Source(_calls(ArrowDeviceArray), "column", writable=False),
    "Arrow stream": Source(_calls(ArrowStream), "column", writable=False),
    "Arrow array of structs": Source(_calls(ArrowArray, field=True), "frame", writable=False),
    "Arrow device array of structs": Source(_calls(ArrowDeviceArray, field=True), "frame", writable=False),
    "Arrow stream of structs": Source(_calls(ArrowStream, field=True), "frame arrays", writable=False),
    "interchange column": Source(_held(Interchange), "column table", writable=False),
    "interchange frame": Source(_held(Interchange), "frame arrays minimal-arrays", writable=False),
    "pyarrow buffer": Source(_held(_arrow_buffer), BYTES, writable=False, library="pyarrow"),
    "pyarrow array": Source(_held(_arrow_array), "column table", writable=False, library="pyarrow"),
    "pandas Series": Source(_series, "column table", writable=False, library="pandas"),
    "pandas DataFrame": Source(_frame, "frame arrays minimal-arrays", writable=False, library="pandas"),
    "polars Series": Source(_of_arrow("polars", "Series"), "column table", writable=False, library="polars"),
    "nanoarrow array": Source(_of_arrow("nanoarrow", "c_array"), "column", writable=False, library="nanoarrow"),
    "arro3 array": Source(_of_arrow("arro3.core", "Array"), "column table", writable=False, library="arro3.core"),
    "arro3 batch": Source(
        _of_arrow("arro3.core", "RecordBatch", field=True), "frame", writable=False, library="arro3.core"
    ),
    "torch tensor": Source(_held(_torch), BYTES, library="torch"),
}
"""Name -> how it is made and read. "table" is a mapping with it, "frame" is itself a table with the column "x"."""
