"""Mutants: copies of the library that are broken in one place, and the tests that must notice.

Lives here: what a mutant is, the copy of the tree, and the verdict. Must not know: any mutant: tables of them stand in
`test_mutants_*.py`, which import this as `from . import mutants`.

A mutant is killed where a test that it names fails with it, and passes without it. A test that cannot be collected, and
a mutant that does not run at all, kill nothing. Where the text that a mutant changes is not in its file once, the table
is out of date, which is a failure.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PARTS = ("shared", "minimal", "maximal", "asv_bench/buflend", "tests")
SERVER = Path(__file__).with_name("forked_pytest.py")

FAULTS = {-signal.SIGSEGV, -signal.SIGBUS} if hasattr(signal, "SIGBUS") else {-signal.SIGSEGV}
TESTS_FAILED = 1  # pytest's exit status; from 2 on they are interruptions, errors of usage, and nothing to run
# What a mutant raises that is no wrong code but none.
NO_CODE = re.compile(r"\b(?:Name|UnboundLocal)Error\b|^(?:Import|ModuleNotFound)Error\b")


class Mutant(NamedTuple):
    """A change for the worse.

    Attributes
    ----------
    id : str
        What it does, in a few words with dashes.
    file : str
        Path from the repository.
    before, after : str
        The exact text, which stands in the file once, and what takes its place.
    tests : tuple of str
        Tests by which it is killed, as pytest names them: each passes without it, at least one fails with it.
    why : str
        What goes wrong for people.
    peers : tuple of str
        Packages without which the tests cannot notice.
    """

    id: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    why: str
    peers: tuple[str, ...] = ()


class Ended(NamedTuple):
    """How a run of tests ended: exit status or minus the signal, its output, and test -> how it went and why."""

    status: int
    said: str
    outcomes: dict[str, tuple[str, str]]


def each(table: Sequence[Mutant]) -> Any:
    """Return the parameters of a test that has one mutant each."""
    marks: dict[bool, Any] = {True: pytest.mark.peers, False: ()}
    return pytest.mark.parametrize("mutant", [pytest.param(m, id=m.id, marks=marks[bool(m.peers)]) for m in table])


def faults(table: Sequence[Mutant]) -> Iterator[str]:
    """Yield what is wrong with a table before anything is run."""
    _require_sources()
    names = [mutant.id for mutant in table]
    yield from (f"{name}: two have this name" for name in set(names) if names.count(name) > 1)
    for mutant in table:
        try:
            compile(changed(mutant, (REPOSITORY / mutant.file).read_text("utf-8")), mutant.file, "exec")
        except (AssertionError, OSError, SyntaxError) as error:
            yield f"{mutant.id}: {error}"


def changed(mutant: Mutant, text: str) -> str:
    """Return the text of a file with a mutant in it."""
    found = text.count(mutant.before)
    assert found == 1, f"{mutant.file} has the text {mutant.before!r} {found} times, expected once: correct the table"
    assert mutant.before != mutant.after, "nothing is changed"
    return text.replace(mutant.before, mutant.after)


class Tree:
    """A copy of the library and its tests, in which one mutant at a time is set loose.

    Parameters
    ----------
    folder : Path
        Where the copy is made; it lives as long as the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.empty = folder / "tree", folder / "empty"
        for part in PARTS:
            shutil.copytree(REPOSITORY / part, self.path / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(REPOSITORY / "pyproject.toml", self.path)
        self.empty.mkdir()
        ours = ("PYTEST", "COV_", "BUFLEND_", "PYTHONOPTIMIZE", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.server = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.empty,
            encoding="utf-8",
            env=kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        self.unbroken = Ended(0, "", {})
        self.broken_so_far = 0

    def prove(self, table: Sequence[Mutant]) -> None:
        """See which tests of a table pass where nothing is broken."""
        tests = sorted({test for mutant in table if not missing(mutant) for test in mutant.tests})
        if tests:
            self.unbroken = self.run(tests, keep=True)

    def close(self) -> None:
        """End the process that runs the tests."""
        self.server.communicate()

    def run(self, tests: Sequence[str], *options: str, keep: bool = False) -> Ended:
        """Return how tests of the tree end as it stands; `keep` the compiled files for the runs to come."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        request = {"tree": str(self.path), "arguments": [*options, *tests], "keep": keep}
        print(json.dumps(request), file=self.server.stdin, flush=True)
        line = self.server.stdout.readline()
        if not line:
            pytest.fail(f"the process that runs the tests left with status {self.server.wait()}", pytrace=False)
        answer = json.loads(line)
        return Ended(answer["status"], answer["said"], {name: tuple(how) for name, how in answer["outcomes"].items()})

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """Break the copy for a while."""
        path = self.path / mutant.file
        content, when = path.read_bytes(), path.stat()
        path.write_text(changed(mutant, content.decode()), "utf-8")
        # Another time for each, or the compiled file would be believed: that of another mutant of the same length, too,
        # which a process of the tests may have written.
        self.broken_so_far += 1
        os.utime(path, (when.st_atime, when.st_mtime + 60 * self.broken_so_far))
        try:
            yield
        finally:
            path.write_bytes(content)
            os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))

    def kill(self, mutant: Mutant) -> None:
        """Fail unless the tests of a mutant notice it."""
        if lacking := missing(mutant):
            pytest.skip(f"its tests need {lacking}")
        self._require_unbroken(mutant)
        with self.broken(mutant):
            ended = self.run(mutant.tests, "-x")
        if fault := survived(ended):
            pytest.fail(f"{mutant.id}: {fault}\n{mutant.why}\n{ended.said}", pytrace=False)

    def _require_unbroken(self, mutant: Mutant) -> None:
        if self.unbroken.status:
            pytest.fail(f"the tests fail where nothing is broken\n{self.unbroken.said}", pytrace=False)
        for test in mutant.tests:
            found = {how for name, how in self.unbroken.outcomes.items() if name.startswith((test + "[", test + "::"))}
            found |= {self.unbroken.outcomes[test]} if test in self.unbroken.outcomes else set()
            passed = any(how == "passed" for how, _ in found)
            if mutant.peers and found and not passed:
                pytest.skip(f"{test} is left out: {min(why for _, why in found)}")
            assert passed, f"{mutant.id}: {test} does not pass where nothing is broken: {found or 'it was not run'}"


def survived(ended: Ended) -> str:
    """Return why a run of a mutant's tests is not its death; nothing where it is."""
    if ended.status in FAULTS:
        return ""
    failed = [why for how, why in ended.outcomes.values() if how == "failed"]
    if ended.status == 0:
        return "it survived: all of its tests pass"
    if ended.status != TESTS_FAILED or not failed:
        return f"its tests did not run to a failure: exit status {ended.status}"
    if wrong := next((why for why in failed if NO_CODE.search(why)), None):
        return f"it does not run at all: {wrong}"
    return ""


def missing(mutant: Mutant) -> str:
    """Return the packages, in words, that a mutant's tests need and that are not there."""
    return ", ".join(peer for peer in mutant.peers if find_spec(peer) is None)


@contextmanager
def planted(folder: Path, table: Sequence[Mutant]) -> Iterator[Tree]:
    """Make a tree for the mutants of a table, and end what runs its tests."""
    _require_sources()
    if not hasattr(os, "fork"):
        pytest.skip("this system has no os.fork: each mutant would take the start of a process")
    tree = Tree(folder)
    try:
        tree.prove(table)
        yield tree
    finally:
        tree.close()


def _require_sources() -> None:
    if not all((REPOSITORY / part).is_dir() for part in PARTS):
        pytest.skip("the sources do not lie beside the tests: there is nothing to break")
