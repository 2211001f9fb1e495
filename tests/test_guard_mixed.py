"""Columns and tables of which a part lies where the host cannot read: no protocol hands that part out as the host's."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, Table, as_buffer, as_column, as_table
from buflend.shared import STATIC, BuflendError, DeviceError

from .guard import UNREADABLE, in_a_child, on_devices
from .hand import i32, inline, pointing
from .kinds import NUMBER, made

Pair = tuple[int, int]
Place = Callable[[bytes], Any]


def chunked(near: Place, far: Place) -> Column:
    pieces = [made(NUMBER, place)._pieces[0] for place in (near, far)]
    return Column._make(made(NUMBER, near)._type, tuple(pieces))


MIXED: dict[str, Callable[[Place, Place], Any]] = {
    "data": lambda near, far: Column("l", 3, data=far(bytes(24)), validity=near(b"\7")),
    "mask": lambda near, far: Column("l", 3, data=near(bytes(24)), validity=far(b"\7")),
    "offsets": lambda near, far: Column("u", 1, data=near(b"ab"), offsets=far(i32(0, 2))),
    "characters": lambda near, far: Column("u", 1, data=far(b"ab"), offsets=near(i32(0, 2))),
    "characters of views": lambda near, far: Column(
        "vu", 2, data=near(inline(b"a") + pointing(14, 0, 0)), variadic=[far(bytes(14))]
    ),
    "dictionary": lambda near, far: Column("c", 1, data=near(b"\0"), dictionary=made(NUMBER, far)),
    "codes": lambda near, far: Column("c", 1, data=far(b"\0"), dictionary=made(NUMBER, near)),
    "items": lambda near, far: Column("+l", 1, offsets=near(i32(0, 3)), children=[made(NUMBER, far)]),
    "a field": lambda near, far: Column(
        "+s", 3, children=[made(NUMBER, near).rename("a"), made(NUMBER, far).rename("b")]
    ),
    "a column": lambda near, far: Table({"a": made(NUMBER, near), "b": made(NUMBER, far)}),
    "the first column": lambda near, far: Table({"a": made(NUMBER, far), "b": made(NUMBER, near)}),
    "a chunk": chunked,
    "the first chunk": lambda near, far: chunked(far, near),
}


def through(method: str) -> Callable[[Any], Any]:
    def read(mixed: Any) -> Any:
        given = getattr(mixed, method)()
        read = as_table if isinstance(mixed, Table) else as_column
        return read(SimpleNamespace(**{method: lambda: given})).tolist()

    return read


def interface(mixed: Any) -> Any:
    found = mixed.__array_interface__
    return np.asarray(SimpleNamespace(__array_interface__=found)).tolist()


READS: dict[str, Callable[[Any], Any]] = {
    "tolist": lambda mixed: mixed.tolist(),
    "__array__": lambda mixed: mixed.__array__().tolist(),
    "__array_interface__": interface,
    "__arrow_c_array__": through("__arrow_c_array__"),
    "__arrow_c_stream__": through("__arrow_c_stream__"),
    "__arrow_c_device_array__": through("__arrow_c_device_array__"),
    "__dlpack__": lambda mixed: np.from_dlpack(mixed).tolist(),
}


@on_devices
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("mix", MIXED.values(), ids=MIXED)
@in_a_child
def test_no_protocol_hands_it_out(mix: Callable[[Place, Place], Any], read: Callable[[Any], Any], device: Pair) -> None:
    def far(content: bytes) -> Buffer:
        return Buffer(UNREADABLE, len(content), owner=STATIC, device=device)

    try:
        mixed = mix(as_buffer, far)
    except (BuflendError, ValueError):
        return  # there is no such column
    with pytest.raises((BufferError, AttributeError, RuntimeError, ValueError)):
        read(mixed)


@on_devices
@in_a_child
def test_numpy_makes_no_array_of_the_names(device: Pair) -> None:
    far = Buffer(UNREADABLE, 24, owner=STATIC, device=device)
    for table in (
        Table({"x": Column("l", 3, data=far)}),
        Table({"x": Column("l", 3, data=far), "y": as_column(b"abc")}),
    ):
        with pytest.raises(DeviceError, match="which the host cannot read"):
            np.asarray(table)


@on_devices
@in_a_child
def test_nothing_of_the_host_is_said_to_lie_on_the_device(device: Pair) -> None:
    far = Buffer(UNREADABLE, 64, owner=STATIC, device=device)
    empty = Column("u", 0, offsets=far)
    _, capsule = empty.__arrow_c_device_array__()
    assert (
        as_column(SimpleNamespace(__arrow_c_device_array__=lambda: (empty.__arrow_c_schema__(), capsule))).size() == 0
    )
    views = Column("vu", 2, data=far, variadic=[far])
    with pytest.raises(DeviceError, match="sizes of their buffers"):
        views.__arrow_c_device_array__()


@on_devices
@in_a_child
def test_what_has_no_memory_says_nothing_of_the_rest(device: Pair) -> None:
    far = Column("i", 3, data=Buffer(UNREADABLE, 12, owner=STATIC, device=device))
    near = Column("i", 3, data=as_buffer(bytes(12)))
    empty = Column("i", 0, data=as_buffer(b""))
    for first in (Column("n", 3), Column("+s", 3, children=[Column("n", 3)])):
        rows = Column("+s", 3, children=[first, far])
        assert (rows.device, rows.__dlpack_device__()) == (device, device)
        assert not hasattr(rows, "__arrow_c_array__")
        with pytest.raises(ValueError, match="lie apart"):
            Column("+s", 3, children=[rows, near])
        table = Table({"first": first, "far": far})
        assert (table.device, table.__dlpack_device__()) == (device, device)
    assert Column("u", 0, data=empty.data, offsets=Buffer(UNREADABLE, 4, owner=STATIC, device=device)).device == device
