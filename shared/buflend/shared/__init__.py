"""What both implementations stand on.

`minimal` and `maximal` import this package, it imports neither of them. It imports no library: NumPy and CuPy are
imported when the first array is made, and by the modules that make arrays only.
"""

from .device import CPU, Device
from .errors import BuflendError, CopyRequiredError, DeviceError, InterpreterError, ProducerError
from .memory import STATIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .devicetype import DeviceType

__all__ = [
    "CPU",
    "STATIC",
    "BuflendError",
    "CopyRequiredError",
    "Device",
    "DeviceError",
    "DeviceType",
    "InterpreterError",
    "ProducerError",
]

__version__ = "0.1.0"

# Tracebacks and reprs show the name a user imports, not the private file.
for _public in (BuflendError, CopyRequiredError, Device, DeviceError, InterpreterError, ProducerError):
    _public.__module__ = __name__
del _public


def __getattr__(name: str) -> object:
    if name != "DeviceType":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .devicetype import DeviceType

    DeviceType.__module__ = __name__
    globals()[name] = DeviceType
    return DeviceType


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
