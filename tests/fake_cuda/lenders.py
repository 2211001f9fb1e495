"""Producers and consumers over the stand-in's memory, each of which keeps one protocol's rules for streams.

Lives here: memory that its owner frees, work that is queued on it, who lends it, and what a consumer sees. Written from
the specifications, not from the library: Python array API standard 2025.12, `array.__dlpack__`; Numba, "CUDA Array
Interface (Version 3)", "Synchronization"; `dlpack.h` 1.3, `current_work_stream`; Apache Arrow, "The Arrow C device data
interface".
"""

import ctypes
from collections.abc import Callable
from typing import Any

from buflend.shared import arrow_export

from .. import arrow_producer, capsules
from .hooks import StandIn, contract

SIZE = 64
OLD, NEW = bytes(range(SIZE)), bytes(range(128, 128 + SIZE))
LEGACY, PER_THREAD = contract.LEGACY, contract.PER_THREAD

# Kind -> what allocates, what frees, and the device type of DLPack.
KINDS = {
    "device": ("cudaMalloc", "cudaFree", 2),
    "pinned": ("cudaMallocHost", "cudaFreeHost", 3),
    "managed": ("cudaMallocManaged", "cudaFree", 13),
}
_sources: list[Any] = []  # what is queued reads it when it is done, if it ever is


class Block:
    """Memory that is freed when nobody holds this any more; `freed` gets the status of that."""

    def __init__(self, cuda: StandIn, device: int = 0, kind: str = "device", content: bytes = OLD) -> None:
        self.cuda, self.device, self.size = cuda, device, len(content)
        self.freed: list[int] = []
        make, self._free, self.type = KINDS[kind]
        with cuda.on(device):
            more = [contract.ATTACH_GLOBAL] if kind == "managed" else []
            status, self.address = cuda.make(make, len(content), *more)
            assert status == contract.SUCCESS
            cuda.write(self.address, content)

    @property
    def pair(self) -> tuple[int, int]:
        """The device, as DLPack numbers it."""
        return self.type, self.device if self.type == 2 else 0

    def queue(self, content: bytes, stream: int) -> None:
        """Queue a copy to this memory, on a stream of its device."""
        _sources.append(contract.host(content))
        with self.cuda.on(self.device):
            copied = self.cuda.call(
                "cudaMemcpyAsync", self.address, _sources[-1], len(content), contract.TO_DEVICE, stream
            )
        assert copied == contract.SUCCESS

    def __del__(self) -> None:
        self.freed.append(self.cuda.call(self._free, self.address))


def side(cuda: StandIn, device: int = 0) -> int:
    """Return a new stream of a device, that waits for no other by itself."""
    with cuda.on(device):
        return cuda.stream()


def late(
    cuda: StandIn, stream: int = 0, device: int = 0, kind: str = "device", *, new: bytes = NEW, old: bytes = OLD
) -> tuple[Block, int]:
    """Return memory for which new content is queued, and the stream that it waits on: 0 takes one of its own."""
    block, handle = Block(cuda, device, kind, old), stream or side(cuda, device)
    block.queue(new, handle)
    return block, handle


def event_behind(cuda: StandIn, stream: int, device: int) -> int:
    """Return an event that happens when all is done that a stream of a device has now."""
    with cuda.on(device):
        event = cuda.event()
        assert cuda.call("cudaEventRecord", event, stream) == contract.SUCCESS
    return event


class Described:
    """An object with `__cuda_array_interface__` and nothing else; `fields` are written over its own."""

    def __init__(self, block: Block, **fields: Any) -> None:
        self.block, self.asked = block, 0
        self.fields = {
            "shape": (block.size,),
            "typestr": "|u1",
            "data": (block.address, False),
            "version": 3,
        } | fields

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.asked += 1
        return dict(self.fields)


