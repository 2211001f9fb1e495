"""Arrow in, data: from an ArrowArray to its buffers.

Lives here: the reading and checking of the structs. Must not know: capsules, streams. Source: Apache
Arrow, "The Arrow C data interface", section "The ArrowArray structure"; "Arrow Columnar Format", section "Physical
Memory Layout".

Only the structs are read, and a few numbers where the host may read them: the first and the last offset, the last run
end, sizes of character buffers. What the elements hold is not checked.
"""

import struct
import sys
from functools import cache
from typing import NamedTuple

from .arrow_c import Field
from .arrow_format import Layout, parse_format
from .arrow_owner import ArrowOwner
from .arrow_schema import MOST_PARTS, broken, children_of, foreign, pointers_at
from .device import HOST_READABLE, Device
from .interchange import DtypeKind as Kind
from .memory import _ADDRESSES, _MOST_BYTES

# Every field up to `release`, read at once.
_ARRAY = struct.Struct("@qqqqqPPPP")
_MOST = 2**63 - 1  # elements
_FIRST_PAGE = 4096  # libraries written in Rust point there where a buffer is empty
_CUDA = 2  # the device type whose pointers can be asked where they lie
_INTEGERS = {16: struct.Struct("@h"), 32: struct.Struct("@i"), 64: struct.Struct("@q")}


class Imported(NamedTuple):
    """What an ArrowArray says, checked.

    Children and dictionary are as they stand in the struct: an element `i` of a struct, or of a sparse union, is the
    children's element `offset + i`, on top of their own offsets. A struct at the root that has no nulls of its own is
    the exception. It was taken apart: its `offset` is 0, each child was cut to its range, holds its own owner and is
    released on its own; the root's owner is released already.

    Attributes
    ----------
    field : Field
        The type.
    length : int
        Elements.
    null_count : int
        -1 where it is not known, 0 where there is no bitmap.
    offset : int
        Elements before the first one, in each buffer.
    buffers : dict of str to tuple of (int, int)
        Name, as in `Layout.buffers` -> address and the bytes that are needed. What the producer left out is absent.
    variadic : tuple of tuple of (int, int)
        The same for the character buffers of a view.
    children, dictionary
        The nested arrays.
    owner : ArrowOwner
        Whoever uses a buffer holds it.
    device : Device
        Where all buffers lie.
    """

    field: Field
    length: int
    null_count: int
    offset: int
    buffers: dict[str, tuple[int, int]]
    variadic: "tuple[tuple[int, int], ...]"
    children: "tuple[Imported, ...]"
    dictionary: "Imported | None"
    owner: ArrowOwner
    device: Device


class _Plan(NamedTuple):
    """How many bytes each buffer of a type needs: (bits * (offset + length + extra)) / 8, and 0 for text itself."""

    layout: Layout
    buffers: tuple[tuple[str, int, int], ...]
    has_end: bool  # whether a last offset stands behind those of the elements
    is_text: bool  # whether that is the size of `data`


@cache
def _plan(text: str) -> _Plan:
    layout = parse_format(text)
    kind, offset_bits = layout.kind, layout.offset_bits
    has_end = bool(offset_bits) and kind != Kind.UNION and "sizes" not in layout.buffers
    is_text = has_end and not layout.children
    needs = {
        "validity": (1, 0),
        "data": (0 if is_text else layout.bits, 0),
        "offsets": (offset_bits, int(has_end)),
        "sizes": (offset_bits, 0),
        "type_ids": (8, 0),
    }
    return _Plan(layout, tuple((name, *needs[name]) for name in layout.buffers), has_end, is_text)


def array_of(field: Field, owner: ArrowOwner, device: Device) -> Imported:
    """Return what an owner's array says; a struct without nulls of its own is taken apart.

    Raises
    ------
    ProducerError
        When it cannot be true.
    DeviceError
        When a number is needed from memory that cannot be read.
    """
    if field.format != "+s":
        return _read(field, owner.address, owner, device)
    root, children_at, _ = _read_own(field, owner.address, owner, device)
    if root.null_count:
        whole = _nested(root, children_at, 0)  # first: lengths of children, before bits are counted by that of the root
        if root.null_count > 0 or not _is_host(root) or _any_null(root):
            return whole
    children = []
    for child, address in zip(field.children, _children(field, children_at), strict=True):
        moved = ArrowOwner(address)
        children.append(_read(child, moved.address, moved, device, root.offset, root.length))
    owner.release()
    return Imported(field, root.length, 0, 0, {}, (), tuple(children), None, owner, device)


