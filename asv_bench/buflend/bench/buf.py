"""A buffer of the dataframe interchange protocol that does what a test tells it to, lies included.

Nothing is checked: what a case announces is what a consumer is told. A consumer that misreads must be *seen* to
misread: a buffer can overwrite its memory when it dies, pages can forbid to be written or end where the buffer ends,
and every object writes down what it was asked for.
"""

import mmap
import os
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from buflend.shared.interchange import DtypeKind, NullKind

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


def read_only(memory: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return a copy on a page that may not be written: a write ends the process by a signal."""
    with tempfile.TemporaryFile() as file:
        file.write(memory.tobytes())
        file.flush()
        return np.frombuffer(mmap.mmap(file.fileno(), memory.nbytes, access=mmap.ACCESS_READ), np.uint8)


def guarded(memory: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return a copy that ends where the mapped pages end: reading one byte more ends the process by a signal.

    The page behind belongs to a file that was cut off before it. Windows cannot cut a mapped file: there it is a plain
    copy.
    """
    size = memory.nbytes
    if os.name == "nt":
        return np.frombuffer(bytearray(memory.tobytes()), np.uint8)
    end = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    with tempfile.TemporaryFile() as file:
        file.truncate(end + mmap.PAGESIZE)
        pages = np.frombuffer(mmap.mmap(file.fileno(), end + mmap.PAGESIZE), np.uint8)
        file.truncate(end)
    inner = pages[end - size : end]
    inner[...] = np.frombuffer(memory.tobytes(), np.uint8)
    return inner


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
