"""DLPack producers of which every field can be set, for tests of what reads them.

Layouts are written out from `dlpack.h` 1.3 with `struct`, not taken from the library, so that a wrong offset there
shows. What a deleter and a capsule's destructor saw is recorded. Both are Python, so each starts with a harmless call:
with an exception pending the first call into C raises SystemError instead.
"""

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

from buflend.maximal import as_buffer

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
SIZE = 64  # bytes of a lent block

_TENSOR = "QiiiBBHQQQ"  # data, device, ndim, dtype, shape, strides, byte_offset
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", ctypes.pythonapi))
_get_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
# For the destructor, where the capsule has no references left.
_raw_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_immortal = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Current = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)

# Address of a struct -> what it lends. Nothing is ever taken out, so that no address is used twice and a second call of
# a deleter is seen.
_lent: dict[int, "Lent"] = {}
_names: dict[bytes, Any] = {}


def _name(text: bytes) -> int:
    """Return the address of a name, which lives for ever."""
    return ctypes.addressof(_names.setdefault(text, ctypes.create_string_buffer(text)))


def _settle() -> None:
    try:  # noqa: SIM105 - `suppress` would be the first call itself
        len(())
    except SystemError:
        pass


def _deleter(address: int) -> None:
    _settle()
    _lent[address].deleted.append(threading.get_ident())
    _lent[address].poison()
    _lent[address].held = None


def _destructor(capsule: int) -> None:
    _settle()
    name = _raw_name(capsule)
    address = _raw_pointer(capsule, name)
    text = ctypes.string_at(name) if name else b""
    _lent[address].ended.append(text)
    if text in {LEGACY, VERSIONED}:
        deleter = _lent[address].deleter
        if deleter:
            _Callback(deleter)(address)


_THUNKS = (_Callback(_deleter), _Destructor(_destructor))
_immortal(_THUNKS)
_DELETER, _DESTRUCTOR = (ctypes.cast(thunk, ctypes.c_void_p).value or 0 for thunk in _THUNKS)


class Lent:
    """What a capsule lends, and what became of it.

    Attributes
    ----------
    memory : ctypes array
        64 bytes of the values 0 to 63; of the value 0xDD once the deleter was called.
    deleted : list of int
        Thread of each call of the deleter.
    ended : list of bytes
        Name that the capsule had when it was destroyed.
    held : object
        What the deleter lets go.
    """

    def __init__(self) -> None:
        self.memory = (ctypes.c_ubyte * SIZE)(*range(SIZE))
        self.ptr = ctypes.addressof(self.memory)
        self.deleted: list[int] = []
        self.ended: list[bytes] = []
        self.deleter = 0
        self.held: object = None
        self.kept: tuple[Any, ...] = ()

    def poison(self) -> None:
        """Overwrite the memory, so that who reads on is found out."""
        ctypes.memset(self.ptr, 0xDD, SIZE)


def tensor_bytes(
    lent: Lent,
    *,
    data: int | None = None,
    device: tuple[int, int] = (1, 0),
    ndim: int | None = None,
    dtype: tuple[int, int, int] = (1, 8, 1),
    shape: tuple[int, ...] | None = (SIZE,),
    strides: tuple[int, ...] | None = None,
    byte_offset: int = 0,
) -> bytes:
    """Return the bytes of a DLTensor; `shape` and `strides` None are NULL, `data` None is the lent block."""
    extents, steps = (numbers and (ctypes.c_int64 * len(numbers))(*numbers) for numbers in (shape, strides))
    lent.kept += (extents, steps)
    return struct.pack(
        f"={_TENSOR}",
        lent.ptr if data is None else data,
        *device,
        len(shape or ()) if ndim is None else ndim,
        *dtype,
        ctypes.addressof(extents) if extents else 0,
        ctypes.addressof(steps) if steps else 0,
        byte_offset,
    )


def lend(
    *,
    versioned: bool = True,
    version: tuple[int, int] = (1, 3),
    flags: int = 0,
    name: bytes | None = None,
    deleter: bool = True,
    held: object = None,
    **tensor: Any,
) -> tuple[object, Lent]:
    """Return a capsule and what it lends; the other keywords are those of `tensor_bytes`."""
    lent = Lent()
    lent.held = held
    described = tensor_bytes(lent, **tensor)
    lent.deleter = _DELETER if deleter else 0
    if versioned:
        raw = struct.pack("=IIQQQ", *version, 0, lent.deleter, flags) + described
    else:
        raw = described + struct.pack("=QQ", 0, lent.deleter)
    managed = ctypes.create_string_buffer(raw, len(raw))
    lent.kept += (managed,)
    address = ctypes.addressof(managed)
    _lent[address] = lent
    unused = VERSIONED if versioned else LEGACY
    return _new_capsule(address, _name(unused if name is None else name), _DESTRUCTOR), lent


