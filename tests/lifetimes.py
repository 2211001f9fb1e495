"""Owners whose end is seen.

Lives here: the owner, and what is known of it for longer than it lives. Must not know: how it lends. Imported by tests,
as `from .lifetimes import Life, Owner`.

An owner's memory is overwritten with 0xDD when the owner goes, seen by a weak reference, and stays there while
`mapped`: whoever reads too late reads 0xDD, and no other owner's bytes. Callbacks that release are counted one by one.
"""

import contextlib
import ctypes
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from buflend.shared import arrow_export

from . import arrow_producer, capsules
from .arrow_producer import Log

if TYPE_CHECKING:
    from .capsules import Lent

SIZE = 64  # bytes of an owner where nothing else is said
CONTENT = bytes(range(3, 3 + SIZE))
POISON = 0xDD
ALIGNED = 64

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
    """An object with some bytes, aligned to 64. It holds nothing else, and nothing holds it."""

    def __init__(self, content: bytes = CONTENT) -> None:
        memory = (ctypes.c_ubyte * (len(content) + ALIGNED))()
        _blocks.append(memory)
        start = ctypes.addressof(memory)
        self.ptr = start + -start % ALIGNED
        ctypes.memmove(self.ptr, content, len(content))


class Life:
    """What is known of an owner, for longer than it lives.

    Attributes
    ----------
    ptr : int
        Address of its bytes.
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
        poison(self.ptr, POISON, len(self.content))
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
        if held and ctypes.string_at(self.ptr, len(self.content)) != self.content:
            return "the memory of a held owner has changed"
        if not held:
            log = {"schemas": len(self.log.schemas), "arrays": len(self.log.arrays), "streams": self.log.streams}
            if any(count != 1 for count in counts) or log != self.made:
                return f"not released: deleters {counts}, structs {log} of {self.made}"
        return ""


def flush() -> None:
    """Drop capsules that wait to be used again."""
    arrow_export.flush()
