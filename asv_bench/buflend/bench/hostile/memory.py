"""Hostile descriptions of memory: NumPy's array interface, and plain pointers.

Lives here: their tables. Must not know: any library. Source: NumPy, "The array interface protocol".

By an address the interface says no size; by an exporter it does, and there one element too many is a lie.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import abi
from .exporters import CONTENT, NUMBERS, exporter
from .inputs import (
    INTERFACE,
    POINTER,
    Input,
    PanicError,
    always,
    members,
    raises,
    then,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = len(CONTENT)


# Array interface.

BY_ADDRESS: dict[str, dict[str, Any]] = {
    "no memory, three elements": {"data": (0, False)},
    "an address of -8": {"data": (-8, False)},
    "an address of 2**64": {"data": (2**64, False)},
    "an address that is a float": {"data": (1.5, False)},
    "an address that is text": {"data": ("0x7f00", False)},
    "an address without its flag": {"data": (1,)},
    "no address and no exporter": {"data": None},
    "a negative extent": {"shape": (-3,)},
    "2**62 elements": {"shape": (2**62,)},
    "extents whose product is 0 in 64 bits": {"shape": (2**32, 2**32)},
    "an extent of 2**64": {"shape": (2**64,)},
    "an extent that is a float": {"shape": (1.5,)},
    "a shape that is text": {"shape": "3"},
    "no shape": {"shape": None},
    "strides beyond all addresses": {"strides": (2**62,)},
    "strides of another rank": {"strides": (8, 8)},
    "strides that are text": {"strides": ("8",)},
    "Python objects": {"typestr": "|O8"},
    "a width of 3": {"typestr": "<i3"},
    "a width of -8": {"typestr": "<i-8"},
    "a width of 30 digits": {"typestr": "<i" + "9" * 30},
    "a width of 2**62": {"typestr": f"|S{2**62}"},
    "a type that is empty": {"typestr": ""},
    "a type that is no ASCII": {"typestr": "<\N{LATIN SMALL LETTER E WITH ACUTE}8"},
    "a type that is a number": {"typestr": 8},
    "fields that are objects": {"typestr": "|V8", "descr": [("a", "|O8")]},
    "fields wider than the type": {"typestr": "|V8", "descr": [("a", "<i8"), ("b", "<i8")]},
}

BY_EXPORTER: dict[str, dict[str, Any]] = {
    "one element too many": {"shape": (4,)},
    "one element too many, behind an offset": {"offset": 8},
    "an offset of -8": {"offset": -8},
    "an offset of 2**63": {"offset": 2**63},
    "strides that leave the memory": {"strides": (16,)},
    "strides backwards out of the memory": {"strides": (-8,)},
    "wide elements": {"typestr": "|S16"},
}

PASSABLE: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "no memory, no elements": ({"data": (0, False), "shape": (0,)}, []),
    "an unknown version": ({"version": 99}, NUMBERS),
    "an unknown key": ({"more": object()}, NUMBERS),
}

NO_DICT: dict[str, Callable[[], Any]] = {
    "is None": always(None),
    "is an integer": always(3),
    "is an empty dict": dict,
    "raises RuntimeError": raises(RuntimeError),
    "raises a BaseException": raises(PanicError),
}


def _described(**more: Any) -> dict[str, Any]:
    return {"version": 3, "shape": (3,), "typestr": "<i8", "data": (abi.place(CONTENT), False), **more}


def _interface(**more: Any) -> Any:
    return members(__array_interface__=always(_described(**more)))


def _by_exporter(**more: Any) -> Any:
    return members(__array_interface__=always(_described(**{"data": exporter(), **more})))


def interfaces() -> Iterator[Input]:
    """Yield the table of the array interface."""
    yield Input(INTERFACE, "sound, by an address", _interface, (NUMBERS,), sound=True)
    yield Input(INTERFACE, "sound, by an exporter", _by_exporter, (NUMBERS,), sound=True)
    for fault, fields in BY_ADDRESS.items():
        yield Input(INTERFACE, fault, partial(_interface, **fields))
    for fault, fields in BY_EXPORTER.items():
        yield Input(INTERFACE, f"by an exporter, {fault}", partial(_by_exporter, **fields))
    for fault, (fields, values) in PASSABLE.items():
        yield Input(INTERFACE, fault, partial(_interface, **fields), (values,))
    for fault, answer in NO_DICT.items():
        yield Input(INTERFACE, f"it {fault}", partial(members, __array_interface__=answer))
    yield Input(INTERFACE, "one element more when it is asked again", _growing, (NUMBERS,))


def _growing() -> Any:
    held = exporter()
    return members(
        __array_interface__=then(
            lambda: _described(data=held), lambda: _described(data=held, shape=(4,)), lambda: _described(data=held)
        )
    )


# Address, size and device.

TOP = 2**64

POINTERS: dict[str, dict[str, Callable[[], Any]]] = {
    "no memory, 24 bytes": {"ptr": always(0)},
    "an address of -8": {"ptr": always(-8)},
    "an address of 2**64": {"ptr": always(TOP)},
    "an address that is a float": {"ptr": always(1.5)},
    "an address that is text": {"ptr": always("0x7f00")},
    "an address that is None": {"ptr": always(None)},
    "an address that raises RuntimeError": {"ptr": raises(RuntimeError)},
    "an address that raises a BaseException": {"ptr": raises(PanicError)},
    "a size of -1": {"bufsize": always(-1)},
    "a size of 2**63": {"bufsize": always(2**63)},
    "a size of 10**5000": {"bufsize": always(10**5000)},
    "a size that is a float": {"bufsize": always(24.0)},
    "a size that is text": {"bufsize": always("24")},
    "a size that raises RuntimeError": {"bufsize": raises(RuntimeError)},
    "an end beyond all addresses": {"ptr": always(TOP - 16)},
    "its device is None": {"__dlpack_device__": always(None)},
    "its device is a pair": {"__dlpack_device__": always((1, 0))},
    "its device is half a pair": {"__dlpack_device__": always(always((1,)))},
    "its device is text": {"__dlpack_device__": always(always(("cpu", 0)))},
    "its device is 2**70": {"__dlpack_device__": always(always((2**70, 0)))},
    "its device is 99": {"__dlpack_device__": always(always((99, 0))), "ptr": always(0xDEAD0000)},
    "its device is another": {"__dlpack_device__": always(always((2, 0))), "ptr": always(0xDEAD0000)},
    "its device raises RuntimeError": {"__dlpack_device__": always(raises(RuntimeError))},
    "its device raises a BaseException": {"__dlpack_device__": always(raises(PanicError))},
}


def _pointer(**more: Callable[[], Any]) -> Any:
    true = {"ptr": always(abi.place(CONTENT)), "bufsize": always(SIZE), "__dlpack_device__": always(always((1, 0)))}
    return members(**{**true, **more})


def pointers() -> Iterator[Input]:
    """Yield the table of plain pointers."""
    yield Input(POINTER, "sound", _pointer, raw=CONTENT, sound=True)
    for fault, fields in POINTERS.items():
        yield Input(POINTER, fault, partial(_pointer, **fields))
    yield Input(POINTER, "no memory, no bytes", partial(_pointer, ptr=always(0), bufsize=always(0)), raw=b"")
    yield Input(POINTER, "a larger size when it is asked again", _growing_pointer, raw=CONTENT)


def _growing_pointer() -> Any:
    return _pointer(bufsize=then(always(SIZE), always(SIZE + 4096)))
