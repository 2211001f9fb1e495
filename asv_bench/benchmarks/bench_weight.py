"""What implementations weigh: time of the import, bytes of an object, bytes of others that one part keeps alive."""

import gc
import weakref
from typing import Any

from .common import Benchmark, function, impls, installed, way

OBJECTS = 50_000
COLUMNS, ROWS = 10, 1000


def resident() -> int:
    """Return the resident bytes that no file backs; a system that needs memory takes those of files away meanwhile."""
    import psutil

    found = psutil.Process().memory_info()
    return int(found.rss - getattr(found, "shared", 0))  # told apart on Linux only


class Import(Benchmark):
    """The import, in a fresh interpreter in which nothing else is loaded; the start of that is not measured."""

    version = "2"
    param_names = ("impl",)
    params = (impls("Import"),)

    number = 1
    repeat = 8
    warmup_time = 0

    def setup(self, impl: str) -> None:
        way("Import", impl)

    def timeraw_import(self, impl: str) -> str:
        return way("Import", impl)


class BytesPerObject(Benchmark):
    """How much the process grows by an object over memory of somebody else, with all that it alone refers to."""

    version = "1"
    param_names = ("impl",)
    params = (impls("BytesPerObject"),)
    unit = "bytes"

    make: Any

    def setup(self, impl: str) -> None:
        if not installed("psutil"):
            raise NotImplementedError("psutil is not installed")
        expression, found = self.ready(impl)
        self.make = function(expression, found, "i")
        self.make(1)

    def track_bytes(self, _impl: str) -> int:
        make, kept = self.make, [None] * OBJECTS
        before = resident()
        for i in range(OBJECTS):
            kept[i] = make(i)
        return (resident() - before) // OBJECTS


class Watched:
    """A table of text that tells how many of its bytes are alive; each buffer of it has an owner of its own."""

    def __init__(self) -> None:
        import numpy as np

        from buflend.maximal import Column, Table, as_buffer

        words = [b"word %d" % row for row in range(ROWS)]
        parts: dict[str, Any] = {
            "data": np.frombuffer(b"".join(words), np.uint8),
            "offsets": np.cumsum([0, *map(len, words)], dtype=np.int32),
            "validity": np.packbits(np.arange(ROWS) % 7 > 0, bitorder="little"),
        }
        self.owners: list[tuple[weakref.ref[Any], int]] = []

        def watched(part: str) -> Any:
            memory = parts[part].copy()
            self.owners.append((weakref.ref(memory), memory.nbytes))
            return as_buffer(memory)

        columns = {str(place): Column("u", ROWS, **{part: watched(part) for part in parts}) for place in range(COLUMNS)}
        self.table: Any = Table(columns)

    def alive(self) -> int:
        """Return the bytes whose owners live."""
        from buflend.shared import arrow_export

        arrow_export.flush()
        gc.collect()
        return sum(nbytes for owner, nbytes in self.owners if owner() is not None)


class _Held(Benchmark):
    """How much of a table stays alive, when all but a part of what an implementation made of it was dropped."""

    unit = "bytes"

    def bytes_held(self, impl: str) -> int:
        """Return the bytes of the table that are alive."""
        watched = Watched()
        expression, found = self.ready(impl, watched=watched.table)
        watched.table = None
        held = function(expression, found)()
        found.clear()
        alive = watched.alive()
        del held
        return alive


class HeldColumn(_Held):
    """One of ten columns of text is held."""

    version = "1"
    param_names = ("impl",)
    params = (impls("HeldColumn"),)

    def setup(self, impl: str) -> None:
        self.bytes_held(impl)

    def track_held(self, impl: str) -> int:
        return self.bytes_held(impl)


class HeldOffsets(_Held):
    """The offsets of one of ten columns of text are held."""

    version = "1"
    param_names = ("impl",)
    params = (impls("HeldOffsets"),)

    def setup(self, impl: str) -> None:
        self.bytes_held(impl)

    def track_held(self, impl: str) -> int:
        return self.bytes_held(impl)
