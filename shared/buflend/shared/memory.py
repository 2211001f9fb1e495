"""Memory: one contiguous block with its owner, and the byte view over it.

Lives here: the record that both `Buffer` classes are (pointer, size, device, owner), how it is read from a foreign
object, and the anchor through which every view holds the owner. Must not know: NumPy, types, shapes, protocols.

The one rule: a view references the anchor, the anchor references the owner. Nothing made here can outlive the owner.
"""

import ctypes
import sys
from _weakref import CallableProxyType, ProxyType
from operator import index

from .device import CPU, Device, to_device
from .errors import EXITS, ProducerError, raised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, TypeVar

    Lent = TypeVar("Lent", bound="Memory")

_ADDRESSES = 1 << 8 * ctypes.sizeof(ctypes.c_void_p)
_PLAIN = _ADDRESSES // 4  # a pointer and a size below it need no closer look
_MOST_BYTES = sys.maxsize // 2 + 1  # of one block


class _Static:
    """The type of `STATIC`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "STATIC"

    def __reduce__(self) -> str:
        return "STATIC"


STATIC = _Static()
"""The owner of memory that is never freed: a C library's constant table, say."""


class Memory:
    """A contiguous block of bytes, on some device, and the object that keeps it alive.

    Parameters
    ----------
    ptr : int
        Address of the first byte. 0 only for an empty block.
    bufsize : int
        Size in bytes.
    owner : object
        Whose life guarantees the memory; a strong reference is held. `STATIC` for memory that is never freed.
    device : Device or tuple of (int, int), default CPU
        Where the memory lies.
    readonly : bool, default False
        Whether views over the memory refuse to be written through.

    Raises
    ------
    TypeError
        For an argument of the wrong type, and for an owner that is None.
    ValueError
        For a negative number, a null pointer to something, or a block that ends behind the last address.

    Notes
    -----
    Nothing is copied and nothing is read: the truth of a pointer cannot be checked.
    """

    # `_stream`: in the order of which stream the memory is ready, None where it is. Set where `_device` is not `CPU`.
    __slots__ = ("__weakref__", "_bufsize", "_device", "_owner", "_ptr", "_readonly", "_stream")

    def __init__(
        self,
        ptr: int,
        bufsize: int,
        *,
        owner: object,
        device: Device | tuple[int, int] = CPU,
        readonly: bool = False,
    ) -> None:
        if type(ptr) is not int or type(bufsize) is not int:
            ptr, bufsize = _integer_argument(ptr, "ptr"), _integer_argument(bufsize, "bufsize")
        if owner is None:
            raise TypeError(
                "owner: got None, expected the object that keeps the memory alive; "
                "memory that is never freed is marked with owner=STATIC of the shared package"
            )
        if not (0 < ptr < _PLAIN and 0 <= bufsize < _PLAIN) and (fault := _range_fault(ptr, bufsize)):
            raise ValueError(fault)
        self._ptr = ptr
        self._bufsize = bufsize
        self._owner = owner
        self._device = device if device is CPU else _device_argument(device)
        self._readonly = bool(readonly)
        self._stream: int | None = None

    __init__.__qualname__ = "Buffer.__init__"  # the class whose constructor a caller sees

    @property
    def ptr(self) -> int:
        """Address of the first byte; 0 is possible where `bufsize` is 0."""
        return self._ptr

    @property
    def bufsize(self) -> int:
        """Size in bytes."""
        return self._bufsize

    @property
    def device(self) -> Device:
        """Where the memory lies.

        Where its producer named no ordinal of a CUDA device, the pointer is asked, once; -1 where nobody answers.
        """
        device = self._device
        if device[1] < 0:
            from .access import located

            return located(self)
        return device

    @property
    def owner(self) -> object:
        """The object whose life guarantees the memory."""
        return self._owner

    @property
    def readonly(self) -> bool:
        """Whether views over the memory refuse to be written through."""
        return self._readonly

    def __repr__(self) -> str:
        """Show address, size, device, access and the owner's type; the memory itself is not read."""
        kind, ordinal = self._device.type, self._device.id
        where = f"{getattr(kind, 'name', kind)}:{ordinal}"
        owner = "STATIC" if self._owner is STATIC else type(self._owner).__qualname__
        return (
            f"<{type(self).__module__}.{type(self).__qualname__} ptr={self._ptr:#x} bufsize={self._bufsize} "
            f"device={where} {'readonly' if self._readonly else 'writable'} owner={owner}>"
        )

    def __reduce__(self) -> "NoReturn":
        """Refuse to be pickled or copied: an address means nothing elsewhere."""
        raise TypeError(
            f"cannot pickle or copy a {type(self).__qualname__}: an address has no meaning in another process; "
            "take the bytes, as in bytes(as_memoryview(buffer))"
        )


