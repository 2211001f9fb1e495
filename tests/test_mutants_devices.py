"""Mutants of the look at the device: memory that is read before anybody knows where it lies, and wrong numbers.

Each is a mistake that is easily made, and a test that it names must notice.
"""

from collections.abc import Iterator

import pytest

from . import mutants
from .mutants import Mutant

SHARED, MAXIMAL = "shared/buflend/shared/", "maximal/buflend/maximal/"
STREAMS, LOCATED, DEVICE = "tests/test_streams.py::", "tests/test_located.py::", "tests/test_device.py::"
GUARD, GUARD_IN = "tests/test_guard_pages.py::", "tests/test_guard_imports.py::"
IN_ARROW = "tests/test_arrow_device_import.py::test_"
HOST, ASKED = "tests/test_streams_host.py::TestTheHost::test_", LOCATED + "TestAsked::test_"
REFUSED = GUARD + "test_what_would_read_is_refused[{}-CUDA-device-0]"

# Memory that is read, or asked for its address, before its device is looked at.
LOOK = [
    Mutant(
        "as-ndarray-without-a-look",
        SHARED + "arrays.py",
        'that most calls take."""\n    if memory._device is not CPU:\n        admit_host(memory)\n',
        'that most calls take."""\n',
        (REFUSED.format("buflend.maximal-as_ndarray"),),
        "an array over memory of a device: its repr ends the process",
    ),
    Mutant(
        "part-as-ndarray-without-a-look",
        SHARED + "arrays.py",
        'see `buflend.minimal.as_ndarray`."""\n    if memory._device is not CPU:\n        admit_host(memory)\n',
        'see `buflend.minimal.as_ndarray`."""\n',
        (REFUSED.format("buflend.maximal-as_ndarray of two dimensions"),),
        "an array over memory of a device: its repr ends the process",
    ),
    Mutant(
        "as-memoryview-without-a-look",
        SHARED + "memory.py",
        "        admit_host(memory)\n",
        "        pass\n",
        (REFUSED.format("buflend.maximal-as_memoryview"),),
        "a view of memory of a device: `bytes` of it ends the process",
    ),
    Mutant(
        "array-interface-of-a-device",
        MAXIMAL + "buffer.py",
        "    @host_value\n    def __array_interface__",
        "    @property\n    def __array_interface__",
        (GUARD + "test_no_byte_is_read[without_what_reads-CUDA-device-0]",),
        "`hasattr` says yes, and consumers take the way that fails",
    ),
    Mutant(
        "arrow-for-the-host-of-a-device",
        MAXIMAL + "buffer.py",
        "    @on_host\n    def __arrow_c_array__",
        "    def __arrow_c_array__",
        (REFUSED.format("__arrow_c_array__"),),
        "Arrow's consumers read host memory without a look: the process ends",
    ),
    Mutant(
        "cuda-speaks-every-protocol",
        MAXIMAL + "offer.py",
        "if device[0] not in self.devices and (",
        "if device[0] not in {*self.devices, 2} and (",
        (GUARD + "test_no_byte_is_read[without_what_reads-CUDA-device-0]",),
        "`hasattr` says yes, and consumers take the way that fails",
    ),
    Mutant(
        "cuda-is-the-hosts",
        SHARED + "device.py",
        "frozenset({1, 3, 11, 13})",
        "frozenset({1, 2, 3, 11, 13})",
        (DEVICE + "test_other_memory_is_refused_with_its_name[2]",),
        "the process ends at the first read",
    ),
    Mutant(
        "unknown-devices-are-the-hosts",
        SHARED + "access.py",
        "if memory._device[0] not in HOST_READABLE and",
        "if memory._device[0] in {2, 4, 7, 8, 9, 10, 12, 14, 15, 16, 17, 18} and",
        (GUARD + "test_what_would_read_is_refused[buflend.maximal-as_ndarray-unknown-(type-99)-device-3]",),
        "the next device that DLPack numbers is read as if it were the CPU",
    ),
    Mutant(
        "devices-of-frames-not-looked-at",
        SHARED + "device.py",
        "    if device[0] not in HOST_READABLE:\n        refuse_host(device, what)\n",
        "    if device[0] == 2:\n        refuse_host(device, what)\n",
        (DEVICE + "test_other_memory_is_refused_with_its_name[99]",),
        "only CUDA is refused",
    ),
    Mutant(
        "address-before-device-of-a-description",
        SHARED + "memory.py",
        "    if device is None:\n        device = device_of(foreign, whose)\n    bufsize",
        '    _integer(foreign, "ptr", whose)\n    if device is None:\n        device = device_of(foreign, whose)\n'
        "    bufsize",
        ("tests/test_interfaces_import.py::TestDescription::test_is_read_and_the_object_is_the_owner",),
        "some producers copy when they are asked for an address",
    ),
    Mutant(
        "address-before-device-of-a-frame",
        SHARED + "chunk.py",
        "        device = device_of(buffer, whose)\n",
        "        buffer.ptr\n        device = device_of(buffer, whose)\n",
        (
            GUARD_IN
            + "test_a_column_of_a_device_is_refused_before_its_pointer_is_asked_for[with an id-minimal-CUDA-device-0]",
        ),
        "some producers copy when they are asked for an address",
    ),
    Mutant(
        "column-of-a-frame-without-a-look",
        SHARED + "chunk.py",
        "            require_host(device, whose)\n",
        "            pass\n",
        (
            GUARD_IN
            + "test_a_column_of_a_device_is_refused_before_its_pointer_is_asked_for[with an id-minimal-CUDA-device-0]",
        ),
        "the values of a frame on a device are read: the process ends",
    ),
    Mutant(
        "values-of-a-device-checked",
        MAXIMAL + "interchange_source.py",
        "    if not piece.size or piece.device[0] not in HOST_READABLE:\n",
        "    if not piece.size:\n",
        (GUARD_IN + "test_a_column_of_a_device_is_taken_as_it_is[CUDA-device-0]",),
        "what is only taken over is read",
    ),
    Mutant(
        "offsets-of-a-device-read-on-the-host",
        SHARED + "arrow_array.py",
        "    return array.device[0] in HOST_READABLE\n",
        "    return True\n",
        (GUARD_IN + "test_text_of_arrow_on_a_device_is_refused_and_released[array-CUDA-device-0]",),
        "the last offset is read where it lies: the process ends",
    ),
    Mutant(
        "mask-of-a-device-counted",
        MAXIMAL + "nulls.py",
        "    if piece.device[0] not in HOST_READABLE:\n        return UNKNOWN\n",
        "",
        ("tests/test_guard_columns.py::test_no_element_is_read[counted-CUDA-device-0]",),
        "asking how many are missing reads the mask",
    ),
    Mutant(
        "device-memory-pickled",
        MAXIMAL + "pickling.py",
        "view = to_memoryview(memory)",
        "view = to_memoryview(memory.to_host())",
        (HOST + "never_reads_memory_of_the_device",),
        "a gigabyte comes over the bus, and nobody asked for it",
    ),
    Mutant(
        "host-memory-for-cupy",
        SHARED + "arrays.py",
        "    if kind not in _CUPY_DEVICES:\n",
        "    if kind not in {*_CUPY_DEVICES, 1, 3}:\n",
        ("tests/test_cupy.py::TestWithoutCupy::test_other_memory_is_refused",),
        "a kernel reads an address of the host",
    ),
]

