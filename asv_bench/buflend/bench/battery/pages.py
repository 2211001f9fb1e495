"""Memory that forbids to be written, or ends where its pages end: a consumer that does either is seen to do it."""

import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(memory: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return a copy on a page that may not be written: a write ends the process by a signal."""
    with tempfile.TemporaryFile() as file:
        file.write(memory.tobytes())
        file.flush()
        return np.frombuffer(mmap.mmap(file.fileno(), memory.nbytes, access=mmap.ACCESS_READ), np.uint8)


def guarded(memory: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return a copy that ends where the mapped pages end: reading one byte more ends the process by a signal.

    The page behind belongs to a file that was cut off before it. Windows cannot cut a mapped file: there it is a plain
    copy.
    """
    size = memory.nbytes
    if os.name == "nt":
        return np.frombuffer(bytearray(memory.tobytes()), np.uint8)
    end = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    with tempfile.TemporaryFile() as file:
        file.truncate(end + mmap.PAGESIZE)
        pages = np.frombuffer(mmap.mmap(file.fileno(), end + mmap.PAGESIZE), np.uint8)
        file.truncate(end)
    inner = pages[end - size : end]
    inner[...] = np.frombuffer(memory.tobytes(), np.uint8)
    return inner
