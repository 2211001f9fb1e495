"""Arrow out without pyarrow: streams.

Lives here: the callbacks of a stream, and its capsules. Must not know: what the memory means. Source: Apache Arrow,
"The Arrow C stream interface", "The Arrow C device data interface" (section "Device stream interface").

All structs of the chunks are made with the capsule, so that an error reaches whoever asked for it; the callbacks only
move them. They are hardened as `arrow_release` says.
"""

import ctypes
from array import array
from collections.abc import Sequence
from typing import Any

from .arrow_c import (
    ArrowArray,
    ArrowArrayStream,
    ArrowDeviceArray,
    ArrowDeviceArrayStream,
    ArrowSchema,
    Data,
    Field,
)
from .arrow_export import Prepared, fill_array, fill_device_array, fill_schema, prepare_array, prepare_schema
from .arrow_release import AS_WORDS, RELEASE_AT, Release, _live, filled_capsule, next_number
from .callback import AGAIN, DROP, TWICE, clear_error, taking, thunk
from .device import Device

_Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

_EIO, _EINVAL = 5, 22  # errno.h


class _Stream:
    """What a stream holds: its type, and chunks of which the first `taken` were handed over."""

    __slots__ = ("chunks", "schema", "taken")

    def __init__(self, schema: Prepared, chunks: "list[array[int]]") -> None:
        self.schema = schema
        self.chunks = chunks
        self.taken = 0


_errors: dict[int, int] = {}  # address of a stream whose last call failed -> its text, which is kept in `_texts`
_texts: dict[str, Any] = {}


def _take_schema(
    stream: _Stream,
    out: int,
    fill: Any = fill_schema,
    at: Any = ctypes.c_uint64.from_address,
    call: Any = Release,
    own: int = ArrowSchema.release.offset,
    anything: Any = BaseException,
) -> None:
    at(out + own).value = 0
    try:
        fill(out, stream.schema)
    except anything:  # the consumer is told of an error, and releases nothing
        if at(out + own).value:
            call(at(out + own).value)(out)
        raise


def _taker_of(kind: type[ctypes.Structure]) -> Any:
    def take(
        stream: _Stream,
        out: int,
        words_at: Any = AS_WORDS[kind].from_address,
        fill: Any = ctypes.memset,
        size: int = ctypes.sizeof(kind),
        own: int = RELEASE_AT[kind],
        count: Any = len,
    ) -> None:
        taken = stream.taken
        if taken == count(stream.chunks):
            fill(out, 0, size)
            return
        block = stream.chunks[taken]
        words_at(out)[:] = block  # from here on without a call: a chunk that was given and is told as an error is two's
        stream.taken = taken + 1
        block[own] = 0

    return take


def _getter_of(number: int, take: Any) -> int:
    def get(
        address: int,
        out: int | None,
        clear: Any = clear_error,
        at: Any = ctypes.c_uint64.from_address,
        number: int = number,
        find: Any = _live.get,
        take: Any = take,
        anything: Any = BaseException,
        errors: dict[int, int] = _errors,
        texts: dict[str, Any] = _texts,
        text: Any = ctypes.create_string_buffer,
        address_of: Any = ctypes.addressof,
        kind: Any = type,
        unknown: int = _EINVAL,
        failed: int = _EIO,
    ) -> int:
        # Whatever is raised, a number is returned: else the caller reads one that nobody wrote.
        try:
            clear()
            errors.pop(address, None)
            stream = find(at(address + number).value) if address and out else None
            if stream is None:
                return unknown
            take(stream, out)
        except anything as error:
            try:
                name = kind(error).__name__
                if name not in texts:
                    texts[name] = text(name.encode())
                errors[address] = address_of(texts[name])
            except anything:  # a signal's handler, once more
                pass
            return failed
        return 0

    return thunk(_Get, get)


