"""The battery: its cases mean what the specification says, its runner tells outcomes apart, and ours are all right."""

import ctypes
import datetime as dt
import json
import math
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend import maximal
from buflend.bench.battery import part as battery
from buflend.bench.battery import runner
from buflend.bench.battery.adapters import Reading, iso
from buflend.bench.battery.cases import SUBJECTS, Case, all_cases
from buflend.bench.battery.readers import Consumer, consumers
from buflend.bench.producer import Col, Frame

CASES = {case.name: case for case in all_cases()}
NAMED = pytest.mark.parametrize("name", CASES)
CONSUMERS = {one.name: one for one in consumers()}

# What is right in another type of NumPy's, and said so.
REMARKS = {"date64": ["dates came as time stamps at midnight"]}

# Where both are right and buflend refuses: swapping is copying; the codes' own tuple is believed or nothing.
REFUSES = {f"no-copy-{'big' if sys.byteorder == 'little' else 'little'}-endian", "codes-announced-wider"}

# A reader that does what the specification says, one value at a time. It trusts what is announced.

STRUCT = {(0, 8): "b", (0, 16): "h", (0, 32): "i", (0, 64): "q", (2, 16): "e", (2, 32): "f", (2, 64): "d"}
STRUCT |= {(1, bits): STRUCT[0, bits].upper() for bits in (8, 16, 32, 64)}
ORDER = {"<": "<", ">": ">", "=": "=", "|": "="}
PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}


def memory(buf: Any, at: int, size: int) -> bytes:
    return ctypes.string_at(buf.ptr + at, size)


