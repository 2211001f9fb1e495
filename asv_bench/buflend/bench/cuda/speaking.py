"""What a buffer on a CUDA device speaks, and that it refuses the host: each protocol of `minimal` and of `maximal`.

Lives here: one function per protocol, which reads a buffer by it alone. How a cell is judged stands in `taking`: what
consumers on the device ask for should be zero-copy, what the host would read refused; who reads the device's memory on
the host after all gets other bytes, or ends the process.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import peers, taking
from ..taking import Lender, NotTakenError, Taken, Taker
from . import memory
from .takers import LIMIT, OURS, of_buffer, ours_over, with_absent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SPOKEN = "What consumers on the device ask for, and the copy to the host"
HOST = "What the host would read"

GROUPS: dict[str, str] = {}
"""Call -> group, in the order of display."""

TAKERS: list[Taker] = []
"""All calls in the order of display."""


def lenders(source: str) -> list[Lender]:
    """Return the buffers, over memory of a source."""
    package = memory.package(source)
    return [Lender(name, package, OURS, partial(ours_over, name, source)) for name in ("maximal", "minimal")]


def _taker(name: str, group: str, package: str = "") -> Callable[[Callable[[Any], Taken]], Callable[[Any], Taken]]:
    """List the function below as a call."""

    def listed(take: Callable[[Any], Taken]) -> Callable[[Any], Taken]:
        TAKERS.append(Taker(name, package, f"{__name__}:{take.__name__}"))
        GROUPS[name] = group
        return take

    return listed


class Only:
    """An object that has some attributes of another, as they are when it is made, and no others."""

    def __init__(self, lent: Any, *names: str) -> None:
        self._lent = lent
        for name in names:
            setattr(self, name, getattr(lent, name))


def _read(one: Any) -> Taken:
    from buflend.maximal import as_buffer

    return of_buffer(as_buffer(one))


def _capsules(lent: Any, version: tuple[int, int] | None) -> Only:
    """Return an object whose capsules are of one struct, whatever is asked for."""
    one, export = Only(lent, "__dlpack_device__"), lent.__dlpack__
    one.__dict__["__dlpack__"] = lambda stream=None, **_more: export(stream=stream, max_version=version)
    return one


@_taker("__dlpack__, versioned", SPOKEN)
def _versioned(lent: Any) -> Taken:
    return _read(_capsules(lent, (1, 0)))


@_taker("__dlpack__, legacy", SPOKEN)
def _legacy(lent: Any) -> Taken:
    return _read(_capsules(lent, None))


@_taker("__cuda_array_interface__", SPOKEN)
def _interface(lent: Any) -> Taken:
    return _read(Only(lent, "__cuda_array_interface__"))


def _column(one: Any) -> Taken:
    from buflend.maximal import as_column

    return of_buffer(as_column(one).data)


@_taker("__arrow_c_device_array__", SPOKEN)
def _arrow_device(lent: Any) -> Taken:
    return _column(Only(lent, "__arrow_c_device_array__"))


@_taker("ptr, bufsize, device", SPOKEN)
def _description(lent: Any) -> Taken:
    return _read(Only(lent, "ptr", "bufsize", "__dlpack_device__"))


@_taker("to_host()", SPOKEN)
def _to_host(lent: Any) -> Taken:
    from buflend.maximal import as_memoryview

    host = lent.to_host()
    return Taken(host.ptr, lambda: list(as_memoryview(host)))


def _array(array: Any) -> Taken:
    if array.dtype.hasobject:
        raise NotTakenError("an array of Python objects came, which reads nothing")
    return Taken(array.ctypes.data, array.tolist, str(array.dtype))


def _package_of(lent: Any) -> Any:
    return import_module(type(lent).__module__)


@_taker("as_ndarray", HOST)
def _as_ndarray(lent: Any) -> Taken:
    return _array(_package_of(lent).as_ndarray(lent))


@_taker("as_memoryview", HOST)
def _as_memoryview(lent: Any) -> Taken:
    return Taken(None, _package_of(lent).as_memoryview(lent).tolist)


@_taker("memoryview", HOST)
def _memoryview(lent: Any) -> Taken:
    return Taken(None, memoryview(lent).tolist)


@_taker("bytes", HOST)
def _bytes(lent: Any) -> Taken:
    return Taken(None, partial(list, bytes(lent)))


@_taker("pickle.dumps", HOST)
def _pickle(lent: Any) -> Taken:
    import pickle

    loaded = pickle.loads(pickle.dumps(lent, protocol=5))  # noqa: S301 - made in this line
    return Taken(None, loaded.memoryview().tolist)


@_taker("__array_interface__", HOST)
def _array_interface(lent: Any) -> Taken:
    import numpy as np

    return _array(np.asarray(Only(lent, "__array_interface__")))


@_taker("__arrow_c_array__", HOST)
def _arrow_array(lent: Any) -> Taken:
    return _column(Only(lent, "__arrow_c_array__"))


@_taker("numpy.asarray", HOST, "numpy")
def _numpy_asarray(lent: Any) -> Taken:
    import numpy as np

    return _array(np.asarray(lent))


@_taker("numpy.frombuffer", HOST, "numpy")
def _numpy_frombuffer(lent: Any) -> Taken:
    import numpy as np

    return _array(np.frombuffer(lent, np.uint8))


@_taker("numpy.from_dlpack", HOST, "numpy")
def _numpy_from_dlpack(lent: Any) -> Taken:
    import numpy as np

    return _array(np.from_dlpack(lent))


@_taker("pyarrow.array", HOST, "pyarrow")
def _pyarrow_array(lent: Any) -> Taken:
    import pyarrow as pa

    array = pa.array(lent)
    return Taken(array.buffers()[1].address, array.to_pylist, str(array.type))


def measure(device: Mapping[str, Any], progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Read both buffers by every protocol; return what `taking.matrix` does, and the `groups` of calls: see `host`."""
    packages = {name: {**peers.peer(name)._asdict(), "get": peers.how_to_get(name)} for name in ("numpy", "pyarrow")}
    lending = {one.name: {"available": True, "reason": "", "group": one.group} for one in lenders(device["source"])}

    def told(text: str, fraction: float) -> None:
        progress(f"protocols: {text}", fraction)

    place = taking.Lenders(f"{__name__}:lenders", device["source"])
    part = with_absent(taking.matrix(TAKERS, place, lending, packages, told, limit=LIMIT))
    return part | {"groups": dict(GROUPS), "host": HOST}
