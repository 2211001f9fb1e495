"""What tests may expect of the CUDA runtime, asked of a library: a real one on a GPU, or the stand-in of the tests.

    python asv_bench/gpu_check/contract.py libcudart.so.13
    python asv_bench/gpu_check/contract.py /path/to/libcudart.so.13 --json contract.json

The exit status is the number of differences. A test that runs on the stand-in relies on nothing that is not written
here and was not found true of a real library; where the two differ, the expectation and the stand-in follow the real
one. Needs the standard library alone.
"""

import argparse
import ctypes
import errno
import faulthandler
import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SUCCESS, INVALID_VALUE = 0, 1
"""Of cudaError_t."""

UNREGISTERED, PINNED, DEVICE, MANAGED = range(4)
"""Of cudaMemoryType."""

TO_DEVICE, TO_HOST = 1, 2
"""Of cudaMemcpyKind."""

LEGACY, PER_THREAD = 1, 2
"""Handles of the default streams."""

ATTACH_GLOBAL, NON_BLOCKING, NO_TIMING = 1, 1, 2
"""Flags: of managed memory, of a stream, of an event."""

SIZE = 64
"""Bytes that are copied."""

_handle, _size, _int, _unsigned = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint
_copy = [_handle, _handle, _size, _int]

PROTOTYPES: dict[str, list[Any]] = {
    "cudaGetDeviceCount": [_handle],
    "cudaGetDevice": [_handle],
    "cudaSetDevice": [_int],
    "cudaDeviceSynchronize": [],
    "cudaGetLastError": [],
    "cudaPeekAtLastError": [],
    "cudaRuntimeGetVersion": [_handle],
    "cudaDriverGetVersion": [_handle],
    "cudaPointerGetAttributes": [_handle, _handle],
    "cudaMalloc": [_handle, _size],
    "cudaMallocHost": [_handle, _size],
    "cudaMallocManaged": [_handle, _size, _unsigned],
    "cudaFree": [_handle],
    "cudaFreeHost": [_handle],
    "cudaMemcpy": _copy,
    "cudaMemcpyAsync": [*_copy, _handle],
    "cudaMemset": [_handle, _int, _size],
    "cudaMemsetAsync": [_handle, _int, _size, _handle],
    "cudaStreamCreateWithFlags": [_handle, _unsigned],
    "cudaStreamDestroy": [_handle],
    "cudaStreamSynchronize": [_handle],
    "cudaStreamQuery": [_handle],
    "cudaStreamWaitEvent": [_handle, _handle, _unsigned],
    "cudaEventCreateWithFlags": [_handle, _unsigned],
    "cudaEventRecord": [_handle, _handle],
    "cudaEventSynchronize": [_handle],
    "cudaEventQuery": [_handle],
    "cudaEventDestroy": [_handle],
}
"""Function -> its parameters; each returns a cudaError_t. Pointers and handles are numbers."""


class Attributes(ctypes.Structure):
    """cudaPointerAttributes, as long as any version has it."""

    _fields_ = (
        ("type", _int),
        ("device", _int),
        ("device_pointer", _handle),
        ("host_pointer", _handle),
        ("reserved", ctypes.c_long * 8),
    )


class Runtime:
    """A CUDA runtime library; `statuses` holds what every call has returned."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)
        self.statuses: list[int] = []
        for name, parameters in PROTOTYPES.items():
            getattr(self.library, name).argtypes = parameters
        for name in ("cudaGetErrorName", "cudaGetErrorString"):
            getattr(self.library, name).restype = ctypes.c_char_p

    @property
    def is_stand_in(self) -> bool:
        """Whether this is the stand-in of the tests."""
        return hasattr(self.library, "fake_calls")

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function and return its status."""
        status = int(getattr(self.library, name)(*arguments))
        self.statuses.append(status)
        return status

    def make(self, name: str, *arguments: Any) -> tuple[int, int]:
        """Call a function that gives an address or a handle; return its status and that, 0 for none."""
        made = _handle()
        return self.call(name, ctypes.byref(made), *arguments), made.value or 0

    def number(self, name: str) -> int:
        """Return the number that a function gives, whatever its status."""
        number = _int()
        getattr(self.library, name)(ctypes.byref(number))
        return number.value

    def attributes(self, pointer: int) -> tuple[int, int, int]:
        """Return the status of a question for an address, and its type of memory and device."""
        found = Attributes()
        return self.call("cudaPointerGetAttributes", ctypes.byref(found), pointer), found.type, found.device

    def error(self, status: int) -> str:
        """Say a status in words."""
        name, text = (getattr(self.library, f"cudaGetError{what}")(status).decode() for what in ("Name", "String"))
        return f"{status} ({name}: {text})"


class Fact(NamedTuple):
    """Something asked of the library, what came out and what must."""

    what: str
    got: object
    expected: object

    @property
    def holds(self) -> bool:
        """Whether both are the same."""
        return self.got == self.expected


def host(content: bytes = bytes(SIZE)) -> Any:
    """Return host memory with this content."""
    return (ctypes.c_char * len(content)).from_buffer_copy(content)


