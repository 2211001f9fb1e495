"""Time per exchange of memory on a CUDA device, ours beside the library's own, in turns, each work in its own process.

The ways to do a work are given memory of the same size, and are timed by the host's clock: none of these calls starts
work on the device. What a way needs and is not here is said in its place; the others are timed without it.
"""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import processes, timing
from ..consumers import find
from ..taking import SIZE
from . import memory
from .takers import native, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tell = Callable[[dict[str, Any]], None]
    Call = Callable[[], object]

SECONDS = 0.5
"""Time to spend on each pair, about."""

SECTION = "device"
TITLE = "Memory of a CUDA device"


class Way(NamedTuple):
    """One way to do the work of a pair: its name, what it needs beside the source, and what makes the call."""

    name: str
    needs: tuple[str, ...]
    make: Callable[[Lent], Call]


class Lent:
    """What the ways work on: a buffer over the source's memory, and an array of each library, made when it is used."""

    def __init__(self, source: str) -> None:
        from buflend.maximal import Buffer

        made, ptr = native(source)
        self.buffer = Buffer(ptr, SIZE, owner=made, device=memory.DEVICE)
        self._made: dict[str, Any] = {}

    def array(self, library: str) -> Any:
        """Return a library's own array."""
        if library not in self._made:
            self._made[library], _ = native(library)
        return self._made[library]


def _of_buffer(place: str) -> Callable[[Lent], Call]:
    return lambda lent: partial(find(place), lent.buffer)


def _of_array(place: str, library: str) -> Callable[[Lent], Call]:
    return lambda lent: partial(find(place), lent.array(library))


def _as_cupy_of_tensor(lent: Lent) -> Call:
    from buflend.maximal import as_buffer, as_cupy

    tensor = lent.array("torch")
    return lambda: as_cupy(as_buffer(tensor))


_EXPORT = methodcaller("__dlpack__")


def _export(lent: Lent) -> Call:
    return partial(_EXPORT, lent.buffer)


def _export_of_cupy(lent: Lent) -> Call:
    return partial(_EXPORT, lent.array("cupy"))


def _export_by_callbacks(lent: Lent) -> Call:
    from buflend.shared import Device, dlpack, dlpack_light

    buffer = lent.buffer
    tensor = dlpack.Tensor(buffer.ptr, (buffer.bufsize,), (1,), device=Device(*memory.DEVICE))
    export: Call = dlpack_light.exporter(buffer.owner, tensor)
    return export


def _view(how: str, library: str = "") -> Callable[[Lent], Call]:
    def make(lent: Lent) -> Call:
        import_module("cuda.core").Device(memory.ORDINAL).set_current()
        call = getattr(import_module("cuda.core.utils").StridedMemoryView, how)
        return partial(call, lent.array(library) if library else lent.buffer, stream_ptr=-1)

    return make


DLPACK, INTERFACE = "from_dlpack", "from_cuda_array_interface"

PAIRS: dict[str, tuple[Way, ...]] = {
    "a torch tensor as a CuPy array": (
        Way("cupy.from_dlpack(tensor)", ("cupy", "torch"), _of_array("cupy:from_dlpack", "torch")),
        Way("as_cupy(as_buffer(tensor))", ("cupy", "torch"), _as_cupy_of_tensor),
    ),
    "cupy.from_dlpack": (
        Way("cupy array", ("cupy",), _of_array("cupy:from_dlpack", "cupy")),
        Way("maximal.Buffer", ("cupy",), _of_buffer("cupy:from_dlpack")),
    ),
    "a buffer as a CuPy array": (
        Way("cupy.asarray(buffer)", ("cupy",), _of_buffer("cupy:asarray")),
        Way("as_cupy(buffer)", ("cupy",), _of_buffer("buflend.maximal:as_cupy")),
    ),
    "__dlpack__(), not consumed": (
        Way("cupy array", ("cupy",), _export_of_cupy),
        Way("maximal.Buffer", (), _export),
        Way("ctypes callbacks", (), _export_by_callbacks),
    ),
    "torch.from_dlpack": (
        Way("torch tensor", ("torch",), _of_array("torch:from_dlpack", "torch")),
        Way("maximal.Buffer", ("torch",), _of_buffer("torch:from_dlpack")),
    ),
    "numba.cuda.as_cuda_array": (
        Way("numba array", ("numba.cuda",), _of_array("numba.cuda:as_cuda_array", "numba.cuda")),
        Way("maximal.Buffer", ("numba.cuda",), _of_buffer("numba.cuda:as_cuda_array")),
    ),
    "StridedMemoryView": (
        Way("by CAI of a numba array", ("cuda.core", "numba.cuda"), _view(INTERFACE, "numba.cuda")),
        Way("by CAI of maximal.Buffer", ("cuda.core",), _view(INTERFACE)),
        Way("by DLPack of maximal.Buffer", ("cuda.core",), _view(DLPACK)),
    ),
}
"""Work -> ways to do it, the library's own first: the others are compared with it."""


def measure(
    device: Mapping[str, Any], progress: Callable[[str, float], None], seconds: float | None = None
) -> dict[str, Any]:
    """Do all works in turns, about so many seconds for each; see `sections` in what is returned, JSON-able."""
    packages = device["libraries"]
    here = [name for name, one in packages.items() if one["available"]]
    groups, notes = [], []
    for done, (title, ways) in enumerate(PAIRS.items()):
        progress(f"cost: {title}", done / len(PAIRS))
        order = {"source": device["source"], "here": here, "title": title, "seconds": seconds or SECONDS}
        timed: list[dict[str, Any]] = []
        note = ""
        if _usable(ways, here):
            timed, note = timing.in_process(f"{__name__}:_job", order, lambda _title: None)
        group = timed[0] if timed else timing.as_json(timing.Group(title, {}, SIZE, note), "", {})
        found = {way.name: group["alternatives"].get(way.name) or _absent(way, packages) for way in ways}
        groups.append(group | {"alternatives": {name: one for name, one in found.items() if one}})
        notes += [f"{title}: {note}"] if note else []
    return {
        "device": "cuda",
        "baseline": "",
        "sections": {SECTION: groups},
        "notes": {SECTION: "; ".join(notes)},
        "packages": {name: dict(one) for name, one in packages.items()},
    }


def _usable(ways: tuple[Way, ...], here: list[str]) -> list[Way]:
    return [way for way in ways if set(way.needs) <= set(here)]


def _absent(way: Way, packages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what is said of a way that lacks libraries; None where it lacks none."""
    lacking = [name for name in way.needs if not packages[name]["available"]]
    if not lacking:
        return None
    detail = "; ".join(needs(name, packages) for name in lacking)
    return {"outcome": "absent", "detail": f"n/a: needs {detail}", "needs": ", ".join(lacking)}


def _job(payload: dict[str, Any], tell: Tell) -> None:
    os.environ.update(processes.SETTINGS)
    lent, ways = Lent(payload["source"]), PAIRS[payload["title"]]
    calls = {way.name: _made(way, lent) for way in _usable(ways, payload["here"])}
    timing.time_all([timing.Group(payload["title"], calls, SIZE, baseline=ways[0].name)], payload, tell)


def _made(way: Way, lent: Lent) -> Call:
    """Return the call of a way; one that raises where it could not be made."""
    try:
        return way.make(lent)
    except Exception as error:  # noqa: BLE001 - a library may refuse in its own way
        return partial(_refuse, error)


def _refuse(error: Exception) -> None:
    raise error
