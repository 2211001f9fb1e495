"""Arrow's structs: arrays, device arrays, streams, and the capsules they travel in.

Lives here: the producers, whose structs `arrow_producer` writes, and the count of their releases. Source: Apache
Arrow, "The Arrow C data interface", "The Arrow C stream interface", "The Arrow C device data interface".

No buffer of Arrow says how large it is: each has what the struct says, last, that it needs. Where the struct says more
than some thousand elements, no memory can have them all.
"""

import ctypes
import struct
from typing import Any

from buflend import maximal

from .. import arrow_producer as make
from ..arrow_producer import Lie, Log, Script
from ..guard import placed
from .case import UNTOLD, Base, Protocol
from .ledger import Life
from .tree import Fixed, Made, Method, Same, Thing, text

MOST = 2**63 - 1
SMALL = 2**12  # elements that memory is made for

# Format -> the bits of an element in each buffer, and how many elements more than there are.
_BUFFERS: dict[str, tuple[tuple[int, int], ...]] = {
    **dict.fromkeys(("c", "C"), ((1, 0), (8, 0))),
    **dict.fromkeys(("l", "tsu:UTC"), ((1, 0), (64, 0))),
    "i": ((1, 0), (32, 0)),
    "b": ((1, 0), (1, 0)),
    "u": ((1, 0), (32, 1), (0, 0)),
    "U": ((1, 0), (64, 1), (0, 0)),
    "w:3": ((1, 0), (24, 0)),
    "w:0": ((1, 0), (0, 0)),
    **dict.fromkeys(("vu", "vz"), ((1, 0), (128, 0), (0, 0), (0, 0))),
    **dict.fromkeys(("n", "+r"), ()),
    **dict.fromkeys(("+s", "+w:2", "+w:0"), ((1, 0),)),
    "+l": ((1, 0), (32, 1)),
    "+vl": ((1, 0), (32, 0), (32, 0)),
    **dict.fromkeys(("+us:0,1", "+us:"), ((8, 0),)),
    "+ud:0,1": ((8, 0), (32, 0)),
}
_VIEWED = b"more than twelve bytes"


def _integer(value: int) -> int:
    return min(max(int(value), -MOST - 1), MOST)


def _sound(value: int) -> int:
    """Return a length or an offset that can be told: small, or such that no memory can have it."""
    number = _integer(value)
    return number if number <= SMALL else MOST


