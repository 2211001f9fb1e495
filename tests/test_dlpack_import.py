"""DLPack in, by capsules made by hand: every field right, odd and wrong; the deleter called once, and not too early."""

import ctypes
import gc
import itertools
import math
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Buffer, as_buffer, as_memoryview, as_ndarray
from buflend.shared import CPU, BuflendError, CopyRequiredError, DeviceError, ProducerError
from tests.capsules import (
    IS_COPIED,
    LEGACY,
    PADDED,
    READ_ONLY,
    SIZE,
    VERSIONED,
    Lent,
    Producer,
    consume,
    lend,
    name_of,
    refusal,
    rename,
    table,
    tensor_bytes,
)

STRUCTS = pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
NOWHERE = 0x10  # an address that cannot be read
HERE = str(Path(__file__).parent)

Run = Callable[..., str]


def taken(**fields: Any) -> tuple[Buffer, Lent]:
    """Return the buffer of a producer with these fields, and what was lent; the producer is gone."""
    producer = Producer(**fields)
    return as_buffer(producer), producer.lent[0]


def refused(kind: type[Exception], **fields: Any) -> str:
    """Return the text of the refusal; what was lent has been returned once."""
    producer = Producer(**fields)
    text = refusal(kind, producer)
    assert [len(lent.deleted) for lent in producer.lent] == [1]
    return text


VIEWS: dict[str, Callable[[Any], Any]] = {
    "memoryview": as_memoryview,
    "part of a memoryview": lambda b: as_memoryview(b)[3:7],
    "strided array": lambda b: as_ndarray(b)[::2],
    "part": lambda b: as_ndarray(b, "int16", shape=(2, 2), offset=4),
    "nothing": lambda b: as_ndarray(b, shape=0),
    "buffer of an array": lambda b: as_buffer(as_ndarray(b)),
    "array by the array interface": np.asarray,
    "capsule": lambda b: b.__dlpack__(),
}


class TestLife:
    @STRUCTS
    def test_one_view_keeps_the_memory_and_returns_it_once(self, versioned: bool) -> None:
        buffer, lent = taken(versioned=versioned)
        view = as_ndarray(buffer)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (lent.ptr, SIZE, CPU)
        assert view.ctypes.data == lent.ptr
        del buffer
        assert view.tolist() == list(range(SIZE))
        assert not lent.deleted
        del view
        assert len(lent.deleted) == 1
        assert lent.ended == [VERSIONED if versioned else LEGACY], "the capsule is kept unused"

    @pytest.mark.parametrize("name", VIEWS)
    def test_whatever_is_made_of_it_keeps_the_memory(self, name: str) -> None:
        buffer, lent = taken()
        made = VIEWS[name](buffer)
        del buffer
        assert not lent.deleted
        del made
        assert len(lent.deleted) == 1

    def test_the_producer_is_not_kept(self) -> None:
        producer = Producer()
        died = weakref.ref(producer)
        buffer = as_buffer(producer)
        del producer
        assert died() is None
        assert as_ndarray(buffer)[:4].tolist() == [0, 1, 2, 3]

    def test_it_is_returned_on_the_thread_that_drops_it(self) -> None:
        held = [taken()]
        lent = held[0][1]
        thread = threading.Thread(target=held.clear)
        thread.start()
        ident = thread.ident
        thread.join()
        assert lent.deleted == [ident]

    @STRUCTS
    def test_a_capsule_that_is_given_twice_is_returned_after_both(self, versioned: bool) -> None:
        capsule, lent = lend(versioned=versioned)

        class Same(Producer):
            def __dlpack__(self, **options: Any) -> object:
                return made[0]

        made = [capsule]
        del capsule
        first, second = as_buffer(Same()), as_buffer(Same())
        made.clear()
        del first
        assert not lent.deleted
        assert as_ndarray(second)[1] == 1
        del second
        assert len(lent.deleted) == 1

    def test_a_cycle_through_the_buffer_is_collected(self) -> None:
        buffer, lent = taken()
        cycle: list[Any] = [buffer, as_ndarray(buffer)]
        cycle.append(cycle)
        del buffer, cycle
        gc.collect()
        assert len(lent.deleted) == 1

    @STRUCTS
    def test_no_deleter(self, versioned: bool) -> None:
        buffer, lent = taken(versioned=versioned, deleter=False)
        assert as_ndarray(buffer)[63] == 63
        del buffer
        assert len(lent.ended) == 1
        assert not lent.deleted

    def test_many_exchanges_leave_nothing_behind(self) -> None:
        made = [Producer() for _ in range(300)]
        for producer in made:
            for _ in range(3):
                as_ndarray(as_buffer(producer)).sum()
        assert {len(lent.deleted) for producer in made for lent in producer.lent} == {1}

    def test_the_helper_sees_a_second_call(self) -> None:
        capsule, lent = lend()
        deleter = consume(capsule)
        deleter()
        deleter()
        del capsule
        assert len(lent.deleted) == 2
        assert lent.ended == [b"used_" + VERSIONED]


