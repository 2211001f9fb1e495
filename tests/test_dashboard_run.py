"""`buflend dashboard` on a suite of a few lines: with history, with one commit of it, and without; and what it refuses.

asv is run for real; what its page loads is laid by hand, so that no test needs the network.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import cli, peers
from buflend.bench.dashboard import command, measuring, offline, page, results

from .asv_files import NEW, OLD, git, lay, repository, run

pytestmark = pytest.mark.peers  # needs asv and git

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SUITE = '''"""Tiny: what takes no time."""

class View:
    """A view of nothing."""

    version = "1"
    param_names = ["impl"]
    params = [["minimal", "maximal", "numpy", "broken"]]

    def setup(self, impl):
        import buflend.minimal
        if impl == "numpy":
            raise NotImplementedError("numpy isn't here")

    def time_view_x10(self, impl):
        if impl == "broken":
            raise ValueError("it broke")

class GpuView:
    version = "1"
    param_names = ["impl"]
    params = [["minimal"]]

    def setup(self, impl):
        raise NotImplementedError("no CUDA device")

    def time_view(self, impl):
        pass
'''
VIEW_TINY = "bench_tiny.View.time_view_x10"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project without a repository, whose suite the command measures; copies of scripts are laid by hand."""
    suite = tmp_path / "project" / "asv_bench"
    (suite / "benchmarks").mkdir(parents=True)
    (suite / "benchmarks" / "__init__.py").touch()
    (suite / "benchmarks" / "bench_tiny.py").write_text(SUITE, "utf-8")
    settings = {"version": 1, "project": "tiny", "repo": "..", "launch_method": "spawn", "matrix": {"req": {"x": [""]}}}
    (suite / "asv.conf.json").write_text(f"// a comment\n{json.dumps(settings)}", "utf-8")
    (suite.parent / ".gitignore").write_text("/asv_bench/.asv/\n__pycache__/\n", "utf-8")
    for package in offline.PACKAGES:
        for path in (*package.files, "package.json"):
            file = suite / ".asv" / "assets" / package.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("", "utf-8")
    monkeypatch.setattr(command, "SUITE", suite)
    monkeypatch.setattr(command, "gpu_name", lambda: "none")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return suite.parent


def dashboard(*arguments: str) -> int:
    return cli.main(["dashboard", *arguments])


def kept(project: Path, folder: str = "results") -> list[results.Run]:
    return [run for machine in results.machines(project / "asv_bench" / ".asv" / folder) for run in machine.runs]


def published(project: Path) -> dict[str, Any]:
    """Return what asv's page knows."""
    found = json.loads((project / "asv_bench/.asv/site/asv/index.json").read_text("utf-8"))
    return dict(found)


