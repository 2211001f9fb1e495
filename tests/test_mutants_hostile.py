"""Mutants of what the hunt found: producers that raise, lie about themselves, or would never be let go."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
AT_EVERY_PLACE = "tests/test_hostile_places.py::test_a_kind_of_fault_at_every_place"
THE_TRUTH = "tests/test_hostile.py::test_what_tells_the_truth_is_read"

MUTANTS = (
    Mutant(
        "an-interrupt-keeps-its-producer",
        SHARED + "memory.py",
        "        del error  # its traceback holds this frame: a cycle would keep the producer\n",
        "        pass\n",
        (AT_EVERY_PLACE + "[an interrupt that would hold its producer-pointers]",),
        "memory stays until the next collection, which may never come",
    ),
    Mutant(
        "an-interrupt-keeps-its-column",
        SHARED + "context.py",
        "            del error  # see `failed`\n",
        "            pass\n",
        (AT_EVERY_PLACE + "[an interrupt that would hold its producer-columns]",),
        "the same, of columns",
    ),
    Mutant(
        "subclasses-of-ndarray-are-believed",
        MAXIMAL + "native.py",
        "plain = array if type(array) is ndarray else ndarray.view(array, ndarray)",
        "plain = array",
        (THE_TRUTH + "[ndarrays]",),
        "an attribute nbytes of a class of anybody's says how much is read",
    ),
    Mutant(
        "what-an-extent-raises-goes-through",
        SHARED + "array_interface.py",
        "foreign numbers may raise anything\n        return ()\n",
        "foreign numbers may raise anything\n        raise\n",
        (AT_EVERY_PLACE + "[a dunder that raises-array interface]",),
        "nobody learns which producer it was",
    ),
    Mutant(
        "a-column-is-what-says-so",
        MAXIMAL + "sources.py",
        "    if issubclass(type(obj), Column):\n",
        "    if isinstance(obj, Column):\n",
        (AT_EVERY_PLACE + "[a class that is said wrongly-mappings]",),
        "a mock of a Column is handed on as one",
    ),
    Mutant(
        "extents-beyond-all-memory",
        SHARED + "dlpack_import.py",
        "    if nbytes > _MOST_BYTES:\n",
        "    if False:\n",
        (THE_TRUTH + "[dlpack]",),
        "a number of 19,000 digits cannot be put into an error",
    ),
    Mutant(
        "size-of-chunks-is-called-bare",
        SHARED + "column.py",
        '    size = context.integer(context.call(column, "size") if callable(size) else size, "size()")\n',
        '    size = context.integer(size() if callable(size) else size, "size()")\n',
        (AT_EVERY_PLACE + "[a dunder that raises-columns]",),
        "nobody learns which column it was",
    ),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), MUTANTS) as made:
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(MUTANTS)) == []


@mutants.each(MUTANTS)
def test_is_killed(mutant: Mutant, tree: mutants.Tree) -> None:
    tree.kill(mutant)
