"""Objects that expose exactly one protocol of another object, so that each protocol is tested alone.

Lives here: the wrappers, and memory whose return is counted. Imported by tests, as `from .only import only, lend`.
"""

import ctypes
from typing import Any

from buflend.maximal import Buffer

PROTOCOLS = {
    "dlpack": ("__dlpack__", "__dlpack_device__"),
    "array_interface": ("__array_interface__",),
    "cuda_array_interface": ("__cuda_array_interface__",),
    "array": ("__array__",),
    "buffer": ("__buffer__",),
    "arrow_array": ("__arrow_array__",),
    "arrow_c_schema": ("__arrow_c_schema__",),
    "arrow_c_array": ("__arrow_c_array__",),
    "arrow_c_device_array": ("__arrow_c_device_array__",),
    "description": ("ptr", "bufsize", "__dlpack_device__"),
    "dataframe": ("__dataframe__",),
}
"""Name of a protocol -> all that an object with this protocol alone has."""

VALUES = {"__array_interface__", "__cuda_array_interface__", "ptr", "bufsize"}
"""Names that are read, not called."""


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(self._wrapped, name)(*args, **options)

    method.__name__ = name
    return method


def _value(name: str) -> Any:
    return property(lambda self: getattr(self._wrapped, name))


def _init(self: Any, wrapped: object) -> None:
    self._wrapped = wrapped


def _class(protocol: str, names: tuple[str, ...]) -> type:
    members = {name: _value(name) if name in VALUES else _method(name) for name in names}
    return type(f"Only_{protocol}", (), {"__init__": _init, **members})


_CLASSES = {protocol: _class(protocol, names) for protocol, names in PROTOCOLS.items()}


def only(wrapped: object, protocol: str) -> Any:
    """Return an object that has one protocol of `wrapped`, on its type as consumers expect, and no other.

    It holds `wrapped`; what a consumer makes of it must not.
    """
    return _CLASSES[protocol](wrapped)


class Owner:
    """Memory whose return is counted, and poisoned when it is returned, so that a read afterwards shows.

    Aligned to 64 bytes, since JAX copies what is not.
    """

    def __init__(self, returned: list[int], content: bytes) -> None:
        self.memory = (ctypes.c_ubyte * (len(content) + 64))()
        start = ctypes.addressof(self.memory)
        self.address = start + -start % 64
        ctypes.memmove(self.address, content, len(content))
        self.size = len(content)
        self.returned = returned

    def __del__(self, fill: Any = ctypes.memset) -> None:
        fill(self.address, 0xEE, self.size)
        self.returned.append(1)


CONTENT = bytes(range(3, 67))
"""What is lent where a test names nothing else: 64 bytes."""


def lend(
    content: bytes = CONTENT, *, device: tuple[int, int] = (1, 0), readonly: bool = False
) -> tuple[Buffer, list[int]]:
    """Return a buffer over host memory, whatever its device says, and a list that gets an element at each return."""
    returned: list[int] = []
    owner = Owner(returned, content)
    buffer = Buffer(owner.address, len(content), owner=owner, device=device, readonly=readonly)  # type: ignore[arg-type]
    return buffer, returned
