"""The CUDA array interface, version 3, both directions.

Lives here: what a buffer says by it (unsigned bytes) and what is read of others. Source: Numba, "CUDA Array Interface
(Version 3)". The interface names no device: the id stays unknown until somebody asks the pointer.
"""

import sys
from typing import Any

from ..shared.array_interface import ask_interface, read_interface
from ..shared.cuda import synchronize
from ..shared.device import UNKNOWN_ID, Device
from ..shared.errors import DeviceError, ProducerError
from ..shared.memory import Memory
from .found import Found

NAME = "__cuda_array_interface__"


def interface(memory: Memory) -> dict[str, Any]:
    """Return the interface of CUDA memory that is ready: it names no stream to wait for."""
    return {
        "version": 3,
        "shape": (memory.bufsize,),
        "typestr": "|u1",
        "data": (memory.ptr if memory.bufsize else 0, memory.readonly),
        "strides": None,
        "stream": None,
    }


def read(obj: Any) -> Found | None:
    """Return what an object's CUDA array interface describes, None where it has none; its stream is waited for."""
    found = ask_interface(obj, NAME)
    if found is None:
        return None
    whose = f"{type(obj).__name__}.{NAME}"
    block, nbytes = read_interface(found, whose)
    if block is None:
        raise ProducerError(f"{whose}['data']", got=found.get("data"), expected="a tuple (address, read-only)")
    if found.get("mask") is not None:
        raise ProducerError(f"{whose}['mask']", got=found["mask"], expected="None: a buffer has no mask")
    wait(found.get("stream"), f"{whose}['stream']")
    return block.ptr if nbytes else 0, nbytes, obj, Device(2, UNKNOWN_ID), block.readonly


def wait(stream: Any, field: str) -> None:
    """Wait for the stream that an interface names, if it names one."""
    if stream is None:
        return
    if not isinstance(stream, int) or stream <= 0:
        raise ProducerError(field, got=stream, expected="None, 1, 2 or a stream's handle; 0 is forbidden")
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None:
        try:
            cupy.cuda.runtime.streamSynchronize(stream)
        except RuntimeError as error:
            raise DeviceError(f"{field}: the CUDA runtime does not answer: {error}") from error
    else:
        synchronize(stream)
