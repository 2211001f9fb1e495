"""What a buffer offers depends on where its memory lies: a protocol that it cannot speak is absent.

Lives here: the descriptor that makes `hasattr` tell the truth, and the error of an absent protocol. Must not know: the
protocols.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from types import MethodType
from typing import Any

from ..shared.device import HOST_READABLE, device_name
from ..shared.errors import DeviceError
from ..shared.memory import Memory


class AbsentError(DeviceError, AttributeError):
    """A protocol that memory on this device cannot speak.

    An AttributeError, so that `hasattr` is False, and a BufferError, so that `memoryview()` fails as it should.
    """


class Offer:
    """A method, or with `value` a property, of those buffers only whose device type is among `devices`."""

    def __init__(self, function: Callable[..., Any], devices: AbstractSet[int], *, value: bool) -> None:
        self.function = function
        self.devices = devices
        self.value = value
        self.__doc__ = function.__doc__

    def __get__(self, obj: Memory | None, owner: type | None = None) -> Any:
        """Return the bound method or the value; the function itself where asked of the class."""
        if obj is None:
            return self.function
        device = obj._device
        if device[0] not in self.devices and (device[1] >= 0 or obj.device[0] not in self.devices):
            raise absent(obj, self.function.__name__)
        return _value(self.function, obj) if self.value else MethodType(self.function, obj)


def _value(function: Callable[..., Any], obj: Any) -> Any:
    """Return a property's value; absent where memory must be waited for and cannot be, so that `hasattr` answers."""
    try:
        return function(obj)
    except DeviceError as error:
        if isinstance(error, AbsentError):
            raise
        raise AbsentError(f"{function.__name__}: {error}") from error


def absent(obj: Memory, name: str) -> AbsentError:
    """Return the error for a protocol that the buffer's device rules out."""
    device = obj.device
    of_host = device[0] in HOST_READABLE and "cuda" not in name
    unready = " now: it is not ready, and waiting for it has failed" if of_host else ""
    return AbsentError(f"{name}: a buffer on {device_name(device)} does not speak this protocol{unready}")


def on_host(function: Callable[..., Any]) -> Any:
    """Make a method that buffers have whose memory the host can read."""
    return Offer(function, HOST_READABLE, value=False)


def host_value(function: Callable[..., Any]) -> Any:
    """Make a property that buffers have whose memory the host can read."""
    return Offer(function, HOST_READABLE, value=True)


def cuda_value(function: Callable[..., Any]) -> Any:
    """Make a property that buffers have whose memory a CUDA device can read: CUDA, CUDA_MANAGED."""
    return Offer(function, frozenset({2, 13}), value=True)


# What an object can be that a protocol asks for, and how a sentence says that it is not.
ARROW, ONE_PIECE, HOST = 1, 2, 4
_REASONS = {
    ARROW: "Arrow has no such type",
    ONE_PIECE: "it has several chunks",
    HOST: "the host cannot read its memory",
}


class Conditional:
    """A method, or with `value` a property, of objects that can be all that it needs.

    What an object can be is looked up once: it is in its slot `_can`, and `_look` finds it out.
    """

    def __init__(self, function: Callable[..., Any], needs: int, *, value: bool) -> None:
        self.function = function
        self.needs = needs
        self.value = value
        self.__doc__ = function.__doc__

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        """Return the bound method or the value; the function itself where asked of the class."""
        if obj is None:
            return self.function
        can = obj._can
        if can < 0:
            can = obj._can = obj._look()
        if lost := self.needs & ~can:
            reason = ", ".join(text for bit, text in _REASONS.items() if bit & lost)
            raise AbsentError(f"{self.function.__name__}: {reason}, so that it does not speak this protocol")
        return _value(self.function, obj) if self.value else MethodType(self.function, obj)


def offered(needs: int) -> Callable[[Callable[..., Any]], Any]:
    """Make a method of objects that can be all that it needs."""
    return lambda function: Conditional(function, needs, value=False)


def offered_value(needs: int) -> Callable[[Callable[..., Any]], Any]:
    """Make a property of objects that can be all that it needs."""
    return lambda function: Conditional(function, needs, value=True)