def all_of(memory: Any) -> bytes:
    """Return every byte that occurs, once."""
    return bytes(sorted(set(memory.raw)))


def contract(cuda: Runtime) -> Iterator[Fact]:
    """Yield what holds on hardware and for the stand-in, by the documentation of CUDA 11 and newer."""
    yield Fact("there is a device", cuda.call("cudaGetDeviceCount", ctypes.byref(_int())), SUCCESS)
    cuda.call("cudaSetDevice", 0)

    _, memory = cuda.make("cudaMalloc", 1 << 20)
    first, target = host(b"x" * SIZE), host()
    yield Fact("device pointer", cuda.attributes(memory), (SUCCESS, DEVICE, 0))
    yield Fact("pointer inside", cuda.attributes(memory + 77), (SUCCESS, DEVICE, 0))
    yield Fact("host pointer", cuda.attributes(ctypes.addressof(first)), (SUCCESS, UNREGISTERED, -2))
    yield Fact("NULL is no error", cuda.attributes(0)[0], SUCCESS)

    yield Fact("copy to the device", cuda.call("cudaMemcpy", memory, first, SIZE, TO_DEVICE), SUCCESS)
    yield Fact("copy to the host", cuda.call("cudaMemcpy", target, memory, SIZE, TO_HOST), SUCCESS)
    yield Fact("the bytes arrive", all_of(target), b"x")
    yield Fact("a wrong direction", cuda.call("cudaMemcpy", target, first, SIZE, TO_DEVICE), INVALID_VALUE)
    cuda.call("cudaGetLastError")

    yield Fact("stream 1 can be waited for", cuda.call("cudaStreamSynchronize", LEGACY), SUCCESS)
    yield Fact("stream 2 can be waited for", cuda.call("cudaStreamSynchronize", PER_THREAD), SUCCESS)

    status, pinned = cuda.make("cudaMallocHost", SIZE)
    yield Fact("pinned memory", (status, cuda.attributes(pinned)), (SUCCESS, (SUCCESS, PINNED, 0)))
    yield Fact("the host reads it", len(ctypes.string_at(pinned, SIZE)) if pinned else 0, SIZE)
    yield Fact("it is freed", cuda.call("cudaFreeHost", pinned), SUCCESS)
    status, managed = cuda.make("cudaMallocManaged", SIZE, ATTACH_GLOBAL)
    yield Fact("managed memory", (status, cuda.attributes(managed)), (SUCCESS, (SUCCESS, MANAGED, 0)))
    yield Fact("it is freed too", cuda.call("cudaFree", managed), SUCCESS)

    streams = [cuda.make("cudaStreamCreateWithFlags", NON_BLOCKING)[1] for _ in range(2)]
    _, event = cuda.make("cudaEventCreateWithFlags", NO_TIMING)
    second = host(b"y" * SIZE)
    cuda.call("cudaMemcpyAsync", memory, second, SIZE, TO_DEVICE, streams[0])
    yield Fact("an event is recorded", cuda.call("cudaEventRecord", event, streams[0]), SUCCESS)
    yield Fact("a stream waits for it", cuda.call("cudaStreamWaitEvent", streams[1], event, 0), SUCCESS)
    cuda.call("cudaMemcpyAsync", target, memory, SIZE, TO_HOST, streams[1])
    yield Fact("the host waits for that stream", cuda.call("cudaStreamSynchronize", streams[1]), SUCCESS)
    yield Fact("the event has put them in order", all_of(target), b"y")
    destroyed = [cuda.call("cudaEventDestroy", event), *(cuda.call("cudaStreamDestroy", each) for each in streams)]
    yield Fact("all are destroyed", destroyed, [SUCCESS] * 3)

    yield Fact("device memory is freed", cuda.call("cudaFree", memory), SUCCESS)
    yield Fact("but once", cuda.call("cudaFree", memory), INVALID_VALUE)
    cuda.call("cudaGetLastError")
    yield Fact("a freed pointer", cuda.attributes(memory), (SUCCESS, UNREGISTERED, -2))
    yield Fact("no bytes are NULL", cuda.make("cudaMalloc", 0), (SUCCESS, 0))


def stand_in_only(cuda: Runtime) -> Iterator[Fact]:
    """Yield what the stand-in adds: mistakes that hardware may let pass fail every time."""
    cuda.call("cudaSetDevice", 1)
    yield from _order(cuda)
    yield from _memory(cuda)
    cuda.call("cudaGetLastError")
    cuda.call("cudaSetDevice", 0)


