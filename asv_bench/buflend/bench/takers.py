"""Who can take it: every consumer's call on every lender's bytes.

One function per lender makes its object anew and says where its bytes lie; one per call takes an object and says where
the result lies and how its bytes are read, with the library's own means. The bytes are aligned to 64, as Arrow asks
for, so that nobody has to copy for that; those of `bytes` lie where Python puts them.

Each cell is measured in a process of its own, forked from one that has imported the consumer and used nothing of it;
where there is no fork, in a fresh interpreter. The lender is dropped before the result is read. *Zero-copy* are the
same bytes at the lender's address, *copy* the same bytes elsewhere, *wrong* other bytes, *refused* an exception,
*crashed* and *hung* the end of the process. What only a lender needs is imported after the other lenders were taken, so
that buflend's buffers are measured without a library that happens to be loaded.
"""

from __future__ import annotations

import gc
import json
import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from . import consumers, peers, processes
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tell = Callable[[dict[str, Any]], None]

SIZE = 4096
"""Bytes that are lent."""

ALIGNMENT = 64
INTERCHANGE = "Buffers that interchange frames hand out, and ours"
NATIVE = "For comparison: what libraries hold their bytes in"

Lent = tuple[Any, int]


class Lender(NamedTuple):
    """One kind of object that holds the bytes: `make` returns it and the address of its first byte.

    `package` is imported to make it, empty for what is always there; `group` is whose table it belongs to.
    """

    name: str
    package: str
    group: str
    make: Callable[[], Lent]


class Taken(NamedTuple):
    """What a call made of an object: where the first byte lies (None if unknown), its bytes as numbers, their type."""

    address: int | None
    values: Callable[[], list[int]]
    type: str = "uint8"


class NotTakenError(TypeError):
    """A call returned, and nothing of the memory is in what it returned."""


class Taker(NamedTuple):
    """One call, found at `module:function`; it needs `package` (empty where Python has it) and `also`.

    A name has 18 characters, or words of less, so that six columns fit in a terminal.
    """

    name: str
    package: str
    place: str
    also: str = ""


LENDERS: list[Lender] = []
"""All lenders in the order of display."""

TAKERS: list[Taker] = []
"""All calls in the order of display."""


def _lender(name: str, group: str, package: str = "") -> Callable[[Callable[[], Lent]], None]:
    """List the function below as a lender."""
    return lambda make: LENDERS.append(Lender(name, package, group, make))


def _taker(name: str, package: str = "", also: str = "") -> Callable[[Callable[[Any], Taken]], Callable[[Any], Taken]]:
    """List the function below as a call."""

    def listed(take: Callable[[Any], Taken]) -> Callable[[Any], Taken]:
        TAKERS.append(Taker(name, package, f"{__name__}:{take.__name__}", also))
        return take

    return listed


def content() -> list[int]:
    """Return the bytes that are lent, as numbers."""
    return [place % 251 for place in range(SIZE)]


