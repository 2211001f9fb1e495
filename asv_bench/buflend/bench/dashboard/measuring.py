"""The suite measured by asv: by the running Python, the checkout as it is; or over commits, in environments of asv's.

asv gets a configuration of its own, in which all paths are absolute, and writes into a folder of its own; what it
leaves there is labelled before anything else reads it. What it prints goes to a log. Must not know: pages.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import buflend

from . import DashboardError, checkout, driver, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .checkout import Repository
    from .results import Machine, Value

    Progress = Callable[[str, float], None]

CONFIGURATION = "asv.conf.json"
OF_ENVIRONMENTS = ("build_command", "exclude", "include", "install_command", "matrix", "pythons", "uninstall_command")
"""Keys of a configuration that mean nothing to an environment that is there already."""

QUICK = ("-a", "rounds=1", "-a", "repeat=3", "-a", "number=1", "-a", "warmup_time=0")
"""What `--quick` asks of asv: three samples, as they come. asv's own option takes one."""

FORKED = ("--launch-method", "forkserver")
"""What makes it take a quarter of the time, where processes that have forked can do all that is to be measured: the
parent has imported the suite, and the suite nothing yet. Who has a GPU cannot use it in a child."""

PROGRESS = re.compile(r"\[ *(?P<percent>[\d.]+)%\] ·+ (?:Running \()?(?P<what>[\w.]+)")
FAILED_BENCHMARK = 2
"""asv's exit code where a benchmark failed; 1 is anything that kept it from measuring."""


class Plan(NamedTuple):
    """What is to be measured: the folder of the suite, how, which benchmarks, and what the machine is called.

    `span` is the list of commits to go through in environments of asv's, or None for the checkout as it is.
    """

    suite: Path
    quick: bool
    bench: list[str]
    machine: str
    gpu: str
    span: list[str] | None = None


class Measured(NamedTuple):
    """What came of it: the machine with its runs, what asv found in the suite, and whether a benchmark failed."""

    machine: Machine
    benchmarks: dict[str, dict[str, Any]]
    failed: bool


def configuration(suite: Path, repository: Repository, *, existing: bool, **folders: Path) -> dict[str, Any]:
    """Return the suite's configuration with absolute paths, for the commit that is checked out."""
    from asv.util import load_json

    path = suite / CONFIGURATION
    if not path.is_file():
        raise DashboardError(f"{path}: there is no such file, and it says what asv is to measure")
    found = dict(load_json(str(path), js_comments=True))
    if existing:
        found = {key: value for key, value in found.items() if key not in OF_ENVIRONMENTS}
        found["environment_type"] = "existing"
    found |= {"repo": str(repository.path), "branches": ["HEAD"]}
    found["benchmark_dir"] = str(suite / found.get("benchmark_dir", "benchmarks"))
    found["env_dir"] = str(suite / ".asv" / "env")
    return found | {name: str(folder) for name, folder in folders.items()}


def measure(plan: Plan, repository: Repository, work: Path, log: Path, progress: Progress) -> Measured:
    """Measure and return what was found, which includes at least one number.

    Parameters
    ----------
    plan : Plan
        What is to be measured.
    repository : Repository
        What asv takes commits from.
    work : Path
        An empty folder, for the configuration and asv's results.
    log : Path
        The file for what asv prints.
    progress : callable
        Is told the name of the benchmark and the share of the work that is done.
    """
    folder = work / "results"
    settings = configuration(plan.suite, repository, existing=plan.span is None, results_dir=folder)
    config = work / CONFIGURATION
    config.write_text(json.dumps(settings), "utf-8")
    info = _machine(plan)
    (work / driver.MACHINES).write_text(json.dumps({"version": 1, plan.machine: info}), "utf-8")
    command = ["run", "--config", str(config), "--machine", plan.machine, "--show-stderr"]
    if plan.span is None:
        command += ["-E", f"existing:{sys.executable}", "--set-commit-hash", repository.commit]
    else:
        hashes = work / "commits"
        hashes.write_text("\n".join(plan.span), "utf-8")
        command += [f"HASHFILE:{hashes}"]
    forked = FORKED if plan.gpu == results.NO_GPU and sys.platform == "linux" else ()
    command += [*((*QUICK, *forked) if plan.quick else ()), *(word for one in plan.bench for word in ("-b", one))]
    code = asv(command, work, log, progress, existing=plan.span is None)
    if code not in (0, FAILED_BENCHMARK):
        raise DashboardError(f"asv could not measure: {_end(log)}")
    return Measured(collect(plan, work), results.benchmarks(folder), failed=code == FAILED_BENCHMARK)


