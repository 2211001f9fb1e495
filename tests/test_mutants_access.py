"""Mutants of permission: memory that is written to, or copied by the reader of foreign columns, though nobody said so.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL, MINIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/", "minimal/buflend/minimal/"
BATTERY_HERE = "tests/test_battery_here.py::"
BUFFER = "tests/test_buffer.py::"
COLUMN_DLPACK = "tests/test_column_dlpack.py::"
COLUMN_INTERFACE = "tests/test_column_interface.py::"
CONTRADICTIONS = "tests/test_contradictions.py::"
DLPACK_EXPORT = "tests/test_dlpack_export.py::"
EXPORT_CONSUMERS = "tests/test_export_consumers.py::"
INTERFACES_IMPORT = "tests/test_interfaces_import.py::"
NATIVE = "tests/test_native.py::"
PICKLE = "tests/test_pickle.py::"
REFUSALS = "tests/test_refusals.py::"
TABLE_ARRAY = "tests/test_table_array.py::"

MUTANTS = [
    Mutant(
        "views-of-what-is-read-only",
        SHARED + "memory.py",
        "return view.toreadonly() if memory._readonly else view",
        "return view",
        ("tests/test_views.py::TestAccess::test_read_only_memory_is_not[options3]",),
        "what nobody permitted to write is written to",
    ),
    Mutant(
        "everything-read-only",
        SHARED + "memory.py",
        "return view.toreadonly() if memory._readonly else view",
        "return view.toreadonly()",
        ("tests/test_pickle.py::TestOutOfBand::test_no_copy[device0-False]",),
        "what may be written refuses",
    ),
    Mutant(
        "part-writable",
        SHARED + "memory.py",
        "= memory._owner, memory._device, memory._readonly\n",
        "= memory._owner, memory._device, False\n",
        ("tests/test_ladder.py::TestBuffers::test_of_minimal_the_owner_is_taken_and_not_the_buffer[device0-True]",),
        "a part of read-only memory may be written",
    ),
    Mutant(
        "description-writable-by-silence",
        SHARED + "memory.py",
        'getattr(foreign, "readonly", True) is not False',
        'bool(getattr(foreign, "readonly", False))',
        (BUFFER + "TestAsBuffer::test_described_memory_that_permits_writing",),
        "a producer that says nothing permits nothing",
    ),
    Mutant(
        "readonly-argument-lost",
        SHARED + "memory.py",
        "        self._readonly = bool(readonly)\n",
        "        self._readonly = False\n",
        (PICKLE + "TestOutOfBand::test_a_read_only_buffer_over_memory_that_can_be_written",),
        "what nobody permitted to write is written to",
    ),
    Mutant(
        "interchange-buffers-writable",
        SHARED + "chunk.py",
        "borrow(Memory, buffer, whose, device, writable=False)",
        "borrow(Memory, buffer, whose, device)",
        (CONTRADICTIONS + "test_what_a_foreign_buffer_permits_does_not_make_a_frame_writable",),
        "the interchange protocol has no word for writing",
    ),
    Mutant(
        "arrow-writable",
        MAXIMAL + "arrow_source.py",
        "    made._readonly = True  #",
        "    made._readonly = False  #",
        (REFUSALS + "test_arrow_has_the_elements_where_they_start[bytes]",),
        "Arrow's arrays are shared, and never written to",
    ),
    Mutant(
        "array-writable",
        MAXIMAL + "native.py",
        "CPU, not flags.writeable, None",
        "CPU, False, None",
        (COLUMN_DLPACK + "TestOut::test_read_only",),
        "an array that refuses is written to",
    ),
    Mutant(
        "number-array-writable",
        MAXIMAL + "buffer.py",
        "made._readonly = not flags.writeable",
        "made._readonly = False",
        (NATIVE + "TestNdarray::test_an_array_is_read_after_it_changed",),
        "an array that refuses is written to",
    ),
    Mutant(
        "buffer-of-pyarrow-writable",
        MAXIMAL + "native.py",
        "buffer, CPU, not buffer.is_mutable, None",
        "buffer, CPU, False, None",
        (NATIVE + "TestArrow::test_a_buffer[True]",),
        "pyarrow's memory is shared, and never written to",
        peers=("pyarrow",),
    ),
    Mutant(
        "strided-array-writable",
        MAXIMAL + "column_ndarray.py",
        "owner=owner, readonly=not array.flags.writeable), max",
        "owner=owner), max",
        (TABLE_ARRAY + "test_writing_goes_through_only_where_every_column_may_be_written",),
        "an array that refuses is written to",
    ),
    Mutant(
        "insides-of-pandas-writable",
        MAXIMAL + "pandas_source.py",
        "    view.flags.writeable = False\n",
        "    pass\n",
        ("tests/test_pandas_source.py::test_the_memory_and_the_nulls_are_those_of_pandas[Float64-whole]",),
        "a frame changes behind pandas' back",
        peers=("pandas",),
    ),
    Mutant(
        "exporter-of-minimal-writable",
        MINIMAL + "buffer.py",
        "owner=view, readonly=view.readonly)",
        "owner=view)",
        (BUFFER + "TestExporters::test_same_bytes_same_address[view]",),
        "bytes are written to",
    ),
    Mutant(
        "exporter-writable",
        MAXIMAL + "buffer_protocol.py",
        "view.nbytes, view, CPU, view.readonly, None",
        "view.nbytes, view, CPU, False, None",
        (INTERFACES_IMPORT + "TestBufferProtocol::test_bytes_and_access[memoryview]",),
        "bytes are written to",
    ),
    Mutant(
        "interface-writable",
        SHARED + "array_interface.py",
        "Block(max(ptr, 0), nbytes, readonly)",
        "Block(max(ptr, 0), nbytes, False)",
        (COLUMN_INTERFACE + "TestInterface::test_strides",),
        "what the interface forbids is written to",
    ),
    Mutant(
        "exporter-of-an-interface-writable",
        MAXIMAL + "array_interface.py",
        "(view, obj), CPU, view.readonly, None",
        "(view, obj), CPU, False, None",
        (INTERFACES_IMPORT + "TestInterfaceOverAnExporter::test_offset_and_access[memoryview-8]",),
        "bytes are written to",
    ),
    Mutant(
        "exporter-of-a-columns-interface-writable",
        MAXIMAL + "column_interface.py",
        "owner=(view, obj), readonly=view.readonly)",
        "owner=(view, obj))",
        (COLUMN_INTERFACE + "TestInterface::test_what_an_exporter_forbids_is_not_written[lent]",),
        "bytes are written to",
    ),
    Mutant(
        "restored-writable-over-bytes",
        MAXIMAL + "buffer.py",
        "readonly=readonly or found.readonly)",
        "readonly=readonly)",
        (PICKLE + "TestOutOfBand::test_a_writable_buffer_over_memory_that_is_not",),
        "bytes of a pickle are written to",
    ),
    Mutant(
        "view-to-write-of-what-is-read-only",
        MAXIMAL + "buffer_protocol.py",
        "    if flags & _WRITABLE and memory.readonly:\n",
        "    if False:\n",
        (EXPORT_CONSUMERS + "test_a_writable_view_of_read_only_memory_is_refused",),
        "who asks for a writable view gets one that is not",
    ),
    Mutant(
        "interface-out-writable",
        MAXIMAL + "array_interface.py",
        '"data": (memory.ptr or 1, memory.readonly)}',
        '"data": (memory.ptr or 1, False)}',
        (EXPORT_CONSUMERS + "TestEveryConsumer::test_read_only[numpy.asarray of the interface]",),
        "what nobody permitted to write is written to",
    ),
    Mutant(
        "cuda-interface-out-writable",
        MAXIMAL + "cuda_array_interface.py",
        "if memory.bufsize else 0, memory.readonly)",
        "if memory.bufsize else 0, False)",
        ("tests/test_permission.py::test_the_cuda_interface_says_whether_memory_may_be_written[True]",),
        "consumers are told that they may write",
    ),
    Mutant(
        "interface-of-a-column-out-writable",
        MAXIMAL + "column_interface.py",
        "if piece.size else data.ptr, data.readonly",
        "if piece.size else data.ptr, False",
        ("tests/test_column_array.py::TestCuda::test_a_byte_mask_whose_zeros_mean_missing",),
        "what nobody permitted to write is written to",
    ),
    Mutant(
        "table-out-writable",
        MAXIMAL + "table_array.py",
        "any(buffer.readonly for buffer in buffers)",
        "all(buffer.readonly for buffer in buffers)",
        (TABLE_ARRAY + "test_writing_goes_through_only_where_every_column_may_be_written",),
        "one column of an array refuses, and is written to",
    ),
    Mutant(
        "copies-always-allowed",
        SHARED + "context.py",
        "        if not self.allow_copy:\n            raise CopyRequiredError",
        "        if False:\n            raise CopyRequiredError",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-bitmask]",),
        "allow_copy=False means nothing",
    ),
    Mutant(
        "producer-told-that-it-may-copy",
        SHARED + "frame.py",
        '"__dataframe__", allow_copy=allow_copy)',
        '"__dataframe__", allow_copy=True)',
        (CONTRADICTIONS + "TestCopiesRefused::test_another_refusal_is_none[error2]",),
        "the producer copies, and nobody knows",
    ),
    Mutant(
        "refusal-of-a-producer-is-its-fault",
        SHARED + "context.py",
        "if not self.allow_copy and isinstance(error, RuntimeError)",
        "if False and isinstance(error, RuntimeError)",
        (CONTRADICTIONS + "TestCopiesRefused::test_a_refusal_to_copy_is_one",),
        "the protocol's word for `not without a copy` is taken for a fault",
    ),
    Mutant(
        "chunks-joined-without-a-word",
        SHARED + "column.py",
        '    context.copy(f"the column has {len(filled)} chunks")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-chunks]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "bits-unpacked-without-a-word",
        SHARED + "numbers.py",
        '        chunk.context.copy("booleans are packed in bits")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-packed-bool]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "bytes-made-bools-without-a-word",
        SHARED + "numbers.py",
        '        chunk.context.copy("booleans hold bytes other than 0 and 1")\n',
        "        pass\n",
        (REFUSALS + "TestCopies::test_bytes_that_are_no_booleans",),
        "allow_copy=False copies",
    ),
    Mutant(
        "bytes-swapped-without-a-word",
        SHARED + "numbers.py",
        '    chunk.context.copy(f"the {part.name} buffer is not in native byte order")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-no-copy-big-endian]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "dates-widened-without-a-word",
        SHARED + "numbers.py",
        '    chunk.context.copy("dates and times of 32 bits are 64 bits wide in NumPy")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-date32]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "text-copied-without-a-word",
        SHARED + "text.py",
        '    chunk.context.copy("NumPy strings cannot view UTF-8")\n',
        "",
        (BATTERY_HERE + "test_is_right[maximal-must-copy-string]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "mask-derived-without-a-word",
        SHARED + "validity.py",
        "    if derived:\n",
        "    if False:\n",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-bitmask]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "mask-of-values-without-a-word",
        SHARED + "validity.py",
        '    chunk.context.copy("what is missing is told by the values, and the mask that says so is new memory")\n',
        "",
        (BATTERY_HERE + "test_is_right[minimal-must-copy-sentinel]",),
        "allow_copy=False copies",
    ),
    Mutant(
        "missing-categories-without-a-word",
        SHARED + "categories.py",
        '    chunk.context.copy("codes of a missing category are missing")\n',
        "",
        (REFUSALS + "TestCopies::test_categories_that_are_missing",),
        "allow_copy=False copies",
    ),
    Mutant(
        "categories-rewritten-without-a-word",
        SHARED + "column.py",
        "if read.valid is not None and chunk.context.allow_copy:",
        "if read.valid is not None:",
        (REFUSALS + "TestCopies::test_missing_categories_that_no_code_means_are_left_where_they_lie",),
        "allow_copy=False copies",
    ),
    Mutant(
        "dlpack-out-not-copied",
        SHARED + "dlpack_method.py",
        "copied = bool(copy) and not self.fresh",
        "copied = False",
        (DLPACK_EXPORT + "test_a_strided_copy_below_a_byte_is_refused",),
        "who asked for a copy writes to the original",
    ),
    Mutant(
        "dlpack-out-copied-twice",
        SHARED + "dlpack_method.py",
        "copied = bool(copy) and not self.fresh",
        "copied = bool(copy)",
        (COLUMN_DLPACK + "TestOut::test_one_copy_is_enough",),
        "a copy of a copy",
    ),
    Mutant(
        "dlpack-to-the-host-copied-without-a-word",
        SHARED + "dlpack_method.py",
        "if device != CPU or copy is False:",
        "if device != CPU:",
        (DLPACK_EXPORT + "TestDevice::test_to_the_cpu_is_a_copy[device0]",),
        "copy=False copies",
    ),
    Mutant(
        "copy-on-a-device-promised",
        SHARED + "dlpack_method.py",
        "if copy and device != CPU:",
        "if False:",
        (DLPACK_EXPORT + "TestCopy::test_true_within_a_device_is_refused[device1]",),
        "who asked for a copy writes to the original",
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