def share(cls: "type[Lent]", memory: Memory, start: int = 0, end: int | None = None) -> "Lent":
    """Return the bytes of a block from `start` to `end` as a block of the same owner."""
    made = cls.__new__(cls)
    made._ptr, made._bufsize = memory._ptr + start, (memory._bufsize if end is None else end) - start
    made._owner, made._device, made._readonly = memory._owner, memory._device, memory._readonly
    if made._device is not CPU:
        made._stream = memory._stream
    return made


def borrow(
    cls: "type[Lent]",
    foreign: object,
    whose: str = "buffer",
    device: Device | None = None,
    *,
    writable: bool = True,
) -> "Lent":
    """Return the memory that a foreign buffer describes by `__dlpack_device__`, `bufsize` and `ptr`.

    Parameters
    ----------
    cls : type
        The class of memory to make.
    foreign : object
        The foreign buffer; it becomes the owner, since only the buffer object is known to keep its memory.
    whose : str
        What to call the buffer in errors.
    device : Device, optional
        What `device_of(foreign)` returned, where it was asked already.
    writable : bool, default True
        Whether `readonly = False` of the foreign buffer is listened to. The interchange protocol has no such attribute,
        and what does not permit writing is not written to.

    Raises
    ------
    ProducerError
        When one of the three is missing, raises, or cannot be true.
    """
    if device is None:
        device = device_of(foreign, whose)
    bufsize = _integer(foreign, "bufsize", whose)
    ptr = _integer(foreign, "ptr", whose)
    if fault := _range_fault(ptr, bufsize):
        raise ProducerError(f"{whose}: ptr and bufsize", got=(ptr, bufsize), expected=f"a block of memory, but {fault}")
    readonly = True
    if writable:
        try:
            readonly = getattr(foreign, "readonly", True) is not False
        except BaseException as error:
            raise failed(whose, "readonly", error) from error
    return cls(ptr, bufsize, owner=foreign, device=device, readonly=readonly)


def describes(obj: object) -> bool:
    """Tell whether an object describes memory by `ptr`, `bufsize` and `__dlpack_device__`; asks for no value."""
    return offers(obj, "bufsize", "ptr", "__dlpack_device__")


def offers(obj: object, *names: str) -> bool:
    """Tell whether an object has all of these attributes.

    Looks at the type first: a property may raise anything, and one that raises is there all the same. A class offers
    nothing, its instances do. Nor does a weak proxy: it would be the owner, and keeps nothing alive.
    """
    kind = type(obj)
    if issubclass(kind, type) or kind in _PROXIES:
        return False
    try:
        return all(hasattr(kind, name) or hasattr(obj, name) for name in names)
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - an object whose attributes cannot even be looked up offers nothing
        return False


_PROXIES = (ProxyType, CallableProxyType)


def device_of(foreign: object, whose: str) -> Device:
    """Return the device of a foreign buffer, without asking for its pointer."""
    try:
        where = foreign.__dlpack_device__()  # type: ignore[attr-defined]
    except BaseException as error:
        raise failed(whose, "__dlpack_device__()", error) from error
    return to_device(where, f"{whose}: __dlpack_device__()")


