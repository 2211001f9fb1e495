"""Mutants of Arrow's arrays, inwards: structs that lie.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED = "shared/buflend/shared/"
ARROW_IMPORT = "tests/test_arrow_import.py::"
ARROW_IMPORT_HOSTILE = "tests/test_arrow_import_hostile.py::"
TABLE_INTERCHANGE = "tests/test_table_interchange.py::"

MUTANTS = [
    Mutant(
        "released-array-read",
        SHARED + "arrow_array.py",
        "    if not release:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a released dictionary]",),
        "memory that was given back is read",
    ),
    Mutant(
        "negative-length",
        SHARED + "arrow_array.py",
        "elif length < 0 or offset < 0 or",
        "elif offset < 0 or",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[length -1]",),
        "sizes become negative",
    ),
    Mutant(
        "negative-offset",
        SHARED + "arrow_array.py",
        "elif length < 0 or offset < 0 or",
        "elif length < 0 or",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[offset -1]",),
        "memory before the buffers is read",
    ),
    Mutant(
        "length-and-offset-overflow",
        SHARED + "arrow_array.py",
        "offset < 0 or offset + length > _MOST:",
        "offset < 0:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[offset and length overflow]",),
        "numbers of 64 bits overflow where others add them",
    ),
    Mutant(
        "more-nulls-than-elements",
        SHARED + "arrow_array.py",
        "not -1 <= null_count <= length",
        "not -1 <= null_count",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[null_count above length]",),
        "a count that cannot be is told on",
    ),
    Mutant(
        "nulls-below-unknown",
        SHARED + "arrow_array.py",
        "not -1 <= null_count <= length",
        "not null_count <= length",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[null_count -2]",),
        "a count that cannot be is told on",
    ),
    Mutant(
        "dictionary-that-nobody-announced",
        SHARED + "arrow_array.py",
        "elif (not dictionary_at) != (field.dictionary is None):",
        "elif False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[dictionary in the schema alone]",),
        "codes stand for nothing, or a NULL dictionary is read",
    ),
    Mutant(
        "too-few-buffers",
        SHARED + "arrow_array.py",
        "elif not least <= n_buffers <= most:",
        "elif not n_buffers <= most:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[n_buffers 1]",),
        "pointers are read behind the last one",
    ),
    Mutant(
        "too-many-buffers",
        SHARED + "arrow_array.py",
        "elif not least <= n_buffers <= most:",
        "elif not least <= n_buffers:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[union with a bitmap]",),
        "an array of another type than its schema's is read",
    ),
    Mutant(
        "children-not-counted",
        SHARED + "arrow_array.py",
        "elif n_children != len(field.children):",
        "elif False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[n_children -1]",),
        "pointers are read behind the last one",
    ),
    Mutant(
        "null-list-of-buffers",
        SHARED + "arrow_array.py",
        "elif n_buffers and not buffers_at:",
        "elif False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no buffers]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "a-slice-needs-no-more-than-its-length",
        SHARED + "arrow_array.py",
        "    end = offset + length\n",
        "    end = length\n",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[as_table-arrow times]",),
        "buffers of a slice are cut off before its end",
    ),
    Mutant(
        "last-offset-left-out",
        SHARED + "arrow_array.py",
        "(bits * (end + extra) + 7) >> 3",
        "(bits * end + 7) >> 3",
        (ARROW_IMPORT + "test_an_empty_text_may_start_anywhere_and_point_nowhere",),
        "the last offset lies behind the end",
    ),
    Mutant(
        "bits-rounded-down",
        SHARED + "arrow_array.py",
        "(bits * (end + extra) + 7) >> 3",
        "(bits * (end + extra)) >> 3",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[as_table-arrow times]",),
        "the last bits lie behind the end",
    ),
    Mutant(
        "null-buffer",
        SHARED + "arrow_array.py",
        "or (size and length and part",
        "or (False and part",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[data in the first page]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "buffer-behind-the-last-address",
        SHARED + "arrow_array.py",
        "size <= _MOST_BYTES and pointer + size <= _ADDRESSES",
        "size <= _MOST_BYTES",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[behind the last address]",),
        "a block wraps round to address 0",
    ),
    Mutant(
        "null-characters",
        SHARED + "arrow_array.py",
        "or (size and not pointer):",
        "or False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no characters]",),
        "text without memory: address 0 is read",
    ),
    Mutant(
        "falling-offsets",
        SHARED + "arrow_array.py",
        "if not 0 <= pair[0] <= pair[1]:",
        "if not 0 <= pair[1]:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[first offset below 0]",),
        "text of a negative length",
    ),
    Mutant(
        "negative-offsets",
        SHARED + "arrow_array.py",
        "if not 0 <= pair[0] <= pair[1]:",
        "if not pair[0] <= pair[1]:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[first offset below 0]",),
        "text begins before its characters",
    ),
    Mutant(
        "characters-of-a-view-of-less-than-nothing",
        SHARED + "arrow_array.py",
        "        if size < 0 or not _fits",
        "        if not _fits",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[size below 0]",),
        "a buffer of a negative size",
    ),
    Mutant(
        "null-characters-of-a-view",
        SHARED + "arrow_array.py",
        "or (size and part < _FIRST_PAGE):",
        "or False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[size without a buffer]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "characters-of-a-view-behind-the-last-address",
        SHARED + "arrow_array.py",
        "not _fits(part, size) or (size",
        "(size",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[size overflows]",),
        "a block wraps round to address 0",
    ),
    Mutant(
        "no-sizes-of-a-view",
        SHARED + "arrow_array.py",
        "    if sizes_at < _FIRST_PAGE:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no size of a view's buffers]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "children-of-a-slice-too-short",
        SHARED + "arrow_array.py",
        "        need = end\n",
        "        need = array.length\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a short nested child]",),
        "elements of a child are read behind its end",
    ),
    Mutant(
        "child-one-too-short",
        SHARED + "arrow_array.py",
        "        if child.length < need:\n",
        "        if child.length < need - 1:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a short fixed list]",),
        "an element of a child is read behind its end",
    ),
    Mutant(
        "child-of-a-struct-too-short",
        SHARED + "arrow_array.py",
        "        if child.length < need:\n",
        "        if child.length < 0:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a short fixed list]",),
        "elements of a child are read behind its end",
    ),
    Mutant(
        "items-of-a-fixed-size-not-multiplied",
        SHARED + "arrow_array.py",
        "need = end * plan.layout.parameter",
        "need = end",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a short fixed list]",),
        "items are read behind the end of the child",
    ),
    Mutant(
        "items-of-lists-not-measured",
        SHARED + "arrow_array.py",
        "        need = _offsets(array)\n",
        "        need = 0\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a list that falls]",),
        "items are read behind the end of the child",
    ),
    Mutant(
        "child-of-a-root-too-short",
        SHARED + "arrow_array.py",
        "if length < skip + take:",
        "if length < take:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a short child behind an offset]",),
        "rows of a table are read behind the end of a column",
    ),
    Mutant(
        "nulls-of-a-root-dropped",
        SHARED + "arrow_array.py",
        "if root.null_count > 0 or not _is_host(root) or _any_null(root):",
        "if False:",
        (ARROW_IMPORT + "test_a_struct_is_taken_apart_unless_it_has_nulls[-1-\\x14-False]",),
        "missing rows come to life",
    ),
    Mutant(
        "nulls-of-the-whole-for-a-part",
        SHARED + "arrow_array.py",
        "        if skip or take < length:\n            null_count = -1 if null_count else 0\n",
        "",
        (ARROW_IMPORT + "test_a_plain_struct_is_taken_apart",),
        "a column of a sliced table has more missing than it has",
    ),
    Mutant(
        "nulls-without-a-bitmap",
        SHARED + "arrow_array.py",
        "        if null_count > 0:\n",
        "        if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[null_count without a bitmap]",),
        "a count without a mask: what is missing is lost",
    ),
    Mutant(
        "runs-of-another-length",
        SHARED + "arrow_array.py",
        "    if runs.length != values.length:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[more runs than values]",),
        "values are read behind their end",
    ),
    Mutant(
        "missing-run-ends",
        SHARED + "arrow_array.py",
        "    if runs.null_count > 0 or (runs",
        "    if False and (runs",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[null run ends]",),
        "a run ends nowhere",
    ),
    Mutant(
        "missing-run-ends-uncounted",
        SHARED + "arrow_array.py",
        "(runs.null_count < 0 and _is_host(runs) and _any_null(runs))",
        "False",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[run ends that may be null]",),
        "a run ends nowhere",
    ),
    Mutant(
        "no-runs",
        SHARED + "arrow_array.py",
        "    if array.length and not runs.length:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no runs]",),
        "elements are read behind the last run",
    ),
    Mutant(
        "last-run-before-the-end-of-a-slice",
        SHARED + "arrow_array.py",
        "        if last < end:\n",
        "        if last < array.length:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[runs behind an offset]",),
        "elements are read behind the last run",
    ),
    Mutant(
        "last-run-one-too-short",
        SHARED + "arrow_array.py",
        "        if last < end:\n",
        "        if last < end - 1:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[runs behind an offset]",),
        "an element is read behind the last run",
    ),
    Mutant(
        "bitmap-inverted",
        SHARED + "arrow_array.py",
        "return (~bits &",
        "return (bits &",
        (ARROW_IMPORT + "test_a_struct_is_taken_apart_unless_it_has_nulls[-1-\\x1c-True]",),
        "what is there counts as missing",
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