def _read(field: Field, at: int, owner: ArrowOwner, device: Device, skip: int = 0, take: int = -1) -> Imported:
    """Read one struct, and those below it."""
    array, children_at, dictionary_at = _read_own(field, at, owner, device, skip, take)
    return _nested(array, children_at, dictionary_at) if children_at or dictionary_at or field.children else array


def _children(field: Field, address: int) -> tuple[int, ...]:
    count = len(field.children)
    return children_of("ArrowArray", address, count, field.name) if count else ()


def _nested(array: Imported, children_at: int, dictionary_at: int) -> Imported:
    """Read what is below a struct."""
    field, owner, device = array.field, array.owner, array.device
    parts = zip(field.children, _children(field, children_at), strict=True)
    array = array._replace(
        children=tuple(_read(child, address, owner, device) for child, address in parts),
        dictionary=_read(field.dictionary, dictionary_at, owner, device) if field.dictionary else None,
    )
    _check_children(array, _plan(field.format))
    return array


def _any_null(array: Imported) -> bool:
    address, _ = array.buffers["validity"]
    start, phase = divmod(array.offset, 8)
    count = (phase + array.length + 7) // 8
    bits = int.from_bytes(foreign(address + start)[:count], "little") >> phase
    return (~bits & ((1 << array.length) - 1)) != 0


def _read_own(
    field: Field, at: int, owner: ArrowOwner, device: Device, skip: int = 0, take: int = -1
) -> tuple[Imported, int, int]:
    """Read one struct without those below it, and where they are; cut it to `take` elements after `skip`, if any."""
    numbers = _ARRAY.unpack_from(foreign(at))
    plan = _plan(field.format)
    _check_numbers(field, plan, numbers)
    length, null_count, offset, n_buffers, _, buffers_at, children_at, dictionary_at, _ = numbers
    if take >= 0:
        if length < skip + take:
            raise broken("ArrowArray.length", length, f"{skip + take} or more, as the struct has", field.name)
        if skip or take < length:
            null_count = -1 if null_count else 0
        length, offset = take, offset + skip
    pointers = pointers_at(buffers_at, n_buffers)
    buffers = _place(field, plan, pointers, length, offset)
    if plan.layout.kind == Kind.NULL:
        null_count = length
    elif "validity" not in buffers:
        if null_count > 0:
            raise broken("ArrowArray.null_count", null_count, "0, since there is no bitmap", field.name)
        null_count = 0
    array = Imported(field, length, null_count, offset, buffers, (), (), None, owner, device)
    if plan.is_text and length:
        _measure_text(array)
    if plan.layout.variadic:
        array = array._replace(variadic=_variadic(array, pointers[len(plan.buffers) :]))
    return array, children_at, dictionary_at


def _check_numbers(field: Field, plan: _Plan, numbers: tuple[int, ...]) -> None:
    """Refuse what cannot be, before any pointer is followed."""
    length, null_count, offset, n_buffers, n_children, buffers_at, _, dictionary_at, release = numbers
    least = len(plan.buffers) + plan.layout.variadic
    # polars gives the null type a bitmap, as Arrow did before 1.0.
    most = MOST_PARTS if plan.layout.variadic else 1 if field.format == "n" else least
    got: object
    if not release:
        what, got, expected = "release", None, "an array that was not released or moved"
    elif length < 0 or offset < 0 or offset + length > _MOST:
        what, got, expected = "(length, offset)", (length, offset), "0 or more, in 63 bits together"
    elif not -1 <= null_count <= length:
        what, got, expected = "null_count", null_count, f"-1 to {length}, the length"
    elif (not dictionary_at) != (field.dictionary is None):
        what, got, expected = "dictionary", dictionary_at or None, "one where the schema has one, and only there"
    elif not least <= n_buffers <= most:
        what, got, expected = "n_buffers", n_buffers, f"{least}, as format {field.format!r} has"
    elif n_children != len(field.children):
        what, got, expected = "n_children", n_children, f"{len(field.children)}, as in the schema"
    elif n_buffers and not buffers_at:
        what, got, expected = "buffers", None, f"the addresses of {n_buffers} buffers"
    else:
        return
    raise broken(f"ArrowArray.{what}", got, expected, field.name)


def _place(
    field: Field, plan: _Plan, pointers: tuple[int, ...], length: int, offset: int
) -> dict[str, tuple[int, int]]:
    """Return the buffers that are there, and how many bytes of each are needed."""
    end = offset + length
    buffers = {}
    for (part, bits, extra), pointer in zip(plan.buffers, pointers, strict=False):
        size = (bits * (end + extra) + 7) >> 3
        if pointer >= _FIRST_PAGE and _fits(pointer, size):
            buffers[part] = pointer, size
        elif pointer >= _FIRST_PAGE or (size and length and part != "validity"):
            raise broken(f"ArrowArray.buffers[{part!r}]", pointer or None, f"the address of {size} bytes", field.name)
    return buffers