def _order(cuda: Runtime) -> Iterator[Fact]:
    _, memory = cuda.make("cudaMalloc", SIZE)
    stream, other = (cuda.make("cudaStreamCreateWithFlags", NON_BLOCKING)[1] for _ in range(2))
    kept: list[Any] = []  # what is queued reads it later

    def write(byte: bytes, stream: int) -> None:
        kept.append(host(byte * SIZE))
        cuda.call("cudaMemcpyAsync", memory, kept[-1], SIZE, TO_DEVICE, stream)

    def content() -> bytes:
        target = host()
        cuda.call("cudaMemcpy", target, memory, SIZE, TO_HOST)
        return all_of(target)

    cuda.call("cudaMemcpy", memory, host(b"a" * SIZE), SIZE, TO_DEVICE)
    write(b"b", stream)
    yield Fact("without a wait the old bytes are seen", content(), b"a")
    cuda.call("cudaStreamSynchronize", other)
    yield Fact("with a wait for another stream too", content(), b"a")
    cuda.call("cudaStreamSynchronize", stream)
    yield Fact("with the right one the new ones", content(), b"b")

    write(b"c", LEGACY)
    cuda.call("cudaSetDevice", 0)
    cuda.call("cudaStreamSynchronize", LEGACY)
    yield Fact("stream 1 of another device is another stream", content(), b"b")
    cuda.call("cudaSetDevice", 1)
    cuda.call("cudaStreamSynchronize", LEGACY)
    yield Fact("that of the device of the work is the right one", content(), b"c")

    write(b"d", stream)
    _, event = cuda.make("cudaEventCreateWithFlags", NO_TIMING)
    cuda.call("cudaEventRecord", event, stream)
    cuda.call("cudaStreamWaitEvent", other, event, 0)
    cuda.call("cudaEventDestroy", event)
    cuda.call("cudaStreamSynchronize", other)
    yield Fact("an event orders after it was destroyed", content(), b"d")

    write(b"e", stream)
    cuda.call("cudaStreamDestroy", stream)
    yield Fact("to destroy a stream is no wait for it", content(), b"d")
    cuda.call("cudaDeviceSynchronize")
    cuda.call("cudaStreamDestroy", other)
    cuda.call("cudaFree", memory)


def _memory(cuda: Runtime) -> Iterator[Fact]:
    before = cuda.library.fake_used(1)
    _, memory = cuda.make("cudaMalloc", SIZE)
    target = host(bytes(SIZE + 1))
    yield Fact("bytes in use", cuda.library.fake_used(1) - before, SIZE)
    yield Fact("a byte too many", cuda.call("cudaMemcpy", target, memory, SIZE + 1, TO_HOST), INVALID_VALUE)
    yield Fact("the host that reads dies", signal_of(lambda: ctypes.string_at(memory, 1)), signal.SIGSEGV)
    yield Fact("a system call is refused", write_error(memory), errno.EFAULT)
    cuda.call("cudaFree", memory)
    yield Fact("bytes in use after freeing", cuda.library.fake_used(1) - before, 0)
    yield Fact("a copy from freed memory", cuda.call("cudaMemcpy", target, memory, SIZE, TO_HOST), INVALID_VALUE)
    yield Fact("the host that reads freed memory dies", signal_of(lambda: ctypes.string_at(memory, 1)), signal.SIGSEGV)


def signal_of(action: Callable[[], object]) -> int:
    """Return the signal that an action dies of, in a child; 0 when it lives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads, which this child has no need of
        child = os.fork()
    if not child:
        try:
            faulthandler.disable()  # it is to die, and nobody has to hear of it
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def write_error(address: int) -> int:
    """Return the error number of a write from an address into a pipe; 0 for none."""
    ends = os.pipe()
    try:
        os.write(ends[1], (ctypes.c_char * 8).from_address(address))
    except OSError as error:
        return error.errno or 0
    finally:
        for end in ends:
            os.close(end)
    return 0


def main() -> int:
    """Ask a library everything, print what came out, and return the number of differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", help="name or path of a CUDA runtime, such as libcudart.so.13")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what came out to a file, too")
    arguments = parser.parse_args()
    path = Path(arguments.library)
    try:
        cuda = Runtime(str(path.resolve()) if path.exists() else arguments.library)
    except OSError as error:
        parser.error(f"the library cannot be loaded: {error}")
    versions = {name: cuda.number(f"cuda{name.title()}GetVersion") for name in ("runtime", "driver")}
    print(f"{arguments.library}: runtime {versions['runtime']}, driver {versions['driver']}")
    facts: list[dict[str, Any]] = []
    for part in (contract, stand_in_only) if cuda.is_stand_in else (contract,):
        for fact in part(cuda):
            facts.append({"part": part.__name__, **fact._asdict(), "holds": fact.holds})
            print(
                f"ok    {fact.what}" if fact.holds else f"DIFF  {fact.what}: got {fact.got}, expected {fact.expected}"
            )
    differences = sum(not fact["holds"] for fact in facts)
    failed = set(cuda.statuses)
    if len(failed) == 1 and SUCCESS not in failed:
        print(f"every call failed with {cuda.error(*failed)}; the contract can only be asked for where there is a GPU")
    print(f"{differences} of {len(facts)} differ")
    if arguments.json:
        found = {"library": arguments.library, **versions, "differences": differences, "facts": facts}
        arguments.json.write_text(json.dumps(found, default=repr, indent=1) + "\n", "utf-8")
    return differences


if __name__ == "__main__":
    sys.exit(main())
