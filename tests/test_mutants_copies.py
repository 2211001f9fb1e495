"""Mutants of permission to copy: `allow_copy` and `copy` that are ignored.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

MAXIMAL = "maximal/buflend/maximal/"
COLUMN_ARGUMENTS = "tests/test_column_arguments.py::"
COLUMN_ARRAY = "tests/test_column_array.py::"
COLUMN_CORNERS = "tests/test_column_corners.py::"
COLUMN_FROM_NUMPY = "tests/test_column_from_numpy.py::"
PERMISSION = "tests/test_permission.py::"
REFUSALS = "tests/test_refusals.py::"
TABLE = "tests/test_table.py::"
TABLE_ARRAY = "tests/test_table_array.py::"

MUTANTS = [
    Mutant(
        "array-cast-without-a-word",
        MAXIMAL + "buffer.py",
        "            if copy is False:\n",
        "            if False:\n",
        (PERMISSION + "TestArrayOfABuffer::test_another_type_is_a_copy",),
        "copy=False copies",
    ),
    Mutant(
        "array-not-copied",
        MAXIMAL + "buffer.py",
        "return view.copy() if copy else view",
        "return view",
        (PERMISSION + "TestArrayOfABuffer::test_a_copy_is_one",),
        "who asked for a copy writes to the original",
    ),
    Mutant(
        "array-always-copied",
        MAXIMAL + "buffer.py",
        "return view.copy() if copy else view",
        "return view.copy()",
        (
            (
                "tests/test_export_consumers.py::TestEveryConsumer::test_the_owner_is_returned_once_and_not_befor"
                "e[numpy.asarray of __array__]"
            ),
        ),
        "a gigabyte is copied, and nobody asked for it",
    ),
    Mutant(
        "column-copied-without-a-word",
        MAXIMAL + "column_array.py",
        "        if not self.allowed:\n",
        "        if False:\n",
        (COLUMN_ARRAY + "TestCopies::test_objects[column1-expected1]",),
        "copy=False copies",
    ),
    Mutant(
        "column-copied-although-it-is-said",
        MAXIMAL + "column_array.py",
        "copies = _Copies(allowed=copy is not False)",
        "copies = _Copies(allowed=True)",
        (COLUMN_ARRAY + "TestCopies::test_objects[column1-expected1]",),
        "copy=False copies",
    ),
    Mutant(
        "column-not-copied",
        MAXIMAL + "column_array.py",
        "return values.copy() if copy and not copies.made else values",
        "return values",
        (COLUMN_ARRAY + "TestViews::test_copy",),
        "who asked for a copy writes to the original",
    ),
    Mutant(
        "chunks-of-an-array-joined-without-a-word",
        MAXIMAL + "column_array.py",
        '    copies.need(f"the column has {len(found)} chunks")\n',
        "",
        (COLUMN_ARRAY + "TestCopies::test_values[column0-expected0]",),
        "copy=False copies",
    ),
    Mutant(
        "table-copied-without-a-word",
        MAXIMAL + "table_array.py",
        "    if copy is False:\n        raise ValueError",
        "    if False:\n        raise ValueError",
        (TABLE_ARRAY + "test_others_become_one_in_a_copy[columns1-i2]",),
        "copy=False copies",
    ),
    Mutant(
        "table-out-copied-without-a-word",
        MAXIMAL + "table_array.py",
        "    if copy is False:\n        raise BufferError",
        "    if False:\n        raise BufferError",
        (TABLE_ARRAY + "test_tensors_of_columns_that_lie_apart_are_copied",),
        "copy=False copies",
    ),
    Mutant(
        "table-not-copied",
        MAXIMAL + "table_array.py",
        "return view.copy() if copy else view",
        "return view",
        (TABLE_ARRAY + "test_rows_that_were_cut_and_a_copy",),
        "who asked for a copy writes to the original",
    ),
    Mutant(
        "dlpack-out-copied-without-a-word",
        MAXIMAL + "column_dlpack.py",
        "    if copy is False:\n",
        "    if False:\n",
        ("tests/test_column_dlpack.py::TestOut::test_what_needs_a_copy[column1-?-expected1]",),
        "copy=False copies",
    ),
    Mutant(
        "interchange-out-always-copies",
        MAXIMAL + "column_interchange.py",
        'copy = Context(f"column {column.name!r}", allow_copy).copy',
        'copy = Context(f"column {column.name!r}", True).copy',
        (TABLE + "test_without_leave_to_copy_memory_is_the_same_or_an_error_is_raised",),
        "allow_copy=False copies",
    ),
    Mutant(
        "permission-of-a-frame-lost",
        MAXIMAL + "table_parts.py",
        "return self._with(self._names, self._columns, allow_copy=allow_copy)",
        "return self._with(self._names, self._columns, allow_copy=True)",
        (TABLE + "test_without_leave_to_copy_memory_is_the_same_or_an_error_is_raised",),
        "allow_copy=False copies",
    ),
    Mutant(
        "strides-out-without-a-word",
        MAXIMAL + "convert.py",
        '    copy("elements are strided" if piece.stride != type.width else "elements are in foreign byte order")\n',
        "",
        (TABLE + "test_without_leave_to_copy_memory_is_the_same_or_an_error_is_raised",),
        "allow_copy=False copies",
    ),
    Mutant(
        "days-narrowed-without-a-word",
        MAXIMAL + "convert.py",
        '    copy("days of 64 bits become 32 bits wide")\n',
        "",
        (PERMISSION + "TestInterchange::test_a_copy_is_made_where_it_may_be[days]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "bools-packed-without-a-word",
        MAXIMAL + "convert.py",
        '    copy("booleans are packed in bits")\n',
        "",
        (REFUSALS + "test_what_needed_a_copy_for_arrow_is_not_kept",),
        "what a copy holds is taken for the column's, and kept",
    ),
    Mutant(
        "nulls-packed-without-a-word",
        MAXIMAL + "nulls.py",
        '    copy("what is missing becomes a bit mask")\n',
        "",
        (PERMISSION + "TestInterchange::test_a_copy_is_made_where_it_may_be[missing days]",),
        "what a copy holds is taken for the column's, and kept",
    ),
    Mutant(
        "mask-shifted-without-a-word",
        MAXIMAL + "nulls.py",
        '    copy("the mask is not in step with the data")\n',
        "",
        (PERMISSION + "TestInterchange::test_a_copy_is_made_where_it_may_be[mask out of step]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "views-gathered-without-a-word",
        MAXIMAL + "column_interchange.py",
        '        copy("text in views is gathered between offsets")\n',
        "",
        (PERMISSION + "TestInterchange::test_a_copy_is_made_where_it_may_be[views]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "numpy-text-copied-without-a-word",
        MAXIMAL + "column_text.py",
        '    copy("text becomes UTF-8")\n',
        "",
        (COLUMN_ARGUMENTS + "test_errors_of_a_mapping_name_the_column",),
        "allow_copy=False copies",
    ),
    Mutant(
        "times-cast-without-a-word",
        MAXIMAL + "column_ndarray.py",
        '    copy(f"times in units of {count} {unit} become {known}")\n',
        "",
        (COLUMN_FROM_NUMPY + "TestTimes::test_units_that_arrow_lacks[M8[10s]-given8-tss:-20]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "mask-joined-without-a-word",
        MAXIMAL + "column_ndarray.py",
        '        copy("NaT joins what the mask marks")\n',
        "        pass\n",
        (COLUMN_FROM_NUMPY + "TestMasked::test_nat_joins_the_mask",),
        "allow_copy=False copies",
    ),
    Mutant(
        "array-read-with-copies",
        MAXIMAL + "sources.py",
        "        return from_ndarray(obj, allow_copy=allow_copy)",
        "        return from_ndarray(obj)",
        (COLUMN_ARGUMENTS + "test_errors_of_a_mapping_name_the_column",),
        "allow_copy=False copies",
    ),
    Mutant(
        "series-read-with-copies",
        MAXIMAL + "sources.py",
        "return from_series(obj, allow_copy=allow_copy)",
        "return from_series(obj, allow_copy=True)",
        ("tests/test_pandas_source.py::test_strings_that_are_objects_are_copied[objects]",),
        "allow_copy=False copies",
        peers=("pandas",),
    ),
    Mutant(
        "mapping-read-with-copies",
        MAXIMAL + "sources.py",
        "Table({name: _named(name, value, allow_copy=allow_copy) for",
        "Table({name: _named(name, value, allow_copy=True) for",
        (COLUMN_ARGUMENTS + "test_errors_of_a_mapping_name_the_column",),
        "allow_copy=False copies",
    ),
    Mutant(
        "foreign-column-read-with-copies",
        MAXIMAL + "sources.py",
        'return read_column(obj, Context("column", allow_copy))',
        'return read_column(obj, Context("column", True))',
        (REFUSALS + "TestCopies::test_of_a_table_of_ours[offsets]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "foreign-frame-read-with-copies",
        MAXIMAL + "sources.py",
        "return Table(read_frame(obj, allow_copy=allow_copy))",
        "return Table(read_frame(obj, allow_copy=True))",
        ("tests/test_battery_here.py::test_a_table_refuses_what_cannot_be_before_it_is_one[no-copy-producer-refuses]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "codes-widened-without-a-word",
        MAXIMAL + "interchange_source.py",
        '        context.copy("codes of several types become 64 bits wide")\n',
        "",
        (REFUSALS + "TestCopies::test_of_a_table_of_ours[codes]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "offsets-swapped-without-a-word",
        MAXIMAL + "interchange_source.py",
        '    chunk.context.copy("the offsets are not in native byte order")\n',
        "",
        (REFUSALS + "TestCopies::test_of_a_table_of_ours[offsets]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "objects-made-without-a-word",
        MAXIMAL + "frame.py",
        '    context.copy(f"values of type {column.dtype.format!r} become Python objects")\n',
        "",
        (REFUSALS + "TestCopies::test_values_that_become_objects",),
        "allow_copy=False copies",
    ),
    Mutant(
        "form-of-copies-kept",
        MAXIMAL + "arrow_form.py",
        "    if not copies:\n        column._form = form\n",
        "    column._form = form\n",
        (COLUMN_CORNERS + "test_what_goes_missing_after_an_export_is_missing_in_the_next[changed_times]",),
        "a column holds copies of its own, and exports what it was",
    ),
    Mutant(
        "arrow-form-pickled",
        MAXIMAL + "arrow_dunders.py",
        'return None, state[1] | {"_form": None}',
        "return None, state[1]",
        (COLUMN_CORNERS + "test_a_copy_lends_its_own_memory[table-deepcopy]",),
        "a copy of a column exports the original's memory",
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
