"""The battery as a part of `buflend compare`: shown by subject, each case on the page, interrupted in a line."""

import html
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from buflend import maximal
from buflend.bench import cli
from buflend.bench.battery import part as battery
from buflend.bench.battery import readers, runner

pytestmark = pytest.mark.peers

CONSUMERS = [one.name for one in readers.consumers()]
THROUGH = [name for name in CONSUMERS if name.endswith(" from maximal")]

# One case or two of each kind of outcome; `test_battery` runs them all.
CHOSEN = ["extremes-int8", "device-cuda", "int64-exact-beside-a-null", "big-endian-int64", "categorical-ordered"]


def test_the_battery_is_shown_by_subject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every, run = battery.all_cases(), battery.run
    monkeypatch.setattr(battery, "all_cases", lambda: [case for case in every if case.name in CHOSEN])
    monkeypatch.setattr(battery, "run", lambda consumer: run(consumer, *(f"--case={name}" for name in CHOSEN)))
    written = ["--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]
    assert cli.main(["compare", "--only", "battery", *written]) == 0
    part = json.loads((tmp_path / "r.json").read_text("utf-8"))["parts"]["battery"]
    assert list(part["consumers"]) == CONSUMERS
    assert {case["name"]: case["subject"] for case in part["cases"]} == {
        "extremes-int8": "numeric",
        "big-endian-int64": "numeric",
        "int64-exact-beside-a-null": "nulls",
        "categorical-ordered": "categories",
        "device-cuda": "devices",
    }
    score = part["consumers"]["minimal"]["score"]
    assert score["right"] == score["total"] == len(CHOSEN)
    shown = capsys.readouterr().out
    page = (tmp_path / "r.html").read_text("utf-8")
    for case in part["cases"]:
        row = page.partition(f'<tr id="case-{case["name"]}">')[2].partition("</tr>")[0]
        cells = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row.split("<td")]
        cells = [cell.partition(">")[2].strip() for cell in cells[1:]]
        assert case["name"] not in shown
        for name in CONSUMERS:
            result = part["consumers"][name]["results"][case["name"]]
            assert cells[1 + CONSUMERS.index(name)] == "".join(
                [result["outcome"], result["detail"], *result["remarks"]]
            )
    for subject in {case["subject"] for case in part["cases"]}:
        names = [case["name"] for case in part["cases"] if case["subject"] == subject]
        wanted = []
        for group in filter(None, ([name for name in CONSUMERS if name not in THROUGH], THROUGH)):
            row = [subject, str(len(names))]
            for name in group:
                outcomes = [part["consumers"][name]["results"][case]["outcome"] for case in names]
                counts = {outcome: outcomes.count(outcome) for outcome in ("wrong", "refused", "crashed", "hung")}
                bad = " ".join(f"{count}{outcome[0]}" for outcome, count in counts.items() if count)
                row.append(bad or "all right")
            wanted.append(row)
        rows = re.findall(rf"^ {subject} .*$", shown, re.MULTILINE)
        assert [re.split(r"\s{2,}", row.strip()) for row in rows] == wanted
    assert re.search(r"pandas fails most in .*devices \(1 of 1\)", shown)
    assert "minimal fails" not in shown
    assert part["consumers"]["pandas"]["results"]["device-cuda"]["outcome"] == "crashed"
    assert part["consumers"]["pandas"]["results"]["int64-exact-beside-a-null"]["outcome"] == "wrong"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_an_interruption_is_one_line() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "buflend.bench.cli", "compare", "--only", "battery"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=2.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the children too
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "buflend: interrupted\n")


# What peers read of the tables that maximal makes.


class Table:
    """Shows a frame through the protocol; what maximal's reader refuses is no table."""

    def __init__(self, frame: Any, *, allow_copy: bool) -> None:
        maximal.dataframe_to_ndarrays(frame, allow_copy=allow_copy)
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT002
        return self._frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def outcome(reader: str, name: str) -> str:
    (consumer,) = (one for one in readers.consumers() if one.name == reader)
    (case,) = (one for one in battery.all_cases() if one.name == name)
    return runner.attempt(consumer, case).outcome


def test_peers_read_through_maximal_where_it_makes_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(maximal, "as_table", raising=False)
    direct = [one.name for one in readers.consumers()]
    assert direct == ["minimal", "maximal", "pandas", "pyarrow", "polars"]
    monkeypatch.setattr(maximal, "as_table", Table, raising=False)
    through = [one for one in readers.consumers() if one.name not in direct]
    assert [one.name for one in through] == ["pandas from maximal", "pyarrow from maximal"]
    assert all(one.available and not one.ours for one in through)
    for reader in ("pandas from maximal", "pyarrow from maximal"):
        assert outcome(reader, "plain-offset-9") == "right"
        assert outcome(reader, "outlives-int64") == "right"
        # Both believe them where they read the producer itself.
        assert outcome(reader, "bitmask-announced-bool8") == "right"
        assert outcome(reader, "mask-value-none") == "right"
    assert outcome("pandas from maximal", "int64-exact-beside-a-null") == "wrong"


def test_a_peer_s_known_fault_is_named_with_its_report() -> None:
    cases = {case.name: case for case in battery.all_cases()}
    assert readers.known("pyarrow", cases["categorical-ordered"]) == (
        "known: loses the order of categories (arrow #51046)"
    )
    assert readers.known("pandas", cases["no-copy-int8"]).endswith("(no report found)")
    assert readers.known("pandas", cases["plain-offset-9"]) == ""
    assert readers.known("pandas", cases["sentinel-none"]) == ""  # a lie, which maximal has to refuse
