"""Mutants of offsets, where memory is read: applied twice or not at all, in elements instead of bytes.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
ARROW_IMPORT = "tests/test_arrow_import.py::"
BATTERY_HERE = "tests/test_battery_here.py::"
COLUMN_DLPACK = "tests/test_column_dlpack.py::"
OBJECTS = "tests/test_objects.py::"
REFUSALS = "tests/test_refusals.py::"
TABLE = "tests/test_table.py::"
TABLE_INTERCHANGE = "tests/test_table_interchange.py::"

MUTANTS = [
    Mutant(
        "part-from-the-start",
        SHARED + "memory.py",
        "= memory._ptr + start, (",
        "= memory._ptr, (",
        (TABLE_INTERCHANGE + "test_nothing_but_pointers_moves_where_the_protocol_can_say_a_column",),
        "a part is that of the start",
    ),
    Mutant(
        "byte-offset-of-dlpack-lost",
        SHARED + "dlpack_import.py",
        "ptr = data + byte_offset if",
        "ptr = data if",
        (COLUMN_DLPACK + "TestIn::test_strides_and_offset",),
        "other elements are read",
    ),
    Mutant(
        "byte-offset-of-dlpack-twice",
        SHARED + "dlpack_import.py",
        "ptr = data + byte_offset if",
        "ptr = data + 2 * byte_offset if",
        (COLUMN_DLPACK + "TestIn::test_strides_and_offset",),
        "other elements are read, and memory behind the end",
    ),
    Mutant(
        "byte-offset-of-dlpack-in-elements",
        SHARED + "dlpack_import.py",
        "ptr = data + byte_offset if",
        "ptr = data + byte_offset * width // 8 if",
        (COLUMN_DLPACK + "TestIn::test_strides_and_offset",),
        "other elements are read, and memory behind the end",
    ),
    Mutant(
        "strides-of-null-are-the-shape",
        SHARED + "dlpack_import.py",
        "if strides_at else compact_strides(shape)",
        "if strides_at else shape",
        ("tests/test_streams_host.py::TestTheHost::test_never_reads_memory_of_the_device",),
        "NULL means C order: memory behind the end is read",
    ),
    Mutant(
        "offset-of-arrow-lost",
        MAXIMAL + "arrow_source.py",
        "        array.length,\n        array.offset,\n        buffers,",
        "        array.length,\n        0,\n        buffers,",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a mask]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "offset-of-an-arrow-mask-lost",
        MAXIMAL + "arrow_source.py",
        "        type_.width,\n        array.offset,\n",
        "        type_.width,\n        0,\n",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a mask]",),
        "other elements are missing",
    ),
    Mutant(
        "offset-of-a-struct-not-added",
        SHARED + "arrow_array.py",
        "length, offset = take, offset + skip",
        "length, offset = take, offset",
        (ARROW_IMPORT + "test_a_plain_struct_is_taken_apart",),
        "the columns of a sliced table begin with the whole",
    ),
    Mutant(
        "offset-of-a-struct-for-its-own",
        SHARED + "arrow_array.py",
        "length, offset = take, offset + skip",
        "length, offset = take, skip",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a struct]",),
        "a column loses its own offset",
    ),
    Mutant(
        "last-offset-of-the-whole",
        SHARED + "arrow_array.py",
        "(array.offset + array.length) * bits // 8",
        "array.length * bits // 8",
        (ARROW_IMPORT + "test_the_bytes_of_each_buffer_count_what_is_skipped[Z]",),
        "the characters of a slice are cut off",
    ),
    Mutant(
        "offsets-in-elements",
        SHARED + "arrow_array.py",
        "address + array.offset * bits // 8,",
        "address + array.offset,",
        (ARROW_IMPORT + "test_the_bytes_of_each_buffer_count_what_is_skipped[Z]",),
        "an offset is read within others",
    ),
    Mutant(
        "bitmap-of-a-root-from-its-start",
        SHARED + "arrow_array.py",
        "start, phase = divmod(array.offset, 8)",
        "start, phase = 0, array.offset % 8",
        (ARROW_IMPORT + "test_a_bitmap_is_looked_at_from_its_first_bit_to_its_last",),
        "other rows are looked at",
    ),
    Mutant(
        "phase-of-a-bitmap-lost",
        SHARED + "arrow_array.py",
        "start, phase = divmod(array.offset, 8)",
        "start, phase = array.offset // 8, 0",
        (ARROW_IMPORT + "test_a_struct_is_taken_apart_unless_it_has_nulls[-1-\\x1c-True]",),
        "other rows are looked at",
    ),
    Mutant(
        "offset-of-a-foreign-column-in-elements",
        SHARED + "numbers.py",
        "shape=chunk.size, offset=chunk.offset * width)\n    if order",
        "shape=chunk.size, offset=chunk.offset)\n    if order",
        (BATTERY_HERE + "test_is_right[minimal-plain-offset-9]",),
        "elements begin within others",
    ),
    Mutant(
        "offset-of-a-foreign-column-lost",
        SHARED + "numbers.py",
        "shape=chunk.size, offset=chunk.offset * width)\n    if order",
        "shape=chunk.size)\n    if order",
        (BATTERY_HERE + "test_is_right[minimal-plain-offset-9]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "offset-of-a-foreign-column-twice",
        SHARED + "numbers.py",
        "shape=chunk.size, offset=chunk.offset * width)\n    if order",
        "shape=chunk.size, offset=2 * chunk.offset * width)\n    if order",
        (BATTERY_HERE + "test_is_right[minimal-plain-offset-9]",),
        "a slice ends behind the end",
    ),
    Mutant(
        "offset-of-foreign-bytes-lost",
        SHARED + "numbers.py",
        '"uint8", shape=chunk.size, offset=chunk.offset)',
        '"uint8", shape=chunk.size)',
        (BATTERY_HERE + "test_is_right[minimal-guarded-byte-bool]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "offset-of-foreign-bits-lost",
        SHARED + "validity.py",
        "unpack_bits(part.memory, chunk.offset, chunk.size)",
        "unpack_bits(part.memory, 0, chunk.size)",
        (BATTERY_HERE + "test_is_right[minimal-bitmask-offset-9]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "offset-of-a-byte-mask-lost",
        SHARED + "validity.py",
        '"uint8", shape=chunk.size, offset=chunk.offset)',
        '"uint8", shape=chunk.size)',
        (BATTERY_HERE + "test_is_right[minimal-bytemask-offset-9]",),
        "other elements are missing",
    ),
    Mutant(
        "bits-from-whole-bytes",
        SHARED + "validity.py",
        'bitorder="little")[phase:]',
        'bitorder="little")[: size]',
        (COLUMN_DLPACK + "TestOut::test_what_needs_a_copy[column1-?-expected1]",),
        "up to seven elements too early",
    ),
    Mutant(
        "offsets-of-foreign-text-in-elements",
        SHARED + "text.py",
        "shape=chunk.size + 1, offset=chunk.offset * width)",
        "shape=chunk.size + 1, offset=chunk.offset)",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[minimal-utf8]",),
        "an offset is read within others",
    ),
    Mutant(
        "offsets-of-foreign-text-from-the-start",
        SHARED + "text.py",
        "shape=chunk.size + 1, offset=chunk.offset * width)",
        "shape=chunk.size + 1)",
        (TABLE_INTERCHANGE + "test_every_reader_has_the_values[minimal-objects]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "foreign-text-from-the-start",
        SHARED + "text.py",
        "shape=last - first, offset=first)",
        "shape=last - first)",
        (TABLE + "test_chunks_that_differ_are_cut_alike",),
        "the text of a slice is that of the whole",
    ),
    Mutant(
        "elements-without-the-start",
        MAXIMAL + "elements.py",
        "start = piece.byte_offset + piece.offset * piece.stride",
        "start = piece.offset * piece.stride",
        ("tests/test_column_interface.py::TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "of what runs backwards the last element is the first",
    ),
    Mutant(
        "elements-with-the-offset-in-elements",
        MAXIMAL + "elements.py",
        "start = piece.byte_offset + piece.offset * piece.stride",
        "start = piece.byte_offset + piece.offset",
        ("tests/test_column_arguments.py::test_integers_of_any_library_are_taken",),
        "elements begin within others",
    ),
    Mutant(
        "items-without-the-offset",
        MAXIMAL + "rows.py",
        "size, None, self.piece.offset * (bits // 8))",
        "size, None, 0)",
        (TABLE + "test_chunks_that_differ_are_cut_alike",),
        "lists of a slice are those of the whole",
    ),
    Mutant(
        "items-with-the-offset-in-elements",
        MAXIMAL + "rows.py",
        "size, None, self.piece.offset * (bits // 8))",
        "size, None, self.piece.offset)",
        (TABLE + "test_chunks_that_differ_are_cut_alike",),
        "an offset is read within others",
    ),
    Mutant(
        "lists-of-a-fixed-size-without-the-offset",
        MAXIMAL + "objects_nested.py",
        "starts = (rows.at + rows.piece.offset) * number",
        "starts = rows.at * number",
        (OBJECTS + "test_elements_whole_and_cut[fixed-size list]",),
        "lists of a slice are those of the whole",
    ),
    Mutant(
        "runs-without-the-offset",
        MAXIMAL + "objects_nested.py",
        'np.searchsorted(stops, rows.at + rows.piece.offset, "right")',
        'np.searchsorted(stops, rows.at, "right")',
        (OBJECTS + "test_as_a_child_and_as_categories[runs, cut]",),
        "runs of a slice are those of the whole",
    ),
    Mutant(
        "run-ends-inclusive",
        MAXIMAL + "objects_nested.py",
        'rows.piece.offset, "right")',
        'rows.piece.offset, "left")',
        ("tests/test_objects_hostile.py::test_a_lie_is_refused_and_named[more runs than values]",),
        "the first element of a run is of the one before",
    ),
    Mutant(
        "bits-as-objects-without-the-offset",
        MAXIMAL + "objects.py",
        "    at = rows.at + rows.piece.offset\n    bits",
        "    at = rows.at\n    bits",
        (OBJECTS + "test_chunks_follow_one_another[bool, bit 8]",),
        "a slice begins with the whole",
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
