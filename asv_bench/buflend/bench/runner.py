"""Each case in a process of its own, so that a crash is a result.

Lives here: one case (`attempt`), a child for it (`run`), and the command `python -m buflend.bench.runner CONSUMER`,
which prints one JSON object a line and case. Must not know: scores.

The rules: the process that runs the command imports the library and uses nothing of it, so that no thread of the
library exists when children are forked. A child ends by `os._exit`: nothing of the parent's is torn down in it. Where
there is no fork, a fresh interpreter reads each case.
"""

import argparse
import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn

from . import verdict
from .cases import Case, all_cases
from .consumers import Consumer, consumers
from .verdict import Verdict

LIMIT = 20.0
"""Seconds a case may take."""

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
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(consumer, case, writing)
    os.close(writing)
    parts, deadline = [], time.monotonic() + limit
    try:
        while ready := select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(ready[0], 1 << 16)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(reading)
        if not ready:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ready:
        return Result(case.name, "hung", f"no answer in {limit:g} s", [])
    return _result(case, b"".join(parts), code)


def _answer(consumer: Consumer, case: Case, writing: int) -> NoReturn:
    """Run the case in the child, write what became of it, and end."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)  # what a panic prints is in its exception too
        _no_core()
        os.write(writing, _judge(consumer, case))
        code = 0
    finally:
        os._exit(code)


def _judge(consumer: Consumer, case: Case) -> bytes:
    try:
        judged = attempt(consumer, case)
    except BaseException:  # noqa: BLE001 - told to the parent, which raises
        return json.dumps({"broken": traceback.format_exc()}).encode()
    return json.dumps(judged._asdict()).encode()


def _no_core() -> None:
    with contextlib.suppress(ImportError, ValueError):  # ImportError: Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _result(case: Case, answer: bytes, code: int) -> Result:
    if code:
        return Result(case.name, "crashed", _signal(-code) if code < 0 else f"exit code {code:#x}", [])
    try:
        told = json.loads(answer)
    except ValueError:
        return Result(case.name, "crashed", "ended without an answer", [])
    if "broken" in told:
        raise BrokenCaseError(f"case {case.name!r}:\n{told['broken']}")
    return Result(case.name, **told)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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