def aligned() -> Any:
    """Return an ndarray of the bytes in memory of its own."""
    import numpy as np

    memory = np.empty(SIZE + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    array = memory[start : start + SIZE]
    array[:] = content()
    return array


def availability() -> dict[str, dict[str, Any]]:
    """Return for every lender whether it can be made here, else why not; JSON-able."""
    found: dict[str, dict[str, Any]] = {}
    frames = consumers.availability()
    for one in LENDERS:
        reason = peers.peer(one.package).reason if one.package else ""
        if one.group == INTERCHANGE and one.package:
            reason = frames[one.package]["reason"]
        found[one.name] = {"available": not reason, "reason": reason, "group": one.group}
    return found


def _interchange(frame: Any) -> Lent:
    buffer = frame.__dataframe__().get_column(0).get_buffers()["data"][0]
    return buffer, buffer.ptr


@_lender("minimal", INTERCHANGE)
def _minimal() -> Lent:
    array = aligned()
    buffer = import_module("buflend.minimal").Buffer(array.ctypes.data, array.nbytes, owner=array)
    return buffer, buffer.ptr


@_lender("maximal", INTERCHANGE)
def _maximal() -> Lent:
    array = aligned()
    buffer = import_module("buflend.maximal").Buffer(array.ctypes.data, array.nbytes, owner=array)
    return buffer, buffer.ptr


@_lender("pandas", INTERCHANGE, "pandas")
def _pandas_interchange() -> Lent:
    import pandas as pd

    return _interchange(pd.DataFrame({"a": aligned()}))


@_lender("pyarrow", INTERCHANGE, "pyarrow")
def _pyarrow_interchange() -> Lent:
    import pyarrow as pa

    return _interchange(pa.table({"a": pa.array(aligned())}))


@_lender("polars", INTERCHANGE, "polars")
def _polars_interchange() -> Lent:
    import polars as pl

    return _interchange(pl.DataFrame({"a": aligned()}))


@_lender("ndarray", NATIVE)
def _ndarray() -> Lent:
    array = aligned()
    return array, array.ctypes.data


@_lender("bytes", NATIVE)
def _plain_bytes() -> Lent:
    import numpy as np

    plain = bytes(content())
    return plain, np.frombuffer(plain, np.uint8).ctypes.data


@_lender("pyarrow.Buffer", NATIVE, "pyarrow")
def _pyarrow_buffer() -> Lent:
    import pyarrow as pa

    buffer = pa.py_buffer(aligned())
    return buffer, buffer.address


@_lender("pyarrow.Array", NATIVE, "pyarrow")
def _arrow_array() -> Lent:
    import pyarrow as pa

    array = pa.array(aligned())
    return array, array.buffers()[1].address


def _of_ndarray(array: Any) -> Taken:
    if array.dtype.hasobject:
        raise NotTakenError("an array of Python objects came, which reads nothing")
    # `bytes` become one fixed-width text; its bytes are what counts.
    values = array.tolist if array.ndim == 1 else lambda: list(array.tobytes())
    return Taken(array.ctypes.data, values, str(array.dtype).lstrip("|"))


def _of_view(view: memoryview) -> Taken:
    import numpy as np

    return _of_ndarray(np.frombuffer(view, np.uint8))


def _of_tensor(tensor: Any) -> Taken:
    return Taken(tensor.data_ptr(), tensor.tolist, str(tensor.dtype).removeprefix("torch."))


@_taker("minimal.as_buffer")
def _minimal_as_ndarray(lent: Any) -> Taken:
    from buflend.minimal import Buffer, as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(lent if isinstance(lent, Buffer) else as_buffer(lent)))


@_taker("maximal.as_buffer")
def _maximal_as_ndarray(lent: Any) -> Taken:
    from buflend.maximal import as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(as_buffer(lent)))


@_taker("memoryview")
def _python_memoryview(lent: Any) -> Taken:
    return _of_view(memoryview(lent))


@_taker("x.memoryview()")
def _method_memoryview(lent: Any) -> Taken:
    return _of_view(lent.memoryview())


