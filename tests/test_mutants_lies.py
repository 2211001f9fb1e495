"""Mutants of lies: what a foreign frame says of itself, and one buffer of another, is believed.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
BATTERY_HERE = "tests/test_battery_here.py::"
COLUMN_ARRAY = "tests/test_column_array.py::"
CONTRADICTIONS = "tests/test_contradictions.py::"
OBJECTS_HOSTILE = "tests/test_objects_hostile.py::"
REFUSALS = "tests/test_refusals.py::"
TEXT_VIEWS = "tests/test_text_views.py::"

MUTANTS = [
    Mutant(
        "foreign-byte-order-ignored",
        SHARED + "numbers.py",
        "    if order in NATIVE or width == 1:\n        return found\n",
        "    if order in NATIVE or width == 1 or True:\n        return found\n",
        (BATTERY_HERE + "test_is_right[maximal-timestamp-big-endian]",),
        "consumers of native numbers get others",
    ),
    Mutant(
        "byte-orders-that-differ",
        SHARED + "chunk.py",
        "    if chunk.dtype.bits > _BYTE and (order in NATIVE) != (chunk.dtype.order in NATIVE):\n",
        "    if False:\n",
        ((CONTRADICTIONS + "TestDisagreement::test_kind_and_byte_order[(0, 64, 'l', '=')-(0, 64, 'l', '>')-[1 2]]"),),
        "one of two byte orders is believed",
    ),
    Mutant(
        "kind-of-a-buffer-ignored",
        SHARED + "chunk.py",
        "    if kind not in kinds:\n",
        "    if False:\n",
        ((CONTRADICTIONS + "TestDisagreement::test_kind_and_byte_order[(2, 64, 'g', '=')-(0, 64, 'l', '=')-[1, 2]]"),),
        "floats are read as integers",
    ),
    Mutant(
        "widths-that-differ",
        SHARED + "chunk.py",
        "    if len(fitting) == 1:\n        return fitting[0]\n",
        "    return announced[0]\n",
        (CONTRADICTIONS + "TestDisagreement::test_width_of_codes",),
        "one of two widths is believed",
    ),
    Mutant(
        "buffer-too-small",
        SHARED + "chunk.py",
        "        if self.memory.bufsize < needed:\n",
        "        if self.memory.bufsize + 1 < needed:\n",
        (BATTERY_HERE + "test_is_right[minimal-short-string-offsets]",),
        "a byte behind the end is read",
    ),
    Mutant(
        "size-below-nothing",
        SHARED + "chunk.py",
        "    if size < 0 or offset < 0:\n",
        "    if offset < 0:\n",
        (BATTERY_HERE + "test_is_right[minimal-size-negative]",),
        "sizes become negative",
    ),
    Mutant(
        "offset-below-nothing",
        SHARED + "chunk.py",
        "    if size < 0 or offset < 0:\n",
        "    if size < 0:\n",
        (BATTERY_HERE + "test_is_right[minimal-offset-negative]",),
        "memory before the buffer is read",
    ),
    Mutant(
        "window-of-numbers-without-the-offset",
        SHARED + "numbers.py",
        "    part.require((chunk.offset + chunk.size) * width,",
        "    part.require(chunk.size * width,",
        (BATTERY_HERE + "test_is_right[minimal-offset-overflows]",),
        "the error is of the caller, and not of the producer",
    ),
    Mutant(
        "times-of-another-unit",
        SHARED + "numbers.py",
        "wild, expected = (stored < 0) | (stored >= day),",
        "wild, expected = (stored < 0) & (stored >= day),",
        (BATTERY_HERE + "test_is_right[minimal-time-past-the-day-u]",),
        "nanoseconds are taken for microseconds",
    ),
    Mutant(
        "dates-that-are-none",
        SHARED + "numbers.py",
        "wild, expected = stored % day != 0,",
        "wild, expected = stored != stored,",
        (CONTRADICTIONS + "TestDisagreement::test_a_date_in_milliseconds_is_a_whole_day[86399999]",),
        "addresses of objects are taken for dates",
    ),
    Mutant(
        "codes-behind-the-categories",
        SHARED + "categories.py",
        "wild = (codes < 0) | (codes >= categories)",
        "wild = (codes < 0) | (codes > categories)",
        (BATTERY_HERE + "test_is_right[minimal-code-without-category]",),
        "a code stands for nothing",
    ),
    Mutant(
        "codes-before-the-categories",
        SHARED + "categories.py",
        "wild = (codes < 0) | (codes >= categories)",
        "wild = codes >= categories",
        (BATTERY_HERE + "test_is_right[minimal-code-negative]",),
        "code -1 is the last category",
    ),
    Mutant(
        "codes-of-missing-elements-checked",
        SHARED + "categories.py",
        "    if present is not None:\n        wild &= present\n",
        "",
        ("tests/test_table_interchange.py::test_foreign_memory_is_not_written_to[minimal-codes]",),
        "what stands under a mask means nothing, and is refused",
    ),
    Mutant(
        "codes-of-missing-categories",
        SHARED + "categories.py",
        "    if known is None or not len(codes):\n",
        "    if True:\n",
        (CONTRADICTIONS + "TestDictionaries::test_a_missing_category_is_no_empty_one",),
        "a category that is missing comes to life",
    ),
    Mutant(
        "codes-of-several-dictionaries",
        SHARED + "column.py",
        "not all(_same(categories, piece.categories) for piece in filled)",
        "False",
        (CONTRADICTIONS + "TestDictionaries::test_an_order_that_only_all_chunks_together_give",),
        "codes of one chunk are read by the dictionary of another",
    ),
    Mutant(
        "offsets-that-fall",
        SHARED + "text.py",
        "    if first < 0 or len(falls):\n",
        "    if first < 0:\n",
        (BATTERY_HERE + "test_is_right[minimal-string-offsets-middle-past-the-data]",),
        "text of a negative length",
    ),
    Mutant(
        "offsets-before-the-text",
        SHARED + "text.py",
        "    if first < 0 or len(falls):\n",
        "    if len(falls):\n",
        (BATTERY_HERE + "test_is_right[minimal-string-offsets-negative]",),
        "text begins before its characters",
    ),
    Mutant(
        "text-behind-its-buffer",
        SHARED + "text.py",
        '    chunk.part("data").require(last, f"the last string, which ends at byte {last}")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-short-characters]",),
        "the error is of the caller, and not of the producer",
    ),
    Mutant(
        "offsets-too-few",
        SHARED + "text.py",
        "    part.require((chunk.offset + chunk.size + 1) * width,",
        "    part.require((chunk.offset + chunk.size) * width,",
        (BATTERY_HERE + "test_is_right[minimal-short-string-offsets]",),
        "the error is of the caller, and not of the producer",
    ),
    Mutant(
        "missing-text-decoded",
        SHARED + "text.py",
        "        characters = characters[np.repeat(present, lengths)]\n        lengths = np.where(present,"
        " lengths, 0)\n",
        "        pass\n",
        (BATTERY_HERE + "test_is_right[minimal-invalid-utf8-under-null-bitmask]",),
        "what stands under a mask means nothing, and is refused",
    ),
    Mutant(
        "text-cut-within-a-character",
        SHARED + "text.py",
        "    if not begins[cuts].all():\n",
        "    if False:\n",
        (BATTERY_HERE + "test_is_right[minimal-valid-bytes-invalid-strings]",),
        "half a character goes to each of two strings",
    ),
    Mutant(
        "chunks-of-another-size",
        SHARED + "column.py",
        "    if sum(len(piece.values) for piece in pieces) != size:\n",
        "    if False:\n",
        (REFUSALS + "TestContradictions::test_chunks_that_are_not_the_column",),
        "elements are lost, or come twice",
    ),
    Mutant(
        "rows-of-another-number",
        SHARED + "frame.py",
        "    if rows != lengths[0]:\n",
        "    if False:\n",
        (REFUSALS + "TestContradictions::test_rows_that_are_not_the_columns",),
        "rows are lost",
    ),
    Mutant(
        "columns-of-another-length",
        SHARED + "frame.py",
        "            if rows is not None and size != rows:\n",
        "            if False:\n",
        (BATTERY_HERE + "test_is_right[minimal-columns-of-other-lengths]",),
        "rows belong to others",
    ),
    Mutant(
        "names-twice",
        SHARED + "frame.py",
        "    if len(set(names)) != len(names):\n",
        "    if False:\n",
        (REFUSALS + "TestContradictions::test_names_twice",),
        "a column is lost",
    ),
    Mutant(
        "code-of-a-column-behind-its-categories",
        MAXIMAL + "objects_nested.py",
        "rows.refuse((codes < 0) | (codes >= known),",
        "rows.refuse((codes < 0) | (codes > known),",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[code of no category]",),
        "a code stands for nothing",
    ),
    Mutant(
        "code-of-an-array-before-its-categories",
        MAXIMAL + "column_array.py",
        "used.min() >= 0 and",
        "True and",
        (COLUMN_ARRAY + "TestCopies::test_codes_that_stand_for_nothing[-1]",),
        "code -1 is the last category",
    ),
    Mutant(
        "code-of-an-array-behind-its-categories",
        MAXIMAL + "column_array.py",
        "and used.max() < len(values)):",
        "and True):",
        (COLUMN_ARRAY + "TestCopies::test_codes_that_stand_for_nothing[2]",),
        "a code stands for nothing",
    ),
    Mutant(
        "type-ids-of-no-member",
        MAXIMAL + "objects_nested.py",
        "    rows.refuse(~np.isin(ids, numbers), ",
        "    rows.refuse(ids != ids, ",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[union of no members]",),
        "an element of a union is in no child",
    ),
    Mutant(
        "offsets-of-a-union-before-its-members",
        MAXIMAL + "objects_nested.py",
        '        rows.refuse(at < 0, "offset"',
        '        rows.refuse(at < -1, "offset"',
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[dense before its member]",),
        "a member of a union is counted from the end",
    ),
    Mutant(
        "elements-of-a-child-behind-its-end",
        MAXIMAL + "objects_nested.py",
        "    if needed > items.size():\n",
        "    if False:\n",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[list of very many items]",),
        "the error names no element",
    ),
    Mutant(
        "children-taken-anywhere",
        MAXIMAL + "objects.py",
        "    if len(at) and not 0 <= int(at.min()) <= int(at.max()) < size:\n",
        "    if False:\n",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[dense behind its member]",),
        "elements of a child are read behind its end",
    ),
    Mutant(
        "runs-that-do-not-grow",
        MAXIMAL + "objects_nested.py",
        "(stops[1:] <= stops[:-1]).any()",
        "(stops[1:] < stops[:-1]).any()",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[runs that stand still]",),
        "a run without elements",
    ),
    Mutant(
        "runs-that-end-early",
        MAXIMAL + "objects_nested.py",
        "or stops[-1] < end:",
        "or stops[-1] < rows.piece.size:",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[runs that end before the cut does]",),
        "elements are read behind the last run",
    ),
    Mutant(
        "lists-behind-their-items",
        MAXIMAL + "rows.py",
        "| (ends > held)",
        "| (ends > held + 1)",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[list behind its items]",),
        "an item is read behind the end",
    ),
    Mutant(
        "lists-that-fall",
        MAXIMAL + "rows.py",
        "(starts < 0) | (ends < starts) |",
        "(starts < 0) |",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[list that falls]",),
        "a list of a negative length",
    ),
    Mutant(
        "list-views-behind-their-items",
        MAXIMAL + "rows.py",
        "(sizes > held - starts)",
        "(sizes > held)",
        (OBJECTS_HOSTILE + "test_a_lie_is_refused_and_named[list view behind its items]",),
        "items are read behind the end",
    ),
    Mutant(
        "view-behind-its-buffer",
        MAXIMAL + "text_views.py",
        "(starts + lengths > held[numbers])",
        "(lengths > held[numbers])",
        (OBJECTS_HOSTILE + "test_gathered_views_are_checked[view behind its buffer]",),
        "characters are read behind the end",
    ),
    Mutant(
        "view-before-its-buffer",
        MAXIMAL + "text_views.py",
        "wrong = (starts < 0) | (starts",
        "wrong = (starts",
        (OBJECTS_HOSTILE + "test_gathered_views_are_checked[view before its buffer]",),
        "characters are counted from the end",
    ),
    Mutant(
        "view-of-no-buffer",
        MAXIMAL + "text_views.py",
        "(numbers >= len(variadic)))",
        "(numbers > len(variadic)))",
        (OBJECTS_HOSTILE + "test_gathered_views_are_checked[view of no buffer]",),
        "the views themselves are read as characters",
    ),
    Mutant(
        "view-of-13-bytes-inline",
        MAXIMAL + "text_views.py",
        "_INLINE = 12 ",
        "_INLINE = 13 ",
        (TEXT_VIEWS + "test_every_cut[0]",),
        "the prefix and the number of a buffer are read as text",
    ),
    Mutant(
        "view-of-12-bytes-elsewhere",
        MAXIMAL + "text_views.py",
        "    inline = lengths <= _INLINE\n",
        "    inline = lengths < _INLINE\n",
        (TEXT_VIEWS + "test_every_cut[8]",),
        "text is read as the number of a buffer",
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
