"""Owners whose end is seen, and the things by which they lend: one of each kind that the library reads.

Lives here: the owner and what is known of it, the sources, and how each is read. Must not know: what becomes of a
source. Imported by tests, as `from .lifetimes import SOURCES`.

An owner's memory is overwritten with 0xDD when the owner goes, seen by a weak reference, and stays there while
`mapped`: whoever reads too late reads 0xDD, and no other owner's bytes. Callbacks that release are counted one by one.
"""

import contextlib
import ctypes
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend.shared import arrow_export

from . import arrow_producer, capsules
from .arrow_producer import Lie, Log, Script
from .capsules import Lent

SIZE = 64  # bytes of every owner
CONTENT = bytes(range(3, 3 + SIZE))
POISON = bytes([0xDD]) * SIZE

_blocks: list[Any] = []


@contextlib.contextmanager
def mapped() -> Iterator[None]:
    """Keep what is poisoned meanwhile, and what producers keep for late callers; then give it back: nobody holds it."""
    growing: list[Any] = [_blocks, arrow_producer._kept, arrow_producer._records, capsules._lent]
    before = [len(each) for each in growing]
    yield
    for each, count in zip(growing, before, strict=True):
        for key in list(each)[count:] if isinstance(each, dict) else [slice(count, None)]:
            del each[key]


class Owner:
    """An object with 64 bytes, aligned to as many. It holds nothing else, and nothing holds it."""

    def __init__(self, content: bytes = CONTENT) -> None:
        memory = (ctypes.c_ubyte * (2 * SIZE))()
        _blocks.append(memory)
        start = ctypes.addressof(memory)
        self.ptr = start + -start % SIZE
        ctypes.memmove(self.ptr, content, SIZE)


class Life:
    """What is known of an owner, for longer than it lives.

    Attributes
    ----------
    ptr : int
        Address of its 64 bytes.
    content : bytes
        What is there.
    returned : int
        How often it went: 0 or 1.
    lent : list of Lent
        The DLPack capsules that its source made.
    log : Log
        What of the source's Arrow structs was released.
    made : dict of str to int
        How many structs it made: "schemas", "arrays", "streams".
    """

    def __init__(self, owner: object, ptr: int, content: bytes = CONTENT) -> None:
        self.ptr = ptr
        self.content = content
        self.returned = 0
        self.lent: list[Lent] = []
        self.log = Log()
        self.made = {"schemas": 0, "arrays": 0, "streams": 0}
        self._owner = weakref.ref(owner, self._gone)

    def _gone(self, _: object, poison: Any = ctypes.memset) -> None:
        poison(self.ptr, POISON[0], SIZE)
        self.returned += 1

    @property
    def is_alive(self) -> bool:
        """Whether the weak reference finds the owner."""
        return self._owner() is not None

    def fault(self, *, held: bool) -> str:
        """Return what is wrong where somebody holds the owner, or nobody does; nothing where all is well."""
        counts = [len(lent.deleted) for lent in self.lent]
        released = [*self.log.schemas, *self.log.arrays]
        if self.is_alive is not held:
            return "the owner is alive, and nobody holds it" if self.is_alive else "the owner is gone, and is held"
        if self.returned != (not held):
            return f"returned {self.returned} times"
        if max(counts, default=0) > 1 or any(name.startswith("?") for name in released):
            return f"released twice: deleters {counts}, structs {released}"
        if held and ctypes.string_at(self.ptr, SIZE) != self.content:
            return "the memory of a held owner has changed"
        if not held:
            log = {"schemas": len(self.log.schemas), "arrays": len(self.log.arrays), "streams": self.log.streams}
            if any(count != 1 for count in counts) or log != self.made:
                return f"not released: deleters {counts}, structs {log} of {self.made}"
        return ""


# What lends an owner's memory. Each holds the owner; so does what it makes, until that is released.


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


class ArrowDeviceArray(Arrow):
    def __arrow_c_device_array__(self, requested_schema: object = None, **_: object) -> tuple[object, object]:
        lie, log = self.described(arrays=1), self.life.log
        return arrow_producer.schema(lie, log), arrow_producer.device_array(lie, log)


class ArrowStream(Arrow):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        lie = self.described(arrays=1, streams=1)
        return arrow_producer.stream(Script(lie, [lie]), self.life.log)


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
    """

    make: Callable[..., tuple[Any, Life]]
    read: str
    writable: bool = True
    library: str = ""


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
    "Arrow array": Source(_calls(ArrowArray), "column table", writable=False),
    "Arrow device array": Source(_calls(ArrowDeviceArray), "column", writable=False),
    "Arrow stream": Source(_calls(ArrowStream), "column", writable=False),
    "Arrow array of structs": Source(_calls(ArrowArray, field=True), "frame", writable=False),
    "Arrow device array of structs": Source(_calls(ArrowDeviceArray, field=True), "frame", writable=False),
    "Arrow stream of structs": Source(_calls(ArrowStream, field=True), "frame", writable=False),
    "interchange column": Source(_held(Interchange), "column table", writable=False),
    "interchange frame": Source(_held(Interchange), "frame", writable=False),
    "pyarrow buffer": Source(_held(_arrow_buffer), BYTES, writable=False, library="pyarrow"),
    "pyarrow array": Source(_held(_arrow_array), "column table", writable=False, library="pyarrow"),
    "torch tensor": Source(_held(_torch), BYTES, library="torch"),
}
"""Name -> how it is made and read. "table" is a mapping with it, "frame" is itself a table with the column "x"."""


def flush() -> None:
    """Drop capsules that wait to be used again."""
    arrow_export.flush()
