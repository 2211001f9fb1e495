"""DLPack, both directions.

Lives here: what a buffer exports (unsigned bytes) and how a producer is asked. Must not know: structs and capsules,
which are `shared`'s.
"""

from functools import cache
from sys import modules
from typing import Any

from ..shared.device import CPU
from ..shared.dlpack import VERSION, Tensor, is_contiguous
from ..shared.dlpack_import import borrow_by_table, default_stream, read_capsule
from ..shared.errors import CopyRequiredError
from ..shared.memory import Memory, device_of, offers
from .found import Found, RefusedError


def method(memory: Memory) -> Any:
    """Return the `__dlpack__` of a block of memory: one dimension of unsigned bytes."""
    if memory._device is CPU and "numpy" in modules:
        return _export().bytes_exporter(memory._owner, memory._ptr, memory._bufsize, readonly=memory._readonly)
    tensor = Tensor(memory.ptr, (memory.bufsize,), (1,), device=memory.device, readonly=memory.readonly)
    try:
        return _export().exporter(memory.owner, tensor)
    except ImportError:  # no NumPy
        from ..shared.dlpack_light import exporter

        return exporter(memory.owner, tensor)


@cache
def _export() -> Any:
    """Return the module that exports through NumPy, imported when something is exported."""
    from ..shared import dlpack_export

    return dlpack_export


def read(obj: Any) -> Found | None:
    """Return what an object exports by DLPack, None where it does not export.

    By the C exchange table of its type where there is one, and the object is the owner then; else by a capsule, which
    is the owner, and is kept unused.
    """
    if not offers(obj, "__dlpack__", "__dlpack_device__"):
        return None
    found = borrow_by_table(obj)
    owner = obj
    if found is None:
        owner = _ask(obj)
        found = read_capsule(owner)
    tensor, nbytes = found
    if not is_contiguous(tensor.shape, tensor.strides):
        raise CopyRequiredError(
            f"a buffer is one contiguous range of bytes, but this {type(obj).__name__} is strided (shape "
            f"{tensor.shape}, strides {tensor.strides} in elements): copy it to contiguous memory first"
        )
    return tensor.ptr, nbytes, owner, tensor.device, tensor.readonly


def _ask(obj: Any) -> Any:
    """Return the capsule that a producer gives; the newest struct and, off the CPU, the default stream are asked for.

    A producer that knows no `max_version` is asked again without (pandas' and nanoarrow's buffers). The standard names
    no error for a refusal, and producers raise what they like.
    """
    device = device_of(obj, type(obj).__name__)
    options: dict[str, Any] = {} if device == CPU else {"stream": default_stream(device)}
    try:
        try:
            return obj.__dlpack__(max_version=VERSION, **options)
        except TypeError:
            return obj.__dlpack__(**options)
    except Exception as error:
        raise RefusedError("__dlpack__()", error) from error
