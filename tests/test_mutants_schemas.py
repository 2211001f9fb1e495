"""Mutants of Arrow's schemas and streams, inwards: types that are none.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED = "shared/buflend/shared/"
ARROW_FORMAT = "tests/test_arrow_format.py::"
ARROW_IMPORT_HOSTILE = "tests/test_arrow_import_hostile.py::"
ARROW_STREAM_IMPORT = "tests/test_arrow_stream_import.py::"

MUTANTS = [
    Mutant(
        "released-schema-read",
        SHARED + "arrow_schema.py",
        "    if not release:\n",
        "    if False:\n",
        (ARROW_STREAM_IMPORT + "test_a_schema_that_fails",),
        "memory that was given back is read",
    ),
    Mutant(
        "types-without-end",
        SHARED + "arrow_schema.py",
        "if level > _MOST_LEVELS or next(budget, None) is None:",
        "if next(budget, None) is None:",
        (ARROW_IMPORT_HOSTILE + "test_a_schema_that_holds_itself_is_refused",),
        "a type within itself: the stack overflows",
    ),
    Mutant(
        "null-format",
        SHARED + "arrow_schema.py",
        "    if not format_at:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no format]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "children-of-a-type-not-counted",
        SHARED + "arrow_schema.py",
        "or expected not in {None, n_children}:",
        "or False:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[union of more ids]",),
        "a list without items, a map without keys",
    ),
    Mutant(
        "negative-number-of-children",
        SHARED + "arrow_schema.py",
        "if not 0 <= n_children <= MOST_PARTS or",
        "if n_children > MOST_PARTS or",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[n_children below 0]",),
        "pointers are read behind the last one",
    ),
    Mutant(
        "codes-of-any-type",
        SHARED + "arrow_schema.py",
        "    if dictionary_at and text not in _INDICES:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[dictionary of dates]",),
        "floats and text are taken for codes",
    ),
    Mutant(
        "null-child",
        SHARED + "arrow_schema.py",
        "    if not all(children) or not children:\n",
        "    if not children:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[no child]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "texts-without-end",
        SHARED + "arrow_schema.py",
        "    if len(found) == ctypes.sizeof(kind):\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[an endless format]",),
        "a text that never ends is cut, and called a name",
    ),
    Mutant(
        "metadata-of-a-negative-length",
        SHARED + "arrow_schema.py",
        "if length < 0 or end > _MOST_METADATA:",
        "if end > _MOST_METADATA:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[a key below 0]",),
        "bytes before the metadata are read, for ever",
    ),
    Mutant(
        "metadata-without-end",
        SHARED + "arrow_schema.py",
        "if length < 0 or end > _MOST_METADATA:",
        "if length < 0:",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[endless metadata]",),
        "bytes behind the metadata are read",
    ),
    Mutant(
        "negative-number-of-pairs",
        SHARED + "arrow_schema.py",
        "    if count < 0:\n",
        "    if False:\n",
        (ARROW_IMPORT_HOSTILE + "test_lies_are_refused_and_released_once[metadata below 0]",),
        "metadata that says what cannot be is told on",
    ),
    Mutant(
        "negative-fixed-size",
        SHARED + "arrow_format.py",
        'case "w", [size] if 0 <= size <= _LARGEST:',
        'case "w", [size] if size <= _LARGEST:',
        (ARROW_FORMAT + "test_what_is_no_format_is_refused[w:-1]",),
        "elements of a negative size",
    ),
    Mutant(
        "fixed-size-of-lists-without-end",
        SHARED + "arrow_format.py",
        'case "+w", [size] if 0 <= size <= _LARGEST:',
        'case "+w", [size] if 0 <= size:',
        (ARROW_FORMAT + "test_what_is_no_format_is_refused[+w:2147483648]",),
        "sizes overflow where others multiply them",
    ),
    Mutant(
        "digits-without-end",
        SHARED + "arrow_format.py",
        "if 1 <= digits <= _DIGITS.get(bits, 0):",
        "if 1 <= digits:",
        (ARROW_FORMAT + "test_what_is_no_format_is_refused[d:5,2,0]",),
        "a decimal of any number of bits",
    ),
    Mutant(
        "type-ids-twice",
        SHARED + "arrow_format.py",
        "if len(set(numbers)) != len(numbers) or not all(",
        "if not all(",
        (ARROW_FORMAT + "test_what_is_no_format_is_refused[+us:0,0]",),
        "an element of a union is in two children",
    ),
    Mutant(
        "type-ids-without-end",
        SHARED + "arrow_format.py",
        "not all(0 <= number <= _MOST_IDS for number in numbers)",
        "False",
        (ARROW_FORMAT + "test_what_is_no_format_is_refused[+us:128]",),
        "type ids that no byte can hold",
    ),
    Mutant(
        "chunk-of-another-device",
        SHARED + "arrow_import.py",
        "    if found[0] != device[0]:\n",
        "    if False:\n",
        (ARROW_STREAM_IMPORT + "test_a_device_stream_says_where_it_is",),
        "a chunk is read where its stream said it lies",
    ),
    Mutant(
        "stream-without-functions",
        SHARED + "arrow_import.py",
        "    if not all(callbacks):\n",
        "    if False:\n",
        (ARROW_STREAM_IMPORT + "test_functions_that_are_not_there[1-get_schema]",),
        "address 0 is called: the process ends",
    ),
    Mutant(
        "error-of-a-stream-ignored",
        SHARED + "arrow_import.py",
        "if code := _Fill(function)(address, ctypes.addressof(out)):",
        "if (code := _Fill(function)(address, ctypes.addressof(out))) < 0:",
        (ARROW_STREAM_IMPORT + "test_what_an_error_leaves_behind_is_not_released",),
        "what a failed call left behind is read",
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
