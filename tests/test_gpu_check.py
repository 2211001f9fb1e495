"""The command for a machine with a GPU, without one: steps that pass, fail, hang and lack something, and its reports.

How a check is judged is shown in `test_gpu_check_parts.py`, what the checks find in `fake_cuda/test_gpu_checks.py`.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .gpu_checks import FOLDER, load

rows, run, steps = (load(name) for name in ("rows", "run", "steps"))

# What a step's code may use: its first argument is the file to report to.
SAMPLE = """
import json, os, sys, time

def told(*rows):
    open(sys.argv[1], "w").write("".join(json.dumps(one) + chr(10) for one in rows))

"""


def row(name: str, verdict: str, reason: str = "") -> dict[str, Any]:
    return {"check": name, "verdict": verdict, "reason": reason, "seconds": 0.5, "figures": {"bytes": 8}}


@pytest.fixture
def new_run(tmp_path: Path) -> Any:
    return steps.Run(tmp_path / "deep" / "out", tmp_path, {"MARK": "set"})


def step(new_run: Any, code: str, limit: float = 60.0, report: str = "report.jsonl") -> Any:
    command = [sys.executable, "-c", SAMPLE + code, str(new_run.out / report)]
    return steps.Step("one", limit, command, report)


class TestSteps:
    @pytest.mark.parametrize(
        ("code", "verdict", "reason"),
        [
            ("told({good}, {skipped})", "PASS", ""),
            ("told({good}, {bad}); sys.exit(1)", "FAIL", "1 of 2 failed: b"),
            ("told({good}, {bad})", "FAIL", "1 of 2 failed: b"),
            ("told({skipped}, {skipped})", "SKIP", "no luck"),
            ("told({good}); print('the last line'); sys.exit(3)", "FAIL", "exit status 3: the last line"),
            ("sys.exit(3)", "FAIL", "exit status 3: nothing printed; it reported nothing"),
            ("pass", "FAIL", "it reported nothing"),
            ("told()", "FAIL", "it reported nothing"),
            ("told({good}); os.kill(os.getpid(), 11)", "FAIL", "ended by SIGSEGV"),
            ("assert os.environ['MARK'] == 'set' and os.getcwd() == {root!r}; told({good})", "PASS", ""),
        ],
    )
    def test_verdicts(self, new_run: Any, code: str, verdict: str, reason: str) -> None:
        cases = {"good": row("a", "PASS"), "bad": row("b", "FAIL", "broken"), "skipped": row("c", "SKIP", "no luck")}
        done = new_run.do(step(new_run, code.format(root=str(new_run.root), **cases)))
        assert (done["verdict"], done["reason"]) == (verdict, reason)
        assert new_run.steps == {"one": done}

    def test_one_that_takes_too_long_is_ended_with_all_it_started(self, new_run: Any, tmp_path: Path) -> None:
        code = f"""
import subprocess
told({row("a", "PASS")}, {row("b", "FAIL")})
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
time.sleep(600)
"""
        done = new_run.do(step(new_run, code, limit=3.0))
        assert done["verdict"] == "FAIL"
        assert done["reason"] == "ended at its limit of 3 s; 1 of 2 failed: b"
        assert [one["check"] for one in done["rows"]] == ["a", "b"]
        child, patience = int((tmp_path / "pid").read_text("utf-8")), time.monotonic() + 60
        while not ended(child) and time.monotonic() < patience:
            time.sleep(0.01)
        assert ended(child)

    def test_a_report_of_an_earlier_run_is_not_read(self, new_run: Any) -> None:
        (new_run.out / "report.jsonl").write_text(json.dumps(row("old", "PASS")) + "\n", "utf-8")
        assert new_run.do(step(new_run, "pass"))["reason"] == "it reported nothing"

    def test_a_line_that_was_cut_off_is_left_out(self, new_run: Any) -> None:
        cut = 'told({}); open(sys.argv[1], "a").write(\'{{"check": "b", "ver\')'
        done = new_run.do(step(new_run, cut.format(row("a", "PASS"))))
        assert (done["verdict"], [one["check"] for one in done["rows"]]) == ("PASS", ["a"])

    def test_a_report_of_another_form(self, new_run: Any) -> None:
        one = step(new_run, 'open(sys.argv[1], "w").write("<broken")')._replace(read=rows.of_junit)
        done = new_run.do(one)
        assert done["verdict"] == "FAIL"
        assert done["reason"].startswith("its report cannot be read: ParseError")

    def test_none_stops_the_next_and_all_is_written_down(
        self, new_run: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        new_run.do(step(new_run, f"told({row('a', 'PASS')})"))
        new_run.do(step(new_run, "print('before', flush=True); os.kill(os.getpid(), 9)")._replace(name="two"))
        new_run.skip("three", 5, "not here")
        new_run.do(step(new_run, f"told({row('b', 'PASS')})")._replace(name="four"))
        assert new_run.finish({"reason": "", "limit": 300}) == "FAIL"
        found = json.loads((new_run.out / "gpu_check.json").read_text("utf-8"))
        assert {name: one["verdict"] for name, one in found["steps"].items()} == {
            "one": "PASS",
            "two": "FAIL",
            "three": "SKIP",
            "four": "PASS",
        }
        assert (found["what"], found["verdict"], found["limit"]) == ("gpu_check", "FAIL", 300)
        assert 0 <= found["seconds"] < 300  # in tenths: three steps may take none
        assert found["steps"]["one"]["rows"] == [row("a", "PASS")]
        assert found["steps"]["three"] == {
            "verdict": "SKIP",
            "reason": "not here",
            "seconds": 0,
            "rows": [],
            "limit": 5,
        }
        log = (new_run.out / "gpu_check.log").read_text("utf-8")
        assert log == capsys.readouterr().out
        assert "   PASS  a (0.50 s): bytes 8" in log
        assert log.endswith("2 passed, 0 failed, 0 skipped; see: two; skipped: three\n")
        assert (new_run.out / "two.txt").read_text("utf-8") == "before\n"

    def test_a_machine_that_was_only_looked_at_has_passed_nothing(self, new_run: Any) -> None:
        new_run.do(step(new_run, f"told({row('a device', 'PASS')})")._replace(name=steps.FIRST))
        new_run.skip("checks", 5, "no CuPy")
        assert new_run.finish({}) == "SKIP"


def ended(process: int) -> bool:
    """Tell whether a process is gone, or waits for nobody but its parent."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


