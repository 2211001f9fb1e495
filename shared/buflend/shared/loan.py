"""Loans: what stands between memory that was lent and its owner.

Lives here: the objects that exported things hold, and the list of those that live. Must not know: how a protocol
exports.

A loan holds the raw owner, never the Buffer that was exported: what NumPy makes of it is invisible to the collector,
and a cycle through it would never be freed.
"""

import gc
import sys
from ctypes import addressof
from itertools import chain
from types import BuiltinMethodType
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


class Lent(NamedTuple):
    """What a `Loan` says, of memory that is lent where Arrow's registry has it: it may be made long before that."""

    owner: object
    kind: str
    ptr: int
    bufsize: int
    device: Device


class Taken(Lent):
    """A `Lent` that is held by one export; made by `tuple.__new__`, a fourth of what a class of Python's own takes."""

    __slots__ = ()


class ByteLoan(Anchor):
    """A loan of bytes through NumPy: an anchor that knows, weakly, the array made over it, its holder.

    The array's references count the exports. Cheaper than a `Loan`, since NumPy takes it as a buffer and no interface
    has to be written; its length is a lie, but what NumPy exports of the array shows nothing of it.
    """

    __slots__ = ("shell",)


class Keeper:
    """What keeps a shell for the exports to come."""

    shell: Any


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
    takes tens of milliseconds for a million of them; objects that `gc.freeze` has put aside are not found. Other
    threads may lend and return meanwhile. On a free-threaded build the collector shows what they are still making, and
    they fail: call it there where no other thread is at work.
    """
    view = getattr(sys.modules.get(f"{__package__}.dlpack_export"), "Shell", None)
    objects = _tracked(Loan, Taken, ByteLoan, Anchor, *([view] if view else []))
    kept = _kept_shells(objects)
    found = []
    for candidate in objects:
        kind = type(candidate)
        if kind is Taken:
            found.append(_export(candidate, 1))
        elif kind is Loan:
            # What it gets last, it may not have yet: another thread may be making it.
            if hasattr(candidate, "shell") and (exports := _exports(candidate.shell, kept)):
                found.append(_export(candidate, exports))
        elif kind is ByteLoan:
            shell = getattr(candidate, "shell", None)  # another thread may be making it
            if shell is not None and (exports := _exports(shell, kept)):
                array = shell()
                nbytes = -1 if array is None else array.nbytes
                found.append(Export("dlpack", candidate.owner, addressof(candidate), nbytes, CPU, exports))
        elif kind is view:
            exports = sys.getrefcount(candidate) - _LISTED - kept.get(id(candidate), 0)
            if exports > 0 and candidate.base is not None:  # a copy has no base
                found.append(Export("dlpack", candidate.base, candidate.ctypes.data, candidate.nbytes, CPU, exports))
        elif kind is Anchor and hasattr(candidate, "owner"):
            found.append(Export("view", candidate.owner, addressof(candidate), -1, CPU, 1))
    return found + _by_arrow()


def _tracked(*loans: type) -> list[Any]:
    """Return those of the collector's objects that say what is lent: of these classes, what keeps shells, and methods.

    The collector shows half-made tuples, too, and who makes one fails where somebody else holds it. So none but ours
    and what can be called is ever held, and all are looked through by compiled code that no other thread interrupts.
    """
    kinds: set[type] = set(loans)
    ahead: list[type] = [Keeper]
    while ahead:
        kinds.add(kind := ahead.pop())
        ahead += kind.__subclasses__()
    objects = [one for one in gc.get_referrers(*kinds) if type(one) in kinds]  # an instance refers to its class
    called = list(filter(callable, chain.from_iterable(map(gc.get_objects, (None,)))))
    return objects + [one for one in called if type(one) is BuiltinMethodType]


def _by_arrow() -> "list[Export]":
    """Return what structs of Arrow hold that were not released: in the registry, beside their pointers."""
    registry = getattr(sys.modules.get(f"{__package__}.arrow_release"), "_live", {})  # none yet, or half imported
    lent: dict[int, tuple[Lent, int]] = {}
    for kept in list(registry.values()):
        # Of an array: its pointers and its buffers, and the structs of its parts where it has any.
        inner = kept[0] if type(kept) is tuple and type(kept[0]) is tuple else kept
        for buffer in inner[1] if type(inner) is tuple else ():
            if buffer and type(buffer[1]) is Lent:
                lent[id(buffer[1])] = buffer[1], lent.get(id(buffer[1]), (None, 0))[1] + 1
    return [_export(one, times) for one, times in lent.values()]


def _export(lent: Loan | Lent, times: int) -> Export:
    return Export(lent.kind, lent.owner, lent.ptr, lent.bufsize, lent.device, times)


def _kept_shells(objects: list[Any]) -> dict[int, int]:
    """Return how many references to each shell, by address, wait for the next export: methods, and what completes."""
    kept: dict[int, int] = {}
    for candidate in objects:
        if type(candidate) is BuiltinMethodType:
            shell = candidate.__self__ if candidate.__name__ == "__dlpack__" else None
        else:
            shell = candidate.shell if issubclass(type(candidate), Keeper) and hasattr(candidate, "shell") else None
        if shell is not None:
            kept[id(shell)] = kept.get(id(shell), 0) + 1
    return kept


def _looking() -> int:
    one = object()
    return sys.getrefcount(one)


# References to a shell that are neither an export's nor kept for the next: a local name and getrefcount's argument, of
# which a newer interpreter counts but one.
_LOOKING = _looking()
_LISTED = _LOOKING + 1  # of a shell that is found in a list of objects


def _exports(shell: "ref[Any] | None", kept: dict[int, int]) -> int:
    """Return how many exports hold a loan: the references to its shell that are not accounted for otherwise."""
    if shell is None:
        return 1
    array = shell()
    return 0 if array is None else max(0, sys.getrefcount(array) - _LOOKING - kept.get(id(array), 0))