def test_a_suite_is_measured_kept_and_shown(project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, head = repository(project)
    assert dashboard("--no-serve", "--machine", "m1", "--gpu", "none", "--bench", "View") == 1  # one of them failed
    said = capsys.readouterr()
    assert said.err == ""
    assert f"failed: {VIEW_TINY}('broken'): ValueError: it broke" in said.out
    assert "CPU: 1 row\n" in said.out
    assert "GPU: 0 rows\n" in said.out
    assert "python -m http.server --bind 127.0.0.1" in said.out

    (one,) = kept(project)
    assert one.source == f"{head[:8]}-existing-py{PYTHON}.json"
    assert (one.machine, one.gpu, one.data["python"], one.commit) == ("m1", "none", PYTHON, head)
    assert one.data["date"] == 1_000_000_000_000 + 86_400_000
    assert one.notes.keys() == {"reasons"}
    values = {key[0].strip("'"): value for key, value in one.values(VIEW_TINY).items()}
    assert values["minimal"].measured
    assert values["maximal"].measured
    assert values["numpy"].reason == "numpy isn't here"
    assert values["broken"].number is None

    page = (project / "asv_bench/.asv/site/index.html").read_text("utf-8")
    for text in (
        "A view of nothing.",
        "Tiny: what takes no time",
        "it broke",
        "numpy isn&#39;t here",
        "no CUDA device",
    ):
        assert text in page
    found = published(project)
    assert found["params"]["gpu"] == ["none"]
    assert found["params"]["python"] == [PYTHON]
    assert found["machines"].keys() == {"m1"}
    assert list(found["revision_to_hash"].values()) == [head]
    index = (project / "asv_bench/.asv/site/asv/index.html").read_text("utf-8")
    assert "../index.html" in index
    assert offline.loads(index) == []
    assert (project / "asv_bench/.asv/site/licences.html").is_file()
    assert git(project, "status", "--porcelain") == ""
    assert not (tmp_path / ".asv-machine.json").exists()

    # Another run of the same commit; what was measured before is kept beside it, and files that were changed are said.
    (project / "file").write_text("changed", "utf-8")
    suite = project / "asv_bench" / "benchmarks" / "bench_tiny.py"
    suite.write_text(
        SUITE.replace("GpuView", "Other").replace('raise NotImplementedError("no CUDA device")', "pass"), "utf-8"
    )
    assert dashboard("--no-publish", "--machine", "m1", "--bench", "Other") == 0
    assert "--add" in capsys.readouterr().out
    (again,) = kept(project)
    assert again.notes["changed"]
    assert again.values(VIEW_TINY) == one.values(VIEW_TINY)
    assert measuring.count(results.Machine("m1", {}, [again])) == 3


def test_a_quick_look_is_not_kept_and_without_a_repository_all_is_at_one_commit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not (project / ".git").exists()
    lay(project / "asv_bench" / "results", "m2", run({}, machine="m2"))
    for _ in range(2):
        assert dashboard("--quick", "--no-serve", "--machine", "m1", "--bench", r"View\.time_view_x10\('m") == 0
    assert capsys.readouterr().err == ""
    assert kept(project) == []
    (one,) = kept(project, "quick")
    assert one.notes["quick"]
    assert one.notes["no_history"]
    assert {value.samples for value in one.values(VIEW_TINY).values() if value.measured} == {3}
    page = (project / "asv_bench/.asv/site/index.html").read_text("utf-8")
    assert command.QUICK in page
    assert "This checkout has no git history" in page
    assert len(published(project)["revision_to_hash"]) == 1
    assert (project / "asv_bench/.asv/site/asv/graphs/summary" / f"{VIEW_TINY}.json").is_file()


def test_a_copy_of_a_commit_says_which(project: Path, tmp_path: Path) -> None:
    assert dashboard("--no-publish", "--machine", "far", "--gpu", "H1", "--commit", NEW, "--bench", "maximal") == 0
    (one,) = kept(project)
    assert (one.commit, one.gpu) == (NEW, "H1")
    assert "no_history" not in one.notes
    # Such results can be added anywhere.
    shutil.move(project / "asv_bench/.asv/results", tmp_path / "brought")
    (there,) = results.machines(tmp_path / "brought")
    assert there.info["gpu"] == "H1"
    assert (tmp_path / "brought/benchmarks.json").is_file()


def test_a_clone_of_depth_one_shows_results_of_commits_that_it_lacks(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, head = repository(project)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", str(clone))
    suite = clone / "asv_bench"
    shutil.copytree(project / "asv_bench" / ".asv", suite / ".asv")
    lay(suite / "results", "far", run({VIEW_TINY: tiny_row()}, commit_hash=first, machine="far", gpu="H1"), gpu="H1")
    monkeypatch.setattr(command, "SUITE", suite)
    assert dashboard("--quick", "--no-serve", "--machine", "m1", "--bench", "maximal") == 0
    page = (suite / ".asv/site/index.html").read_text("utf-8")
    assert f"commits that are not here stands on asv&#39;s own page at {head[:8]}: {first[:8]}." in page
    assert first[:8] in page
    found = published(clone)
    assert list(found["revision_to_hash"].values()) == [head]
    assert sorted(found["params"]["machine"]) == ["far", "m1"]
    assert sorted(found["params"]["gpu"]) == ["H1", "none"]


def test_commits_are_measured_in_environments_of_asv_s_and_what_was_measured_before_it_failed_is_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, head = repository(project)
    seen: dict[str, Any] = {}

    def asv(words: list[str], work: Path, log: Path, _progress: object, *, existing: bool = True) -> int:
        config = json.loads(Path(words[words.index("--config") + 1]).read_text("utf-8"))
        (commits,) = [word.removeprefix("HASHFILE:") for word in words if word.startswith("HASHFILE:")]
        seen.update(config, words=words, existing=existing, commits=Path(commits).read_text("utf-8").split())
        one = run({VIEW_TINY: tiny_row()}, commit_hash=head, env_name="virtualenv-py3.12", machine="m1")
        lay(work / "results", "m1", one)
        log.write_text("it ended", "utf-8")
        return 1

    monkeypatch.setattr(measuring, "asv", asv)
    assert dashboard("--no-serve", "--history", "HEAD", "--machine", "m1", "--gpu", "H1", "--bench", "View") == 2
    assert "asv could not measure: it ended" in capsys.readouterr().err
    assert seen["commits"] == [head, first]
    assert seen["matrix"] == {"req": {"x": [""]}}
    assert (seen["repo"], seen["existing"]) == (str(project), False)
    assert not {"-E", "--set-commit-hash", "--launch-method"} & set(seen["words"])
    (one,) = kept(project)
    assert (one.commit, one.gpu, one.data["env_name"]) == (head, "H1", "virtualenv-py3.12")


def tiny_row() -> list[Any]:
    return [[1e-5, 2e-5, float("nan"), None], [["'minimal'", "'maximal'", "'numpy'", "'broken'"]], "1", 1]


# What is refused, and what is done without.


def test_without_npm_the_landing_page_is_made_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(project)
    shutil.rmtree(project / "asv_bench/.asv/assets")
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "npm" else which(name))
    assert dashboard("--quick", "--no-serve", "--bench", "maximal") == 0
    assert "without asv's own page: npm is not installed" in capsys.readouterr().out
    page = (project / "asv_bench/.asv/site/index.html").read_text("utf-8")
    assert "Without asv&#39;s own page, and so without history: npm is not installed" in page
    assert "asv/index.html" not in page
    assert not (project / "asv_bench/.asv/site/asv").exists()


def test_an_asv_that_loads_more_is_an_error_and_the_landing_page_is_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(project)
    monkeypatch.setattr(offline, "PACKAGES", [one for one in offline.PACKAGES if one.name != "jquery"])
    assert dashboard("--quick", "--no-serve", "--bench", "maximal") == 2
    assert "jquery-3.3.1.min.js, of which there is no local copy" in capsys.readouterr().err
    assert "asv/index.html" not in (project / "asv_bench/.asv/site/index.html").read_text("utf-8")
    assert not (project / "asv_bench/.asv/site/asv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--bench", "NoSuch"), "No benchmarks selected"),
        (("--bench", "GpuView"), "nothing was measured: no CUDA device"),
        (("--bench", "("), "--bench (: this is no regular expression"),
        (("--machine", "../m"), "--machine ../m: expected letters"),
        (("--commit", OLD), f"--commit {OLD}: the checkout is at"),
        (("--commit", ""), "--commit : the checkout is at"),
        (("--history", "no..where"), "--history no..where: git does not know this range"),
        (("--history", "HEAD..HEAD"), "--history HEAD..HEAD: got no commit"),
        (("--add", "nowhere"), "--add nowhere: no results there"),
        (("--no-publish", "--output", "x"), "--no-publish and --output: expected one of them"),
        (("--no-serve", "--port", "80"), "--no-serve and --port: expected one of them"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    repository(project)
    more = () if "--no-publish" in arguments or "--no-serve" in arguments else ("--no-serve",)
    assert dashboard("--quick", *more, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("buflend: ")
    assert said in error
    assert error.count("\n") == 1
    assert not (project / "asv_bench/.asv/site").exists()


def test_a_copy_wants_the_whole_commit(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for commit in ("nonsense", NEW[:8], ""):
        assert dashboard("--no-publish", "--commit", commit) == 2
        assert capsys.readouterr().err == (
            f"buflend: --commit {commit}: expected 40 digits, as `git rev-parse HEAD` writes them\n"
        )
    assert not (project / "asv_bench/.asv/asv.log").exists()


def test_who_interrupts_the_publishing_keeps_the_page_of_the_last_time(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    repository(project)
    old = project / "asv_bench/.asv/site/asv/index.html"
    monkeypatch.setattr(measuring, "done", interrupted)
    assert dashboard("--quick", "--no-serve", "--bench", "maximal") == 130
    assert not old.parent.parent.exists()
    old.parent.mkdir(parents=True)
    old.write_text("of the last time", "utf-8")
    (old.parent.parent / "index.html").write_text(page.MARK, "utf-8")
    assert dashboard("--quick", "--no-serve", "--bench", "maximal") == 130
    assert old.read_text("utf-8") == "of the last time"
    assert (old.parent.parent / "index.html").read_text("utf-8") == page.MARK


def test_a_suite_that_cannot_be_imported_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "asv_bench/benchmarks/bench_tiny.py").write_text("import no_such_module", "utf-8")
    assert dashboard("--quick", "--no-serve") == 2
    assert "asv could not measure" in capsys.readouterr().err
    assert "no_such_module" in (project / "asv_bench/.asv/asv.log").read_text("utf-8")


def test_another_folder_is_not_written_over(project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine", "utf-8")
    assert dashboard("--no-serve", "--output", str(tmp_path / "mine")) == 2
    assert not (project / "asv_bench/.asv/asv.log").exists()
    assert "this folder holds something else" in capsys.readouterr().err
    assert (tmp_path / "mine" / "index.html").read_text("utf-8") == "mine"


def test_what_is_not_installed_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "peer", lambda name: peers.Peer(name, available=name != "asv", reason="", version=""))
    assert dashboard("--no-serve") == 2
    assert capsys.readouterr().err == "buflend: this command needs asv: pip install asv\n"


def test_without_git_nothing_is_measured(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(project)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert dashboard("--no-serve") == 2
    assert "git is not installed" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_before_anything_is_measured(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert dashboard("--port", str(port)) == 2
    assert f"--port {port}: " in capsys.readouterr().err
    assert not (project / "asv_bench/.asv/asv.log").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize(("until", "code", "error"), [("Ctrl-C", 0, ""), ("measuring", 130, "buflend: interrupted\n")])
def test_an_interruption_ends_the_serving_well_and_the_measuring_with_130(
    project: Path, until: str, code: int, error: str
) -> None:
    repository(project)
    suite = project / "asv_bench"
    run_it = (
        "from buflend.bench import cli; from buflend.bench.dashboard import command; from pathlib import Path;"
        f" command.SUITE = Path({str(suite)!r}); sys.exit(cli.main(['dashboard', '--quick', '--bench', 'maximal']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {sys.path!r}; {run_it}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any(until in line for line in lines)
    if code:
        while not (suite / ".asv/asv.log").exists() or b"Benchmarking" not in (suite / ".asv/asv.log").read_bytes():
            assert process.poll() is None
            time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the children too
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, error)
