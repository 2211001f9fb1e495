"""The maximal buffer: pointer, size, device and owner, and every protocol that memory there can speak.

Lives here: the wiring of the dunders, the ladder of the one factory, and the views. What each protocol says stands in
its own file.
"""

from typing import TYPE_CHECKING, Any, SupportsIndex

from ..shared import arrays, dlpack_table, memory
from ..shared.device import CPU, HOST_READABLE
from ..shared.errors import ProducerError
from . import (
    array_interface,
    arrow,
    buffer_protocol,
    cuda_array_interface,
    description,
    dlpack,
    native,
    pickling,
)
from .found import Found, first_answer
from .offer import absent, cuda_value, host_value, on_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray


class Buffer(memory.Memory):
    """A contiguous range of bytes on some device, lent by every protocol that can say so.

    Parameters
    ----------
    ptr : int
        Address of the first byte. 0 only for an empty buffer.
    bufsize : int
        Size in bytes.
    owner : object
        The object whose life guarantees the memory. The buffer, every view and every export holds a reference.
        `buflend.shared.STATIC` for memory that is never freed.
    device : Device or tuple of (int, int), default CPU
        Where the memory lies, in DLPack's numbers.
    readonly : bool, default False
        Whether views and exports refuse to be written through.

    Notes
    -----
    Nothing is copied and nothing is read. Every protocol gives one dimension of unsigned bytes. What memory on a device
    cannot speak is absent: `hasattr` is False.

    Some consumers have no read-only arrays: PyTorch ignores DLPack's flag and writes. Where that matters, export a copy
    (`copy=True`).

    Examples
    --------
    >>> import numpy as np
    >>> buffer = as_buffer(b"lent")
    >>> np.from_dlpack(buffer).tolist()
    [108, 101, 110, 116]
    >>> hasattr(buffer, "__array_interface__"), hasattr(buffer, "__cuda_array_interface__")
    (True, False)
    """

    __slots__ = ("__dlpack__",)

    # NumPy's own method, bound to an array over the memory: no Python runs when it is called. Made when it is first
    # asked for, and at once over an ndarray, where it costs little.
    __dlpack__: Any

    def __getattr__(self, name: str) -> Any:
        if name == "__dlpack__":
            self.__dlpack__ = method = dlpack.method(self)
            return method
        if name == "_ptr":  # of an ndarray, which takes longer to tell than all else
            self._ptr, *_ = native.read_ndarray(self._owner)
            return self._ptr
        if name in _BY_DEVICE:
            raise absent(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device as a pair of plain integers (device type, device id), as DLPack numbers them."""
        if self._device is CPU:
            return 1, 0
        from ..shared.access import pair_of

        return pair_of(self)

    @property
    def native(self) -> native.Native:
        """The library whose own buffer the owner is."""
        return native.native_of(self._owner)

    @host_value
    def __array_interface__(self) -> dict[str, Any]:
        """Return NumPy's array interface, version 3: bytes, by address."""
        return array_interface.interface(self)

    @cuda_value
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Return the CUDA array interface, version 3: bytes, by address, and the stream to wait for, if any."""
        return cuda_array_interface.interface(self)

    @on_host
    def __array__(self, dtype: "DTypeLike | None" = None, copy: bool | None = None) -> "NDArray[Any]":  # noqa: FBT001 - NumPy's
        """Return the bytes as an ndarray, a view unless another dtype or a copy is asked for."""
        import numpy as np

        view = arrays.whole_ndarray(self, "uint8")
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError(f"copy=False: bytes become {np.dtype(dtype)} only in a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    @on_host
    def __buffer__(self, flags: int, /) -> memoryview:
        """Return the bytes as a memoryview (PEP 688, Python 3.12 and newer)."""
        return buffer_protocol.export(self, flags)

    @on_host
    def memoryview(self) -> memoryview:
        """Return the bytes as a memoryview, on every Python; read-only where the buffer is."""
        return memory.to_memoryview(self)

    @on_host
    def __arrow_array__(self, type: Any = None) -> Any:  # noqa: A002 - pyarrow's name
        """Return the bytes as a pyarrow array of uint8; imports pyarrow."""
        return arrow.pyarrow_array(self, type)

    def __arrow_c_schema__(self) -> object:
        """Return the `arrow_schema` capsule: uint8, not nullable."""
        return arrow.schema()

    @on_host
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return the bytes as `arrow_schema` and `arrow_array` capsules."""
        return arrow.array(self, requested_schema)

    def __arrow_c_device_array__(self, requested_schema: object = None, **kwargs: Any) -> tuple[object, object]:
        """Return the bytes as `arrow_schema` and `arrow_device_array` capsules."""
        return arrow.device_array(self, requested_schema, **kwargs)

    def to_host(self) -> "Buffer":
        """Return a buffer in host memory with the same bytes: itself where the host can read it, else a copy.

        What is queued for the memory is waited for.

        Raises
        ------
        DeviceError
            When the memory is not CUDA's, or the CUDA runtime does not answer.
        """
        if self.device[0] in HOST_READABLE:
            if self._device is not CPU:
                from ..shared.access import settle

                settle(self)
            return self
        from ..shared.cuda import to_host

        return as_buffer(to_host(self._owner, dlpack.tensor_of(self)))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle the bytes: out of band with protocol 5 where the pickler takes them so."""
        return pickling.reduce(self, protocol.__index__(), _restore)


# Names that are there or not by device; looked up only where the descriptor has said no.
_BY_DEVICE = frozenset(
    {
        "__array__",
        "__array_interface__",
        "__arrow_array__",
        "__arrow_c_array__",
        "__buffer__",
        "__cuda_array_interface__",
        "memoryview",
    }
)


def _restore(data: object, readonly: bool) -> Buffer:  # noqa: FBT001 - pickle passes arguments by position
    """Return a buffer over bytes that came from a pickle."""
    found = as_buffer(data)
    return Buffer(found.ptr, found.bufsize, owner=found.owner, readonly=readonly or found.readonly)


# What is asked of any other object, in order: the first that is offered and answers is taken.
_LADDER = (
    dlpack_table.read,
    dlpack.read,
    cuda_array_interface.read,
    array_interface.read,
    buffer_protocol.read,
    description.read,
)
# The same for a consumer with a stream, which it puts behind the producer's at once.
_UNORDERED = tuple(
    cuda_array_interface.read_unordered if read is cuda_array_interface.read else read for read in _LADDER
)


def as_buffer(obj: object) -> Buffer:
    """Return a buffer over the memory that an object offers, without a copy.

    Parameters
    ----------
    obj : object
        A `Buffer`, which is returned as it is, or an object that offers, in this order: its library's own buffer
        (ndarray, `pyarrow.Buffer`, CuPy array); DLPack, by the C exchange table of its type or by a capsule of either
        struct; `__cuda_array_interface__`; `__array_interface__`; the buffer protocol; `ptr`, `bufsize` and
        `__dlpack_device__`.

    Returns
    -------
    Buffer
        Its owner is what keeps the memory: the native buffer or the object itself, an unused DLPack capsule, or the
        memoryview that holds an export. Read-only where the protocol says so.

    Raises
    ------
    TypeError
        When the object offers none of these.
    ProducerError
        When what it says of its memory cannot be true, or it offers a protocol and every one fails.
    CopyRequiredError
        When its bytes are not contiguous.
    DeviceError
        When it must be waited for and the device's runtime does not answer.

    Notes
    -----
    What DLPack's producers of CUDA and ROCm memory have queued comes before the work of their default stream from this
    call on; exports of the buffer pass that on, to other streams and to the host. The stream that a CUDA array
    interface names is waited for on the host. Of memory described by a pointer, nothing may be pending.
    """
    reader = _natives.get(type(obj)) or native.reader(type(obj))
    if reader is _read_ndarray and (short := _over_ndarray(obj)) is not None:
        return short
    if reader is not None and (found := reader(obj)) is not None:
        # Its numbers are the library's own: the short way, without the checks.
        made = _new(Buffer)
        made._ptr, made._bufsize, made._owner, made._device, made._readonly, made._stream = found
        return made
    if issubclass(type(obj), Buffer):
        return obj  # type: ignore[return-value]
    if issubclass(type(obj), memory.Memory):
        return memory.share(Buffer, obj)  # type: ignore[arg-type]
    return _answered(obj, _LADDER)


def _answered(obj: object, ladder: "Sequence[Any]") -> Buffer:
    found = first_answer(obj, ladder)
    if found is not None:
        return checked(found, type(obj).__name__)
    raise TypeError(
        f"cannot read the memory of a {type(obj).__module__}.{type(obj).__qualname__}: looked for a Buffer, for a "
        "native buffer of NumPy, pyarrow or CuPy, for __dlpack__, __cuda_array_interface__, __array_interface__, the "
        "buffer protocol (PEP 3118), and for ptr + bufsize + __dlpack_device__"
    )


_natives, _new, _read_ndarray, _NUMBERS = native.readers, object.__new__, native.read_ndarray, native.PLAIN


def _over_ndarray(array: Any) -> Buffer | None:
    """Return the buffer of an ndarray that owns numbers in C order; its address is looked up when it is asked for.

    None for any other ndarray. Of a view NumPy would let an export hold what the view is of, and not the owner.
    """
    flags = array.flags
    if array.base is not None or array.dtype.kind not in _NUMBERS or not flags.c_contiguous:
        return None
    made = _new(Buffer)
    made._bufsize = array.nbytes
    made._owner = array
    made._device = CPU
    made._readonly = not flags.writeable
    try:
        made.__dlpack__ = dlpack.of_array(array)
    except BufferError:  # a subinterpreter, or NumPy before 2.1: seen to when the export is asked for
        pass
    return made


def checked(found: Found, whose: str) -> Buffer:
    """Return the buffer of what a producer said; ProducerError where that can be no memory."""
    ptr, bufsize, owner, device, readonly, stream = found
    try:
        made = Buffer(ptr, bufsize, owner=owner, device=device, readonly=readonly)
    except ValueError as error:
        raise ProducerError(whose, got=(ptr, bufsize), expected=f"a block of memory, but {error}") from None
    made._stream = stream
    return made


def as_ndarray(
    buffer: object,
    dtype: "DTypeLike" = "uint8",
    *,
    shape: "int | Sequence[int] | None" = None,
    strides: "int | Sequence[int] | None" = None,
    offset: int = 0,
) -> "NDArray[Any]":
    """View a buffer in host memory as a NumPy array, without a copy.

    Parameters, result and errors are those of `buflend.minimal.as_ndarray`; what `as_buffer` of this package reads is
    taken.
    """
    # Not by what it says of its class; and mostly it is just this one.
    ours = type(buffer) is Buffer or issubclass(type(buffer), memory.Memory)
    lent: Any = buffer if ours else as_buffer(buffer)
    if shape is None and strides is None and type(offset) is int and not offset:
        return arrays.whole_ndarray(lent, dtype)
    return arrays.to_ndarray(lent, dtype, shape, strides, offset)


def as_cupy(
    buffer: object,
    dtype: "DTypeLike" = "uint8",
    *,
    shape: "int | Sequence[int] | None" = None,
    strides: "int | Sequence[int] | None" = None,
    offset: int = 0,
) -> Any:
    """View a buffer in CUDA memory as a CuPy array, without a copy.

    Parameters, result and errors are those of `buflend.minimal.as_cupy`; what `as_buffer` of this package reads is
    taken. The work that CuPy's current stream gets from now on comes behind what the producer has queued, and the host
    does not wait.
    """
    lent: Any = buffer
    if not issubclass(type(buffer), memory.Memory):
        lent = as_buffer(buffer) if native.reader(type(buffer)) else _answered(buffer, _UNORDERED)
    return arrays.to_cupy(lent, dtype, shape, strides, offset)


def as_memoryview(buffer: object) -> memoryview:
    """View a buffer in host memory as bytes, without NumPy and without a copy.

    Parameters, result and errors are those of `buflend.minimal.as_memoryview`; what `as_buffer` of this package reads
    is taken.
    """
    lent: Any = buffer if issubclass(type(buffer), memory.Memory) else as_buffer(buffer)
    return memory.to_memoryview(lent)
