"""What a protocol is to a hunt, and what one input of it is.

Lives here: the records, and the strategy that draws inputs. Must not know: any protocol, nor what is right.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from .faults import faults_of
from .ledger import Ledger, Life
from .tree import Faults, places, realise

MOST_FAULTS = 3
UNTOLD: Any = ...
"""Stands for what is read or refused, as the machine has it; and for memory that is believed in."""


class Base(NamedTuple):
    """A producer that tells the truth, and what it is read as; None where it is no such thing and is refused.

    `strict` is what is read where no copy is allowed, `minimal` by readers that know few protocols.
    """

    tree: Any
    buffer: bytes | None = None
    column: list[Any] | None = None
    table: dict[str, list[Any]] | None = None
    strict: Any = UNTOLD
    minimal: Any = UNTOLD


class Protocol(NamedTuple):
    """A protocol: producers by name, and what may read them: name -> the function, and the field of `Base`."""

    bases: dict[str, Base]
    entries: dict[str, tuple[Callable[[Any], Any], str]]


class Input(NamedTuple):
    """One producer: which, what is wrong with it (place, fault), and whether it is asked twice."""

    protocol: str
    base: str
    faults: tuple[tuple[str, str], ...] = ()
    twice: bool = False


@cache
def table_of(protocol: str, base: str) -> dict[str, dict[str, Any]]:
    """Return, by place, what can be wrong there: name -> how it is made."""
    from .protocols import PROTOCOLS

    tree = PROTOCOLS[protocol].bases[base].tree
    found = {path: faults_of(node, how) for path, node, how in places(tree)}
    return {path: faults for path, faults in found.items() if faults}


def prepare(protocol: str) -> None:
    """Make the tables of a protocol, which are made once."""
    from .protocols import PROTOCOLS

    for base in PROTOCOLS[protocol].bases:
        table_of(protocol, base)


def faults_in(given: Input) -> Faults:
    """Return the faults of an input, by place."""
    table = table_of(given.protocol, given.base)
    return {path: (name, table[path][name]) for path, name in given.faults}


def build(given: Input, ledger: Ledger) -> Any:
    """Return the producer of an input."""
    from .protocols import PROTOCOLS

    life = Life(ledger)
    ledger.kept.append(life)
    return realise(PROTOCOLS[given.protocol].bases[given.base].tree, faults_in(given), life)


@st.composite
def inputs(draw: st.DrawFn, protocol: str) -> Input:
    """Draw an input of a protocol."""
    from .protocols import PROTOCOLS

    base = draw(st.sampled_from(list(PROTOCOLS[protocol].bases)))
    table = table_of(protocol, base)
    chosen: dict[str, str] = {}
    for _ in range(draw(st.integers(0, MOST_FAULTS)) if table else 0):
        path = draw(st.sampled_from(list(table)))
        chosen[path] = draw(st.sampled_from(list(table[path])))
    return Input(protocol, base, tuple(chosen.items()), draw(st.booleans()))
