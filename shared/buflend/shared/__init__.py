"""What both implementations stand on.

`minimal` and `maximal` import this package, it imports neither of them. It imports no library: NumPy and CuPy are
imported when the first array is made, and by the modules that make arrays only.
"""

from .device import CPU, Device, DeviceType
from .errors import BuflendError, CopyRequiredError, DeviceError, ProducerError
from .memory import STATIC

__all__ = ["CPU", "STATIC", "BuflendError", "CopyRequiredError", "Device", "DeviceError", "DeviceType", "ProducerError"]

__version__ = "0.1.0"

# Tracebacks and reprs show the name a user imports, not the private file.
for _name in __all__:
    if isinstance(_public := globals()[_name], type):
        _public.__module__ = __name__
del _name, _public
