"""Which CUDA device there is, or why there is none, and which libraries see it; asked in processes that may die of it.

The runtime is asked first. Where it has not counted any device, those libraries whose memory could be lent are asked
too, since they bring a runtime of their own; where it has counted none, nobody else is.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import peers, processes
from ..tables import sentence
from . import memory

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[dict[str, Any]], None]


class Library(NamedTuple):
    """A library that speaks of CUDA memory: the package that is looked for, and what pip is to install."""

    package: str
    wanted: str


LIBRARIES = {
    "cupy": Library("cupy", "cupy-cuda13x"),
    "torch": Library("torch", "torch"),
    "jax": Library("jax", "'jax[cuda13]'"),
    "numba.cuda": Library("numba", "numba-cuda"),
    "cuda.core": Library("cuda.core", "cuda-core cuda-bindings"),
}
"""Import name -> library, in the order of display."""

COUNT = f"{__name__}:_count"
PROBE = f"{__name__}:_probe"
"""The jobs that ask the runtime and a library."""


def look(progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Return, JSON-able, `available` and `reason`, the `name` of the device, `count`, `libraries`, and the `source`.

    The source is whose memory is lent: the name of a library, or `memory.PLAIN`; empty where there is no device.
    """
    progress("the CUDA runtime", 0.0)
    told, end = processes.answer(COUNT, {})
    reason = f"the runtime {end['end']}: {end['detail']}" if end else told.get("reason", "")
    count = told.get("count")
    if count == 0:
        reason = "the CUDA runtime counts 0 devices"
    asked = () if count == 0 else memory.SOURCES if reason else (*LIBRARIES, memory.PLAIN)
    libraries: dict[str, dict[str, Any]] = {}
    for done, (name, library) in enumerate(LIBRARIES.items()):
        progress(f"what {name} sees", (done + 1) / (len(LIBRARIES) + 1))
        libraries[name] = _library(name, library, ask=name in asked)
    plain = (
        _asked(memory.PLAIN, "no memory can be had") if memory.PLAIN in asked else {"device": None, "reason": reason}
    )
    sources = {name: libraries.get(name, {"device": None}) for name in memory.SOURCES} | {memory.PLAIN: plain}
    source = next((name for name, one in sources.items() if one["device"] is not None), "")
    names = [one["device"] for one in (plain, *libraries.values()) if one["device"]]
    return {
        "kind": "cuda",
        "available": bool(source),
        "reason": "" if source else plain["reason"],
        "count": count,
        "name": names[0] if names else "",
        "source": source,
        "counted_by": memory.MAKERS[source].counted_by if source else "",
        "libraries": libraries,
    }


def _library(name: str, library: Library, *, ask: bool) -> dict[str, Any]:
    """Return a library as a `peers.Peer`, with what it calls the `device`, if it sees one, and how to `get` it."""
    here = peers.peer(library.package)
    entry = {**here._asdict(), "name": name, "device": None, "get": ""}
    if not here.available:
        return entry | {"get": f"pip install {library.wanted}"}
    entry["version"] = peers.version(name)
    return entry | _asked(name, "sees no CUDA device") if ask else entry


def _asked(name: str, what: str) -> dict[str, Any]:
    """Return what a library or the runtime calls the device, else what is the matter, and why."""
    told, end = processes.answer(PROBE, {"name": name})
    reason = f"{end['end']}: {end['detail']}" if end else told["reason"]
    return {"device": None, **told, "available": not reason, "reason": f"{what}: {reason}" if reason else ""}


def _count(_payload: dict[str, Any], tell: Tell) -> None:
    from buflend.shared import DeviceError, cuda

    try:
        tell({"count": cuda.device_count()})
    except DeviceError as error:
        tell({"reason": str(error)})


def _probe(payload: dict[str, Any], tell: Tell) -> None:
    """Tell what a library calls the device that it has made memory of, and its version."""
    import numpy as np

    os.environ.update(processes.SETTINGS)
    maker = memory.MAKERS[payload["name"]]
    try:
        maker.make(np.arange(64, dtype=np.uint8))
        tell({"device": maker.device_name(), "reason": ""})
    except Exception as error:  # noqa: BLE001 - each fails in its own way
        tell({"device": None, "reason": sentence(error)})
    # What a distribution states may stand under one of several names.
    if version := getattr(sys.modules.get(payload["name"]), "__version__", ""):
        tell({"version": str(version)})
