"""Mutants of arguments: numbers, types and devices of which no buffer and no column can be made.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
BUFFER = "tests/test_buffer.py::"
COLUMN = "tests/test_column.py::"
COLUMN_ARGUMENTS = "tests/test_column_arguments.py::"

MUTANTS = [
    Mutant(
        "booleans-for-sizes",
        MAXIMAL + "arguments.py",
        "    if number is None or type(value) is bool:\n",
        "    if number is None:\n",
        (COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[TypeError-arguments1-size]",),
        "True elements",
    ),
    Mutant(
        "numbers-without-bounds",
        MAXIMAL + "arguments.py",
        "    if not least <= number <= most:\n",
        "    if not least <= number:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments19-nul"
                "l_count: got 9, expected 0 to 4]"
            ),
        ),
        "numbers of 64 bits overflow where others multiply them",
    ),
    Mutant(
        "negative-numbers",
        MAXIMAL + "arguments.py",
        "    if not least <= number <= most:\n",
        "    if not number <= most:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments41-dty"
                "pe\\\\[1\\\\]]"
            ),
        ),
        "a negative offset is counted from the end",
    ),
    Mutant(
        "offset-and-size-overflow",
        MAXIMAL + "parts.py",
        'arguments.integer(offset, "offset", 0, arguments.MOST - size)',
        'arguments.integer(offset, "offset")',
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments54-off"
                "set: got 9223372036854775804, expected 0 to 9223372036854775803]"
            ),
        ),
        "numbers of 64 bits overflow where others add them",
    ),
    Mutant(
        "width-against-the-format",
        MAXIMAL + "arguments.py",
        "found.bits not in (layout.bits, _WIDER.get(found.format)):",
        "False:",
        (COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments38-64 bits]",),
        "elements begin within others",
    ),
    Mutant(
        "codes-that-are-no-integers",
        MAXIMAL + "arguments.py",
        "    if categorical and layout.kind not in (DtypeKind.INT, DtypeKind.UINT):\n",
        "    if False:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments44-dic"
                "tionary|codes]"
            ),
        ),
        "floats are taken for codes",
    ),
    Mutant(
        "sentinels-of-any-type",
        MAXIMAL + "arguments.py",
        "_is(value, _SENTINELS.get(kind, ())) and not",
        "not",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments17-a "
                "value of the column's type]"
            ),
        ),
        "a text is compared with numbers",
    ),
    Mutant(
        "masks-of-any-value",
        MAXIMAL + "arguments.py",
        "bit is not None and kind not in _WITHOUT_MASK",
        "kind not in _WITHOUT_MASK",
        (COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments14-null]",),
        "a mask's value that means nothing",
    ),
    Mutant(
        "masks-of-what-has-none",
        MAXIMAL + "arguments.py",
        "bit is not None and kind not in _WITHOUT_MASK",
        "bit is not None",
        (COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments50-null]",),
        "a union with a mask, which Arrow has not",
    ),
    Mutant(
        "nan-of-integers",
        MAXIMAL + "arguments.py",
        'allowed, expected = kind in _WITH_NAN, "a column',
        'allowed, expected = True, "a column',
        ((COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments16-floats or times]"),),
        "what is missing is looked for where it cannot be",
    ),
    Mutant(
        "objects-for-buffers",
        MAXIMAL + "arguments.py",
        "        if buffer is not None and not _is(buffer, Memory):\n",
        "        if False:\n",
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[TypeError-arguments7-data:"
                " got bytes, expected a Buffer; as_buffer]"
            ),
        ),
        "an object without an owner is a part of a column",
    ),
    Mutant(
        "null-count-above-the-size",
        MAXIMAL + "parts.py",
        'arguments.integer(null_count, "null_count", 0, size)',
        'arguments.integer(null_count, "null_count")',
        (
            (
                COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments19-nul"
                "l_count: got 9, expected 0 to 4]"
            ),
        ),
        "more is missing than there is",
    ),
    Mutant(
        "column-not-checked",
        MAXIMAL + "parts.py",
        "        if wrong := fault(piece, type_) or fault_of_ends(piece, type_):\n",
        '        if wrong := "":\n',
        (COLUMN + "test_buffers_that_cannot_hold_the_elements_are_refused[arguments0-data]",),
        "memory behind the end is read",
    ),
    Mutant(
        "ends-of-a-column-not-checked",
        MAXIMAL + "parts.py",
        "fault(piece, type_) or fault_of_ends(piece, type_):",
        "fault(piece, type_):",
        ((COLUMN_ARGUMENTS + "test_arguments_that_cannot_be_meant_are_named[ValueError-arguments47-the last is 3]"),),
        "text is read behind its characters",
    ),
    Mutant(
        "steps-of-a-slice-ignored",
        MAXIMAL + "parts.py",
        "key.step not in (None, 1):",
        "False:",
        (COLUMN + "test_only_plain_slices_cut[key1]",),
        "each second element is asked for, and all are given",
    ),
    Mutant(
        "columns-of-several-lengths",
        MAXIMAL + "table_parts.py",
        "        if len(set(lengths.values())) > 1:\n",
        "        if False:\n",
        ("tests/test_table.py::test_what_is_no_table_of_columns_is_refused",),
        "rows belong to others",
    ),
    Mutant(
        "addresses-of-any-type",
        SHARED + "memory.py",
        "        if type(ptr) is not int or type(bufsize) is not int:\n",
        "        if False:\n",
        (BUFFER + "TestConstructor::test_integers_of_other_libraries",),
        "an address of half a byte",
    ),
    Mutant(
        "device-not-read",
        SHARED + "memory.py",
        "device if device is CPU else _device_argument(device)",
        "device",
        ("tests/test_located.py::TestUnanswered::test_other_devices_cannot_be_asked[14]",),
        "a pair that is no device: the host may read it, or may not",
    ),
    Mutant(
        "device-of-the-caller-is-a-producers",
        SHARED + "memory.py",
        "    except ProducerError as error:  # here it is the caller's mistake\n        raise TypeError",
        "    except ZeroDivisionError as error:\n        raise TypeError",
        (BUFFER + "TestConstructor::test_wrong_device[device3]",),
        "a producer is blamed for the caller's mistake",
    ),
    Mutant(
        "negative-ordinal",
        SHARED + "device.py",
        "not -1 <= ordinal < 2**31:",
        "not ordinal < 2**31:",
        ("tests/test_arrow_import_hostile.py::test_devices_that_cannot_be_are_refused[device2]",),
        "a card before the first one",
    ),
    Mutant(
        "device-type-0",
        SHARED + "device.py",
        "    if not 0 < kind < 2**31 or",
        "    if not 0 <= kind < 2**31 or",
        ("tests/test_dlpack_import.py::TestNonsense::test_is_refused_by_name_and_returned[device type 0-legacy]",),
        "0 is no device of DLPack",
    ),
    Mutant(
        "chunks-of-several-kinds",
        SHARED + "column.py",
        "    if len(kinds) > 1:\n",
        "    if False:\n",
        ("tests/test_battery_here.py::test_is_right[minimal-chunks-of-other-types]",),
        "numbers become text where chunks are joined",
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
