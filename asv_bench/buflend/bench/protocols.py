"""What each protocol costs: time per export and per import, beside whoever speaks it too.

Every group has a baseline of its own, the library that the protocol comes from where it is here. Each lender has its
own object over the same bytes or over as many. An export that is not consumed is returned within the call, so that a
time is that of a whole loan. What is not installed is left out; the part names it.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import peers, takers, taking
from .timing import Group, in_sections, time_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 0.3
"""Time to spend on each group, about."""

TITLES = {
    "exports": "What is asked of an object",
    "consumers": "What libraries call",
    "imports": "as_buffer, beside what others make of the object",
    "generic": "DLPack of what NumPy cannot export",
    "live": "live_exports(), which records nothing when something is lent",
}
"""Sections in the order of display, each with what it shows."""


def measure(progress: Callable[[str, float], None], seconds: float | None = None) -> dict[str, Any]:
    """Time all sections, about so many seconds for each group; see `sections` in what is returned, JSON-able."""
    part = in_sections("protocols", TITLES, {"seconds": seconds or SECONDS}, progress)
    return part | {"packages": {name: peers.peer(name)._asdict() for name in PACKAGES}}


def _job(payload: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    time_all(WORKS[payload["section"]](), payload, tell)


LOANS = (1_000, 10_000, 100_000)
"""How much is lent while `live_exports` looks for it."""

CUDA, CPU = (2, 0), (1, 0)
GENERIC = {
    "float32 on a device": ((2, 32, 1), CUDA),
    "bfloat16": ((4, 16, 1), CPU),
    "packed 4-bit floats": ((17, 4, 1), CPU),
}
"""What NumPy cannot export itself: type as DLPack's (code, bits, lanes), and device."""


def objects() -> dict[str, Any]:
    """Return an object over the bytes for every lender that is here, and what of it to ask."""
    array = takers.aligned()
    made = {"maximal.Buffer": import_module("buflend.maximal").as_buffer(array), "numpy.ndarray": array}
    if _here("pyarrow"):
        pa = import_module("pyarrow")
        made |= {"pyarrow.Array": pa.array(array), "pyarrow.Buffer": pa.py_buffer(array)}
    if _here("torch"):
        made["torch.Tensor"] = import_module("torch").from_numpy(array)
    if _here("arro3.core"):
        made["arro3 Array"] = import_module("arro3.core").Array(array)
    if _here("nanoarrow"):
        made["nanoarrow.CArray"] = import_module("nanoarrow").c_array(array)
    return made | {"bytes": bytes(taking.content())}


def _here(package: str) -> bool:
    return peers.peer(package).available


def _each(found: dict[str, Any], names: tuple[str, ...], call: Callable[[Any], object]) -> dict[str, Any]:
    return {name: partial(call, found[name]) for name in names if name in found}


def exports() -> Iterator[Group]:
    """Yield the protocols that are asked of an object."""
    found, minimal = objects(), import_module("buflend.minimal")
    dlpack = ("maximal.Buffer", "numpy.ndarray", "pyarrow.Array", "torch.Tensor")
    note = "the capsule is not consumed: made and destroyed"
    yield _exports("__dlpack__()", _each(found, dlpack, lambda one: one.__dlpack__()), note)
    versioned = _each(found, dlpack, lambda one: one.__dlpack__(max_version=(1, 0)))
    yield _exports("__dlpack__(max_version=(1, 0))", versioned, note)
    both = ("maximal.Buffer", "numpy.ndarray")
    yield _exports("__array_interface__", _each(found, both, lambda one: one.__array_interface__))
    views = {"maximal.Buffer.memoryview": found["maximal.Buffer"].memoryview}
    buffer = minimal.as_buffer(found["numpy.ndarray"])
    views["minimal.as_memoryview"] = partial(minimal.as_memoryview, buffer)
    views |= _each(found, ("numpy.ndarray", "pyarrow.Buffer", "bytes"), memoryview)
    if sys.version_info >= (3, 12):
        views |= _each(found, ("maximal.Buffer",), memoryview)
    yield _exports("memoryview", views)
    capsules = ("maximal.Buffer", "pyarrow.Array", "arro3 Array", "nanoarrow.CArray")
    call = _each(found, capsules, lambda one: one.__arrow_c_array__())
    loaded = "pyarrow is loaded, and makes maximal's" if _here("pyarrow") else "pyarrow is not here"
    yield Group("__arrow_c_array__()", call, taking.SIZE, f"{note}; {loaded}", baseline="pyarrow.Array")


def _exports(title: str, alternatives: dict[str, Any], note: str = "") -> Group:
    return Group(title, alternatives, taking.SIZE, note, baseline="numpy.ndarray")