# The wrong device, ordinal or stream.
NUMBERS = [
    Mutant(
        "ordinal-always-0",
        SHARED + "access.py",
        "return int(device[0]), device[1]",
        "return int(device[0]), 0",
        (ASKED + "an_announced_ordinal_is_believed",),
        "the consumer launches its kernel on another card",
    ),
    Mutant(
        "ordinal-of-a-capsule-not-read",
        SHARED + "dlpack_import.py",
        'to_device((kind, ordinal), "DLTensor.device")',
        'to_device((kind, 0), "DLTensor.device")',
        ("tests/test_column_dlpack.py::TestIn::test_a_device_and_its_stream",),
        "memory of the second card is taken for the first one's",
    ),
    Mutant(
        "ordinal-of-arrow-not-read",
        SHARED + "arrow_import.py",
        'to_device((kind, ordinal), "ArrowDeviceArray',
        'to_device((kind, 0), "ArrowDeviceArray',
        (IN_ARROW + "device_arrays",),
        "memory of the second card is taken for the first one's",
    ),
    Mutant(
        "ordinal-of-arrow-not-given",
        MAXIMAL + "arrow.py",
        "Device(*pair_of(memory))",
        "Device(pair_of(memory)[0], 0)",
        (ASKED + "arrow_has_the_ordinal",),
        "the consumer launches its kernel on another card",
    ),
    Mutant(
        "current-device-for-the-pointers",
        SHARED + "access.py",
        "return device_at(ptr) if bufsize else current_device()",
        "return current_device()",
        (ASKED + "when_somebody_wants_it[device 1-buffer-device]",),
        "an interface names no device: whoever guesses the current one is wrong on two cards",
    ),
    Mutant(
        "pointer-of-nothing-asked",
        SHARED + "access.py",
        "return device_at(ptr) if bufsize else current_device()",
        "return device_at(ptr)",
        (LOCATED + "TestNothing::test_is_on_the_current_device",),
        "the runtime has no answer for address 0",
    ),
    Mutant(
        "pointer-of-nothing-asked-for-a-capsule",
        SHARED + "dlpack_method.py",
        "known_device(tensor.device, tensor.ptr, tensor.nbytes)",
        "known_device(tensor.device, tensor.ptr, 1)",
        (LOCATED + "TestNothing::test_whoever_wants_to_know[column-capsule]",),
        "the runtime has no answer for address 0",
    ),
    Mutant(
        "address-of-nothing-given",
        MAXIMAL + "cuda_array_interface.py",
        "(memory.ptr if memory.bufsize else 0, memory.readonly)",
        "(memory.ptr, memory.readonly)",
        (GUARD + "test_no_byte_is_read[of_no_size-CUDA-device-0]",),
        "consumers ask the runtime for the device of an address that is none",
    ),
    Mutant(
        "interface-waited-for-on-device-0",
        MAXIMAL + "cuda_array_interface.py",
        "synchronize(stream, ordinal_at(ptr))",
        "synchronize(stream, 0)",
        (STREAMS + "TestCudaArrayInterface::test_the_host_waits_and_what_goes_out_is_ready[1-buffer]",),
        "stream 1 is one of each device: that of the wrong one is waited for",
    ),
    Mutant(
        "managed-memory-waited-for-on-device-0",
        SHARED + "cuda.py",
        "    _, ordinal = _attributes(ptr)\n",
        "    ordinal = device_at(ptr).id\n",
        (
            STREAMS + "TestCudaArrayInterface::"
            "test_a_default_stream_is_that_of_the_device_that_managed_memory_was_made_for",
        ),
        "DLPack numbers managed memory 0, and its stream is one of the device that made it",
    ),
    Mutant(
        "device-not-switched",
        SHARED + "cuda.py",
        "check(runtime().cudaSetDevice(self.ordinal),",
        "check(0,",
        (STREAMS + "TestDlpack::test_out_to_another_stream[2]",),
        "stream 1 is one of each device: that of the wrong one is ordered",
    ),
    Mutant(
        "device-not-restored",
        SHARED + "cuda.py",
        "check(runtime().cudaSetDevice(self.before),",
        "check(0,",
        (STREAMS + "TestDlpack::test_out_to_another_stream[2]",),
        "the caller's next allocation lands on another card",
    ),
    Mutant(
        "current-stream-of-another-device",
        SHARED + "arrays.py",
        "get_current_stream(ordinal)",
        "get_current_stream(0)",
        (STREAMS + "TestOfCupy::test_another_stream_waits_for_the_default_one[buffer]",),
        "each device has a current stream: that of the wrong one is ordered",
        peers=("cupy",),
    ),
    Mutant(
        "unknown-ordinal-exported",
        SHARED + "dlpack_method.py",
        "if tensor.device[1] < 0:",
        "if tensor.device[1] < -1:",
        (ASKED + "when_somebody_wants_it[device 1-buffer-capsule]",),
        "no consumer knows a device -1",
    ),
    Mutant(
        "unknown-ordinal-told",
        SHARED + "access.py",
        "    if device[1] == UNKNOWN_ID:\n",
        "    if device[1] < UNKNOWN_ID:\n",
        (ASKED + "when_somebody_wants_it[device 1-buffer-__dlpack_device__]",),
        "no consumer knows a device -1",
    ),
    Mutant(
        "copy-from-an-unknown-ordinal",
        SHARED + "cuda.py",
        "            ordinal = device_at(tensor.ptr).id\n",
        "            ordinal = 0\n",
        (IN_ARROW + "an_offset_of_a_device_without_an_ordinal",),
        "the copy is made in the order of another device's stream",
    ),
    Mutant(
        "managed-told-as-pinned",
        SHARED + "cuda.py",
        "_MEMORY_TYPES = {0: 1, 1: 3, 2: 2, 3: 13}",
        "_MEMORY_TYPES = {0: 1, 1: 3, 2: 2, 3: 3}",
        (ASKED + "the_names_are_those_of_the_enum[managed]",),
        "pinned memory has no stream: nobody waits for the managed one's",
    ),
    Mutant(
        "ordinal-of-managed-memory",
        SHARED + "cuda.py",
        "Device(found, ordinal if found == 2 else 0)",
        "Device(found, ordinal)",
        (ASKED + "the_names_are_those_of_the_enum[managed by device 1]",),
        "DLPack's producers number managed memory 0, whoever made it",
    ),
    Mutant(
        "stream-0-taken",
        MAXIMAL + "cuda_array_interface.py",
        "not 0 < handle < HANDLES",
        "not 0 <= handle < HANDLES",
        (STREAMS + "TestCudaArrayInterface::test_zero_is_forbidden[buffer]",),
        "0 may be the legacy stream or the thread's: the standard forbids it",
    ),
    Mutant(
        "stream-0-given",
        SHARED + "dlpack_method.py",
        "(device[0] in (2, 13) and stream > 0)",
        "(device[0] in (2, 13) and stream >= 0)",
        (STREAMS + "TestDlpack::test_out_to_a_stream_that_the_standard_forbids[device0-0]",),
        "0 may be the legacy stream or the thread's: the standard forbids it",
    ),
    Mutant(
        "default-streams-swapped",
        SHARED + "dlpack_import.py",
        "{2: 1, 10: 0, 13: 1}",
        "{2: 0, 10: 1, 13: 0}",
        (
            STREAMS + "TestDlpack::test_the_default_stream_is_asked_for_and_nothing_is_waited_for[device0]",
            STREAMS + "TestDlpack::test_rocm_has_another_default_and_no_events_here",
        ),
        "CUDA's default stream is 1, ROCm's 0, and each forbids the other's",
    ),
]

MUTANTS = [*LOOK, *NUMBERS]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Tree]:
    with mutants.planted(tmp_path_factory.mktemp("mutants"), MUTANTS) as made:
        yield made


def test_the_table_is_of_this_tree() -> None:
    assert list(mutants.faults(MUTANTS)) == []


@mutants.each(MUTANTS)
def test_is_killed(mutant: Mutant, tree: mutants.Tree) -> None:
    tree.kill(mutant)
