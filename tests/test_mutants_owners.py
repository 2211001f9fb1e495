"""Mutants of ownership: memory of devices and of the host that is given back while somebody looks at it.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
LIVE = "tests/test_export_consumers.py::TestLiveExports::test_"
IN_ARROW, OUT_ARROW = "tests/test_arrow_device_import.py::test_", "tests/test_arrow_export.py::TestStructs::test_"

MUTANTS = [
    Mutant(
        "view-without-owner",
        SHARED + "memory.py",
        "    anchor.owner = memory._owner\n",
        "    anchor.owner = None\n",
        ("tests/test_lifetime.py::test_the_view_alone_keeps_the_owner_and_returns_it[part]",),
        "arrays and memoryviews outlive their memory",
    ),
    Mutant(
        "whole-view-without-owner",
        SHARED + "arrays.py",
        "    anchor.owner = memory._owner\n",
        "    anchor.owner = None\n",
        ("tests/test_lifetime.py::test_the_view_alone_keeps_the_owner_and_returns_it[whole array]",),
        "the arrays that most people make outlive their memory",
    ),
    Mutant(
        "lent-ndarray-without-owner",
        SHARED + "dlpack_export.py",
        "array.view(_u1, Shell) if",
        "array.copy().view(_u1, Shell) if",
        (LIVE + "an_ndarray_is_the_owner_of_what_is_lent_of_it[True-shape1]",),
        "an ndarray is copied, and what is lent is not its memory",
    ),
    Mutant(
        "shared-without-owner",
        SHARED + "memory.py",
        "= memory._owner, memory._device, memory._readonly\n",
        "= STATIC, memory._device, memory._readonly\n",
        ("tests/test_ladder.py::TestBuffers::test_of_minimal_the_owner_is_taken_and_not_the_buffer[device0-False]",),
        "a part of a buffer outlives its memory",
    ),
    Mutant(
        "capsule-dropped",
        MAXIMAL + "dlpack.py",
        "return tensor.ptr, nbytes, capsule, tensor.device",
        "return tensor.ptr, nbytes, obj, tensor.device",
        ("tests/test_dlpack_import.py::TestLife::test_one_view_keeps_the_memory_and_returns_it_once",),
        "the capsule's deleter gives the memory back as soon as it was read",
    ),
    Mutant(
        "capsule-of-a-column-dropped",
        MAXIMAL + "column_dlpack.py",
        "checked((low, bufsize, capsule,",
        "checked((low, bufsize, obj,",
        ("tests/test_column_dlpack.py::TestIn::test_the_capsule_is_the_owner",),
        "the capsule's deleter gives the memory back as soon as it was read",
    ),
    Mutant(
        "interface-kept-and-not-its-object",
        MAXIMAL + "cuda_array_interface.py",
        "nbytes, obj, CUDA_DEVICE",
        "nbytes, found, CUDA_DEVICE",
        ("tests/test_interfaces_import.py::TestCudaArrayInterface::test_nothing_is_read_and_no_device_is_named",),
        "the dict holds an address, and nobody holds the memory",
    ),
    Mutant(
        "interface-of-a-column-kept-and-not-its-object",
        MAXIMAL + "column_interface.py",
        "_around(layout.block, layout.width, reach, obj, CUDA_DEVICE)",
        "_around(layout.block, layout.width, reach, found, CUDA_DEVICE)",
        ("tests/test_column_interface.py::TestCuda::test_the_object_is_kept_and_that_of_the_mask",),
        "the dict holds an address, and nobody holds the memory",
    ),
    Mutant(
        "mask-of-an-interface-not-kept",
        MAXIMAL + "column_interface.py",
        "_around(layout.block, layout.width, reach, mask, device)",
        "_around(layout.block, layout.width, reach, found, device)",
        ("tests/test_column_interface.py::TestCuda::test_the_object_is_kept_and_that_of_the_mask",),
        "the mask is given back before the column is",
    ),
    Mutant(
        "dlpack-out-without-owner",
        SHARED + "loan.py",
        "        self.owner = owner\n",
        "        self.owner = None\n",
        ("tests/test_streams.py::TestDlpack::test_out_it_keeps_what_it_was_taken_of",),
        "a capsule outlives its memory",
    ),
    Mutant(
        "dlpack-out-of-a-column-without-owner",
        MAXIMAL + "column_dlpack.py",
        "column if data is None else data.owner",
        "column if data is None else None",
        ("tests/test_column_dlpack.py::TestOut::test_the_owner_is_kept_and_returned",),
        "a capsule outlives its memory",
    ),
    Mutant(
        "dlpack-out-of-a-table-without-owners",
        MAXIMAL + "table_array.py",
        "tuple(buffer.owner for buffer in buffers)",
        "()",
        ("tests/test_table_array.py::test_the_array_alone_holds_the_owner_of_every_column[from_dlpack]",),
        "a capsule outlives its memory",
    ),
    Mutant(
        "arrow-in-without-owner",
        MAXIMAL + "arrow_source.py",
        "    made._owner = owner\n",
        "    made._owner = None\n",
        (IN_ARROW + "a_column_keeps_the_array_and_so_does_each_of_its_buffers",),
        "the array is released as soon as it was read",
    ),
    Mutant(
        "arrow-out-without-owner",
        MAXIMAL + "arrow.py",
        '    loan = Loan(memory.owner, "arrow", memory.ptr, memory.bufsize, memory.device)\n    return Data(',
        '    loan = Loan(None, "arrow", memory.ptr, memory.bufsize, memory.device)\n    return Data(',
        (OUT_ARROW + "device_array[callbacks-device2]",),
        "Arrow's consumer reads memory that was given back",
    ),
    Mutant(
        "arrow-out-of-a-column-without-owner",
        MAXIMAL + "arrow_form.py",
        'Lent(buffer._owner, "arrow"',
        'Lent(None, "arrow"',
        (OUT_ARROW + "device_array_of_a_column[callbacks-device2]",),
        "Arrow's consumer reads memory that was given back",
    ),
    Mutant(
        "cupy-view-without-owner",
        SHARED + "arrays.py",
        "UnownedMemory(memory._ptr, memory._bufsize, memory._owner, ordinal)",
        "UnownedMemory(memory._ptr, memory._bufsize, None, ordinal)",
        ("tests/test_cupy.py::TestWithCupy::test_the_view_holds_the_owner_and_returns_it",),
        "a CuPy array outlives its memory",
        peers=("cupy",),
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
