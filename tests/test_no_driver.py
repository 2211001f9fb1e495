"""The CUDA runtime itself where there is no driver, and no runtime at all: what is said, and that nothing else happens.

The runtime is NVIDIA's, of a toolkit or the package nvidia-cuda-runtime. Without a driver each call returns 35,
cudaErrorInsufficientDriver (NVIDIA, "CUDA Runtime API", `cudaError_t`).
"""

import ctypes
import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from buflend import maximal, minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_ndarray, as_table
from buflend.shared import STATIC, DeviceError, cuda, cuda_library

from . import arrow_producer, cuda_runtime
from .capsules import Producer
from .driver import absent
from .only import CONTENT, Owner, lend

ADDRESS = 0x7F0000000000
OTHER = 0x7F0012345678  # a stream's handle
ERROR = "CUDA error 35, CUDA driver version is insufficient for CUDA runtime version"
NOT_FOUND = "no CUDA runtime library can be loaded"


class Described:
    """An object with `__cuda_array_interface__` and nothing else."""

    def __init__(self, **fields: Any) -> None:
        self.returned: list[Any] = []
        self.owner = Owner(self.returned, CONTENT)
        data = self.owner.address, False
        self.__cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": data, "version": 3} | fields


class Eventful:
    """An object that gives, once, a device array of Arrow that is ready after an event."""

    def __init__(self) -> None:
        log, lie = arrow_producer.Log(), arrow_producer.Lie("c", 1, [None, ADDRESS])
        event = arrow_producer.keep(ctypes.c_uint64(0xE4E47))
        self.pair = arrow_producer.schema(lie, log), arrow_producer.device_array(lie, log, (2, 1), event=event)
        self.returned: list[Any] = log.arrays

    def __arrow_c_device_array__(self, **_: Any) -> Any:
        return self.__dict__.pop("pair")


def device_buffer() -> Buffer:
    return Buffer(ADDRESS, 64, owner=STATIC, device=(2, 1))


EVENT = ctypes.c_uint64(0xE4E47)
# What is called -> what the error begins with.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "device_count": (cuda.device_count, "counting CUDA devices"),
    "current_device": (cuda.current_device, "asking for the current CUDA device"),
    "device_at": (lambda: cuda.device_at(ADDRESS), f"asking for the device of address {ADDRESS:#x}"),
    "synchronize": (lambda: cuda.synchronize(1, 0), "asking for the current CUDA device"),
    "synchronize another": (lambda: cuda.synchronize(OTHER, 1), "asking for the current CUDA device"),
    "order": (lambda: cuda.order(1, OTHER, 0), "asking for the current CUDA device"),
    "wait_event": (lambda: cuda.wait_event(ctypes.addressof(EVENT)), "waiting for an event"),
    "to_host": (lambda: device_buffer().to_host(), "asking for the current CUDA device"),
    "dl_device": (
        lambda: device_buffer().__dlpack__(dl_device=(1, 0), max_version=(1, 3)),
        "asking for the current CUDA device",
    ),
}
# The same of objects whose memory is looked at: what is done with one, and what it is.
OBJECTS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "as_buffer, a stream": (as_buffer, lambda: Described(stream=1)),
    "as_column, a stream": (as_column, lambda: Described(stream=OTHER)),
    "as_table, a stream": (lambda obj: as_table({"x": obj}), lambda: Described(stream=2)),
    "as_column, an event": (as_column, Eventful),
    "where it is": (lambda obj: as_buffer(obj).__dlpack_device__(), Described),
    "a capsule": (lambda obj: as_buffer(obj).__dlpack__(max_version=(1, 3)), Described),
    "a capsule of a column": (lambda obj: as_column(obj).__dlpack__(max_version=(1, 3)), Described),
    "Arrow": (lambda obj: as_buffer(obj).__arrow_c_device_array__(), Described),
    "Arrow of a column": (lambda obj: as_column(obj).__arrow_c_device_array__(), Described),
    "to_host": (lambda obj: as_buffer(obj).to_host(), Described),
    "minimal": (lambda obj: minimal.as_buffer(as_buffer(obj)).__dlpack_device__(), Described),
}


def said(function: Callable[..., Any], *args: Any) -> str:
    """Return the text of the DeviceError that a call must raise; the error itself is gone."""
    try:
        made = function(*args)
    except DeviceError as error:
        return str(error)
    raise AssertionError(f"no error, but a {type(made)}")


