"""A consumer in C, as little of it as can be: it takes a struct over, and releases it when it goes.

Lives here: tensors of DLPack, arrays and streams of Arrow, of unsigned bytes. Imported by tests, as
`from .raw import RawTensor`.
"""

import ctypes
from typing import Any

from . import arrow_producer, capsules
from .arrow_producer import Array, DeviceArray, Stream


class RawTensor:
    """A tensor of bytes that was taken over from a capsule."""

    def __init__(self, capsule: object) -> None:
        said = capsules.read_struct(capsule)
        self.ptr, self.shape, self.strides = said["data"], said["shape"], said["strides"]
        self.delete = capsules.consume(capsule)

    def read(self) -> bytes:
        """Return the bytes, those of two dimensions column by column."""
        rows, columns = (*self.shape, 1)[:2]
        step, over = (*self.strides, 0)[:2]
        return b"".join(
            ctypes.string_at(self.ptr + i * step + j * over, 1) for j in range(columns) for i in range(rows)
        )

    def __del__(self) -> None:
        self.delete()


class RawArray:
    """An array that was moved out of a struct."""

    def __init__(self, address: int) -> None:
        self.struct = Array.from_buffer_copy(Array.from_address(address))
        Array.from_address(address).release = None

    def read(self) -> bytes:
        """Return the bytes, those of fields one field after another."""
        word, struct = ctypes.c_uint64.from_address, self.struct
        fields = [Array.from_address(word(struct.children + 8 * i).value) for i in range(struct.n_children)]
        found = b""
        for field in fields or [struct]:
            skip, length = (struct.offset, struct.length) if fields else (0, field.length)
            found += ctypes.string_at(word(field.buffers + 8).value + field.offset + skip, length)
        return found

    def __del__(self, call: Any = arrow_producer.Release, at: Any = ctypes.addressof) -> None:
        call(self.struct.release)(at(self.struct))


def raw_array(pair: tuple[object, object]) -> RawArray:
    _release_schema(pair[0])
    return RawArray(capsules.struct_of(pair[1]))


def _release_schema(capsule: object) -> None:
    address = capsules.struct_of(capsule)
    arrow_producer.Release(arrow_producer.Schema.from_address(address).release)(address)


def raw_stream(capsule: object) -> RawArray:
    """Take the first chunk of a stream, and let the stream go."""
    address = capsules.struct_of(capsule)
    stream, out = Stream.from_address(address), DeviceArray()
    assert not arrow_producer.Fill(stream.get_next)(address, ctypes.addressof(out))
    arrow_producer.Release(stream.release)(address)
    return RawArray(ctypes.addressof(out))
