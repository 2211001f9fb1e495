"""Every check that only hardware can show, in processes of their own, so that the end of one ends no other.

    python -m gpu_check.checks --report checks.jsonl

Lives here: the list of modules, the children, and what is told of a check that ended its process. The report gets a
line as soon as a check is judged; the exit status is 1 where one failed. `tests/test_gpu.py` has the same checks.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import exchange, order, owners, places  # noqa: F401 - they fill the list
from .check import CHECKS, judge
from .rows import FAIL, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PATIENCE = 45.0
"""Seconds without a word after which a check is ended; the first of a process imports and compiles."""

__all__ = ["CHECKS", "PATIENCE", "judge", "run"]


def run(
    names: Iterable[str], job: str = f"{__package__}.checks:_job", *, patience: float = PATIENCE
) -> Iterator[dict[str, Any]]:
    """Judge checks in their order and yield their rows.

    A check that ends its process, or does not end, has failed; the next begins in a new one, as it does behind a check
    that has left a device which answers no more.
    """
    from buflend.bench import processes

    waiting = list(names)
    while waiting:
        before = len(waiting)
        for message in processes.run(job, {"names": waiting}, timeout=patience):
            if "end" not in message:
                waiting.remove(message["check"])
                yield message
            elif message["end"] != "done" and waiting:
                reason = f"{message['end']}: {message['detail']}"
                yield {"check": waiting.pop(0), "verdict": FAIL, "reason": reason, "seconds": None, "figures": {}}
        if len(waiting) == before:  # it has told of nothing, and says that all is well
            raise RuntimeError(f"the job {job} judged none of {', '.join(waiting)}")


def _job(payload: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    from buflend.bench import processes

    os.environ.update(processes.SETTINGS)
    for name in payload["names"]:
        row = judge(CHECKS[name])
        tell(row)
        if row.get("sick"):
            return


def main() -> int:
    """Judge all checks, or those that are named, and report them."""
    parser = argparse.ArgumentParser(prog="python -m gpu_check.checks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="CHECK", help="checks to be judged (default: all)")
    parser.add_argument("--report", type=Path, help="file that gets a line of JSON for each")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - CHECKS.keys()
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    report = Report(arguments.report)
    for row in run(arguments.names or CHECKS):
        report.add(row)
    return report.failed


if __name__ == "__main__":
    sys.exit(main())
