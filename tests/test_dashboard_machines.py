"""What the dashboard gathers of other machines, by which repository; and the pages served to this machine alone."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import processes
from buflend.bench.dashboard import DashboardError, checkout, command, publishing, results, serving

from .asv_files import BYTES, GPU, NEW, OLD, VIEW, commit, git, lay, repository, row, run

pytestmark = pytest.mark.peers  # needs git


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is in no repository."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_results_of_known_commits_get_the_commits_dates(project: Path) -> None:
    first, head = repository(project)
    there = checkout.find(project, project)
    assert (there.path, there.commit, there.history, there.complete, there.changed) == (
        project,
        head,
        True,
        True,
        False,
    )
    runs = [run({VIEW: row(VIEW, [1.0, 2.0, 3.0], 7)}, commit_hash=one, date=5) for one in (first, head)]
    lay(project / "in", "far", *runs)
    made, replaced = publishing.placed(publishing.gathered([], [project / "in"]), there, {"far"})
    assert replaced == set()
    assert sorted((one.commit, one.data["date"]) for one in made[0].runs) == sorted(
        [(first, 1_000_000_000_000), (head, 1_000_086_400_000)]
    )


def test_a_commit_that_a_whole_repository_lacks_is_refused_where_it_was_added(project: Path) -> None:
    _, head = repository(project)
    there = checkout.find(project, project)
    early, late = (
        run({name: row(name, [1.0, 2.0, 3.0], 7)}, commit_hash=one) for name, one in ((VIEW, OLD), (BYTES, NEW))
    )
    lay(project / "in", "far", early, late)
    machines = publishing.gathered([], [project / "in"])
    with pytest.raises(
        DashboardError, match=f"far was measured on commit ({OLD}|{NEW}), which this repository does not"
    ):
        publishing.placed(machines, there, {"far"})
    ((made,), replaced) = publishing.placed(machines, there, set())  # as results that everybody sees
    assert replaced == {OLD, NEW}
    (only,) = made.runs  # both are of one commit now
    assert only.commit == head
    assert only.results.keys() == {VIEW, BYTES}
    shallow = there._replace(complete=False)
    assert publishing.placed(machines, shallow, {"far"})[1] == {OLD, NEW}


def test_two_machines_of_one_name_are_refused_where_one_was_added(tmp_path: Path) -> None:
    one = run({GPU: row(GPU, [1.0, 2.0, 3.0])})
    lay(tmp_path / "here", "vm", run({VIEW: row(VIEW, [1.0, 2.0, 3.0])}), cpu="a", gpu="none")
    lay(tmp_path / "far", "vm", one, cpu="a", gpu="H1")
    lay(tmp_path / "same", "vm", one, cpu="a", gpu="none")
    with pytest.raises(DashboardError, match="vm is the name of two machines: gpu: got H1, expected none"):
        publishing.gathered([tmp_path / "here"], [tmp_path / "far" / "vm"])
    (joined,) = publishing.gathered([tmp_path / "here"], [tmp_path / "same"])
    assert joined.runs[0].results.keys() == {VIEW, GPU}


def test_a_repository_without_commits_and_a_folder_of_another_one_have_no_history(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    git(project, "init", "--quiet")
    made = checkout.find(project, tmp_path / "one")
    assert (made.history, made.path) == (False, tmp_path / "one" / "repository")
    assert made.date(made.commit) is not None
    commit(project, "2001-09-09T01:46:40Z")
    (project / "asv_bench").mkdir()
    (tmp_path / "two").mkdir()
    assert not checkout.find(project / "asv_bench", tmp_path / "two").history


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    (tmp_path / "index.html").write_text("landing", "utf-8")
    with serving.opened(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield lambda path: urllib.request.urlopen(f"{serving.address(server)}{path}", timeout=30)  # noqa: S310 - http
        server.shutdown()


def test_pages_are_served_to_this_machine_and_kept_by_no_browser(served: Callable[[str], Any]) -> None:
    with served("") as answer:
        assert answer.read() == b"landing"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("count", "named", "told"),
    [({"reason": "no runtime"}, {}, "none"), ({"count": 0}, {}, "none"), ({"count": 1}, {"device": "H1"}, "H1"),
     ({"count": 2}, {}, "CUDA device")],
)  # fmt: skip
def test_the_gpu_is_called_what_cuda_calls_it(
    monkeypatch: pytest.MonkeyPatch, count: dict[str, Any], named: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(processes, "answer", lambda job, _payload: (count if job.endswith("_count") else named, {}))
    assert command.gpu_name() == told


def test_a_machine_that_does_not_say_its_name_has_that_of_its_folder(tmp_path: Path) -> None:
    place = lay(tmp_path / "brought", "far", run({VIEW: row(VIEW, [1.0, 2.0, 3.0])}))
    (place / "machine.json").write_text("{}", "utf-8")
    (machine,) = results.machines(tmp_path / "brought")
    results.write(tmp_path / "for_asv", machine)
    assert json.loads((tmp_path / "for_asv/far/machine.json").read_text("utf-8")) == {"gpu": "none", "machine": "far"}