class Exporting:
    """An object with `__dlpack__` and nothing else, that works on a stream of its own.

    What a consumer's stream gets comes behind that, by an event, as the standard wants it. The memory is held by each
    capsule until its deleter is called; `fields` are those of `capsules.lend`.
    """

    def __init__(self, block: Block, stream: int, **fields: Any) -> None:
        self.block, self.stream = block, stream
        self.fields = {"data": block.address, "device": block.pair, "shape": (block.size,)} | fields
        self.asked: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.fields["device"]

    def __dlpack__(self, *, stream: int | None = None, max_version: object = None, **_: object) -> object:
        self.asked.append(stream)
        cuda, device = self.block.cuda, self.block.device
        if stream != -1:
            event = event_behind(cuda, self.stream, device)
            with cuda.on(device):
                cuda.call("cudaStreamWaitEvent", LEGACY if stream is None else stream, event, 0)
            cuda.call("cudaEventDestroy", event)
        return lent(self.block, versioned=max_version is not None, **self.fields)


def lent(block: Block, **fields: Any) -> object:
    """Return a DLPack capsule that holds memory until its deleter is called."""
    capsule, noted = capsules.lend(**fields)
    holder = [block]
    noted.poison = holder.clear  # what the deleter calls
    return capsule


class Borrowed:
    """What a table describes; the object is the owner. `__dlpack__` is there, and is not to be called."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.block.pair

    def __dlpack__(self, **_: Any) -> object:
        raise AssertionError("a capsule is asked for, though there is a table")


def tabled(block: Block, stream: int) -> Any:
    """Return an object with a C exchange table, as torch has it, that tells a stream as that of its work."""
    noted = capsules.Lent()
    described = capsules.tensor_bytes(noted, data=block.address, device=block.pair, shape=(block.size,))

    def fill(out: int, _: Any = noted) -> int:
        ctypes.memmove(out, described, len(described))
        return 0

    table = capsules.table(fill, stream=lambda _kind, _ordinal: (0, stream))
    return type("Tabled", (Borrowed,), {"__dlpack_c_exchange_api__": table})(block)


class Arrow:
    """An object with `__arrow_c_device_array__` and nothing else; `event` is the handle of an event, 0 for none."""

    def __init__(self, lie: arrow_producer.Lie, device: tuple[int, int], event: int = 0, holds: object = None) -> None:
        self.lie, self.device, self.holds = lie, device, holds
        self.event = arrow_producer.keep(ctypes.c_void_p(event)) if event else None
        self.log = arrow_producer.Log()

    def __arrow_c_device_array__(self, **_: Any) -> tuple[object, object]:
        made = arrow_producer.device_array(self.lie, self.log, self.device, event=self.event)
        return arrow_producer.schema(self.lie, self.log), made


def seen_on(cuda: StandIn, address: int, stream: int, device: int = 0, size: int = SIZE) -> bytes:
    """Return what a consumer sees that copies on a stream of a device, and waits for that stream alone."""
    target = contract.host(bytes(size))
    with cuda.on(device):
        copied = cuda.call("cudaMemcpyAsync", target, address, size, contract.TO_HOST, stream)
        waited = cuda.call("cudaStreamSynchronize", stream)
    assert (copied, waited) == (contract.SUCCESS, contract.SUCCESS)
    return target.raw


def seen(cuda: StandIn, address: int, size: int = SIZE) -> bytes:
    """Return what is in memory now: nobody's work is waited for."""
    stream = cuda.stream()
    try:
        return seen_on(cuda, address, stream, size=size)
    finally:
        cuda.call("cudaStreamDestroy", stream)


def settled() -> None:
    """Let go of Arrow's capsules, which are kept a while in case that they are refused.

    Nothing else waits to be freed: no garbage is collected here.
    """
    arrow_export.flush()


def refusal(action: Callable[[], object], kind: type[Exception] | tuple[type[Exception], ...]) -> str:
    """Return the text of the error that an action must raise; the error itself is gone, with all that it held."""
    try:
        made = action()
    except Exception as error:
        if not isinstance(error, kind):
            raise
        return str(error)
    finally:
        settled()
    raise AssertionError(f"not refused: {made!r}")
