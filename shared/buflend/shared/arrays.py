"""Arrays over memory: NumPy's and CuPy's, with the owner in their `base` chain.

Lives here: the layout of an array in a block (dtype, shape, strides, offset) and its bounds. Must not know: where the
block came from. NumPy and CuPy are imported by the first call that makes one of their arrays.
"""

from itertools import islice
from operator import index

from .access import admit_host, stream_of
from .device import CPU, HOST_READABLE, device_name
from .errors import DeviceError
from .memory import Memory, anchor_at, exact_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    Plan = tuple[np.dtype[Any], int, Callable[..., NDArray[Any]], type[np.ndarray]]

# What a dtype argument means, and the functions of NumPy that make its arrays. The first entry imports NumPy.
_plans: "dict[object, Plan]" = {}
_MOST_PLANS = 256


def _plan(dtype: "DTypeLike") -> "Plan":
    import numpy as np

    parsed = np.dtype(dtype)
    if parsed.hasobject:
        raise TypeError(f"dtype: got {parsed}, expected a type of plain data: its items are references to objects")
    if not parsed.itemsize:
        raise ValueError(f"dtype: got {dtype!r}, expected a type with a size, such as 'uint8' or 'S4'")
    plan = (parsed, parsed.itemsize, np.frombuffer, np.ndarray)
    # Remembered are names and NumPy's own types: another object may be equal to one of another meaning, or change.
    if type(dtype) is str or (isinstance(dtype, type) and (issubclass(dtype, np.generic) or dtype in _BUILTINS)):
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[dtype] = plan
    return plan


_BUILTINS = (bool, int, float, complex)


def whole_ndarray(memory: Memory, dtype: "DTypeLike") -> "NDArray[Any]":
    """Return all of a block of host memory as an ndarray of one dimension: the short way that most calls take."""
    if memory._device is not CPU:
        admit_host(memory)
    try:
        parsed, itemsize, frombuffer, _ = _plans[dtype]
    except (KeyError, TypeError):
        parsed, itemsize, frombuffer, _ = _plan(dtype)
    size = memory._bufsize
    if size % itemsize:
        _count(size, itemsize, 0)
    if memory._readonly:
        # Through an array of bytes: of a memoryview ndarray() would take the object behind it as the base, which can be
        # written.
        return frombuffer(exact_view(memory), "u1").view(parsed)
    anchor = anchor_at(memory._ptr)  # as `exact_view` does, without the call, which would be a twentieth
    anchor.owner = memory._owner
    return frombuffer(memoryview(anchor)[:size], parsed)


def to_ndarray(
    memory: Memory,
    dtype: "DTypeLike" = "uint8",
    shape: "int | Sequence[int] | None" = None,
    strides: "int | Sequence[int] | None" = None,
    offset: int = 0,
) -> "NDArray[Any]":
    """Return a part of host memory as an ndarray; see `buflend.minimal.as_ndarray`."""
    if memory._device is not CPU:
        admit_host(memory)
    try:
        parsed, itemsize, frombuffer, ndarray = _plans[dtype]
    except (KeyError, TypeError):
        parsed, itemsize, frombuffer, ndarray = _plan(dtype)
    dims, steps, offset = _layout(memory._bufsize, itemsize, shape, strides, offset)
    # Over an array of bytes, not over the view: from a memoryview ndarray() takes the object behind it as its base, and
    # then neither the view's bounds nor its refusal to be written hold for who looks there.
    return ndarray(dims, parsed, frombuffer(exact_view(memory), "u1"), offset, steps)


def to_cupy(
    memory: Memory,
    dtype: "DTypeLike" = "uint8",
    shape: "int | Sequence[int] | None" = None,
    strides: "int | Sequence[int] | None" = None,
    offset: int = 0,
) -> "Any":
    """Return device memory as a CuPy array; see `buflend.minimal.as_cupy`."""
    is_named = memory._device[1] >= 0
    kind, ordinal = memory.device
    where = device_name(memory._device)
    if kind not in _CUPY_DEVICES:
        host = "; view it with as_ndarray" if kind in HOST_READABLE else ""
        raise DeviceError(f"the memory lies on {where}, which CuPy cannot view{host}")
    try:
        import cupy  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise DeviceError(
            f"the memory lies on {where} and CuPy, which would view it, cannot be imported: "
            "install the cupy package of your CUDA version"
        ) from error
    if cupy.cuda.runtime.is_hip != _CUPY_DEVICES[kind]:
        raise DeviceError(f"the memory lies on {where}, but this CuPy was built for the other kind of GPU")
    parsed = cupy.dtype(dtype)
    dims, steps, offset = _layout(memory._bufsize, parsed.itemsize, shape, strides, offset)
    try:
        # CuPy asks the pointer for its device where the ordinal is -1.
        unowned = cupy.cuda.UnownedMemory(memory._ptr, memory._bufsize, memory._owner, ordinal)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"the memory lies on {where} and the CUDA runtime does not answer: {error}") from error
    view = cupy.ndarray(dims, parsed, cupy.cuda.MemoryPointer(unowned, offset), steps)
    before = stream_of(memory)
    if before is not None and memory._bufsize:
        # Managed memory is said to lie on device 0, whichever it was allocated for.
        _order_current(cupy, before, unowned.device_id, None if is_named or kind == 2 else memory._ptr)
    return view


