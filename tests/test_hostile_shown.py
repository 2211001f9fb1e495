"""Hostile producers in `buflend compare`: ours all right, the runner tells every outcome, and all of it is shown."""

import html
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import cli
from buflend.bench.hostile import consumers, part, runner, tables
from buflend.bench.hostile.consumers import CONSUMERS
from buflend.bench.hostile.inputs import PROTOCOLS, Input

pytestmark = pytest.mark.peers

INPUTS = tables.inputs()
BY_NAME = {one.name: one for one in INPUTS}
BY_CONSUMER = {one.name: one for one in CONSUMERS}


def came(name: str, names: list[str], **options: Any) -> dict[str, tuple[str, str]]:
    """Return outcome and detail of inputs on a consumer."""
    told = list(runner.run(name, names, **options))
    assert [one["input"] for one in told] == names
    return {one["input"]: (one["outcome"], one["detail"]) for one in told}


def spoken(name: str) -> list[str]:
    return [one.name for one in INPUTS if runner.applies(BY_CONSUMER[name], one)]


# The table.


def test_every_input_has_a_name_of_its_own_and_every_protocol_a_sound_one() -> None:
    assert len(BY_NAME) == len(INPUTS)
    assert {one.protocol for one in INPUTS} == set(PROTOCOLS)
    assert {one.protocol for one in INPUTS if one.sound} == set(PROTOCOLS)
    for one in INPUTS:
        assert one.right or one.raw is not None or not one.sound
        assert (one.expects() == "must be refused") == (not one.right and one.raw is None)
    assert {protocol for one in CONSUMERS for protocol in one.takes} == set(PROTOCOLS)


def test_a_sound_producer_is_read_by_the_library_that_its_protocol_comes_from() -> None:
    for name in ("numpy", "pyarrow"):
        sound = [one for one in spoken(name) if BY_NAME[one].sound]
        assert sound
        assert came(name, sound) == dict.fromkeys(sound, ("right", ""))


@pytest.mark.parametrize("name", ["minimal", "maximal"])
def test_ours_refuse_every_lie_read_what_is_sound_and_return_everything(name: str) -> None:
    found = came(name, spoken(name))
    assert {one: told for one, told in found.items() if told[0] != "right"} == {}
    said = {one: detail for one, (_, detail) in found.items() if detail}
    kinds = {detail.partition(":")[0] for detail in said.values()}
    # What a person or an exit raises goes through as it is; here nobody does, and our own faults would show.
    assert kinds <= {"ProducerError", "DeviceError", "CopyRequiredError", "TypeError"}, said


# Outcomes, by consumers that behave as named.

