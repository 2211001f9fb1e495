"""A CUDA runtime that does nothing but write down what it is asked: for tests of who asks what, and in which order.

Lives here: the double, and how it takes the place of the library. What the calls do is shown on the stand-in library,
in `tests/fake_cuda`.
"""

import ctypes
from typing import Any

import pytest

from buflend.shared import cuda, cuda_library


class Runtime:
    """Two devices; all memory is the host's to read, whatever the device.

    `calls` has the name and the arguments of each call but those that ask for and set the current device, which
    `current` shows as it is at the time of each call, in `devices`.
    """

    def __init__(self, *, kind: int = 2, ordinal: int = 0, fails: str = "", status: int = 700) -> None:
        self.kind, self.ordinal = kind, ordinal
        self.fails, self.status = fails, status
        self.current = 0
        self.calls: list[tuple[Any, ...]] = []
        self.devices: list[int] = []
        self.cleared = 0

    def _note(self, name: str, *arguments: Any) -> int:
        self.calls.append((name, *arguments))
        self.devices.append(self.current)
        return self.status if name == self.fails else 0

    def names(self) -> list[str]:
        """Return the names of the calls in their order."""
        return [name for name, *_ in self.calls]

    def cudaGetDevice(self, out: Any) -> int:  # noqa: N802 - the runtime's names
        out._obj.value = self.current
        return self.status if self.fails == "cudaGetDevice" else 0

    def cudaSetDevice(self, ordinal: int) -> int:  # noqa: N802
        self.current = ordinal
        return 0

    def cudaGetDeviceCount(self, out: Any) -> int:  # noqa: N802
        out._obj.value = 2
        return self._note("cudaGetDeviceCount")

    def cudaGetLastError(self) -> int:  # noqa: N802
        self.cleared += 1
        return 0

    def cudaGetErrorString(self, status: int) -> bytes:  # noqa: N802
        return b"no luck with %d" % status

    def cudaPointerGetAttributes(self, out: Any, ptr: int) -> int:  # noqa: N802
        ctypes.memmove(out, bytes((ctypes.c_int * 2)(self.kind, self.ordinal)), 8)
        return self._note("cudaPointerGetAttributes", ptr)

    def cudaStreamSynchronize(self, stream: int) -> int:  # noqa: N802
        return self._note("cudaStreamSynchronize", stream)

    def cudaEventCreateWithFlags(self, out: Any, flags: int) -> int:  # noqa: N802
        out._obj.value = 0xE0 + self.names().count("cudaEventCreateWithFlags")
        return self._note("cudaEventCreateWithFlags", flags)

    def cudaEventRecord(self, event: Any, stream: int) -> int:  # noqa: N802
        return self._note("cudaEventRecord", event.value, stream)

    def cudaStreamWaitEvent(self, stream: int, event: Any, flags: int) -> int:  # noqa: N802
        return self._note("cudaStreamWaitEvent", stream, event.value, flags)

    def cudaEventDestroy(self, event: Any) -> int:  # noqa: N802
        return self._note("cudaEventDestroy", event.value)

    def cudaEventSynchronize(self, event: int) -> int:  # noqa: N802
        return self._note("cudaEventSynchronize", event)

    def cudaMemcpyAsync(self, to: int, source: int, size: int, kind: int, stream: int) -> int:  # noqa: N802
        status = self._note("cudaMemcpyAsync", source, size, kind, stream)
        if not status:
            ctypes.memmove(to, source, size)
        return status


def install(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Runtime:
    """Put a new double in the library's place, with a driver in the process."""
    made = Runtime(**options)
    monkeypatch.setattr(cuda_library, "_loaded", made)
    monkeypatch.setattr(cuda, "in_use", lambda: True)
    return made


def remove(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sure that no library can be found, whatever this machine has."""
    monkeypatch.setattr(cuda_library, "_loaded", None)
    monkeypatch.setattr(cuda_library, "NAMES", ("libno_such_runtime.so",))
    monkeypatch.setattr(cuda_library, "_DRIVER", "libno_such_driver.so")
    monkeypatch.setattr(cuda_library, "_driver", None)
