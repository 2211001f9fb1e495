"""Which commit results are of: the checkout's, or that of a repository made for the moment where it has no history.

asv saves nothing without a commit, and publishes nothing without a repository that has it. Must not know: asv's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from . import DashboardError

if TYPE_CHECKING:
    from pathlib import Path

MAKER = ("-c", "user.name=buflend", "-c", "user.email=buflend@localhost", "-c", "commit.gpgsign=false")
"""Whose the throw-away commit is: git refuses to make one of nobody's."""


class Repository(NamedTuple):
    """A repository that asv reads.

    Attributes
    ----------
    path : Path
        Its folder.
    commit : str
        What is measured, 40 digits.
    history : bool
        Whether it is the checkout itself; where not, it has one commit, which means nothing.
    complete : bool
        Whether all commits that came before are there; a clone of limited depth lacks most.
    changed : bool
        Whether tracked files differ from the commit.
    """

    path: Path
    commit: str
    history: bool
    complete: bool
    changed: bool

    def date(self, commit: str) -> int | None:
        """Return when a commit was written, in milliseconds, as asv counts; None where the repository lacks it."""
        found = git(self.path, "log", "-1", "--format=%at", f"{commit}^{{commit}}", "--")
        return int(found.stdout) * 1000 if found.returncode == 0 else None


def find(root: Path, work: Path) -> Repository:
    """Return the repository of a checkout, or make one below `work` where the checkout has no history of its own."""
    top = git(root, "rev-parse", "--show-toplevel")
    head = git(root, "rev-parse", "--verify", "HEAD^{commit}")
    own = top.returncode == 0 and os.path.realpath(top.stdout.strip()) == os.path.realpath(root)
    if own and head.returncode == 0:
        shallow = git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
        changed = git(root, "status", "--porcelain", "--untracked-files=no").stdout.strip() != ""
        return Repository(root, head.stdout.strip(), history=True, complete=not shallow, changed=changed)
    made = work / "repository"
    made.mkdir()
    for step in (("init", "--quiet"), (*MAKER, "commit", "--quiet", "--allow-empty", "--message", "no history")):
        done = git(made, *step)
        if done.returncode:
            raise DashboardError(f"git could not make a repository for the moment: {done.stderr.strip()}")
    return Repository(made, git(made, "rev-parse", "HEAD").stdout.strip(), history=False, complete=False, changed=False)


def commits(repository: Repository, span: str) -> list[str]:
    """Return the commits of a range as git writes it (`A..B`, `HEAD~3..`), newest first."""
    found = git(repository.path, "rev-list", "--first-parent", *span.split(), "--")
    if found.returncode:
        raise DashboardError(f"--history {span}: git does not know this range: {found.stderr.strip()}")
    return found.stdout.split()


def environment() -> dict[str, str]:
    """Return the environment of this process without what points git to another repository, as in a git hook."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
    }


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder and return what came of it."""
    program = shutil.which("git")
    if program is None:
        raise DashboardError("git is not installed, and asv keeps results by commit: install git")
    command = [program, "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=False, encoding="utf-8", env=environment())
