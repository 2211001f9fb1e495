"""Mutants of limits: of what is more, the rest is left out; one too few, one too many; what has no end is read."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
LIMITS = "tests/test_limits.py::"

MUTANTS = [
    Mutant(
        "interface-extents-left-out",
        SHARED + "array_interface.py",
        "islice(map(index, given), _MOST_DIMENSIONS + 1)",
        "islice(map(index, given), _MOST_DIMENSIONS)",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "what is beyond is left out: another array is read than was described",
    ),
    Mutant(
        "interface-without-an-end",
        SHARED + "array_interface.py",
        "tuple(islice(map(index, given), _MOST_DIMENSIONS + 1))",
        "tuple(map(index, given))",
        (LIMITS + "test_of_an_interface_without_an_end[shape]",),
        "a producer whose answer has no end takes all memory",
    ),
    Mutant(
        "interface-one-extent-too-few",
        SHARED + "array_interface.py",
        "    if len(found) > _MOST_DIMENSIONS:",
        "    if len(found) >= _MOST_DIMENSIONS:",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "interface-extents-not-counted",
        SHARED + "array_interface.py",
        "    if len(found) > _MOST_DIMENSIONS:",
        "    if False:",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "more is taken than the limit says",
    ),
    Mutant(
        "interface-limit-below",
        SHARED + "array_interface.py",
        "_MOST_DIMENSIONS = 1024",
        "_MOST_DIMENSIONS = 1023",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "interface-limit-above",
        SHARED + "array_interface.py",
        "_MOST_DIMENSIONS = 1024",
        "_MOST_DIMENSIONS = 1025",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "more is taken than the limit says",
    ),
    Mutant(
        "interface-extents-of-any-size",
        SHARED + "array_interface.py",
        "return found if all(-_MOST_BYTES <= number <= _MOST_BYTES for number in found) else ()",
        "return found",
        (LIMITS + "test_an_extent_of_an_interface_is_a_number_of_64_bits[18446744073709551616]",),
        "beside an extent of 0 a number that nothing else can hold is passed on",
    ),
    Mutant(
        "interface-nothing-for-too-many",
        SHARED + "array_interface.py",
        "found = _integers(shape) or ((-1,) if tuple.__len__(shape) else ())",
        "found = _integers(shape)",
        (LIMITS + "test_as_many_extents_of_an_interface_as_are_taken",),
        "an array of too many extents is read as one without any: one element",
    ),
    Mutant(
        "dlpack-one-dimension-too-few",
        SHARED + "dlpack_import.py",
        "0 <= ndim <= _MOST_DIMENSIONS:",
        "0 <= ndim < _MOST_DIMENSIONS:",
        (LIMITS + "test_as_many_dimensions_of_dlpack_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "dlpack-limit-below",
        SHARED + "dlpack_import.py",
        "_MOST_DIMENSIONS = 1024",
        "_MOST_DIMENSIONS = 1023",
        (LIMITS + "test_as_many_dimensions_of_dlpack_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "dlpack-limit-above",
        SHARED + "dlpack_import.py",
        "_MOST_DIMENSIONS = 1024",
        "_MOST_DIMENSIONS = 1025",
        (LIMITS + "test_as_many_dimensions_of_dlpack_as_are_taken",),
        "more is taken than the limit says",
    ),
    Mutant(
        "export-one-dimension-too-few",
        SHARED + "dlpack_export.py",
        "len(tensor.shape) > _MOST_DIMENSIONS:",
        "len(tensor.shape) >= _MOST_DIMENSIONS:",
        (LIMITS + "test_as_many_dimensions_as_numpy_lends[NumPy's]",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "export-dimensions-not-counted",
        SHARED + "dlpack_export.py",
        "len(tensor.shape) > _MOST_DIMENSIONS:",
        "False:",
        (LIMITS + "test_as_many_dimensions_as_numpy_lends[another]",),
        "the error is NumPy's, and names nothing",
    ),
    Mutant(
        "export-limit-below",
        SHARED + "dlpack_export.py",
        "_MOST_DIMENSIONS = 64",
        "_MOST_DIMENSIONS = 63",
        (LIMITS + "test_as_many_dimensions_as_numpy_lends[another]",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "export-limit-above",
        SHARED + "dlpack_export.py",
        "_MOST_DIMENSIONS = 64",
        "_MOST_DIMENSIONS = 65",
        (LIMITS + "test_as_many_dimensions_as_numpy_lends[another]",),
        "the error is NumPy's, and names nothing",
    ),
    Mutant(
        "view-without-an-end",
        SHARED + "arrays.py",
        "tuple(islice(map(index, given), _MOST_DIMENSIONS))",
        "tuple(map(index, given))",
        (LIMITS + "test_of_a_view_without_an_end[shape]",),
        "an argument without an end takes all memory",
    ),
    Mutant(
        "view-extents-left-out",
        SHARED + "arrays.py",
        "_MOST_DIMENSIONS = 65",
        "_MOST_DIMENSIONS = 64",
        (LIMITS + "test_a_view_of_more_dimensions_than_numpy_has",),
        "what is beyond is left out: another array is read than was described",
    ),
    Mutant(
        "view-asks-for-more-than-tells",
        SHARED + "arrays.py",
        "_MOST_DIMENSIONS = 65",
        "_MOST_DIMENSIONS = 66",
        (LIMITS + "test_of_a_view_without_an_end[strides]",),
        "more is asked for than tells that it is too much",
    ),
    Mutant(
        "parts-left-out",
        MAXIMAL + "arguments.py",
        "islice(given, _MOST_PARTS + 1)",
        "islice(given, _MOST_PARTS)",
        (LIMITS + "test_as_many_parts_as_are_taken[4]",),
        "a column has fewer children than it was given",
    ),
    Mutant(
        "parts-without-an-end",
        MAXIMAL + "arguments.py",
        "tuple(islice(given, _MOST_PARTS + 1))",
        "tuple(given)",
        (LIMITS + "test_of_parts_without_an_end",),
        "an argument without an end takes all memory",
    ),
    Mutant(
        "one-part-too-few",
        MAXIMAL + "arguments.py",
        "    if len(found) > _MOST_PARTS:",
        "    if len(found) >= _MOST_PARTS:",
        (LIMITS + "test_as_many_parts_as_are_taken[3]",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "parts-not-counted",
        MAXIMAL + "arguments.py",
        "    if len(found) > _MOST_PARTS:",
        "    if False:",
        (LIMITS + "test_as_many_parts_as_are_taken[4]",),
        "more is taken than the limit says",
    ),
    Mutant(
        "parts-limit-below",
        MAXIMAL + "arguments.py",
        "_MOST_PARTS = 2**20",
        "_MOST_PARTS = 2**20 - 1",
        (LIMITS + "test_as_many_parts_as_are_taken[3]",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "parts-limit-above",
        MAXIMAL + "arguments.py",
        "_MOST_PARTS = 2**20",
        "_MOST_PARTS = 2**20 + 1",
        (LIMITS + "test_as_many_parts_as_are_taken[3]",),
        "more is taken than the limit says",
    ),
    Mutant(
        "steps-left-out",
        MAXIMAL + "arguments.py",
        "tuple(islice(given, 2))",
        "tuple(islice(given, 1))",
        (LIMITS + "test_of_steps_without_an_end",),
        "a column of two dimensions is read as one of one",
    ),
    Mutant(
        "steps-without-an-end",
        MAXIMAL + "arguments.py",
        "tuple(islice(given, 2))",
        "tuple(given)",
        (LIMITS + "test_of_steps_without_an_end",),
        "an argument without an end takes all memory",
    ),
    Mutant(
        "items-left-out",
        SHARED + "context.py",
        "islice(getattr(foreign, name)(), MOST_ITEMS + 1)",
        "islice(getattr(foreign, name)(), MOST_ITEMS)",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "a table is read without its last columns",
    ),
    Mutant(
        "items-without-an-end",
        SHARED + "context.py",
        "list(islice(getattr(foreign, name)(), MOST_ITEMS + 1))",
        "list(getattr(foreign, name)())",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "a producer whose answer has no end takes all memory",
    ),
    Mutant(
        "one-item-too-few",
        SHARED + "context.py",
        "        if len(found) > MOST_ITEMS:",
        "        if len(found) >= MOST_ITEMS:",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "items-not-counted",
        SHARED + "context.py",
        "        if len(found) > MOST_ITEMS:",
        "        if False:",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "more is taken than the limit says",
    ),
    Mutant(
        "items-limit-below",
        SHARED + "context.py",
        "MOST_ITEMS = 2**20",
        "MOST_ITEMS = 2**20 - 1",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "what the limit says is taken is refused",
    ),
    Mutant(
        "items-limit-above",
        SHARED + "context.py",
        "MOST_ITEMS = 2**20",
        "MOST_ITEMS = 2**20 + 1",
        (LIMITS + "test_as_many_items_as_are_taken",),
        "more is taken than the limit says",
    ),
    Mutant(
        "pairs-of-three",
        SHARED + "context.py",
        "list(islice(foreign, count + 1))",
        "list(islice(foreign, count))",
        (LIMITS + "test_as_many_items_as_there_must_be[one more]",),
        "what stands behind a pair is left out",
    ),
    Mutant(
        "pairs-without-an-end",
        SHARED + "context.py",
        "list(islice(foreign, count + 1))",
        "list(foreign)",
        (LIMITS + "test_as_many_items_as_there_must_be[no end]",),
        "a producer whose answer has no end takes all memory",
    ),
    Mutant(
        "pairs-of-one",
        SHARED + "context.py",
        "        if len(found) != count:",
        "        if len(found) > count:",
        (LIMITS + "test_as_many_items_as_there_must_be[one less]",),
        "what is missing of a pair is no error that names it",
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), MUTANTS) as made:
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(MUTANTS)) == []


@mutants.each(MUTANTS)
def test_is_killed(mutant: Mutant, tree: mutants.Tree) -> None:
    tree.kill(mutant)
