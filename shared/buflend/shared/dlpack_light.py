"""DLPack out where NumPy cannot be imported: structs of our own, with a Python deleter, hardened.

Lives here: the deleter, the capsule's destructor, and what keeps them harmless at exit. Must not know: what the memory
means.

They begin and end as `callback` has it. What is lent at exit is never returned: each live struct's deleter becomes the
address of a C function that does nothing.
"""

import atexit
import ctypes
import itertools
from array import array
from typing import Any

from .callback import AGAIN, DROP, TWICE, subscripted, taking, thunk
from .cpython import (
    address_of,
    capsule_is_valid_raw,
    capsule_pointer_raw,
    immortal,
    new_capsule,
    raw_calloc,
    raw_free,
    require_main,
)
from .device import CPU, Device
from .dlpack import (
    IS_COPIED,
    READ_ONLY,
    STRUCTS,
    VERSION,
    VERSIONED,
    Tensor,
    is_contiguous,
)
from .dlpack_method import Method
from .exporter import writable_address
from .loan import Loan
from .memory import Memory, to_memoryview

require_main("DLPack export")  # before any callback is made; each import tries again, and is told again

_Callback = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)

_live: dict[int, tuple[Loan, int, int]] = {}  # number in manager_ctx -> loan, address of the deleter's field, struct
_next_number = itertools.count(1).__next__


def exporter(owner: object, tensor: Tensor, *, fresh: bool = False) -> Any:
    """Return the `__dlpack__` of a tensor, as `dlpack_export.exporter` does."""
    return _Light(owner, tensor, fresh=fresh).__dlpack__


def _deleter_of(struct: Any) -> int:
    def deleter(
        taken: Any,
        _: object,
        arguments: tuple[int],
        let_go: Any = DROP,
        again: Any = AGAIN,
        number: Any = ctypes.c_void_p.from_address,
        context: int = struct.manager_ctx.offset,
        forget: Any = _live.pop,
        free: Any = subscripted(raw_free),  # noqa: B008 - bound, as all of them
        twice: range = TWICE,
        anything: Any = BaseException,
    ) -> object:
        (address,) = arguments
        interrupted: Any = None
        for _ in twice:
            try:
                forget(number(address + context).value, None)
            except anything as error:
                interrupted = [error]
            else:
                _ = free[address]  # once, and last
                break
        if taken:
            return let_go[taken] or -again
        if interrupted:
            raise interrupted.pop()
        return None

    return thunk(_Callback, taking(deleter))


def _destructor_of(name: bytes, struct: Any) -> int:
    def destructor(
        taken: Any,
        _: object,
        arguments: tuple[int],
        let_go: Any = DROP,
        again: Any = AGAIN,
        unused: Any = capsule_is_valid_raw,
        pointer: Any = capsule_pointer_raw,
        name: bytes = name,
        call: Any = _Callback,
        at: Any = ctypes.c_void_p.from_address,
        deleter: int = struct.deleter.offset,
        context: int = struct.manager_ctx.offset,
        find: Any = _live.get,
        twice: range = TWICE,
        anything: Any = BaseException,
    ) -> object:
        (capsule,) = arguments
        address = 0
        number: Any = None
        interrupted: Any = None
        for _ in twice:
            try:
                if number is None and unused(capsule, name):
                    address = pointer(capsule, name)
                    number = at(address + context).value
                for _ in twice:
                    if find(number) is not None:  # or it was deleted, and its memory is gone
                        call(at(address + deleter).value)(address)
                    del _
            except anything as error:
                interrupted = [error]
            else:
                break
        if taken:
            return let_go[taken] or -again
        if interrupted:
            raise interrupted.pop()
        return None

    return thunk(_Callback, taking(destructor))


_DELETER = {name: _deleter_of(struct) for name, struct in STRUCTS.items()}
_DESTRUCTOR = {name: _destructor_of(name, struct) for name, struct in STRUCTS.items()}
for _name in STRUCTS:
    immortal(_name)
immortal(_live)


@atexit.register
def _disarm(nothing: int = address_of("Py_IsInitialized")) -> None:
    """Make the deleters of what is still lent do nothing: after this, Python code can no longer be called."""
    for _, field, _ in list(_live.values()):
        ctypes.c_void_p.from_address(field).value = nothing
    _DELETER.update(dict.fromkeys(_DELETER, nothing))  # of what is lent from now on, by others' functions at exit


class _Light(Method):
    """Structs in memory of their own; shape and strides stand behind the struct."""

    def make(self, name: bytes, device: Device, *, copied: bool) -> object:
        if copied:
            return self.make_copy(name, self._copy())
        tensor, struct = self.tensor, STRUCTS[name]
        size = ctypes.sizeof(struct) + 16 * max(len(tensor.shape), 1)
        loan, number = Loan(self.owner, "dlpack", tensor.ptr, tensor.nbytes, tensor.device), _next_number()
        (address,) = map(raw_calloc, (1,), (size,))  # in one step, as `new_capsule` is called
        if not address:
            raise MemoryError
        _live[number] = loan, address + struct.deleter.offset, address
        try:
            return self._capsule(address, name, device, number)
        except BaseException:  # a signal's handler
            if _live.pop(number, None):
                raw_free(address)
            raise

    def _capsule(self, address: int, name: bytes, device: Device, number: int) -> object:
        tensor, struct = self.tensor, STRUCTS[name]
        ndim, head = len(tensor.shape), ctypes.sizeof(struct)
        managed: Any = struct.from_address(address)
        if name == VERSIONED:
            managed.major, managed.minor = VERSION
            managed.flags = READ_ONLY * tensor.readonly | IS_COPIED * self.fresh
        inner = managed.dl_tensor
        inner.data = None if 0 in tensor.shape else tensor.ptr
        inner.device.type, inner.device.id = device
        inner.ndim = ndim
        inner.dtype.code, inner.dtype.bits, inner.dtype.lanes = tensor.dtype
        layout = array("q", (*tensor.shape, *tensor.strides))  # an array type of ctypes would be made anew each time
        ctypes.memmove(address + head, layout.buffer_info()[0], 16 * ndim)
        inner.shape = ctypes.cast(address + head, type(inner.shape))
        inner.strides = ctypes.cast(address + head + 8 * ndim, type(inner.strides))
        managed.manager_ctx = number
        managed.deleter = _DELETER[name]
        (capsule,) = map(new_capsule, (address,), (name,), (_DESTRUCTOR[name],))
        return capsule

    def make_copy(self, name: bytes, copy: bytearray) -> object:
        tensor = self.tensor._replace(ptr=writable_address(copy) if copy else 0, device=CPU, readonly=False)
        return _Light(copy, tensor, fresh=True).make(name, CPU, copied=False)

    def _copy(self) -> bytearray:
        tensor = self.tensor
        if not is_contiguous(tensor.shape, tensor.strides):
            raise BufferError("copy=True: without NumPy, elements are copied where they are contiguous")
        return bytearray(to_memoryview(Memory(tensor.ptr, tensor.nbytes, owner=self.owner, device=tensor.device)))
