"""Each case in a process of its own, so that a crash is a result.

Lives here: one case (`attempt`), a child for it (`run`), and the command `python -m buflend.bench.runner CONSUMER`,
which prints one JSON object a line and case. Must not know: scores.

The rules: the process that runs the command imports the library and uses nothing of it, as `child` asks for. Where
there is no fork, a fresh interpreter reads each case.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from . import child, verdict
from .cases import Case, all_cases
from .child import LIMIT
from .consumers import Consumer, consumers
from .verdict import Verdict

SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
"""Environment of the runner: no thread pools, which a forked child would wait for in vain."""


class BrokenCaseError(Exception):
    """A case could not be made or judged: the battery is at fault, not a consumer."""


class Result(NamedTuple):
    """What became of a case.

    Parameters
    ----------
    case : str
        Its name.
    outcome, detail, remarks
        As in `Verdict`.
    """

    case: str
    outcome: str
    detail: str
    remarks: list[str]


def attempt(consumer: Consumer, case: Case) -> Verdict:
    """Run a case in this process, which it may end."""
    if consumer.read is None:
        raise BrokenCaseError(f"consumer {consumer.name!r} is not available: {consumer.reason}")
    if case.outlives is not None:
        return _outlive(consumer, case, case.outlives)
    frame = case.make()
    before = frame.content()
    reading = None
    try:
        reading = consumer.read(frame, case.allow_copy)
    except BaseException as error:  # noqa: BLE001 - a panic of polars is no Exception, and a refusal all the same
        judged = verdict.refused(case, consumer, error)
    else:
        judged = verdict.read(case, consumer, reading)
    wrote = "wrote into the producer's memory" if frame.content() != before else ""
    fault = wrote if case.intact else ""
    if (
        case.after and not fault and (reading is not None or consumer.ours)
    ):  # a peer that refuses for another reason has refused
        fault = case.after(reading, frame) or ""
    if fault and judged.outcome == "right":
        judged = judged._replace(outcome="wrong", detail=fault)
    return judged._replace(remarks=[*judged.remarks, wrote]) if wrote else judged


def _outlive(consumer: Consumer, case: Case, start: int) -> Verdict:
    """Read a slice of the result once the frame and the result are gone."""
    assert consumer.read is not None  # noqa: S101 - for the type checker, `attempt` looked
    assert consumer.cut is not None  # noqa: S101
    assert consumer.reread is not None  # noqa: S101
    try:
        native = consumer.read(case.make(), case.allow_copy).native
        gc.collect()
        native = consumer.cut(native, start)
        gc.collect()
        reading = consumer.reread(native)
    except BaseException as error:  # noqa: BLE001 - as above
        return verdict.refused(case, consumer, error)
    return verdict.read(case, consumer, reading)


def run(consumer: Consumer, cases: Iterable[Case], limit: float = LIMIT) -> Iterator[Result]:
    """Run each case in a child of this process and yield what became of it.

    Parameters
    ----------
    consumer : Consumer
        Loaded here, and used in the children only.
    cases : iterable of Case
        In this order.
    limit : float, default LIMIT
        Seconds after which a child is ended and its case counts as hung.

    Raises
    ------
    BrokenCaseError
        When a case cannot be made or judged.
    """
    consumer.load()
    gc.collect()
    gc.freeze()  # so that a collection in a child copies no page of the parent's
    for case in cases:
        yield _fork(consumer, case, limit)


def run_apart(consumer: Consumer, cases: Iterable[Case], limit: float = LIMIT) -> Iterator[Result]:
    """Do the same with a fresh interpreter for each case, where there is no fork."""
    for case in cases:
        command = [sys.executable, "-m", __spec__.name if __name__ == "__main__" else __name__, consumer.name]
        try:
            done = subprocess.run(
                [*command, "--here", "--case", case.name], capture_output=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            yield Result(case.name, "hung", f"no answer in {limit:g} s", [])
            continue
        answer = done.stdout.splitlines()[-1] if done.stdout.strip() else b""
        yield _result(case, answer, done.returncode)


def _fork(consumer: Consumer, case: Case, limit: float) -> Result:
    answer, code = child.run(lambda: _judge(consumer, case), limit)
    if code is None:
        return Result(case.name, "hung", f"no answer in {limit:g} s", [])
    return _result(case, answer, code)


def _judge(consumer: Consumer, case: Case) -> bytes:
    try:
        judged = attempt(consumer, case)
    except BaseException:  # noqa: BLE001 - told to the parent, which raises
        return json.dumps({"broken": traceback.format_exc()}).encode()
    return json.dumps(judged._asdict()).encode()


def _result(case: Case, answer: bytes, code: int) -> Result:
    if code:
        return Result(case.name, "crashed", child.death(code), [])
    try:
        told = json.loads(answer)
    except ValueError:
        return Result(case.name, "crashed", "ended without an answer", [])
    if "broken" in told:
        raise BrokenCaseError(f"case {case.name!r}:\n{told['broken']}")
    return Result(case.name, **told)


def main(argv: list[str] | None = None) -> int:
    """Run the cases on one consumer, each in its own process, and print a JSON object for each."""
    parser = argparse.ArgumentParser(prog="python -m buflend.bench.runner", description=main.__doc__)
    parser.add_argument("consumer", choices=[one.name for one in consumers()])
    parser.add_argument("--case", action="append", default=[], help="name of a case, all by default")
    parser.add_argument("--apart", action="store_true", help="a fresh interpreter for each case")
    parser.add_argument("--here", action="store_true", help="the cases in this very process, which they may end")
    options = parser.parse_args(argv)
    consumer = next(one for one in consumers() if one.name == options.consumer)
    wanted = [case for case in all_cases() if not options.case or case.name in options.case]
    unknown = set(options.case) - {case.name for case in wanted}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.here:
        for case in wanted:
            _print(_judge(consumer, case).decode())
        os._exit(0)
    way = run_apart if options.apart or not hasattr(os, "fork") else run
    for result in way(consumer, wanted):
        _print(json.dumps(result._asdict()))
    return 0


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.update(SETTINGS)
    raise SystemExit(main())
