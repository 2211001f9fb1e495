"""Hostile streams of Arrow, and arrays on devices that are none.

Lives here: their tables. Must not know: any library. Sources: Apache Arrow, "The Arrow C stream interface", "The Arrow
C device data interface".

A stream that never ends is none: nobody can tell it from a long one. Here it ends by an error.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import abi, lies
from .arrays import LIES as OF_ARRAYS
from .arrays import NUMBERS, TEXT, VALUES, WORDS, longs
from .inputs import DEVICE, NO_CAPSULE, STREAM, Input, always, methods, then
from .lies import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

EINVAL, ENOMEM = 22, 12
_EMPTY = NUMBERS.of(length=0, buffers=(None, None), many=True)

SOUND: dict[str, tuple[Told, list[Any]]] = {
    "two chunks": (Told(NUMBERS, (NUMBERS, NUMBERS)), VALUES * 2),
    "text": (Told(TEXT, (TEXT, TEXT)), WORDS * 2),
    "no chunk": (Told(NUMBERS), []),
}

LIES: dict[str, Told] = {
    "an error of the type": Told(EINVAL),
    "an error of the type without a message": Told(EINVAL, message=None),
    "no type, and no error": Told(None),
    "an error of the first chunk": Told(NUMBERS, (ENOMEM,)),
    "an error of the second chunk": Told(NUMBERS, (NUMBERS, EINVAL)),
    "an error without a message": Told(NUMBERS, (NUMBERS, EINVAL), message=None),
    "an error that is no number of errors": Told(NUMBERS, (NUMBERS, -12345)),
    "a message that is no UTF-8": Told(NUMBERS, (EINVAL,), message=b"\xff\xfe"),
    "a message of a megabyte": Told(NUMBERS, (EINVAL,), message=b"m" * 2**20),
    "no callback for the type": Told(NUMBERS, (NUMBERS,), stream={"get_schema": None}),
    "no callback for chunks": Told(NUMBERS, (NUMBERS,), stream={"get_next": None}),
    "no callback for messages, and an error": Told(NUMBERS, (EINVAL,), stream={"get_last_error": None}),
    "a stream that was released": Told(NUMBERS, (NUMBERS,), stream={"release": None}),
    "a type that is unknown": Told(NUMBERS.of(format=b"x"), (NUMBERS,)),
    "a chunk of another type": Told(NUMBERS, (NUMBERS, TEXT)),
    "a chunk of text without offsets": Told(TEXT, (TEXT, TEXT.of(buffers=(None, None, b"ab")))),
    **{
        f"a second chunk with {fault}": Told(NUMBERS, (NUMBERS, lie))
        for fault, lie in OF_ARRAYS.items()
        if fault
        in {"a length of -1", "an offset of 2**62", "-1 buffers", "buffers that are NULL", "values that are NULL"}
    },
    "ten thousand empty chunks, then an error": Told(NUMBERS, (*(_EMPTY,) * 10_000, EINVAL)),
}

PASSABLE: dict[str, tuple[Told, list[Any]]] = {
    "no callback for messages": (Told(NUMBERS, (NUMBERS,), stream={"get_last_error": None}), VALUES),
    "more nulls than elements in a chunk": (Told(NUMBERS, (NUMBERS.says(null_count=9),)), VALUES),
}


def given(told: Told, *, rows: bool = False) -> Any:
    """Return an object that gives a stream, of tables where `rows` is set."""
    return methods(__arrow_c_stream__=lambda: lies.stream(told.rows() if rows else told))


def _of(fault: str, told: Told, right: tuple[list[Any], ...] = (), *, sound: bool = False) -> Input:
    return Input(STREAM, fault, partial(given, told), right, sound, rows=partial(given, told, rows=True))


def _twice(*, rows: bool = False) -> Any:
    told = Told(NUMBERS, (NUMBERS,))
    return methods(__arrow_c_stream__=always(lies.stream(told.rows() if rows else told)))


def _changing() -> Any:
    one, two = (Told(lie, (lie,)) for lie in (NUMBERS, TEXT))
    return methods(__arrow_c_stream__=then(lambda: lies.stream(one), lambda: lies.stream(two)))


def streams() -> Iterator[Input]:
    """Yield the table of streams."""
    for name, (told, values) in SOUND.items():
        yield _of(f"sound, {name}", told, (values,), sound=True)
    for fault, told in LIES.items():
        yield _of(fault, told)
    for fault, (told, values) in PASSABLE.items():
        yield _of(fault, told, (values,))
    for fault, answer in NO_CAPSULE.items():
        make = partial(methods, __arrow_c_stream__=answer)
        yield Input(STREAM, f"it {fault}", make, rows=make)
    make = partial(methods, __arrow_c_stream__=lambda: lies.stream(Told(NUMBERS, (NUMBERS,)), b"stream"))
    yield Input(STREAM, "a wrong name", make, rows=make)
    yield Input(STREAM, "the same capsule twice", _twice, rows=partial(_twice, rows=True), twice=True)
    yield Input(STREAM, "another stream when it is asked again", _changing, (VALUES, WORDS))


CPU = (1, -1)
UNMAPPED = 0xDEAD0000


def _elsewhere() -> int:
    return abi.place(longs(0, UNMAPPED))


_FOREIGN = NUMBERS.says(buffers=lies.Made(lambda _: _elsewhere()))

DEVICES: dict[str, tuple[Any, ...]] = {
    "a device that nobody knows": (_FOREIGN, (99, 0)),
    "a device of number 0": (_FOREIGN, (0, 0)),
    "a device of number -1": (_FOREIGN, (-1, 0)),
    "memory of a GPU": (_FOREIGN, (2, 0)),
    "memory of a GPU of number -7": (_FOREIGN, (2, -7)),
    "an array that was released": (NUMBERS.says(release=None), CPU),
    "a length of -1": (NUMBERS.says(length=-1), CPU),
    "buffers that are NULL": (NUMBERS.says(buffers=None), CPU),
    "a wrong name": (NUMBERS, CPU, None, b"arrow_array"),
}
"""What is handed out as a device array: the array, its device, event and name."""


def _on_device(lie: lies.Lie, *more: Any) -> Any:
    return methods(__arrow_c_device_array__=lambda: (lies.schema(lie), lies.device_array(lie, *more)))


def _once() -> Any:
    return methods(__arrow_c_device_array__=always((lies.schema(NUMBERS), lies.device_array(NUMBERS, CPU))))


def devices() -> Iterator[Input]:
    """Yield the table of device arrays."""
    yield Input(DEVICE, "sound, on the host", partial(_on_device, NUMBERS, CPU), (VALUES,), sound=True)
    for fault, (lie, *more) in DEVICES.items():
        yield Input(DEVICE, fault, partial(_on_device, lie, *more))
    yield Input(DEVICE, "a host of number -5", partial(_on_device, NUMBERS, (1, -5)), (VALUES,))
    for fault, answer in NO_CAPSULE.items():
        yield Input(DEVICE, f"it {fault}", partial(methods, __arrow_c_device_array__=answer))
    yield Input(DEVICE, "the same capsules twice", _once, (VALUES,), twice=True)
