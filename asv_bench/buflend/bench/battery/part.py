"""The part `battery` of the comparison: every case on every consumer, with its score; `runner` says what is right."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event, Lock
from typing import Any

from ..consumers import version
from ..processes import SETTINGS
from . import runner
from .cases import SUBJECTS, all_cases
from .readers import Consumer, consumers, known
from .runner import OUTCOMES

Progress = Callable[[str, float], None]


def measure(progress: Progress) -> dict[str, Any]:
    """Run the battery, two consumers at a time; `progress` is called from one thread at a time.

    Return, JSON-able, `cases` and `consumers`: `results` by case, and `score`, a number for each outcome and `total`. A
    RuntimeError says that the battery itself fails, a case that cannot be made say.
    """
    cases = all_cases()
    found = consumers()
    readers = [one for one in found if one.available]
    total = len(readers) * len(cases)
    done = count()
    lock = Lock()
    interrupted = Event()

    def read(consumer: Consumer) -> dict[str, dict[str, Any]]:
        results: dict[str, dict[str, Any]] = {}
        for result in run(consumer):
            if interrupted.is_set():
                break
            results[result.pop("case")] = result
            with lock:
                progress(f"{consumer.name}: case {len(results)} of {len(cases)}", (next(done) + 1) / total)
        return results

    with ThreadPoolExecutor(2) as pool:  # two processes side by side, the threads only wait for their lines
        try:
            results = dict(zip((one.name for one in readers), pool.map(read, readers), strict=True))
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for name, through in results.items():
        peer, _, source = name.partition(" from ")
        for case in cases if source else ():
            one = through[case.name]
            # Only what the peer misreads from the producer itself too is its fault.
            if "right" not in (one["outcome"], results[peer][case.name]["outcome"]) and (fault := known(peer, case)):
                one["remarks"].append(fault)
    measured = {
        consumer.name: {
            "available": consumer.available,
            "reason": consumer.reason,
            "version": version(consumer.name.partition(" ")[0]),
            "results": results.get(consumer.name, {}),
            "score": score(results.get(consumer.name, {})),
        }
        for consumer in found
    }
    subject = {case.name: name for name, found in SUBJECTS.items() for case in found()}
    listed = [
        {"name": case.name, "title": case.title, "expects": case.expects(), "subject": subject[case.name]}
        for case in cases
    ]
    return {"available": True, "reason": "", "cases": listed, "consumers": measured}


def score(results: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Count the outcomes."""
    outcomes = [result["outcome"] for result in results.values()]
    return {outcome: outcomes.count(outcome) for outcome in OUTCOMES} | {"total": len(outcomes)}


def run(consumer: Consumer, *options: str) -> Iterator[dict[str, Any]]:
    """Run cases on a consumer, in a process that knows this consumer only, and yield each result.

    Options are the runner's: `"--apart"`, `"--case"` and a name. A RuntimeError says that the runner fails.
    """
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)  # noqa: PTH100 - of "" too
    with subprocess.Popen(
        [sys.executable, "-m", runner.__name__, consumer.name, *options],
        env=os.environ | SETTINGS | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for the type checker
        assert process.stderr is not None  # noqa: S101
        try:
            for line in process.stdout:
                yield json.loads(line)
        except GeneratorExit:
            process.kill()
            raise
        errors = process.stderr.read()
        if process.wait():
            raise RuntimeError(
                f"battery: the run of {consumer.name} ended with exit code {process.returncode}\n{errors}"
            )
