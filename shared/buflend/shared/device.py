"""Devices: where memory lies.

Lives here: the pair of numbers that names a device, and the one place in which the spellings of a device id (DLPack,
the interchange protocol, Arrow) become one. Must not know: pointers, libraries.

The names of the numbers are an enum in `devicetype`, which is loaded when a name is asked for: `enum` and what it needs
cost more to import than the rest of `buflend.minimal`.
"""

from operator import index

from .errors import EXITS, DeviceError, ProducerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple, NoReturn, Self

    from .devicetype import DeviceType

# Device types of DLPack (`DLDeviceType`, `dlpack.h` 1.3) whose memory a program on the host may read through its
# pointer: CPU, CUDA_HOST, ROCM_HOST, CUDA_MANAGED. Managed memory only after its device was synchronised, which is the
# producer's duty where a protocol carries no stream.
HOST_READABLE = frozenset({1, 3, 11, 13})

UNKNOWN_ID = -1  # the producer named no ordinal: whoever needs one asks the pointer


if TYPE_CHECKING:

    class Device(NamedTuple):
        """A kind of device and its ordinal."""

        type: DeviceType | int
        id: int

else:

    class Device(tuple):
        """A kind of device and its ordinal: a named tuple.

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

        # Written out, since `collections.namedtuple` would cost a light import 1.5 ms of the 4 that it takes.
        __slots__ = ()
        _fields = __match_args__ = ("type", "id")

        def __new__(cls, type: "DeviceType | int", id: int) -> "Self":  # noqa: A002 - the names of the contract
            """Make the pair; nothing is checked."""
            return tuple.__new__(cls, (type, id))

        @property
        def type(self) -> "DeviceType | int":
            """The kind of device."""
            return _named(self[0])

        @property
        def id(self) -> int:
            """The ordinal."""
            return self[1]

        def __repr__(self) -> str:
            """Show both fields."""
            return f"Device(type={self.type!r}, id={self.id!r})"

        def __getnewargs__(self) -> "tuple[DeviceType | int, int]":
            """Pickle as two arguments."""
            return tuple(self)

        @classmethod
        def _make(cls, pair: "Any") -> "Self":
            return cls(*pair)

        def _asdict(self) -> "dict[str, Any]":
            return {"type": self.type, "id": self.id}

        def _replace(self, **changes: "Any") -> "Self":
            return type(self)(**{**self._asdict(), **changes})


def _named(number: int) -> "DeviceType | int":
    """Return the enum's member where the number has a name."""
    from .devicetype import DeviceType

    try:
        return DeviceType(number)
    except ValueError:
        return number


CPU = Device(1, 0)


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
    pair: Any = given
    try:
        first, second = pair
        kind: int = index(first)  # a plain one, whatever was given
        ordinal: int = UNKNOWN_ID if second is None else index(second)
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - foreign numbers may raise anything
        raise ProducerError(whose, got=given, expected="a pair (device type, device id) of integers") from None
    if kind == 1:
        return CPU
    if not 0 < kind < 2**31 or not -1 <= ordinal < 2**31:
        raise ProducerError(whose, got=given, expected="a positive device type and an id of 0 or more")
    return Device(kind, ordinal)


def device_name(device: Device) -> str:
    """Return how a sentence names the device.

    Examples
    --------
    >>> device_name(Device(2, 1)), device_name(Device(99, 0)), device_name(CPU)
    ('CUDA device 1', 'unknown (type 99) device 0', 'the CPU')
    """
    kind, ordinal = device.type, device.id
    if kind == CPU[0]:
        return "the CPU"
    name = getattr(kind, "name", f"unknown (type {kind})")
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
        refuse_host(device, what)


def refuse_host(device: Device, what: str) -> "NoReturn":
    """Raise `DeviceError` for memory that the host cannot read."""
    raise DeviceError(
        f"{what} lies on {device_name(device)}, which the host cannot read; "
        "copy it to the host with the library that owns it, or read it with a library of that device"
    )
