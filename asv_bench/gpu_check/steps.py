"""Steps: commands that are run one after another, each under a limit of its own, and what is written down of them.

Lives here: the ending of a command with all that it has started, the verdict of a step, the JSON and the log. Must not
know: which steps there are. Needs the standard library alone.

A step fails where one of its rows does, where its command ends badly or at its limit, and where it reports nothing; it
is skipped where all of its rows are. What was reported before the end counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from .rows import FAIL, PASS, SKIP, Row, of_lines, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

FIRST = "environment"
"""The step that looks at the machine, whose verdict says nothing of what is checked."""

WORDS = {PASS: "passed", FAIL: "failed", SKIP: "skipped"}


class Step(NamedTuple):
    """Something to be run.

    Attributes
    ----------
    name : str
        Also of the file that gets what the command prints.
    limit : float
        Seconds after which it is ended.
    command : list of str
        What is run.
    report : str
        Name of the file, in the folder of the run, that the command reports to.
    read : callable
        Makes rows of that file.
    """

    name: str
    limit: float
    command: list[str]
    report: str
    read: Callable[[Path], Iterable[Row]] = of_lines


class Run:
    """A run of steps; `steps` has what became of each, JSON-able.

    Parameters
    ----------
    out : Path
        Folder for all that is written, made where it is not there.
    root : Path
        Where commands are started.
    environment : mapping
        What the environment of commands has beside this process's.
    """

    def __init__(self, out: Path, root: Path, environment: Mapping[str, str]) -> None:
        self.out, self.root = out, root
        self.environment = {**os.environ, **environment}
        self.steps: dict[str, dict[str, Any]] = {}
        self.begun = datetime.now(UTC).isoformat(timespec="seconds")
        self.start = time.monotonic()
        out.mkdir(parents=True, exist_ok=True)
        self.log = out / "gpu_check.log"
        self.log.write_text("", "utf-8")

    def add_path(self, path: str) -> None:
        """Let the commands to come find packages there, before all others."""
        known = self.environment.get("PYTHONPATH")
        self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [path, known]))

    def say(self, text: str) -> None:
        """Show a line, and write it down."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        with self.log.open("a", encoding="utf-8") as log:
            log.write(text + "\n")

    def do(self, step: Step) -> dict[str, Any]:
        """Run a step and return what became of it: `verdict`, `reason`, `seconds`, `limit`, `rows`."""
        start, report = time.monotonic(), self.out / step.report
        report.unlink(missing_ok=True)
        ended = self._run(step)
        found, unread = _read(step, report)
        verdict, reason = _verdict(ended, found, unread)
        done = {"verdict": verdict, "reason": reason, "seconds": round(time.monotonic() - start, 2), "rows": found}
        return self._done(step.name, {**done, "limit": step.limit})

    def skip(self, name: str, limit: float, reason: str) -> None:
        """Write down that a step was not run."""
        self._done(name, {"verdict": SKIP, "reason": reason, "seconds": 0.0, "rows": [], "limit": limit})

    def _done(self, name: str, done: dict[str, Any]) -> dict[str, Any]:
        self.steps[name] = done
        why = f": {done['reason']}" if done["reason"] else ""
        self.say(f"== {name}: {done['verdict']}, {done['seconds']:.1f} s of {done['limit']:g}{why}")
        for one in done["rows"]:
            self.say(f"   {shown(one)}")
        return done

    def _run(self, step: Step) -> str:
        """Run a command in a group of its own, which ends with it; return how it ended, nothing for well."""
        printed = self.out / f"{step.name}.txt"
        with printed.open("w", encoding="utf-8") as output:
            process = subprocess.Popen(
                step.command,
                cwd=self.root,
                env=self.environment,
                start_new_session=True,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                stdout=output,
            )
            try:
                code = process.wait(step.limit)
            except subprocess.TimeoutExpired:
                return f"ended at its limit of {step.limit:g} s"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        lines = printed.read_text("utf-8", "replace").strip().splitlines()
        return f"exit status {code}: {lines[-1][:300] if lines else 'nothing printed'}" if code else ""

    def finish(self, told: Mapping[str, Any]) -> str:
        """Write the JSON, with what was told of the machine, sum up, and return the verdict of all."""
        seconds = time.monotonic() - self.start
        verdicts = {name: step["verdict"] for name, step in self.steps.items()}
        failed = [name for name, verdict in verdicts.items() if verdict == FAIL]
        checked = [verdict for name, verdict in verdicts.items() if name != FIRST]
        verdict = FAIL if failed else PASS if PASS in checked else SKIP
        report = {"what": "gpu_check", "begun": self.begun, "seconds": round(seconds, 1), "verdict": verdict, **told}
        text = json.dumps(report | {"steps": self.steps}, indent=1)
        (self.out / "gpu_check.json").write_text(text + "\n", "utf-8")
        named = {"see": failed, "skipped": [name for name, verdict in verdicts.items() if verdict == SKIP]}
        every = [one["verdict"] for step in self.steps.values() for one in step["rows"]]
        counted = ", ".join(f"{every.count(kind)} {word}" for kind, word in WORDS.items())
        parts = [counted, *(f"{what}: {', '.join(names)}" for what, names in named.items() if names)]
        self.say(f"{verdict} in {seconds:.0f} s: {'; '.join(parts)}")
        return verdict


def _read(step: Step, report: Path) -> tuple[list[Row], str]:
    """Return what a step has reported, and what is wrong with that."""
    try:
        found = list(step.read(report))
    except FileNotFoundError:
        found = []
    except Exception as error:  # noqa: BLE001 - a report that was cut off may be broken in any way
        return [], f"its report cannot be read: {type(error).__name__}: {error}"
    return found, "" if found else "it reported nothing"


def _verdict(ended: str, found: list[Row], unread: str) -> tuple[str, str]:
    """Return the verdict of a step from how it ended and what it reported, and the reason."""
    failed = [one["check"] for one in found if one["verdict"] == FAIL]
    if failed:
        many = f"{len(failed)} of {len(found)} failed: {', '.join(failed)}"
        # A bad exit status says no more than that.
        return FAIL, f"{ended}; {many}" if ended.startswith("ended") else many
    if ended or unread:
        return FAIL, "; ".join(filter(None, (ended, unread)))
    if all(one["verdict"] == SKIP for one in found):
        return SKIP, "; ".join(dict.fromkeys(part for one in found for part in one["reason"].split("; ")))
    return PASS, ""
