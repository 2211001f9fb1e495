"""Producers as trees: what each answers when it tells the truth, and the places at which it can lie.

Lives here: the nodes, the names of their places, and the object that a tree and its faults become. Must not know: any
protocol, nor which faults there are.

A leaf is a plain value. Of which kind a number is decides which lies can be seen: that memory is shorter than was said
can be seen by nobody where a protocol does not tell its size.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .ledger import Life, array_at


class Block(bytes):
    """Bytes in memory that end at an unreadable page; the answer is their address."""


class Exporter(bytes):
    """The same, as an object that exports them by the buffer protocol."""


class Extent(int):
    """A number of elements that nothing can be held against: only too small, or too large for any memory, is seen."""


class Text(str):  # noqa: SLOT000 - it has a table
    """A text of a small language, of which a table knows other words; `words` is the table's name."""

    words = ""


def text(words: str, value: str) -> Text:
    """Return a text whose other words stand in a table."""
    found = Text(value)
    found.words = words
    return found


class Fixed(NamedTuple):
    """A value at which nobody lies."""

    value: Any


YES, NO = (Fixed(value) for value in (True, False))


class Same(NamedTuple):
    """What is given each time it is asked for, the same object."""

    value: Any


class Method(NamedTuple):
    """What a method returns."""

    answer: Any


class Lookup(NamedTuple):
    """What a method returns by its argument; KeyError for any other."""

    answers: dict[str, Any]


class Thing(NamedTuple):
    """An object: name -> what is found there; `base` is its class's base."""

    members: dict[str, Any]
    base: type = object


class Made(NamedTuple):
    """Fields that a function makes something of: `make(fields, life)`."""

    fields: dict[str, Any]
    make: Any


Faults = dict[str, tuple[str, Any]]
"""Place -> what is wrong there: the fault's name and the function that makes it."""


ASKED, ITEM, FIELD = "asked", "item", "field"
"""What a place is: a member, which may raise; an item of an answer; a field of a struct, of numbers and text."""


def places(node: Any, path: str = "", how: str = ITEM) -> Iterator[tuple[str, Any, str]]:
    """Yield the name of each place of a tree, what stands there, and what kind of place it is."""
    if isinstance(node, Same):
        node = node.value
    for where, inner, kind in _PARTS.get(type(node), _no_parts)(node, path, how):
        if not isinstance(inner, Fixed) and kind:
            yield where, inner, kind
        yield from places(inner, where, kind or how)


Parts = Iterator[tuple[str, Any, str]]


def _no_parts(*_: object) -> Parts:
    return iter(())


# Node -> what stands in it: its name, what it is, and which kind of place that is.
_PARTS: dict[type, Any] = {
    Method: lambda node, path, _: [(f"{path}()", node.answer, ITEM)],
    Lookup: lambda node, path, _: [(f"{path}({name!r})", one, ITEM) for name, one in node.answers.items()],
    Thing: lambda node, path, _: [(_member_of(path, name), one, ASKED) for name, one in node.members.items()],
    Made: lambda node, path, _: [(f"{path}<{name}>", one, FIELD) for name, one in node.fields.items()],
    dict: lambda node, path, how: [(f"{path}[{key!r}]", one, how) for key, one in node.items()],
    **dict.fromkeys(
        (tuple, list), lambda node, path, how: [(f"{path}[{number}]", one, how) for number, one in enumerate(node)]
    ),
}


def _member_of(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def realise(node: Any, faults: Faults, life: Life, path: str = "") -> Any:
    """Return what a tree is, faults included; blocks belong to `life`, or to that of the object they stand in."""
    if path in faults and faults[path][0].startswith("is "):
        return faults[path][1](node, life)
    make = _MAKERS.get(type(node))
    return node if make is None else make(node, faults, life, path)


def _method(node: Method, faults: Faults, life: Life, path: str) -> Any:
    def answer(*_: object, **__: object) -> Any:
        return realise(node.answer, faults, life, f"{path}()")

    return answer


def _lookup(node: Lookup, faults: Faults, life: Life, path: str) -> Any:
    return lambda name: realise(node.answers[name], faults, life, f"{path}({name!r})")


def _made(node: Made, faults: Faults, life: Life, path: str) -> Any:
    return node.make({name: realise(one, faults, life, f"{path}<{name}>") for name, one in node.fields.items()}, life)


def _same(node: Same, faults: Faults, life: Life, path: str) -> Any:
    return _once(life, path, lambda: realise(node.value, faults, life, path))


def _dict(node: dict[Any, Any], faults: Faults, life: Life, path: str) -> Any:
    return {key: realise(one, faults, life, f"{path}[{key!r}]") for key, one in node.items()}


def _sequence(node: Any, faults: Faults, life: Life, path: str) -> Any:
    return type(node)(realise(one, faults, life, f"{path}[{number}]") for number, one in enumerate(node))


def _once(life: Life, path: str, make: Any) -> Any:
    if path not in life.known:
        life.known[path] = make()
    return life.known[path]


def _thing(node: Thing, faults: Faults, life: Life, path: str) -> Any:
    members = {name: _member(name, faults, _member_of(path, name)) for name in node.members}
    kept = {name: member for name, member in members.items() if member is not None}
    slots = {"__slots__": ("_life", "_node")} if node.base is object else {}
    made: Any = type("Producer", (node.base,), slots | kept)()
    made._life, made._node = Life(life.ledger), node
    return made


_MAKERS: dict[type, Any] = {
    Fixed: lambda node, *_: node.value,
    Same: _same,
    Block: lambda node, _, life, path: _once(life, path, lambda: life.place(bytes(node))),
    Exporter: lambda node, _, life, path: _once(
        life, path, lambda: memoryview(array_at(Life(life.ledger), bytes(node)))
    ),
    Method: _method,
    Lookup: _lookup,
    Thing: _thing,
    Made: _made,
    dict: _dict,
    tuple: _sequence,
    list: _sequence,
    Extent: lambda node, *_: int(node),
    Text: lambda node, *_: str(node),
}


def _member(name: str, faults: Faults, path: str) -> Any:
    """Return the property that is asked for a member; None where it is missing."""
    what, make = faults.get(path, ("", None))
    if what == "is absent":
        return None

    def get(self: Any) -> Any:
        life = self._life
        ledger, node = life.ledger, self._node.members[name]
        if ledger.turned:
            return None
        if what.startswith("raises"):
            ledger.throw(make)
        if what == "turns":
            ledger.turned = True
        if what.startswith("then ") and path in life.known.setdefault("asked", set()):
            return make(node, life)
        life.known.setdefault("asked", set()).add(path)
        return realise(node, faults, life, path)

    return property(get)