def uses(name: str) -> list[str]:
    """Return what the uses of two objects of this name say; what each held is returned, once and at once."""
    use, make = OBJECTS[name]
    texts = []
    for _ in range(2):
        obj = make()
        returned = obj.returned
        texts.append(said(use, obj))
        del obj
        assert len(returned) == 1, "an error keeps nothing"
    return texts


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return NVIDIA's runtime, found as anybody's program finds it."""
    monkeypatch.setattr(cuda_library, "_loaded", None)
    try:
        return cuda_library.runtime()
    except DeviceError:
        pytest.skip("needs the package nvidia-cuda-runtime, or a CUDA toolkit")


@absent
@pytest.mark.peers
class TestTheRuntimeAlone:
    @pytest.mark.parametrize("name", CALLS)
    def test_each_call_tells_why(self, name: str, runtime: Any) -> None:
        call, begins = CALLS[name]
        texts = [said(call) for _ in range(2)]
        assert texts == [f"{begins} failed: {ERROR}"] * 2, "the second time as the first"
        assert cuda_library.runtime() is runtime

    @pytest.mark.parametrize("name", OBJECTS)
    @pytest.mark.usefixtures("runtime")
    def test_each_use_of_an_object_tells_why(self, name: str) -> None:
        assert all(text.endswith(f"failed: {ERROR}") for text in uses(name))

    def test_nothing_to_order_asks_nothing(self, runtime: Any) -> None:
        cuda.order(OTHER, OTHER, 0)
        assert runtime.cudaStreamSynchronize(OTHER) == 35, "it would have been told"

    @pytest.mark.usefixtures("runtime")
    def test_what_needs_no_answer_goes_on(self) -> None:
        obj = Described()
        buffer, column = as_buffer(obj), as_column(obj)
        assert (buffer.ptr, buffer.device, column.device) == (obj.owner.address, (2, -1), (2, -1))
        assert "CUDA:-1" in repr(buffer)
        assert buffer.__cuda_array_interface__["data"] == (obj.owner.address, False)
        assert column.__cuda_array_interface__["shape"] == (64,)
        assert "cannot read" in said(as_ndarray, buffer)
        returned = obj.returned
        del obj, buffer
        assert not returned
        del column
        assert returned == [1]

    @pytest.mark.usefixtures("runtime")
    def test_without_a_driver_nothing_is_pending(self) -> None:
        assert not cuda.in_use()
        buffer = as_buffer(Producer(device=(13, 0)))
        assert as_ndarray(buffer).tolist() == list(range(64))

    @pytest.mark.usefixtures("runtime")
    @pytest.mark.parametrize("device", [(13, 0), (2, 1)])
    def test_what_cannot_be_waited_for_stays_pending(
        self, device: tuple[int, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cuda, "in_use", lambda: True)
        producer = Producer(device=device)
        buffer = as_buffer(producer)
        for _ in range(2):
            assert ERROR in said(partial(buffer.__dlpack__, stream=OTHER, max_version=(1, 3)))
            assert ERROR in said(buffer.__arrow_c_device_array__)
            assert buffer.__cuda_array_interface__["stream"] == 1
            assert buffer.device == device
        if device[0] == 13:
            assert ERROR in said(as_ndarray, buffer)
        assert not producer.lent[0].deleted
        del buffer
        gc.collect()
        assert len(producer.lent[0].deleted) == 1

    @pytest.mark.parametrize("part", [maximal, minimal], ids=["maximal", "minimal"])
    @pytest.mark.usefixtures("runtime")
    def test_cupy_is_told_by_its_own_runtime(self, part: Any) -> None:
        pytest.importorskip("cupy")
        buffer = part.Buffer(ADDRESS, 64, owner=STATIC, device=(2, None))
        for _ in range(2):
            assert "CUDA driver version is insufficient" in said(part.as_cupy, buffer)
        assert buffer.device == (2, -1)

    @pytest.mark.usefixtures("runtime")
    def test_cupy_of_an_interface_with_a_stream(self) -> None:
        pytest.importorskip("cupy")
        obj = Described(stream=OTHER)
        assert "CUDA driver version is insufficient" in said(maximal.as_cupy, obj)
        returned = obj.returned
        del obj
        assert returned == [1]


class TestNoRuntime:
    """No library by any of the names, as on most machines."""

    @pytest.fixture(autouse=True)
    def _none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)

    @pytest.mark.parametrize("name", CALLS)
    def test_each_call_tells_what_to_do(self, name: str) -> None:
        texts = [said(CALLS[name][0]) for _ in range(2)]
        assert texts[0] == texts[1]
        assert texts[0].startswith(f"{NOT_FOUND}: looked for libno_such_runtime.so where the system looks")
        assert "CUDA_PATH and CUDA_HOME" in texts[0]
        assert "install the CUDA toolkit or the package nvidia-cuda-runtime" in texts[0]

    @pytest.mark.parametrize("name", OBJECTS)
    def test_each_use_of_an_object_tells_what_to_do(self, name: str) -> None:
        assert all(text.startswith(NOT_FOUND) for text in uses(name))

    def test_nothing_to_order_looks_for_nothing(self) -> None:
        cuda.order(OTHER, OTHER, 0)
        assert cuda_library._loaded is None

    def test_what_needs_no_answer_goes_on(self) -> None:
        buffer, returned = lend(device=(2, 1))
        assert buffer.__dlpack__(stream=OTHER, max_version=(1, 3))
        assert as_buffer(Producer(device=(2, 1))).__dlpack__(stream=OTHER, max_version=(1, 3))
        assert as_ndarray(as_buffer(Producer(device=(13, 0)))).tolist() == list(range(64))
        del buffer
        assert returned == [1]
        assert (cuda_library._loaded, cuda_library._driver) == (None, None), "nothing was looked for"
