"""The minimal buffer: pointer, size, device, and the owner that must be kept alive.

Lives here: the class, the one factory that reads a foreign object, and the views. Must not know: ctypes, array
libraries.
"""

from ..shared import arrays, exporter, memory
from ..shared.device import CPU

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import DTypeLike, NDArray


class Buffer(memory.Memory):
    """A contiguous range of bytes on some device, and the owner that keeps it alive.

    Untyped and without strides: what the bytes mean is said by whoever views them.

    Parameters
    ----------
    ptr : int
        Address of the first byte. 0 only for an empty buffer.
    bufsize : int
        Size in bytes.
    owner : object
        The object whose life guarantees the memory. The buffer, and every view made of it, holds a reference.
        `buflend.shared.STATIC` for memory that is never freed.
    device : Device or tuple of (int, int), default CPU
        Where the memory lies, in DLPack's numbers.
    readonly : bool, default False
        Whether views refuse to be written through.

    Raises
    ------
    TypeError
        For an argument of the wrong type, and for an owner that is None.
    ValueError
        For a negative number, a null pointer to something, or a block that ends behind the last address.

    Notes
    -----
    Nothing is copied and nothing is read: whether `ptr` is true cannot be checked. A buffer does not change after it
    was made. The attributes `ptr`, `bufsize` and `__dlpack_device__` are those of the buffer of the dataframe
    interchange protocol (`Buffer` in `dataframe_protocol.py`); `owner` and `readonly` are what it lacks.

    Examples
    --------
    >>> import array
    >>> numbers = array.array("q", [3, 4, 5])
    >>> address, length = numbers.buffer_info()
    >>> buffer = Buffer(address, length * 8, owner=numbers)
    >>> as_ndarray(buffer, "int64").tolist()
    [3, 4, 5]
    """

    __slots__ = ()

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device as a pair of plain integers (device type, device id), as DLPack numbers them."""
        if self._device is CPU:
            return 1, 0
        from ..shared.access import pair_of

        return pair_of(self)


def as_buffer(obj: object) -> Buffer:
    """Return a buffer over the memory that an object offers, without a copy.

    Parameters
    ----------
    obj : object
        A `Buffer`, which is returned as it is; an object with `ptr`, `bufsize` and `__dlpack_device__`, such as a
        buffer of the dataframe interchange protocol; or an exporter of the buffer protocol (PEP 3118), such as bytes,
        bytearray, `array.array`, mmap, memoryview or a NumPy array.

    Returns
    -------
    Buffer
        Its owner is the object itself where it is described by a pointer, and a memoryview of the object where it
        exports: only a held export keeps a bytearray from being resized or a map from being closed. Read-only where the
        exporter is, and over a described pointer unless the object says `readonly = False`.

    Raises
    ------
    TypeError
        When the object offers neither.
    ProducerError
        When what it says of its memory cannot be true.
    CopyRequiredError
        When its bytes are not contiguous.

    Examples
    --------
    >>> buffer = as_buffer(b"lent")
    >>> buffer.bufsize, buffer.readonly, buffer.owner.obj
    (4, True, b'lent')
    """
    kind = type(obj)
    if issubclass(kind, Buffer):
        return obj  # type: ignore[return-value]
    if issubclass(kind, memory.Memory):
        return memory.share(Buffer, obj)  # type: ignore[arg-type]
    if memory.describes(obj):
        return memory.borrow(Buffer, obj)
    found = exporter.exported(obj)
    if found is None:
        raise TypeError(
            f"cannot read the memory of a {type(obj).__module__}.{type(obj).__qualname__}: looked for a Buffer, "
            "for ptr + bufsize + __dlpack_device__, and for the buffer protocol (PEP 3118)"
        )
    address, view = found
    return Buffer(address, view.nbytes, owner=view, readonly=view.readonly)


def as_ndarray(
    buffer: object,
    dtype: "DTypeLike" = "uint8",
    *,
    shape: "int | Sequence[int] | None" = None,
    strides: "int | Sequence[int] | None" = None,
    offset: int = 0,
) -> "NDArray[Any]":
    r"""View a buffer in host memory as a NumPy array, without a copy.

    Parameters
    ----------
    buffer : Buffer or object
        Anything that `as_buffer` reads.
    dtype : dtype-like, default "uint8"
        Type of the items; plain data only.
    shape : int or sequence of int, optional
        Extents in items. By default one dimension that reaches from `offset` to the end.
    strides : int or sequence of int, optional
        Bytes from one item to the next in each dimension, negative ones included. By default C order.
    offset : int, default 0
        Bytes from the start of the buffer to the first item.

    Returns
    -------
    numpy.ndarray
        A view whose chain of `base` holds the owner: the memory is returned when the last view dies, not when the
        buffer does. Read-only where the buffer is. Items need not be aligned, as `flags.aligned` tells.

    Raises
    ------
    DeviceError
        When the host cannot read the memory; nothing is read before that is known.
    ValueError
        When an item would lie outside of the buffer.
    TypeError
        When the items would be references to Python objects.

    Examples
    --------
    >>> as_ndarray(b"\x01\x00\x02\x00", "<u2").tolist()
    [1, 2]
    >>> as_ndarray(b"abcdef", "S1", shape=3, strides=[-2], offset=4).tolist()
    [b'e', b'c', b'a']
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
) -> "Any":
    """View a buffer in CUDA memory as a CuPy array, without a copy.

    Parameters
    ----------
    buffer : Buffer or object
        Anything that `as_buffer` reads.
    dtype : dtype-like, default "uint8"
        Type of the items.
    shape : int or sequence of int, optional
        Extents in items. By default one dimension that reaches from `offset` to the end.
    strides : int or sequence of int, optional
        Bytes from one item to the next in each dimension. By default C order.
    offset : int, default 0
        Bytes from the start of the buffer to the first item.

    Returns
    -------
    cupy.ndarray
        A view whose memory object holds the owner. CuPy has no read-only arrays, so `readonly` cannot be kept.

    Raises
    ------
    DeviceError
        When the memory is no CUDA (or ROCm) memory, or CuPy cannot be imported.
    ValueError
        When an item would lie outside of the buffer.

    Notes
    -----
    A pointer carries no stream: the data must be ready when the buffer is handed over, and the owner must outlive the
    work that is queued on it.
    """
    lent: Any = buffer if issubclass(type(buffer), memory.Memory) else as_buffer(buffer)
    return arrays.to_cupy(lent, dtype, shape, strides, offset)


def as_memoryview(buffer: object) -> memoryview:
    """View a buffer in host memory as bytes, without NumPy and without a copy.

    Parameters
    ----------
    buffer : Buffer or object
        Anything that `as_buffer` reads.

    Returns
    -------
    memoryview
        One dimension of unsigned bytes (format `B`) that holds the owner, read-only where the buffer is.

    Raises
    ------
    DeviceError
        When the host cannot read the memory.

    Examples
    --------
    >>> as_memoryview(bytearray(b"lent"))[1:3].tobytes()
    b'en'
    """
    lent: Any = buffer if issubclass(type(buffer), memory.Memory) else as_buffer(buffer)
    return memory.to_memoryview(lent)
