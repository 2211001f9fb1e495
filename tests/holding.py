"""Who must hold whom: the plain model that a run of the library is compared with.

Lives here: pieces of owners' bytes, and the things that hold them. Must not know: how the library does it. Imported by
tests, as `from .holding import Handle, Piece`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .lifetimes import Life
from .ways import Export


class Piece(NamedTuple):
    """Some bytes of an owner, by its number, and the exports through which they are held."""

    owner: int
    low: int
    high: int
    loans: tuple[int, ...] = ()


Column = tuple[Piece, ...]
"""Its chunks, one after another."""


@dataclass(eq=False)
class Handle:
    """A thing that somebody has.

    Attributes
    ----------
    what : str
        How it was made.
    obj : object
        The thing.
    level : str
        "source", "minimal", "buffer", "column", "struct", "table"; "handed" of what is handed over, "taken" of what
        another library has.
    holds : tuple of Column
        What must live as long as this.
    content : bytes
        What it reads as.
    read : callable or None
        How.
    export : Export or None
        Of what kind it is, where it is handed over.
    made_of : str
        Of what is handed over: the level of what was exported.
    cuts : bool
        Whether a part of it is had by a slice.
    is_used : bool
        Whether a capsule was taken by somebody.
    """

    what: str
    obj: Any
    level: str
    holds: tuple[Column, ...]
    content: bytes
    read: Callable[[Any], bytes] | None = None
    export: Export | None = None
    made_of: str = ""
    cuts: bool = False
    is_used: bool = False

    @property
    def owners(self) -> set[int]:
        return {piece.owner for column in self.holds for piece in column}

    @property
    def loans(self) -> set[int]:
        return {loan for column in self.holds for piece in column for loan in piece.loans}

    @property
    def is_chunked(self) -> bool:
        return any(len(column) > 1 for column in self.holds)

    @property
    def size(self) -> int:
        return sum(piece.high - piece.low for piece in self.holds[0]) if self.holds else 0


def content(columns: Sequence[Column], lives: Sequence[Life]) -> bytes:
    """Return what columns read as, one after another."""
    return b"".join(lives[one.owner].content[one.low : one.high] for column in columns for one in column)


def cut(column: Column, low: int, high: int) -> Column:
    """Return the bytes of a column from `low` to `high`; chunks of which nothing is left are not held."""
    found, before = [], 0
    for piece in column:
        size = piece.high - piece.low
        first, last = max(low - before, 0), min(high - before, size)
        if first < last:
            found.append(piece._replace(low=piece.low + first, high=piece.low + last))
        before += size
    return tuple(found)


def lent(columns: Sequence[Column], numbers: Callable[[int], int]) -> tuple[Column, ...]:
    """Return columns whose pieces are held by an export more each; `numbers` makes one of an owner."""
    return tuple(
        tuple(piece._replace(loans=(*piece.loans, numbers(piece.owner))) for piece in column) for column in columns
    )
