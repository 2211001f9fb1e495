"""What can be wrong at a place: literal tables, by what stands there.

Lives here: values that nobody expects, numbers near borders, words of small languages, objects whose dunders raise,
change their answer or never end. Must not know: any producer, nor what is right.

No table has a number that could be true: that a block is longer than it is can be told by no consumer where a protocol
does not say its size.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from buflend import maximal

from .ledger import ERRORS, Life
from .tree import ASKED, FIELD, Block, Extent, Method, realise

Make = Callable[[Any, Life], Any]
"""From what stands at the place when it is true, and the life of its owner, to what is answered."""

# What is no answer to anything. (A true integer is none here: it may be an address.)
WRONG: dict[str, Any] = {
    "None": None,
    "text": "text",
    "bytes": b"bytes",
    "1.5": 1.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "-1": -1,
    "-2**63": -(2**63),
    "2**64": 2**64,
    "10**5000": 10**5000,
    "a complex number": 1j,
    "[]": [],
    "()": (),
    "{}": {},
    "five things": (1, 2, 3, 4, 5),
    "nests": [[[[[]]]]],
    "an object": object(),
    "a class": dict,
    "...": ...,
    "an array": np.arange(3),
    "a date": np.datetime64("2024-01-01"),
    "a function": len,
    "a set": frozenset({1, "a"}),
}

# Where a number can be held against another one.
COUNTS: dict[str, Any] = {
    "0": 0,
    "1": 1,
    "2": 2,
    "3": 3,
    "4": 4,
    "7": 7,
    "8": 8,
    "9": 9,
    "16": 16,
    "64": 64,
    "255": 255,
    "2**15": 2**15,
    "2**31-1": 2**31 - 1,
    "2**31": 2**31,
    "2**32": 2**32,
    "2**53+1": 2**53 + 1,
    "2**61": 2**61,
    "2**62": 2**62,
    "2**63-1": 2**63 - 1,
    "2**63": 2**63,
    "2**64-1": 2**64 - 1,
    "True": True,
    "int8 of NumPy": np.int8(3),
}

# Where it cannot: no memory is so large.
EXTENTS: dict[str, Any] = {"0": 0, "2**63-1": 2**63 - 1, "2**63": 2**63}

WORDS: dict[str, tuple[str, ...]] = {
    "": (),
    "order": ("<", ">", "|", "!", "@", "=="),
    "format": (
        *("c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "b", "u", "U", "z", "vu", "n", "w:3", "d:5,2"),
        *(
            "tdD",
            "tdm",
            "tts",
            "ttn",
            "tss:",
            "tsu:UTC",
            "tsn:",
            "tDs",
            "+s",
            "+l",
            "+w:2",
            "+us:0",
            "+r",
            "tsu",
            "ts",
            "x",
        ),
    ),
    "typestr": (
        *("|u1", "<i2", "<i4", "<i8", ">i8", "<f4", "<f8", "<c16", "|b1", "|S3", "<U2", "|V4", "|O8", "<M8[ns]"),
        *(
            "<m8[us]",
            "|t1",
            "|u0",
            "<i-8",
            "<i3",
            "<f99",
            "i8",
            "<",
            "",
            "<i8[",
            "<M8[xx]",
            "<i" + "9" * 5000,
            "|S" + "9" * 18,
        ),
        *("<i 8", "<i+8", "<i0_8", "<i\N{ARABIC-INDIC DIGIT EIGHT}", "\N{LATIN SMALL LETTER E WITH ACUTE}i8"),
    ),
    "arrow": (
        *(
            "c",
            "C",
            "l",
            "i",
            "b",
            "u",
            "U",
            "tsu:UTC",
            "w:3",
            "w:0",
            "n",
            "+s",
            "+l",
            "+vl",
            "+w:2",
            "+w:0",
            "+us:0,1",
        ),
        *(
            "+ud:0,1",
            "+us:",
            "+r",
            "vu",
            "vz",
            "w:-1",
            "d:5",
            "+us:0,0",
            "+us:200",
            "+w:",
            "tsu",
            "tsz:",
            "x",
            "l ",
            "+",
        ),
    ),
    "cast": (*"cbB?hHiIlLqQnNfdP", "@i", "<i"),
    "nulls": (
        *("array.buffers", "array.children", "array.dictionary", "array.release", "schema.format", "schema.children"),
        *("schema.dictionary", "schema.release", "buffer 0", "buffer 1", "buffer 2", "buffer 3"),
    ),
    "name": ("\0", "\ud800", "\N{LATIN SMALL LETTER E WITH ACUTE}", "x" * 5000, "'"),
}

STRINGS = ("", "a\0b", "\ud800", "x" * 5000)


class Index:
    """An integer that is none: each time it is asked it gives the next answer."""

    def __init__(self, life: Life, *answers: Any) -> None:
        self.life, self.answers = life.ledger, list(answers)

    def __index__(self) -> int:
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, str):
            self.life.throw(found)
        return int(found)


def _fail(name: str) -> Callable[..., Any]:
    def fail(self: Any, *_: object) -> Any:
        self.ledger.throw(name)

    return fail


_DUNDERS = (
    *("__index__", "__int__", "__float__", "__iter__", "__len__", "__getitem__", "__hash__", "__bool__", "__eq__"),
    *("__repr__", "__str__", "__call__", "__getattr__", "__contains__", "__lt__", "__buffer__", "__array__"),
    *("__le__", "__gt__", "__ge__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__neg__"),
)


def _bad(name: str, base: type = object) -> Make:
    """Return what makes an object, of which every dunder raises an error of a name."""

    def make(node: Any, life: Life) -> Any:
        names = dict.fromkeys(_DUNDERS, _fail(name))
        if base is not object:
            names = {key: value for key, value in names.items() if key != "__getattr__"}
        made: Any = type("Bad", (base,), {**names, "ledger": life.ledger})
        return made(_plain(node)) if base is not object else made()

    return make


def _plain(node: Any) -> Any:
    """Return a leaf as a builtin value."""
    return str(node) if isinstance(node, str) else int(node)


def _of_class(answer: Any) -> Make:
    """Return what makes an object that says it is of another class, or raises when it is asked."""

    def make(_: Any, life: Life) -> Any:
        say = (lambda _: life_of.throw(answer)) if isinstance(answer, str) else lambda _: answer
        life_of = life.ledger
        return type("Liar", (), {"__class__": property(say)})()

    return make


_CLASSES = (maximal.Buffer, maximal.Column, maximal.Table, np.ndarray, dict, tuple, str, int, memoryview)


def _lying(value: int) -> Make:
    """Return what makes an integer that is smaller and larger than all others, and adds nothing, whatever it is."""

    def make(*_: object) -> Any:
        yes = dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__bool__"), lambda *_: True)
        nothing = dict.fromkeys(("__add__", "__radd__", "__mul__", "__rmul__"), lambda _, other: int(other))
        return type("Lying", (int,), {**yes, **nothing, "__hash__": int.__hash__})(value)

    return make


def _itself(*_: object) -> Any:
    found: list[Any] = []
    found.append(found)
    return found


def _endless(*_: object) -> Iterator[int]:
    return itertools.repeat(1)


def _breaks_off(error: str) -> Make:
    def make(_: Any, life: Life) -> Iterator[int]:
        yield 1
        life.ledger.throw(error)

    return make


def _proxy(node: Any, life: Life) -> Any:
    target = realise(node, {}, life)
    try:
        proxy = weakref.proxy(target)
    except TypeError:
        return None
    life.ledger.kept.append(target)
    return proxy


def _constant(value: Any) -> Make:
    return lambda *_: value


_ANYWHERE: dict[str, Make] = {
    **{f"is {name}": _constant(value) for name, value in WRONG.items()},
    **{f"is what raises {name}": _bad(name) for name in ERRORS},
    **{
        f"is what breaks off by {name}": _breaks_off(name)
        for name in ("RuntimeError", "PanicError", "KeyboardInterrupt")
    },
    "is endless": _endless,
    "is itself, nested": _itself,
    **{f"is a liar that it is a {kind.__name__}": _of_class(kind) for kind in _CLASSES},
    **{f"is what raises {name} of its class": _of_class(name) for name in ("RuntimeError", "PanicError", "SystemExit")},
    "is a weak proxy": _proxy,
}


def _number(node: int) -> dict[str, Make]:
    table = EXTENTS if isinstance(node, Extent) else COUNTS
    less = {"one less": node - 1} if node else {}
    return {
        **{f"is {name}": _constant(value) for name, value in {**table, **less}.items()},
        "is NumPy's": lambda node, _: np.int64(node) if -(2**63) <= node < 2**63 else int(node),
        "is an index": lambda node, life: Index(life, int(node)),
        "is an index that grows": lambda node, life: Index(life, int(node), 2**40),
        **{
            f"is an integer that raises {name}": _bad(name, int)
            for name in ("RuntimeError", "PanicError", "SystemExit")
        },
        **({} if isinstance(node, Extent) else {"is 2**40, and equal to all": _lying(2**40)}),
        "is itself, and equal to all": lambda node, _: _lying(int(node))(),
        "is an index that raises then": lambda node, life: Index(life, int(node), "RuntimeError"),
    }


def _word(node: str) -> dict[str, Make]:
    words = (*WORDS[getattr(node, "words", "")], *STRINGS)
    found = {f"is {word[:20]!r}": _constant(word) for word in words}
    return found | {
        f"is text that raises {name}": _bad(name, str) for name in ("RuntimeError", "PanicError", "SystemExit")
    }


def _container(node: Any) -> dict[str, Make]:
    if isinstance(node, dict):
        return {
            f"is a dict that raises {name}": (
                lambda node, life, name=name: type(
                    "BadDict",
                    (dict,),
                    {
                        "ledger": life.ledger,
                        **dict.fromkeys(
                            ("get", "__getitem__", "keys", "items", "__iter__", "__contains__"), _fail(name)
                        ),
                    },
                )(realise(node, {}, life))
            )
            for name in ERRORS
        }
    return {
        "is a list": lambda node, life: list(realise(node, {}, life)),
        "is a generator": lambda node, life: iter(realise(node, {}, life)),
        "is longer": lambda node, life: (*realise(node, {}, life), 1),
        "is shorter": lambda node, life: tuple(realise(node, {}, life))[:-1],
    }


def faults_of(node: Any, how: str) -> dict[str, Make]:
    """Return what can be wrong where a node stands: name -> how it is made."""
    if how == FIELD:
        return _of_field(node)
    found = dict(_ANYWHERE)
    if node is None:
        found |= {f"is {name}": _constant(value) for name, value in COUNTS.items()}
    elif isinstance(node, int) and not isinstance(node, bool):
        found |= _number(node)
    elif isinstance(node, str):
        found |= _word(node)
    elif isinstance(node, Block):
        found["is 0"] = _constant(0)
    elif isinstance(node, Method):
        found |= {f"is a method: {name[3:]}": _returning(make) for name, make in _ANYWHERE.items()}
        found |= {f"is a method that raises {name}": _raising(name) for name in ERRORS}
    elif isinstance(node, dict) or type(node) in (tuple, list):
        found |= _container(node)
    if how == ASKED:
        found |= {f"then {name[3:]}": make for name, make in found.items() if name.startswith("is ")}
        found |= {f"raises {name}": name for name in ERRORS}  # type: ignore[misc]
        found |= dict.fromkeys(("turns", "is absent"), _constant(None))
    return found


def _of_field(node: Any) -> dict[str, Make]:
    if isinstance(node, str):
        return {f"is {word[:20]!r}": _constant(word) for word in WORDS[getattr(node, "words", "")]}
    if isinstance(node, bool):
        return {f"is {not node}": _constant(not node)}
    if node is not None and not isinstance(node, int):
        return {}
    table = EXTENTS if isinstance(node, Extent) else COUNTS
    table = {**table, **{name: WRONG[name] for name in ("-1", "-2**63", "2**64")}}
    return {f"is {name}": _constant(value) for name, value in table.items()}


def _returning(make: Make) -> Make:
    return lambda node, life: lambda *_, **__: make(node.answer, life)


def _raising(name: str) -> Make:
    return lambda _, life: lambda *_, **__: life.ledger.throw(name)