class TestCapsules:
    @pytest.mark.parametrize("answer", [None, 0, b"dltensor", "dltensor", 1.5, []], ids=repr)
    def test_no_capsule(self, answer: object) -> None:
        class Wrong(Producer):
            def __dlpack__(self, **options: Any) -> object:
                return answer

        assert "expected a capsule" in refusal(ProducerError, Wrong())

    @pytest.mark.parametrize(
        "name", [b"", b"arrow_array", b"DLTENSOR", b"dltensor ", b"dltensor_versioned2", b"dl\xfftensor"]
    )
    def test_another_name(self, name: bytes) -> None:
        producer = Producer(name=name)
        assert "unused DLPack capsule" in refusal(ProducerError, producer)
        assert producer.lent[0].ended == [name]
        assert not producer.lent[0].deleted

    @STRUCTS
    def test_a_used_capsule(self, versioned: bool) -> None:
        capsule, lent = lend(versioned=versioned)
        deleter = consume(capsule)

        class Used(Producer):
            def __dlpack__(self, **options: Any) -> object:
                return capsule

        assert f"used_{'dltensor_versioned' if versioned else 'dltensor'}" in refusal(ProducerError, Used())
        assert not lent.deleted
        deleter()
        assert len(lent.deleted) == 1

    def test_a_capsule_that_was_used_before_is_read_under_its_own_name_only(self) -> None:
        capsule, lent = lend(versioned=False)
        rename(capsule, b"used_" + LEGACY)
        rename(capsule, LEGACY)

        class Again(Producer):
            def __dlpack__(self, **options: Any) -> object:
                return capsule

        assert name_of(as_buffer(Again()).owner) == LEGACY
        assert not lent.deleted

    @pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
    def test_another_major_version_is_refused_before_anything_else_is_read(self, major: int) -> None:
        # A tensor that would be refused for other reasons, were it read.
        text = refused(ProducerError, version=(major, 0), ndim=-3, dtype=(77, 0, 0), data=0)
        assert text.startswith(f"DLPack version: got ({major}, 0)")

    @pytest.mark.parametrize("minor", [0, 1, 3, 4, 99, 2**32 - 1])
    def test_any_minor_version_is_read(self, minor: int) -> None:
        buffer, _ = taken(version=(1, minor))
        assert as_ndarray(buffer).tolist() == list(range(SIZE))

    @pytest.mark.parametrize("known", [0, READ_ONLY, IS_COPIED, READ_ONLY | IS_COPIED, PADDED, READ_ONLY | PADDED])
    @pytest.mark.parametrize("unknown", [0, 8, 2**64 - 8])
    def test_flags(self, known: int, unknown: int) -> None:
        buffer, _ = taken(flags=known | unknown)
        assert buffer.readonly is bool(known & READ_ONLY)
        assert as_ndarray(buffer).flags.writeable is not bool(known & READ_ONLY)
        assert as_memoryview(buffer).readonly is bool(known & READ_ONLY)
        assert buffer.bufsize == SIZE


