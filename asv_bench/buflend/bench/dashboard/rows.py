"""What result files say, side by side: a row for each work, its other parameters and the machine.

A row holds of each implementation the newest value that was made by the present version of the benchmark. Which
implementation, is the benchmark's first parameter, `impl`; the machine is part of the row, so that nothing is compared
across machines. Must not know: asv's files beyond `results`, pages.
"""

from __future__ import annotations

import ast
import re
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from .results import Machine, Run, Value

IMPL = "impl"
"""The first parameter of a benchmark that compares implementations."""

FIRST = "minimal"
"""What all others are compared with, where it can do a work."""

ON_GPU = re.compile("gpu", re.IGNORECASE)
"""What is in the name of a benchmark that needs a GPU."""

REPEATS = re.compile(r"_x(\d+)$")
"""At the end of the name of a benchmark: how often its body does the work."""

SECONDS = "seconds"


class Cell(NamedTuple):
    """One implementation in a row.

    Attributes
    ----------
    outcome : str
        `measured`, `n/a`, `failed`, or `absent` where the run knows nothing of it.
    value, low, high : float or None
        Per call, in the row's unit, with quartiles where there are.
    samples : int
        How many samples there are.
    ratio : float or None
        Over the row's base.
    best : bool
        Whether none is less.
    reason : str
        Why there is no value, where that is known.
    """

    outcome: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    ratio: float | None = None
    best: bool = False
    reason: str = ""


class Work(NamedTuple):
    """A benchmark by its names: asv's, its class in the suite or an empty text, and people's; and what it is."""

    benchmark: str
    topic: str
    title: str
    about: str


class Row(NamedTuple):
    """One work on one machine.

    Attributes
    ----------
    benchmark, topic, work, about : str
        What it is, as in `Work`.
    parameters, raw : dict
        The others, by name, as people and as asv write them.
    machine, gpu : str
        Where it was measured; `gpu` is `results.NO_GPU` where there is none.
    commit, when, python, notes
        Of what, when (milliseconds since 1970), with which Python, and what else is known of the run.
    unit : str
        Of the values.
    cells : dict
        Implementation -> cell, in the order of the benchmark's parameter.
    base : str
        The implementation that ratios are over: the first that has a value; empty where none has.
    """

    benchmark: str
    topic: str
    work: str
    about: str
    parameters: dict[str, str]
    raw: dict[str, str]
    machine: str
    gpu: str
    commit: str
    when: int
    python: str
    notes: Mapping[str, Any]
    unit: str
    cells: dict[str, Cell]
    base: str

    @property
    def on_gpu(self) -> bool:
        """Tell whether the work needs a GPU."""
        return bool(ON_GPU.search(self.benchmark))


class Table(NamedTuple):
    """All rows.

    Attributes
    ----------
    rows : list of Row
        Those with a value or a failure.
    skipped : list of Row
        Those in which all is n/a.
    outdated : dict
        Machine -> benchmarks of which it has results of another version alone.
    """

    rows: list[Row]
    skipped: list[Row]
    outdated: dict[str, list[str]]


def table(
    machines: Iterable[Machine],
    benchmarks: Mapping[str, Mapping[str, Any]],
    words: Mapping[str, str],
) -> Table:
    """Return what machines measured of the benchmarks that there are; `words` are those that `suite_words` finds."""
    found = Table([], [], {})
    works = titles(benchmarks)
    for machine in machines:
        newest, outdated = _newest(machine, benchmarks)
        if outdated:
            found.outdated[machine.name] = outdated
        for name in benchmarks:
            if name in newest:
                work = Work(name, *works[name], words.get(name.rpartition(".")[0], ""))
                _add(found, newest[name], work, benchmarks[name])
    places = {name: place for place, name in enumerate(benchmarks)}
    found.rows.sort(key=lambda row: (row.on_gpu, places[row.benchmark]))
    return found


def _newest(machine: Machine, benchmarks: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Run], list[str]]:
    """Return of each benchmark the newest run of its present version, and which have runs of others alone."""
    newest: dict[str, Run] = {}
    seen: dict[str, None] = {}
    for run in machine.runs:
        for name, columns in run.results.items():
            if name not in benchmarks or columns.get("version") not in (None, benchmarks[name].get("version")):
                seen[name] = None
            elif name not in newest or run.when(name) >= newest[name].when(name):
                newest[name] = run
    return newest, [name for name in seen if name not in newest]


