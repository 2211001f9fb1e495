"""asv's result files: read, labelled, merged and written.

A file holds what one machine measured of one commit in one environment. Beside asv's keys ours carries one more,
`buflend`, which asv ignores: why values are missing, and what a reader has to know of the run. asv calls an environment
by its interpreter's path where it did not make it; here it gets a name that other machines share.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from . import DashboardError, shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FORMAT = 2
"""The version of asv's result files that is read here."""

LONGEST = 128
"""Characters from which on asv names a file by the sum of its environment's name."""

RESULTS = re.compile(r"[0-9a-f]{8}-.+\.json")
"""The names of asv's result files: a machine's folder may hold others."""

NO_GPU = "none"
"""What a machine without a GPU says: a key that only some machines have would split asv's selections."""


class Value(NamedTuple):
    """One value of a benchmark.

    Attributes
    ----------
    number : float or None
        What was measured, in the benchmark's unit; NaN where the benchmark was skipped, None where it failed.
    low, high : float or None
        The quartiles, where more than one sample was taken.
    samples : int
        How many samples there are; 0 where there are no statistics.
    reason : str
        Why there is no number, where that was noted.
    """

    number: float | None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    reason: str = ""

    @property
    def measured(self) -> bool:
        """Tell whether there is a number."""
        return self.number is not None and not math.isnan(self.number)


class Run(NamedTuple):
    """A result file.

    Attributes
    ----------
    source : str
        The name of the file that it was read from.
    machine : str
        Whose it is.
    data : dict
        All of asv's that is not results.
    results : dict
        Of each benchmark its columns by name.
    notes : dict
        All of ours.
    """

    source: str
    machine: str
    data: dict[str, Any]
    results: dict[str, dict[str, Any]]
    notes: dict[str, Any]

    @property
    def commit(self) -> str:
        """Return the commit that was measured."""
        return str(self.data["commit_hash"])

    @property
    def gpu(self) -> str:
        """Return the name of the machine's GPU, or `NO_GPU`."""
        return str(self.data["params"].get("gpu", NO_GPU))

    @property
    def file(self) -> str:
        """Return the name of its file, as asv would call it."""
        name = str(self.data["env_name"])
        if len(name) >= LONGEST:
            name = "env-" + hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        return f"{self.commit[:8]}-{name}.json"

    def when(self, benchmark: str) -> int:
        """Return when a benchmark was measured, in milliseconds since 1970."""
        started = self.results[benchmark].get("started_at")
        return int(self.data["date"] if started is None else started)

    def values(self, benchmark: str) -> dict[tuple[str, ...], Value]:
        """Return the values of a benchmark by its parameters, as asv writes them; empty where it has none."""
        columns = self.results[benchmark]
        combinations = list(product(*columns["params"]))
        known = self.notes.get("reasons", {}).get(benchmark, {})

        def column(name: str) -> list[Any]:
            found = columns.get(name)
            return list(found) if found is not None else [None] * len(combinations)

        numbers, lows, highs, repeats = map(column, shape.NUMBERS)
        found = {}
        for key, number, low, high, repeat in zip(combinations, numbers, lows, highs, repeats, strict=True):
            samples = int(repeat or 0)
            wide = samples > 1 and low is not None and high is not None
            reason = known.get(", ".join(key), "")
            found[key] = Value(number, low if wide else None, high if wide else None, samples, reason)
        return found


class Machine(NamedTuple):
    """A folder of results: what asv knows of the machine, and its files."""

    name: str
    info: dict[str, Any]
    runs: list[Run]


def load(path: Path, *, version: int | None = None) -> dict[str, Any]:
    """Return what a JSON file holds."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DashboardError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(found, dict) or (version is not None and found.get("version") != version):
        got = found.get("version") if isinstance(found, dict) else type(found).__name__
        raise DashboardError(
            f"{path}: version: got {got}, expected {version}; `asv update` brings old files up to date"
        )
    return found


def benchmarks(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what asv found in the suite, by name."""
    return {name: one for name, one in load(folder / "benchmarks.json").items() if isinstance(one, dict)}


def read(path: Path, machine: str) -> Run:
    """Read a result file."""
    data = load(path, version=FORMAT)
    shape.check_run(path, data)
    names = data.pop("result_columns")
    results = {name: dict(zip(names, columns, strict=False)) for name, columns in data.pop("results").items()}
    notes = data.pop("buflend", {})
    return Run(path.name, machine, data, results, notes)


