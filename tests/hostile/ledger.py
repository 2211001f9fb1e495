"""What one hostile producer lent, raised and lost: the book that the oracle reads.

Lives here: blocks that end at an unreadable page and become unreadable when their owner dies, the lives of owners, and
what was raised on purpose. Must not know: what a producer is made of, nor what is right.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..guard import PAGE, _libc, placed


class PanicError(BaseException):
    """What a library in Rust raises: no `Exception`, and nothing that a person has asked for."""


# Name -> what a dunder raises.
ERRORS: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (
        RuntimeError,
        AttributeError,
        TypeError,
        KeyError,
        ValueError,
        StopIteration,
        OverflowError,
        RecursionError,
        MemoryError,
        BufferError,
        PanicError,
        KeyboardInterrupt,
        SystemExit,
        GeneratorExit,
    )
}
Check = Callable[[], str]
EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)  # a person's, and the interpreter's: they go through


def shut(address: int, size: int) -> None:
    """Make a block unreadable that `placed` made."""
    start = address // PAGE * PAGE
    if size:
        _libc.mprotect(start, -(-(address + size - start) // PAGE) * PAGE, 0)


class Life:
    """That of one owner: its blocks can be read as long as it lasts."""

    def __init__(self, ledger: "Ledger") -> None:
        self.ledger = ledger
        self.blocks: list[tuple[int, int]] = []
        self.known: dict[str, Any] = {}
        ledger.alive += 1

    def place(self, content: bytes) -> int:
        """Return the address of bytes that end at an unreadable page."""
        address = placed(content)
        self.blocks.append((address, len(content)))
        self.ledger.blocks.append((address, content))
        return address

    def __del__(self) -> None:
        self.ledger.alive -= 1
        for address, size in self.blocks:
            shut(address, size)


class Ledger:
    """The book of one producer.

    Attributes
    ----------
    alive : int
        Owners that were made and are not gone.
    blocks : list of (int, bytes)
        Address and content of every block that was ever lent.
    raised : list of BaseException
        What was raised on purpose, in order.
    turned : bool
        Whether the producer has changed itself: from then on every answer of it is None.
    kept : list
        What lives as long as the producer for no other reason.
    checks : list of callable
        Each returns what was not given back as it must be, or nothing; asked when all is dropped.
    """

    def __init__(self) -> None:
        self.alive = 0
        self.blocks: list[tuple[int, bytes]] = []
        self.raised: list[BaseException] = []
        self.turned = False
        self.kept: list[Any] = []
        self.checks: list[Check] = []

    def forget(self) -> None:
        """Let go of what the book itself holds: errors, whose tracebacks hold all, and what weak proxies stand for."""
        self.raised.clear()
        self.kept.clear()

    def throw(self, name: str) -> NoReturn:
        """Raise an error of a name, and write it down."""
        error = ERRORS[name](f"{name} on purpose")
        self.raised.append(error)
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def holds(self, ptr: int, size: int) -> bool:
        """Tell whether a range lies in a block, so that it can be read, as long as its owner lives."""
        return not size or any(address <= ptr and ptr + size <= address + len(held) for address, held in self.blocks)

    def content(self, ptr: int, size: int) -> bytes:
        """Return what was put at an address."""
        if not size:
            return b""
        return next(held[ptr - at : ptr - at + size] for at, held in self.blocks if at <= ptr < at + len(held))


def array_at(life: Life, content: bytes) -> Any:
    """Return an array of bytes over a block, which holds the life of it."""
    address = life.place(content)
    found: Any = (ctypes.c_ubyte * len(content)).from_address(address)
    found.life = life
    return np.frombuffer(found, "u1")
