"""What of a CUDA device's memory stays alive while a person drops one thing after another.

One block of memory is lent by a buffer of ours, or to one, and taken by each call that does so without a copy. Its
owner is watched by a weak reference, and whoever made the memory is asked how many bytes are lent. All is done once
before it is measured, since a library takes memory of its own when it is first used. A byte that is held without need
is *excess*; an owner that is gone while something views its memory is *dangling*.
"""

from __future__ import annotations

import gc
import os
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import processes
from ..consumers import find
from ..tables import sentence
from . import memory
from .takers import TAKERS, needs
from .wording import ITSELF

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..taking import Taker

    Tell = Callable[[dict[str, Any]], None]

SIZE = 16_000_000
"""Bytes that are lent."""

STEPS = ("all held", "the view alone", "nothing")
"""What is held, after all else was dropped."""

LEAST = (SIZE, SIZE, 0)

NEAR = SIZE // 2
"""Bytes from which on a difference counts: allocators round, and the driver may hold some of its own."""


def measure(device: Mapping[str, Any], progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Return, JSON-able, `holders` with their `steps`, by call; `least` bytes, and who has `counted_by`."""
    packages = device["libraries"]
    holders: dict[str, dict[str, Any]] = {}
    for done, taker in enumerate(TAKERS):
        progress(f"lifetime: {taker.name}", done / len(TAKERS))
        holders[taker.name] = {"package": taker.package, **_holder(taker, device["source"], packages)}
    return {
        "device": "cuda",
        "size": SIZE,
        "source": device["source"],
        "counted_by": device["counted_by"],
        "least": list(LEAST),
        "packages": {name: dict(one) for name, one in packages.items()},
        "holders": holders,
    }


def _holder(taker: Taker, source: str, packages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what became of one call."""
    if taker.package and not packages[taker.package]["available"]:
        return _without_steps("n/a", f"needs {needs(taker.package, packages)}")
    told, end = processes.answer(f"{__name__}:_job", {"call": taker.name, "source": source})
    if end:
        return _without_steps("hung" if end["end"] == "hung" else "crashed", end["detail"])
    return told


def _without_steps(outcome: str, detail: str) -> dict[str, Any]:
    return {"outcome": outcome, "detail": detail, "steps": [], "at_once": None, "leaked": 0}


def _job(payload: dict[str, Any], tell: Tell) -> None:
    os.environ.update(processes.SETTINGS)
    taker = next(one for one in TAKERS if one.name == payload["call"])
    source = payload["source"]
    take, itself = find(taker.place), taker.name == ITSELF
    try:
        for package in filter(None, (taker.package, memory.package(source))):
            import_module(package)
        _round(take, source, itself=itself)
        found = _round(take, source, itself=itself)
    except Exception as error:  # noqa: BLE001 - a library may refuse in its own way
        tell(_without_steps("refused", sentence(error)))
    else:
        tell({"outcome": "measured", "detail": "", **found})


def _round(take: Callable[[Any], Any], source: str, *, itself: bool) -> dict[str, Any]:
    """Take and drop once; return the `steps`, whether the owner went `at_once`, and the bytes that are `leaked`."""
    import numpy as np

    from buflend.maximal import Buffer

    maker = memory.MAKERS[source]
    count = maker.held
    assert count is not None  # noqa: S101 - for the type checker: every source counts
    gc.collect()
    start = count()
    made, ptr = maker.make(np.zeros(SIZE, np.uint8))
    owner = weakref.ref(made)
    lent = made if itself else Buffer(ptr, SIZE, owner=made, device=memory.DEVICE)
    view = take(lent)
    if view.address != ptr:
        raise ValueError("the call copies, and a copy holds nothing")
    steps = [_step(0, owner, count() - start)]
    del made, lent
    steps.append(_step(1, owner, count() - start))
    del view
    at_once = owner() is None
    gc.collect()
    steps.append(_step(2, owner, count() - start))
    return {"steps": steps, "at_once": at_once, "leaked": steps[-1]["held"] if steps[-1]["excess"] else 0}


def _step(place: int, owner: weakref.ref[Any], held: int) -> dict[str, Any]:
    alive, least = owner() is not None, LEAST[place]
    return {
        "step": STEPS[place],
        "alive": alive,
        "held": held,
        "least": least,
        "excess": (alive and not least) or held - least >= NEAR,
        "dangling": bool(least) and (not alive or least - held >= NEAR),
    }
