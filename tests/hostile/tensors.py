"""DLPack: capsules of both structs, of any name, and the exchange table of a type.

Lives here: the producers, their fields, and the count of their deleters. Source: `dlpack.h` 1.3.

A tensor's extents are all that tells the size of its memory: only those are lied about that no memory can have.
"""

import ctypes
from typing import Any

from .. import capsules
from ..capsules import LEGACY, VERSIONED, Lent, lend
from ..guard import UNREADABLE, placed
from .case import UNTOLD, Base, Protocol
from .ledger import Ledger, Life, PanicError, shut
from .pointers import LARGE
from .tree import NO, YES, Extent, Fixed, Made, Method, Same, Thing

BYTES = bytes(range(64))


def _clip(value: int, low: int, high: int) -> int:
    """Return a number that a field of a struct can hold."""
    return min(max(int(value), low), high)


def _numbers(values: "tuple[int, ...] | None") -> "tuple[int, ...] | None":
    return values and tuple(_clip(one, -(2**63), 2**63 - 1) for one in values)


def _capsule(fields: dict[str, Any], life: Life) -> object:
    """Return a capsule whose struct has these fields, and see to it that its deleter is called once."""
    device, dtype = _numbers(fields["device"]) or (0, 0), _numbers(fields["dtype"]) or (0, 0, 0)
    limits = (255, 255, 65535)
    name = fields["name"] if isinstance(fields["name"], bytes) else b"wrong"
    extents = _numbers(fields["shape"])
    rank = fields["ndim"]
    # Where the struct says more dimensions than there are numbers, it is its word that is read: none is told here.
    known = 0 if extents is None else len(extents)
    ndim = known if rank is None else _clip(rank, -(2**31), 2**31 - 1)
    if extents is not None and known < ndim <= 1024:
        extents = (*extents, *(1,) * (ndim - known))
    strides = _numbers(fields["strides"])
    if strides is not None and len(strides) < ndim <= 1024:
        strides = (*strides, *(1,) * (ndim - len(strides)))
    at = placed(BYTES) if fields["data"] is None else fields["data"]
    capsule, lent = lend(
        versioned=fields["versioned"],
        version=tuple(_clip(one, 0, 2**32 - 1) for one in (_numbers(fields["version"]) or (1, 3)))[:2],
        flags=_clip(fields["flags"], 0, 2**64 - 1),
        name=name,
        deleter=bool(fields["deleter"]),
        device=tuple(_clip(one, -(2**31), 2**31 - 1) for one in (*device, 0, 0)[:2]),
        dtype=tuple(_clip(one, 0, most) for one, most in zip((*dtype, 0, 0, 0)[:3], limits, strict=True)),
        ndim=ndim,
        shape=extents,
        strides=strides,
        byte_offset=_clip(fields["byte_offset"], 0, 2**64 - 1),
        data=at,
    )
    if fields["data"] is None:
        lent.poison = lambda: shut(at, len(BYTES))  # type: ignore[method-assign]
        life.ledger.blocks.append((at, BYTES))
    unused = name == (VERSIONED if fields["versioned"] else LEGACY)
    life.ledger.checks.append(lambda: _not_returned(lent, called=unused and bool(fields["deleter"])))
    return capsule


def _not_returned(lent: Lent, *, called: bool) -> str:
    if len(lent.ended) != 1:
        return f"a capsule ended {len(lent.ended)} times"
    if len(lent.deleted) != called:
        return f"a deleter was called {len(lent.deleted)} times, expected {int(called)}"
    return ""


def tensor(**more: Any) -> Made:
    """Return the capsule of 64 bytes in host memory."""
    fields = {
        "versioned": YES,
        "name": Fixed(VERSIONED),
        "version": (1, 3),
        "flags": 0,
        "deleter": True,
        "data": Fixed(None),
        "device": (1, Fixed(0)),
        "dtype": (Fixed(1), Fixed(8), Fixed(1)),
        "ndim": Fixed(None),
        "shape": (Extent(64),),
        "strides": Fixed(None),
        "byte_offset": Fixed(0),
        **more,
    }
    return Made(fields, _capsule)


