"""Everything of `buflend` that only hardware can show: one command, five minutes at most, no network.

    make gpu-check
    python asv_bench/gpu_check/run.py --out OUT [--wheels WHEELS] [--require-gpu]

Runs from a checkout, under the Python that has CuPy, PyTorch, JAX and numba-cuda, or some of them; nothing is installed
into it. Steps, of which none stops the next: what this machine is; the contract of the CUDA runtime, asked of the real
one; the checks; the same as tests (`pytest -m gpu`); benchmarks. What is lacking is said and skipped. pytest may come
from a folder of wheels, made by `make gpu-wheels` on a machine with a network.

OUT gets `gpu_check.json` (verdicts, reasons, seconds and figures), `gpu_check.log` (the same to be read), and what each
step printed. The exit status is 1 where something failed. Without a CUDA device that is said, with the reason, and the
status is 0, or 1 with `--require-gpu`.

Lives here: which steps there are, and their limits. Must not know: what is checked. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
if __name__ == "__main__":
    sys.path[0] = str(HERE.parent)  # this file is started by its path, and is a part of the package all the same

from gpu_check.rows import FAIL, PASS, SKIP, Row, of_contract, of_junit, of_pip, row  # noqa: E402 - it is found now
from gpu_check.steps import FIRST, Run, Step  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

TOTAL = 300
"""Seconds that all of it may take."""

LIMITS = {FIRST: 20, "contract": 15, "checks": 100, "install": 25, "tests": 80, "benchmarks": 45}
"""Step -> seconds that it may take; some are left to start and to end them."""

PARTS = [str(ROOT / part) for part in ("shared", "minimal", "maximal", "asv_bench")]

SETTINGS = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",  # streams that share a queue of the hardware are ordered by accident
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugins of this machine are no part of the tests
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": os.pathsep.join(filter(None, [*PARTS, os.environ.get("PYTHONPATH")])),
    "PYTHONUNBUFFERED": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # JAX would take most of the device's memory at once
}
"""Environment of every step."""

OLDEST_PYTEST = 9


def python(*arguments: object) -> list[str]:
    """Return the command that runs this Python."""
    return [sys.executable, *map(str, arguments)]


def look(run: Run) -> dict[str, Any]:
    """Do the first step; return what it says of the machine, and in `reason` why it has no CUDA device, if so."""
    report = run.out / "environment.json"
    command = python("-m", "gpu_check.environment", "--report", report)
    done = run.do(Step(FIRST, LIMITS[FIRST], command, report.name, of_environment))
    if done["verdict"] != FAIL:
        return dict(json.loads(report.read_text("utf-8")))
    return {"reason": "the machine could not be looked at", "runtime": "", "devices": [], "machine": {}}


def of_environment(path: Path) -> Iterator[Row]:
    """Yield a row: whether there is a device."""
    reason = json.loads(path.read_text("utf-8"))["reason"]
    yield row("a CUDA device", SKIP if reason else PASS, reason)


def module(run: Run, name: str) -> Step:
    """Return the step of a module of this package that reports rows."""
    report = f"{name}.jsonl"
    return Step(name, LIMITS[name], python("-m", f"gpu_check.{name}", "--report", run.out / report), report)


def contract(run: Run, runtime: str) -> Step:
    """Return the step that asks the CUDA runtime for its contract."""
    report = "contract.json"
    command = python(HERE / "contract.py", runtime, "--json", run.out / report)
    return Step("contract", LIMITS["contract"], command, report, of_contract)


def tests(run: Run) -> Step:
    """Return the step of the tests; of files that hold some, so that what the others need is not needed here."""
    files = [path for path in sorted((ROOT / "tests").glob("test_*.py")) if "mark.gpu" in path.read_text("utf-8")]
    report = "tests.xml"
    options = ["-q", "-rs", "-m", "gpu", "-p", "no:cacheprovider", f"--junitxml={run.out / report}"]
    return Step("tests", LIMITS["tests"], python("-m", "pytest", *options, *files), report, of_junit)


def lacks_pytest() -> str:
    """Return why the tests cannot be run with what is installed; nothing where they can."""
    missing = [name for name in ("pytest", "hypothesis") if find_spec(name) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    version = metadata.version("pytest")
    return "" if int(version.partition(".")[0]) >= OLDEST_PYTEST else f"pytest {version} is too old"


def install(run: Run, wheels: Path | None, folder: str) -> str:
    """Put pytest into a folder, where it is lacking and there are wheels; return why the tests cannot be run, if so."""
    lacking = lacks_pytest()
    if not lacking:
        return ""
    if wheels is None:
        return f"{lacking}, and there is no folder of wheels: make gpu-wheels, on a machine with a network"
    report = "install.json"
    options = ["--quiet", "--no-compile", "--target", folder, "--report", run.out / report]
    options += ["--no-index", "--find-links", wheels]
    command = python("-m", "pip", "install", *options, f"pytest>={OLDEST_PYTEST}", "hypothesis")
    step = Step("install", LIMITS["install"], command, report, of_pip)
    if run.do(step)["verdict"] == FAIL:
        return "pytest could not be installed"
    run.add_path(folder)
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Run all steps and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--wheels", type=Path, help="folder of wheels to take pytest from, where it is not installed")
    parser.add_argument("--require-gpu", action="store_true", help="fail where there is no CUDA device")
    given = parser.parse_args(arguments)
    wheels = given.wheels.resolve() if given.wheels and given.wheels.is_dir() else None
    run = Run(given.out.resolve(), ROOT, SETTINGS)
    found = look(run)
    if found["reason"]:
        run.say(f"no CUDA device: {found['reason']}")
        for name in ("contract", "checks", "tests", "benchmarks"):
            run.skip(name, LIMITS[name], "no CUDA device")
    else:
        run.do(contract(run, found["runtime"]))
        run.do(module(run, "checks"))
        with tempfile.TemporaryDirectory() as folder:
            lacking = install(run, wheels, folder)
            if lacking:
                run.skip("tests", LIMITS["tests"], lacking)
            else:
                run.do(tests(run))
            run.do(module(run, "benchmarks"))
    verdict = run.finish({"limit": TOTAL, **found})
    return int(verdict == FAIL or (bool(found["reason"]) and given.require_gpu))


if __name__ == "__main__":
    sys.exit(main())
