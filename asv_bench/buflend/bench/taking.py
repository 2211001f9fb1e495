"""Who can take what: every call on every lender's bytes, each in a process of its own.

Lives here: what a lender, a call and an outcome are, and the processes. Must not know: any library, any device. Which
lenders and calls there are stands in the modules that measure with it.

Each cell is measured in a process forked from one that has imported the call's library and used nothing of it; where
there is no fork, in a fresh interpreter. The lender is dropped before the result is read. *Zero-copy* are the same
bytes at the lender's address, *copy* the same bytes elsewhere, *wrong* other bytes, *refused* an exception, *crashed*
and *hung* the end of the process. What only a lender needs is imported after the other lenders were taken, so that
buflend's buffers are measured without a library that happens to be loaded.
"""

from __future__ import annotations

import gc
import json
import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from . import processes
from .consumers import find
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Tell = Callable[[dict[str, Any]], None]
    Packages = dict[str, dict[str, Any]]

SIZE = 4096
"""Bytes that are lent."""

OUTCOMES = ("zero-copy", "copy", "refused", "wrong", "crashed", "hung")

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


class Lenders(NamedTuple):
    """Where a child finds the lenders: a function at `module:function`, which makes the list of what it is given."""

    place: str
    of: str = ""

    def by_name(self) -> dict[str, Lender]:
        """Return the lenders that the function names."""
        return {one.name: one for one in find(self.place)(self.of)}


def content() -> list[int]:
    """Return the bytes that are lent, as numbers."""
    return [place % 251 for place in range(SIZE)]


def matrix(
    rows: Sequence[Taker],
    lenders: Lenders,
    lending: Mapping[str, dict[str, Any]],
    packages: Packages,
    told: Callable[[str, float], None],
    *,
    limit: float = processes.LIMIT,
) -> dict[str, Any]:
    """Let every call take every lender's bytes, as far as lenders and packages are here.

    Return, JSON-able, `lenders`, `takers`, `packages`, `cells[taker][lender]`, and `count[lender]` of outcomes.
    """
    cells: dict[str, dict[str, dict[str, str]]] = {}
    for done, package in enumerate(dict.fromkeys(one.package for one in rows)):
        told(package or "Python", done / (len(packages) + 1))
        mine = [one for one in rows if one.package == package and state(one, packages)["available"]]
        if not mine:
            continue
        for message in row(package, {one.name: one.place for one in mine}, lending, lenders, limit):
            if "cannot" in message:
                packages[package] |= {"available": False, "reason": message["cannot"]}
                for one in mine:
                    cells.pop(one.name, None)
            else:
                cells.setdefault(message["taker"], {})[message["lender"]] = message["cell"]
    takers = {one.name: {"package": one.package, **state(one, packages)} for one in rows}
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
        "lenders": dict(lending),
        "takers": takers,
        "packages": packages,
        "cells": ordered,
        "count": count,
    }


def state(taker: Taker, packages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Say whether a call can be made here, and why not."""
    for package in filter(None, (taker.package, taker.also)):
        found = packages[package]
        if not found["available"]:
            reason = found["reason"] if package == taker.package else f"needs {package}: {found['reason']}"
            return {"available": False, "reason": reason, "version": ""}
    return {"available": True, "reason": "", "version": packages[taker.package]["version"] if taker.package else ""}


def row(
    package: str,
    places: Mapping[str, str],
    lending: Mapping[str, Mapping[str, Any]],
    lenders: Lenders,
    limit: float = processes.LIMIT,
) -> Iterator[dict[str, Any]]:
    """Yield the cells of one package's calls; what ends the process that was to tell is an outcome too."""
    by_name = lenders.by_name()
    # Those that need no library of their own come first, whatever the order of display.
    present = sorted(
        (name for name, one in lending.items() if one["available"]), key=lambda name: bool(by_name[name].package)
    )
    pairs = [[taker, lender] for lender in present for taker in places]
    fork = hasattr(os, "fork")
    while pairs:
        order = {"package": package, "places": dict(places), "lenders": list(lenders), "fork": fork, "limit": limit}
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
    by_name = Lenders(*payload["lenders"]).by_name()
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
    take = find(place)
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
