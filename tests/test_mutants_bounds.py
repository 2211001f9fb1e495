"""Mutants of bounds: views, interfaces and exporters that lead out of their memory.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
BUFFER = "tests/test_buffer.py::"
COLUMN_INTERFACE = "tests/test_column_interface.py::"
INTERFACES_IMPORT = "tests/test_interfaces_import.py::"
VIEWS = "tests/test_views.py::"

MUTANTS = [
    Mutant(
        "offset-behind-the-end",
        SHARED + "arrays.py",
        "if not 0 <= offset <= bufsize:",
        "if not 0 <= offset:",
        (VIEWS + "TestBounds::test_outside[options3-offset]",),
        "an array begins behind its memory",
    ),
    Mutant(
        "offset-before-the-start",
        SHARED + "arrays.py",
        "if not 0 <= offset <= bufsize:",
        "if not offset <= bufsize:",
        (VIEWS + "TestBounds::test_outside[options4-offset]",),
        "an array begins before its memory",
    ),
    Mutant(
        "below-the-start-not-looked-at",
        SHARED + "arrays.py",
        "if offset + low < 0 or offset + high > bufsize:",
        "if offset + high > bufsize:",
        (VIEWS + "TestBounds::test_outside[options11-bytes from -1 to 1]",),
        "negative strides lead out before the memory",
    ),
    Mutant(
        "a-byte-behind-the-end",
        SHARED + "arrays.py",
        "or offset + high > bufsize:",
        "or offset + high > bufsize + 1:",
        (VIEWS + "TestBounds::test_outside[options12-bytes from 0 to 49]",),
        "an item hangs out of the memory",
    ),
    Mutant(
        "end-reckoned-without-the-offset",
        SHARED + "arrays.py",
        "or offset + high > bufsize:",
        "or high > bufsize:",
        (VIEWS + "TestBounds::test_outside[options2-bytes from 1 to 49]",),
        "an array reaches behind the end by its offset",
    ),
    Mutant(
        "end-reckoned-without-the-last-item",
        SHARED + "arrays.py",
        "if r > 0) + itemsize",
        "if r > 0)",
        (VIEWS + "TestBounds::test_outside[options12-bytes from 0 to 49]",),
        "the last item of a strided array hangs out",
    ),
    Mutant(
        "a-step-too-many",
        SHARED + "arrays.py",
        "(extent - 1) * step",
        "extent * step",
        ("tests/test_column.py::test_strides_and_byte_order",),
        "what fits exactly is refused",
    ),
    Mutant(
        "extents-below-nothing",
        SHARED + "arrays.py",
        "if min(dims, default=0) < 0:",
        "if min(dims, default=0) < -1:",
        (VIEWS + "TestBounds::test_outside[options7-extents]",),
        "two negative extents multiply to a size that fits",
    ),
    Mutant(
        "more-strides-than-extents",
        SHARED + "arrays.py",
        "len(steps) != len(dims)",
        "len(steps) < len(dims)",
        (VIEWS + "TestBounds::test_outside[options16-1 dimensions]",),
        "the bounds are reckoned with other strides than NumPy's",
    ),
    Mutant(
        "nothing-has-bounds",
        SHARED + "arrays.py",
        "    if 0 in dims:\n        return 0, 0\n",
        "",
        (VIEWS + "TestBounds::test_nothing_takes_any_stride",),
        "an array without items is refused, or one is asked for a byte before the start",
    ),
    Mutant(
        "rest-of-an-item-left-out",
        SHARED + "arrays.py",
        "    if rest:\n",
        "    if rest < 0:\n",
        (VIEWS + "TestBounds::test_offset_alone",),
        "bytes are lost without a word",
    ),
    Mutant(
        "items-counted-from-the-start",
        SHARED + "arrays.py",
        "return (_count(bufsize, itemsize, offset),)",
        "return (_count(bufsize, itemsize, 0),)",
        (VIEWS + "TestAccess::test_read_only_memory_is_not[options3]",),
        "an array reaches behind the end by its offset",
    ),
    Mutant(
        "memory-read-as-objects",
        SHARED + "arrays.py",
        "    if parsed.hasobject:\n",
        "    if False:\n",
        (VIEWS + "TestDtypes::test_references_are_refused[dtype1]",),
        "bytes are followed as addresses of objects",
    ),
    Mutant(
        "the-base-longer-than-the-memory",
        SHARED + "arrays.py",
        'frombuffer(exact_view(memory), "u1"), offset, steps)',
        "exact_view(memory), offset, steps)",
        (VIEWS + "TestAccess::test_read_only_memory_is_not[options3]",),
        "the base of an array has every byte of the machine, and can be written",
    ),
    Mutant(
        "view-a-byte-longer",
        SHARED + "memory.py",
        "[: memory._bufsize]",
        "[: memory._bufsize + 1]",
        ("tests/test_pickle.py::TestOutOfBand::test_no_copy[device0-False]",),
        "a byte behind the end is read",
    ),
    Mutant(
        "array-a-byte-longer",
        SHARED + "arrays.py",
        "memoryview(anchor)[:size]",
        "memoryview(anchor)[: size + 1]",
        ("tests/test_buffer.py::TestExporters::test_zero_dimensions",),
        "a byte behind the end is read",
    ),
    Mutant(
        "memoryview-over-the-anchor",
        SHARED + "memory.py",
        'memoryview(PickleBuffer(exact_view(memory).cast("B")))',
        'exact_view(memory).cast("B")',
        (VIEWS + "TestReadOnlyForGood::test_the_object_of_a_memoryview_has_its_bounds_and_access[True]",),
        "the `obj` of a view has every byte of the machine, and can be written",
    ),
    Mutant(
        "anchor-indexed",
        SHARED + "memory.py",
        "    __getitem__ = __setitem__ = __iter__ = __len__ = _refuse\n",
        "",
        (VIEWS + "TestReadOnlyForGood::test_the_anchor_refuses_to_be_used",),
        "the anchor says that it is as long as the machine's memory",
    ),
    Mutant(
        "address-of-no-machine",
        SHARED + "memory.py",
        "if not 0 <= ptr < _ADDRESSES:",
        "if not 0 <= ptr:",
        (BUFFER + "TestConstructor::test_numbers_that_cannot_be[18446744073709551616-0-address]",),
        "an address of 65 bits is cut to another one",
    ),
    Mutant(
        "address-below-0",
        SHARED + "memory.py",
        "if not 0 <= ptr < _ADDRESSES:",
        "if not ptr < _ADDRESSES:",
        (INTERFACES_IMPORT + "TestDescription::test_what_cannot_be[{'ptr': -1}]",),
        "a negative address is cut to another one",
    ),
    Mutant(
        "size-below-0",
        SHARED + "memory.py",
        "if not 0 <= bufsize <= _MOST_BYTES:",
        "if not bufsize <= _MOST_BYTES:",
        (BUFFER + "TestConstructor::test_numbers_that_cannot_be[1--1-bufsize]",),
        "a view of a negative size is one of all but that",
    ),
    Mutant(
        "size-above-all",
        SHARED + "memory.py",
        "if not 0 <= bufsize <= _MOST_BYTES:",
        "if not 0 <= bufsize:",
        (BUFFER + "TestConstructor::test_a_number_of_any_length_gets_its_error",),
        "sizes overflow where they are multiplied",
    ),
    Mutant(
        "end-behind-the-last-address",
        SHARED + "memory.py",
        "if ptr + bufsize > _ADDRESSES:",
        "if ptr > _ADDRESSES:",
        (
            (
                INTERFACES_IMPORT + "TestArrayInterface::test_more_than_there_is[{'data': "
                "(18446744073709551615, False)}-Cuda]"
            ),
        ),
        "a block wraps round to address 0",
    ),
    Mutant(
        "null-with-a-size",
        SHARED + "memory.py",
        "if not ptr and bufsize:",
        "if False:",
        (BUFFER + "TestConstructor::test_numbers_that_cannot_be[0-1-NULL]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "numbers-of-a-producer-believed",
        SHARED + "memory.py",
        "if fault := _range_fault(ptr, bufsize):\n        raise ProducerError",
        'if fault := "":\n        raise ProducerError',
        (INTERFACES_IMPORT + "TestDescription::test_what_cannot_be[{'ptr': -1}]",),
        "a description of no memory is taken",
    ),
    Mutant(
        "integers-of-any-size",
        SHARED + "memory.py",
        "if not -(2**63) <= number < 2**64:",
        "if False:",
        ("tests/test_contradictions.py::test_a_number_of_any_length_gets_its_error[null_count]",),
        "an integer of a thousand bits is multiplied, and shown",
    ),
    Mutant(
        "part-as-long-as-the-whole",
        SHARED + "memory.py",
        "(memory._bufsize if end is None else end) - start",
        "memory._bufsize",
        ("tests/test_streams_host.py::TestTheHost::test_waits_for_no_part_without_bytes",),
        "a part reaches behind the end of its block",
    ),
    Mutant(
        "null-of-an-interface",
        SHARED + "array_interface.py",
        "    if nbytes and ptr <= 0:\n",
        "    if False:\n",
        (INTERFACES_IMPORT + "TestArrayInterface::test_what_is_no_address[(0, False)-Interface]",),
        "address 0 is read: the process ends",
    ),
    Mutant(
        "negative-shape-of-an-interface",
        SHARED + "array_interface.py",
        "if min(found, default=0) < 0:",
        "if min(found, default=0) < -1:",
        (INTERFACES_IMPORT + "TestArrayInterface::test_what_is_no_shape[(64.0,)-Interface]",),
        "sizes become negative",
    ),
    Mutant(
        "strides-of-an-interface-not-counted",
        SHARED + "array_interface.py",
        "if len(steps) != len(shape):",
        "if not steps:",
        (INTERFACES_IMPORT + "TestArrayInterface::test_what_are_no_strides[(1, 1)-Cuda]",),
        "strides belong to other dimensions",
    ),
    Mutant(
        "strides-of-an-interface-ignored",
        SHARED + "array_interface.py",
        "if strides is not None and nbytes:",
        "if False:",
        (
            (
                COLUMN_INTERFACE + "test_numbers_that_can_be_no_memory_are_the_producers_fault[{'data': (4, "
                "False), 'shape': (10,), 'strides': (-8,)}]"
            ),
        ),
        "strided items are taken for one range: others are read, and memory behind the end",
    ),
    Mutant(
        "strides-of-an-interface-rounded",
        SHARED + "array_interface.py",
        "step // width if step % width == 0 else -1",
        "step // width",
        (INTERFACES_IMPORT + "TestArrayInterface::test_strided[shape5-strides5-Interface]",),
        "strides that are no multiple of an item count as contiguous",
    ),
    Mutant(
        "size-of-an-interface-added-up",
        SHARED + "array_interface.py",
        "        nbytes *= extent\n",
        "        nbytes += extent\n",
        (
            (
                "tests/test_dlpack_import.py::TestProducers::test_one_that_refuses_is_read_by_what_else_it_offers"
                "[ValueError]"
            ),
        ),
        "the size is another one",
    ),
    Mutant(
        "typestr-of-a-negative-size",
        SHARED + "array_interface.py",
        " and digits.isascii() and digits.isdecimal()",
        "",
        (INTERFACES_IMPORT + "TestArrayInterface::test_what_is_no_type_of_data['<f-8'-Cuda]",),
        "sizes become negative",
    ),
    Mutant(
        "end-of-an-exporter-without-its-offset",
        MAXIMAL + "array_interface.py",
        "offset + nbytes > view.nbytes:",
        "nbytes > view.nbytes:",
        (INTERFACES_IMPORT + "TestInterfaceOverAnExporter::test_too_short[8-1]",),
        "an interface leads out of what its object exports",
    ),
    Mutant(
        "negative-offset-in-an-exporter",
        MAXIMAL + "array_interface.py",
        "if offset < 0 or offset",
        "if offset",
        (INTERFACES_IMPORT + "TestInterfaceOverAnExporter::test_too_short[16--9223372036854775808]",),
        "an interface leads out before what its object exports",
    ),
    Mutant(
        "column-before-its-exporter",
        MAXIMAL + "column_interface.py",
        "if start + min(reach, 0) < 0 or start",
        "if start",
        (COLUMN_INTERFACE + "TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "an interface leads out before what its object exports",
    ),
    Mutant(
        "last-item-outside-its-exporter",
        MAXIMAL + "column_interface.py",
        "start + max(reach, 0) + (layout.width if size else 0) > view.nbytes",
        "start + max(reach, 0) > view.nbytes",
        (COLUMN_INTERFACE + "TestInterface::test_exported_memory_is_held_against_what_is_described",),
        "the last item hangs out of what its object exports",
    ),
    Mutant(
        "mask-shorter-than-its-column",
        MAXIMAL + "column_interface.py",
        "or size < piece.size or (bits",
        "or (bits",
        (COLUMN_INTERFACE + "TestCuda::test_the_shape_of_a_mask_of_bits_counts_bits[{'shape': (2,)}]",),
        "a mask is read behind its end",
    ),
    Mutant(
        "bits-of-a-mask-rounded-down",
        MAXIMAL + "column_interface.py",
        "reach = max(-(-piece.size // 8) - 1, 0)",
        "reach = max(piece.size // 8 - 1, 0)",
        (COLUMN_INTERFACE + "TestCuda::test_the_shape_of_a_mask_of_bits_counts_bits[{'shape': (2,)}]",),
        "the last bits of a mask are cut off",
    ),
    Mutant(
        "last-item-outside-a-block",
        MAXIMAL + "column_interface.py",
        "abs(reach) + width) if nbytes",
        "abs(reach)) if nbytes",
        (COLUMN_INTERFACE + "TestInterface::test_a_mask_says_what_is_there",),
        "the last item is refused, or cut off",
    ),
    Mutant(
        "strided-bits-of-a-mask",
        MAXIMAL + "column_interface.py",
        " or (bits and stride != 1):",
        ":",
        (COLUMN_INTERFACE + "TestCuda::test_the_shape_of_a_mask_of_bits_counts_bits[{'strides': (-1,)}]",),
        "bits that nobody can step over are read one after another",
    ),
    Mutant(
        "mask-beside-another-device",
        MAXIMAL + "column_interface.py",
        "if lost.bufsize and piece.device != lost.device:",
        "if False:",
        (COLUMN_INTERFACE + "test_a_mask_that_lies_apart_is_refused",),
        "a mask is read where the values lie, and it does not",
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
