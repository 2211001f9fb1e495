"""What many exchanges leave behind: memory that grew, loans that live.

Rules of this file: each kind of exchange has a process of its own, in which as many exchanges come before, so that
caches and pools are filled. Resident memory is looked at without `tracemalloc`, which takes memory itself, and traced
memory in a second pass.
"""

from __future__ import annotations

import gc
import tracemalloc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from buflend.bench import peers, processes

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[dict[str, Any]], None]

EXCHANGES = {
    "numpy.from_dlpack": ("numpy", "numpy.from_dlpack(as_buffer(array))"),
    "as_ndarray": ("numpy", "as_ndarray(as_buffer(array))"),
    "pyarrow.array": ("pyarrow", "pyarrow.array(as_buffer(array))"),
    "torch.from_dlpack": ("torch", "torch.from_dlpack(as_buffer(array))"),
    "as_ndarray of a tensor": ("torch", "as_ndarray(as_buffer(torch.from_numpy(array)))"),
}
"""Name -> the package that it needs beside NumPy, and the statement."""

LEAST = 1
"""Bytes per exchange that count as growth; of what stays, no object is smaller."""

PATIENCE = 1200.0
"""Seconds to wait for a million exchanges, traced."""


def measure(count: int, exchanges: dict[str, tuple[str, str]] | None = None) -> dict[str, dict[str, Any]]:
    """Exchange so many times, and look at what is left.

    Parameters
    ----------
    count : int
        Exchanges in each pass.
    exchanges : dict, optional
        As `EXCHANGES`, which it replaces.

    Returns
    -------
    dict
        By exchange: `resident` and `traced` in bytes of growth, `live` exports, and `verdict`, "met" where nothing
        grew and nothing is lent; `verdict` alone, with the reason, where it could not be measured.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, (package, statement) in (exchanges or EXCHANGES).items():
        if not peers.peer(package).available:
            continue
        for message in processes.run(
            f"{__name__}:_job", {"package": package, "statement": statement, "count": count}, timeout=PATIENCE
        ):
            if "end" not in message:
                found[name] = message
            elif message["end"] != "done":
                found[name] = {"verdict": f"{message['end']}: {message['detail']}"}
    return found


def _job(payload: dict[str, Any], tell: Tell) -> None:
    import numpy as np
    import psutil

    from buflend.maximal import as_buffer, as_ndarray, live_exports

    names: dict[str, Any] = {"array": np.arange(1000), "as_buffer": as_buffer, "as_ndarray": as_ndarray, "numpy": np}
    names[payload["package"]] = import_module(payload["package"])
    code = f"def work(count):\n    for _ in range(count):\n        {payload['statement']}\n"
    exec(code, names)  # noqa: S102 - a statement of this file, in a loop that adds nothing to it
    work, count, process = names["work"], payload["count"], psutil.Process()

    def after(look: Callable[[], int]) -> int:
        work(count)
        gc.collect()
        return look()

    def resident() -> int:
        return int(process.memory_info().rss)

    before = after(resident)
    grown = after(resident) - before
    tracemalloc.start()
    work(1000)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    traced = after(lambda: tracemalloc.get_traced_memory()[0]) - before
    live = len(live_exports())
    clean = max(grown, traced) < count * LEAST and not live
    tell({"resident": grown, "traced": traced, "live": live, "verdict": "met" if clean else "missed"})
