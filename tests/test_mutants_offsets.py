"""Mutants of offsets of columns and tables, and outwards: applied twice or not at all, in elements instead of bytes.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
COLUMN = "tests/test_column.py::"
COLUMN_ARRAY = "tests/test_column_array.py::"
COLUMN_DLPACK = "tests/test_column_dlpack.py::"
COLUMN_INTERFACE = "tests/test_column_interface.py::"
PERMISSION = "tests/test_permission.py::"
REFUSALS = "tests/test_refusals.py::"
TABLE_ARRAY = "tests/test_table_array.py::"
TABLE_INTERCHANGE = "tests/test_table_interchange.py::"

MUTANTS = [
    Mutant(
        "offset-of-an-exporter-lost",
        MAXIMAL + "array_interface.py",
        "return address + offset, nbytes, (view",
        "return address, nbytes, (view",
        ("tests/test_interfaces_import.py::TestInterfaceOverAnExporter::test_offset_and_access[memoryview-8]",),
        "other bytes are read",
    ),
    Mutant(
        "offset-of-a-columns-exporter-lost",
        MAXIMAL + "column_interface.py",
        'foreign_integer(found.get("offset", 0)',
        "foreign_integer(0",
        (COLUMN_INTERFACE + "TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "other elements are read",
    ),
    Mutant(
        "negative-strides-from-the-first-item",
        MAXIMAL + "column_interface.py",
        "(ptr + min(reach, 0), abs(reach)",
        "(ptr, abs(reach)",
        (
            (
                COLUMN_INTERFACE + "test_numbers_that_can_be_no_memory_are_the_producers_fault[{'data': (4, "
                "False), 'shape': (10,), 'strides': (-8,)}]"
            ),
        ),
        "memory behind the end is read",
    ),
    Mutant(
        "first-item-of-negative-strides",
        MAXIMAL + "column_interface.py",
        "byte_offset=max(-reach, 0), stride=stride)\n    return _with_mask",
        "byte_offset=0, stride=stride)\n    return _with_mask",
        (COLUMN_INTERFACE + "TestCuda::test_numbers",),
        "elements are read before the first",
    ),
    Mutant(
        "first-item-of-a-mask",
        MAXIMAL + "column_interface.py",
        "validity_offset=0 if bits else max(-reach, 0)",
        "validity_offset=0",
        (COLUMN_INTERFACE + "TestInterface::test_a_mask_is_read_where_it_lies[-2-5-[5, 3, 1]]",),
        "other elements are missing",
    ),
    Mutant(
        "stride-of-a-mask-lost",
        MAXIMAL + "column_interface.py",
        "validity_stride=1 if bits else stride",
        "validity_stride=1",
        (COLUMN_INTERFACE + "TestInterface::test_a_mask_is_read_where_it_lies[2-3-[3, 5, 7]]",),
        "other elements are missing",
    ),
    Mutant(
        "interface-out-without-the-offset",
        MAXIMAL + "column_interface.py",
        "return data.ptr + piece.byte_offset + piece.offset * piece.stride if",
        "return data.ptr + piece.byte_offset if",
        (COLUMN_ARRAY + "TestViews::test_same_memory[e-e-f2]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "interface-out-with-the-offset-in-elements",
        MAXIMAL + "column_interface.py",
        "return data.ptr + piece.byte_offset + piece.offset * piece.stride if",
        "return data.ptr + piece.byte_offset + piece.offset if",
        (COLUMN_ARRAY + "TestViews::test_same_memory[e-e-f2]",),
        "elements begin within others",
    ),
    Mutant(
        "interface-out-without-the-start",
        MAXIMAL + "column_interface.py",
        "return data.ptr + piece.byte_offset + piece.offset",
        "return data.ptr + piece.offset",
        (COLUMN_ARRAY + "TestCuda::test_a_byte_mask_whose_zeros_mean_missing",),
        "of what runs backwards the last element is the first",
    ),
    Mutant(
        "negative-tensor-from-its-first-element",
        MAXIMAL + "column_dlpack.py",
        "(tensor.ptr + min(reach, 0), abs(reach)",
        "(tensor.ptr, abs(reach)",
        (COLUMN_DLPACK + "TestIn::test_strides_and_offset",),
        "memory behind the end is read",
    ),
    Mutant(
        "first-element-of-a-negative-tensor",
        MAXIMAL + "column_dlpack.py",
        "byte_offset=max(-reach, 0)",
        "byte_offset=0",
        (COLUMN_DLPACK + "TestIn::test_strides_and_offset",),
        "elements are read before the first",
    ),
    Mutant(
        "strides-of-dlpack-taken-for-bytes",
        MAXIMAL + "column_dlpack.py",
        "stride = tensor.strides[0] * width",
        "stride = tensor.strides[0]",
        ("tests/test_streams_host.py::TestTheHost::test_columns_of_managed_memory",),
        "elements begin within others",
    ),
    Mutant(
        "dlpack-out-without-the-offset",
        MAXIMAL + "column_dlpack.py",
        "(piece.byte_offset + piece.offset * piece.stride if",
        "(piece.byte_offset if",
        (COLUMN_ARRAY + "TestParts::test_data_as_numbers_of_its_width",),
        "a slice begins with the whole",
    ),
    Mutant(
        "dlpack-out-with-the-offset-twice",
        MAXIMAL + "column_dlpack.py",
        "(piece.byte_offset + piece.offset * piece.stride if",
        "(piece.byte_offset + 2 * piece.offset * piece.stride if",
        (COLUMN_ARRAY + "TestParts::test_data_as_numbers_of_its_width",),
        "a slice ends behind the end",
    ),
    Mutant(
        "dlpack-out-with-the-offset-in-elements",
        MAXIMAL + "column_dlpack.py",
        "(piece.byte_offset + piece.offset * piece.stride if",
        "(piece.byte_offset + piece.offset if",
        (COLUMN_ARRAY + "TestParts::test_data_as_numbers_of_its_width",),
        "elements begin within others",
    ),
    Mutant(
        "dlpack-out-without-the-start",
        MAXIMAL + "column_dlpack.py",
        "(piece.byte_offset + piece.offset * piece.stride if",
        "(piece.offset * piece.stride if",
        (COLUMN_DLPACK + "TestDevices::test_memory_is_described_and_not_read",),
        "of what runs backwards the last element is the first",
    ),
    Mutant(
        "strides-of-dlpack-out-in-bytes",
        MAXIMAL + "column_dlpack.py",
        "step = piece.stride // width if",
        "step = piece.stride if",
        (COLUMN_ARRAY + "TestParts::test_data_as_numbers_of_its_width",),
        "the consumer reads behind the end",
    ),
    Mutant(
        "strides-of-a-shell-in-elements",
        SHARED + "dlpack_export.py",
        "tuple(step * width for step in tensor.strides)",
        "tensor.strides",
        (COLUMN_ARRAY + "TestParts::test_data_as_numbers_of_its_width",),
        "elements begin within others",
    ),
    Mutant(
        "arrow-out-with-the-offset-twice",
        MAXIMAL + "arrow_form.py",
        "        moved, offset = offset, 0  #",
        "        moved = offset  #",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[bytes]",),
        "a slice ends behind the end",
    ),
    Mutant(
        "arrow-out-without-the-offset",
        MAXIMAL + "arrow_form.py",
        "        moved, offset = offset, 0  #",
        "        offset = 0  #",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[two bytes]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "arrow-out-without-the-start",
        MAXIMAL + "arrow_form.py",
        '"data": piece.byte_offset + moved * type.width,',
        '"data": moved * type.width,',
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[bytes]",),
        "other elements go out",
    ),
    Mutant(
        "arrow-out-with-the-offset-in-elements",
        MAXIMAL + "arrow_form.py",
        '"data": piece.byte_offset + moved * type.width,',
        '"data": piece.byte_offset + moved,',
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[two bytes]",),
        "elements begin within others",
    ),
    Mutant(
        "offsets-of-a-union-in-elements",
        MAXIMAL + "arrow_form.py",
        '"offsets": moved * 4}',
        '"offsets": moved}',
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a dense union]",),
        "members are looked for within offsets",
    ),
    Mutant(
        "members-of-a-union-uncut",
        MAXIMAL + "arrow_form.py",
        "child[cut] if moved and not layout.offset_bits else child",
        "child",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a sparse union]",),
        "a slice of a sparse union has the members of the whole",
    ),
    Mutant(
        "dense-members-cut",
        MAXIMAL + "arrow_form.py",
        "child[cut] if moved and not layout.offset_bits else child",
        "child[cut] if moved else child",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a dense union]",),
        "offsets of a dense union count from the start of its members",
    ),
    Mutant(
        "offset-of-arrow-struct-lost",
        SHARED + "arrow_export.py",
        "write(words, 0, length, null_count, offset, n_buffers,",
        "write(words, 0, length, null_count, 0, n_buffers,",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[a mask]",),
        "a slice begins with the whole",
    ),
    Mutant(
        "cut-from-the-start",
        MAXIMAL + "piece.py",
        "            offset=self.offset + start,\n",
        "            offset=start,\n",
        ("tests/test_column_arguments.py::test_integers_of_any_library_are_taken",),
        "a slice of a slice begins with the whole",
    ),
    Mutant(
        "mask-not-cut",
        MAXIMAL + "piece.py",
        "validity_offset=self.validity_offset + start * self.validity_stride",
        "validity_offset=self.validity_offset",
        (COLUMN_DLPACK + "TestMissing::test_masks[null1]",),
        "other elements are missing",
    ),
    Mutant(
        "mask-cut-by-elements",
        MAXIMAL + "piece.py",
        "validity_offset=self.validity_offset + start * self.validity_stride",
        "validity_offset=self.validity_offset + start",
        (COLUMN_ARRAY + "TestParts::test_a_byte_mask",),
        "a strided mask is cut elsewhere",
    ),
    Mutant(
        "slice-of-chunks-from-each-start",
        MAXIMAL + "parts.py",
        "low, high = max(start - before, 0), min(stop - before, piece.size)",
        "low, high = max(start, 0), min(stop, piece.size)",
        (COLUMN + "test_chunks",),
        "a slice takes from every chunk",
    ),
    Mutant(
        "fields-of-a-struct-uncut",
        MAXIMAL + "parts.py",
        "tuple(child[piece.offset : piece.offset + piece.size] for child in piece.children)",
        "piece.children",
        (COLUMN + "test_the_fields_of_what_was_cut_are_cut",),
        "the fields of a slice are those of the whole",
    ),
    Mutant(
        "table-out-without-the-offset",
        MAXIMAL + "table_array.py",
        ".ptr + piece.byte_offset + piece.offset * piece.stride for piece",
        ".ptr + piece.byte_offset for piece",
        (TABLE_ARRAY + "test_rows_that_were_cut_and_a_copy",),
        "a slice begins with the whole",
    ),
    Mutant(
        "table-out-with-strides-in-bytes",
        MAXIMAL + "table_array.py",
        "strides = found.strides[0] // width, found.strides[1] // width",
        "strides = found.strides",
        (TABLE_ARRAY + "test_even_columns_are_one_array_as_they_lie[1-C]",),
        "the consumer reads behind the end",
    ),
    Mutant(
        "array-that-runs-backwards-from-its-first",
        MAXIMAL + "column_ndarray.py",
        '["data"][0] + min(reach, 0)',
        '["data"][0]',
        (COLUMN_INTERFACE + "TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "memory behind the end is lent",
    ),
    Mutant(
        "interchange-out-without-the-start",
        MAXIMAL + "column_interchange.py",
        "moved = byte_range(data, piece.byte_offset, data._bufsize)",
        "moved = data",
        (PERMISSION + "TestInterchange::test_where_the_elements_start",),
        "the protocol has no such offset: other elements are read",
    ),
    Mutant(
        "interchange-out-with-the-offset-twice",
        MAXIMAL + "column_interchange.py",
        "offset, buffers = piece.offset - moved, dict",
        "offset, buffers = piece.offset, dict",
        ("tests/test_column_corners.py::test_a_bitmap_that_nothing_asks_for_is_not_cut",),
        "a slice ends behind the end",
    ),
    Mutant(
        "interchange-out-cut-off",
        MAXIMAL + "column_interchange.py",
        "end = start - (-(offset + piece.size + more) * step // 8)",
        "end = start - (-(piece.size + more) * step // 8)",
        (TABLE_INTERCHANGE + "test_nothing_but_pointers_moves_where_the_protocol_can_say_a_column",),
        "a slice ends before its last element",
    ),
    Mutant(
        "mask-out-of-step",
        MAXIMAL + "nulls.py",
        "    if shift % unit or shift < 0:\n",
        "    if shift < 0:\n",
        (PERMISSION + "TestInterchange::test_a_copy_is_made_where_it_may_be[mask out of step]",),
        "up to seven other elements are missing",
    ),
    Mutant(
        "mask-moved-by-bits",
        MAXIMAL + "nulls.py",
        "byte_range(mask, shift // unit, mask._bufsize)",
        "byte_range(mask, shift, mask._bufsize)",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[minimal-views]",),
        "other elements are missing",
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