def _integer_argument(value: object, name: str) -> int:
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: got {value!r}, expected an integer") from None


def _device_argument(device: object) -> Device:
    try:
        return to_device(device)
    except ProducerError as error:  # here it is the caller's mistake
        raise TypeError(f"device: got {device!r}, expected {error.expected}") from None


def _range_fault(ptr: int, bufsize: int) -> str:
    """Return what is wrong with the pair of numbers, or nothing."""
    if not 0 <= ptr < _ADDRESSES:
        return "ptr is no address of this machine"
    if not 0 <= bufsize <= _MOST_BYTES:
        return f"bufsize is not from 0 to {_MOST_BYTES} bytes"
    if ptr + bufsize > _ADDRESSES:
        return f"{bufsize} bytes from address {ptr:#x} on end behind the last address"
    if not ptr and bufsize:
        return f"ptr is 0 (NULL) while bufsize is {bufsize} bytes; a null pointer is legal for 0 bytes only"
    return ""


def failed(whose: str, field: str, error: BaseException) -> ProducerError:
    """Return the error for a producer that raised instead of answering; what a person or the exit raises goes on."""
    try:
        if isinstance(error, EXITS):
            raise error
        return ProducerError(f"{whose}: {field}", got=raised(error), expected="an answer")
    finally:
        del error  # its traceback holds this frame: a cycle would keep the producer


def _integer(foreign: object, name: str, whose: str) -> int:
    """Return an attribute of a foreign object that must be an integer; NumPy's and other libraries' integers are."""
    try:
        value = getattr(foreign, name)
    except BaseException as error:
        raise failed(whose, name, error) from error
    return foreign_integer(value, f"{whose}: {name}")


def foreign_integer(value: object, field: str) -> int:
    """Return a number that a foreign object gave as an integer; it is one of at most 64 bits."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - a foreign __index__ may raise anything
        raise ProducerError(field, got=value, expected="an integer") from None
    if not -(2**63) <= number < 2**64:
        raise ProducerError(field, got=f"an integer of {number.bit_length()} bits", expected="one of 64 bits at most")
    return number


class Anchor(ctypes.c_ubyte * _MOST_BYTES):  # type: ignore[misc]
    """Where a view meets foreign memory: an address, and the owner in a slot.

    One ctypes type serves every size, since a type per size costs microseconds and memory. Its length is therefore a
    lie, and it can be written: what is handed out is a view that was cut to size.
    """

    __slots__ = ("owner",)

    def _refuse(self, *_: object) -> "NoReturn":
        raise TypeError("an anchor is not the memory: its length is a lie; use the view that was made over it")

    __getitem__ = __setitem__ = __iter__ = __len__ = _refuse


anchor_at = Anchor.from_address


def exact_view(memory: Memory) -> memoryview:
    """Return the bytes of host memory as a view that holds the owner and is read-only where the memory is.

    Neither reads nor copies. The caller has looked at the device. Format is ctypes' `<B`, which array libraries read
    and Python cannot index. The view's `obj` is the anchor, so only arrays are made of it, whose `base` it becomes.
    """
    anchor = anchor_at(memory._ptr)
    anchor.owner = memory._owner
    view = memoryview(anchor)[: memory._bufsize]
    return view.toreadonly() if memory._readonly else view


def to_memoryview(memory: Memory) -> memoryview:
    """Return the bytes of host memory as a view of unsigned bytes (format `B`) that holds the owner.

    Its `obj` is a view with the same bounds and the same access, not the anchor: a PickleBuffer passes on the export of
    what it wraps, so that a memoryview of it is a view of the inner view.
    """
    try:
        from _pickle import PickleBuffer  # CPython's module in C alone: `pickle` imports much
    except ImportError:
        from pickle import PickleBuffer

    if memory._device is not CPU:
        from .access import admit_host

        admit_host(memory)
    return memoryview(PickleBuffer(exact_view(memory).cast("B")))
