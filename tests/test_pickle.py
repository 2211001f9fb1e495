"""Pickles and copies of a buffer: the bytes travel, out of band where the pickler takes them so."""

import copy
import ctypes
import io
import pickle
from typing import Any

import pytest

from buflend.maximal import Buffer, as_buffer
from buflend.shared import STATIC, DeviceError

from .only import CONTENT, lend

HOST = [(1, 0), (3, 0), (11, 0), (13, 0)]
LARGE = bytes(range(256)) * 4096


def content(buffer: Buffer) -> bytes:
    return ctypes.string_at(buffer.ptr, buffer.bufsize)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("bytes_", [b"", CONTENT, LARGE], ids=["nothing", "64 bytes", "1 MB"])
class TestInBand:
    def test_bytes_and_access(self, protocol: int, bytes_: bytes, *, readonly: bool) -> None:
        buffer, returned = lend(bytes_, readonly=readonly)
        pickled = pickle.dumps(buffer, protocol)
        old = buffer.ptr
        made = pickle.loads(pickled)  # noqa: S301 - made above
        assert type(made) is Buffer
        assert (made.device, made.bufsize, content(made)) == ((1, 0), len(bytes_), bytes_)
        if bytes_:
            assert made.ptr != old
            assert made.readonly is readonly
        del buffer
        assert returned == [1], "neither the pickle nor what it became holds the owner"
        assert content(made) == bytes_

    def test_again(self, protocol: int, bytes_: bytes, *, readonly: bool) -> None:
        buffer, _ = lend(bytes_, readonly=readonly)
        once = pickle.loads(pickle.dumps(buffer, protocol))  # noqa: S301
        twice = pickle.loads(pickle.dumps(once, protocol))  # noqa: S301
        assert content(twice) == bytes_
        assert twice.readonly is once.readonly


class TestOutOfBand:
    @pytest.mark.parametrize("readonly", [False, True])
    @pytest.mark.parametrize("device", HOST)
    def test_no_copy(self, device: tuple[int, int], *, readonly: bool) -> None:
        buffer, returned = lend(LARGE, device=device, readonly=readonly)
        lent: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(buffer, 5, buffer_callback=lent.append)
        assert len(pickled) < 1000
        assert len(lent) == 1
        with lent[0].raw() as raw:
            assert (raw.nbytes, raw.readonly) == (len(LARGE), readonly)
        made = pickle.loads(pickled, buffers=lent)  # noqa: S301
        assert (made.ptr, made.bufsize, made.readonly, made.device) == (buffer.ptr, len(LARGE), readonly, (1, 0))
        del buffer, lent
        assert not returned, "what was made without a copy holds the owner"
        assert content(made) == LARGE
        del made
        assert returned == [1]

    def test_over_memory_of_the_receiver(self) -> None:
        buffer, returned = lend()
        lent: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(buffer, 5, buffer_callback=lent.append)
        received = [bytearray(each) for each in lent]
        del buffer, lent
        assert returned == [1]
        made = pickle.loads(pickled, buffers=received)  # noqa: S301
        received[0][0] = 200
        assert content(made) == bytes([200]) + CONTENT[1:]
        assert not made.readonly

    def test_a_writable_buffer_over_memory_that_is_not(self) -> None:
        buffer, _ = lend()
        lent: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(buffer, 5, buffer_callback=lent.append)
        assert pickle.loads(pickled, buffers=[bytes(lent[0])]).readonly  # noqa: S301

    def test_a_read_only_buffer_over_memory_that_can_be_written(self) -> None:
        buffer, _ = lend(readonly=True)
        lent: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(buffer, 5, buffer_callback=lent.append)
        assert pickle.loads(pickled, buffers=[bytearray(lent[0])]).readonly  # noqa: S301

    def test_a_callback_that_wants_it_in_band(self) -> None:
        buffer, _ = lend()
        pickled = pickle.dumps(buffer, 5, buffer_callback=lambda _: True)
        assert content(pickle.loads(pickled)) == CONTENT  # noqa: S301

    def test_the_same_buffer_twice_is_one(self) -> None:
        buffer, _ = lend()
        lent: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps([buffer, buffer], 5, buffer_callback=lent.append)
        assert len(lent) == 1
        first, second = pickle.loads(pickled, buffers=lent)  # noqa: S301
        assert first is second

    def test_the_pickler_in_python(self) -> None:
        buffer, _ = lend()
        target = io.BytesIO()
        lent: list[Any] = []
        pickle._Pickler(target, 5, buffer_callback=lent.append).dump(buffer)  # type: ignore[attr-defined]
        made = pickle._Unpickler(io.BytesIO(target.getvalue()), buffers=lent).load()  # type: ignore[attr-defined]
        assert made.ptr == buffer.ptr


@pytest.mark.parametrize("device", [(2, 0), (2, 1), (10, 0), (14, 0), (99, 3)])
class TestDeviceMemory:
    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_is_refused(self, device: tuple[int, int], protocol: int) -> None:
        buffer, returned = lend(device=device)
        with pytest.raises(DeviceError, match="to_host"):
            pickle.dumps(buffer, protocol)
        with pytest.raises(DeviceError, match="to_host"):
            pickle.dumps(buffer, 5, buffer_callback=lambda _: None)
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
    def test_is_not_copied(self, device: tuple[int, int], make: Any) -> None:
        buffer = Buffer(0x1000, 8, owner=STATIC, device=device)  # type: ignore[arg-type]
        with pytest.raises(DeviceError, match="to_host"):
            make(buffer)


class TestCopy:
    @pytest.mark.parametrize("readonly", [False, True])
    def test_deepcopy_is_memory_of_its_own(self, *, readonly: bool) -> None:
        buffer, returned = lend(readonly=readonly)
        made = copy.deepcopy(buffer)
        assert type(made) is Buffer
        assert (content(made), made.readonly) == (CONTENT, readonly)
        assert made.ptr != buffer.ptr
        del buffer
        assert returned == [1]
        assert content(made) == CONTENT

    @pytest.mark.parametrize("readonly", [False, True])
    def test_copy_has_the_bytes_and_holds_its_memory(self, *, readonly: bool) -> None:
        buffer, returned = lend(readonly=readonly)
        made = copy.copy(buffer)
        assert (content(made), made.readonly) == (CONTENT, readonly)
        shared = made.ptr == buffer.ptr
        del buffer
        assert returned == ([] if shared else [1])
        assert content(made) == CONTENT
        del made
        assert returned == [1]


def test_what_as_buffer_makes_is_pickled() -> None:
    for obj in (b"lent", bytearray(b"lent"), memoryview(b"lent")):
        buffer = as_buffer(obj)
        made = pickle.loads(pickle.dumps(buffer))  # noqa: S301
        assert (content(made), made.readonly) == (b"lent", buffer.readonly)