def consumers() -> Iterator[Group]:
    """Yield the calls by which libraries take an object."""
    import numpy as np

    found, maximal = objects(), import_module("buflend.maximal")
    array = found["numpy.ndarray"]
    dlpack = ("maximal.Buffer", "numpy.ndarray", "pyarrow.Array", "torch.Tensor")
    calls = _each(found, dlpack, np.from_dlpack)
    calls["maximal.as_buffer(ndarray)"] = lambda: np.from_dlpack(maximal.as_buffer(array))
    yield _exports("numpy.from_dlpack", calls)
    yield Group("numpy.asarray", _each(found, dlpack, np.asarray), taking.SIZE, baseline="pyarrow.Array")
    if _here("torch"):
        taken = _each(found, dlpack, import_module("torch").from_dlpack)
        yield _exports("torch.from_dlpack", taken)
    if _here("pyarrow"):
        pa = import_module("pyarrow")
        arrow = ("maximal.Buffer", "numpy.ndarray", "arro3 Array", "nanoarrow.CArray")
        yield _exports("pyarrow.array", _each(found, arrow, pa.array))
    if _here("polars"):
        names = ("maximal.Buffer", "numpy.ndarray", "pyarrow.Array")
        yield _exports("polars.Series", _each(found, names, import_module("polars").Series))


def imports() -> Iterator[Group]:
    """Yield `as_buffer` of each kind of object, beside what others make of it."""
    import numpy as np

    found = objects()
    theirs: dict[str, Any] = {"numpy.frombuffer": np.frombuffer, "numpy.from_dlpack": np.from_dlpack}
    if _here("pyarrow"):
        theirs["pyarrow.py_buffer"] = import_module("pyarrow").py_buffer
    fitting = {
        "numpy.ndarray": ("numpy.from_dlpack", "numpy.frombuffer", "pyarrow.py_buffer"),
        "bytes": ("numpy.frombuffer", "pyarrow.py_buffer"),
        "pyarrow.Buffer": ("numpy.frombuffer", "pyarrow.py_buffer"),
        "torch.Tensor": ("numpy.from_dlpack",),
    }
    for name, fit in fitting.items():
        if name not in found:
            continue
        calls = {f"{part}.as_buffer": import_module(f"buflend.{part}").as_buffer for part in ("maximal", "minimal")}
        calls |= {each: theirs[each] for each in fit if each in theirs}
        alternatives: dict[str, Any] = {each: partial(call, found[name]) for each, call in calls.items()}
        yield Group(f"as_buffer of {name}", alternatives, taking.SIZE, baseline="maximal.as_buffer")


def generic() -> Iterator[Group]:
    """Yield DLPack of memory that NumPy cannot export itself: NumPy's capsule made over, against ctypes callbacks."""
    from buflend.shared import Device, dlpack, dlpack_export, dlpack_light

    array = takers.aligned()
    for title, (dtype, device) in GENERIC.items():
        count = taking.SIZE * 8 // (dtype[1] * dtype[2])
        tensor = dlpack.Tensor(array.ctypes.data, (count,), (1,), dtype, Device(*device))
        ways = {
            "NumPy's capsule, completed": dlpack_export.exporter(array, tensor),
            "ctypes callbacks": dlpack_light.exporter(array, tensor),
        }
        calls: dict[str, Callable[[], object]] = {
            name: partial(export, max_version=(1, 0)) for name, export in ways.items()
        }
        yield Group(title, calls, taking.SIZE, "the capsule is not consumed", baseline="ctypes callbacks")


def live() -> Iterator[Group]:
    """Yield `live_exports` while so much is lent, beside the listing of all objects that it goes through."""
    import numpy as np

    maximal = import_module("buflend.maximal")
    array = takers.aligned()
    for count in LOANS:
        held = [np.from_dlpack(maximal.as_buffer(array)) for _ in range(count)]
        found = len(maximal.live_exports())
        if found < count:
            raise AssertionError(f"live_exports: got {found}, expected {count} at least")
        calls: dict[str, Callable[[], object]] = {
            "live_exports()": maximal.live_exports,
            "gc.get_objects()": gc.get_objects,
        }
        note = f"{len(gc.get_objects()):,} objects are tracked in the process"
        yield Group(f"{count:,} lent", calls, count, note, baseline="gc.get_objects()")
        del held


WORKS: dict[str, Callable[[], Iterator[Group]]] = {
    "exports": exports,
    "consumers": consumers,
    "imports": imports,
    "generic": generic,
    "live": live,
}
"""All works, by section."""

PACKAGES = ("numpy", "pyarrow", "polars", "torch", "arro3.core", "nanoarrow")
"""Packages that take part."""
