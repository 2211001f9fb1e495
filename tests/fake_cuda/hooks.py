"""The stand-in CUDA library from Python: the runtime's calls as the contract makes them, and what tests ask beyond.

A process finds it that has started with the library in its `LD_LIBRARY_PATH`: `tests/test_fake_cuda.py` sees to that.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from .build import DRIVER, RUNTIME

CONTRACT = Path(__file__).resolve().parents[2] / "asv_bench" / "gpu_check" / "contract.py"


def _load(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


contract = _load(CONTRACT)


class StandIn(contract.Runtime):
    """The stand-in: `call` and `make` are CUDA's, the other methods are not."""

    def __init__(self) -> None:
        super().__init__(RUNTIME)
        self.library.fake_calls.restype = ctypes.c_char_p
        self.library.fake_used.restype = ctypes.c_size_t
        self.library.fake_fail_next.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self.driver = ctypes.CDLL(DRIVER)

    def calls(self) -> list[str]:
        """Return the names of all functions of both libraries that were called since these were last forgotten."""
        return self.library.fake_calls().decode().split()

    def forget_calls(self) -> None:
        """Begin a new list of calls."""
        self.library.fake_forget_calls()

    def used(self, device: int) -> int:
        """Return how many bytes, pinned ones too, are allocated and not freed."""
        return self.library.fake_used(device)

    def events(self) -> int:
        """Return how many events live."""
        return self.library.fake_events()

    def streams(self) -> int:
        """Return how many streams live, without the default ones."""
        return self.library.fake_streams()

    def fail_next(self, name: str, status: int) -> None:
        """Let the next call of a function do nothing and return a status; this replaces what was asked for before."""
        self.library.fake_fail_next(name.encode(), status)

    def set_devices(self, count: int) -> None:
        """Say how many devices there are, 8 at most. With 0 all that needs one returns 100."""
        self.library.fake_set_devices(count)

    def set_strict(self, on: bool) -> None:
        """Say whether the legacy stream leaves other blocking streams alone, which CUDA's does not."""
        self.library.fake_set_strict(on)

    def reset(self) -> None:
        """Forget calls, failures and queued work; two devices, strict, device 0 current in this thread."""
        self.library.fake_reset()
        self.call("cudaSetDevice", 0)
        self.forget_calls()

    @contextmanager
    def on(self, device: int) -> Iterator[None]:
        """Make a device current for a while."""
        before = self.number("cudaGetDevice")
        assert self.call("cudaSetDevice", device) == contract.SUCCESS
        try:
            yield
        finally:
            self.call("cudaSetDevice", before)

    def allocate(self, content: bytes, device: int = 0) -> int:
        """Return the address of device memory with this content."""
        with self.on(device):
            status, address = self.make("cudaMalloc", len(content))
            assert status == contract.SUCCESS
            self.write(address, content)
        return address

    def write(self, address: int, content: bytes) -> None:
        """Copy bytes to the device, on the legacy stream of the current one."""
        source = contract.host(content)
        assert self.call("cudaMemcpy", address, source, len(content), contract.TO_DEVICE) == contract.SUCCESS

    def read(self, address: int, size: int) -> bytes:
        """Copy bytes from the device, on the legacy stream of the current one."""
        target = contract.host(bytes(size))
        assert self.call("cudaMemcpy", target, address, size, contract.TO_HOST) == contract.SUCCESS
        return target.raw

    def stream(self, flags: int = contract.NON_BLOCKING) -> int:
        """Return the handle of a new stream of the current device."""
        return self.make("cudaStreamCreateWithFlags", flags)[1]

    def event(self) -> int:
        """Return the handle of a new event of the current device."""
        return self.make("cudaEventCreateWithFlags", contract.NO_TIMING)[1]


class Copies:
    """Device memory of one byte value, and copies to it that wait on streams."""

    def __init__(self, cuda: StandIn, device: int = 0) -> None:
        self.cuda, self.memory = cuda, cuda.allocate(b"0" * 8, device)
        self.kept: list[Any] = []

    def queue(self, byte: bytes, stream: int) -> None:
        """Queue a copy of 8 bytes to the device."""
        self.kept.append(contract.host(byte * 8))
        assert self.cuda.call("cudaMemcpyAsync", self.memory, self.kept[-1], 8, 1, stream) == contract.SUCCESS

    def seen(self) -> bytes:
        """Return the value that is in the memory now, by way of a stream of its own."""
        stream, target = self.cuda.stream(), contract.host(bytes(8))
        assert self.cuda.call("cudaMemcpyAsync", target, self.memory, 8, 2, stream) == contract.SUCCESS
        assert self.cuda.call("cudaStreamSynchronize", stream) == contract.SUCCESS
        assert self.cuda.call("cudaStreamDestroy", stream) == contract.SUCCESS
        return contract.all_of(target)


def elsewhere(action: Callable[[], object]) -> object:
    """Return what an action returns in another thread."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join()
    return found[0]
