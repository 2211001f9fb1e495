"""Each case in a process of its own, and what a consumer's answer to it is worth.

`python -m buflend.bench.battery.runner CONSUMER` prints one JSON object a line and case. Its process imports the
library and uses nothing of it, as `processes` asks for; where there is no fork, a fresh interpreter reads each case.

Refusing is `refused`, unless the case demands or allows it. A value that is equal in another type of the library's own
is right, and the difference is a remark. A bool is no number, and missing is no value.
"""

import argparse
import gc
import json
import math
import os
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import processes
from ..processes import LIMIT, SETTINGS
from .cases import Case, all_cases
from .readers import Consumer, consumers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .adapters import Reading

_ZONES = {"UTC+02:00": "+02:00", "Etc/GMT-2": "+02:00"}  # How pandas and polars name a fixed offset.
OUTCOMES = ("right", "wrong", "refused", "crashed", "hung")


class Verdict(NamedTuple):
    """The outcome of one case on one consumer; what was read or raised, and what was noticed besides."""

    outcome: str
    detail: str = ""
    remarks: list[str] = []  # noqa: RUF012 - never changed in place


def refused(case: "Case", consumer: "Consumer", error: BaseException) -> Verdict:
    """Judge an exception."""
    name = type(error).__name__
    detail = ("panic: " if name == "PanicException" else f"{name}: ") + _short(str(error))
    if name == "UnreadableError":
        return Verdict("wrong", f"its result cannot be read: {_short(str(error))}")
    if consumer.ours and case.errors and not any(base.__name__ in case.errors for base in type(error).__mro__):
        return Verdict("wrong", f"{detail} (must be {' or '.join(case.errors)})")
    return Verdict("right" if case.expect is None or case.may_refuse else "refused", detail)


def judge(case: "Case", consumer: "Consumer", reading: "Reading") -> Verdict:
    """Judge what was read."""
    if case.expect is None:
        return Verdict("wrong", f"must be refused, read {_short(str(reading.columns))}")
    if consumer.ours and case.errors:
        return Verdict("wrong", f"must raise {' or '.join(case.errors)}, read {_short(str(reading.columns))}")
    if list(reading.columns) != list(case.expect):
        return Verdict("wrong", f"columns {list(reading.columns)}, expected {list(case.expect)}")
    remarks: list[str] = []
    for name, expected in case.expect.items():
        wanted = expected[case.outlives or 0 :]
        wrong = next(_differences(reading.columns[name], wanted, consumer.nan_is_null, remarks), None)
        if wrong:
            return Verdict("wrong", f"column {name!r}: {wrong}", remarks)
    wrong = _order(case.ordered, reading.ordered, consumer) or _zones(case.timezone, reading.timezone)
    return Verdict("wrong", wrong, remarks) if wrong else Verdict("right", "", remarks)


def _differences(got: "Sequence[Any]", wanted: "Sequence[Any]", nan_is_null: bool, remarks: list[str]) -> Iterator[str]:  # noqa: FBT001
    if len(got) != len(wanted):
        yield f"{len(got)} rows, expected {len(wanted)}: {_short(str(got))}"
        return
    for row, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if not _equal(one, other, nan_is_null):
            yield f"row {row} is {_short(repr(one), 40)}, expected {_short(repr(other), 40)}: {_short(str(list(got)))}"
        elif one is not None and other is not None:
            remark = _remark(one, other)
            if remark and remark not in remarks:
                remarks.append(remark)


def _equal(got: Any, wanted: Any, nan_is_null: bool) -> bool:  # noqa: FBT001
    if nan_is_null:
        got, wanted = (None if isinstance(v, float) and math.isnan(v) else v for v in (got, wanted))
    if got is None or wanted is None:
        return got is wanted
    if isinstance(wanted, bool) or isinstance(got, bool):
        return isinstance(got, bool) and isinstance(wanted, bool) and got == wanted
    if isinstance(wanted, str):
        return isinstance(got, str) and wanted in (got, got.removesuffix("T00:00:00"))
    if not isinstance(got, int | float):
        return False
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(got)
    return bool(got == wanted)


def _remark(got: Any, wanted: Any) -> str:
    if isinstance(wanted, int) and isinstance(got, float):
        return "integers came as floats"
    if isinstance(wanted, str) and got != wanted:
        return "dates came as time stamps at midnight"
    return ""


def _order(wanted: "Mapping[str, bool]", got: "Mapping[str, bool]", consumer: "Consumer") -> str:
    for name, value in wanted.items():
        ordered = got.get(name, False)
        if ordered != value and (value or not consumer.always_ordered):
            return f"column {name!r}: ordered is {ordered}, expected {value}"
    return ""


def _zones(wanted: "Mapping[str, str]", got: "Mapping[str, str]") -> str:
    plain = {name: _ZONES.get(zone, zone) for name, zone in got.items()}
    return "" if plain == dict(wanted) else f"time zones {dict(got)}, expected {dict(wanted)}"


def _short(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


class BrokenCaseError(Exception):
    """A case could not be made or judged: the battery is at fault, not a consumer."""


class Result(NamedTuple):
    """What became of a case: its name, and what is in a `Verdict`."""

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
        judged = refused(case, consumer, error)
    else:
        judged = judge(case, consumer, reading)
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
        return refused(case, consumer, error)
    return judge(case, consumer, reading)


def run(consumer: Consumer, cases: Iterable[Case], limit: float = LIMIT) -> Iterator[Result]:
    """Run each case in a child of this process and yield what became of it.

    The consumer is loaded here, and used in the children only; one that takes longer than `limit` seconds hangs.
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
    answer, code = processes.fork(lambda: _judge(consumer, case), limit)
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
        return Result(case.name, "crashed", processes.child_death(code), [])
    try:
        told = json.loads(answer)
    except ValueError:
        return Result(case.name, "crashed", "ended without an answer", [])
    if "broken" in told:
        raise BrokenCaseError(f"case {case.name!r}:\n{told['broken']}")
    return Result(case.name, **told)


def main(argv: list[str] | None = None) -> int:
    """Run the cases on one consumer, each in its own process, and print a JSON object for each."""
    parser = argparse.ArgumentParser(prog="python -m buflend.bench.battery.runner", description=main.__doc__)
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