def _add(found: Table, run: Run, work: Work, benchmark: Mapping[str, Any]) -> None:
    names, choices = list(benchmark["param_names"]), list(benchmark["params"])
    if names[:1] != [IMPL]:
        return
    values = run.values(work.benchmark)
    for others in product(*choices[1:]):
        made = {plain(impl): values.get((impl, *others)) for impl in choices[0]}
        cells, base = _cells(made, calls(work.benchmark))
        parameters = dict(zip(names[1:], map(plain, others), strict=True))
        tried = any(cell.outcome in ("measured", "failed") for cell in cells.values())
        (found.rows if tried else found.skipped).append(
            Row(
                *work,
                parameters,
                dict(zip(names[1:], others, strict=True)),
                run.machine,
                run.gpu,
                run.commit,
                run.when(work.benchmark),
                str(run.data["python"]),
                run.notes,
                str(benchmark.get("unit", "unit")),
                cells,
                base,
            )
        )


def _cells(values: Mapping[str, Value | None], count: int) -> tuple[dict[str, Cell], str]:
    """Return the cells of a row, and which implementation ratios are over."""
    known = {
        name: one.number / count for name, one in values.items() if one and one.measured and one.number is not None
    }
    base = FIRST if FIRST in known else next(iter(known), "")
    least = min(known.values(), default=0.0)
    cells = {}
    for name, one in values.items():
        if one is None:
            cells[name] = Cell("absent", reason="not in this result")
        elif name not in known:
            cells[name] = Cell("failed" if one.number is None else "n/a", reason=one.reason)
        else:
            cells[name] = Cell(
                "measured",
                known[name],
                None if one.low is None else one.low / count,
                None if one.high is None else one.high / count,
                one.samples,
                known[name] / known[base] if known[base] else None,
                known[name] == least < max(known.values()),
            )
    return cells, base


def calls(name: str) -> int:
    """Return how often a benchmark does its work in one measurement, as its name says: 1000 for `time_view_x1000`."""
    found = REPEATS.search(name)
    return int(found[1]) if found else 1


def titles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return of each benchmark its class, and what people call it: the class, with the method where it has several."""
    found = {}
    several: dict[str, int] = {}
    for name in names:
        above, _, method = name.rpartition(".")
        several[above] = several.get(above, 0) + 1
        bare = re.sub(r"^(?:time|timeraw|track|peakmem|mem)_", "", REPEATS.sub("", method)).replace("_", " ")
        found[name] = above.partition(".")[2], bare
    return {
        name: (topic, topic if topic and several[name.rpartition(".")[0]] == 1 else f"{topic}, {bare}".strip(", "))
        for name, (topic, bare) in found.items()
    }


def described(work: str, parameters: Mapping[str, str]) -> str:
    """Return a work with its parameters."""
    told = chosen(parameters)
    return f"{work} ({told})" if told else work


def chosen(parameters: Mapping[str, str], *without: str) -> str:
    """Return parameters with their values, numbers with commas."""
    told = {
        name: f"{int(one):,}" if one.isdecimal() else one for name, one in parameters.items() if name not in without
    }
    return ", ".join(f"{name}={value}" for name, value in told.items())


def plain(value: str) -> str:
    """Return a parameter as people write it: asv keeps the text of its `repr`."""
    try:
        found = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
    return found if isinstance(found, str) else value


def columns(rows: Iterable[Row]) -> list[str]:
    """Return the implementations that rows have, in an order that every row has, as far as there is one."""
    before: dict[str, dict[str, None]] = {}
    for row in rows:
        for place, name in enumerate(row.cells):
            before.setdefault(name, {}).update(dict.fromkeys(list(row.cells)[:place]))
    found: list[str] = []
    while rest := [name for name in before if name not in found]:
        ready = [name for name in rest if all(one in found for one in before[name])]
        found.append((ready or rest)[0])
    return found


def left_out(rows: Iterable[Row]) -> dict[str, list[tuple[str, str]]]:
    """Return works without a value by machine, each with its reasons."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        told = dict.fromkeys(cell.reason for cell in row.cells.values() if cell.outcome == "n/a" and cell.reason)
        label = described(row.work, row.parameters)
        found.setdefault(row.machine, []).append((label, "; ".join(told) or "no reason was noted"))
    return found


def failures(rows: Iterable[Row]) -> Iterator[tuple[Row, str, str]]:
    """Yield what failed: the row, the implementation, and why."""
    for row in rows:
        for name, cell in row.cells.items():
            if cell.outcome == "failed":
                yield row, name, cell.reason


def suite_words(folder: Path) -> dict[str, str]:
    """Return what the files of a suite say of themselves and their classes, by `file` and `file.Class`: a line each."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        module = ast.parse(path.read_text("utf-8"))
        found[path.stem] = ast.get_docstring(module)
        classes = [one for one in module.body if isinstance(one, ast.ClassDef)]
        found |= {f"{path.stem}.{one.name}": ast.get_docstring(one) for one in classes}
    return {name: told.splitlines()[0].replace("`", "") for name, told in found.items() if told}
