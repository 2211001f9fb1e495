"""Mappings of names to columns: whole, of mappings, of names that are none, and such that raise or never end.

Lives here: the producers.
"""

from collections import UserDict, defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from buflend import maximal

from .case import UNTOLD, Base, Protocol
from .frames import COLUMNS, LETTERS, packed
from .interfaces import INTERFACES
from .ledger import Life, array_at
from .structs import NUMBERS, pair
from .tree import Fixed, Made, Method, Thing


def array(content: bytes, dtype: str) -> Made:
    """Return an ndarray over a block."""
    return Made({}, lambda _, life: array_at(Life(life.ledger), content).view(dtype))


_WIDE = array(packed("q", 1, -2, 3), "<i8")
_BYTES = array(b"abc", "u1")
_TWO = {"n": [1, -2, 3], "b": [97, 98, 99]}


class _Own(Mapping[str, Any]):
    """A mapping that is no dict, and answers as it likes."""

    def __init__(self, held: dict[str, Any], keys: Any = None) -> None:
        self.held, self.names = held, keys

    def __getitem__(self, name: str) -> Any:
        return self.held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.held if self.names is None else self.names())

    def __len__(self) -> int:
        return len(self.held)


def of(kind: Any, **held: Any) -> Made:
    """Return what a class makes of a dict."""
    return Made({"held": dict(held)}, lambda fields, _: kind(fields["held"]))


def _throwing(error: str, method: str) -> Made:
    """Return a mapping of which a method raises."""

    def make(fields: dict[str, Any], life: Life) -> Any:
        ledger = life.ledger
        return type("Throwing", (_Own,), {method: lambda *_: ledger.throw(error)})(fields["held"])

    return Made({"held": {"n": _WIDE}}, make)


def _nested(levels: int) -> Any:
    """Return a mapping in so many mappings."""
    inner: Any = {"n": [1]}
    for _ in range(levels):
        inner = {"n": inner}
    return inner


def _turning(fields: dict[str, Any], life: Life) -> Any:
    """Return a dict that grows while it is walked through."""
    ledger = life.ledger
    ledger.kept.append(fields["held"])

    def grow(_: Any) -> Any:
        held = ledger.kept[-1]
        held[f"more {len(held)}"] = held["n"]
        raise AttributeError("__arrow_c_array__")

    first = type("Grows", (), {"__arrow_c_array__": property(grow)})()
    fields["held"] |= {"first": first}
    return fields["held"]


def _unnameable(fields: dict[str, Any], life: Life) -> Any:
    """Return a dict whose key cannot be shown."""
    ledger = life.ledger
    kind = type("Name", (), {"__repr__": lambda _: ledger.throw("RuntimeError")})
    return {kind(): fields["held"]["n"]}


_THROWN = [
    (error, method)
    for error in ("RuntimeError", "PanicError", "KeyError", "TypeError", "KeyboardInterrupt")
    for method in ("__getitem__", "__iter__", "__len__", "items", "keys")
]

MAPPINGS = Protocol(
    {
        "arrays": Base({"n": _WIDE, "b": _BYTES}, table=_TWO),
        "nothing": Base({}, table={}),
        "a mapping": Base(of(_Own, n=_WIDE, b=_BYTES), table=_TWO),
        "a view of a dict": Base(of(MappingProxyType, n=_WIDE, b=_BYTES), table=_TWO),
        "a user's dict": Base(of(UserDict, n=_WIDE, b=_BYTES), table=_TWO),
        "a default dict": Base(of(lambda held: defaultdict(list, held), n=_WIDE), table={"n": [1, -2, 3]}),
        "columns": Base({"n": COLUMNS["numbers"][0], "s": COLUMNS["categories"][0]}, table=UNTOLD),
        "of each protocol": Base(
            {
                "i": COLUMNS["numbers"][0],
                "a": Thing({"__arrow_c_array__": Method(pair(NUMBERS))}),
                "f": INTERFACES.bases["numbers by an exporter"].tree,
                "e": _WIDE,
            },
            table={name: [1, -2, 3] for name in "iafe"},
        ),
        "other lengths": Base({"n": _WIDE, "s": LETTERS}),
        "numbers as names": Base({1: _WIDE}),
        "None as a name": Base({None: _WIDE}),
        "mappings of mappings": Base({"n": {"n": _WIDE}}),
        "a name that raises": Base(Made({"held": {"n": _WIDE}}, _unnameable)),
        "deep": Base(Made({}, lambda *_: _nested(200))),
        "lists": Base({"n": Fixed([1, 2, 3])}),
        "grows": Base(Made({"held": {"n": _WIDE}}, _turning)),
        "names that never end": Base(
            Made({"held": {"n": _WIDE}}, lambda fields, _: _Own(fields["held"], lambda: iter(lambda: "n", None)))
        ),
        "names twice": Base(
            Made({"held": {"n": _WIDE}}, lambda fields, _: _Own(fields["held"], lambda: ["n", "n"])), table=UNTOLD
        ),
        "names that are not there": Base(
            Made({"held": {"n": _WIDE}}, lambda fields, _: _Own(fields["held"], lambda: ["x"]))
        ),
        **{f"{method} raises {error}": Base(_throwing(error, method), table=UNTOLD) for error, method in _THROWN},
    },
    {"maximal.as_table": (maximal.as_table, "table"), "maximal.as_column": (maximal.as_column, "column")},
)
