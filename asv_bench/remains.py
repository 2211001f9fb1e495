"""What many exchanges leave behind: memory that grew, references, objects, files, loans that live.

Rules of this file: each kind of exchange has a process of its own, in which some exchanges come before, so that caches
and pools are filled. Resident memory, references and files are looked at without `tracemalloc`, which takes memory
itself, and traced memory in a second, shorter pass. What is exchanged stands in `exchanges`.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
import warnings
from typing import TYPE_CHECKING, Any

import exchanges as every

from buflend.bench import peers, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[dict[str, Any]], None]
    Exchanges = dict[str, tuple[str, str]]

EXCHANGES = {
    name: every.EXCHANGES[name]
    for name in ("numpy.from_dlpack", "as_ndarray", "pyarrow.array", "torch.from_dlpack", "as_ndarray of a tensor")
}
"""Those that `make bars` runs."""

LEAST = 1
"""Bytes per exchange that count as growth; of what stays, no object is smaller."""

SLACK = 100
"""References, blocks and objects by which a process may differ for once: what is parked, what a cache has filled."""

PAGES = 1 << 20
"""Bytes by which resident memory may differ for once, however few exchanges there were; a part of it where traced."""

PATIENCE = 10_800.0
"""Seconds to wait for a million exchanges of the slowest kind, beside other work."""


def measure(count: int, exchanges: Exchanges | None = None) -> dict[str, dict[str, Any]]:
    """Exchange so many times, and look at what is left.

    Parameters
    ----------
    count : int
        Exchanges in the pass that is not traced.
    exchanges : dict, optional
        As `EXCHANGES`, which it replaces.

    Returns
    -------
    dict
        By exchange: growth of `resident` memory and of what was `traced`, in bytes; of `references` to what is lent and
        to what the interpreter has once, of the one that grew most; of `blocks` of the interpreter's allocator; of
        `objects` of the collector; of open `files`; `live` exports; `exchange`, the time of one in microseconds; and
        `verdict`, "met" where nothing grew and nothing is lent, else "missed: " and what. `verdict` alone, with the
        reason, where it could not be measured.
    """
    return dict(run(count, exchanges or EXCHANGES))


def run(count: int, exchanges: Exchanges) -> Iterator[tuple[str, dict[str, Any]]]:
    """Do what `measure` does, and yield each result when it is there."""
    for name, (package, statement) in exchanges.items():
        if not peers.peer(package).available:
            continue
        found: dict[str, Any] = {}
        for message in processes.run(
            f"{__name__}:_job", {"package": package, "statement": statement, "count": count}, timeout=PATIENCE
        ):
            if "end" not in message:
                found = message
            elif message["end"] != "done":
                found = {"verdict": f"{message['end']}: {message['detail']}"}
        yield name, found


def resident() -> int:
    """Return the resident bytes that no file backs; a system that needs memory takes those of files away meanwhile."""
    import psutil

    found = psutil.Process().memory_info()
    return int(found.rss - getattr(found, "shared", 0))  # told apart on Linux only


def _job(payload: dict[str, Any], tell: Tell) -> None:
    import time

    import psutil

    from buflend.maximal import live_exports

    warnings.simplefilter("ignore")  # pandas and polars announce the end of `__dataframe__`
    names = every.names(payload["package"])
    code = f"def work(count):\n    for _ in range(count):\n        {payload['statement']}\n"
    exec(code, names)  # noqa: S102 - a statement of the table, in a loop that adds nothing to it
    work, count, process = names["work"], payload["count"], psutil.Process()
    few = max(1000, count // 20)
    singles = [None, True, (), "", 0, every, *[one for one in names.values() if not isinstance(one, (int, str))]]

    def look() -> dict[str, Any]:
        _collect()
        return {
            "resident": resident(),
            "blocks": sys.getallocatedblocks(),
            "objects": len(gc.get_objects()),
            "files": process.num_handles() if sys.platform == "win32" else process.num_fds(),
            "references": [sys.getrefcount(one) for one in singles],
        }

    lent = len(live_exports())
    work(few)
    look()
    before, began = look(), time.perf_counter()
    work(count)
    spent, after = time.perf_counter() - began, look()
    grown = {key: after[key] - before[key] for key in ("resident", "blocks", "objects", "files")}
    grown["references"] = max(b - a for a, b in zip(before["references"], after["references"], strict=True))
    tracemalloc.start()
    work(1000)
    _collect()
    traced = tracemalloc.get_traced_memory()[0]
    work(few)
    _collect()
    grown["traced"] = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    grown["live"] = len(live_exports()) - lent
    tell({**grown, "exchange": spent / count * 1e6, "verdict": _verdict(grown, count, few)})


def _collect() -> None:
    gc.collect()
    gc.collect()  # what was parked goes with the second


def _verdict(grown: dict[str, int], count: int, traced: int) -> str:
    most = {
        "resident": max(count * LEAST, PAGES),
        "traced": max(traced * LEAST, PAGES // 32),
        "references": SLACK,
        "blocks": 5 * SLACK + count // 1000,
        "objects": SLACK,
        "files": 0,
        "live": 0,
    }
    missed = [name for name, bound in most.items() if grown[name] > bound]
    return f"missed: {', '.join(missed)}" if missed else "met"