class TestLayout:
    @STRUCTS
    @pytest.mark.parametrize("offset", [0, 1, 8, 63])
    def test_a_byte_offset_is_folded_into_the_address(self, offset: int, versioned: bool) -> None:
        buffer, lent = taken(versioned=versioned, byte_offset=offset, shape=(SIZE - offset,))
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr + offset, SIZE - offset)
        assert as_ndarray(buffer).tolist() == list(range(offset, SIZE))

    @STRUCTS
    @pytest.mark.parametrize("shape", [(64,), (1,), (4, 16), (2, 2, 2, 8), (2,) * 6, (1,) * 64, (1,) * 65, (64, 1)])
    def test_null_strides_are_c_order(self, shape: tuple[int, ...], versioned: bool) -> None:
        buffer, lent = taken(versioned=versioned, shape=shape, strides=None)
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr, math.prod(shape))

    @pytest.mark.parametrize("stray", [0, -5, 3, 2**62, -(2**63), 2**63 - 1])
    @pytest.mark.parametrize("shape", [(1,), (1, 64), (64, 1), (1, 8, 1, 8, 1), (1, 1, 1)])
    def test_the_stride_of_one_element_means_nothing(self, shape: tuple[int, ...], stray: int) -> None:
        compact = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        strides = tuple(stray if extent == 1 else step for extent, step in zip(shape, compact, strict=True))
        buffer, lent = taken(shape=shape, strides=strides)
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr, math.prod(shape))

    @STRUCTS
    @pytest.mark.parametrize(("dtype", "size"), [((1, 8, 1), 1), ((0, 64, 1), 8), ((5, 128, 1), 16), ((1, 1, 1), 1)])
    def test_no_dimension_and_null_shape(self, dtype: tuple[int, int, int], size: int, versioned: bool) -> None:
        buffer, lent = taken(versioned=versioned, shape=None, dtype=dtype)
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr, size)
        assert as_ndarray(buffer).tolist() == list(range(size))

    @STRUCTS
    @pytest.mark.parametrize("data", [0, 1, 0xDEADBEEF, 2**63, 2**64 - 1])
    @pytest.mark.parametrize(
        ("shape", "strides"),
        [
            ((0,), None),
            ((0,), (-1,)),
            ((0, 3), (2**63 - 1, -(2**63))),
            ((3, 0, 2), (0, 0, 0)),
            ((2**62, 0, 2**62), None),
            ((0, 2**63 - 1), (7, 7)),
        ],
    )
    def test_nothing_at_any_address(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None, data: int, versioned: bool
    ) -> None:
        buffer, lent = taken(versioned=versioned, shape=shape, strides=strides, data=data)
        assert buffer.bufsize == 0
        assert as_ndarray(buffer).tolist() == []
        assert as_memoryview(buffer).tobytes() == b""
        del buffer
        assert len(lent.deleted) == 1

    @STRUCTS
    @pytest.mark.parametrize(
        ("shape", "strides"),
        [
            ((4,), (2,)),
            ((4,), (-1,)),
            ((4,), (0,)),
            ((2, 4), (8, 1)),
            ((2, 3), (1, 3)),
            ((2, 2), (1, 1)),
            ((2, 2), (-2, 1)),
            ((2, 3, 4), (12, 4, -1)),
            ((2, 1, 4), (8, 0, 2)),
            ((2,), (2**63 - 1,)),
        ],
    )
    def test_strided_memory_needs_a_copy(
        self, shape: tuple[int, ...], strides: tuple[int, ...], versioned: bool
    ) -> None:
        text = refused(CopyRequiredError, versioned=versioned, shape=shape, strides=strides)
        assert "contiguous" in text
        assert "strided" in text
        assert "copy" in text
        assert str(shape) in text

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
    def test_any_order_of_dimensions_is_one_range(self, order: tuple[int, ...]) -> None:
        shape, steps, step = (2, 4, 8), [0, 0, 0], 1
        for axis in order:
            steps[axis], step = step, step * shape[axis]
        buffer, lent = taken(shape=shape, strides=tuple(steps))
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr, SIZE)

    @pytest.mark.parametrize(
        ("dtype", "shape", "flags", "size"),
        [
            *[((code, 8, 1), (10,), 0, 10) for code in (0, 1, 6, *range(7, 15))],
            *[((code, 16, 1), (10,), 0, 20) for code in (0, 1, 2, 4)],
            ((2, 64, 1), (8,), 0, 64),
            ((5, 64, 1), (2, 4), 0, 64),
            ((5, 128, 1), (4,), 0, 64),
            ((3, 64, 1), (8,), 0, 64),
            ((1, 1, 1), (64,), 0, 8),
            ((1, 1, 1), (9,), 0, 2),
            ((1, 1, 1), (9,), PADDED, 9),
            ((6, 1, 1), (8,), 0, 1),
            ((0, 2, 1), (5,), 0, 2),
            ((0, 4, 1), (5,), 0, 3),
            ((0, 4, 1), (5,), PADDED, 5),
            ((17, 4, 1), (7,), 0, 4),
            ((17, 4, 1), (7,), PADDED, 7),
            ((17, 4, 2), (3,), 0, 3),
            ((15, 6, 1), (4,), 0, 3),
            ((16, 6, 1), (5,), 0, 4),
            ((16, 6, 1), (5,), PADDED, 5),
            ((1, 8, 1), (5,), PADDED, 5),
            ((1, 12, 1), (5,), 0, 8),
            ((2, 32, 2), (4,), 0, 32),
            ((1, 8, 4), (16,), 0, 64),
            ((1, 8, 3), (), 0, 3),
        ],
    )
    def test_bytes_of_a_type(self, dtype: tuple[int, int, int], shape: tuple[int, ...], flags: int, size: int) -> None:
        buffer, lent = taken(dtype=dtype, shape=shape, flags=flags)
        assert (buffer.ptr, buffer.bufsize) == (lent.ptr, size)