def speaks(capsule: Any, device: Any = (1, 0), **more: Any) -> Thing:
    """Return an object that gives a capsule."""
    return Thing({"__dlpack_device__": Method(device), "__dlpack__": Method(capsule), **more})


_OLD = {"versioned": NO, "name": Fixed(LEGACY)}
_ALL = list(range(64))

DLPACK = Protocol(
    {
        "bytes": Base(speaks(tensor()), BYTES, _ALL),
        "the old struct": Base(speaks(tensor(**_OLD)), BYTES, _ALL),
        "the same each time": Base(speaks(Same(tensor())), BYTES, _ALL),
        "any type": Base(speaks(tensor(dtype=(1, 8, Fixed(1)), shape=(Extent(1),))), BYTES[:1], [0]),
        "any rank": Base(speaks(tensor(ndim=1, shape=(Extent(64),))), BYTES, _ALL),
        "in C order": Base(speaks(tensor(strides=(Fixed(1),))), BYTES, _ALL),
        "strided": Base(speaks(tensor(shape=(Extent(32),), strides=(Fixed(2),))), None, _ALL[::2]),
        "no shape": Base(speaks(tensor(shape=None, ndim=Fixed(1)))),
        "no rank": Base(speaks(tensor(shape=(), ndim=Fixed(0))), BYTES[:1], None),
        "many dimensions": Base(speaks(tensor(shape=(Extent(1),) * 8)), BYTES[:1], None),
        "huge dimensions": Base(speaks(tensor(shape=(Fixed(2**62),) * 8))),
        "most dimensions": Base(speaks(tensor(shape=Fixed((2**62,) * 1024)))),
        "most dimensions, no memory": Base(speaks(tensor(shape=Fixed((2**62,) * 1024), data=Fixed(0)))),
        "endless offset": Base(speaks(tensor(byte_offset=Fixed(2**64 - 1)))),
        "nothing": Base(speaks(tensor(shape=(Fixed(0),))), b"", []),
        "no memory": Base(speaks(tensor(data=Fixed(0)))),
        "a used name": Base(speaks(tensor(name=Fixed(b"used_dltensor_versioned")))),
        "the other struct's name": Base(
            speaks(
                tensor(
                    versioned=NO,
                    name=Fixed(b"dltensor "),
                )
            )
        ),
        "another major version": Base(speaks(tensor(version=(Fixed(2), 0)))),
        "packed bits": Base(speaks(tensor(dtype=(Fixed(1), Fixed(1), Fixed(1)), flags=Fixed(0))), BYTES[:8], None),
        "padded bits": Base(speaks(tensor(dtype=(Fixed(1), Fixed(1), Fixed(1)), flags=Fixed(4))), BYTES, None),
        "lanes": Base(speaks(tensor(dtype=(Fixed(1), Fixed(8), Fixed(4)), shape=(Extent(16),))), BYTES, None),
        "bfloat16": Base(speaks(tensor(dtype=(Fixed(4), Fixed(16), Fixed(1)), shape=(Extent(32),))), BYTES, UNTOLD),
        "booleans": Base(
            speaks(tensor(dtype=(Fixed(6), Fixed(8), Fixed(1)), shape=(Extent(2),))), BYTES[:2], [False, True]
        ),
        "on a device": Base(speaks(tensor(data=Fixed(UNREADABLE), device=(Fixed(2), 0)), (2, 0)), UNTOLD, UNTOLD),
        "another device than was said": Base(
            speaks(tensor(data=Fixed(UNREADABLE), device=(Fixed(2), 0))), UNTOLD, UNTOLD
        ),
        "no deleter": Base(speaks(tensor(deleter=NO)), BYTES, _ALL),
        "no capsule": Base(speaks(Made({}, lambda *_: 3))),
    },
    LARGE,
)


