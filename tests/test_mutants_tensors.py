"""Mutants of DLPack's structs and of what is one range of bytes: tensors that lie.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
COLUMN_DLPACK = "tests/test_column_dlpack.py::"
DLPACK_EXPORT = "tests/test_dlpack_export.py::"
DLPACK_IMPORT = "tests/test_dlpack_import.py::"
EXPORT_CONSUMERS = "tests/test_export_consumers.py::"
INTERFACES_IMPORT = "tests/test_interfaces_import.py::"
LIGHT_EXPORT = "tests/test_light_export.py::"
NATIVE = "tests/test_native.py::"

MUTANTS = [
    Mutant(
        "dimensions-without-end",
        SHARED + "dlpack_import.py",
        "if not 0 <= ndim <= _MOST_DIMENSIONS:",
        "if not 0 <= ndim:",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[ndim 10**9-versioned]",),
        "a shape is read behind its end",
    ),
    Mutant(
        "dimensions-below-0",
        SHARED + "dlpack_import.py",
        "if not 0 <= ndim <= _MOST_DIMENSIONS:",
        "if not ndim <= _MOST_DIMENSIONS:",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[ndim -1-versioned]",),
        "a shape is read behind its end",
    ),
    Mutant(
        "bits-against-the-code",
        SHARED + "dlpack_import.py",
        "or bits != FIXED_BITS.get(code, bits):",
        "or False:",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[fp8 of 4 bits-legacy]",),
        "float8 of 32 bits: the size is four times too large",
    ),
    Mutant(
        "no-lanes",
        SHARED + "dlpack_import.py",
        "if not bits or not lanes or",
        "if not bits or",
        (DLPACK_IMPORT + "TestExchangeTable::test_nonsense[{'dtype': (1, 8, 0)}]",),
        "a tensor of elements without a size",
    ),
    Mutant(
        "negative-shape-of-dlpack",
        SHARED + "dlpack_import.py",
        "if min(shape, default=0) < 0:",
        "if min(shape, default=0) < -1:",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[nothing times -1-legacy]",),
        "sizes become negative",
    ),
    Mutant(
        "null-of-dlpack",
        SHARED + "dlpack_import.py",
        "    if nbytes and not data:\n",
        "    if False:\n",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[NULL data, byte_offset-versioned]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "null-shape-of-dlpack",
        SHARED + "dlpack_import.py",
        "    if not address:\n",
        "    if False:\n",
        (DLPACK_IMPORT + "TestNonsense::test_is_refused_by_name_and_returned[NULL shape-legacy]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "bits-below-a-byte-rounded-down",
        SHARED + "dlpack_import.py",
        "nbytes = -(-size * width // 8)",
        "nbytes = size * width // 8",
        (DLPACK_IMPORT + "TestExchangeTable::test_is_read_and_the_object_is_the_owner[fields3-0-2]",),
        "the last elements are cut off",
    ),
    Mutant(
        "padded-elements-packed",
        SHARED + "dlpack_import.py",
        "if flags & IS_SUBBYTE_TYPE_PADDED and bits < 8:",
        "if False:",
        (DLPACK_IMPORT + "TestLayout::test_bytes_of_a_type[dtype31-shape31-4-5]",),
        "half of the elements are cut off",
    ),
    Mutant(
        "strided-tensor-as-one-range",
        MAXIMAL + "dlpack.py",
        "    if not is_contiguous(tensor.shape, tensor.strides):\n",
        "    if False:\n",
        (DLPACK_IMPORT + "TestLayout::test_strided_memory_needs_a_copy[shape9-strides9-versioned]",),
        "memory behind the end is read",
    ),
    Mutant(
        "strided-tensor-of-a-table-as-one-range",
        SHARED + "dlpack_table.py",
        "    if not is_contiguous(tensor.shape, tensor.strides):\n",
        "    if False:\n",
        (DLPACK_IMPORT + "TestExchangeTable::test_strided",),
        "memory behind the end is read",
    ),
    Mutant(
        "backwards-taken-for-forwards",
        SHARED + "dlpack.py",
        "        if step != expected:\n",
        "        if abs(step) != expected:\n",
        (INTERFACES_IMPORT + "TestArrayInterface::test_strided[shape5-strides5-Interface]",),
        "memory behind the end is read, where it lies before the first element",
    ),
    Mutant(
        "overlapping-taken-for-contiguous",
        SHARED + "dlpack.py",
        "        expected *= extent\n",
        "        pass\n",
        (INTERFACES_IMPORT + "TestArrayInterface::test_one_range[shape6-strides6-Interface]",),
        "memory behind the end is read, or what is contiguous is refused",
    ),
    Mutant(
        "fortran-refused",
        SHARED + "dlpack.py",
        "for step, extent in sorted(",
        "for step, extent in list(",
        (INTERFACES_IMPORT + "TestArrayInterface::test_one_range[shape6-strides6-Interface]",),
        "what needs no copy is refused",
    ),
    Mutant(
        "strided-exporter-as-one-range",
        SHARED + "exporter.py",
        "    if not view.contiguous:\n",
        "    if False:\n",
        (INTERFACES_IMPORT + "TestInterfaceOverAnExporter::test_strided_data",),
        "memory behind the end is read",
    ),
    Mutant(
        "objects-exported-as-bytes",
        SHARED + "exporter.py",
        '    if "O" in ',
        '    if "no" in ',
        ("tests/test_buffer.py::TestExporters::test_references_are_no_data",),
        "references are handed out as data, and may be overwritten",
    ),
    Mutant(
        "strided-array-as-one-range",
        MAXIMAL + "native.py",
        "    if not (flags.c_contiguous or flags.f_contiguous):\n",
        "    if False:\n",
        (NATIVE + "TestNdarray::test_strided[columns with a step]",),
        "memory behind the end is read",
    ),
    Mutant(
        "array-of-objects-as-bytes",
        MAXIMAL + "native.py",
        "    if dtype.hasobject:\n",
        "    if False:\n",
        (NATIVE + "TestNdarray::test_strings_of_variable_width",),
        "references are handed out as data, and may be overwritten",
    ),
    Mutant(
        "reach-of-a-tensor-without-the-last",
        MAXIMAL + "column_dlpack.py",
        "abs(reach) + width) if nbytes",
        "abs(reach)) if nbytes",
        ("tests/test_streams_host.py::TestTheHost::test_columns_of_managed_memory",),
        "the last element is refused",
    ),
    Mutant(
        "tensor-of-two-dimensions-as-a-column",
        MAXIMAL + "column_dlpack.py",
        "    if len(tensor.shape) != 1:\n",
        "    if not tensor.shape:\n",
        (COLUMN_DLPACK + "TestIn::test_what_a_column_lacks[fields0]",),
        "rows are taken for elements",
    ),
    Mutant(
        "lanes-as-one-element",
        MAXIMAL + "column_dlpack.py",
        "if lanes != 1 or bits % 8:",
        "if bits % 8:",
        (COLUMN_DLPACK + "TestIn::test_what_a_column_lacks[fields2]",),
        "elements of a vector are lost",
    ),
    Mutant(
        "packed-elements-as-bytes",
        MAXIMAL + "column_dlpack.py",
        "if lanes != 1 or bits % 8:",
        "if lanes != 1:",
        (COLUMN_DLPACK + "TestIn::test_what_a_column_lacks[fields4]",),
        "elements of 4 bits have no size",
    ),
    Mutant(
        "capsule-of-any-name-of-dlpack",
        SHARED + "dlpack_import.py",
        "    if not versioned and not capsule_is_valid(capsule, LEGACY):\n",
        "    if False:\n",
        (DLPACK_IMPORT + "TestCapsules::test_another_name[dltensor_versioned2]",),
        "a used capsule is read: its memory may be gone",
    ),
    Mutant(
        "another-major-version",
        SHARED + "dlpack_import.py",
        "    if major != VERSION[0]:",
        "    if False:",
        (DLPACK_IMPORT + "TestCapsules::test_another_major_version_is_refused_before_anything_else_is_read[2]",),
        "a struct is read whose fields nobody knows",
    ),
    Mutant(
        "only-newer-versions-refused",
        SHARED + "dlpack_import.py",
        "    if major != VERSION[0]:",
        "    if major > VERSION[0]:",
        (DLPACK_IMPORT + "TestCapsules::test_another_major_version_is_refused_before_anything_else_is_read[0]",),
        "version 0 never had this struct",
    ),
    Mutant(
        "used-capsule-deleted-again",
        SHARED + "dlpack_light.py",
        "if number is None and unused(capsule, name):\n",
        "if number is None:\n",
        (LIGHT_EXPORT + "test_any_tensor_is_described_as_it_is",),
        "consumer and capsule both give the memory back",
    ),
    Mutant(
        "unused-capsule-never-deleted",
        SHARED + "dlpack_light.py",
        "            call(at(address + deleter).value)(address)\n",
        "            pass\n",
        (LIGHT_EXPORT + "TestDLPack::test_capsules_that_nobody_takes_are_returned",),
        "the owner is kept for ever",
    ),
    Mutant(
        "deleter-keeps-the-owner",
        SHARED + "dlpack_light.py",
        "        forget(number(address + context).value, None)\n",
        "        pass\n",
        (LIGHT_EXPORT + "TestDLPack::test_capsules_that_nobody_takes_are_returned",),
        "the owner is kept for ever",
    ),
    Mutant(
        "armed-at-exit",
        SHARED + "dlpack_light.py",
        "        ctypes.c_void_p.from_address(field).value = nothing\n",
        "        pass\n",
        (LIGHT_EXPORT + "TestLimits::test_at_exit_the_deleters_do_nothing",),
        "a consumer that outlives the interpreter calls Python that is no more",
    ),
    Mutant(
        "export-of-an-owner-of-none",
        SHARED + "dlpack_export.py",
        "    loan.owner = memory._owner\n",
        "    loan.owner = None\n",
        (EXPORT_CONSUMERS + "test_a_dropped_capsule_returns_the_owner[device0]",),
        "a capsule outlives its memory",
    ),
    Mutant(
        "legacy-dlpack-writable",
        SHARED + "dlpack_import.py",
        "TensorBytes.from_address(address), flags=READ_ONLY)",
        "TensorBytes.from_address(address))",
        (COLUMN_DLPACK + "TestIn::test_access[fields2-True]",),
        "the struct before 1.0 cannot say that memory may be written",
    ),
    Mutant(
        "flag-of-dlpack-ignored",
        SHARED + "dlpack_import.py",
        "device, bool(flags & READ_ONLY)), nbytes",
        "device, False), nbytes",
        (DLPACK_IMPORT + "TestProducers::test_what_does_not_say_that_it_may_be_written_is_read_only",),
        "what the producer forbids is written to",
    ),
    Mutant(
        "flag-of-a-tensor-column-ignored",
        MAXIMAL + "column_dlpack.py",
        "tensor.device, tensor.readonly, tensor.stream), type",
        "tensor.device, False, tensor.stream), type",
        (COLUMN_DLPACK + "TestIn::test_access[fields2-True]",),
        "what the producer forbids is written to",
    ),
    Mutant(
        "exchange-table-writable",
        SHARED + "dlpack_table.py",
        "return tensor.ptr, nbytes, obj, device, True, stream",
        "return tensor.ptr, nbytes, obj, device, False, stream",
        (DLPACK_IMPORT + "TestExchangeTable::test_is_read_and_the_object_is_the_owner[fields2-8-32]",),
        "a table does not say that memory may be written",
    ),
    Mutant(
        "read-only-by-legacy-dlpack",
        SHARED + "dlpack_method.py",
        "if self.tensor.readonly and not versioned and not copy:",
        "if False:",
        (LIGHT_EXPORT + "test_any_tensor_is_described_as_it_is",),
        "the struct before 1.0 cannot say that memory is read-only",
    ),
    Mutant(
        "dlpack-out-of-bytes-writable",
        SHARED + "dlpack_export.py",
        "        shell.setflags(write=False)\n",
        "        pass\n",
        (EXPORT_CONSUMERS + "TestEveryConsumer::test_read_only[numpy.from_dlpack]",),
        "consumers are told that they may write",
    ),
    Mutant(
        "dlpack-out-writable",
        SHARED + "dlpack_export.py",
        '"data": (tensor.ptr or 1, tensor.readonly),',
        '"data": (tensor.ptr or 1, False),',
        (COLUMN_DLPACK + "TestOut::test_read_only",),
        "consumers are told that they may write",
    ),
    Mutant(
        "patched-dlpack-out-writable",
        SHARED + "dlpack_export.py",
        "READ_ONLY * tensor.readonly | IS_COPIED",
        "IS_COPIED",
        (DLPACK_EXPORT + "test_every_type[True-device0-int24]",),
        "consumers are told that they may write",
    ),
    Mutant(
        "light-dlpack-out-writable",
        SHARED + "dlpack_light.py",
        "READ_ONLY * tensor.readonly | IS_COPIED",
        "IS_COPIED",
        (LIGHT_EXPORT + "TestDLPack::test_access",),
        "consumers are told that they may write",
    ),
    Mutant(
        "dlpack-out-of-a-column-writable",
        MAXIMAL + "column_dlpack.py",
        "triple, data._device, data._readonly,",
        "triple, data._device, False,",
        (COLUMN_DLPACK + "TestOut::test_read_only",),
        "consumers are told that they may write",
    ),
    Mutant(
        "dlpack-out-of-a-buffer-writable",
        MAXIMAL + "dlpack.py",
        "memory.ptr, memory._device, memory._readonly",
        "memory.ptr, memory._device, False",
        (DLPACK_EXPORT + "TestOfABuffer::test_every_field[True-max_version1-device5]",),
        "consumers are told that they may write",
    ),
    Mutant(
        "copy-read-only",
        SHARED + "dlpack_export.py",
        "ptr=ptr, device=CPU, readonly=False), fresh",
        "ptr=ptr, device=CPU), fresh",
        (DLPACK_EXPORT + "TestCudaToHost::test_a_copy[True-None-max_version1]",),
        "a consumer's own copy refuses",
    ),
    Mutant(
        "copy-not-told",
        SHARED + "dlpack_export.py",
        "tensor.readonly | IS_COPIED * self.fresh",
        "tensor.readonly",
        (COLUMN_DLPACK + "TestOut::test_what_needs_a_copy[column1-?-expected1]",),
        "a consumer copies once more what is its own",
    ),
    Mutant(
        "light-copy-not-told",
        SHARED + "dlpack_light.py",
        "tensor.readonly | IS_COPIED * self.fresh",
        "tensor.readonly",
        (LIGHT_EXPORT + "test_copies_of_the_fallback",),
        "a consumer copies once more what is its own",
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