def _lie(fields: dict[str, Any], life: Life) -> Lie:
    """Return the array that fields describe, with buffers that end at an unreadable page."""
    form = fields["format"]
    length, offset = _sound(fields["length"]), _sound(fields["offset"])
    children, inner = fields["children"], fields["dictionary"]
    end = max(length, 0) + max(offset, 0)
    buffers: list[Any] = []
    for number, (bits, more) in enumerate(_BUFFERS.get(form, ((1, 0),))):
        content = fields["content"][number] if number < len(fields["content"]) else b""
        if content is not None and bits:
            size = -(-bits * (min(end, 2 * SMALL) + more) // 8)
            content = content.ljust(size, b"\0")[:size]
        buffers.append(content)
    if form in ("u", "U"):
        last = _last(buffers[1], 4 if form == "u" else 8, is_all=end <= 2 * SMALL)
        buffers[2] = b"\xc3\xa9bcdefgh".ljust(last, b"x")[:last] if 0 <= last <= 2**20 else b""
    elif form in ("vu", "vz"):
        buffers[2:] = [_VIEWED, struct.pack("q", len(_VIEWED))]
    spot, told = fields["null"], {"array": {}, "schema": {}}  # type: ignore[var-annotated]
    if isinstance(spot, str) and spot.partition(".")[0] in told:
        told[spot.partition(".")[0]][spot.partition(".")[2]] = None
    for whose, name in (("array", "n_buffers"), ("array", "n_children"), ("schema", "n_children")):
        if fields[f"{whose}.{name}"] is not None:
            number = _integer(fields[f"{whose}.{name}"])
            # What an array of pointers holds behind its last one is told by nobody.
            most = len(buffers) if name == "n_buffers" else len(children)
            told[whose][name] = number if number <= most else MOST
    return Lie(
        form,
        length,
        [None if one is None or spot == f"buffer {n}" else _array(one, life) for n, one in enumerate(buffers)],
        _integer(fields["null_count"]),
        offset,
        children,
        inner,
        flags=_integer(fields["flags"]),
        name=fields["name"].encode(errors="surrogatepass"),
        metadata=fields["metadata"],
        schema=told["schema"],
        array=told["array"],
    )


def _last(offsets: bytes, width: int, *, is_all: bool) -> int:
    """Return the last offset; the highest where more were told than are here, of which a parent may take a part."""
    found = [int.from_bytes(offsets[at : at + width], "little", signed=True) for at in range(0, len(offsets), width)]
    return found[-1] if is_all else max(found)


def _array(content: bytes, life: Life) -> Any:
    address = placed(content)
    life.ledger.blocks.append((address, content))
    return (ctypes.c_ubyte * len(content)).from_address(address)


def lie(form: str, length: int, *content: bytes | None, **more: Any) -> Made:
    """Return an array of a format; its validity, if it has one, is the first of `content`."""
    return Made(
        {
            "format": text("arrow", form),
            "length": length,
            "offset": 0,
            "null_count": 0 if not content or content[0] is None else -1,
            "array.n_buffers": None,
            "array.n_children": None,
            "schema.n_children": None,
            "null": text("nulls", ""),
            "name": text("name", "n"),
            "flags": 2,
            "metadata": Fixed(None),
            "content": Fixed(content),
            "children": Fixed([]),
            "dictionary": Fixed(None),
            **more,
        },
        _lie,
    )


def packed(code: str, *values: int) -> bytes:
    """Return numbers as they lie in memory."""
    return struct.pack(f"={len(values)}{code}", *values)


def _checked(life: Life, start: int, log: Log, *lies: Lie) -> None:
    """See to it that all that was filled is released once; what has no release is nobody's to release."""

    def check() -> str:
        again = [name for name in (*log.arrays, *log.schemas) if name.startswith("?")]
        if again or log.streams > 1:
            return f"released twice: {again}, streams {log.streams}"
        filled = [record for number, record in make._records.items() if number > start and record.names is log.arrays]
        filled += [record for number, record in make._records.items() if number > start and record.names is log.schemas]
        lost = [record for record in filled if not record.done]
        return f"{len(lost)} of {len(filled)} structs are not released" if lost and not any(map(_cut, lies)) else ""

    life.ledger.checks.append(check)


def _cut(one: Lie) -> bool:
    """Tell whether a struct below has no release, so that nobody can release it."""
    nested = [*one.children, *([one.dictionary] if isinstance(one.dictionary, Lie) else [])]
    return "release" in {**one.array, **one.schema} or any(map(_cut, nested))


def _pair(fields: dict[str, Any], life: Life) -> Any:
    """Return what `__arrow_c_array__` does, or the device's method."""
    log, start, one = Log(), next(make._numbers), fields["array"]
    _checked(life, start, log, one)
    schema = make.schema(one, log)
    device = fields["device"]
    event = None if fields["event"] is None else placed(bytes(8))
    if device is None:
        array = make.array(one, log)
    else:
        array = make.device_array(one, log, (_integer(device[0]) % 2**31, _integer(device[1])), event)
    order = fields["order"]
    return {
        "": (schema, array),
        "swapped": (array, schema),
        "three": (schema, array, None),
        "list": [schema, array],
    }.get(order, (schema, schema))


def pair(array: Made, **more: Any) -> Made:
    """Return the two capsules of an array."""
    fields = {"array": array, "device": Fixed(None), "event": Fixed(None), "order": Fixed(""), **more}
    return Made(fields, _pair)


def _stream(fields: dict[str, Any], life: Life) -> Any:
    log, start = Log(), next(make._numbers)
    chunks = [one if isinstance(one, Lie) else min(max(int(one), -(2**31)), 2**31 - 1) for one in fields["chunks"]]
    _checked(life, start, log, *[one for one in (fields["type"], *chunks) if isinstance(one, Lie)])
    script = Script(fields["type"], chunks, fields["message"], fields["device"], dict(fields["stream"]))
    return make.stream(script, log)


def _settled(one: Any) -> Any:
    """Return an array at whose format nobody lies: its chunks have the memory that it asks for, and say nothing."""
    if not isinstance(one, Made):
        return one
    told = {**one.fields, "format": Fixed(str(one.fields["format"]))}
    told["children"] = (
        [_settled(child) for child in told["children"]] if isinstance(told["children"], list) else Fixed([])
    )
    return Made(told, one.make)


def stream(type_: Any, *chunks: Any, **more: Any) -> Made:
    """Return the capsule of a stream, whose chunks are arrays, or codes of errors."""
    fields = {
        "type": _settled(type_),
        "chunks": [_settled(chunk) for chunk in chunks],
        "message": Fixed(b"the disk is gone"),
        "device": Fixed(None),
        "stream": Fixed(()),
        **more,
    }
    return Made(fields, _stream)


NUMBERS = lie("l", 3, None, packed("q", 1, -2, 3))
LETTERS = lie("u", 3, b"\5", packed("i", 0, 2, 2, 3))
INDICES = packed("b", 1, 0, 1)
# Name -> an array, and its values.
ARRAYS: dict[str, tuple[Made, Any]] = {
    "numbers": (NUMBERS, [1, -2, 3]),
    "text": (LETTERS, ["é", None, "b"]),
    "large text": (lie("U", 2, None, packed("q", 0, 2, 3)), ["é", "b"]),
    "bits behind 7": (lie("b", 2, b"\x80\0", b"\x80\1", offset=7), [True, None]),
    "nulls": (lie("n", 3), [None] * 3),
    "fixed bytes": (lie("w:3", 1, None, b"abc"), [b"abc"]),
    "views": (
        lie("vu", 2, None, packed("i", 2) + b"ab".ljust(12, b"\0") + packed("i", 22) + b"more" + packed("i", 0, 0)),
        ["ab", _VIEWED.decode()],
    ),
    "categories": (lie("c", 3, None, INDICES, dictionary=LETTERS), [None, "é", None]),
    "a struct": (
        lie("+s", 3, b"\3", children=[NUMBERS, LETTERS]),
        UNTOLD,  # two names that are the same
    ),
    "a list": (lie("+l", 2, None, packed("i", 0, 1, 3), children=[NUMBERS]), [[1], [-2, 3]]),
    "views of a list": (
        lie("+vl", 2, None, packed("i", 2, 0), packed("i", 1, 2), children=[NUMBERS]),
        [[3], [1, -2]],
    ),
    "lists of two": (lie("+w:2", 1, None, children=[NUMBERS]), [[1, -2]]),
    "a sparse union": (lie("+us:0,1", 2, b"\0\1", children=[NUMBERS, LETTERS], null_count=0), [1, None]),
    "a dense union": (
        lie("+ud:0,1", 2, b"\1\0", packed("i", 0, 2), children=[NUMBERS, LETTERS], null_count=0),
        ["é", 3],
    ),
    "runs": (lie("+r", 5, children=[lie("i", 3, None, packed("i", 2, 3, 5)), NUMBERS]), [1, 1, -2, 3, 3]),
    "a dictionary of a dictionary": (
        lie("c", 3, None, INDICES, dictionary=lie("c", 3, None, INDICES, dictionary=LETTERS)),
        UNTOLD,
    ),
    "a struct in lists in a struct": (
        lie(
            "+s",
            1,
            None,
            children=[lie("+l", 1, None, packed("i", 0, 2), children=[lie("+s", 2, None, children=[NUMBERS])])],
        ),
        UNTOLD,
    ),
}


def _deep(levels: int) -> Made:
    """Return an array in so many structs; nobody lies there but at both ends."""
    inner = lie("c", 1, None, b"x")
    for _ in range(levels):
        inner = lie("+s", 1, None, children=[inner])
    return inner


def _column_of(array: Made, values: Any) -> Base:
    return Base(Thing({"__arrow_c_array__": Method(pair(array))}), column=values, table=UNTOLD)


_ROWS = lie("+s", 3, None, children=[lie("l", 3, None, packed("q", 1, -2, 3), name=Fixed("a")), LETTERS])
_HOST, _CARD = Fixed((1, -1)), Fixed((2, 0))
_READERS = {"maximal.as_column": (maximal.as_column, "column"), "maximal.as_table": (maximal.as_table, "table")}

ARROW = Protocol(
    {
        **{name: _column_of(*one) for name, one in ARRAYS.items()},
        "rows": Base(
            Thing({"__arrow_c_array__": Method(pair(_ROWS))}),
            column=UNTOLD,
            table={"a": [1, -2, 3], "n": ["é", None, "b"]},
        ),
        **{
            f"capsules {order}": Base(Thing({"__arrow_c_array__": Method(pair(NUMBERS, order=Fixed(order)))}))
            for order in ("swapped", "three", "list", "the same twice")
        },
        "the same capsules each time": Base(Thing({"__arrow_c_array__": Method(Same(pair(NUMBERS)))}), column=UNTOLD),
        "deep": Base(Thing({"__arrow_c_array__": Method(pair(_deep(63)))}), column=UNTOLD, table=UNTOLD),
        "too deep": Base(Thing({"__arrow_c_array__": Method(pair(_deep(64)))})),
        "device's, on the host": Base(
            Thing({"__arrow_c_device_array__": Method(pair(NUMBERS, device=(1, -1)))}), column=[1, -2, 3]
        ),
        "text on a device": Base(
            Thing({"__arrow_c_device_array__": Method(pair(LETTERS, device=_CARD))}), column=UNTOLD
        ),
        "with an event": Base(
            Thing({"__arrow_c_device_array__": Method(pair(NUMBERS, device=_CARD, event=Fixed("")))}), column=UNTOLD
        ),
    },
    _READERS,
)


def _streams(capsule: Any, **values: Any) -> Base:
    return Base(Thing({"__arrow_c_stream__": Method(capsule)}), **values)


STREAMS = Protocol(
    {
        "two chunks": _streams(stream(NUMBERS, NUMBERS, NUMBERS), column=[1, -2, 3] * 2),
        "text": _streams(stream(LETTERS, LETTERS, LETTERS), column=["é", None, "b"] * 2),
        "rows": _streams(stream(_ROWS, _ROWS), column=UNTOLD, table={"a": [1, -2, 3], "n": ["é", None, "b"]}),
        "the same each time": _streams(Same(stream(NUMBERS, NUMBERS)), column=UNTOLD),
        "no chunk": _streams(stream(NUMBERS), column=[]),
        "another type in a chunk": _streams(stream(NUMBERS, NUMBERS, LETTERS)),
        "an error": _streams(stream(NUMBERS, NUMBERS, 5)),
        "an error without a message": _streams(stream(NUMBERS, 12345, message=Fixed(None))),
        "an error of the schema": _streams(stream(22)),
        "no schema": _streams(stream(Fixed(None))),
        "a callback that is missing": _streams(stream(NUMBERS, NUMBERS, stream=Fixed((("get_next", None),)))),
        "a released one": _streams(stream(NUMBERS, stream=Fixed((("release", None),)))),
        "device's, on the host": Base(
            Thing({"__arrow_c_device_stream__": Method(stream(NUMBERS, NUMBERS, device=Fixed(1)))}), column=[1, -2, 3]
        ),
        "device's": Base(
            Thing({"__arrow_c_device_stream__": Method(stream(NUMBERS, NUMBERS, device=Fixed(2)))}), column=UNTOLD
        ),
        "no capsule": Base(Thing({"__arrow_c_stream__": Method(3)})),
        "both, of which one refuses": Base(
            Thing({"__arrow_c_array__": Method(Fixed(None)), "__arrow_c_stream__": Method(stream(NUMBERS, NUMBERS))})
        ),
    },
    _READERS,
)
