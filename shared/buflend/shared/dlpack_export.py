"""DLPack out: capsules that NumPy makes and this file completes.

Lives here: the shell (an array over memory that it never reads) and what is stored into its capsule. Must not know:
what the memory means.

No deleter and no capsule destructor is Python code: a callback loses a pending exception and crashes at exit. Deleter
and destructor are NumPy's own, compiled; what they free is shell -> loan -> owner.

A shell over device memory must never escape: its repr would read it.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

from .cpython import IS_MAIN, capsule_pointer, require_main
from .device import CPU, Device
from .dlpack import (
    FIXED_BITS,
    IS_COPIED,
    LEGACY,
    NUMPY_TYPES,
    READ_ONLY,
    STAND_INS,
    VERSION,
    VERSIONED,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLTensor,
    Tensor,
    is_contiguous,
)
from .dlpack_method import Method
from .exporter import writable_address
from .loan import ByteLoan, Loan
from .memory import Memory, to_memoryview

# Arrays of an older NumPy know neither versions nor copies: what it cannot make goes out through callbacks.
_IS_OLD = tuple(map(int, np.__version__.split(".")[:2])) < (2, 1)

Export = Callable[..., object]

_TENSOR_AT = {LEGACY: DLManagedTensor.dl_tensor.offset, VERSIONED: DLManagedTensorVersioned.dl_tensor.offset}
_MOST_DIMENSIONS = 64  # of an ndarray
_DEVICE_AT, _DTYPE_AT = DLTensor.device.offset, DLTensor.dtype.offset
_word64, _word32 = ctypes.c_uint64.from_address, ctypes.c_uint32.from_address


def exporter(owner: object, tensor: Tensor, *, fresh: bool = False) -> Export:
    """Return the `__dlpack__` of a tensor: a callable with the four keywords of the protocol.

    Parameters
    ----------
    owner : object
        What every capsule keeps alive: the raw owner of the memory.
    tensor : Tensor
        Any device, type, shape and strides, known to NumPy or not. The memory is not read.
    fresh : bool, default False
        Whether this is memory of the host that was copied for this one export, which DLPack's flag then says.

    Returns
    -------
    callable
        NumPy's own method for CPU memory of a type that NumPy exports; else a method of ours that completes what NumPy
        makes.

    Raises
    ------
    InterpreterError
        In a subinterpreter, where the deleters of NumPy's capsules deadlock.
    BufferError
        For more than 64 dimensions.
    """
    require_main("DLPack export")
    if len(tensor.shape) > _MOST_DIMENSIONS:
        raise BufferError(f"shape: got {len(tensor.shape)} dimensions, expected {_MOST_DIMENSIONS} at most")
    if _IS_OLD:
        from .dlpack_light import exporter as light

        through_callbacks: Export = light(owner, tensor, fresh=fresh)
        return through_callbacks
    if fresh:
        return _Patched(owner, tensor, fresh=True).__dlpack__
    if tensor.device == CPU and tensor.dtype in NUMPY_TYPES:
        method: Export = _shell(owner, tensor, NUMPY_TYPES[tensor.dtype]).__dlpack__
        return method
    code, bits, lanes = tensor.dtype
    if not (0 <= code < 2**8 and 0 < bits < 2**8 and 0 < lanes < 2**16 and bits == FIXED_BITS.get(code, bits)):
        raise BufferError(f"dtype: got (code, bits, lanes) {tensor.dtype}, expected numbers that DLPack knows together")
    return (_Poked if tensor.dtype[1] * tensor.dtype[2] in STAND_INS else _Patched)(owner, tensor).__dlpack__


def bytes_exporter(memory: Memory) -> Export:
    """Return the `__dlpack__` of the bytes of CPU memory: what `exporter` returns, made faster."""
    if _IS_OLD or not IS_MAIN:
        return exporter(memory._owner, Tensor(memory._ptr, (memory._bufsize,), (1,), readonly=memory._readonly))
    loan = _loan_at(memory._ptr)
    loan.owner = memory._owner
    shell = _frombuffer(loan, _u1, memory._bufsize)
    if memory._readonly:
        shell.setflags(write=False)
    loan.shell = ref(shell)
    method: Export = shell.__dlpack__
    return method


def array_exporter(array: Any) -> Export:
    """Return the `__dlpack__` of the bytes of an ndarray in C order without a base: that of a view, which holds it."""
    if _IS_OLD or not IS_MAIN:
        raise BufferError("this export must be made in another way")
    shell = array.view(_u1, Shell) if array.ndim == 1 else Shell(array.nbytes, _u1, array)
    method: Export = shell.__dlpack__
    return method


class Shell(np.ndarray):
    """A view of a lent ndarray, which is its base and the owner: it needs no loan.

    An instance of a class that Python code made, it is known to the collector, where `live_exports` finds it.
    """

    __slots__ = ()


_loan_at = ByteLoan.from_address
_frombuffer, _u1 = np.frombuffer, np.dtype("u1")


def _shell(owner: object, tensor: Tensor, character: str) -> Any:
    """Return an array with the tensor's layout. Neither it nor NumPy reads the memory."""
    width = int(character[1:])
    loan = Loan(owner, "dlpack", tensor.ptr, tensor.nbytes, tensor.device)
    loan.__array_interface__ = {
        "version": 3,
        "shape": tensor.shape,
        "typestr": np.dtype(character).str,
        "data": (tensor.ptr or 1, tensor.readonly),  # NumPy before 2.4 misreads address 0, also of nothing
        "strides": tuple(step * width for step in tensor.strides),
    }
    shell = np.asarray(loan)
    loan.shell = ref(shell)
    return shell


