"""Arrow out without pyarrow: schemas and arrays.

Lives here: how descriptions become structs in capsules. Must not know: what the memory means, how a struct is released.
Source: Apache Arrow, "The Arrow C data interface", "The Arrow C device data interface".

A struct without parts costs little: its words are prepared once, and copied to the capsule of an earlier export that
nobody holds any more.
"""

import ctypes
import struct
from array import array
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, final

from .arrow_c import CPU_ID, ArrowArray, ArrowDeviceArray, ArrowSchema, Data, Field
from .arrow_release import (
    ARRAY_RELEASE,
    AS_WORDS,
    RELEASE,
    RELEASE_AT,
    SCHEMA_RELEASE,
    _live,
    arrays,
    filled_capsule,
    next_flat,
    next_number,
    schemas,
    word_of,
)
from .arrow_release import flush as flush  # noqa: PLC0414 - offered here as well
from .device import CPU, Device


@final
class Prepared(NamedTuple):
    """A struct to be, checked; it is copied at each export and has no number yet, so nothing has to be released.

    Attributes
    ----------
    words : array of int
        The struct as if it had no parts.
    kept : object
        What its pointers point at.
    parts : tuple of Prepared
        Children, and the dictionary at the end.
    has_dictionary : bool
        Whether there is one.
    """

    words: "array[int]"
    kept: object
    parts: "tuple[Prepared, ...]"
    has_dictionary: bool


_schema_words, _write_words = struct.Struct("=3Q2q4Q").pack, struct.Struct("=5q5Q").pack_into


def prepare_schema(field: Field) -> Prepared:
    """Return a schema that is to be copied."""
    if "\0" in field.format + field.name:
        raise ValueError(f"column {field.name!r} of type {field.format!r}: Arrow's texts end before the first NUL")
    texts = [ctypes.create_string_buffer(text.encode()) for text in (field.format, field.name)]
    if field.metadata:
        texts.append(ctypes.create_string_buffer(field.metadata))
    addresses = [*map(ctypes.addressof, texts), 0]
    packed = _schema_words(*addresses[:3], field.flags, 0, 0, 0, RELEASE[ArrowSchema], 0)
    return Prepared(array("Q", packed), texts, *_parts(field, prepare_schema))


_SCHEMA_NUMBER, _ARRAY_NUMBER = SCHEMA_RELEASE + 1, ARRAY_RELEASE + 1

_flat_schema = lru_cache(128)(prepare_schema)


def prepare_array(data: Data) -> Prepared:
    """Return an array that is to be copied; it holds the owners."""
    words = array("Q", bytes(ctypes.sizeof(ArrowArray)))
    kept = _write_array(words, data, 0)
    return Prepared(words, kept, *_parts(data, prepare_array))


def _parts(described: Any, prepare: Callable[[Any], Prepared]) -> tuple[tuple[Prepared, ...], bool]:
    parts = [*described.children, *(() if described.dictionary is None else (described.dictionary,))]
    return tuple(map(prepare, parts)), described.dictionary is not None


_NULL = array("Q", [0])


def _write_array(
    words: "array[int]",
    data: Data,
    number: int,
    write: Callable[..., None] = _write_words,
    release: int = RELEASE[ArrowArray],
) -> object:
    """Write an ArrowArray as if it had no parts, its release last; return what its pointers point at."""
    length, buffers, null_count, offset, _, _ = data
    n_buffers = len(buffers)
    pointers = _NULL * (n_buffers or 1)
    i = 0
    for buffer in buffers:
        if buffer:
            pointers[i] = buffer[0]
        i += 1  # noqa: SIM113 - a tenth of the export
    write(words, 0, length, null_count, offset, n_buffers, 0, pointers.buffer_info()[0], 0, 0, release, number)
    return pointers, buffers


