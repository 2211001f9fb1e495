"""Who can take it: every consumer's call on every lender's bytes.

Each cell is measured in a process of its own, forked from one that has imported the consumer and used nothing of it;
where there is no fork, in a fresh interpreter. The lender is dropped before the result is read. The verdict rests on
the address that the lender gives and on the values: *zero-copy* the same bytes at the same address, *copy* the same
bytes elsewhere, *wrong* other bytes, *refused* an exception, *crashed* and *hung* the end of the process.

Libraries that only a lender needs are imported after the other lenders were taken, so that buflend's buffers are
measured without a helper that happens to be loaded.
"""

from __future__ import annotations

import gc
import json
import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import consumers, peers, processes, takers
from .runner import SETTINGS
from .tables import sentence
from .takers import Taker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .takers import Lender

    Tell = Callable[[dict[str, Any]], None]

OUTCOMES = ("zero-copy", "copy", "refused", "wrong", "crashed", "hung")


def measure(progress: Callable[[str, float], None], extra: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Let every consumer take every lender's bytes.

    `extra` are more calls: name and `module:function`, each in need of no package. Return, JSON-able, `lenders`,
    `takers`, `packages`, `cells[taker][lender]`, and `count[lender]` of outcomes.
    """
    lending = takers.availability()
    rows: list[Taker] = list(takers.TAKERS)
    rows += [Taker(name, "", place) for name, place in (extra or {}).items()]
    names = dict.fromkeys([one.package for one in rows if one.package])
    names |= dict.fromkeys([one.package for one in takers.LENDERS if one.package])
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
        "part": "consumers",
        "size": takers.SIZE,
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
    by_name = {one.name: one for one in takers.LENDERS}
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
    os.environ.update(SETTINGS)
    try:
        if payload["package"]:
            import_module(payload["package"])
    except Exception as error:  # noqa: BLE001 - a library that is installed and does not load is absent
        tell({"cannot": f"cannot be imported: {sentence(error)}"})
        return
    import_module("numpy")
    by_name = {one.name: one for one in takers.LENDERS}
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
    expected = takers.content()
    if [value % 256 for value in values] != expected:  # a type with a sign shows the same bytes
        return {"outcome": "wrong", "detail": _difference(values, expected)}
    detail = "" if taken.type in {"uint8", "u1"} else f"as {taken.type}"
    return {"outcome": "zero-copy" if taken.address == address else "copy", "detail": detail}


def _difference(values: list[int], expected: list[int]) -> str:
    if len(values) != len(expected):
        return f"{len(values)} values came, {len(expected)} were lent"
    place = next(place for place, pair in enumerate(zip(values, expected, strict=True)) if pair[0] != pair[1])
    return f"value {place}: got {values[place]}, {expected[place]} was lent"
