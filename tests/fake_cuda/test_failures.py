"""What fails is told with the runtime's number and words, and leaves nothing behind: no error, no event, no owner.

What is expected: NVIDIA, "CUDA Runtime API", sections of `cudaGetLastError`, `cudaGetDeviceCount`, `cudaEventDestroy`.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from buflend.maximal import as_buffer, as_column, as_memoryview, as_ndarray, live_exports
from buflend.shared import CPU, DeviceError, cuda, cuda_library

from ..arrow_producer import Lie
from ..conftest import Run
from ..hand import i32
from .hooks import StandIn, contract
from .lenders import (
    LEGACY,
    NEW,
    SIZE,
    Arrow,
    Block,
    Described,
    Exporting,
    event_behind,
    late,
    refusal,
    seen,
    seen_on,
    settled,
    side,
    tabled,
)

STATUS, TEXT = 700, "an illegal memory access was encountered"
PLACE = ("cudaGetDevice", "cudaSetDevice")
ORDER = ("cudaEventCreateWithFlags", "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventDestroy")
COPY = ("cudaMemcpyAsync", "cudaStreamSynchronize")
WAIT = ("cudaPointerGetAttributes", *PLACE, "cudaStreamSynchronize")


def by_event(block: Block, handle: int) -> Arrow:
    lie = Lie("C", block.size, [None, block.address])
    return Arrow(lie, block.pair, event_behind(block.cuda, handle, block.device), holds=block)


def taken(block: Block, handle: int) -> Any:
    return as_buffer(Exporting(block, handle))


class Case(NamedTuple):
    """What is done with late memory, for a consumer with a stream, and the calls of the runtime that this makes.

    `on` is the stream that sees the new bytes afterwards: the consumer's, the default one, or any.
    """

    prepare: Callable[[Block, int], Any]
    act: Callable[[Any, int], Any]
    calls: tuple[str, ...]
    on: str = "any"
    kind: str = "device"


CASES = {
    "interface in": Case(lambda block, it: Described(block, stream=it), lambda obj, _: as_buffer(obj), WAIT),
    "column in": Case(lambda block, it: Described(block, stream=it), lambda obj, _: as_column(obj), WAIT),
    "mask in": Case(
        lambda block, it: Described(block, mask=Described(block, stream=it)), lambda obj, _: as_column(obj), WAIT
    ),
    "table in": Case(tabled, lambda obj, _: as_buffer(obj), (*PLACE, *ORDER), "default"),
    "event in": Case(by_event, lambda obj, _: as_column(obj), ("cudaEventSynchronize",)),
    "out to a stream": Case(
        taken, lambda made, it: made.__dlpack__(stream=it, max_version=(1, 3)), (*PLACE, *ORDER), "consumer"
    ),
    "out to the host": Case(
        taken, lambda made, _: made.__dlpack__(dl_device=(1, 0), max_version=(1, 3)), (*PLACE, *COPY)
    ),
    "to_host": Case(taken, lambda made, _: made.to_host(), (*PLACE, *COPY)),
    "arrow out": Case(taken, lambda made, _: made.__arrow_c_device_array__(), (*PLACE, "cudaStreamSynchronize")),
    "read by the host": Case(
        taken, lambda made, _: as_ndarray(made), ("cudaGetDevice", "cudaStreamSynchronize"), kind="managed"
    ),
    "asked for its ordinal": Case(
        lambda block, it: as_buffer(Described(block, stream=it)),
        lambda made, _: made.__dlpack_device__(),
        ("cudaPointerGetAttributes",),
    ),
}


class TestOneFailure:
    @pytest.mark.parametrize(("name", "call"), [(name, call) for name, case in CASES.items() for call in case.calls])
    def test_is_told_and_leaves_nothing(self, stand_in: StandIn, name: str, call: str) -> None:
        case, before = CASES[name], [stand_in.used(0), stand_in.used(1)]
        block, handle = late(stand_in, device=0 if CASES[name].kind == "managed" else 1, kind=CASES[name].kind)
        freed, address, device = block.freed, block.address, block.device
        obj, consumer = case.prepare(block, handle), side(stand_in, 1)
        events, exports = stand_in.events(), len(live_exports())
        stand_in.fail_next(call, STATUS)
        text = refusal(partial(case.act, obj, consumer), DeviceError)
        assert f"failed: CUDA error {STATUS}, {TEXT}" in text
        assert stand_in.call("cudaGetLastError") == contract.SUCCESS, "it would be the next call's"
        assert stand_in.number("cudaGetDevice") == 0
        assert stand_in.events() == events + (call == "cudaEventDestroy")
        assert (len(live_exports()), freed) == (exports, [])
        if (call, case.calls[-2:]) == ("cudaStreamSynchronize", COPY):
            # CUDA's copies to ordinary memory are over when they return; this one is made when its target is gone.
            stand_in.reset()
        else:
            made = case.act(obj, consumer)
            reads = {"any": side(stand_in, device), "default": LEGACY, "consumer": consumer}
            assert seen_on(stand_in, address, reads[case.on], device) == NEW
            del made
        del block, obj
        settled()
        assert (freed, [stand_in.used(0), stand_in.used(1)]) == ([contract.SUCCESS], before)

    def test_every_function_fails_somewhere(self) -> None:
        elsewhere = {"cudaGetDeviceCount", "cudaGetLastError"}
        assert {call for case in CASES.values() for call in case.calls} | elsewhere == set(cuda_library._FUNCTIONS)

    @pytest.mark.parametrize(
        ("call", "name", "arguments"),
        [
            ("cudaGetDeviceCount", "device_count", ()),
            ("cudaGetDevice", "current_device", ()),
            ("cudaPointerGetAttributes", "device_at", (SIZE,)),
            ("cudaPointerGetAttributes", "ordinal_at", (SIZE,)),
            ("cudaGetDevice", "ordinal_at", (SIZE,)),
        ],
    )
    def test_of_a_question(self, stand_in: StandIn, call: str, name: str, arguments: tuple[int, ...]) -> None:
        def ask() -> object:
            return getattr(cuda, name)(*arguments)

        answer = ask()
        stand_in.fail_next(call, STATUS)
        assert f"CUDA error {STATUS}, {TEXT}" in refusal(ask, DeviceError)
        assert (stand_in.call("cudaGetLastError"), ask()) == (contract.SUCCESS, answer)

    def test_the_one_offset_that_is_read(self, stand_in: StandIn) -> None:
        offsets, text = Block(stand_in, 1, content=i32(0, 2)), Block(stand_in, 1)
        obj = Arrow(Lie("u", 1, [None, offsets.address, text.address]), (2, 1))
        for call in (*PLACE, "cudaMemcpyAsync"):
            stand_in.fail_next(call, STATUS)
            assert f"CUDA error {STATUS}" in refusal(lambda: as_column(obj), DeviceError)
        assert obj.log.arrays == [""] * 3, "each that was taken was released"
        assert as_column(obj).size() == 1

    def test_the_device_that_was_current_cannot_be_so_again(
        self, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Library:
            """Fails to go back."""

            def __getattr__(self, name: str) -> Any:
                return getattr(library, name)

            def cudaSetDevice(self, ordinal: int) -> int:  # noqa: N802 - the runtime's name
                return int(library.cudaSetDevice(ordinal)) if ordinal else STATUS

        library = cuda_library.runtime()
        monkeypatch.setattr(cuda_library, "_loaded", Library())
        block, handle = late(stand_in, device=1)
        text = refusal(lambda: as_buffer(Described(block, stream=handle)), DeviceError)
        assert f"making CUDA device 0 the current one again failed: CUDA error {STATUS}" in text
        assert seen(stand_in, block.address) == NEW

    def test_with_a_number_that_is_not_known(self, stand_in: StandIn) -> None:
        stand_in.fail_next("cudaGetDeviceCount", 98765)
        text = "counting CUDA devices failed: CUDA error 98765, unrecognized error code"
        assert refusal(cuda.device_count, DeviceError) == text

    def test_somebody_elses_error_stays_theirs(self, stand_in: StandIn) -> None:
        assert stand_in.call("cudaFree", 1) == contract.INVALID_VALUE
        block, handle = late(stand_in, device=1)
        as_buffer(Described(block, stream=handle)).__dlpack_device__()
        assert as_memoryview(taken(block, handle).to_host()).tobytes() == NEW
        assert stand_in.call("cudaGetLastError") == contract.INVALID_VALUE


class TestNoDevice:
    """The runtime is there and no device: 100, cudaErrorNoDevice."""

    NONE = "CUDA error 100, no CUDA-capable device is detected"

    @pytest.mark.parametrize("name", CASES)
    def test_what_needs_one_says_so(self, stand_in: StandIn, name: str) -> None:
        block, handle = late(stand_in, kind=CASES[name].kind)
        obj = CASES[name].prepare(block, handle)
        stand_in.set_devices(0)
        assert self.NONE in refusal(lambda: CASES[name].act(obj, handle), DeviceError)
        stand_in.set_devices(2)

    def test_what_describes_memory_needs_none(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        taken_before = taken(block, handle)
        stand_in.set_devices(0)
        for obj in (Described(block), Arrow(Lie("C", SIZE, [None, block.address]), (2, 0))):
            made = as_column(obj)
            assert (made.size(), made.device[0]) == (SIZE, 2)
        buffer = as_buffer(Described(block))
        assert (buffer.device, buffer.ptr) == ((2, -1), block.address)
        for stream in (None, LEGACY, -1):
            assert taken_before.__dlpack__(stream=stream, max_version=(1, 3)) is not None
        assert as_buffer(b"abc").device is CPU
        stand_in.set_devices(2)
        assert buffer.device == (2, 0), "it is asked again"


NOWHERE = """
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, live_exports
from buflend.shared import DeviceError, cuda

