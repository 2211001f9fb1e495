"""Loans: what stands between memory that was lent and its owner.

Lives here: the objects that exported things hold, and the list of those that live. Must not know: how a protocol
exports.

A loan holds the raw owner, never the Buffer that was exported: what NumPy makes of it is invisible to the collector,
and a cycle through it would never be freed.
"""

import gc
import sys
from ctypes import addressof, cast, py_object
from typing import Any, NamedTuple

from .device import CPU, Device
from .memory import Anchor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weakref import ref


class Loan:
    """What an export holds instead of its owner.

    Attributes
    ----------
    owner : object
        The object whose life guarantees the memory.
    kind : str
        The protocol.
    ptr, bufsize : int
        Address and bytes of what was lent.
    device : Device
        Where it lies.
    shell : weakref.ref or None
        The array whose references count the exports, where there is one.
    """

    __slots__ = ("__array_interface__", "__weakref__", "bufsize", "device", "kind", "owner", "ptr", "shell")

    __array_interface__: dict[str, Any]
    owner: object
    kind: str
    ptr: int
    bufsize: int
    device: Device
    shell: "ref[Any] | None"

    def __init__(self, owner: object, kind: str, ptr: int, bufsize: int, device: Device) -> None:
        self.owner = owner
        self.kind = kind
        self.ptr = ptr
        self.bufsize = bufsize
        self.device = device
        self.shell = None


class ByteLoan(Anchor):
    """A loan of bytes through NumPy: an anchor that knows the address of the array made over it, its only holder.

    The array's references count the exports. Cheaper than a `Loan`, since NumPy takes it as a buffer and no interface
    has to be written; its length is a lie, but what NumPy exports of the array shows nothing of it.
    """

    __slots__ = ("shell",)


class Export(NamedTuple):
    """One thing that was lent and is not returned.

    Attributes
    ----------
    kind : str
        The protocol: "dlpack", "arrow" and so on; "view" for arrays and memoryviews.
    owner : object
        The object that the loan keeps alive.
    ptr, bufsize : int
        Address and size in bytes; the size of a view is not recorded and given as -1.
    device : Device
        Where the memory lies.
    exports : int
        How many exports of this kind share the loan.
    """

    kind: str
    owner: object
    ptr: int
    bufsize: int
    device: Device
    exports: int


def live_exports() -> list[Export]:
    """Return what is lent now: every loan that an export, an array or a memoryview still holds.

    Returns
    -------
    list of Export
        The list holds the owners while it lives; nothing else here does.

    Notes
    -----
    Nothing is recorded when something is lent. The loans are found among all objects of the garbage collector, which
    takes milliseconds in a large process; objects that `gc.freeze` has put aside are not found.
    """
    found = []
    for candidate in gc.get_objects():
        kind = type(candidate)
        if kind is Loan:
            if exports := _exports(candidate):
                loan = (candidate.kind, candidate.owner, candidate.ptr, candidate.bufsize, candidate.device)
                found.append(Export(*loan, exports))
        elif kind is ByteLoan:
            shell = cast(candidate.shell, py_object).value  # the shell holds the loan, so it lives as long
            if exports := max(0, sys.getrefcount(shell) - _RESTING):
                owner, address = candidate.owner, addressof(candidate)
                found.append(Export("dlpack", owner, address, shell.nbytes, CPU, exports))
        elif kind is Anchor:
            found.append(Export("view", candidate.owner, addressof(candidate), -1, CPU, 1))
    return found


# References to a shell that no export holds: the method that a buffer keeps, a local name and getrefcount's argument.
_RESTING = 3


def _exports(loan: Loan) -> int:
    """Return how many exports hold the loan: references to its shell beyond the one a buffer keeps for the next."""
    if loan.shell is None:
        return 1
    shell = loan.shell()
    return 0 if shell is None else max(0, sys.getrefcount(shell) - _RESTING)
