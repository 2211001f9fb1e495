"""Work that is late, and what an exchange does about it.

Lives here: a kernel that writes 0.2 s after it has started, the memory that it writes to, and the three runs that make
a proof. Must not know: which exchange is looked at.

One run with a kernel that is not late, so that all is compiled and loaded. One without order, which must see the bytes
that were there before: where it does not, the third run proves nothing. And the exchange, behind which the new bytes
must be seen. Source and target exist beforehand, and the target is filled by a plain copy: an allocation or the loading
of a kernel may wait for the device, and would hide every race. The streams do not wait for the default stream.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .check import FailedError, SkippedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Reader = Callable[[], str]
    Exchange = Callable[["Race"], Reader]

SOURCE = r"""
extern "C" __global__ void late(float *memory, int count, long long ticks) {
    long long start = clock64();
    while (clock64() - start < ticks) { }
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        memory[i] = 1;
}
"""

COUNT = 1 << 14
SIZE = COUNT * 4
"""Elements and bytes."""

TICKS = 400_000_000
"""Cycles that the kernel is late: 0.2 s at 2 GHz."""

OLD, NEW = "old", "new"

TRIES = 3
"""Runs until a result counts that a host which stood still for 0.2 s would give, too."""


@lru_cache
def streams(_ordinal: int) -> tuple[Any, Any]:
    """Return two streams of the current device; always the same, since many would share the queues of the hardware."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)


class Race:
    """A source of zeros that becomes ones late, on one stream; a target that is filled on another.

    Attributes
    ----------
    source, target : cupy.ndarray
        Both of one type and length.
    producer, consumer : cupy.cuda.Stream
        Neither waits for the default stream.
    stream : cupy.cuda.Stream
        Where the late work goes, `producer` unless another is given.
    """

    def __init__(self, *, managed: bool = False, stream: Any = None) -> None:
        import cupy
        import numpy as np

        if managed:
            self.source = cupy.ndarray((COUNT,), np.float32, cupy.cuda.malloc_managed(SIZE))
        else:
            self.source = cupy.empty(COUNT, np.float32)
        self.target = cupy.empty(COUNT, np.float32)
        self.producer, self.consumer = streams(cupy.cuda.runtime.getDevice())
        self.stream = self.producer if stream is None else stream
        self._kernel = cupy.RawKernel(SOURCE, "late")

    @property
    def address(self) -> int:
        """Where the source lies."""
        return int(self.source.data.ptr)

    @contextmanager
    def late(self, ticks: int = TICKS) -> Iterator[None]:
        """Write zeros, wait for all, and start the work that is late; wait for it in the end, whatever happens."""
        import cupy
        import numpy as np

        for array in (self.source, self.target):
            array.data.memset(0, SIZE)
        cupy.cuda.runtime.deviceSynchronize()
        with self.stream:
            self._kernel((1,), (256,), (self.source, np.int32(COUNT), np.int64(ticks)))
        try:
            yield
        finally:
            cupy.cuda.runtime.deviceSynchronize()

    def read(self, address: int, *_kept: object) -> str:
        """Say what the consumer's stream reads at an address; what is to live until then is passed, too."""
        import cupy

        runtime = cupy.cuda.runtime
        runtime.memcpyAsync(self.target.data.ptr, address, SIZE, runtime.memcpyDefault, self.consumer.ptr)
        self.consumer.synchronize()
        return seen(self.target.get(stream=self.consumer))


def seen(array: Any) -> str:
    """Say whether an array of the host holds what was there before, what came late, or something else."""
    found = set(array.tolist())
    return {frozenset([0.0]): OLD, frozenset([1.0]): NEW}.get(frozenset(found), f"a mixture of {sorted(found)[:3]}")


def unordered(race: Race) -> Reader:
    """Read the source on the consumer's stream, with nothing in between: the negative control of most exchanges."""
    return lambda: race.read(race.address)


def ordered(
    race: Race, exchange: Exchange, *, waits: bool | None = False, control: Exchange = unordered
) -> dict[str, Any]:
    """Show that an exchange puts its reader behind the late work, and return what was seen.

    Parameters
    ----------
    race : Race
        Where the work goes.
    exchange : callable
        Makes the exchange, and returns what reads behind it.
    waits : bool, optional
        Whether the host waits in the exchange; None where that is the consumer's business.
    control : callable
        The same without order.

    Raises
    ------
    FailedError
        When old bytes are seen, the host waits or not as it should not, or the control shows no race.
    """
    with race.late(ticks=1):
        rehearsed = exchange(race)()
    if rehearsed != NEW:
        raise FailedError(f"what was not late at all: {rehearsed} bytes were seen")
    for left in reversed(range(TRIES)):
        with race.late():
            early = control(race)()
        if early == OLD:
            break
        if not left:
            raise FailedError(f"proves nothing: without order, too, {early} bytes are seen")
    for left in reversed(range(TRIES)):
        with race.late():
            reader = exchange(race)
            waited = bool(race.stream.done)
            found = reader()
        if found != NEW:
            raise FailedError(f"{found} bytes were seen: the reader does not come behind the work of the producer")
        if waits in {None, waited}:
            return {"without order": early, "with order": found, "the host waited": waited}
        if waits or not left:
            break
    raise FailedError(f"the host {'waited' if waited else 'did not wait'} for the producer")


def requires_concurrent_managed_access() -> None:
    """Skip where the host may not touch managed memory while the device works: it would die of it."""
    import cupy

    runtime = cupy.cuda.runtime
    if not runtime.deviceGetAttribute(runtime.cudaDevAttrConcurrentManagedAccess, runtime.getDevice()):
        raise SkippedError("this device gives managed memory to the host only while nothing runs")