class Card:
    def __init__(self, **fields):
        self.__cuda_array_interface__ = {
            "shape": (8,), "typestr": "|u1", "data": (0xDEAD0000, False), "version": 3} | fields

def told(action):
    try:
        print("done:", action())
    except DeviceError as error:
        print("told:", error)

told(cuda.device_count)
plain = as_buffer(Card())
print(plain.device, plain.__cuda_array_interface__["stream"])
told(plain.__dlpack_device__)
told(plain.to_host)
told(lambda: as_memoryview(plain))
told(lambda: plain.__dlpack__(stream=2))
told(lambda: plain.__arrow_c_device_array__())
told(lambda: as_buffer(Card(stream=2)))
named = Buffer(0xDEAD0000, 8, owner=plain, device=(2, 0))
told(named.to_host)
told(lambda: type(named.__dlpack__(stream=2, max_version=(1, 3))).__name__)
told(lambda: len(named.__arrow_c_device_array__()))
managed = Buffer(0xDEAD0000, 8, owner=plain, device=(13, 0))
told(lambda: managed.__array_interface__["data"][0] == managed.ptr)
kept = named.__dlpack__(max_version=(1, 3))  # alive when the interpreter goes
"""


@pytest.mark.parametrize("site", [False, True], ids=["alone", "with NumPy"])
def test_without_a_library(site: bool, run_python: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH")
    said = run_python(NOWHERE, site=site).splitlines()
    if said[0].startswith("done"):
        pytest.skip("a real CUDA runtime and a device are there")
    missing = r"no CUDA runtime library can be loaded: looked for lib.*; install the CUDA toolkit or the package .*"
    without = rf"told: (?:{missing}|.* failed: CUDA error \d+, .*)"  # or a runtime without a driver
    host = r"told: the memory lies on CUDA device, which the host cannot read; .*"
    expected = [
        without,
        r"Device\(type=<DeviceType.CUDA: 2>, id=-1\) None",
        *[without] * 2,
        host,
        *[without] * 4,
        "done: PyCapsule",
        "done: 2",
        "done: True",
    ]
    assert len(said) == len(expected)
    for line, pattern in zip(said, expected, strict=True):
        assert re.fullmatch(pattern, line), line
