"""Objects that offer one protocol and nothing else, so that it is known which one was read."""

from __future__ import annotations

from typing import Any


class Interface:
    """The CUDA array interface of an array of CuPy, with a stream to wait for or without."""

    def __init__(self, array: Any, stream: int | None = None) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.data.ptr if array.size else 0, False),
            "strides": None,
            "stream": stream,
        }


class Only:
    """One protocol of an object, which is held; DLPack has a second name."""

    def __init__(self, held: Any, *names: str) -> None:
        self.held, self.names = held, names

    def __getattr__(self, name: str) -> Any:
        if name not in self.names:
            raise AttributeError(name)
        return getattr(self.held, name)


class Arrow:
    """Capsules of a device array of Arrow; they can be taken once."""

    def __init__(self, pair: tuple[object, object]) -> None:
        self.pair = pair

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self.pair


class OnHost:
    """A buffer of a device that exports a copy in host memory, for a NumPy that cannot ask for one."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.buffer.__dlpack__(**options | {"dl_device": (1, 0)})


def copied_by_numpy(buffer: Any) -> Any:
    """Return the array of the host that NumPy copies a buffer to, by DLPack."""
    import numpy as np

    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        return np.from_dlpack(OnHost(buffer))
    return np.from_dlpack(buffer, device="cpu")