class _Poked(Method):
    """A shell of the true layout, typed by a stand-in: two words are stored, device and type. Labelled 1.0 by NumPy."""

    def __init__(self, owner: object, tensor: Tensor) -> None:
        super().__init__(owner, tensor)
        self.dtype_word = int.from_bytes(bytes(DLDataType(*tensor.dtype)), sys.byteorder)
        self.shell = _shell(
            owner, tensor, NUMPY_TYPES.get(tensor.dtype) or STAND_INS[tensor.dtype[1] * tensor.dtype[2]]
        )

    def make(self, name: bytes, device: Device, *, copied: bool) -> object:
        options = {"copy": True} if copied else {}
        capsule = self.shell.__dlpack__(max_version=(1, 0) if name is VERSIONED else None, **options)
        at = capsule_pointer(capsule, name) + _TENSOR_AT[name]
        _word64(at + _DEVICE_AT).value = _device_word(device)
        _word32(at + _DTYPE_AT).value = self.dtype_word
        return capsule

    def make_copy(self, name: bytes, copy: bytearray) -> object:
        return _over_copy(self.tensor, copy).make(name, CPU, copied=False)


@lru_cache(maxsize=64)
def _device_word(device: Device) -> int:
    return int.from_bytes(bytes(DLDevice(*device)), sys.byteorder)


class _Patched(Method):
    """A blank shell, for what NumPy has no layout for: packed types below a byte, lanes. Every field is stored."""

    def __init__(self, owner: object, tensor: Tensor, *, fresh: bool = False) -> None:
        super().__init__(owner, tensor, fresh=fresh)
        # One extent of 2 with stride 0 never counts as contiguous, so every NumPy allocates the strides.
        ndim = len(tensor.shape)
        self.shell = _shell(owner, Tensor(1, (2,) * (ndim > 0) + (1,) * (ndim - 1), (0,) * ndim), "u1")
        loan: Any = self.shell.base
        loan.ptr, loan.bufsize, loan.device = tensor.ptr, tensor.nbytes, tensor.device

    def make(self, name: bytes, device: Device, *, copied: bool) -> object:
        if copied:
            return self.make_copy(name, self._copy())
        tensor = self.tensor
        capsule = self.shell.__dlpack__(max_version=(1, 0) if name is VERSIONED else None)
        address = capsule_pointer(capsule, name)
        managed: Any
        if name is VERSIONED:
            managed = DLManagedTensorVersioned.from_address(address)
            managed.major, managed.minor = VERSION
            managed.flags = READ_ONLY * tensor.readonly | IS_COPIED * self.fresh
        else:
            managed = DLManagedTensor.from_address(address)
        inner = managed.dl_tensor
        inner.data = None if 0 in tensor.shape else tensor.ptr
        inner.byte_offset = 0
        inner.device.type, inner.device.id = device
        inner.dtype.code, inner.dtype.bits, inner.dtype.lanes = tensor.dtype
        shape, strides = inner.shape, inner.strides
        for i in range(len(tensor.shape)):
            shape[i], strides[i] = tensor.shape[i], tensor.strides[i]
        return capsule

    def make_copy(self, name: bytes, copy: bytearray) -> object:
        return _over_copy(self.tensor, copy).make(name, CPU, copied=False)

    def _copy(self) -> bytearray:
        tensor = self.tensor
        if not is_contiguous(tensor.shape, tensor.strides):
            raise BufferError(
                "copy=True: elements below a byte, or of several lanes, are copied where they are contiguous"
            )
        return bytearray(to_memoryview(Memory(tensor.ptr, tensor.nbytes, owner=self.owner, device=tensor.device)))


def _over_copy(tensor: Tensor, copy: bytearray) -> _Patched:
    """Return the method of a copy in host memory, laid out as the original."""
    ptr = writable_address(copy) if copy else 0
    return _Patched(copy, tensor._replace(ptr=ptr, device=CPU, readonly=False), fresh=True)
