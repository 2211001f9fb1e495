"""The parts of the command for a machine with a GPU: judging, processes that end, timing, the names of libraries.

No device is needed: where one is asked for, something stands in for it.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .gpu_checks import FOLDER, load

check = load("check")
checks = load("checks")
CHECKS: dict[str, Any] = checks.CHECKS


class TestJudge:
    @pytest.fixture(autouse=True)
    def _no_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(check, "_left_behind", lambda: ("", False))

    def judge(self, function: Any, *needs: str) -> tuple[str, str]:
        row = check.judge(check.Check("made_here", needs, function))
        assert json.loads(json.dumps(row)) == row
        return row["verdict"], row["reason"]

    def test_what_passes(self) -> None:
        assert self.judge(lambda: {"bytes": 8}) == ("PASS", "")

    def test_what_fails(self) -> None:
        verdict, reason = self.judge(lambda: check.expect("the sum", 1 + 1, 3))
        assert (verdict, reason.partition(" (")[0]) == ("FAIL", "the sum: got 2, expected 3")
        assert self.judge(lambda: check.hold("it is so", []))[0] == "FAIL"
        assert self.judge(lambda: check.expect_values("three", [1, 2, 3], [1, 2, 4]))[1].startswith(
            "three: value 2: got 3"
        )
        assert self.judge(lambda: check.refused("it", dict, ValueError))[1].startswith(
            "it: got dict, expected ValueError"
        )
        assert self.judge(lambda: check.refused("it", lambda: 1 / 0, ZeroDivisionError)) == ("PASS", "")

    def test_what_raises(self) -> None:
        verdict, reason = self.judge(lambda: 1 / 0)
        assert (verdict, reason.partition(" (")[0]) == ("FAIL", "ZeroDivisionError: division by zero")

    def test_what_is_skipped(self) -> None:
        def skipped() -> None:
            raise check.SkippedError("too old")

        assert self.judge(skipped) == ("SKIP", "too old")
        assert self.judge(lambda: 1 / 0, "no_such_library") == ("SKIP", "no_such_library is not installed")
        assert self.judge(lambda: 1 / 0, "no_such.library") == ("SKIP", "no_such.library is not installed")

    def test_a_person_may_end_it(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.judge(interrupt)

    @pytest.mark.parametrize(
        ("source", "reason"),
        [
            ("def is_available(): return True", ""),
            ("def is_available(): return False", "cupy sees no CUDA device"),
            ("def is_available(): raise OSError('no  driver')", "cupy sees no CUDA device: no driver"),
            ("raise RuntimeError('built for another world')", "cupy cannot be imported: built for another world"),
        ],
    )
    def test_a_library(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str) -> None:
        (tmp_path / "cupy.py").write_text(source, "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
        assert check.lacks("cupy") == reason
        sys.modules.pop("cupy", None)

    def test_every_check_says_what_it_shows_and_needs_what_is_known(self) -> None:
        assert len(CHECKS) >= 40
        for one in CHECKS.values():
            assert set(one.needs) <= set(check._SEES)
            assert one.function.__doc__.startswith("Show ")


# Jobs that judge as the checks' own does, and end their process in one way or another.
JOBS = """
import os, time

def job(payload, tell):
    for name in payload["names"]:
        if name == "dies":
            os.kill(os.getpid(), 11)
        if name == "hangs":
            time.sleep(600)
        if name == "raises":
            raise ValueError("no luck")
        sick = {"sick": True} if name == "spoils" else {}
        tell({"check": name, "verdict": "PASS", "process": os.getpid(), **sick})
        if sick:
            return

def idle(payload, tell):
    pass
