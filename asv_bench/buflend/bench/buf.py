"""A buffer of the dataframe interchange protocol that does what a test tells it to, lies included.

Lives here: the buffer, and what every object of the producer has in common. Must not know: what is right. Nothing is
checked; what a case announces is what a consumer is told, true or not.

The rule: a consumer that misreads must be *seen* to misread. A buffer can overwrite its memory when it dies, and every
object writes down what it was asked for.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

POISON = 0xEE
"""The byte that fills the memory of a dead buffer: no valid UTF-8, a negative integer, an absurd float."""

TRUTH: Any = ...
"""Stands for what is true, where something else can be announced."""

_GRAVES: list[npt.NDArray[np.uint8]] = []  # Keeps poisoned memory mapped: a late reader sees poison, not luck.


class Speaker:
    """Something that is asked: it writes down what for, and raises where it was told to."""

    def __init__(self, raises: Mapping[str, Exception] | None) -> None:
        self.asked: list[str] = []
        self._raises = dict(raises or {})

    def note(self, what: str) -> None:
        """Write down that `what` was asked for; raise the exception planned for it, if any."""
        self.asked.append(what)
        if what in self._raises:
            raise self._raises[what]


class Buf(Speaker):
    """A buffer of the protocol.

    Parameters
    ----------
    memory : ndarray or bytes
        What lies there. An array is used in place, bytes are copied to an aligned array.
    device : tuple, default (1, 0)
        What `__dlpack_device__` answers.
    ptr, bufsize : object, default TRUTH
        What is announced for the address and the size in bytes.
    poison : bool, default False
        Overwrite the memory with 0xEE when this object dies. The memory itself is then never freed, so that a consumer
        which did not keep this object reads poison every time.
    raises : mapping of str to Exception, optional
        What to raise when `ptr`, `bufsize` or `__dlpack_device__` is asked for.
    """

    def __init__(
        self,
        memory: npt.NDArray[Any] | bytes,
        *,
        device: Any = (1, 0),
        ptr: Any = TRUTH,
        bufsize: Any = TRUTH,
        poison: bool = False,
        raises: Mapping[str, Exception] | None = None,
    ) -> None:
        super().__init__(raises)
        array = np.frombuffer(bytearray(memory), np.uint8) if isinstance(memory, bytes) else memory
        self.memory: npt.NDArray[np.uint8] = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
        self.device = device
        self._ptr = ptr
        self._bufsize = bufsize
        self._poison = poison

    @property
    def address(self) -> int:
        """The true address of the first byte."""
        return int(self.memory.__array_interface__["data"][0])

    @property
    def ptr(self) -> Any:
        """The announced address."""
        self.note("ptr")
        return self.address if self._ptr is TRUTH else self._ptr

    @property
    def bufsize(self) -> Any:
        """The announced size in bytes."""
        self.note("bufsize")
        return self.memory.nbytes if self._bufsize is TRUTH else self._bufsize

    def __dlpack__(self) -> object:
        raise NotImplementedError("__dlpack__")

    def __dlpack_device__(self) -> Any:
        self.note("__dlpack_device__")
        return self.device

    def again(self) -> Self:
        """Return a new poisoning buffer with a copy of the memory, announcing the same."""
        options: dict[str, Any] = {
            "device": self.device,
            "ptr": self._ptr,
            "bufsize": self._bufsize,
            "raises": self._raises,
        }
        return type(self)(self.memory.copy(), poison=True, **options)

    def __del__(self) -> None:
        if getattr(self, "_poison", False):
            self.memory[...] = POISON
            _GRAVES.append(self.memory)