class TestRows:
    def test_facts_of_the_contract(self, tmp_path: Path) -> None:
        facts = [{"what": "copies", "got": 1, "expected": 1, "holds": True}]
        facts += [{"what": "waits", "got": 0, "expected": 1, "holds": False}]
        (tmp_path / "c.json").write_text(json.dumps({"facts": facts}), "utf-8")
        found = [(one["check"], one["verdict"], one["reason"]) for one in rows.of_contract(tmp_path / "c.json")]
        assert found == [("copies", "PASS", ""), ("waits", "FAIL", "got 0, expected 1")]

    def test_the_report_of_pytest(self, tmp_path: Path) -> None:
        (tmp_path / "test_some.py").write_text(
            "import pytest\n"
            "def test_good(): pass\n"
            "def test_bad(): assert 0, 'so it is'\n"
            "def test_left_out(): pytest.skip('no luck')\n"
            "@pytest.fixture\ndef broken(): raise ValueError('no fixture')\n"
            "def test_without(broken): pass\n",
            "utf-8",
        )
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            "-c",
            os.devnull,
            f"--junitxml={tmp_path}/r.xml",
        ]
        command = [sys.executable, "-m", "pytest", *map(str, options), str(tmp_path)]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run(command, capture_output=True, check=False, env=environment)
        found = {one["check"]: one for one in rows.of_junit(tmp_path / "r.xml")}
        verdicts = {name: one["verdict"] for name, one in found.items()}
        assert verdicts == {"test_good": "PASS", "test_bad": "FAIL", "test_left_out": "SKIP", "test_without": "FAIL"}
        assert "so it is" in found["test_bad"]["reason"]
        assert found["test_left_out"]["reason"] == "no luck"
        assert all(one["seconds"] >= 0 for one in found.values())


# Takes the place of Python: it reports what each step's command would, and notes the commands.
STAND_IN = """
import json, pathlib, sys
told, arguments = {told!r}, sys.argv[1:]
with open(told, "a") as notes:
    notes.write(json.dumps(arguments) + chr(10))
row = {{"check": "it", "verdict": "PASS", "reason": "", "seconds": 1.0, "figures": {{}}}}
if "pip" in arguments:
    package = {{"metadata": {{"name": "pytest", "version": "9.1"}}}}
    pathlib.Path(arguments[arguments.index("--report") + 1]).write_text(json.dumps({{"install": [package]}}))
elif "gpu_check.environment" in arguments:
    seen = {{"reason": {reason!r}, "runtime": "libcudart.so.13", "devices": [], "machine": {{"cpus": 1}}}}
    pathlib.Path(arguments[-1]).write_text(json.dumps(seen))
elif "--json" in arguments:
    fact = {{"what": "it", "got": 1, "expected": 1, "holds": True}}
    pathlib.Path(arguments[-1]).write_text(json.dumps({{"facts": [fact]}}))
elif "--report" in arguments:
    pathlib.Path(arguments[-1]).write_text(json.dumps(row) + chr(10))
elif "pytest" in arguments:
    (report,) = [each.partition("=")[2] for each in arguments if each.startswith("--junitxml=")]
    pathlib.Path(report).write_text("<testsuites><testsuite><testcase name='it' time='1'/></testsuite></testsuites>")
"""


