"""The verdict on mutants: what kills one, and all that does not."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Ended, Mutant, Tree, changed, faults, missing, survived

FILE = "shared/buflend/shared/device.py"
READABLE = "tests/test_device.py::test_host_readable"
KILLED = Mutant("pinned-memory-is-not-the-hosts", FILE, "{1, 3, 11, 13}", "{1, 11, 13}", (READABLE,), "it is copied")
SURVIVES = KILLED._replace(id="another-message", before="which the host cannot read; ", after="which it cannot read; ")
NO_CODE = KILLED._replace(id="no-code", before="    if device[0] not in HOST_READABLE:", after="    if never_heard_of:")
NO_TEST = KILLED._replace(id="no-such-test", tests=("tests/test_device.py::test_of_nothing",))
NOT_THERE = KILLED._replace(id="not-there", before="{1, 2, 3}")
TWICE = KILLED._replace(id="twice", before="HOST_READABLE")
NO_CHANGE = KILLED._replace(id="no-change", after=KILLED.before)
NO_SYNTAX = KILLED._replace(id="no-syntax", after="{1, 11, 13")
NEEDS = KILLED._replace(id="needs-what-nobody-has", peers=("no_such_package",))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), [KILLED, SURVIVES, NO_CODE, NEEDS]) as made:
        yield made


def test_one_is_killed_again_and_again(tree: Tree) -> None:
    before = (tree.path / FILE).read_bytes()
    for _ in range(2):
        tree.kill(KILLED)
        assert (tree.path / FILE).read_bytes() == before
        assert tree.run(KILLED.tests).status == 0, "the copy is whole again"


def test_the_compiled_file_of_one_is_not_believed_for_another(tree: Tree) -> None:
    path = tree.path / FILE
    times = {path.stat().st_mtime_ns}
    for _ in range(2):
        with tree.broken(KILLED):
            times.add(path.stat().st_mtime_ns)
    assert len(times) == 3


@pytest.mark.parametrize(
    ("mutant", "word"),
    [
        (SURVIVES, "another-message: it survived: all of its tests pass\nit is copied\n"),
        (NO_CODE, "no-code: it does not run at all: NameError"),
    ],
    ids=["survives", "no-code"],
)
def test_one_that_is_not_killed_fails(mutant: Mutant, word: str, tree: Tree) -> None:
    with pytest.raises(pytest.fail.Exception, match=word):
        tree.kill(mutant)


def test_one_whose_test_was_not_seen_to_pass_fails(tree: Tree) -> None:
    with pytest.raises(AssertionError, match=r"test_of_nothing does not pass where nothing is broken: it was not run"):
        tree.kill(NO_TEST)


def test_one_that_needs_what_is_not_there_is_skipped(tree: Tree) -> None:
    with pytest.raises(pytest.skip.Exception, match="its tests need no_such_package"):
        tree.kill(NEEDS)
    assert missing(KILLED) == ""


@pytest.mark.parametrize(
    ("tests", "status"),
    [(NO_TEST.tests, 4), (("tests/no_such_file.py",), 4), (("tests/test_device.py", "-k", "no_such_name"), 5)],
    ids=["no test", "no file", "no match"],
)
def test_what_cannot_be_collected_kills_nothing(tests: tuple[str, ...], status: int, tree: Tree) -> None:
    assert survived(tree.run(tests)) == f"its tests did not run to a failure: exit status {status}"


def test_the_copy_is_what_is_tested(tree: Tree) -> None:
    with tree.broken(KILLED):
        assert [how for how, _ in tree.run(KILLED.tests).outcomes.values()] == ["passed", "failed", "passed", "passed"]
    (tree.path / "shared" / "buflend").rename(tree.path / "shared" / "gone")
    try:
        assert tree.run(KILLED.tests).status != 0
    finally:
        (tree.path / "shared" / "gone").rename(tree.path / "shared" / "buflend")


@pytest.mark.parametrize(
    ("mutant", "word"),
    [
        (NOT_THERE, "has the text '{1, 2, 3}' 0 times, expected once: correct the table"),
        (TWICE, "has the text 'HOST_READABLE'"),
        (NO_CHANGE, "nothing is changed"),
    ],
    ids=["not there", "twice", "no change"],
)
def test_a_table_that_is_out_of_date_fails(mutant: Mutant, word: str, tree: Tree) -> None:
    with pytest.raises(AssertionError) as caught:
        tree.kill(mutant)
    assert word in str(caught.value)
    assert word in " ".join(faults([mutant]))


def test_what_is_wrong_with_a_table_is_told_before_it_is_run() -> None:
    assert list(faults([KILLED, SURVIVES])) == []
    assert list(faults([KILLED, KILLED])) == [f"{KILLED.id}: two have this name"]
    assert "parenthesis" in " ".join(faults([NO_SYNTAX]))
    assert "No such file" in " ".join(faults([KILLED._replace(file="shared/nothing.py")]))


FAILED, PASSED, ERROR = ("failed", "AssertionError"), ("passed", ""), ("error", "a fixture's")


@pytest.mark.parametrize(
    ("status", "outcomes", "word"),
    [
        (1, {"a": FAILED, "b": PASSED}, ""),
        (-11, {}, ""),
        (-6, {}, "exit status -6"),
        (-14, {}, "exit status -14"),
        (0, {"a": PASSED}, "survived"),
        (1, {"a": ERROR}, "exit status 1"),
        (2, {"a": FAILED}, "exit status 2"),
        (70, {"a": FAILED}, "exit status 70"),
        (1, {"a": ("failed", "ImportError: no name")}, "does not run at all"),
    ],
)
def test_verdicts(status: int, outcomes: dict[str, tuple[str, str]], word: str) -> None:
    found = survived(Ended(status, "", outcomes))
    assert word in found
    assert bool(found) is bool(word)


def test_a_text_is_changed_where_it_stands() -> None:
    assert changed(KILLED, "x = {1, 3, 11, 13}\n") == "x = {1, 11, 13}\n"