def _order_current(cupy: "Any", before: int, ordinal: int, ptr: int | None) -> None:
    """Make the work on CuPy's current stream of a device wait for what is queued on stream `before`.

    That is a stream of the same device; where `ptr` is given, of the one that it was allocated for.
    """
    from .cuda import in_use, order, ordinal_at

    is_hip = cupy.cuda.runtime.is_hip
    if not is_hip and not in_use():
        return
    # CuPy, too, says 0 for the default stream; only CUDA has a name for the legacy one.
    current = cupy.cuda.get_current_stream(ordinal).ptr or (0 if is_hip else 1)
    if is_hip and current != before:
        raise DeviceError("the memory is ready in the order of ROCm's default stream: make it CuPy's current stream")
    if not is_hip:
        order(before, current, ordinal if ptr is None else ordinal_at(ptr), ordinal)


# Device types of DLPack that CuPy views -> whether by its ROCm build: CUDA, CUDA_MANAGED, ROCM.
_CUPY_DEVICES = {2: False, 13: False, 10: True}


def _count(bufsize: int, itemsize: int, offset: int) -> int:
    """Return how many items follow `offset`, all in bytes; nothing may be left over."""
    count, rest = divmod(bufsize - offset, itemsize)
    if rest:
        raise ValueError(
            f"the {bufsize - offset} bytes from offset {offset} on are not a multiple of the item size, {itemsize}: "
            "pass shape= to leave the rest out"
        )
    return count


def _layout(
    bufsize: int,
    itemsize: int,
    shape: "int | Sequence[int] | None",
    strides: "int | Sequence[int] | None",
    offset: int,
) -> "tuple[tuple[int, ...], tuple[int, ...] | None, int]":
    """Return shape, strides (bytes, None = C order) and offset after checking that each item lies in the block."""
    offset = index(offset)
    if not 0 <= offset <= bufsize:
        raise ValueError(f"offset: got {offset} bytes, expected 0 to bufsize = {bufsize}")
    if shape is None:
        if strides is not None:
            raise ValueError("strides: got strides without a shape; pass shape= as well")
        return (_count(bufsize, itemsize, offset),), None, offset
    dims = _integers(shape)
    if min(dims, default=0) < 0:
        raise ValueError(f"shape: got {dims}, expected extents of 0 or more")
    steps = None if strides is None else _integers(strides)
    low, high = _reach(dims, steps, itemsize)
    if offset + low < 0 or offset + high > bufsize:
        raise ValueError(
            f"an array of shape {dims}, strides {steps or 'in C order'}, items of {itemsize} bytes and offset {offset} "
            f"needs the bytes from {offset + low} to {offset + high}, but the block has {bufsize}"
        )
    return dims, steps, offset


def _integers(given: "int | Sequence[int]") -> tuple[int, ...]:
    try:
        return (index(given),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(islice(map(index, given), _MOST_DIMENSIONS))  # type: ignore[arg-type]


_MOST_DIMENSIONS = 65  # one more than NumPy has, which refuses them: an argument may have no end


def _reach(dims: tuple[int, ...], steps: "tuple[int, ...] | None", itemsize: int) -> tuple[int, int]:
    """Return the lowest byte and the end of the highest byte that items occupy, from the first item's start."""
    if steps is not None and len(steps) != len(dims):
        raise ValueError(f"strides: got {len(steps)} for a shape of {len(dims)} dimensions, expected one each")
    if 0 in dims:
        return 0, 0
    if steps is None:
        high = itemsize
        for extent in dims:
            high *= extent
        return 0, high
    reaches = [(extent - 1) * step for extent, step in zip(dims, steps, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + itemsize