KEYS = {"what", "begun", "seconds", "verdict", "limit", "reason", "runtime", "devices", "machine", "steps"}
"""Of the JSON."""


class TestCommand:
    @pytest.fixture
    def ran(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Return a function that runs the command with a stand-in for Python: exit status, report, commands."""

        def ran(*options: str, reason: str = "", lacking: str = "") -> tuple[int, dict[str, Any], list[list[str]]]:
            told = tmp_path / "told"
            script = STAND_IN.format(told=str(told), reason=reason)
            monkeypatch.setattr(run, "python", lambda *given: [sys.executable, "-c", script, *map(str, given)])
            monkeypatch.setattr(run, "lacks_pytest", lambda: lacking)
            code = run.main(["--out", str(tmp_path / "out"), *options])
            report = json.loads((tmp_path / "out" / "gpu_check.json").read_text("utf-8"))
            return code, report, [json.loads(line) for line in told.read_text("utf-8").splitlines()]

        return ran

    def test_all_steps(self, ran: Any) -> None:
        code, report, commands = ran()
        verdicts = {name: one["verdict"] for name, one in report["steps"].items()}
        assert verdicts == dict.fromkeys(["environment", "contract", "checks", "tests", "benchmarks"], "PASS")
        assert (code, report["verdict"], report["reason"], report["machine"]) == (0, "PASS", "", {"cpus": 1})
        assert commands[1][:2] == [str(FOLDER / "contract.py"), "libcudart.so.13"]
        assert [command[1] for command in commands if command[0] == "-m"] == [
            "gpu_check.environment",
            "gpu_check.checks",
            "pytest",
            "gpu_check.benchmarks",
        ]
        (tests,) = [command for command in commands if "pytest" in command]
        assert str(FOLDER.parents[1] / "tests" / "test_gpu.py") in tests

    @pytest.mark.parametrize(("options", "expected"), [((), 0), (("--require-gpu",), 1)])
    def test_no_device(
        self, ran: Any, options: tuple[str, ...], expected: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code, report, commands = ran(*options, reason="a wire is loose")
        assert (code, report["verdict"], report["reason"]) == (expected, "SKIP", "a wire is loose")
        assert {one["verdict"] for one in report["steps"].values()} == {"SKIP"}
        assert list(report["steps"]) == ["environment", "contract", "checks", "tests", "benchmarks"]
        assert len(commands) == 1
        assert "no CUDA device: a wire is loose" in capsys.readouterr().out

    def test_pytest_from_wheels(self, ran: Any, tmp_path: Path) -> None:
        code, report, commands = ran("--wheels", str(tmp_path), lacking="pytest not installed")
        assert (code, report["steps"]["install"]["verdict"], report["steps"]["tests"]["verdict"]) == (0, "PASS", "PASS")
        assert [one["check"] for one in report["steps"]["install"]["rows"]] == ["pytest 9.1"]
        (command,) = [command for command in commands if "pip" in command]
        assert {"--no-index", str(tmp_path), "pytest>=9", "hypothesis"} <= set(command)

    @pytest.mark.parametrize("options", [(), ("--wheels", "no/such/folder")])
    def test_no_pytest_and_no_wheels(self, ran: Any, options: tuple[str, ...]) -> None:
        code, report, _ = ran(*options, lacking="pytest not installed")
        assert (code, report["steps"]["tests"]["verdict"]) == (0, "SKIP")
        assert report["steps"]["tests"]["reason"].startswith("pytest not installed, and there is no folder of wheels")
        assert report["steps"]["benchmarks"]["verdict"] == "PASS"

    def test_the_limits_leave_time_to_end(self) -> None:
        assert run.TOTAL == 300
        assert sum(run.LIMITS.values()) <= run.TOTAL - 10

    def test_really_without_a_device(self, tmp_path: Path) -> None:
        command = [sys.executable, str(FOLDER / "run.py"), "--out", str(tmp_path)]
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, env=environment, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        report = json.loads((tmp_path / "gpu_check.json").read_text("utf-8"))
        assert f"no CUDA device: {report['reason']}\n" in done.stdout
        assert {
            "what",
            "begun",
            "seconds",
            "verdict",
            "limit",
            "reason",
            "runtime",
            "devices",
            "machine",
            "steps",
        } == set(report)
        assert report["machine"]["python"] == ".".join(map(str, sys.version_info[:3]))
        assert "numpy" in report["machine"]["libraries"]
