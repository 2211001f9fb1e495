"""Devices: where memory lies.

Lives here: DLPack's numbers and names, and the one place in which the spellings of a device id (DLPack, the
interchange protocol, Arrow) become one. Must not know: pointers, libraries.
"""

from collections import namedtuple
from enum import IntEnum
from operator import index

from .errors import DeviceError, ProducerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple


class DeviceType(IntEnum):
    """Kinds of device, with the numbers of DLPack's `DLDeviceType` (`dlpack.h` 1.3) and its names without `kDL`.

    Numbers that no release of DLPack has given out stay plain integers and are treated as memory that the host cannot
    read.
    """

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10
    ROCM_HOST = 11
    EXT_DEV = 12
    CUDA_MANAGED = 13
    ONEAPI = 14
    WEBGPU = 15
    HEXAGON = 16
    MAIA = 17
    TRN = 18

    CPU_PINNED = 3  # the interchange protocol's name of CUDA_HOST


_KNOWN = {int(kind): kind for kind in DeviceType}

# Memory that a program on the host may read through its pointer. Managed memory only after its device was synchronised,
# which is the producer's duty where a protocol carries no stream.
HOST_READABLE = frozenset({1, 3, 11, 13})

UNKNOWN_ID = -1  # the producer named no ordinal: whoever needs one asks the pointer


if TYPE_CHECKING:

    class Device(NamedTuple):
        """A kind of device and its ordinal."""

        type: int
        id: int

else:

    class Device(namedtuple("Device", ["type", "id"])):
        """A kind of device and its ordinal.

        Parameters
        ----------
        type : DeviceType or int
            A number of DLPack; one that is not known stays an integer.
        id : int
            Ordinal of the device. 0 for the CPU, -1 for a device whose producer named none.

        Examples
        --------
        >>> CPU
        Device(type=<DeviceType.CPU: 1>, id=0)
        >>> CPU == (1, 0)
        True
        """

        __slots__ = ()


CPU = Device(DeviceType.CPU, 0)
_CPU_SPELLINGS = {(1, None): CPU, (1, 0): CPU, (1, -1): CPU}


def to_device(given: object, whose: str = "device") -> Device:
    """Return the `Device` that a pair of integers names.

    Parameters
    ----------
    given : tuple of (int, int or None)
        What `__dlpack_device__` returned or a caller passed. Enums of other libraries are read as their number.
    whose : str
        The field to name in an error.

    Raises
    ------
    ProducerError
        When `given` is no such pair.

    Notes
    -----
    The CPU's id is 0 here, whatever was said: the interchange protocol says None, Arrow -1, and jax counts several CPU
    devices in one address space.
    """
    if given is CPU:
        return CPU
    try:
        device = _CPU_SPELLINGS.get(given)  # type: ignore[call-overload]
    except TypeError:  # unhashable: a list, say
        device = None
    if device is not None:
        return device  # type: ignore[no-any-return]
    try:
        kind, ordinal = given  # type: ignore[misc]
        kind = index(kind)
        ordinal = UNKNOWN_ID if ordinal is None else index(ordinal)
    except (TypeError, ValueError):
        raise ProducerError(whose, got=given, expected="a pair (device type, device id) of integers") from None
    if not 0 < kind < 2**31 or not -1 <= ordinal < 2**31:
        raise ProducerError(whose, got=given, expected="a positive device type and an id of 0 or more")
    if kind == DeviceType.CPU:
        return CPU
    return Device(_KNOWN.get(kind, kind), ordinal)


def device_name(device: Device) -> str:
    """Return how a sentence names the device: `CUDA device 0`.

    Examples
    --------
    >>> device_name(Device(DeviceType.CUDA, 1)), device_name(Device(99, 0)), device_name(CPU)
    ('CUDA device 1', 'unknown (type 99) device 0', 'CPU memory')
    """
    kind, ordinal = device
    if kind == DeviceType.CPU:
        return "CPU memory"
    known = _KNOWN.get(int(kind))
    name = known.name if known is not None else f"unknown (type {kind})"
    return f"{name} device" if ordinal == UNKNOWN_ID else f"{name} device {ordinal}"


def require_host(device: Device, what: str) -> None:
    """Raise `DeviceError` unless the host may read memory of this device.

    Parameters
    ----------
    device : Device
        Where the memory lies.
    what : str
        What is being read, for the message.
    """
    if device[0] not in HOST_READABLE:
        raise DeviceError(
            f"{what} lies on {device_name(device)}, which the host cannot read; "
            "copy it to the host with the library that owns it, or read it with a library of that device"
        )