@_taker("pickle out of band")
def _out_of_band(lent: Any) -> Taken:
    import pickle

    from buflend.maximal import as_ndarray

    buffers: list[pickle.PickleBuffer] = []
    told = pickle.dumps(lent, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(told, buffers=buffers)  # noqa: S301 - made in the line before
    return _of_ndarray(as_ndarray(loaded))


@_taker("numpy.from_dlpack", "numpy")
def _numpy_from_dlpack(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.from_dlpack(lent))


@_taker("numpy.asarray", "numpy")
def _numpy_asarray(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.asarray(lent))


@_taker("numpy.frombuffer", "numpy")
def _numpy_frombuffer(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.frombuffer(lent, np.uint8))


@_taker("torch.from_dlpack", "torch")
def _torch_from_dlpack(lent: Any) -> Taken:
    import torch

    return _of_tensor(torch.from_dlpack(lent))


@_taker("torch.asarray", "torch")
def _torch_asarray(lent: Any) -> Taken:
    import torch

    return _of_tensor(torch.asarray(lent, dtype=torch.uint8))


@_taker("jax from_dlpack", "jax")
def _jax_from_dlpack(lent: Any) -> Taken:
    import jax

    array = jax.dlpack.from_dlpack(lent)
    return Taken(array.unsafe_buffer_pointer(), array.tolist, str(array.dtype))


@_taker("pyarrow.array", "pyarrow")
def _pyarrow_array(lent: Any) -> Taken:
    import pyarrow as pa

    array = pa.array(lent)
    return Taken(array.buffers()[1].address, array.to_pylist, str(array.type))


@_taker("pyarrow.py_buffer", "pyarrow")
def _pyarrow_py_buffer(lent: Any) -> Taken:
    import pyarrow as pa

    buffer = pa.py_buffer(lent)
    return Taken(buffer.address, lambda: list(buffer.to_pybytes()))


@_taker("nanoarrow.c_array", "nanoarrow")
def _nanoarrow_c_array(lent: Any) -> Taken:
    import nanoarrow

    array = nanoarrow.c_array(lent)
    return Taken(array.buffers[1], lambda: list(bytes(array.view().buffer(1))))


@_taker("nanoarrow.c_buffer", "nanoarrow")
def _nanoarrow_c_buffer(lent: Any) -> Taken:
    import nanoarrow

    return _of_view(memoryview(nanoarrow.c_buffer(lent)))


@_taker("polars.Series", "polars")
def _polars_series(lent: Any) -> Taken:
    import polars as pl

    series = pl.Series(lent)
    return Taken(series._get_buffer_info()[0], series.to_list, str(series.dtype).lower())  # noqa: SLF001


@_taker("duckdb from Arrow", "duckdb", "pyarrow")
def _duckdb_from_arrow(lent: Any) -> Taken:
    import duckdb
    import pyarrow as pa

    column = duckdb.from_arrow(pa.table([pa.array(lent)], ["a"])).fetchnumpy()["a"]
    return _of_ndarray(column)


@_taker("arro3.core.Array", "arro3.core", "pyarrow")
def _arro3_array(lent: Any) -> Taken:
    import arro3.core
    import pyarrow as pa

    array = arro3.core.Array(lent)
    theirs = pa.array(array)
    return Taken(theirs.buffers()[1].address, lambda: array.to_numpy().tolist(), str(theirs.type))


@_taker("tvm_ffi from_dlpack", "tvm_ffi")
def _tvm_ffi_from_dlpack(lent: Any) -> Taken:
    import numpy as np

    tensor = import_module("tvm_ffi").from_dlpack(lent)
    return Taken(tensor.data_ptr(), lambda: np.from_dlpack(tensor).tolist())


@_taker("StridedMemoryView", "cuda.core")
def _strided_memory_view(lent: Any) -> Taken:
    import numpy as np

    view = import_module("cuda.core.utils").StridedMemoryView.from_any_interface(lent, stream_ptr=-1)
    return Taken(view.ptr, lambda: np.from_dlpack(view).tolist())


OUTCOMES = ("zero-copy", "copy", "refused", "wrong", "crashed", "hung")


def measure(progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Let every consumer take every lender's bytes.

    Return, JSON-able, `lenders`, `takers`, `packages`, `cells[taker][lender]`, and `count[lender]` of outcomes.
    """
    lending = availability()
    rows = TAKERS
    names = dict.fromkeys([one.package for one in rows if one.package])
    names |= dict.fromkeys([one.package for one in LENDERS if one.package])
    packages = {name: peers.peer(name)._asdict() for name in names}
    cells: dict[str, dict[str, dict[str, str]]] = {}
    for done, package in enumerate(dict.fromkeys(one.package for one in rows)):
        progress(f"consumers: {package or 'Python'}", done / (len(packages) + 1))
        mine = [one for one in rows if one.package == package and _state(one, packages)["available"]]
        if not mine:
            continue
        for message in _row(package, {one.name: one.place for one in mine}, lending):
            if "cannot" in message:
                packages[package] |= {"available": False, "reason": message["cannot"]}
                for one in mine:
                    cells.pop(one.name, None)
            else:
                cells.setdefault(message["taker"], {})[message["lender"]] = message["cell"]
    told = {one.name: {"package": one.package, **_state(one, packages)} for one in rows}
    count = {
        name: {kind: sum(row[name]["outcome"] == kind for row in cells.values()) for kind in OUTCOMES}
        for name, one in lending.items()
        if one["available"]
    }
    ordered = {
        one.name: {name: cells[one.name][name] for name in lending if name in cells[one.name]}
        for one in rows
        if one.name in cells
    }
    return {
        "size": SIZE,
        "lenders": lending,
        "takers": told,
        "packages": packages,
        "cells": ordered,
        "count": count,
    }


def _state(taker: Taker, packages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Say whether a call can be made here, and why not."""
    for package in filter(None, (taker.package, taker.also)):
        found = packages[package]
        if not found["available"]:
            reason = found["reason"] if package == taker.package else f"needs {package}: {found['reason']}"
            return {"available": False, "reason": reason, "version": ""}
    return {"available": True, "reason": "", "version": packages[taker.package]["version"] if taker.package else ""}


def _row(
    package: str, places: Mapping[str, str], lending: Mapping[str, Mapping[str, Any]], limit: float = processes.LIMIT
) -> Iterator[dict[str, Any]]:
    """Yield the cells of one package's calls; what ends the process that was to tell is an outcome too."""
    by_name = {one.name: one for one in LENDERS}
    # Those that need no library of their own come first, whatever the order of display.
    present = sorted(
        (name for name, one in lending.items() if one["available"]), key=lambda name: bool(by_name[name].package)
    )
    pairs = [[taker, lender] for lender in present for taker in places]
    fork = hasattr(os, "fork")
    while pairs:
        order = {"package": package, "places": dict(places), "fork": fork, "limit": limit}
        order["pairs"] = pairs if fork else pairs[:1]
        end: dict[str, Any] = {}
        for message in processes.run(f"{__name__}:_job", order, timeout=processes.TIMEOUT if fork else limit):
            if "end" in message:
                end = message
                continue
            yield message
            if "cannot" in message:
                return
            pairs.remove([message["taker"], message["lender"]])
        if end["end"] != "done":
            taker, lender = pairs.pop(0)
            outcome = "hung" if end["end"] == "hung" else "crashed"
            yield {"taker": taker, "lender": lender, "cell": {"outcome": outcome, "detail": end["detail"]}}


def _job(payload: dict[str, Any], tell: Tell) -> None:
    os.environ.update(processes.SETTINGS)
    try:
        if payload["package"]:
            import_module(payload["package"])
    except Exception as error:  # noqa: BLE001 - a library that is installed and does not load is absent
        tell({"cannot": f"cannot be imported: {sentence(error)}"})
        return
    import_module("numpy")
    by_name = {one.name: one for one in LENDERS}
    for taker, name in payload["pairs"]:
        lender = by_name[name]
        if lender.package:
            import_module(lender.package)
        place = payload["places"][taker]
        found = _forked(place, lender, payload["limit"]) if payload["fork"] else cell(place, lender)
        tell({"taker": taker, "lender": name, "cell": found})


def _forked(place: str, lender: Lender, limit: float) -> dict[str, str]:
    answer, code = processes.fork(lambda: json.dumps(cell(place, lender)).encode(), limit)
    if code is None:
        return {"outcome": "hung", "detail": f"no answer in {limit:g} s"}
    return json.loads(answer) if not code else {"outcome": "crashed", "detail": processes.child_death(code)}


def cell(place: str, lender: Lender) -> dict[str, str]:
    """Let one call take one lender's bytes in this process, which it may end; return `outcome` and `detail`."""
    take = consumers.find(place)
    lent, address = lender.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            taken = take(lent)
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            return {"outcome": "refused", "detail": sentence(error)}
        del lent
        gc.collect()
        try:
            values = taken.values()
        except BaseException as error:  # noqa: BLE001
            return {"outcome": "wrong", "detail": f"the result cannot be read: {sentence(error)}"}
    expected = content()
    if [value % 256 for value in values] != expected:  # a type with a sign shows the same bytes
        return {"outcome": "wrong", "detail": _difference(values, expected)}
    detail = "" if taken.type in {"uint8", "u1"} else f"as {taken.type}"
    return {"outcome": "zero-copy" if taken.address == address else "copy", "detail": detail}


def _difference(values: list[int], expected: list[int]) -> str:
    if len(values) != len(expected):
        return f"{len(values)} values came, {len(expected)} were lent"
    place = next(place for place, pair in enumerate(zip(values, expected, strict=True)) if pair[0] != pair[1])
    return f"value {place}: got {values[place]}, {expected[place]} was lent"
