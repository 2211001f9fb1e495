"""Mutants of what is missing: masks inverted, bits in another order, sentinels that mark something else.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
BATTERY_HERE = "tests/test_battery_here.py::"
COLUMN = "tests/test_column.py::"
COLUMN_ARRAY = "tests/test_column_array.py::"
COLUMN_DLPACK = "tests/test_column_dlpack.py::"
COLUMN_FROM_NUMPY = "tests/test_column_from_numpy.py::"
CONTRADICTIONS = "tests/test_contradictions.py::"
OBJECTS = "tests/test_objects.py::"
PANDAS_SOURCE = "tests/test_pandas_source.py::"
PERMISSION = "tests/test_permission.py::"
REFUSALS = "tests/test_refusals.py::"
TABLE_ARRAY = "tests/test_table_array.py::"
TABLE_INTERCHANGE = "tests/test_table_interchange.py::"

MUTANTS = [
    Mutant(
        "bit-mask-inverted",
        SHARED + "validity.py",
        "~bits if missing else bits",
        "bits if missing else ~bits",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[maximal-days]",),
        "what is missing is there, and what is there missing",
    ),
    Mutant(
        "polarity-of-a-bit-mask-ignored",
        SHARED + "validity.py",
        "~bits if missing else bits",
        "bits",
        (BATTERY_HERE + "test_is_right[minimal-bitmask-inverted-offset-0]",),
        "of polars' masks 0 means missing, of others 1",
    ),
    Mutant(
        "byte-mask-inverted",
        SHARED + "validity.py",
        "        return raw == 0, True\n",
        "        return raw != 0, True\n",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[maximal-byte mask]",),
        "what is missing is there, and what is there missing",
    ),
    Mutant(
        "bits-from-the-most-significant",
        SHARED + "validity.py",
        'bitorder="little")[phase:]',
        'bitorder="big")[phase:]',
        (OBJECTS + "test_more_digits_than_the_context_has",),
        "each eight elements are reversed",
    ),
    Mutant(
        "mask-too-short",
        SHARED + "validity.py",
        "    part.require(-(-end // 8), ",
        "    part.require(end // 8, ",
        (BATTERY_HERE + "test_is_right[minimal-short-bitmask]",),
        "the last bits are read behind the end",
    ),
    Mutant(
        "byte-mask-too-short",
        SHARED + "validity.py",
        '    part.require(chunk.offset + chunk.size, f"{chunk.window} bytes")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-short-bytemask]",),
        "a mask is read behind its end",
    ),
    Mutant(
        "count-of-missing-not-compared",
        SHARED + "validity.py",
        "if announced is not None and 0 <= announced != count:",
        "if False:",
        (BATTERY_HERE + "test_is_right[minimal-bytemask-null-count-0-of-1]",),
        "a mask that is not one is believed",
    ),
    Mutant(
        "mask-of-any-value",
        SHARED + "validity.py",
        "    if missing not in (0, 1):\n",
        "    if False:\n",
        (REFUSALS + "TestContradictions::test_a_byte_of_a_mask_that_means_neither[2]",),
        "a mask's value that means nothing",
    ),
    Mutant(
        "no-mask-although-missing",
        SHARED + "validity.py",
        "        if (announced := chunk.null_count()) == 0:\n",
        "        if True:\n",
        (CONTRADICTIONS + "test_a_number_of_any_length_gets_its_error[null_count]",),
        "what is missing comes to life",
    ),
    Mutant(
        "mask-of-another-type",
        SHARED + "validity.py",
        "    if not MASKS.get((chunk.null_kind, (part.dtype.kind, part.dtype.bits)), False):\n",
        "    if False:\n",
        (BATTERY_HERE + "test_is_right[minimal-bytemask-announced-bool1]",),
        "bits are read as bytes",
    ),
    Mutant(
        "bools-of-any-byte",
        SHARED + "validity.py",
        "return (raw != 0, True) if raw.max(initial=0) > 1 else (raw.view(np.bool_), False)",
        "return raw.view(np.bool_), False",
        (COLUMN_ARRAY + "TestCopies::test_values[column2-expected2]",),
        "a NumPy bool of 2 is neither true nor false",
    ),
    Mutant(
        "sentinel-ignored",
        SHARED + "validity.py",
        "        present = _unequal(chunk, stored, chunk.null_value)\n",
        "        present = None\n",
        (COLUMN_ARRAY + "TestCopies::test_objects[column1-expected1]",),
        "what is missing comes to life",
    ),
    Mutant(
        "nat-ignored",
        SHARED + "validity.py",
        "        present = _unequal(chunk, stored, NAT)\n",
        "        present = None\n",
        (OBJECTS + "test_chunks_follow_one_another[NaT]",),
        "what is missing comes to life",
    ),
    Mutant(
        "nan-inverted",
        SHARED + "validity.py",
        "        present = ~np.isnan(stored)\n",
        "        present = np.isnan(stored)\n",
        (COLUMN_ARRAY + "TestDtype::test_missing_without_a_value_for_it[U5]",),
        "what is there is missing",
    ),
    Mutant(
        "nan-on-integers",
        SHARED + "validity.py",
        "        if chunk.dtype.kind != DtypeKind.FLOAT:\n",
        "        if False:\n",
        (REFUSALS + "TestContradictions::test_integers_have_no_nan",),
        "a null kind that cannot be is taken",
    ),
    Mutant(
        "nan-as-a-sentinel",
        SHARED + "validity.py",
        "        if np.isnan(held):\n",
        "        if False:\n",
        (CONTRADICTIONS + "TestSentinels::test_numbers[[nan  1.]-(2, 64, 'g', '=')-nan-[True, False]]",),
        "NaN equals nothing: what is missing comes to life",
    ),
    Mutant(
        "sentinel-rounded",
        SHARED + "validity.py",
        "return stored != held if exact else None",
        "return stored != held",
        (
            (
                CONTRADICTIONS + "TestSentinels::test_numbers[[2.048e+03 1.000e+00]-(2, 16, 'e', "
                "'=')-2049.0-[False, False]]"
            ),
        ),
        "2**53 + 1 marks 2**53",
    ),
    Mutant(
        "sentinel-out-of-bounds",
        SHARED + "validity.py",
        "return stored != stored.dtype.type(number) if bounds.min <= number <= bounds.max else None",
        "return stored != np.array(number % 256).astype(stored.dtype)",
        (COLUMN_FROM_NUMPY + "test_types[M8[ns]-expected17]",),
        "a sentinel that the type cannot hold marks another value",
    ),
    Mutant(
        "ones-counted-as-missing",
        MAXIMAL + "nulls.py",
        "return ones if piece.null[1] else piece.size - ones",
        "return piece.size - ones if piece.null[1] else ones",
        (COLUMN_DLPACK + "TestMissing::test_masks[null1]",),
        "the count is of what is there",
    ),
    Mutant(
        "bits-before-a-slice-counted",
        MAXIMAL + "nulls.py",
        "    return found - before.bit_count() - after.bit_count()\n",
        "    return found - after.bit_count()\n",
        (COLUMN + "test_cutting_copies_nothing_and_counts_anew",),
        "the count of a slice is of more than it",
    ),
    Mutant(
        "bits-behind-a-slice-counted",
        MAXIMAL + "nulls.py",
        "    return found - before.bit_count() - after.bit_count()\n",
        "    return found - before.bit_count()\n",
        (COLUMN_DLPACK + "TestMissing::test_masks[null1]",),
        "the count of a slice is of more than it",
    ),
    Mutant(
        "mask-of-a-column-inverted",
        MAXIMAL + "nulls.py",
        "piece.validity_offset, piece.size) != value",
        "piece.validity_offset, piece.size) == value",
        (OBJECTS + "test_more_digits_than_the_context_has",),
        "what is missing is there, and what is there missing",
    ),
    Mutant(
        "byte-mask-of-a-column-inverted",
        MAXIMAL + "nulls.py",
        "there = (mask != 0) != bool(value)",
        "there = (mask != 0) == bool(value)",
        (COLUMN_FROM_NUMPY + "TestMasked::test_nan_beside_a_mask_is_a_number",),
        "what is missing is there, and what is there missing",
    ),
    Mutant(
        "byte-mask-of-a-column-by-one",
        MAXIMAL + "nulls.py",
        "there = (mask != 0) != bool(value)",
        "there = mask != value",
        (COLUMN + "test_a_byte_of_a_mask_is_true_where_it_is_not_0[1]",),
        "a byte of 2 is true",
    ),
    Mutant(
        "count-of-the-whole-for-a-slice",
        MAXIMAL + "piece.py",
        "null_count=UNKNOWN if self.null_count and stop > start else 0",
        "null_count=self.null_count",
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[as_table-numbers and bits]",),
        "a slice has more missing than it has",
    ),
    Mutant(
        "mask-packed-from-the-most-significant",
        MAXIMAL + "convert.py",
        'flags]), bitorder="little")',
        'flags]), bitorder="big")',
        (TABLE_INTERCHANGE + "test_foreign_memory_is_not_written_to[maximal-days]",),
        "each eight elements are reversed",
    ),
    Mutant(
        "values-under-a-mask-given-away",
        MAXIMAL + "convert.py",
        "        rows.reshape(-1, width)[~there] = 0\n",
        "        pass\n",
        (PERMISSION + "test_a_copy_has_zeros_where_elements_are_missing",),
        "a copy holds what nobody was to see",
    ),
    Mutant(
        "day-out-of-bounds",
        MAXIMAL + "convert.py",
        "    if not np.array_equal(narrow, days):\n",
        "    if False:\n",
        (PERMISSION + "test_a_day_that_is_too_far_for_32_bits",),
        "a date far away becomes another one",
    ),
    Mutant(
        "time-out-of-bounds",
        MAXIMAL + "column_ndarray.py",
        "    if not ((made.astype(array.dtype) == array) | np.isnat(array)).all():\n",
        "    if False:\n",
        (COLUMN_FROM_NUMPY + "TestTimes::test_too_far_away[M8[Y]]",),
        "a date far away becomes another one",
    ),
    Mutant(
        "wild-mask-of-an-array",
        MAXIMAL + "column_interface.py",
        "(NullKind.USE_BITMASK if bits else NullKind.USE_BYTEMASK, 0)",
        "(NullKind.USE_BITMASK if bits else NullKind.USE_BYTEMASK, 1)",
        ("tests/test_column_interface.py::TestInterface::test_a_mask_says_what_is_there",),
        "in the masks of interfaces what is true is there",
    ),
    Mutant(
        "numpys-mask-inverted",
        MAXIMAL + "column_ndarray.py",
        "null=(NullKind.USE_BYTEMASK, 1)",
        "null=(NullKind.USE_BYTEMASK, 0)",
        (COLUMN_FROM_NUMPY + "TestMasked::test_nan_beside_a_mask_is_a_number",),
        "in NumPy's masks what is true is missing",
    ),
    Mutant(
        "pandas-mask-inverted",
        MAXIMAL + "pandas_source.py",
        "null=(NullKind.USE_BYTEMASK, 1)",
        "null=(NullKind.USE_BYTEMASK, 0)",
        (PANDAS_SOURCE + "test_the_memory_and_the_nulls_are_those_of_pandas[Float64-whole]",),
        "in pandas' masks what is true is missing",
        peers=("pandas",),
    ),
    Mutant(
        "pandas-codes-of-missing",
        MAXIMAL + "pandas_source.py",
        "null=(NullKind.USE_SENTINEL, -1), null_count=UNKNOWN",
        "null=(NullKind.NON_NULLABLE, None), null_count=0",
        (PANDAS_SOURCE + "test_owners_outlive_the_series[category]",),
        "code -1 is the last category",
        peers=("pandas",),
    ),
    Mutant(
        "interface-of-what-is-missing",
        MAXIMAL + "column_interface.py",
        "    if not says_itself(piece, type) and (missing := count(piece, type)):\n",
        "    if False:\n",
        (COLUMN_ARRAY + "TestCopies::test_objects[column1-expected1]",),
        "what is missing comes to life",
    ),
    Mutant(
        "cuda-interface-of-what-is-missing",
        MAXIMAL + "column_interface.py",
        "    elif not says_itself(piece, type) and count(piece, type):\n",
        "    elif False:\n",
        (COLUMN_ARRAY + "TestCuda::test_what_it_cannot_say[null2]",),
        "what is missing comes to life",
    ),
    Mutant(
        "dlpack-of-what-is-missing",
        MAXIMAL + "column_dlpack.py",
        "    _refuse_missing(column)\n",
        "",
        (TABLE_ARRAY + "test_what_a_tensor_cannot_say_is_an_error[columns2-missing]",),
        "what is missing comes to life",
    ),
    Mutant(
        "table-of-what-is-missing",
        MAXIMAL + "table_array.py",
        "return says_itself(piece, column._type) or not count(piece, column._type)",
        "return True",
        (TABLE_ARRAY + "test_where_elements_are_missing_columns_are_no_array_as_they_lie",),
        "what is missing comes to life",
    ),
    Mutant(
        "rows-that-are-missing",
        MAXIMAL + "arrow_source.py",
        '        if array.null_count and "validity" in array.buffers:\n',
        "        if False:\n",
        (REFUSALS + "TestContradictions::test_rows_that_are_missing",),
        "rows that are missing come to life",
    ),
    Mutant(
        "dlpack-in-foreign-byte-order",
        MAXIMAL + "column_dlpack.py",
        "    elif width > 1 and column._type.dtype.order not in NATIVE:\n",
        "    elif False:\n",
        (COLUMN_DLPACK + "TestOut::test_what_needs_a_copy[column0-i2-None]",),
        "numbers are others",
    ),
    Mutant(
        "arrow-in-foreign-byte-order",
        MAXIMAL + "convert.py",
        "return piece.stride == type.width and (type.dtype.order in NATIVE or type.dtype.bits <= 8)",
        "return piece.stride == type.width",
        ("tests/test_table.py::test_both_readers_take_it[minimal]",),
        "numbers are others",
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