def collect(plan: Plan, work: Path) -> Machine:
    """Return what asv has left in its folder, labelled; without runs where there is nothing."""
    notes = work / "notes.json"
    known = json.loads(notes.read_text("utf-8")) if notes.is_file() else {}
    runs = []
    for machine in results.machines(work / "results"):
        for run in machine.runs:
            reasons = known.get(f"{machine.name}{os.sep}{run.source}", {})
            more: dict[str, Any] = {"quick": True} if plan.quick else {}
            python = f"{sys.version_info.major}.{sys.version_info.minor}"
            runs.append(results.labelled(run, plan.gpu, python=python, reasons=reasons, **more))
    return results.Machine(plan.machine, {**_machine(plan), "version": 1}, runs)


def asv(command: list[str], work: Path, log: Path, progress: Progress, *, existing: bool = True) -> int:
    """Run asv and return its exit code; what it prints goes to the end of the log."""
    roots = os.pathsep.join(str(Path(portion).parent) for portion in buflend.__path__)
    environment = {**checkout.environment(), "PYTHONPATH": roots}
    if existing:  # what asv installs by itself is found without
        environment["ASV_PYTHONPATH"] = roots
    start = [sys.executable, "-u", "-X", "utf8", "-m", f"{__package__}.driver", str(work / "notes.json")]
    told = ""
    with log.open("ab") as written:
        process = subprocess.Popen(
            [*start, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=work
        )
        try:
            assert process.stdout is not None  # noqa: S101
            while part := process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                written.write(part)
                told = (told + part.decode("utf-8", "replace"))[-4000:]
                if found := list(PROGRESS.finditer(told)):
                    progress(found[-1]["what"], float(found[-1]["percent"]) / 100)
            return process.wait()
        finally:
            _end_process(process)


def done(command: list[str], work: Path, log: Path) -> None:
    """Run asv, which is expected to do what it is told."""
    if asv(command, work, log, lambda _what, _share: None):
        raise DashboardError(f"asv {command[0]} failed: {_end(log)}")


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """End asv as a terminal would, so that it ends what it has started; by force where that takes too long."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _machine(plan: Plan) -> dict[str, Any]:
    from asv.machine import Machine

    return {**Machine.get_defaults(), "machine": plan.machine, "gpu": plan.gpu}


def _end(log: Path) -> str:
    """Return what asv said last, and where all of it stands."""
    lines = [line.strip(" ·") for line in log.read_text("utf-8", "replace").splitlines() if line.strip(" ·")]
    said = [re.sub(r"^\[[ \d.]+%\] ·+ ", "", line) for line in lines[-3:]]
    return f"{'; '.join(said) or 'it said nothing'} (all that it said: {log})"


def count(machine: Machine) -> int:
    """Count the numbers that runs have."""
    return sum(value.measured for _, _, value in _values(machine))


def reasons(machine: Machine) -> list[str]:
    """Return why values are missing, each reason once, three at most."""
    return list(dict.fromkeys(value.reason for _, _, value in _values(machine) if value.reason))[:3]


def failures(machine: Machine) -> Iterator[str]:
    """Yield a line for each value that failed."""
    for name, key, value in _values(machine):
        if value.number is None:
            yield f"{name}({', '.join(key)}): {value.reason or 'no reason was noted'}"


def _values(machine: Machine) -> Iterator[tuple[str, tuple[str, ...], Value]]:
    for run in machine.runs:
        for name in run.results:
            for key, value in run.values(name).items():
                yield name, key, value


def emptied(folder: Path) -> Path:
    """Return a folder without anything in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
