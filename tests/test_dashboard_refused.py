"""What the dashboard refuses before it measures: options, places that cannot be written, results that were edited."""

import errno
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import cli
from buflend.bench.dashboard import DashboardError, command, measuring, results

from .asv_files import IMPLS, NEW, VIEW, lay, row, run

pytestmark = pytest.mark.peers  # the command needs asv

Change = Callable[[dict[str, Any]], Any]
KEPT = Path(__file__).resolve().parent.parent / "asv_bench" / "results"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a file in it, beside a suite that nobody may measure."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "file").write_text("mine", "utf-8")
    (tmp_path / "suite").mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setattr(command, "SUITE", tmp_path / "suite")
    monkeypatch.setattr(measuring, "measure", lambda *_: pytest.fail("it measured"))
    return place


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command, which has to refuse with one sentence and leave nothing, and return the sentence."""
    before = sorted(Path.cwd().parent.rglob("*"))
    assert cli.main(["dashboard", "--no-serve", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("buflend: ")
    assert said.err.count("\n") == 1
    assert sorted(Path.cwd().parent.rglob("*")) == before
    return said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--machine", ""), "--machine '': expected letters"),
        (("--machine", "a/b"), "--machine a/b: expected letters"),
        (("--gpu", " "), "--gpu: got nothing"),
        (("--history", ""), "--history: got nothing"),
        (("--output", "file"), "file is a file, expected a folder"),
        (("--output", "file/site"), "file is a file, expected a folder"),
        (("--output", "."), "this folder holds something else"),
        (("--add", "file"), "--add file: no results there"),
    ],
)
def test_options_without_a_meaning(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, *arguments)


def test_a_place_that_cannot_be_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "x")

    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)
    said = refused(capsys, "--output", "new/site")
    assert said.endswith("new/site: may not be written: Read-only file system; name another folder\n")


def test_a_disk_that_is_full_names_no_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(command.Dashboard, "check", full)
    assert refused(capsys) == "buflend: No space left on device\n"


def test_a_machine_without_a_result_has_none_to_add(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(here / "brought", "far")
    assert "--add brought: no results there" in refused(capsys, "--add", "brought")


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"machine": "../away"}, "machine: got '../away', expected letters"),
        ({"machine": ""}, "machine: got '', expected letters"),
        ({"machine": "far", "cpu": None}, "cpu: got None, expected a text"),
        ({"machine": "far", "num_cpu": 2}, "num_cpu: got 2, expected a text"),
    ],
)
def test_a_machine_that_cannot_be_shown(
    info: dict[str, Any], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = lay(here / "brought", "far", run({VIEW: row(VIEW, [1.0, 2.0, 3.0])}))
    (place / "machine.json").write_text(json.dumps(info), "utf-8")
    assert f"machine.json: {said}" in refused(capsys, "--add", "brought")


def edited(**keys: Any) -> Change:
    return lambda good: {**good, **keys}


def column(name: str, value: Any) -> Change:
    """Return what puts a value into a column of the one benchmark."""

    def change(good: dict[str, Any]) -> dict[str, Any]:
        columns = dict(zip(good["result_columns"], good["results"][VIEW], strict=False)) | {name: value}
        return {**good, "result_columns": list(columns), "results": {VIEW: list(columns.values())}}

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: [], "version: got list"),
        (edited(commit_hash=None), "commit_hash: got None, expected a text"),
        (edited(commit_hash="--help"), "commit_hash: got '--help', expected 40 digits"),
        (edited(commit_hash=NEW[:8]), "commit_hash: got 'bbbbbbbb', expected 40 digits"),
        (edited(env_name="a/../../b"), "env_name: got 'a/../../b', expected a name without a slash"),
        (edited(date="today"), "date: got 'today', expected a whole number"),
        (edited(params=["x"]), "params: got ['x'], expected an object"),
        (edited(python=3.11), "python: got 3.11, expected a text"),
        (edited(results=None), "results: got None, expected an object"),
        (edited(results={VIEW: 1.0}), f"{VIEW}: got 1.0, expected a list"),
        (edited(results={VIEW: [[1.0]]}), f"{VIEW}: params: got None"),
        (edited(result_columns=None), "result_columns: got None, expected a list"),
        (edited(result_columns=["result"]), "params: got None, expected a list of lists"),
        (edited(buflend=["x"]), "buflend: expected an object"),
        (edited(buflend={"reasons": ["x"]}), "buflend: expected an object, its reasons"),
        (edited(buflend={"reasons": {VIEW: "x"}}), "its reasons an object of objects"),
        (column("params", ["x"]), "params: got ['x'], expected a list of lists"),
        (column("result", "abc"), "result: got 'abc', expected a list of numbers"),
        (column("result", ["1", 2, 3]), "result: got ['1', 2, 3], expected a list of numbers"),
        (column("stats_q_25", [1.0]), "got 1 values of stats_q_25, expected 3"),
        (column("params", [IMPLS, ["1", "2"]]), "got 3 results, expected 6"),
        (column("started_at", "x"), "started_at: got 'x', expected milliseconds"),
    ],
)
def test_results_that_were_edited(change: Change, said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = run({VIEW: row(VIEW, [1.0, 2.0, 3.0])}, machine="far")
    place = lay(here / "brought", "far", good)
    (file,) = (one for one in place.iterdir() if one.name != "machine.json")
    file.write_text(json.dumps(change(good)), "utf-8")
    told = refused(capsys, "--add", "brought")
    assert f"{file.relative_to(here)}: " in told
    assert said in told


def test_what_asv_leaves_out_is_no_error(here: Path) -> None:
    failed = run({VIEW: row(VIEW, None)[:2]})  # asv writes null where all of it failed, and no more columns than it has
    lay(here / "brought", "far", failed)
    (machine,) = results.machines(here / "brought")
    assert [one.number for one in machine.runs[0].values(VIEW).values()] == [None, None, None]


def test_every_machine_that_is_kept_has_results() -> None:
    kept = list(results.machines(KEPT))
    assert kept
    assert all(machine.runs for machine in kept)
    assert {path.name for path in KEPT.iterdir()} == {machine.name for machine in kept}


def test_a_file_that_is_no_json(here: Path) -> None:
    place = lay(here / "brought", "far")
    (place / "machine.json").write_bytes(b"\x00\xff")
    with pytest.raises(DashboardError, match=r"machine\.json: cannot be read as JSON"):
        list(results.machines(here / "brought"))