NONSENSE: dict[str, tuple[str, dict[str, Any]]] = {
    "ndim -1": ("ndim", {"ndim": -1}),
    "ndim 10**9": ("ndim", {"ndim": 10**9}),
    "ndim least": ("ndim", {"ndim": -(2**31)}),
    "extent -1": ("shape", {"shape": (-1,)}),
    "extent least": ("shape", {"shape": (2, -(2**63))}),
    "nothing times -1": ("shape", {"shape": (0, -1)}),
    "-1 times -1": ("shape", {"shape": (-1, -1)}),
    "NULL data": ("data", {"data": 0}),
    "NULL data, byte_offset": ("data", {"data": 0, "byte_offset": 4096}),
    "NULL shape": ("shape", {"shape": None, "ndim": 1}),
    "bits 0": ("dtype", {"dtype": (1, 0, 1)}),
    "lanes 0": ("dtype", {"dtype": (1, 8, 0)}),
    "fp6 of 8 bits": ("dtype", {"dtype": (15, 8, 1)}),
    "fp4 of 8 bits": ("dtype", {"dtype": (17, 8, 1)}),
    "fp8 of 4 bits": ("dtype", {"dtype": (10, 4, 1)}),
    "device type 0": ("device", {"device": (0, 0), "announced": (1, 0)}),
    "device type -1": ("device", {"device": (-1, 0), "announced": (1, 0)}),
    "device id -7": ("device", {"device": (2, -7), "announced": (2, 0)}),
    "2**64 bytes": ("DLTensor.shape", {"shape": (2**62, 4)}),
    "2**64 bytes by the type": ("DLTensor.shape", {"shape": (2**61,), "dtype": (0, 64, 1)}),
    "2**132 bytes": ("DLTensor.shape", {"shape": (2**33,) * 4}),
    "2**63 - 1 bytes 1000 times": ("DLTensor.shape", {"shape": (2**63 - 1,) * 1000}),
    "behind the last address": ("byte_offset", {"byte_offset": 2**64 - 1}),
    "a negative byte_offset": ("byte_offset", {"byte_offset": 2**64 - 8}),
    "a byte_offset of half of all addresses": ("byte_offset", {"byte_offset": 2**63}),
    "the last byte and one more": ("Producer", {"data": 2**64 - 1, "shape": (2,)}),
}


class TestNonsense:
    @STRUCTS
    @pytest.mark.parametrize("case", NONSENSE)
    def test_is_refused_by_name_and_returned(self, case: str, versioned: bool) -> None:
        field, fields = NONSENSE[case]
        text = refused(ProducerError, versioned=versioned, **fields)
        assert field in text.split(": got")[0]

    @pytest.mark.parametrize("announced", [None, 1, "1", (1,), (1, 0, 0), ("cpu", 0), (0, 0), (2.0, 0)], ids=repr)
    def test_a_device_that_is_no_pair_of_numbers(self, announced: object) -> None:
        class Wrong(Producer):
            def __dlpack_device__(self) -> object:
                return announced

        producer = Wrong()
        assert "__dlpack_device__()" in refusal(ProducerError, producer)
        assert not producer.asked


