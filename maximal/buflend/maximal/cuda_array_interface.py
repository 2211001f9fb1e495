"""The CUDA array interface, version 3, both directions.

Lives here: what a buffer says by it (unsigned bytes), what is read of others, and the waiting for the stream that is
named. Source: Numba, "CUDA Array Interface (Version 3)". The interface names no device: the id stays unknown until
somebody asks for it, and then the pointer is.
"""

from operator import index
from typing import Any

from ..shared.access import stream_of
from ..shared.array_interface import read_interface
from ..shared.cuda import ordinal_at, synchronize
from ..shared.device import UNKNOWN_ID, Device
from ..shared.dlpack_method import HANDLES
from ..shared.errors import ProducerError
from ..shared.memory import Memory
from .found import Found, ask_interface

NAME = "__cuda_array_interface__"


def interface(memory: Memory) -> dict[str, Any]:
    """Return the interface of CUDA memory; it names the stream in whose order the memory is ready, if there is one."""
    return {
        "version": 3,
        "shape": (memory.bufsize,),
        "typestr": "|u1",
        "data": (memory.ptr if memory.bufsize else 0, memory.readonly),
        "strides": None,
        "stream": stream_of(memory) if memory.bufsize else None,
    }


def read(obj: Any) -> Found | None:
    """Return what an object's CUDA array interface describes, None where it has none; its stream is waited for."""
    found = read_unordered(obj)
    if found is None:
        return None
    ptr, nbytes, owner, device, readonly, stream = found
    if stream is not None:
        wait(stream, ptr)
    return ptr, nbytes, owner, device, readonly, None


def read_unordered(obj: Any) -> Found | None:
    """Return what `read` returns without waiting: the memory is ready in the order of the stream that is named.

    The stream may be destroyed soon, so that something must be made to wait for it at once.
    """
    found = ask_interface(obj, NAME)
    if found is None:
        return None
    whose = f"{type(obj).__name__}.{NAME}"
    block, nbytes = read_interface(found, whose)
    if block is None:
        raise ProducerError(f"{whose}['data']", got=found.get("data"), expected="a tuple (address, read-only)")
    if found.get("mask") is not None:
        raise ProducerError(f"{whose}['mask']", got=found["mask"], expected="None: a buffer has no mask")
    stream = checked_stream(found.get("stream"), f"{whose}['stream']")
    return block.ptr if nbytes else 0, nbytes, obj, CUDA_DEVICE, block.readonly, stream if nbytes else None


CUDA_DEVICE = Device(2, UNKNOWN_ID)
"""Where memory lies that the interface describes, as far as it says."""


def checked_stream(stream: Any, field: str) -> int | None:
    """Return the stream that an interface names, None where it names none."""
    if stream is None:
        return None
    handle = index(stream) if issubclass(type(stream), int) else 0
    if not 0 < handle < HANDLES:
        raise ProducerError(field, got=stream, expected="None, 1, 2 or a stream's handle; 0 is forbidden")
    return handle


def wait(stream: int, ptr: int) -> None:
    """Wait on the host for a stream of the device that memory was allocated for."""
    synchronize(stream, ordinal_at(ptr))