def rename(capsule: object, name: bytes) -> None:
    """Give a capsule another name, as a consumer does."""
    _set_name(capsule, _name(name))


def name_of(capsule: object) -> bytes:
    """Return the name of a capsule."""
    return ctypes.string_at(_get_name(capsule))


def struct_of(capsule: object) -> int:
    """Return the address that a capsule holds."""
    address: int = _get_pointer(capsule, _get_name(capsule))
    return address


def read_struct(capsule: object) -> dict[str, Any]:
    """Return what the struct of an unused capsule says, numbers only."""
    address, said = struct_of(capsule), {}
    if name_of(capsule) == VERSIONED:
        major, minor, _, said["deleter"], said["flags"] = struct.unpack("=IIQQQ", ctypes.string_at(address, 32))
        said["version"] = major, minor
        address += 32
    else:
        said["deleter"] = struct.unpack("=Q", ctypes.string_at(address + 56, 8))[0]
    data, kind, ordinal, ndim, *dtype, shape, strides, said["byte_offset"] = struct.unpack(
        f"={_TENSOR}", ctypes.string_at(address, 48)
    )
    extents, steps = (struct.unpack(f"={ndim}q", ctypes.string_at(at, 8 * ndim)) for at in (shape, strides))
    return said | {
        "data": data, "device": (kind, ordinal), "dtype": tuple(dtype), "shape": extents, "strides": steps
    }  # fmt: skip


def consume(capsule: object) -> Callable[[], None]:
    """Take a capsule over, as a consumer in C does; return what calls the deleter."""
    name, address = name_of(capsule), struct_of(capsule)
    at = address + (16 if name == VERSIONED else 56)
    rename(capsule, b"used_" + name)
    deleter = _Callback(ctypes.c_uint64.from_address(at).value)
    return lambda: deleter(address)


def refusal(kind: type[Exception], obj: object) -> str:
    """Return the text of the error that `as_buffer` must raise; the error itself is gone, with all that it held."""
    try:
        made = as_buffer(obj)
    except Exception as error:
        if type(error) is not kind:
            raise
        return str(error)
    raise AssertionError(f"accepted: {made!r}")


class Producer:
    """An object that speaks DLPack and nothing else; keywords are those of `lend`.

    Attributes
    ----------
    asked : list of dict
        The keywords of each call of `__dlpack__`.
    lent : list of Lent
        What each capsule lends.
    """

    def __init__(self, *, announced: object = None, **fields: Any) -> None:
        self.announced = fields.get("device", (1, 0)) if announced is None else announced
        self.fields = fields
        self.asked: list[dict[str, Any]] = []
        self.lent: list[Lent] = []

    def __dlpack_device__(self) -> object:
        return self.announced

    def __dlpack__(self, **options: Any) -> object:
        self.asked.append(options)
        capsule, lent = lend(**self.fields)
        self.lent.append(lent)
        return capsule


def table(
    fill: Callable[[int], int],
    *,
    version: tuple[int, int] = (1, 3),
    previous: object = None,
    empty: bool = False,
    stream: Callable[[int, int], tuple[int, int]] | None = None,
) -> object:
    """Return a C exchange table as a capsule; `fill` writes a DLTensor to an address and returns a status.

    With `empty` the table lacks the function; `previous` is the capsule of an older table; `stream` takes a device and
    returns a status and the handle of the stream that is current there.
    """

    def callback(_: int, out: int) -> int:
        return fill(out)

    def current(kind: int, ordinal: int, out: int) -> int:
        assert stream is not None
        status, handle = stream(kind, ordinal)
        ctypes.c_void_p.from_address(out).value = handle
        return status

    thunk, told = _Fill(callback), _Current(current)
    older = 0 if previous is None else struct_of(previous)
    function = 0 if empty else ctypes.cast(thunk, ctypes.c_void_p).value or 0
    work = ctypes.cast(told, ctypes.c_void_p).value if stream else 0
    # Version, older table, allocator, managed from Python, managed to Python, tensor from Python, stream.
    raw = struct.pack("=IIQQQQQQ", *version, older, 0, 0, 0, function, work or 0)
    managed = ctypes.create_string_buffer(raw, len(raw))
    _immortal((thunk, told, managed, previous))
    return _new_capsule(ctypes.addressof(managed), _name(b"dlpack_exchange_api"), None)
