"""Result files as asv 0.6 writes them, made by hand: of a suite of four works and two machines, one with a GPU."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

COLUMNS = [
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
    "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
]  # fmt: skip
NAN = math.nan
OLD, NEW = "a" * 40, "b" * 40
DAY = 86_400_000  # milliseconds


def benchmark(
    name: str, params: dict[str, list[str]], unit: str = "seconds", version: str = "1"
) -> dict[str, dict[str, Any]]:
    """Return the entry of `benchmarks.json` for a benchmark."""
    entry = {"name": name, "param_names": list(params), "params": list(params.values()), "unit": unit}
    return {name: {**entry, "type": "time", "version": version, "code": ""}}


IMPLS = ["'minimal'", "'maximal'", "'numpy'"]
VIEW, SIZE, GPU = (
    "bench_buffers.View.time_view_x1000",
    "bench_buffers.Size.time_x10",
    "bench_gpu.GpuTake.time_take_x100",
)
BYTES = "bench_weight.Bytes.track_bytes"
BENCHMARKS = {
    **benchmark(VIEW, {"impl": IMPLS}),
    **benchmark(SIZE, {"impl": IMPLS[:2], "nbytes": ["1000", "2000000", "3000000000"]}),
    **benchmark(BYTES, {"impl": IMPLS}, unit="bytes"),
    **benchmark(GPU, {"impl": ["'minimal'", "'maximal'", "'cupy'"]}),
}


def row(name: str, result: list[float | None] | None, started: int = 0, version: str = "1", **stats: Any) -> list[Any]:
    """Return the row of a benchmark in a result file; asv cuts trailing nulls off."""
    found = {"result": result, "params": BENCHMARKS[name]["params"], "version": version, "started_at": started, **stats}
    values = [found.get(column) for column in COLUMNS]
    while values[-1] is None:
        values.pop()
    return values


def run(results: dict[str, list[Any]], **more: Any) -> dict[str, Any]:
    """Return what a result file holds; `more` replaces keys of it."""
    machine = more.pop("machine", "here")
    return {
        "commit_hash": NEW,
        "env_name": "existing-py3.11",
        "date": 20 * DAY,
        "params": {"machine": machine, "python": "3.11", "gpu": more.pop("gpu", "none")},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": results,
        "durations": {},
        "version": 2,
        **more,
    }


def lay(folder: Path, machine: str, *runs: dict[str, Any], **info: Any) -> Path:
    """Write a machine's folder as asv would, and return it."""
    place = folder / machine
    place.mkdir(parents=True)
    (place / "machine.json").write_text(json.dumps({"machine": machine, "version": 1, **info}), "utf-8")
    for one in runs:
        (place / f"{one['commit_hash'][:8]}-{one['env_name']}.json").write_text(json.dumps(one), "utf-8")
    (folder / "benchmarks.json").write_text(json.dumps({**BENCHMARKS, "version": 2}), "utf-8")
    return place


REASON = "numpy is <not> installed"


def two_machines(folder: Path) -> Path:
    """Write two machines: one whose values and failures are of every kind, and one with a GPU."""
    view = row(VIEW, [2e-4, 3e-4, NAN], DAY, stats_q_25=[1e-4, None, None], stats_q_75=[4e-4, None, None],
               stats_repeat=[8, 1, None])  # fmt: skip
    size = row(SIZE, [1e-5, 1e-5, 2e-5, None, None, NAN], DAY)
    notes = {"reasons": {VIEW: {"'numpy'": REASON}, SIZE: {"'maximal', 1000": "ValueError: no"}}}
    gpu = row(GPU, [NAN, NAN, NAN], DAY)
    mine = run({VIEW: view, SIZE: size, GPU: gpu}, buflend={**notes, "quick": True})
    old = run({VIEW: row(VIEW, [9.0, 9.0, 9.0]), BYTES: row(BYTES, [80, 160, None])}, commit_hash=OLD)
    lay(folder, "here", mine, old, cpu="a processor", gpu="none")
    outdated = row(VIEW, [1.0, 1.0, 1.0], version="0")
    other = run({GPU: row(GPU, [NAN, 4e-4, 1e-4], 2 * DAY), VIEW: outdated}, machine="far", gpu="H1")
    lay(folder, "far", other, gpu="H1")
    return folder


def git(folder: Path, *arguments: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", "-C", str(folder), *own, *arguments], capture_output=True, check=True, text=True)  # noqa: S607
    return done.stdout.strip()


def commit(folder: Path, date: str, text: str = "") -> str:
    """Commit all of a folder at a date, and return the commit."""
    (folder / "file").write_text(text or date, "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", date, f"--date={date}")
    return git(folder, "rev-parse", "HEAD")


def repository(project: Path) -> tuple[str, str]:
    """Make a repository of a project, with two commits."""
    git(project, "init", "--quiet")
    return commit(project, "2001-09-09T01:46:40Z"), commit(project, "2001-09-10T01:46:40Z")