def _fits(pointer: int, size: int) -> bool:
    return size <= _MOST_BYTES and pointer + size <= _ADDRESSES


def _measure_text(array: Imported) -> None:
    """Enter the size of the characters, which is the last offset."""
    size = _offsets(array)
    pointer = array.buffers.get("data", (0, 0))[0]
    if not _fits(pointer, size) or (size and not pointer):
        raise broken("ArrowArray.buffers['data']", pointer or None, f"the address of {size} bytes", array.field.name)
    if pointer:
        array.buffers["data"] = pointer, size


def _offsets(array: Imported) -> int:
    """Return the last offset; on the host the first one is looked at too."""
    bits = _plan(array.field.format).layout.offset_bits
    address = array.buffers["offsets"][0]
    first, last = address + array.offset * bits // 8, address + (array.offset + array.length) * bits // 8
    pair = _integer(first, bits, array) if _is_host(array) else 0, _integer(last, bits, array)
    if not 0 <= pair[0] <= pair[1]:
        raise broken("ArrowArray: first and last offset", pair, "0 or more, and rising", array.field.name)
    return pair[1]


def _is_host(array: Imported) -> bool:
    return array.device[0] in HOST_READABLE


def _integer(address: int, bits: int, array: Imported) -> int:
    """Return a signed integer from a buffer, wherever that lies."""
    if _is_host(array):
        number: int = _INTEGERS[bits].unpack_from(foreign(address))[0]
        return number
    return int.from_bytes(_copied(address, bits // 8, array), sys.byteorder, signed=True)


def _copied(address: int, size: int, array: Imported) -> bytearray:
    from .cuda import to_host
    from .dlpack import Tensor

    return to_host(array.owner, Tensor(address, (size,), (1,), device=array.device))


def _lies_on_host(address: int, array: Imported) -> bool:
    """Tell whether a buffer of a CUDA array is in host memory after all: sizes, where an exporter copied nothing."""
    if array.device[0] != _CUDA:
        return False
    from .cuda import device_at

    return device_at(address)[0] in HOST_READABLE


def _variadic(array: Imported, pointers: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the character buffers of a view, whose sizes are the last buffer."""
    *parts, sizes_at = pointers
    if not parts or (sizes_at < _FIRST_PAGE and not array.length):
        return ()
    name = array.field.name
    if sizes_at < _FIRST_PAGE:
        raise broken("ArrowArray: sizes of buffers", sizes_at or None, f"the address of {len(parts)} sizes", name)
    on_host = _is_host(array) or _lies_on_host(sizes_at, array)
    raw = foreign(sizes_at) if on_host else _copied(sizes_at, 8 * len(parts), array)
    sizes: tuple[int, ...] = struct.unpack_from(f"@{len(parts)}q", raw)
    for part, size in zip(parts, sizes, strict=True):
        if size < 0 or not _fits(part, size) or (size and part < _FIRST_PAGE):
            raise broken("ArrowArray: buffer of a view", (part, size), "an address, and a size of 0 or more", name)
    return tuple((part if part >= _FIRST_PAGE else 0, size) for part, size in zip(parts, sizes, strict=True))


def _check_children(array: Imported, plan: _Plan) -> None:
    """Compare the lengths of children with what an array of this type needs."""
    kind, end, need = plan.layout.kind, array.offset + array.length, 0
    if kind == Kind.STRUCT or array.field.format.startswith("+us"):
        need = end
    elif kind == Kind.RUN_END:
        _check_runs(array, end)
    elif not plan.layout.offset_bits:
        need = end * plan.layout.parameter
    elif plan.has_end and array.length and _is_host(array):
        need = _offsets(array)
    for child in array.children:
        if child.length < need:
            raise broken("ArrowArray.length", child.length, f"{need} or more, as the parent needs", child.field.name)


def _check_runs(array: Imported, end: int) -> None:
    runs, values = array.children
    name = array.field.name
    if runs.length != values.length:
        raise broken("ArrowArray: lengths of run ends and values", (runs.length, values.length), "equal ones", name)
    if runs.null_count > 0 or (runs.null_count < 0 and _is_host(runs) and _any_null(runs)):
        raise broken("ArrowArray.null_count", runs.null_count, "run ends without nulls", name)
    if array.length and not runs.length:
        raise broken("ArrowArray.length", 0, f"runs for {array.length} elements", name)
    if array.length and _is_host(runs):
        address, size = runs.buffers["data"]
        width = _plan(runs.field.format).layout.bits // 8
        last = _integer(address + size - width, 8 * width, runs)
        if last < end:
            raise broken("ArrowArray: last run end", last, f"{end} or more", name)
