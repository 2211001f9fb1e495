"""What is wrong with a piece: buffers and children that cannot hold its elements.

Lives here: the bytes and the children that a type needs. Must not know: who is to blame. `fault` reads no memory;
`fault_of_ends` reads what says where the last element ends.
"""

import sys

from ..shared.device import HOST_READABLE, UNKNOWN_ID, Device, device_name
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import to_memoryview
from .piece import MASKS, Piece, Type


def fault(piece: Piece, type: Type) -> str:  # noqa: A002 - the record's name
    """Return which buffer or child is missing or too small for the elements, or nothing. No memory is read."""
    if piece.size < 0 or piece.offset < 0:
        return f"size and offset are {piece.size} and {piece.offset}, expected 0 or more"
    if wrong := _fault_of_children(piece, type) or _fault_of_devices(piece):
        return wrong
    layout = type.layout
    if unknown := piece.buffers.keys() - (*(layout.buffers if layout else ("data",)), "validity"):
        return f"{', '.join(unknown)}: a column of type {type.dtype.format!r} has no such buffer"
    for name, (low, high) in _needs(piece, type).items() if piece.size else ():
        if high and name not in piece.buffers:
            return f"{name}: missing, {high} bytes are needed"
        held = piece.buffers[name].bufsize if name in piece.buffers else 0
        if low < 0 or high > held:
            return f"{name} needs the bytes from {low} to {high}, but its buffer has {held}"
    return ""


def _fault_of_children(piece: Piece, type: Type) -> str:  # noqa: A002
    layout, children = type.layout, piece.children
    if (piece.dictionary is None) == (type.dtype.kind == DtypeKind.CATEGORICAL):
        return "dictionary: expected one where the kind is CATEGORICAL, and there alone"
    if layout and piece.dictionary is None and layout.children not in (None, len(children)):
        return f"children: got {len(children)}, expected {layout.children}"
    parts = children if piece.dictionary is None else (piece.dictionary,)
    if any(len(part._pieces) > 1 for part in parts):
        return "children and dictionary: expected columns in one piece"
    end = piece.offset + piece.size
    if type.dtype.format[:3] in ("+s", "+us") and any(child.size() < end for child in children):
        return f"children: got {[child.size() for child in children]} elements, expected {end} or more"
    return ""


def _fault_of_devices(piece: Piece) -> str:
    """Return where parts lie apart: what is said of a piece, to a protocol or to its reader, is said of one device."""
    named = [(name, buffer) for name, buffer in piece.buffers.items() if buffer.bufsize]
    named += [("variadic", buffer) for buffer in piece.variadic if buffer.bufsize]
    parts = [("children", child) for child in piece.children]
    parts += [] if piece.dictionary is None else [("dictionary", piece.dictionary)]
    named += [(name, memory) for name, part in parts if (memory := part._pieces[0].memory) and memory.bufsize]
    if len({buffer._device for _, buffer in named}) > 1 and _are_several({buffer.device for _, buffer in named}):
        places = ", ".join(f"{name} on {device_name(buffer.device)}" for name, buffer in named)
        return f"the parts lie apart ({places}), expected one device"
    return ""


def _are_several(devices: set[Device]) -> bool:
    """Tell whether devices differ, as far as is known: an ordinal that nobody named may be any."""
    return len({device[0] for device in devices}) > 1 or len({device[1] for device in devices} - {UNKNOWN_ID}) > 1


def _needs(piece: Piece, type: Type) -> dict[str, tuple[int, int]]:  # noqa: A002
    """Return, by buffer, the lowest byte and the end of the highest that the elements need."""
    size, end = piece.size, piece.offset + piece.size
    needs: dict[str, tuple[int, int]] = {}
    layout = type.layout
    names = layout.buffers if layout else ("data",)
    if "data" in names and not type.is_text:
        if type.width:
            reach = [piece.byte_offset + i * piece.stride for i in (piece.offset, end - 1)]
            needs["data"] = min(reach), max(reach) + type.width
        elif type.dtype.bits:
            needs["data"] = 0, -(-end * type.dtype.bits // 8)
    if layout and layout.offset_bits:
        width = layout.offset_bits // 8
        more = 0 if "sizes" in names or "type_ids" in names else 1
        needs["offsets"] = 0, (end + more) * width
        if "sizes" in names:
            needs["sizes"] = 0, end * width
    if "type_ids" in names:
        needs["type_ids"] = 0, end
    if piece.null[0] in MASKS:
        unit = 8 if piece.null[0] == NullKind.USE_BITMASK else 1
        reach = [piece.validity_offset + i * piece.validity_stride for i in (0, size - 1)]
        needs["validity"] = min(reach) // unit, max(reach) // unit + 1
    return needs


def fault_of_ends(piece: Piece, type: Type) -> str:  # noqa: A002 - the record's name
    """Return what ends before the last element does: characters, items, runs; nothing where the host cannot look."""
    layout, end = type.layout, piece.offset + piece.size
    if not piece.size or layout is None or piece.device[0] not in HOST_READABLE:
        return ""
    if type.dtype.format.startswith("+w:") and piece.children[0].size() < end * layout.parameter:
        return f"children: got {piece.children[0].size()} items, expected {end * layout.parameter} or more"
    if layout.kind == DtypeKind.RUN_END:
        last = piece.children[0][-1:].tolist()
        return "" if last and (last[0] or 0) >= end else f"children: runs end at {last}, expected {end} or more"
    if not layout.offset_bits or "sizes" in layout.buffers or layout.kind == DtypeKind.UNION:
        return ""
    width = layout.offset_bits // 8
    raw = to_memoryview(piece.buffers["offsets"])[end * width : (end + 1) * width]
    last_offset = int.from_bytes(raw, sys.byteorder, signed=True)
    data = piece.buffers.get("data")
    held = piece.children[0].size() if piece.children else 0 if data is None else data.bufsize
    return "" if 0 <= last_offset <= held else f"offsets: the last is {last_offset}, expected 0 to {held}"
