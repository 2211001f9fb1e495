"""Subclasses of NumPy's arrays, whose attributes lie or raise: what memory they have is known to NumPy all the same.

Lives here: the producers. Each is read right, whatever it says.
"""

from typing import Any

import numpy as np

from buflend import maximal

from .case import Base, Protocol
from .exporters import NUMBERS, WIDE
from .ledger import Life, array_at
from .pointers import LARGE
from .tree import Made

# Members of ndarray -> what they say.
LIES: dict[str, tuple[Any, ...]] = {
    "nbytes": (2**40, -1, None),
    "size": (2**40, None),
    "itemsize": (1, 1000),
    "shape": ((2**40,), (), None),
    "strides": ((2**30,), (), None),
    "ndim": (2, 0, None),
    "dtype": (np.dtype("V100"), np.dtype(object), None),
    "flags": (None,),
    "ctypes": (None,),
    "base": (None,),
    "data": (None,),
    "T": (None,),
    "__array_interface__": (None, {}),
}
METHODS = (
    *(
        "__len__",
        "__getitem__",
        "__iter__",
        "__eq__",
        "__array__",
        "__array_ufunc__",
        "__array_function__",
        "__dlpack__",
    ),
    *("__dlpack_device__", "view", "astype", "tobytes", "reshape", "__array_wrap__", "__getattribute__", "__repr__"),
)
RAISED = ("RuntimeError", "AttributeError", "PanicError", "KeyboardInterrupt")


def liar(members: dict[str, Any], kind: type = np.ndarray) -> Made:
    """Return an array of three numbers, of a subclass; a member is a function of the book, or a value."""

    def make(_: Any, life: Life) -> Any:
        ledger = life.ledger
        found = {
            name: property(lambda _, value=value: value) if not callable(value) else value(ledger)
            for name, value in members.items()
        }
        return array_at(Life(ledger), WIDE).view("<i8").view(kind).view(type("Liar", (kind,), found))

    return Made({}, make)


def _raising(error: str, *, method: bool) -> Any:
    def of(ledger: Any) -> Any:
        def fail(*_: object, **__: object) -> Any:
            ledger.throw(error)

        return fail if method else property(fail)

    return of


def _finalizing(ledger: Any) -> Any:
    def fail(_: object, source: Any) -> None:
        if type(source).__name__ == "Liar":
            ledger.throw("RuntimeError")

    return fail


def _right(made: Made) -> Base:
    return Base(made, WIDE, NUMBERS)


def _masked(fields: Any, life: Life) -> Any:
    """Return a masked array whose mask is shorter than it is."""
    mask = property(lambda _: fields["mask"], lambda *_: None)
    kind = type("Masked", (np.ma.MaskedArray,), {"_mask": mask})
    return array_at(Life(life.ledger), WIDE).view("<i8").view(kind)


NDARRAYS = Protocol(
    {
        "an array": _right(Made({}, lambda _, life: array_at(Life(life.ledger), WIDE).view("<i8"))),
        "a subclass": _right(liar({})),
        "a record array": _right(liar({}, np.recarray)),
        **{f"{name} is {value!r}": _right(liar({name: value})) for name, values in LIES.items() for value in values},
        **{
            f"{name} raises {error}": _right(liar({name: _raising(error, method=name in METHODS)}))
            for name in (*LIES, *METHODS)
            for error in RAISED
            if name != "__getattribute__"
        },
        "finalizing raises": _right(liar({"__array_finalize__": _finalizing})),
        **{
            f"a mask of {len(mask)}": Base(Made({"mask": mask}, _masked), None, None)
            for mask in (np.zeros(0, bool), np.zeros(2, bool), np.ones(9, bool))
        },
    },
    {
        **{name: entry for name, entry in LARGE.items() if name.startswith("maximal")},
        "maximal.as_table": (maximal.as_table, "table"),
    },
)