"""


@pytest.mark.peers
class TestChildren:
    @pytest.fixture(autouse=True)
    def _jobs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "jobs_of_a_test.py").write_text(JOBS, "utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    def test_the_end_of_one_ends_no_other(self) -> None:
        names = ["a", "dies", "b", "c", "raises", "hangs", "spoils", "d"]
        found = {row["check"]: row for row in checks.run(names, "jobs_of_a_test:job", patience=3.0)}
        assert list(found) == names
        verdicts = {name: found[name]["verdict"] for name in names}
        assert verdicts == dict.fromkeys(names, "PASS") | dict.fromkeys(["dies", "raises", "hangs"], "FAIL")
        assert found["dies"]["reason"] == "crashed: signal SIGSEGV"
        assert found["raises"]["reason"] == "failed: ValueError: no luck"
        assert found["hangs"]["reason"] == "hung: no sign for 3 s"
        processes = [found[name]["process"] for name in ("a", "b", "c", "spoils", "d")]
        assert processes[1] == processes[2]
        assert len(set(processes)) == 4

    def test_a_job_that_tells_nothing(self) -> None:
        with pytest.raises(RuntimeError, match="judged none of a, b"):
            list(checks.run(["a", "b"], "jobs_of_a_test:idle"))

    def test_the_module_is_a_command(self, tmp_path: Path, roots: list[str]) -> None:
        command = [sys.executable, "-m", "gpu_check.checks", "--report", str(tmp_path / "r")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*roots, str(FOLDER.parent)])}
        environment["CUDA_VISIBLE_DEVICES"] = ""

        def run(*names: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([*command, *names], capture_output=True, check=False, env=environment, text=True)

        done = run("a_pointer_to_cupy", "the_host_is_refused")
        (first, second) = [json.loads(line) for line in (tmp_path / "r").read_text("utf-8").splitlines()]
        assert (first["check"], second["check"]) == ("a_pointer_to_cupy", "the_host_is_refused")
        assert {first["verdict"], second["verdict"]} == {"SKIP"}
        assert first["reason"].startswith(("cupy is not installed", "cupy sees no CUDA device"))
        assert done.returncode == 0
        assert done.stdout.splitlines()[0].startswith("SKIP  a_pointer_to_cupy (")
        wrong = run("no_such")
        assert wrong.returncode == 2
        assert "no such check: no_such" in wrong.stderr


@pytest.mark.peers
class TestBenchmarks:
    @pytest.fixture
    def benchmarks(self) -> Any:
        return load("benchmarks")

    def measure(self, benchmarks: Any, *statements: str, missing: Any = (), **options: Any) -> list[dict[str, Any]]:
        needs = {statement: ("torch",) if "tensor" in statement else () for statement in statements}
        group = benchmarks.Group("some work", needs, **options)
        found = list(benchmarks.measure(group, {"work": sum, "few": [1], "many": [1] * 3000}, dict(missing), 0.02))
        assert json.loads(json.dumps(found)) == found
        return found

    def test_figures(self, benchmarks: Any) -> None:
        bars = {"work(few)": benchmarks.Bar(1 / 2, 1e-9)}
        first, second = self.measure(benchmarks, "work(many)", "work(few)", bars=bars)
        assert (first["check"], first["verdict"]) == ("some work: work(many)", "PASS")
        assert second["figures"]["against"] == "work(many)"
        low, middle, high = (second["figures"]["ratio"][place] for place in (1, 0, 2))
        assert 0 < low <= middle <= high < 1
        assert (second["figures"]["bar"], second["figures"]["bar is"]) == (0.5, "met")
        assert (second["figures"]["stretch"], second["figures"]["stretch is"]) == (1e-9, "missed")
        assert "ratio" not in first["figures"]
        assert first["figures"]["rounds"] >= 3

    def test_what_lacks_a_library_is_left_out_and_said(self, benchmarks: Any) -> None:
        bars = {"work(few)": benchmarks.Bar(1 / 2, 1 / 4)}
        statements = ("work(tensor)", "work(many)", "work(few)")
        missing = {"torch": "torch is not installed"}
        skipped, base, other = self.measure(benchmarks, *statements, missing=missing, bars=bars)
        assert (skipped["verdict"], skipped["reason"]) == ("SKIP", "torch is not installed")
        assert (base["check"], other["figures"]["against"]) == ("some work: work(many)", "work(many)")
        assert "bar" not in other["figures"]  # it is against what is left out
        assert len(self.measure(benchmarks, "work(tensor)", missing=missing)) == 1

    def test_what_raises(self, benchmarks: Any) -> None:
        (row,) = self.measure(benchmarks, "work(few)", "work(nothing)")
        assert (row["check"], row["verdict"]) == ("some work", "FAIL")
        assert row["reason"] == "NameError: name 'nothing' is not defined"

    def test_bars_are_of_statements(self, benchmarks: Any) -> None:
        for group in benchmarks.GROUPS:
            assert group.bars.keys() <= group.statements.keys()
            assert len(group.statements) > 1
        assert sum(bool(group.bars) for group in benchmarks.GROUPS) == 4
        assert len({group.title for group in benchmarks.GROUPS}) == len(benchmarks.GROUPS)


# Names of the checks' code -> modules; `views` is a class.
ROOTS = {
    "core": "cuda.core",
    "cupy": "cupy",
    "jax": "jax",
    "np": "numpy",
    "numba_cuda": "numba.cuda",
    "runtime": "cupy.cuda.runtime",
    "torch": "torch",
    "views": "cuda.core.utils",
}


def chains(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names of the libraries that a piece of code uses."""
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in ROOTS:
            yield inner.id, *reversed(parts)


def used() -> dict[str, set[tuple[str, ...]]]:
    """Return the dotted names that the checks and the benchmarks use, by library."""
    trees = [ast.parse(path.read_text("utf-8")) for path in FOLDER.glob("*.py") if path.name != "contract.py"]
    groups = next(
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GROUPS"
    )
    texts = [node.value for node in ast.walk(groups) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    trees += [ast.parse(text, mode="eval") for text in texts if "(" in text]
    found: dict[str, set[tuple[str, ...]]] = {}
    for tree in trees:
        for root, *rest in chains(tree):
            found.setdefault(root, set()).add(tuple(rest))
    return found


@pytest.mark.peers
@pytest.mark.parametrize("root", ROOTS)
def test_the_names_of_a_library_are_there(root: str) -> None:
    """Whether they do what the checks take them for is for a device to show."""
    library: Any = pytest.importorskip(ROOTS[root])
    names = used()[root]
    assert names
    for name in sorted(names):
        value = library.StridedMemoryView if root == "views" else library
        for part in name:
            assert hasattr(value, part), f"{root}.{'.'.join(name)}: no {part}"
            value = getattr(value, part)
            if not isinstance(value, (type, ModuleType)):
                break


@pytest.mark.peers
def test_the_target_of_the_makefile() -> None:
    command = ["make", "--no-print-directory", "-n", "gpu-check", "PYTHON=python-of-the-gpu", "OUT=results"]
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "WHEELS", "ARGS"}}
    done = subprocess.run(command, capture_output=True, check=True, cwd=FOLDER.parents[1], env=environment, text=True)
    assert done.stdout.startswith("python-of-the-gpu asv_bench/gpu_check/run.py --out results")
    assert ".venv" not in done.stdout