def element(buf: Any, kind: int, bits: int, order: str, i: int) -> Any:
    if kind == 20:
        byte = memory(buf, i if bits == 8 else i // 8, 1)[0]
        return byte if bits == 8 else byte >> i % 8 & 1
    return struct.unpack(ORDER[order] + STRUCT[kind, bits], memory(buf, i * bits // 8, bits // 8))[0]


def width(column: Col, buf: Any, own: Any) -> int:
    """Return the bits of an element; where column and buffer disagree, what the memory has room for."""
    bits = {column.dtype[1], own[1]}
    if column.dtype[2] == "tdD":
        bits.add(32)
    if len(bits) == 1:
        return bits.pop()
    return min(bits) if (column.offset + column.size()) * max(bits) // 8 > buf.bufsize else max(bits)


def moment(value: int, form: str) -> Any:
    if form == "tdD":
        return (dt.date(1970, 1, 1) + dt.timedelta(value)).isoformat()
    per_second = 10**3 if form == "tdm" else PER_SECOND[form[2]]
    if form[:2] in ("tD", "tt"):
        return value * (10**9 // per_second)
    seconds, fraction = divmod(value, per_second)
    instant = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)  # noqa: DTZ001
    if form == "tdm":
        return instant.date().isoformat()
    text = instant.isoformat()
    return f"{text}.{fraction * (10**9 // per_second):09}".rstrip("0") if fraction else text


def read_column(column: Col) -> list[Any]:
    if column.num_chunks() > 1:
        return [value for chunk in column.get_chunks() for value in read_column(chunk)]
    (kind, bits, form, order), (null, mark) = column.dtype, column.describe_null
    buffers = column.get_buffers()
    data, own = buffers["data"]
    mask = buffers["validity"] if null in (3, 4) else None
    categories = read_column(column.describe_categorical["categories"]) if kind == 23 else []
    values: list[Any] = []
    for i in range(column.offset, column.offset + column.size()):
        if mask and element(mask[0], 20, 1 if null == 3 else 8, "=", i).__bool__() == bool(mark):
            values.append(None)
            continue
        if kind == 21:
            offsets, (offset_kind, offset_bits, _, offset_order) = buffers["offsets"]
            start, end = (element(offsets, offset_kind, offset_bits, offset_order, j) for j in (i, i + 1))
            stored: Any = memory(data, start, end - start).decode()
        elif kind == 22:
            stored = element(data, 0, width(column, data, own), order, i)
        elif kind == 23:
            code_kind = own[0] if own[0] != 23 else int(own[2].isupper())
            stored = element(data, code_kind, bits, own[3], i)
        else:
            stored = element(data, kind, width(column, data, own), order, i)
        nan = stored != stored if kind == 2 else kind == 22 and stored == -(2**63)  # noqa: PLR0124
        if (null == 1 and nan) or (null == 2 and stored == mark):
            values.append(None)
        else:
            values.append(meaning(kind, form, stored, categories))
    return values


def meaning(kind: int, form: str, stored: Any, categories: list[Any]) -> Any:
    if kind == 20:
        return bool(stored)
    if kind == 22:
        return moment(stored, form)
    return categories[stored] if kind == 23 else stored


def read_frame(frame: Frame) -> dict[str, list[Any]]:
    chunks: list[Any] = list(frame.get_chunks()) or [frame]
    return {
        name: [value for chunk in chunks for value in read_column(chunk.get_column_by_name(name))]
        for name in frame.column_names()
    }


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.expect is not None])
def test_expectations_follow_from_the_specification(name: str) -> None:
    case = CASES[name]
    assert case.expect is not None
    read = read_frame(case.make())
    assert list(read) == list(case.expect)
    for column, expected in case.expect.items():
        got = read[column]
        assert len(got) == len(expected)
        assert all(map(same, got, expected)), f"column {column!r}: read {got}, the case expects {expected}"
    columns = dict(zip(case.make().names, case.make().columns, strict=True))
    for column, ordered in case.ordered.items():
        assert columns[column].describe_categorical["is_ordered"] is ordered
    zones = {column: col.dtype[2].partition(":")[2] for column, col in columns.items() if str(col.dtype[2])[:2] == "ts"}
    assert {column: zone for column, zone in zones.items() if zone} == dict(case.timezone)


# The cases themselves.


def test_names_are_unique_and_stable_words() -> None:
    names = [case.name for cases in SUBJECTS.values() for case in cases()]
    assert len(names) == len(set(names)) == len(CASES)
    assert [
        name for name in names if not all(word.isalnum() and word == word.lower() for word in name.split("-"))
    ] == []


def test_every_case_says_what_is_right() -> None:
    known = {"ProducerError", "DeviceError", "CopyRequiredError"}
    for case in CASES.values():
        assert case.title, case.name
        assert case.expects(), case.name
        assert set(case.errors) <= known, case.name
        assert case.expect is not None or case.errors, f"{case.name}: a case to be refused names the exception"
        assert case.expect is None or case.may_refuse or not case.errors, f"{case.name}: must be read, yet names errors"


def test_frames_are_made_afresh() -> None:
    for case in CASES.values():
        first, second = case.make(), case.make()
        assert first is not second, case.name
        assert first.content() == second.content(), case.name


# Ours.


class Measured(NamedTuple):
    """What the battery told of every consumer that is here, and the fractions done that it told on the way."""

    part: dict[str, Any]
    fractions: list[float]


@pytest.fixture(scope="module")
def measured() -> Measured:
    fractions: list[float] = []
    return Measured(battery.measure(lambda _, fraction: fractions.append(fraction)), fractions)


@pytest.fixture(scope="module", params=["minimal", "maximal"])
def ours(request: pytest.FixtureRequest, measured: Measured) -> dict[str, dict[str, Any]]:
    results: dict[str, dict[str, Any]] = measured.part["consumers"][request.param]["results"]
    return results


@NAMED
def test_ours(ours: dict[str, dict[str, Any]], name: str) -> None:
    result, case = ours[name], CASES[name]
    assert result["outcome"] == "right", result["detail"]
    assert result["remarks"] == REMARKS.get(name, [])
    if not case.errors and name not in REFUSES:
        assert result["detail"] == "", "refused, though it can be read"


def test_each_case_was_run_once(ours: dict[str, dict[str, Any]]) -> None:
    assert list(ours) == list(CASES)


@pytest.mark.parametrize("name", [name for name in CONSUMERS if name.endswith(" from maximal")])
def test_what_peers_misread_through_maximal_is_known(measured: Measured, name: str) -> None:
    results = measured.part["consumers"][name]["results"]
    bad = {case: one for case, one in results.items() if one["outcome"] != "right"}
    told = {case: one["detail"] for case, one in bad.items() if not any("known: " in each for each in one["remarks"])}
    assert told == {}


@pytest.mark.parametrize("name", ["bitmask-offset-9", "short-data", "outlives-int64"])
def test_without_fork_the_outcome_is_the_same(ours: dict[str, dict[str, Any]], name: str) -> None:
    (apart,) = battery.run(CONSUMERS["minimal"], "--apart", "--case", name)
    assert apart.pop("case") == name
    assert apart == ours[name]


def test_an_unknown_case_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no such case: nonsense"):
        list(battery.run(CONSUMERS["minimal"], "--case", "nonsense"))


# The runner, on consumers that do one thing each.

FAKES = """
import json, os, signal, time
from buflend.bench.battery import runner
from buflend.bench.battery.adapters import Reading
from buflend.bench.battery.cases import Case, all_cases
from buflend.bench.battery.readers import Consumer

class PanicException(BaseException): pass

def right(frame, allow_copy): return Reading({"a": [3, 4, 5, 6]}, {}, {}, {}, None)
def wrong(frame, allow_copy): return Reading({"a": [0, 1, 2, 3]}, {}, {}, {}, None)
def refused(frame, allow_copy): raise NotImplementedError("never heard of it")
def panic(frame, allow_copy): raise PanicException("unwrap on None")
def crashed(frame, allow_copy): os.kill(os.getpid(), signal.SIGSEGV)
def left(frame, allow_copy): os._exit(3)
def silent(frame, allow_copy): os._exit(0)
def hung(frame, allow_copy): time.sleep(60)
def noisy(frame, allow_copy): os.write(1, b"{}"); os.write(2, b"{}"); return right(frame, allow_copy)
def writes(frame, allow_copy):
    frame.columns[0].parts["data"][0].memory[:] = 0
    return right(frame, allow_copy)

case = next(case for case in all_cases() if case.name == "plain-offset-9")
for read in (right, wrong, refused, panic, crashed, left, silent, hung, noisy, writes):
    consumer = Consumer(read.__name__, True, "", read, False)
    for result in runner.run(consumer, [case], limit=1.0):
        print(json.dumps([read.__name__, *result[1:]]))
consumer = Consumer("writes", True, "", writes, False)
for result in runner.run(consumer, [case._replace(intact=True)]):
    print(json.dumps(["intact", *result[1:]]))
try:
    list(runner.run(consumer, [case._replace(make=lambda: 1 / 0)]))
except runner.BrokenCaseError as error:
    print(json.dumps(["broken", "ZeroDivisionError" in str(error), "", []]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_runner_tells_outcomes_apart(run_python: Callable[..., str]) -> None:
    wrote = ["wrote into the producer's memory"]
    told = {line[0]: line[1:] for line in map(json.loads, run_python(FAKES, site=True).splitlines())}
    assert told["right"] == ["right", "", []]
    assert told["wrong"][0] == "wrong"
    assert "row 0 is 0, expected 3" in told["wrong"][1]
    assert told["refused"] == ["refused", "NotImplementedError: never heard of it", []]
    assert told["panic"] == ["refused", "panic: unwrap on None", []]
    assert told["crashed"] == ["crashed", "SIGSEGV", []]
    assert told["left"] == ["crashed", "exit code 0x3", []]
    assert told["silent"] == ["crashed", "ended without an answer", []]
    assert told["hung"] == ["hung", "no answer in 1 s", []]
    assert told["noisy"] == ["right", "", []]
    assert told["writes"] == ["right", "", wrote]
    assert told["intact"] == ["wrong", wrote[0], wrote]
    assert told["broken"][0] is True


# The runner.

PEER = Consumer("peer", available=True, reason="", read=None, nan_is_null=False)
NAN = float("nan")


def judge(case: Case, values: list[Any], consumer: Consumer = PEER, **parts: Any) -> runner.Verdict:
    reading = Reading({"a": values}, parts.get("ordered", {}), parts.get("timezone", {}), {}, None)
    return runner.judge(case, consumer, reading)


@pytest.mark.parametrize(
    ("got", "wanted", "outcome"),
    [
        (1, 1, "right"),
        (1.0, 1, "right"),
        (2**60 + 1, 2**60 + 1, "right"),
        (float(2**60 + 1), 2**60 + 1, "wrong"),
        (True, 1, "wrong"),
        (1, True, "wrong"),
        (None, 0, "wrong"),
        (0, None, "wrong"),
        (NAN, NAN, "right"),
        (NAN, None, "wrong"),
        (None, NAN, "wrong"),
        ("a", "a", "right"),
        ("1", 1, "wrong"),
        ("1970-01-01T00:00:00", "1970-01-01", "right"),
        ("1970-01-01T00:00:01", "1970-01-01", "wrong"),
        ("1970-01-01", "1970-01-01T00:00:00", "wrong"),
    ],
)
def test_values_are_compared_as_what_they_mean(got: Any, wanted: Any, outcome: str) -> None:
    assert judge(Case("", "", Frame, {"a": [wanted]}), [got]).outcome == outcome  # type: ignore[arg-type]


def test_a_library_without_a_null_of_its_own_may_say_nan() -> None:
    case = Case("", "", lambda: Frame({}), {"a": [None, NAN, 1.0]})
    assert judge(case, [NAN, None, 1.0], PEER._replace(nan_is_null=True)).outcome == "right"
    assert judge(case, [1.0, None, 1.0], PEER._replace(nan_is_null=True)).outcome == "wrong"


def test_order_and_zone_are_part_of_what_was_read() -> None:
    case = Case("", "", lambda: Frame({}), {"a": []}, ordered={"a": True}, timezone={"a": "UTC"})
    assert judge(case, [], ordered={"a": True}, timezone={"a": "UTC"}).outcome == "right"
    assert judge(case, [], ordered={"a": False}, timezone={"a": "UTC"}).outcome == "wrong"
    assert judge(case, [], ordered={"a": True}).outcome == "wrong"
    plain = case._replace(ordered={"a": False}, timezone={})
    assert judge(plain, [], ordered={"a": True}).outcome == "wrong"
    assert judge(plain, [], PEER._replace(always_ordered=True), ordered={"a": True}).outcome == "right"
    assert judge(plain, [], timezone={"a": "UTC"}).outcome == "wrong"


def test_a_refusal_is_right_where_it_is_demanded_or_allowed() -> None:
    case = Case("", "", lambda: Frame({}), {"a": []})
    error = ValueError("no")
    assert runner.refused(case, PEER, error).outcome == "refused"
    assert runner.refused(case._replace(may_refuse=True), PEER, error).outcome == "right"
    assert runner.refused(case._replace(expect=None), PEER, error).outcome == "right"
    assert judge(case._replace(expect=None), []).outcome == "wrong"


def test_ours_must_raise_what_the_case_names() -> None:
    case = Case("", "", lambda: Frame({}), None, errors=("KeyError", "OSError"))
    ours = PEER._replace(ours=True)
    assert runner.refused(case, ours, FileNotFoundError()).outcome == "right"
    assert runner.refused(case, ours, ValueError()).outcome == "wrong"
    assert runner.refused(case, PEER, ValueError()).outcome == "right"
    assert judge(case._replace(expect={"a": []}, may_refuse=True), [], ours).outcome == "wrong"


def test_instants_are_written_without_trailing_zeros() -> None:
    assert iso(0, "ns") == iso(0, "s") == "1970-01-01T00:00:00"
    assert iso(1_500_000, "us") == "1970-01-01T00:00:01.5"
    assert iso(10, "D") == "1970-01-11"


# The peers, whose scores are theirs.


def test_every_consumer_is_named() -> None:
    through = ["pandas from maximal", "pyarrow from maximal"] if hasattr(maximal, "as_table") else []
    assert list(CONSUMERS) == ["minimal", "maximal", "pandas", "pyarrow", "polars", *through]
    for consumer in CONSUMERS.values():
        assert consumer.available is (consumer.read is not None) is not bool(consumer.reason)


@pytest.mark.peers
def test_the_measurement_holds_every_case_of_every_consumer(measured: Measured) -> None:
    part, fractions = measured
    assert json.loads(json.dumps(part)) == part
    assert [case["name"] for case in part["cases"]] == list(CASES)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    for name, told in part["consumers"].items():
        assert told["available"] is CONSUMERS[name].available
        if told["available"]:
            assert list(told["results"]) == list(CASES)
            assert told["version"]
            assert sum(told["score"][outcome] for outcome in runner.OUTCOMES) == told["score"]["total"] == len(CASES)
            assert {result["outcome"] for result in told["results"].values()} <= set(runner.OUTCOMES)
    assert all(part["consumers"][name]["available"] for name in CONSUMERS)


@pytest.mark.peers
def test_a_crash_of_a_real_library_is_a_result_without_fork_too() -> None:
    forked, apart = (
        next(battery.run(CONSUMERS["pyarrow"], *way, "--case", "device-cuda")) for way in ((), ("--apart",))
    )
    assert forked == apart
    assert forked["outcome"] in ("crashed", "right")


@pytest.mark.peers
@pytest.mark.parametrize("name", ["pandas", "pyarrow", "polars"])
def test_adapters_read_what_a_library_wrote_itself(name: str) -> None:
    """A frame of the library's own, through its own consumer: the adapter must not make it look wrong."""
    consumer = CONSUMERS[name]
    assert consumer.read is not None
    reading = consumer.read(Frame({}), True)  # noqa: FBT003
    assert reading.columns == {}
    plain = next(case for case in CASES.values() if case.name == "plain-offset-9")
    reading = consumer.read(plain.make(), True)  # noqa: FBT003
    assert reading.columns == {"a": [3, 4, 5, 6]}
    assert consumer.reread is not None
    assert consumer.cut is not None
    assert consumer.reread(consumer.cut(reading.native, 2)).columns == {"a": [5, 6]}
    assert isinstance(reading.address["a"], int | np.integer)