class TestDevices:
    @pytest.mark.parametrize("announced", [(1, 0), (1, 3), (1, None), (1, -1)])
    @pytest.mark.parametrize("said", [0, 3, -1])
    def test_the_cpu_has_no_number(self, announced: tuple[int, int], said: int) -> None:
        buffer, _ = taken(device=(1, said), announced=announced)
        assert buffer.device == (1, 0)
        assert as_ndarray(buffer)[5] == 5

    @pytest.mark.parametrize("device", [(2, 0), (2, 1), (4, 0), (7, 0), (8, 0), (10, 3), (12, 0), (14, 2), (99, 5)])
    def test_a_device_is_kept_and_its_memory_not_read(self, device: tuple[int, int]) -> None:
        buffer, lent = taken(device=device, data=NOWHERE)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (NOWHERE, SIZE, device)
        for view in (as_ndarray, as_memoryview):
            with pytest.raises(DeviceError, match="cannot read"):
                view(buffer)
        del buffer
        assert len(lent.deleted) == 1

    @pytest.mark.parametrize("device", [(3, 0), (11, 0), (13, 0)])
    def test_memory_of_a_device_that_the_host_reads(self, device: tuple[int, int]) -> None:
        buffer, _ = taken(device=device)
        assert buffer.device == device
        assert as_ndarray(buffer).tolist() == list(range(SIZE))

    def test_the_capsule_has_the_last_word(self) -> None:
        buffer, _ = taken(device=(2, 1), announced=(1, 0), data=NOWHERE)
        assert buffer.device == (2, 1)
        with pytest.raises(DeviceError):
            as_ndarray(buffer)

    @pytest.mark.parametrize(
        ("device", "stream"), [((1, 0), None), ((2, 0), 1), ((2, 3), 1), ((10, 0), 0), ((13, 0), 1), ((3, 0), None)]
    )
    def test_the_default_stream_is_asked_for(self, device: tuple[int, int], stream: int | None) -> None:
        producer = Producer(device=device, data=NOWHERE)
        as_buffer(producer)
        (asked,) = producer.asked
        assert asked.get("stream") == stream
        assert ("stream" in asked) is (device != (1, 0)), "the CPU has no streams"
        assert asked["max_version"] >= (1, 0)
        assert set(asked) <= {"stream", "max_version"}


class Old(Producer):
    """A producer from before `max_version`."""

    def __dlpack__(self, stream: object = None) -> object:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


class Oldest(Producer):
    """A producer without keywords."""

    def __dlpack__(self) -> object:  # type: ignore[override]
        return super().__dlpack__()


class Panic(BaseException):
    """What a library written in Rust raises."""


def refuser(error: BaseException, **attributes: Any) -> Any:
    """Return an object that refuses DLPack with an error and offers what else is given."""

    def dlpack(self: Any, **options: Any) -> object:
        self.asked.append(options)
        raise error

    members = {"__dlpack__": dlpack, "__dlpack_device__": lambda _: (1, 0), "asked": []}
    return type("Refuser", (), members | attributes)()


