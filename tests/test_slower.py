"""What `make slower` asks of asv, and what it makes of the answer. That asv finds what was planted is seen by hand."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from buflend.bench.dashboard import driver

from .asv_files import VIEW, lay, repository, row, run

pytestmark = pytest.mark.peers  # needs asv and git

SCRIPTS = Path(__file__).resolve().parent.parent / "asv_bench"
Asked = list[dict[str, Any]]
Start = Callable[..., SimpleNamespace]


@pytest.fixture
def slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script as a module, in a project of two commits."""
    suite = tmp_path / "project" / "asv_bench"
    suite.mkdir(parents=True)
    (suite / "asv.conf.json").write_text((SCRIPTS / "asv.conf.json").read_text("utf-8"), "utf-8")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("slower")
    monkeypatch.setattr(module, "SUITE", suite)
    return module


def answering(monkeypatch: pytest.MonkeyPatch, code: int, measured: list[str]) -> Asked:
    """Let asv have measured commits, and end with a status; return what it is asked."""
    asked: Asked = []
    start: Start = subprocess.run

    def answer(command: list[str], **options: Any) -> SimpleNamespace:
        if driver.__name__ not in command:  # git
            return start(command, **options)
        config = json.loads(Path(command[command.index("--config") + 1]).read_text("utf-8"))
        asked.append({"command": command, "config": config, **options})
        runs = [run({VIEW: row(VIEW, [1.0, 2.0, None])}, commit_hash=commit) for commit in measured]
        lay(Path(config["results_dir"]), "here", *runs)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", answer)
    return asked


def ended(slower: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Return the exit status of the script."""
    monkeypatch.setattr(sys, "argv", ["slower.py", *arguments])
    return int(slower.main())


@pytest.mark.parametrize("code", [0, 1])
def test_what_asv_is_asked_and_says(code: int, slower: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = repository(slower.SUITE.parent)
    asked = answering(monkeypatch, code, list(commits))
    assert ended(slower, monkeypatch, "HEAD~1", "HEAD", "--bench", "View", "--bench", "Size") == code
    (one,) = asked
    words = " ".join(one["command"])
    assert words.endswith(" ".join(commits))
    assert " continuous " in words
    assert " --factor 1.5 --interleave-rounds -a rounds=4 -a repeat=10 " in words
    assert one["env"]["PYTHONHASHSEED"] == "0"
    assert one["env"]["OMP_NUM_THREADS"] == "1"
    assert all(Path(path).is_absolute() for path in one["env"]["PYTHONPATH"].split(os.pathsep))
    # A folder of its own: results that everybody is to see lie in the suite's.
    assert not Path(one["config"]["results_dir"]).is_relative_to(slower.SUITE)
    assert one["config"]["environment_type"] == "virtualenv"
    assert one["config"]["repo"] == str(slower.SUITE.parent)
    patterns = [one["command"][place + 1] for place, word in enumerate(one["command"]) if word == "-b"]
    chosen = [name for name in NAMES if any(re.search(pattern, name) for pattern in patterns)]
    assert chosen == ["bench_buffers.View.time_view_x1000('minimal')", "bench_buffers.Size.time_x('maximal', 1000)"]


NAMES = [
    "bench_buffers.View.time_view_x1000('minimal')",
    "bench_buffers.View.time_view_x1000('numpy')",
    "bench_buffers.Size.time_x('maximal', 1000)",
    "bench_buffers.Ndarray.time_wrap_x1000('maximal')",
]


def test_all_of_ours_are_measured_where_none_is_named(slower: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, 0, list(repository(slower.SUITE.parent)))
    assert ended(slower, monkeypatch, "HEAD~1", "HEAD", "--factor", "2") == 0
    command = asked[0]["command"]
    assert command[command.index("--factor") + 1] == "2"
    assert command.count("-b") == 1
    pattern = command[command.index("-b") + 1]
    assert [bool(re.search(pattern, name)) for name in NAMES] == [True, False, True, True]


@pytest.mark.parametrize("which", [[], [0], [1]])
def test_nothing_that_was_measured_is_no_verdict(
    which: list[int], slower: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = repository(slower.SUITE.parent)
    answering(monkeypatch, 1, [commits[place] for place in which])
    assert ended(slower, monkeypatch, "HEAD~1", "HEAD") == 2
    said = capsys.readouterr().err
    assert said.startswith("make slower: nothing was measured of ")
    assert all((commit[:8] in said) is (place not in which) for place, commit in enumerate(commits))


def test_a_commit_that_is_not_there_is_said(
    slower: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(slower.SUITE.parent)
    asked = answering(monkeypatch, 0, [])
    assert ended(slower, monkeypatch, "no-such-branch", "HEAD") == 2
    assert capsys.readouterr().err.startswith("make slower: no-such-branch: git knows no such commit here")
    assert not asked


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--bench", "("), "--bench (: this is no regular expression"),
        (("--factor", "twice"), "--factor twice: expected a number above 1"),
        (("--factor", "1"), "--factor 1: expected a number above 1"),
        (("--factor", "nan"), "--factor nan: expected a number above 1"),
    ],
)
def test_options_that_asv_would_stumble_over_are_refused(
    arguments: tuple[str, ...],
    said: str,
    slower: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = answering(monkeypatch, 0, [])
    with pytest.raises(SystemExit) as refused:
        ended(slower, monkeypatch, "HEAD~1", "HEAD", *arguments)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err
    assert not asked
