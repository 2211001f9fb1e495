"""What tests of streams share: numbers of streams, memory that came by a protocol, and whether one stream waits.

Imported by tests, with the double of the runtime in `cuda_runtime`.
"""

import ctypes
from typing import Any

from buflend.maximal import Buffer, as_buffer
from tests import cuda_runtime
from tests.capsules import Producer

LEGACY_STREAM = 1
OTHER = 0x7F0012345678  # a stream's handle
ORDERED = ["cudaEventCreateWithFlags", "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventDestroy"]


class Described:
    """An object with `__cuda_array_interface__` and nothing else."""

    def __init__(self, **fields: Any) -> None:
        self.memory = (ctypes.c_ubyte * 64)(*range(64))
        data = ctypes.addressof(self.memory), False
        self.__cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": data, "version": 3} | fields


def ordered(runtime: cuda_runtime.Runtime, before: int, after: int, ordinal: int) -> bool:
    """Tell whether all that was done is that one stream waits for the other, on one device, and the host for none."""
    (_, flags), (_, first, recorded), (_, waiting, second, _), (_, destroyed) = runtime.calls
    assert runtime.names() == ORDERED
    assert flags == 2, "an event without a time, which waiting would be slower for"
    assert first == second == destroyed
    assert runtime.devices == [ordinal] * 4
    assert runtime.current == 0, "the device that was current is so again"
    return (recorded, waiting) == (before, after)


def taken(device: tuple[int, int] = (2, 1), **fields: Any) -> tuple[Buffer, Producer]:
    producer = Producer(device=device, **fields)
    return as_buffer(producer), producer
