"""Access to memory of devices: where it lies, and when it may be touched.

Lives here: the ordinal that a producer did not name, and the stream in whose order memory is ready. Must not know:
protocols. For memory of the CPU nothing here is called: its device is the object `CPU`.

Memory that came without a stream is ready. Memory that came by DLPack is ready in the order of the stream that its
producer was asked for, the default stream: work on that stream may touch it, other streams and the host wait first.
"""

from .device import CPU, HOST_READABLE, UNKNOWN_ID, Device, device_name, refuse_host
from .errors import DeviceError
from .memory import Memory

CUDA = frozenset({2, 3, 13})  # device types that the CUDA runtime knows
_ORDINALS = {3: 0, 13: 0}  # what DLPack's producers say of pinned and of managed memory


def stream_of(memory: Memory) -> int | None:
    """Return the stream in whose order memory is ready, None where it is ready."""
    return None if memory._device is CPU else memory._stream


def located(memory: Memory) -> Device:
    """Return the device of memory whose producer named no ordinal, as far as it can be known: the pointer is asked.

    Where nobody answers, the ordinal stays unknown; nobody is looked for where no driver is in the process.
    """
    from .cuda import in_use

    if memory._device[0] in _ORDINALS or in_use():
        try:
            memory._device = known_device(memory._device, memory._ptr, memory._bufsize)
        except DeviceError:
            pass
    return memory._device


def known_device(device: Device, ptr: int, bufsize: int) -> Device:
    """Return the device of memory with its ordinal, for which the pointer is asked where it was not named.

    Raises
    ------
    DeviceError
        When the ordinal is not known, and nobody can be asked.
    """
    kind, ordinal = device
    if ordinal != UNKNOWN_ID:
        return device
    if kind not in CUDA:
        raise DeviceError(f"the memory lies on a {device_name(device)} whose ordinal its producer did not name")
    if kind in _ORDINALS:
        return Device(kind, _ORDINALS[kind])
    from .cuda import current_device, device_at

    return device_at(ptr) if bufsize else current_device()  # nothing has no address: it is where work goes on


def pair_of(memory: Memory) -> tuple[int, int]:
    """Return what `__dlpack_device__` answers: plain integers; DeviceError where the ordinal cannot be known."""
    device = memory._device
    if device[1] == UNKNOWN_ID:
        device = memory._device = known_device(device, memory._ptr, memory._bufsize)
    return int(device[0]), device[1]


def settle(memory: Memory) -> None:
    """Wait on the host until memory is ready, once.

    Raises
    ------
    DeviceError
        When it must be waited for, and the CUDA runtime does not answer.
    """
    stream = stream_of(memory)
    if stream is None:
        return
    if memory._bufsize:
        kind, ordinal = pair_of(memory)
        if kind not in CUDA and kind != CPU[0]:
            raise DeviceError(
                f"the memory lies on {device_name(memory._device)} and is ready in the order of its default stream, "
                "which cannot be waited for here: synchronise the device with its own library, and lend it anew"
            )
        from .cuda import in_use, synchronize

        if in_use():
            synchronize(stream, ordinal)
    memory._stream = None


def admit_host(memory: Memory, what: str = "the memory") -> None:
    """Let the host read memory of a device: after what is queued before it. DeviceError where the host cannot."""
    if memory._device[0] not in HOST_READABLE and memory.device[0] not in HOST_READABLE:
        refuse_host(memory._device, what)
    settle(memory)
