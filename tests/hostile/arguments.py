"""The arguments of `Buffer`, `as_ndarray` and `Column` themselves: a person's, who may pass anything.

Lives here: calls whose arguments are right, at places that can be wrong. Of these plain TypeError and ValueError are
documented, whoever raises them, and what an argument itself raises goes through.
"""

from typing import Any

from buflend import maximal, minimal

from .case import UNTOLD, Base, Protocol
from .ledger import Life, array_at
from .pointers import CONTENT
from .tree import Block, Exporter, Extent, Fixed, Made, text

LONG = bytes(range(32))


def _called(package: Any, name: str) -> Any:
    """Return what calls a function of a package with the arguments that are given for it."""

    def entry(given: dict[str, Any]) -> Any:
        if given["call"] != name:
            raise TypeError("arguments of another function")
        options = dict(given)
        first = [options.pop(number) for number in (0, 1)]
        del options["call"]
        return getattr(package, name)(*first, **options)

    return entry


def _buffer(content: bytes) -> Made:
    def make(_: Any, life: Life) -> Any:
        return maximal.as_buffer(array_at(Life(life.ledger), content))

    return Made({}, make)


def _two(first: Any, second: Any) -> dict[Any, Any]:
    """Return the arguments that are passed by position."""
    return {0: first, 1: second}


ARGUMENTS = Protocol(
    {
        "a buffer": Base(
            {
                "call": Fixed("Buffer"),
                **_two(Block(CONTENT), Extent(24)),
                "owner": "owner",
                "device": (1, Fixed(0)),
                "readonly": False,
            },
            UNTOLD,
        ),
        "a buffer of a device": Base(
            {"call": Fixed("Buffer"), **_two(Fixed(4096), 64), "owner": "owner", "device": (2, 0)}, UNTOLD
        ),
        "an array": Base(
            {
                "call": Fixed("as_ndarray"),
                **_two(Exporter(LONG), text("typestr", "<i2")),
                "shape": (3, 2),
                "strides": (8, 2),
                "offset": 4,
            },
            UNTOLD,
        ),
        "an array of all": Base({"call": Fixed("as_ndarray"), **_two(Exporter(LONG), text("typestr", "<i8"))}, UNTOLD),
        "an array backwards": Base(
            {
                "call": Fixed("as_ndarray"),
                **_two(Exporter(LONG), Fixed("<i2")),
                "shape": 4,
                "strides": (-4,),
                "offset": 30,
            },
            UNTOLD,
        ),
        "a column": Base(
            {
                "call": Fixed("Column"),
                **_two(text("arrow", "l"), 3),
                "data": _buffer(LONG),
                "validity": _buffer(b"\5"),
                "null": (3, 0),
                "null_count": None,
                "offset": 0,
                "byte_offset": 8,
                "strides": (8,),
                "validity_offset": None,
                "name": text("name", "n"),
            },
            column=UNTOLD,
        ),
        "a column of text": Base(
            {
                "call": Fixed("Column"),
                **_two((21, 8, text("arrow", "u"), text("order", "=")), 2),
                "data": _buffer(b"abc"),
                "offsets": _buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"),
                "offset": 0,
                "metadata": {"a": "b"},
            },
            column=UNTOLD,
        ),
    },
    {
        "minimal.Buffer": (_called(minimal, "Buffer"), "buffer"),
        "maximal.Buffer": (_called(maximal, "Buffer"), "buffer"),
        "minimal.as_ndarray": (_called(minimal, "as_ndarray"), "buffer"),
        "maximal.as_ndarray": (_called(maximal, "as_ndarray"), "buffer"),
        "maximal.Column": (_called(maximal, "Column"), "column"),
    },
)