def _release_of(kind: type[ctypes.Structure], chunk: type[ctypes.Structure]) -> int:  # noqa: C901 - one callback
    def release(
        taken: Any,
        _: object,
        arguments: tuple[int | None],
        let_go: Any = DROP,
        again: Any = AGAIN,
        words_at: Any = AS_WORDS[kind].from_address,
        call: Any = Release,
        find: Any = _live.get,
        forget: Any = _live.pop,
        forget_error: Any = _errors.pop,
        own: int = RELEASE_AT[kind],
        own_of_chunk: int = RELEASE_AT[chunk],
        twice: range = TWICE,
        anything: Any = BaseException,
    ) -> object:
        (address,) = arguments
        stream: Any = None
        number = 0
        interrupted: Any = None
        for _ in twice:
            try:
                words = words_at(address) if address else None
                if words and words[own]:
                    number = words[own + 1]
                    stream = find(number)  # then forgotten: what is raised right after a call loses its result
                    words[own] = 0
                forget(number, None)
                forget_error(address, None)
                if stream is not None:
                    for block in stream.chunks * 2:  # once more what was ended as it began
                        if block[own_of_chunk]:  # not handed over
                            call(block[own_of_chunk])(block.buffer_info()[0])
                        del block
            except anything as error:
                interrupted = [error]
            else:
                break
        if taken:
            return let_go[taken] or -again
        if interrupted:
            raise interrupted.pop()
        return None

    return thunk(Release, taking(release))


# No code in Python, which returns an address that nobody wrote where a signal's handler raises as it begins.
_LAST_ERROR = thunk(_GetError, _errors.get)


_CHUNK = {ArrowArrayStream: ArrowArray, ArrowDeviceArrayStream: ArrowDeviceArray}
# get_schema, get_next, get_last_error, release
_CALLBACKS = {
    kind: (
        _getter_of(kind.private_data.offset, _take_schema),
        _getter_of(kind.private_data.offset, _taker_of(chunk)),
        _LAST_ERROR,
        _release_of(kind, chunk),
    )
    for kind, chunk in _CHUNK.items()
}


def stream_capsule(field: Field, chunks: Sequence[Data]) -> object:
    """Return an `arrow_array_stream` capsule; the owners of a chunk live until the consumer releases that chunk.

    Parameters
    ----------
    field : Field
        The type of every chunk.
    chunks : sequence of Data
        What the consumer gets, one by one. What it does not take is released with the stream.
    """
    return _capsule(ArrowArrayStream, field, chunks, fill_array)


def device_stream_capsule(field: Field, chunks: Sequence[Data], device: Device) -> object:
    """Return an `arrow_device_array_stream` capsule of memory on one device that is ready to be used."""

    def fill(address: int, prepared: Prepared) -> None:
        fill_device_array(address, prepared, device)

    return _capsule(ArrowDeviceArrayStream, field, chunks, fill, int(device[0]))


def _capsule(
    kind: type[ArrowArrayStream] | type[ArrowDeviceArrayStream],
    field: Field,
    chunks: Sequence[Data],
    fill_chunk: Any,
    device_type: int | None = None,
) -> object:
    schema = prepare_schema(field)
    prepared = [prepare_array(data) for data in chunks]  # what is wrong is found before anything has to be released

    def fill(address: int) -> None:
        stream: Any = kind.from_address(address)
        if device_type is not None:
            stream.device_type = device_type
        blocks = [array("Q", bytes(ctypes.sizeof(_CHUNK[kind]))) for _ in prepared]
        stream.get_schema, stream.get_next, stream.get_last_error = _CALLBACKS[kind][:3]
        stream.private_data = number = next_number()
        stream.release = _CALLBACKS[kind][3]
        _live[number] = _Stream(schema, blocks)
        # Last: where a signal's handler raises in between, the chunks that are filled are released with the stream.
        for block, each in zip(blocks, prepared, strict=True):
            fill_chunk(block.buffer_info()[0], each)

    return filled_capsule(kind, fill)