FAKES = """
import ctypes, os, signal, time
from buflend.bench.hostile import abi
from buflend.bench.hostile.consumers import Consumer

KEPT = []


class Fake(Consumer):
    def packages(self):
        return ()


def fake(name, take):
    return Fake(name, dict.fromkeys(("Arrow array", "pointer"), take))


def refuses(obj):
    raise ValueError("no")


def panics(obj):
    raise BaseException("no")


def leaks(obj):
    KEPT.append(obj.__arrow_c_array__())
    return lambda: [1, -2, 3]


def releases_twice(obj):
    pair = obj.__arrow_c_array__()
    address = list(abi._ours)[-1]
    for _ in range(2):
        abi.Release(abi.RELEASE[abi.Array])(address)
    return lambda: [1, -2, 3]


def reads(obj, more=0):
    content = ctypes.string_at(obj.ptr, obj.bufsize + more)
    return lambda: content


def reads_array(obj, more=0):
    _, capsule = obj.__arrow_c_array__()
    array = abi.Array.from_address(list(abi._ours)[-1])
    data = ctypes.c_void_p.from_address(array.buffers + 8).value
    content = ctypes.string_at(data, 24 + more)
    return lambda: [int.from_bytes(content[at : at + 8], "little", signed=True) for at in (0, 8, 16)]


CONSUMERS = (
    fake("refuses", refuses),
    fake("panics", panics),
    fake("believes", lambda obj: lambda: [1, -2, 3]),
    fake("misreads", lambda obj: lambda: [1, -2, 4]),
    fake("says nothing that can be shown", lambda obj: lambda: [object()]),
    fake("leaks", leaks),
    fake("releases twice", releases_twice),
    fake("is killed", lambda obj: os.kill(os.getpid(), signal.SIGSEGV)),
    fake("leaves", lambda obj: os._exit(3)),
    fake("sleeps", lambda obj: time.sleep(60)),
    fake("reads", reads),
    fake("reads too far", lambda obj: reads(obj, 1)),
    fake("reads an array", reads_array),
    fake("reads an array too far", lambda obj: reads_array(obj, 1)),
)
"""
SOUND, LIE, PASSABLE = "sound numbers", "a length of -1", "-2 nulls"


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write consumers that a child can import, and say where they are."""
    (tmp_path / "hostile_fakes.py").write_text(FAKES, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return "hostile_fakes:CONSUMERS"


@pytest.mark.parametrize(
    ("name", "outcomes", "said"),
    [
        ("refuses", ("refused", "right", "right"), "ValueError: no"),
        ("panics", ("refused", "right", "right"), "BaseException: no"),
        ("believes", ("right", "wrong", "right"), ""),
        ("misreads", ("wrong", "wrong", "wrong"), "read [1, -2, 4], [1, -2, 3]"),
        ("says nothing that can be shown", ("wrong", "wrong", "wrong"), "read [<object object at"),
        ("leaks", ("wrong", "wrong", "wrong"), "leaks a type and an array; right: "),
        ("releases twice", ("wrong", "wrong", "wrong"), "released twice: an array; right: "),
        ("is killed", ("crashed", "crashed", "crashed"), "SIGSEGV"),
        ("leaves", ("crashed", "crashed", "crashed"), "exit code 0x3"),
    ],
)
def test_the_runner_tells_outcomes_apart(name: str, outcomes: tuple[str, ...], said: str, fakes: str) -> None:
    names = [f"Arrow array: {fault}" for fault in (SOUND, LIE, PASSABLE)]
    found = came(name, names, place=fakes)
    assert tuple(outcome for outcome, _ in found.values()) == outcomes
    assert found[names[0]][1].startswith(said)
    if name == "believes":
        assert found[names[1]][1] == "read [1, -2, 3], must be refused"


def test_one_that_does_not_answer_hangs(fakes: str) -> None:
    name = f"Arrow array: {SOUND}"
    assert came("sleeps", [name], limit=0.5, place=fakes) == {name: ("hung", "no answer in 0.5 s")}


@pytest.mark.parametrize(("reader", "name"), [("reads", "pointer: sound"), ("reads an array", f"Arrow array: {SOUND}")])
def test_memory_ends_where_it_ends(reader: str, name: str, fakes: str) -> None:
    assert came(reader, [name], place=fakes) == {name: ("right", "")}
    ((outcome, signal),) = came(f"{reader} too far", [name], place=fakes).values()
    assert (outcome, signal) in {("crashed", "SIGBUS"), ("crashed", "SIGSEGV")}


def test_without_fork_each_input_has_an_interpreter_of_its_own(fakes: str) -> None:
    names = [f"Arrow array: {fault}" for fault in (SOUND, LIE)]
    assert [outcome for outcome, _ in came("believes", names, fork=False, place=fakes).values()] == ["right", "wrong"]
    found = came("leaves", names, fork=False, place=fakes)
    assert [outcome for outcome, _ in found.values()] == ["crashed", "crashed"]


@pytest.mark.parametrize(
    ("got", "wanted", "is_same"),
    [
        ([1, None], [1, None], True),
        ([1, float("nan")], [1, None], True),
        ([1, 0], [1, None], False),
        ([1, None], [1, 0], False),
        ([1], [1, 2], False),
        ([{"a": [1.0]}], [{"a": [1]}], True),
        ([{"a": 1, "b": 1}], [{"a": 1}], False),
        ("a", ["a"], False),
        ([[1], []], [[1], [2]], False),
    ],
)
def test_values_are_compared_whole(got: Any, wanted: Any, is_same: bool) -> None:
    assert runner.same(got, wanted) is is_same


# What is shown.

CHOSEN = ("DLPack: versioned, sound", f"Arrow array: {SOUND}", f"Arrow array: {LIE}", "pointer: sound")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[Input, ...]:
    """Let the part measure few inputs, on ours, one peer, and one package that nobody has."""
    chosen = tuple(BY_NAME[name] for name in CHOSEN)
    monkeypatch.setattr(part, "inputs", lambda: chosen)
    absent = consumers.Consumer("nobody_has_this", {"Arrow array": repr})
    monkeypatch.setattr(part, "CONSUMERS", (*(BY_CONSUMER[name] for name in ("minimal", "maximal", "pyarrow")), absent))
    return chosen


def test_it_is_shown(few: tuple[Input, ...], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    written = ["--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]
    assert cli.main(["compare", "--only", "hostile", *written]) == 0
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))["parts"]["hostile"]
    assert [one["name"] for one in report["inputs"]] == list(CHOSEN)
    found = report["consumers"]
    assert list(found["minimal"]["results"]) == ["pointer: sound"]
    assert list(found["maximal"]["results"]) == list(CHOSEN)
    assert list(found["pyarrow"]["results"]) == [name for name in CHOSEN if name.startswith("Arrow")]
    zero = dict.fromkeys(runner.OUTCOMES, 0)
    assert found["maximal"]["score"] == {**zero, "right": len(few), "total": len(few)}
    assert not found["nobody_has_this"]["available"]
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[:-2])) <= 80  # the last two name files
    assert "absent: nobody_has_this (not installed" in shown
    rows = [re.split(r"\s{2,}", row.strip()) for row in re.findall(r"^ maximal .*$", shown, re.MULTILINE)]
    assert rows[0][:7] == ["maximal", *(str(found["maximal"]["score"][kind]) for kind in (*runner.OUTCOMES, "total"))]
    assert rows[1] == ["maximal", "right", "right", "right"]
    rows = [re.split(r"\s{2,}", row.strip()) for row in re.findall(r"^ minimal .*$", shown, re.MULTILINE)]
    assert rows[1] == ["minimal", "right"]  # it speaks one of the three
    page = (tmp_path / "r.html").read_text("utf-8")
    for one in report["inputs"]:
        row = page.partition(f'<tr id="input-{one["name"].replace(" ", "-")}">')[2].partition("</tr>")[0]
        cells = [html.unescape(re.sub("<[^>]*>", "", cell)).partition(">")[2].strip() for cell in row.split("<td")[1:]]
        wanted = []
        for name in ("minimal", "maximal", "pyarrow"):
            result = found[name]["results"].get(one["name"])
            wanted.append("".join(result.values()) if result else "")
        assert cells == [one["fault"], *wanted, one["expects"]]


def test_what_is_wrong_is_counted_by_its_letter_and_what_crashed_is_named() -> None:
    from rich.console import Console

    from buflend.bench.hostile import shown

    outcomes = dict(zip(CHOSEN, ("right", "crashed", "wrong", "hung"), strict=True))
    results = {name: {"outcome": outcome, "detail": "x"} for name, outcome in outcomes.items()}
    one = {"available": True, "reason": "", "version": "1", "results": results, "score": part.score(results)}
    listed = [{"name": name, "protocol": BY_NAME[name].protocol} for name in CHOSEN]
    out = io.StringIO()
    made = {"protocols": list(PROTOCOLS), "inputs": listed, "consumers": {"peer": one}}
    shown.show(Console(file=out, width=100), made)
    text = out.getvalue()
    assert re.search(r"^ peer +right +1w +1h *$", text, re.MULTILINE)
    assert re.search(r"^ {3,}1c *$", text, re.MULTILINE)
    assert f"peer crashed on Arrow array: {SOUND}" in text
    assert "peer hung on pointer: sound" in text