class TestProducers:
    @pytest.mark.parametrize("kind", [Old, Oldest])
    def test_one_that_knows_no_max_version_is_asked_again(self, kind: type[Producer]) -> None:
        producer = kind(versioned=False)
        buffer = as_buffer(producer)
        assert as_ndarray(buffer).tolist() == list(range(SIZE))
        assert len(producer.asked) == 1
        del buffer
        assert len(producer.lent[0].deleted) == 1

    def test_the_stream_is_asked_for_again(self) -> None:
        producer = Old(versioned=False, device=(2, 0), data=NOWHERE)
        assert as_buffer(producer).device == (2, 0)
        assert producer.asked == [{"stream": 1}]

    @pytest.mark.parametrize("error", [BufferError, RuntimeError, NotImplementedError, TypeError, ValueError])
    def test_one_that_refuses_is_read_by_what_else_it_offers(self, error: type[Exception]) -> None:
        memory = np.arange(4, dtype="u1")
        obj = refuser(error("no"), __array_interface__=memory.__array_interface__)
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize, buffer.owner) == (memory.ctypes.data, 4, obj)
        assert len(obj.asked) == (2 if error is TypeError else 1)

    @pytest.mark.parametrize("error", [BufferError, RuntimeError, TypeError])
    def test_one_that_refuses_and_offers_nothing_else(self, error: type[Exception]) -> None:
        original = error("not this one")
        with pytest.raises(ProducerError, match=f"__dlpack__.*{error.__name__}: not this one") as caught:
            as_buffer(refuser(original))
        assert caught.value.__cause__ is original

    def test_the_device_that_fails(self) -> None:
        original = ValueError("meta")

        class Meta(Producer):
            def __dlpack_device__(self) -> object:
                raise original

        with pytest.raises(ProducerError, match=r"__dlpack_device__.*meta") as caught:
            as_buffer(Meta())
        assert caught.value.__cause__ is original

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
    def test_what_a_person_raises_goes_on(self, error: type[BaseException]) -> None:
        with pytest.raises(error):
            as_buffer(refuser(error()))

    def test_a_panic_is_the_producers_fault(self) -> None:
        with pytest.raises(ProducerError, match="Panic: unwrap"):
            as_buffer(refuser(Panic("unwrap")))

    @pytest.mark.parametrize("offer", [True, False], ids=["then read by another protocol", "then refused"])
    def test_a_refusal_keeps_nothing(self, offer: bool) -> None:
        memory = np.arange(4, dtype="u1")

        class Refuser(Producer):  # raises anew: an error that is kept would itself hold the frames
            def __dlpack__(self, **options: Any) -> object:
                raise BufferError("no")

        obj: Any = Refuser()
        if offer:
            obj.__array_interface__ = memory.__array_interface__
        died = weakref.ref(obj)
        gc.disable()
        try:
            if offer:
                as_buffer(obj)
            else:
                refusal(ProducerError, obj)
            del obj
            assert died() is None
        finally:
            gc.enable()

    def test_what_does_not_say_that_it_may_be_written_is_read_only(self) -> None:
        buffer, _ = taken(versioned=False)
        assert buffer.readonly


class TestExchangeTable:
    """A type may offer C functions that describe its objects without a capsule."""

    @staticmethod
    def made(*, status: int = 0, others: Any = None, **options: Any) -> tuple[Any, Lent, list[int]]:
        lent, called = Lent(), []
        tabled = {key: options.pop(key) for key in ("version", "previous", "empty") if key in options}
        described = tensor_bytes(lent, **options)

        def fill(out: int, _: Lent = lent) -> int:  # a table lives for ever, and with it what it describes
            called.append(out)
            if not status:
                ctypes.memmove(out, described, len(described))
            return status

        kind = type("Tabled", (Producer,), {"__dlpack_c_exchange_api__": table(fill, **tabled), **(others or {})})
        return kind(), lent, called

    @pytest.mark.parametrize(
        ("fields", "start", "size"),
        [
            ({}, 0, 64),
            ({"shape": (4, 16)}, 0, 64),
            ({"shape": (8,), "strides": (1,), "dtype": (2, 32, 1), "byte_offset": 8}, 8, 32),
            ({"shape": (9,), "dtype": (1, 1, 1)}, 0, 2),
            ({"shape": (4,), "dtype": (2, 32, 2)}, 0, 32),
            ({"shape": None, "dtype": (0, 64, 1)}, 0, 8),
            ({"shape": (2, 4), "strides": (1, 2)}, 0, 8),
            ({"shape": (1,), "strides": (77,)}, 0, 1),
            ({"device": (1, 3)}, 0, 64),
        ],
    )
    def test_is_read_and_the_object_is_the_owner(self, fields: dict[str, Any], start: int, size: int) -> None:
        obj, lent, called = self.made(**fields)
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (lent.ptr + start, size, CPU)
        assert buffer.owner is obj
        assert buffer.readonly, "a table does not say that memory may be written"
        assert len(called) == 1
        assert not obj.asked, "no capsule is made"

    def test_nothing(self) -> None:
        obj, _, _ = self.made(shape=(0,), data=0)
        assert as_ndarray(obj).tolist() == []

    @pytest.mark.parametrize(
        ("options", "calls"),
        [({"version": (2, 0)}, 0), ({"empty": True}, 0), ({"status": -1}, 1), ({"device": (2, 0), "data": NOWHERE}, 1)],
    )
    def test_what_cannot_be_read_by_it_is_asked_for_a_capsule(self, options: dict[str, Any], calls: int) -> None:
        obj, _, called = self.made(**options)
        assert as_buffer(obj).ptr == obj.lent[0].ptr
        assert len(called) == calls

    def test_a_newer_table_leads_to_an_older_one(self) -> None:
        seen: list[int] = []

        def fill(out: int) -> int:
            seen.append(out)
            return -1

        older = table(fill, version=(1, 0))
        obj, _, called = self.made(version=(2, 0), previous=older)
        as_buffer(obj)
        assert (len(seen), len(called)) == (1, 0)

    @pytest.mark.parametrize("wrong", [None, 7, "x", []], ids=repr)
    def test_what_is_no_table_is_passed_over(self, wrong: object) -> None:
        kind = type("Other", (Producer,), {"__dlpack_c_exchange_api__": wrong})
        obj = kind()
        assert as_buffer(obj).ptr == obj.lent[0].ptr

    def test_recorded_values_are_not_taken_by_it(self) -> None:
        obj, _, called = self.made(others={"requires_grad": True})
        as_buffer(obj)
        assert (len(called), len(obj.asked)) == (0, 1)

    @pytest.mark.parametrize("lazy", ["is_neg", "is_conj"])
    def test_values_that_are_not_in_memory_are_refused(self, lazy: str) -> None:
        obj, _, called = self.made(others={lazy: lambda _: True})
        assert "resolve" in refusal(CopyRequiredError, obj)
        assert not called

    def test_strided(self) -> None:
        obj, _, _ = self.made(shape=(4,), strides=(2,))
        assert "strided" in refusal(CopyRequiredError, obj)

    @pytest.mark.parametrize(
        "fields",
        [
            {"data": 0},
            {"ndim": -1},
            {"shape": (2, -1)},
            {"shape": None, "ndim": 1, "data": 0},
            {"shape": (-1,)},
            {"dtype": (1, 8, 0)},
            {"shape": (2**62, 4)},
            {"byte_offset": 2**64 - 1},
        ],
        ids=str,
    )
    def test_nonsense(self, fields: dict[str, Any]) -> None:
        obj, _, _ = self.made(**fields)
        refusal(ProducerError, obj)


