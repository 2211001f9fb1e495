"""Whether this machine has a driver for CUDA devices: some tests are of libraries that find none.

Lives here: the look, and the mark of those tests. Imported by tests, as `from .driver import absent`.
"""

import ctypes
import sys

import pytest


def is_there() -> bool:
    """Tell whether CUDA's driver can be loaded."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


absent = pytest.mark.skipif(is_there(), reason="a CUDA driver is there, and what is lent here is no device's memory")
"""Marks what is tested where libraries find no driver: their errors, and the memory that they would ask about."""
