"""Mutants of what a column is made of: buffers and children that cannot hold its elements.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

MAXIMAL = "maximal/buflend/maximal/"
BATTERY_HERE = "tests/test_battery_here.py::"
COLUMN = "tests/test_column.py::"
COLUMN_ARGUMENTS = "tests/test_column_arguments.py::"

MUTANTS = [
    Mutant(
        "parts-on-several-devices",
        MAXIMAL + "fault.py",
        "_fault_of_children(piece, type) or _fault_of_devices(piece)",
        "_fault_of_children(piece, type)",
        (COLUMN_ARGUMENTS + "test_parts_that_lie_apart_are_refused[place1]",),
        "a mask is read where the values lie, and it does not",
    ),
    Mutant(
        "parts-on-several-ordinals",
        MAXIMAL + "fault.py",
        "return len({device[0] for device in devices}) > 1 or len({device[1] for device in devices} - "
        "{UNKNOWN_ID}) > 1",
        "return len({device[0] for device in devices}) > 1",
        (COLUMN_ARGUMENTS + "test_parts_that_lie_apart_are_refused[place0]",),
        "memory of one card is read on another",
    ),
    Mutant(
        "buffers-of-another-type",
        MAXIMAL + "fault.py",
        "    if unknown := piece.buffers.keys() -",
        "    if unknown := () and piece.buffers.keys() -",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments10-off"
                "sets: a column of type 'l' has no such buffer]"
            ),
        ),
        "a column has offsets that nobody reads",
    ),
    Mutant(
        "buffer-missing",
        MAXIMAL + "fault.py",
        "        if high and name not in piece.buffers:\n",
        "        if False:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments18-val"
                "idity: missing]"
            ),
        ),
        "the error does not say what is missing",
    ),
    Mutant(
        "column-before-its-buffer",
        MAXIMAL + "fault.py",
        "        if low < 0 or high > held:\n",
        "        if high > held:\n",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments3-data]",),
        "elements before the buffer are read",
    ),
    Mutant(
        "column-behind-its-buffer",
        MAXIMAL + "fault.py",
        "        if low < 0 or high > held:\n",
        "        if low < 0 or high > held + 1:\n",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments4-data]",),
        "a byte behind the buffer is read",
    ),
    Mutant(
        "children-that-the-type-lacks",
        MAXIMAL + "fault.py",
        "layout.children not in (None, len(children)):",
        "False:",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments15-children]",),
        "a list of two children",
    ),
    Mutant(
        "children-in-chunks",
        MAXIMAL + "fault.py",
        "    if any(len(part._pieces) > 1 for part in parts):\n",
        "    if False:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments53-exp"
                "ected columns in one piece]"
            ),
        ),
        "the children of a list have no first buffer",
    ),
    Mutant(
        "fields-too-short",
        MAXIMAL + "fault.py",
        '    if type.dtype.format[:3] in ("+s", "+us") and any(child.size() < end',
        '    if type.dtype.format[:3] in ("+s", "+us") and any(child.size() < piece.size',
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments51-exp"
                "ected 3 or more]"
            ),
        ),
        "elements of a child are read behind its end",
    ),
    Mutant(
        "members-too-short",
        MAXIMAL + "fault.py",
        'in ("+s", "+us") and',
        'in ("+s",) and',
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments52-exp"
                "ected 3 or more]"
            ),
        ),
        "elements of a member are read behind its end",
    ),
    Mutant(
        "last-element-cut-off",
        MAXIMAL + "fault.py",
        'needs["data"] = min(reach), max(reach) + type.width',
        'needs["data"] = min(reach), max(reach)',
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments0-data]",),
        "the last element hangs out of its buffer",
    ),
    Mutant(
        "backwards-before-the-buffer",
        MAXIMAL + "fault.py",
        'needs["data"] = min(reach), max(reach) + type.width',
        'needs["data"] = 0, max(reach) + type.width',
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments3-data]",),
        "elements before the buffer are read",
    ),
    Mutant(
        "bits-of-a-column-rounded-down",
        MAXIMAL + "fault.py",
        'needs["data"] = 0, -(-end * type.dtype.bits // 8)',
        'needs["data"] = 0, end * type.dtype.bits // 8',
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments10-data]",),
        "the last bits lie behind the end",
    ),
    Mutant(
        "offset-of-the-last-text",
        MAXIMAL + "fault.py",
        'more = 0 if "sizes" in names or "type_ids" in names else 1',
        "more = 0",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments11-offsets]",),
        "the last offset lies behind the end",
    ),
    Mutant(
        "sizes-of-lists-not-measured",
        MAXIMAL + "fault.py",
        '            needs["sizes"] = 0, end * width\n',
        '            needs["sizes"] = 0, end\n',
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments17-sizes]",),
        "sizes are read behind their end",
    ),
    Mutant(
        "type-ids-not-measured",
        MAXIMAL + "fault.py",
        '        needs["type_ids"] = 0, end\n',
        "        pass\n",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments13-type_ids]",),
        "type ids are read behind their end",
    ),
    Mutant(
        "mask-of-a-column-not-measured",
        MAXIMAL + "fault.py",
        '        needs["validity"] = min(reach) // unit, max(reach) // unit + 1\n',
        "        pass\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments18-val"
                "idity: missing]"
            ),
        ),
        "a mask is read behind its end",
    ),
    Mutant(
        "mask-of-a-column-one-too-short",
        MAXIMAL + "fault.py",
        "max(reach) // unit + 1",
        "max(reach) // unit",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments18-val"
                "idity: missing]"
            ),
        ),
        "the last byte of a mask lies behind the end",
    ),
    Mutant(
        "byte-mask-measured-in-bits",
        MAXIMAL + "fault.py",
        "unit = 8 if piece.null[0] == NullKind.USE_BITMASK else 1",
        "unit = 8",
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments9-validity]",),
        "a mask is read behind its end",
    ),
    Mutant(
        "lists-of-a-fixed-size-too-few",
        MAXIMAL + "fault.py",
        "piece.children[0].size() < end * layout.parameter:",
        "piece.children[0].size() < end:",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments48-chi"
                "ldren: got 2 items, expected 5]"
            ),
        ),
        "items are read behind the end of the child",
    ),
    Mutant(
        "last-run-of-a-column",
        MAXIMAL + "fault.py",
        'return "" if last and (last[0] or 0) >= end else',
        'return "" if last else',
        (COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments49-runs end]",),
        "elements are read behind the last run",
    ),
    Mutant(
        "last-offset-of-a-column",
        MAXIMAL + "fault.py",
        'return "" if 0 <= last_offset <= held else',
        'return "" if 0 <= last_offset else',
        ((COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments47-the last is 3]"),),
        "text is read behind its characters",
    ),
    Mutant(
        "ends-read-on-a-device",
        MAXIMAL + "fault.py",
        "or layout is None or piece.device[0] not in HOST_READABLE:",
        "or layout is None:",
        ("tests/test_objects.py::test_memory_elsewhere_is_refused_before_anything_is_read[child]",),
        "the last offset is read where it lies: the process ends",
    ),
    Mutant(
        "frame-that-lies",
        MAXIMAL + "interchange_source.py",
        "    if wrong := fault(piece, type_):\n",
        '    if wrong := "":\n',
        (BATTERY_HERE + "test_a_table_refuses_what_cannot_be_before_it_is_one[short-packed-bool]",),
        "memory behind a foreign buffer is read",
    ),
    Mutant(
        "mask-of-a-frame-not-counted",
        MAXIMAL + "interchange_source.py",
        "        if counted not in (UNKNOWN, lost):\n",
        "        if False:\n",
        (BATTERY_HERE + "test_a_table_refuses_what_cannot_be_before_it_is_one[bitmask-null-count-0-of-1]",),
        "a mask that is not one is believed",
    ),
    Mutant(
        "values-of-a-frame-not-checked",
        MAXIMAL + "interchange_source.py",
        "    _check_values(chunk, type_, piece)\n",
        "",
        (BATTERY_HERE + "test_a_table_refuses_what_cannot_be_before_it_is_one[string-offsets-decreasing]",),
        "consumers read text behind its characters",
    ),
    Mutant(
        "chunks-of-several-types",
        MAXIMAL + "interchange_source.py",
        "    if len(types) > 1:\n        raise",
        "    if False:\n        raise",
        (BATTERY_HERE + "test_is_right[table-chunks-of-other-types]",),
        "the chunks of one column are read as the first one's type",
    ),
    Mutant(
        "categories-of-several-types",
        MAXIMAL + "interchange_source.py",
        "    if len(stored) > 1:\n",
        "    if False:\n",
        ("tests/test_column_corners.py::test_chunks_whose_categories_are_of_two_types_are_refused",),
        "the categories of one chunk are read as the first one's type",
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