class _Filled:
    """What a table's function writes, and how often it was asked."""

    def __init__(self, fields: dict[str, Any], life: Life) -> None:
        self.lent = Lent()
        self.lent.ptr = placed(BYTES)
        life.ledger.blocks.append((self.lent.ptr, BYTES))
        self.fields = fields

    def fill(self, out: int) -> int:
        shape = tuple(_clip(one, -(2**63), 2**63 - 1) for one in self.fields["shape"])
        raw = capsules.tensor_bytes(self.lent, shape=shape, device=self.fields["device"], ndim=self.fields["ndim"])
        ctypes.memmove(out, raw, len(raw))
        return int(self.fields["status"])


def _with_table(fields: dict[str, Any], life: Life) -> Any:
    """Return an object whose type has an exchange table."""
    filled = _Filled(fields, life)
    stream = None if fields["stream"] is None else lambda *_: fields["stream"]
    table = capsules.table(filled.fill, version=fields["version"], empty=fields["empty"], stream=stream)
    for _ in range(fields["before"]):
        table = capsules.table(filled.fill, version=(2, 0), previous=table)
    if fields["loops"]:
        table = capsules.table(filled.fill, version=(2, 0))
        address = capsules.struct_of(table)
        ctypes.c_uint64.from_address(address + 8).value = address
    named = fields["attribute"](table) if callable(fields["attribute"]) else table
    meta = type("Meta", (type,), {"__getattr__": _failing(fields["meta"], life.ledger)} if fields["meta"] else {})
    members = {"__dlpack_c_exchange_api__": named} if not fields["meta"] else {}
    return meta("Tabled", (), members)()


def _failing(name: str, ledger: Ledger) -> Any:
    return lambda *_: ledger.throw(name)


class _Raises:
    """A descriptor that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __get__(self, obj: object, owner: type | None = None) -> Any:
        raise self.error


def tabled(**more: Any) -> Made:
    """Return an object that describes 64 bytes by its type's table."""
    fields = {
        "shape": Fixed((64,)),
        "device": Fixed((1, 0)),
        "ndim": Fixed(None),
        "status": Fixed(0),
        "version": Fixed((1, 3)),
        "empty": NO,
        "before": Fixed(0),
        "loops": NO,
        "stream": Fixed(None),
        "attribute": Fixed(None),
        "meta": Fixed(""),
        **{name: Fixed(value) for name, value in more.items()},
    }
    return Made(fields, _with_table)


TABLES = Protocol(
    {
        "bytes": Base(tabled(), BYTES, None),
        "behind newer tables": Base(tabled(before=3), BYTES, None),
        "nothing but itself before it": Base(tabled(loops=True)),
        "no function": Base(tabled(empty=True)),
        "a refusal": Base(tabled(status=-1)),
        "another device": Base(tabled(device=(2, 0)), UNTOLD, None),
        "another device, its stream": Base(tabled(device=(2, 0), stream=(0, 5)), UNTOLD, None),
        "another device, no stream": Base(tabled(device=(2, 0), stream=(-1, 0)), UNTOLD, None),
        "a negative extent": Base(tabled(shape=(-1,))),
        "a negative rank": Base(tabled(ndim=-1)),
        "too many dimensions": Base(tabled(ndim=2**31 - 1)),
        "huge": Base(tabled(shape=(2**62, 2**62))),
        "no capsule": Base(tabled(attribute=lambda _: 3)),
        "a property that raises": Base(tabled(attribute=lambda _: property(lambda _: 1 / 0))),
        **{
            f"a descriptor that raises {error!r}": Base(tabled(attribute=lambda _, error=error: _Raises(error)))
            for error in (RuntimeError("no"), AttributeError("no"), PanicError("no"))
        },
        **{
            f"a metaclass that raises {name}": Base(tabled(meta=name))
            for name in ("RuntimeError", "PanicError", "AttributeError", "KeyboardInterrupt")
        },
        "a function": Base(tabled(attribute=lambda _: lambda: None)),
    },
    LARGE,
)
