"""Time per exchange, side by side.

Rules of this file: alternatives that do the same work are timed in turns in one process (`timing`), against
`buflend.minimal` wherever it takes part. Every alternative is tried once before: what refuses or crashes is said, and
the others are timed without it. Whether a reading is *right* is not judged here (see `values`): time is told of wrong
readings too.

The sections, whose works are in `exchanges`: `pointer` (an address made an array), `column` (one column of each
library's frame), `table` (the real table), `size` (plain integers of growing number).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import exchanges, groups, readers, timing
from .exchanges import SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[dict[str, Any]], None]

SECTIONS = ("pointer", "column", "table", "size")
SECONDS = 0.5
"""Time to spend on each group, about."""

BASELINE = "minimal"


def measure(file: str | None, progress: Callable[[str, float], None], seconds: float = SECONDS) -> dict[str, Any]:
    """Time all sections.

    Parameters
    ----------
    file : str or None
        The table of section `table`, as `tables.load` takes it.
    progress : callable
        Called with a text and the fraction done.
    seconds : float
        Time to spend on each group, about.

    Returns
    -------
    dict
        JSON-able: `sections`, each a list of groups with their `alternatives`.
    """
    present = readers.availability()
    sections: dict[str, list[dict[str, Any]]] = {}
    notes: dict[str, str] = {}
    for done, section in enumerate(SECTIONS):
        progress(f"cost: {section}", done / len(SECTIONS))
        payload = {"section": section, "file": file, "seconds": seconds, "consumers": present}

        def told(text: str, share: float = done / len(SECTIONS)) -> None:
            progress(f"cost: {text}", share)

        sections[section], notes[section] = _section(payload, told)
    for found_groups in sections.values():
        for group in found_groups:
            for name, found in present.items():
                if not found["available"]:
                    group["alternatives"].setdefault(name, {"outcome": "absent", "detail": found["reason"]})
    return {"part": "cost", "baseline": BASELINE, "consumers": present, "sections": sections, "notes": notes}


def _section(payload: dict[str, Any], told: Callable[[str], None]) -> tuple[list[dict[str, Any]], str]:
    return groups.in_process(f"{__name__}:_job", payload, told)


def _job(payload: dict[str, Any], tell: Tell) -> None:
    consumers = [name for name, found in payload["consumers"].items() if found["available"]]
    make: dict[str, Callable[[], Iterator[groups.Group]]] = {
        "pointer": partial(exchanges.pointer, consumers),
        "column": partial(exchanges.column, consumers),
        "table": partial(exchanges.table, consumers, payload["file"]),
    }
    if payload["section"] == "size":
        _sizes(consumers, payload, tell)
        return
    groups.time_all(make[payload["section"]](), payload, tell, BASELINE, _makes)


def _makes(result: Any) -> str:
    """Tell what type a reading of one column has, as the consumer's library calls it; empty for anything else."""
    from .conversion import cells_of

    if hasattr(result, "_fields"):  # our column arrays
        result = {"": result}
    if not isinstance(result, dict) and not hasattr(result, "columns"):
        return ""
    types = [cells.type for cells in cells_of(result).values()]
    return types[0] if len(types) == 1 else ""


def _sizes(consumers: list[str], payload: dict[str, Any], tell: Tell) -> None:
    """Time all sizes and consumers in one run, so that growth is paired too."""
    usable: dict[tuple[str, int], Callable[[], object]] = {}
    entries: dict[int, dict[str, dict[str, Any]]] = {}
    by_size = {group.rows: group for group in exchanges.growing(consumers)}
    for size, group in by_size.items():
        fine, entries[size] = groups.tried(group, payload["skip"].get(group.title, {}), tell)
        usable |= {(name, size): function for name, function in fine.items()}
    if usable:
        tell({"try": {"title": by_size[SIZES[0]].title, "name": "timing"}})
        done = timing.run(usable, seconds=payload["seconds"] * len(SIZES))
        for name, size in usable:
            base = (BASELINE, size) if (BASELINE, size) in usable else next(one for one in usable if one[1] == size)
            found = done.timing((name, size), base).as_json()
            if (name, SIZES[0]) in usable:
                found["growth"] = list(done.timing((name, size), (name, SIZES[0])).ratio)
            entries[size][name] = {"outcome": "timed", "detail": "", **found}
    for size, group in by_size.items():
        baseline = BASELINE if entries[size].get(BASELINE, {}).get("outcome") == "timed" else ""
        tell({"group": groups.as_json(group, baseline, entries[size])})