TYPES = [
    (1, 8, 1),
    (0, 16, 1),
    (2, 32, 1),
    (5, 128, 1),
    (6, 8, 1),
    (4, 16, 1),
    (1, 1, 1),
    (0, 4, 1),
    (1, 8, 3),
    (15, 6, 1),
]


@st.composite
def layouts(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a tensor whose extents are small, its strides those of some order, or any."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    order = draw(st.permutations(range(len(shape))))
    steps, step = [0] * len(shape), 1
    for axis in order:
        steps[axis], step = step, step * max(shape[axis], 1)
    wild = st.tuples(*[st.integers(-8, 40)] * len(shape))
    strides = draw(st.one_of(st.none(), st.just(tuple(steps)), st.just(tuple(steps)), wild))
    loose = draw(st.booleans())
    if strides and loose:
        anything = st.integers(-(2**63), 2**63 - 1)
        strides = tuple(draw(anything) if n == 1 else s for n, s in zip(shape, strides, strict=True))
    flags = draw(st.sampled_from([0, READ_ONLY, PADDED, READ_ONLY | PADDED | 2**40]))
    return {
        "shape": shape,
        "strides": strides,
        "dtype": draw(st.sampled_from(TYPES)),
        "byte_offset": draw(st.integers(0, 200)),
        "versioned": draw(st.booleans()),
        "version": (1, draw(st.integers(0, 9))),
        "flags": flags,
    }


@given(layouts())
def test_any_layout_is_read_as_the_specification_says(fields: dict[str, Any]) -> None:
    shape, strides, (_, bits, lanes) = fields["shape"], fields["strides"], fields["dtype"]
    size = math.prod(shape)
    if strides is not None:
        # One range, in whatever order: the elements lie at the offsets 0 to size - 1, each once.
        places = sorted(sum(i * step for i, step in zip(where, strides, strict=True)) for where in np.ndindex(*shape))
        if places != list(range(size)):
            refused(CopyRequiredError, **fields)
            return
    flags = fields["flags"] if fields["versioned"] else 0
    nbytes = size * lanes if flags & PADDED and bits < 8 else math.ceil(size * bits * lanes / 8)
    buffer, lent = taken(**fields)
    assert buffer.bufsize == nbytes
    if nbytes:
        assert buffer.ptr == lent.ptr + fields["byte_offset"]
    if fields["byte_offset"] + nbytes <= SIZE:
        start = fields["byte_offset"] if nbytes else 0
        assert as_ndarray(buffer).tolist() == list(range(start, start + nbytes))
    if fields["versioned"]:
        assert buffer.readonly is bool(flags & READ_ONLY)
    assert not lent.deleted
    del buffer
    assert len(lent.deleted) == 1


@st.composite
def garbage(draw: st.DrawFn) -> dict[str, Any]:
    """Draw numbers for the fields, none of which need mean anything."""
    i32, i64, u64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
    shape = draw(st.one_of(st.none(), st.lists(st.one_of(st.integers(-1, 4), i64), max_size=5).map(tuple)))
    real = len(shape or ())
    ndim = draw(st.one_of(st.just(real), st.just(real), i32.filter(lambda n: not real < n <= 1024)))
    return {
        "data": draw(st.one_of(st.none(), st.just(0), u64)),
        "device": (draw(st.one_of(st.integers(0, 18), i32)), draw(st.one_of(st.integers(0, 3), i32))),
        "announced": draw(st.sampled_from([(1, 0), (2, 0), (14, 1)])),
        "ndim": ndim,
        "dtype": (draw(st.integers(0, 255)), draw(st.integers(0, 255)), draw(st.integers(0, 2**16 - 1))),
        "shape": shape,
        "strides": draw(st.one_of(st.none(), st.tuples(*[st.one_of(st.integers(-2, 8), i64)] * real))) or None,
        "byte_offset": draw(st.one_of(st.just(0), u64)),
        "versioned": draw(st.booleans()),
        "version": draw(st.sampled_from([(1, 0), (1, 3), (1, 77), (0, 3), (2, 0), (2**31, 1)])),
        "flags": draw(st.one_of(st.just(0), u64)),
    }


@given(garbage())
def test_garbage_is_a_block_of_memory_or_a_refusal(fields: dict[str, Any]) -> None:
    producer = Producer(**fields)
    try:
        buffer = as_buffer(producer)
    except BuflendError:
        pass
    else:
        assert 0 <= buffer.ptr < 2**64
        assert 0 <= buffer.bufsize <= 2**63
        assert buffer.ptr + buffer.bufsize <= 2**64
        assert buffer.ptr or not buffer.bufsize
        assert not producer.lent[0].deleted
        del buffer
    assert [len(lent.deleted) for lent in producer.lent] == [1]


class TestThreads:
    def test_made_here_and_dropped_there(self) -> None:
        """Four threads make 1000 imports each, drop some, and drop those of others."""
        shelf: list[Any] = []
        lent: list[Lent] = []
        wrong: list[str] = []
        start = threading.Barrier(4)

        def work(seed: int) -> None:
            start.wait()
            for i in range(1000):
                producer = Producer(versioned=bool(i & seed))
                view = as_ndarray(as_buffer(producer))
                lent.append(producer.lent[0])
                shelf.append(view)
                del view
                if len(shelf) > 40:
                    try:
                        taken = shelf.pop((7 * i + seed) % 20)
                    except IndexError:
                        continue
                    if taken[0] != 0 or taken[63] != 63:
                        wrong.append(str(taken))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert len(lent) == 4000
        assert sum(len(each.deleted) for each in lent) == 4000 - len(shelf)
        shelf.clear()
        assert {len(each.deleted) for each in lent} == {1}
        assert len({ident for each in lent for ident in each.deleted}) > 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
    def test_a_fork_in_the_middle(self, run_python: Run, roots: list[str]) -> None:
        """In a process of its own: JAX, where a test has loaded it, warns of forks."""
        code = """
import os
from capsules import Producer
from buflend.maximal import as_buffer, as_ndarray
producer = Producer()
buffer = as_buffer(producer)
view, lent = as_ndarray(buffer), producer.lent[0]
child = os.fork()
if not child:
    status = 1
    try:
        if view.tolist() == list(range(64)) and not lent.deleted:
            again = as_buffer(producer)
            del buffer, view, again
            status = 0 if [len(each.deleted) for each in producer.lent] == [1, 1] else 2
    finally:
        os._exit(status)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
before = list(lent.deleted), int(view[1])
del buffer, view
print(status, before, len(lent.deleted))
"""
        assert run_python(code, path=[*roots, HERE], site=True) == "0 ([], 1) 1\n"
