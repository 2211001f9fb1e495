"""Mutants of the order of work: what nobody waits for, what is waited for elsewhere, what the runtime is left with.

Each is a mistake that is easily made, and a test that it names must notice; what expects which order is said there.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
STREAMS = "tests/test_streams.py::"
DLPACK, CUDA, ARROW = (f"{STREAMS}Test{name}::test_" for name in ("Dlpack", "CudaArrayInterface", "Arrow"))
HOST = "tests/test_streams_host.py::TestTheHost::test_"

MUTANTS = [
    Mutant(
        "interface-not-waited-for",
        MAXIMAL + "cuda_array_interface.py",
        "        wait(stream, ptr)\n",
        "        pass\n",
        (CUDA + "the_host_waits_and_what_goes_out_is_ready[2-buffer]",),
        "the producer's kernel still writes what the consumer reads",
    ),
    Mutant(
        "interface-of-a-column-not-waited-for",
        MAXIMAL + "column_interface.py",
        "wait(stream, buffer.ptr)",
        "pass",
        (CUDA + "the_host_waits_and_what_goes_out_is_ready[2-column]",),
        "the producer's kernel still writes what the consumer reads",
    ),
    Mutant(
        "mask-of-an-interface-not-waited-for",
        MAXIMAL + "column_interface.py",
        "wait(stream, layout.block.ptr)",
        "pass",
        (CUDA + "the_stream_of_a_mask_is_waited_for",),
        "the mask has a stream of its own, on which it is still written",
    ),
    Mutant(
        "stream-of-nothing-waited-for",
        MAXIMAL + "column_interface.py",
        "    if stream is not None and size:\n        wait(stream, buffer.ptr)",
        "    if stream is not None:\n        wait(stream, buffer.ptr)",
        (CUDA + "of_nothing_the_stream_is_not_waited_for[column]",),
        "without bytes there is nothing to be ready, and no address to ask for the device",
    ),
    Mutant(
        "interface-names-no-stream",
        MAXIMAL + "cuda_array_interface.py",
        "stream_of(memory) if memory.bufsize else None",
        "None",
        (CUDA + "what_came_by_dlpack_names_the_stream_of_its_order",),
        "the consumer takes memory for ready in which work is pending",
    ),
    Mutant(
        "dlpack-out-without-order",
        SHARED + "dlpack_method.py",
        "            order_for(tensor, device, stream)\n",
        "            pass\n",
        (DLPACK + "out_to_another_stream[2]",),
        "the consumer's stream overtakes the producer's",
    ),
    Mutant(
        "dlpack-out-in-reverse-order",
        SHARED + "dlpack_method.py",
        "order(before, after, ordinal)",
        "order(after, before, ordinal)",
        (DLPACK + "out_to_another_stream[2]",),
        "the producer waits for the consumer, who waits for nobody",
    ),
    Mutant(
        "dlpack-to-the-host-without-waiting",
        SHARED + "dlpack_method.py",
        "        synchronize(before, ordinal)\n",
        "        pass\n",
        (HOST + "waits_for_managed_memory_before_it_reads[dl_device]",),
        "managed memory goes out as the CPU's while the device writes it",
    ),
    Mutant(
        "column-of-dlpack-taken-for-ready",
        MAXIMAL + "column_dlpack.py",
        "tensor.readonly, tensor.stream), type",
        "tensor.readonly, None), type",
        (DLPACK + "parts_of_memory_are_as_ready_as_it_is",),
        "what is read of the column, or lent on, is still written",
    ),
    Mutant(
        "table-taken-for-ready",
        MAXIMAL + "table_array.py",
        "max(streams, default=None)",
        "None",
        (DLPACK + "a_table_of_columns[device0]",),
        "what is lent of the table is still written",
    ),
    Mutant(
        "exchange-table-of-any-device",
        SHARED + "dlpack_table.py",
        "if device[0] not in CUDA or work_stream is None:",
        "if work_stream is None:",
        (STREAMS + "TestExchangeTable::test_other_devices_are_asked_for_a_capsule[device0-0]",),
        "the CUDA runtime is handed a stream of ROCm",
    ),
    Mutant(
        "exchange-table-without-order",
        SHARED + "dlpack_table.py",
        "order(found.value or DEFAULT_STREAM, DEFAULT_STREAM, device[1])",
        "pass",
        (STREAMS + "TestExchangeTable::test_another_stream_comes_before_the_default_one[2]",),
        "a table leaves the order to the consumer, and nobody sees to it",
    ),
    Mutant(
        "managed-memory-read-at-once",
        SHARED + "access.py",
        "        refuse_host(memory._device, what)\n    settle(memory)\n",
        "        refuse_host(memory._device, what)\n",
        (HOST + "waits_for_managed_memory_before_it_reads[as_ndarray]",),
        "the host reads what the device still writes",
    ),
    Mutant(
        "part-taken-for-ready",
        SHARED + "memory.py",
        "        made._stream = memory._stream\n",
        "        made._stream = None\n",
        (HOST + "waits_for_memory_that_was_handed_on",),
        "a part, and the same memory in the other package, is read while it is written",
    ),
    Mutant(
        "part-without-bytes-waited-for",
        SHARED + "access.py",
        "    if memory._bufsize:\n        kind, ordinal",
        "    if True:\n        kind, ordinal",
        (HOST + "waits_for_no_part_without_bytes",),
        "the host stands still for nothing",
    ),
    Mutant(
        "ready-without-having-waited",
        SHARED + "access.py",
        "            synchronize(stream, ordinal)\n",
        "            pass\n",
        (HOST + "waits_once",),
        "the memory is noted as ready, and was waited for by nobody",
    ),
    Mutant(
        "ready-although-the-wait-failed",
        SHARED + "access.py",
        "    if memory._bufsize:\n        kind, ordinal = pair_of(memory)\n",
        "    memory._stream = None\n    if memory._bufsize:\n        kind, ordinal = pair_of(memory)\n",
        (HOST + "what_cannot_be_waited_for_is_not_read",),
        "the second read gets what the first was refused",
    ),
    Mutant(
        "waited-for-at-each-read",
        SHARED + "access.py",
        "            synchronize(stream, ordinal)\n    memory._stream = None\n",
        "            synchronize(stream, ordinal)\n",
        (HOST + "waits_once", HOST + "and_what_it_waited_for_is_ready"),
        "each read stops the whole stream",
    ),
    Mutant(
        "array-interface-of-managed-memory-at-once",
        MAXIMAL + "array_interface.py",
        "        admit_host(memory)\n",
        "        pass\n",
        (HOST + "waits_for_managed_memory_before_it_reads[__array_interface__]",),
        "an address goes out behind which the device still writes",
    ),
    Mutant(
        "array-interface-of-a-managed-column-at-once",
        MAXIMAL + "column_interface.py",
        '        admit_host(piece.buffers["data"])\n',
        "        pass\n",
        (HOST + "columns_whose_addresses_are_given_away[interface]",),
        "an address goes out behind which the device still writes",
    ),
    Mutant(
        "interchange-of-managed-memory-at-once",
        MAXIMAL + "column_interchange.py",
        "        settle(buffer)  #",
        "        pass  #",
        (HOST + "columns_whose_addresses_are_given_away[buffers]",),
        "the protocol has no stream: its consumers read at once",
    ),
    Mutant(
        "array-of-a-managed-table-at-once",
        MAXIMAL + "table_array.py",
        '            admit_host(column._pieces[0].buffers["data"])\n',
        "            pass\n",
        (HOST + "a_table_of_managed_memory",),
        "the host reads what the device still writes",
    ),
    Mutant(
        "managed-memory-called-the-hosts-at-once",
        MAXIMAL + "buffer.py",
        "                settle(self)\n",
        "                pass\n",
        (HOST + "waits_when_memory_that_it_can_read_is_to_be_its_own",),
        "its address is read while the device writes behind it",
    ),
    Mutant(
        "arrow-out-at-once",
        MAXIMAL + "arrow.py",
        "    settle(memory)\n",
        "",
        (ARROW + "out_the_memory_is_ready[as_buffer]",),
        "no event is given, so that the consumer takes the memory for ready",
    ),
    Mutant(
        "arrow-out-of-a-column-at-once",
        MAXIMAL + "arrow_form.py",
        "        settle(buffer)\n",
        "        pass\n",
        (ARROW + "out_the_memory_is_ready[as_column]",),
        "no event is given, so that the consumer takes the memory for ready",
    ),
    Mutant(
        "arrow-by-pyarrow-at-once",
        MAXIMAL + "arrow.py",
        "        admit_host(memory)\n",
        "        pass\n",
        (HOST + "waits_where_pyarrow_makes_the_array",),
        "pyarrow reads what the device still writes",
        peers=("pyarrow",),
    ),
    Mutant(
        "event-not-waited-for",
        SHARED + "arrow_import.py",
        "        wait_event(event)\n",
        "        pass\n",
        (ARROW + "in_the_event_behind_the_pointer_is_waited_for[2]",),
        "what an event says is not ready is taken as it is",
    ),
    Mutant(
        "event-of-a-chunk-not-waited-for",
        SHARED + "arrow_import.py",
        "    found = _ready(address)\n    if found[0]",
        "    found = device\n    if found[0]",
        (ARROW + "in_the_event_of_each_chunk_is_waited_for",),
        "what an event says is not ready is taken as it is",
    ),
    Mutant(
        "pointer-taken-for-the-event",
        SHARED + "cuda.py",
        "ctypes.c_void_p.from_address(address).value",
        "address",
        (ARROW + "in_the_event_behind_the_pointer_is_waited_for[2]",),
        "`sync_event` is the address of a handle: the runtime gets what is no event",
    ),
    Mutant(
        "copy-on-another-stream",
        SHARED + "cuda.py",
        "tensor.stream or DEFAULT_STREAM",
        "2",
        (HOST + "copies_when_asked_in_the_order_of_the_stream[to_host]",),
        "the copy overtakes the work that it is to come behind",
    ),
    Mutant(
        "copy-on-the-default-stream-alone",
        SHARED + "cuda.py",
        "tensor.stream or DEFAULT_STREAM",
        "DEFAULT_STREAM",
        (HOST + "copies_in_the_order_of_any_stream",),
        "the copy overtakes the work that it is to come behind",
    ),
    Mutant(
        "copy-of-what-does-not-lie-together",
        SHARED + "cuda.py",
        "    if not is_contiguous(tensor.shape, tensor.strides):\n",
        "    if False:\n",
        (HOST + "copies_no_strided_memory",),
        "bytes that lie between the elements come in their place",
    ),
    Mutant(
        "copy-not-waited-for",
        SHARED + "cuda.py",
        "            check(library.cudaStreamSynchronize(stream), what)\n",
        "",
        (HOST + "copies_when_asked_in_the_order_of_the_stream[to_host]",),
        "the bytes are not there yet when they are read",
    ),
    Mutant(
        "host-without-order-not-waiting",
        SHARED + "dlpack_method.py",
        "(stream == -1 and not host)",
        "stream == -1",
        ("tests/test_streams_host.py::test_without_order_the_host_waits_all_the_same[-1-True]",),
        "-1 is a consumer's word on its own stream: the copy is made here, of what is still written",
    ),
    Mutant(
        "handle-cut-to-a-pointer",
        SHARED + "dlpack_method.py",
        "isinstance(stream, int) and stream < HANDLES",
        "isinstance(stream, int)",
        (STREAMS + "TestNumbers::test_out[18446744073709551616]",),
        "ctypes takes the lower 64 bits, and another stream is ordered",
    ),
    Mutant(
        "cupy-view-without-order",
        SHARED + "arrays.py",
        "_order_current(cupy, before, unowned.device_id, None if is_named or kind == 2 else memory._ptr)",
        "pass",
        (STREAMS + "TestOfCupy::test_another_stream_waits_for_the_default_one[buffer]",),
        "CuPy's current stream overtakes the producer's",
        peers=("cupy",),
    ),
    Mutant(
        "error-left-behind",
        SHARED + "cuda.py",
        "        library.cudaGetLastError()\n        text",
        "        text",
        (DLPACK + "what_fails_is_told_and_cleared[cudaEventRecord]",),
        "the next call of somebody else reports our error",
    ),
    Mutant(
        "failure-not-told",
        SHARED + "cuda.py",
        "    if status:\n",
        "    if status == 1:\n",
        (DLPACK + "what_fails_is_told_and_cleared[cudaEventRecord]",),
        "what failed counts as done",
    ),
    Mutant(
        "failed-destruction-not-told",
        SHARED + "cuda.py",
        "        check(destroyed, what)\n",
        "",
        (DLPACK + "an_event_that_cannot_be_destroyed_is_told",),
        "a device that has failed is noticed by the next who asks",
    ),
    Mutant(
        "event-left-behind",
        SHARED + "cuda.py",
        "destroyed = library.cudaEventDestroy(event)",
        "destroyed = 0",
        (DLPACK + "out_to_another_stream[2]",),
        "each export costs an event, until there are none",
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