def machines(folder: Path) -> Iterator[Machine]:
    """Yield the machines of a folder of results, or the one whose folder it is."""
    own = [folder] if (folder / "machine.json").is_file() else []
    inner = [path for path in sorted(folder.iterdir()) if (path / "machine.json").is_file()] if folder.is_dir() else []
    for path in own or inner:
        info = load(path / "machine.json")
        name = str(info.get("machine", path.name))
        shape.check_machine(path / "machine.json", info, name)
        files = [file for file in sorted(path.iterdir()) if RESULTS.fullmatch(file.name)]
        yield Machine(name, info, [read(file, name) for file in files])


def labelled(run: Run, gpu: str, **notes: Any) -> Run:
    """Return a run with the name of its machine's GPU, and an environment that is not named after a path."""
    params = {**run.data["params"], "gpu": gpu}
    changed: dict[str, Any] = {"params": params}
    if run.data["env_name"].startswith("existing"):
        python = notes["python"]
        changed |= {"env_name": f"existing-py{python}", "python": python, "params": params | {"python": python}}
    kept = {key: value for key, value in notes.items() if key != "python"}
    return run._replace(data={**run.data, **changed}, notes={**run.notes, **kept})


def at(run: Run, commit: str, date: int) -> Run:
    """Return a run as one of another commit, or of another date of it."""
    return run._replace(data={**run.data, "commit_hash": commit, "date": date})


def merged(runs: Iterable[Run]) -> list[Run]:
    """Return runs without two of the same machine, commit and environment: of each benchmark the newest is kept."""
    found: dict[tuple[str, str], Run] = {}
    for run in runs:
        key = run.machine, run.file
        found[key] = run if key not in found else _joined(found[key], run)
    return list(found.values())


def _joined(one: Run, other: Run) -> Run:
    newest = dict(one.results)
    reasons = dict(one.notes.get("reasons", {}))
    for name, columns in other.results.items():
        if name not in newest or other.when(name) >= one.when(name):
            newest[name] = columns
            reasons.pop(name, None)
            if name in other.notes.get("reasons", {}):
                reasons[name] = other.notes["reasons"][name]
    return other._replace(results=newest, notes={**one.notes, **other.notes, "reasons": reasons})


def write(folder: Path, machine: Machine) -> None:
    """Write a machine's folder below `folder`, as asv would; files of these names are replaced."""
    target = folder / machine.name
    target.mkdir(parents=True, exist_ok=True)
    info = {"gpu": NO_GPU, **machine.info, "machine": machine.name}  # asv cannot do without the last
    (target / "machine.json").write_text(json.dumps(info, indent=1), "utf-8")
    for run in machine.runs:
        names = list(dict.fromkeys(name for columns in run.results.values() for name in columns))
        rows = {name: [columns.get(key) for key in names] for name, columns in run.results.items()}
        data: dict[str, Any] = {**run.data, "result_columns": names, "results": rows, "buflend": run.notes}
        (target / run.file).write_text(json.dumps(data), "utf-8")


def write_benchmarks(folder: Path, found: Mapping[str, Any]) -> None:
    """Write what asv found in the suite where asv looks for it."""
    (folder / "benchmarks.json").write_text(json.dumps({**found, "version": 2}), "utf-8")


def keep(folder: Path, machine: Machine) -> None:
    """Put what a machine measured beside what is kept in a folder; of the same commit the newest is kept."""
    before = [run for one in machines(folder) if one.name == machine.name for run in one.runs]
    write(folder, machine._replace(runs=merged([*before, *machine.runs])))


REASON = re.compile(r"^asv: skipped: (?P<kind>\w+)\((?P<text>.*)\)\s*$", re.MULTILINE)
ENDED = re.compile(r"^asv: benchmark failed \(exit status (?P<code>-?\d+)\)$")


def reason(output: str) -> str:
    """Return in a line why a benchmark gave no value, from what it printed."""
    skipped = REASON.search(output)
    if skipped:
        text = skipped["text"]
        quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
        return (text[1:-1].replace("\\n", " ").replace("\\'", "'") if quoted else text) or skipped["kind"]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    ends = [match for line in lines if (match := ENDED.match(line))]
    told = [line for line in lines if not ENDED.match(line)]
    if ends and int(ends[-1]["code"]) != 1:  # a signal, or the end of the interpreter: nobody has told why
        return f"ended with exit status {ends[-1]['code']}"
    return told[-1] if told else "failed without a word"


def reasons(output: str, keys: Iterable[tuple[str, ...]]) -> Mapping[str, str]:
    """Return why parameters of a benchmark gave no value, from what asv keeps of its output for all of them."""
    labels = [", ".join(key) for key in keys]
    if labels == [""]:
        return {"": reason(output)}
    parts = re.split(r"^For parameters: (.*)$", output, flags=re.MULTILINE)[1:]
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    return {label: reason(told[label]) for label in labels if label in told}