def _filler_of(kind: type[ArrowSchema] | type[ArrowArray]) -> Callable[[int, Prepared], None]:
    def fill(
        address: int,
        prepared: Prepared,
        words_at: Any = AS_WORDS[kind].from_address,
        row: Any = AS_WORDS[kind],
        word: Any = ctypes.c_uint64,
        size: int = ctypes.sizeof(kind),
        address_of: Any = ctypes.addressof,
        n_children: int = word_of(kind.n_children),
        children: int = word_of(kind.children),
        dictionary: int = word_of(kind.dictionary),
        number: int = RELEASE_AT[kind] + 1,
        following: Any = next_number,
        live: dict[int, Any] = _live,
        span: Any = range,
        count: Any = len,
        pairs: Any = zip,
    ) -> None:
        """Write a struct to memory that is not read before; at exit, too.

        Where a signal's handler raises in between, the struct can be released: it points at nothing that is not kept.
        """
        plain, kept, parts, has_dictionary = prepared
        words = words_at(address)
        words[:] = plain
        if parts:
            structs = (row * count(parts))()
            pointers = (word * count(parts))()
            kept = kept, structs, pointers
        words[number] = own = following()
        live[own] = kept
        if parts:
            for i in span(count(parts)):
                pointers[i] = address_of(structs) + i * size
            words[children], words[n_children] = address_of(pointers), count(parts) - has_dictionary
            words[dictionary] = pointers[-1] if has_dictionary else 0
            for pointer, part in pairs(pointers, parts):
                fill(pointer, part)

    return fill


fill_schema, fill_array = _filler_of(ArrowSchema), _filler_of(ArrowArray)


def exporter(field: Field, data: Data) -> Callable[[], tuple[object, object]]:
    """Return what makes `arrow_schema` and `arrow_array` capsules, each time anew, of structs that are made once."""
    schema, array = prepare_schema(field), prepare_array(data)
    if schema.parts or array.parts:
        return lambda: (
            filled_capsule(ArrowSchema, fill_schema, schema),
            filled_capsule(ArrowArray, fill_array, array),
        )
    schema_words, schema_kept, array_words, array_kept = *schema[:2], *array[:2]

    def export() -> tuple[object, object]:
        first = next_flat(ArrowSchema, schemas, SCHEMA_RELEASE)
        lent, block, _ = first  # held by a name before it is parked, or another thread would take it for a free one
        block[:] = schema_words
        first[2] = block[_SCHEMA_NUMBER] = number = next_number()
        _live[number] = schema_kept
        schemas.append(first)
        second = next_flat(ArrowArray, arrays, ARRAY_RELEASE)
        also_lent, block, _ = second
        block[:] = array_words
        second[2] = block[_ARRAY_NUMBER] = number = next_number()
        _live[number] = array_kept
        arrays.append(second)
        return lent, also_lent

    return export


def schema_capsule(field: Field) -> object:
    """Return an `arrow_schema` capsule."""
    if field.children or field.dictionary:
        return filled_capsule(ArrowSchema, fill_schema, prepare_schema(field))
    words, kept, _, _ = _flat_schema(field)
    entry = next_flat(ArrowSchema, schemas, SCHEMA_RELEASE)
    capsule, block, _ = entry  # as above
    block[:] = words
    entry[2] = block[_SCHEMA_NUMBER] = number = next_number()
    _live[number] = kept
    schemas.append(entry)
    return capsule


def array_capsule(data: Data) -> object:
    """Return an `arrow_array` capsule; each buffer's owner lives until the consumer releases the array."""
    if data.children or data.dictionary:
        return filled_capsule(ArrowArray, fill_array, prepare_array(data))
    entry = next_flat(ArrowArray, arrays, ARRAY_RELEASE)
    capsule, block, _ = entry  # as above
    entry[2] = number = next_number()
    _live[number] = _write_array(block, data, number)
    arrays.append(entry)
    return capsule


def device_array_capsule(data: Data | Prepared, device: Device) -> object:
    """Return an `arrow_device_array` capsule of memory that is ready to be used: no event to wait for."""
    prepared = data if type(data) is Prepared else prepare_array(data)
    return filled_capsule(ArrowDeviceArray, fill_device_array, prepared, device)


def fill_device_array(address: int, prepared: Prepared, device: Device) -> None:
    """Write an ArrowDeviceArray over zeros."""
    outer = ArrowDeviceArray.from_address(address)
    outer.device_type, outer.device_id = int(device[0]), CPU_ID if device == CPU else device[1]
    fill_array(address + ArrowDeviceArray.array.offset, prepared)
