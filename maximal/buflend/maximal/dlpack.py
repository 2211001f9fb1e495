"""DLPack, both directions.

Lives here: what a buffer exports (unsigned bytes) and how a producer is asked. Must not know: structs and capsules,
which are `shared`'s.
"""

import sys
from typing import Any

from ..shared.access import stream_of
from ..shared.cpython import require_main
from ..shared.device import CPU
from ..shared.dlpack import VERSION, Tensor, is_contiguous
from ..shared.dlpack_import import default_stream, read_capsule
from ..shared.dlpack_table import strided
from ..shared.errors import EXITS, InterpreterError, ProducerError
from ..shared.memory import Memory, device_of, offers
from .found import Found, RefusedError
from .native import Native, native_of, unanswered


def method(memory: Memory) -> Any:
    """Return the `__dlpack__` of a block of memory: one dimension of unsigned bytes."""
    try:
        if memory._device is CPU and not _is_missing:
            try:
                return of_bytes(memory)
            except ImportError:  # no NumPy
                pass
        return exporter()(memory.owner, tensor_of(memory))
    except InterpreterError:
        return _refuse  # when it is called, and not where a consumer looks whether it is there


def _refuse(**_: object) -> None:
    require_main("DLPack export")


_is_missing = False  # NumPy, as far as was seen


def exporter() -> Any:
    """Return `shared`'s maker of `__dlpack__` methods: through NumPy where it can be imported.

    Where it cannot, that is tried again only when somebody has imported NumPy: an import that fails takes a lock each
    time, and a process that forks meanwhile would leave it locked in the child.
    """
    global _is_missing  # noqa: PLW0603 - one fact of the process
    if not _is_missing or sys.modules.get("numpy") is not None:
        try:
            from ..shared.dlpack_export import exporter as through_numpy
        except ImportError:
            _is_missing = True
        else:
            _is_missing = False
            return through_numpy
    from ..shared.dlpack_light import exporter as by_callbacks

    return by_callbacks


def tensor_of(memory: Memory) -> Tensor:
    """Return a block of memory as a tensor of unsigned bytes."""
    ptr, device, readonly = memory.ptr, memory._device, memory._readonly
    return Tensor(ptr, (memory._bufsize,), (1,), device=device, readonly=readonly, stream=stream_of(memory))


def of_bytes(memory: Memory) -> Any:
    """Return the `__dlpack__` of CPU memory through NumPy. The first call replaces this function by `shared`'s."""
    from ..shared.dlpack_export import bytes_exporter

    globals()["of_bytes"] = bytes_exporter
    return bytes_exporter(memory)


def of_array(array: Any) -> Any:
    """Return the `__dlpack__` of an ndarray's bytes. The first call replaces this function by `shared`'s."""
    from ..shared.dlpack_export import array_exporter

    globals()["of_array"] = array_exporter
    return array_exporter(array)


def read(obj: Any) -> Found | None:
    """Return what an object exports by a DLPack capsule, None where it does not export.

    The capsule is the owner, and is kept unused.
    """
    if not offers(obj, "__dlpack__", "__dlpack_device__"):
        return None
    capsule = ask(obj)
    tensor, nbytes = read_ordered(capsule)
    if not is_contiguous(tensor.shape, tensor.strides):
        raise strided(obj, tensor.shape, tensor.strides)
    return tensor.ptr, nbytes, capsule, tensor.device, tensor.readonly, tensor.stream


def read_ordered(capsule: object) -> tuple[Tensor, int]:
    """Return what a capsule describes that `ask` got, and its bytes; it is ready in the order of the default stream."""
    tensor, nbytes = read_capsule(capsule)
    return tensor._replace(stream=default_stream(tensor.device) if nbytes else None), nbytes


def ask(obj: Any) -> Any:
    """Return the capsule that a producer gives; the newest struct and, off the CPU, the default stream are asked for.

    A producer that knows no `max_version` is asked again without (pandas' and nanoarrow's buffers). The standard names
    no error for a refusal, and producers raise what they like.
    """
    try:
        device = device_of(obj, type(obj).__name__)
    except ProducerError as error:
        if error.__cause__ is None or native_of(obj) is not Native.CUPY:
            raise
        raise unanswered(error.__cause__) from error.__cause__
    options: dict[str, Any] = {} if device == CPU else {"stream": default_stream(device)}
    try:
        try:
            return obj.__dlpack__(max_version=VERSION, **options)
        except TypeError as error:
            if type(error) is not TypeError:  # pyarrow refuses with a class of its own, which means what it says
                raise
            return obj.__dlpack__(**options)
    except EXITS:
        raise
    except BaseException as error:
        raise RefusedError("__dlpack__()", error) from error
