"""Mutants of what a person passes that says it is of another class, or answers otherwise each time: believed."""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL, MINIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/", "minimal/buflend/minimal/"
CLASSES = "tests/test_classes.py::"
CONTRADICTIONS = "tests/test_contradictions.py::"
REFUSED, HELD = CLASSES + "test_what_says_it_is_another_is_refused", CLASSES + "test_"

MUTANTS = [
    Mutant(
        "arguments-are-what-they-say",
        MAXIMAL + "arguments.py",
        "    return issubclass(type(value), kinds)\n",
        "    return isinstance(value, kinds)\n",
        (REFUSED + "[data]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "children-are-what-they-say",
        MAXIMAL + "arguments.py",
        "all(_is(item, kind) for",
        "all(isinstance(item, kind) for",
        (REFUSED + "[children]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "sequences-are-what-they-say",
        MAXIMAL + "arguments.py",
        "if _is(given, Iterable) else (None,)",
        "if isinstance(given, Iterable) else (None,)",
        (REFUSED + "[sequence of children]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "strides-are-what-they-say",
        MAXIMAL + "arguments.py",
        "if not _is(given, Iterable) or len(",
        "if not isinstance(given, Iterable) or len(",
        (REFUSED + "[strides]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "names-are-what-they-say",
        MAXIMAL + "arguments.py",
        "    if not _is(value, str):\n",
        "    if not isinstance(value, str):\n",
        (REFUSED + "[a name]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "formats-are-what-they-say",
        MAXIMAL + "arguments.py",
        "    if _is(given, str):\n",
        "    if isinstance(given, str):\n",
        (REFUSED + "[a dtype]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "buffers-are-what-they-say",
        MAXIMAL + "arguments.py",
        "not _is(buffer, Memory):",
        "not isinstance(buffer, Memory):",
        (REFUSED + "[data]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "sentinels-are-what-they-say",
        MAXIMAL + "arguments.py",
        "_is(value, _SENTINELS.get(kind, ())) and not",
        "isinstance(value, _SENTINELS.get(kind, ())) and not",
        (REFUSED + "[a sentinel]",),
        "a sentinel that is no number is compared with numbers",
    ),
    Mutant(
        "integers-are-what-they-say",
        MAXIMAL + "arguments.py",
        "    if _is(value, int):\n        value = index",
        "    if isinstance(value, int):\n        value = index",
        (REFUSED + "[a mask's value]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "sentinels-keep-their-methods",
        MAXIMAL + "arguments.py",
        "    if _is(value, int):\n        value = index(value)\n",
        "",
        (HELD + "integers_are_taken_once_as_plain_ones",),
        "a sentinel that equals everything is missing everywhere",
    ),
    Mutant(
        "texts-keep-their-methods",
        MAXIMAL + "arguments.py",
        "    return str.__getitem__(value, slice(None))\n",
        "    return value\n",
        (HELD + "texts_are_taken_for_what_they_hold",),
        "a name is another one each time",
    ),
    Mutant(
        "a-buffer-is-what-says-so",
        MAXIMAL + "buffer.py",
        "    if issubclass(type(obj), memory.Memory):\n",
        "    if isinstance(obj, memory.Memory):\n",
        (REFUSED + "[as_buffer]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-of-minimal-is-what-says-so",
        MINIMAL + "buffer.py",
        "    if issubclass(kind, memory.Memory):\n",
        "    if isinstance(obj, memory.Memory):\n",
        (REFUSED + "[minimal.as_buffer]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-to-view-is-what-says-so",
        MAXIMAL + "buffer.py",
        "is Buffer or issubclass(type(buffer), memory.Memory)\n",
        "is Buffer or isinstance(buffer, memory.Memory)\n",
        (REFUSED + "[as_ndarray]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-of-minimal-to-view-is-what-says-so",
        MINIMAL + "buffer.py",
        "is Buffer or issubclass(type(buffer), memory.Memory)\n",
        "is Buffer or isinstance(buffer, memory.Memory)\n",
        (REFUSED + "[minimal.as_ndarray]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-for-cupy-is-what-says-so",
        MAXIMAL + "buffer.py",
        "    if not issubclass(type(buffer), memory.Memory):\n",
        "    if not isinstance(buffer, memory.Memory):\n",
        (REFUSED + "[as_cupy]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-of-minimal-for-cupy-is-what-says-so",
        MINIMAL + "buffer.py",
        "issubclass(type(buffer), memory.Memory) else as_buffer(buffer)\n    return arrays.to_cupy",
        "isinstance(buffer, memory.Memory) else as_buffer(buffer)\n    return arrays.to_cupy",
        (REFUSED + "[minimal.as_cupy]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-for-bytes-is-what-says-so",
        MAXIMAL + "buffer.py",
        "issubclass(type(buffer), memory.Memory) else as_buffer(buffer)\n    return memory.to_memoryview",
        "isinstance(buffer, memory.Memory) else as_buffer(buffer)\n    return memory.to_memoryview",
        (REFUSED + "[as_memoryview]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-buffer-of-minimal-for-bytes-is-what-says-so",
        MINIMAL + "buffer.py",
        "issubclass(type(buffer), memory.Memory) else as_buffer(buffer)\n    return memory.to_memoryview",
        "isinstance(buffer, memory.Memory) else as_buffer(buffer)\n    return memory.to_memoryview",
        (REFUSED + "[minimal.as_memoryview]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "a-mapping-of-columns-is-what-says-so",
        MAXIMAL + "table_parts.py",
        "not issubclass(type(columns), Mapping):",
        "not isinstance(columns, Mapping):",
        (REFUSED + "[a table]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "names-in-a-table-are-what-they-say",
        MAXIMAL + "table_parts.py",
        "not issubclass(type(name), str):",
        "not isinstance(name, str):",
        (REFUSED + "[a table of names]",),
        "the error names the name of a column instead",
    ),
    Mutant(
        "columns-in-a-table-are-what-they-say",
        MAXIMAL + "table_parts.py",
        "not issubclass(type(column), Column):",
        "not isinstance(column, Column):",
        (REFUSED + "[a table of columns]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "rows-are-what-says-so",
        MAXIMAL + "table_parts.py",
        "if type(key) is slice:",
        "if isinstance(key, slice):",
        (REFUSED + "[rows of a table]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "mapping-of-columns-asked-again",
        MAXIMAL + "table_parts.py",
        "        columns = dict(pairs)\n",
        "",
        (HELD + "mappings_are_asked_once",),
        "names of one answer stand over columns of another",
    ),
    Mutant(
        "elements-are-what-says-so",
        MAXIMAL + "parts.py",
        "type(key) is not slice or",
        "not isinstance(key, slice) or",
        (REFUSED + "[a slice of a column]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "text-is-what-says-so",
        MAXIMAL + "column_text.py",
        "elif not issubclass(type(item), str):",
        "elif not isinstance(item, str):",
        (REFUSED + "[text]",),
        "the error does not say which element it is",
    ),
    Mutant(
        "nan-is-what-says-so",
        MAXIMAL + "column_text.py",
        "(issubclass(type(item), float) and",
        "(isinstance(item, float) and",
        (REFUSED + "[a float]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "metadata-is-what-says-so",
        MAXIMAL + "metadata.py",
        "if issubclass(type(given), Mapping) else ((None,),)",
        "if isinstance(given, Mapping) else ((None,),)",
        (REFUSED + "[metadata]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "texts-of-metadata-are-what-they-say",
        MAXIMAL + "metadata.py",
        "all(issubclass(type(part), str) for",
        "all(isinstance(part, str) for",
        (REFUSED + "[metadata's names]",),
        "an error of the inside, which names nothing, or what is no memory is read",
    ),
    Mutant(
        "texts-of-metadata-keep-their-methods",
        MAXIMAL + "metadata.py",
        'str.encode(text, "utf-8", "surrogateescape")',
        'text.encode("utf-8", "surrogateescape")',
        (HELD + "texts_are_taken_for_what_they_hold",),
        "metadata of another length than is said: what stands behind is read",
    ),
    Mutant(
        "pairs-of-metadata-not-counted",
        MAXIMAL + "metadata.py",
        "len(pair) == 2 and ",
        "",
        ("tests/test_classes.py::test_metadata_is_packed_of_pairs_alone",),
        "fewer texts than are counted: what stands behind is read",
    ),
    Mutant(
        "metadata-asked-again",
        MAXIMAL + "metadata.py",
        "    parts = [_LENGTH.pack(len(pairs))]\n    for text in (text for pair in pairs for text in pair):\n",
        "    parts = [_LENGTH.pack(len(pairs))]\n    for text in (text for pair in given.items() for text in pair):\n",
        (HELD + "mappings_are_asked_once",),
        "more pairs than are counted: what stands behind is read",
    ),
    # What speaks the interchange protocol.
    Mutant(
        "columns-of-the-protocol-are-what-they-say",
        MAXIMAL + "frame.py",
        "    if not issubclass(type(column), Column) and",
        "    if not isinstance(column, Column) and",
        (CONTRADICTIONS + "TestWhatSaysItIsOurs::test_a_column",),
        "a column is read by another protocol than it is elsewhere",
    ),
    Mutant(
        "columns-of-ours-are-read-by-the-protocol",
        MAXIMAL + "frame.py",
        "    if not issubclass(type(column), Column) and offers(",
        "    if offers(",
        (CONTRADICTIONS + "TestWhatSaysItIsOurs::test_a_column_of_ours_has_types_that_the_protocol_lacks",),
        "decimals and lists are refused, and a stride",
    ),
    Mutant(
        "frames-of-the-protocol-are-what-they-say",
        MAXIMAL + "frame.py",
        "and not issubclass(type(df), Table):",
        "and not isinstance(df, Table):",
        (CONTRADICTIONS + "TestWhatSaysItIsOurs::test_a_frame",),
        "a frame is read by another protocol than it is elsewhere",
    ),
    Mutant(
        "sentinels-of-floats-are-what-they-say",
        SHARED + "validity.py",
        "if not issubclass(type(sentinel), (str, bytes)):",
        "if not isinstance(sentinel, (str, bytes)):",
        (CONTRADICTIONS + "TestSentinels::test_a_number_is_none_by_its_class[str]",),
        "a number is refused as text",
    ),
    Mutant(
        "texts-are-numbers",
        SHARED + "validity.py",
        "if not issubclass(type(sentinel), (str, bytes)):",
        "if True:",
        (CONTRADICTIONS + "TestSentinels::test_no_number[5]",),
        "what Python reads as a number marks numbers",
    ),
    Mutant(
        "integers-among-sentinels-are-what-they-say",
        SHARED + "validity.py",
        "(not issubclass(type(sentinel), int) or",
        "(not isinstance(sentinel, int) or",
        (CONTRADICTIONS + "TestSentinels::test_a_number_is_none_by_its_class[int]",),
        "an error of the inside, which names nothing",
    ),
    Mutant(
        "integers-among-sentinels-are-rounded",
        SHARED + "validity.py",
        " and (not issubclass(type(sentinel), int) or wanted == index(sentinel))",
        "",
        (CONTRADICTIONS + "TestSentinels::test_an_integer_is_one_by_its_type",),
        "a number that the column cannot hold marks its neighbour",
    ),
    Mutant(
        "integers-among-sentinels-are-asked",
        SHARED + "validity.py",
        "wanted == index(sentinel))",
        "wanted == int(sentinel))",
        (CONTRADICTIONS + "TestSentinels::test_an_integer_is_one_by_its_type",),
        "a number that the column cannot hold marks another",
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
