"""Hostile tensors: the table of DLPack, both structs.

Lives here: the inputs and their producer. Must not know: any library. Source: `dlpack.h` 1.3.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from . import abi
from .inputs import DLPACK, NO_CAPSULE, Input, PanicError, always, methods, raises, then

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBERS = [1, -2, 3]
CONTENT = struct.pack("<3q", *NUMBERS)
CPU = (1, 0)
UNMAPPED = 0xDEAD0000
INT64 = (0, 64, 1)

SOUND: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sound": ({}, NUMBERS),
    "sound, behind an offset": ({"shape": (2,), "byte_offset": 8}, NUMBERS[1:]),
}
"""Fields that are true: they show whether a consumer reads at all."""

LIES: dict[str, dict[str, Any]] = {
    "no memory, three elements": {"data": None},
    "a negative extent": {"shape": (-3,)},
    "an extent of -2**63": {"shape": (-(2**63),)},
    "2**62 elements": {"shape": (2**62,)},
    "extents whose product has 66 bits": {"shape": (2**33, 2**33)},
    "extents whose product is 0 in 64 bits": {"shape": (2**32, 2**32)},
    "a rank of -1": {"ndim": -1},
    "a rank of 2**31 - 1": {"ndim": 2**31 - 1},
    "no shape": {"shape": None, "ndim": 1},
    "strides beyond all addresses": {"strides": (2**62,)},
    "an offset of 2**63": {"byte_offset": 2**63},
    "an offset that wraps": {"byte_offset": 2**64 - 8},
    "0 bits": {"dtype": (0, 0, 1)},
    "0 lanes": {"dtype": (0, 64, 0)},
    "another device than was said": {"device": (2, 0), "data": UNMAPPED, "said": CPU},
    "a device that nobody knows": {"device": (99, 0), "data": UNMAPPED},
    "a device of number 0": {"device": (0, 0), "data": UNMAPPED},
    "a device of number -1": {"device": (-1, 0), "data": UNMAPPED},
    "a wrong name": {"name": b"tensor"},
    "no name": {"name": None},
    "a used name": {"name": b"used_"},
}
"""Fields that cannot be true, one fault each."""

PASSABLE: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "no deleter": ({"deleter": False}, NUMBERS),
    "no memory, no elements": ({"data": None, "shape": (0,)}, []),
    "an odd address": ({"odd": True}, NUMBERS),
    "floats of 24 bits": ({"dtype": (2, 24, 1)}, [CONTENT[at : at + 3] for at in (0, 3, 6)]),
    "an unknown kind of type": ({"dtype": (200, 64, 1)}, [CONTENT[at : at + 8] for at in (0, 8, 16)]),
}
"""Fields that are true, or need not be looked at, and what is read then; of an unknown type, the bytes of each item."""

OF_VERSIONED: dict[str, dict[str, Any]] = {"an unknown major version": {"version": (2, 0)}}
PASSABLE_VERSIONED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "unknown flags": ({"flags": 1 << 40}, NUMBERS),
    "an unknown minor version": ({"version": (1, 2**31)}, NUMBERS),
}

DEVICES: dict[str, Callable[[], Any]] = {
    "its device is None": always(None),
    "its device is one number": always(1),
    "its device is half a pair": always((1,)),
    "its device is text": always(("cpu", 0)),
    "its device is 2**70": always((2**70, 0)),
    "its device raises RuntimeError": raises(RuntimeError),
    "its device raises a BaseException": raises(PanicError),
}
"""What `__dlpack_device__` answers; who does not ask reads what is there."""


def capsule(
    *,
    versioned: bool = True,
    data: int | None = 0,
    device: tuple[int, int] = CPU,
    ndim: int | None = None,
    dtype: tuple[int, int, int] = INT64,
    shape: tuple[int, ...] | None = (3,),
    strides: tuple[int, ...] | None = None,
    byte_offset: int = 0,
    version: tuple[int, int] = (1, 0),
    flags: int = 0,
    deleter: bool = True,
    name: bytes | None = b"",
    odd: bool = False,
) -> object:
    """Return a capsule of three integers, but for what is named; `data` is 0 for their address, None for NULL."""
    made: Any = abi.Versioned() if versioned else abi.Legacy()
    if versioned:
        made.major, made.minor, made.flags = *version, flags
    content = CONTENT + b"\0" if odd else CONTENT
    at = abi.place(content)
    made.tensor.data = at if data == 0 else data
    made.tensor.device_type, made.tensor.device_id = device
    made.tensor.ndim = len(shape or ()) if ndim is None else ndim
    made.tensor.code, made.tensor.bits, made.tensor.lanes = dtype
    for field, numbers in (("shape", shape), ("strides", strides)):
        setattr(made.tensor, field, None if numbers is None else abi.place(struct.pack(f"={len(numbers)}q", *numbers)))
    made.tensor.byte_offset = byte_offset
    kind = type(made)
    if name == b"used_":
        name += abi.NAMES[kind]
    elif deleter:
        made.private_data = abi.lend("the tensor", [(at, len(content))])
    made.release = abi.RELEASE[kind] if deleter else None
    return abi.capsule(made, name)


def producer(said: tuple[int, int] | None = None, **fields: Any) -> Any:
    """Return an object that gives such a capsule, and says that it is on this device."""
    device = fields.get("device", CPU) if said is None else said
    return methods(__dlpack__=lambda: capsule(**fields), __dlpack_device__=always(device))


def inputs() -> Iterator[Input]:
    """Yield the table."""
    for versioned, kind in ((True, "versioned"), (False, "legacy")):
        for fault, (fields, values) in SOUND.items():
            make = partial(producer, versioned=versioned, **fields)
            yield Input(DLPACK, f"{kind}, {fault}", make, (values,), sound=True)
        for fault, fields in {**LIES, **(OF_VERSIONED if versioned else {})}.items():
            yield Input(DLPACK, f"{kind}, {fault}", partial(producer, versioned=versioned, **fields))
        for fault, (fields, values) in {**PASSABLE, **(PASSABLE_VERSIONED if versioned else {})}.items():
            yield Input(DLPACK, f"{kind}, {fault}", partial(producer, versioned=versioned, **fields), (values,))
        yield Input(
            DLPACK, f"{kind}, the same capsule twice", partial(_once, versioned=versioned), (NUMBERS,), twice=True
        )
    for fault, answer in NO_CAPSULE.items():
        yield Input(DLPACK, f"it {fault}", partial(methods, __dlpack__=answer, __dlpack_device__=always(CPU)))
    for fault, answer in DEVICES.items():
        yield Input(DLPACK, fault, partial(methods, __dlpack__=capsule, __dlpack_device__=answer), (NUMBERS,))
    yield Input(DLPACK, "its device changes", _changing, (NUMBERS,))


def _changing() -> Any:
    return methods(__dlpack__=capsule, __dlpack_device__=then(always(CPU), always((2, 0))))


def _once(**fields: Any) -> Any:
    """Return an object that gives one capsule again and again."""
    return methods(__dlpack__=always(capsule(**fields)), __dlpack_device__=always(CPU))
