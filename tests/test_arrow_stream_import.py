"""Arrow in, streams: chunk by chunk, and every way in which a stream can fail."""

import contextlib
import ctypes
import gc
import struct
import threading
import weakref
from typing import Any

import pytest

from buflend.shared import DeviceError, ProducerError
from buflend.shared.arrow_import import Imported, read_device_stream, read_stream

from . import arrow_producer as make
from .arrow_producer import Lie, Log, Script


def ints(*values: int) -> bytes:
    return struct.pack(f"={len(values)}i", *values)


def batch(letters: bytes, name: str = "root", **options: Any) -> Lie:
    size = len(letters)
    columns = [Lie("c", size, [None, letters], name="a"), Lie("i", size, [None, ints(*range(size))], name="b")]
    return Lie("+s", size, [None], children=columns, name=name, **options)


TYPE = batch(b"")


def content(array: Imported, name: str = "data") -> bytes:
    return ctypes.string_at(*array.buffers[name])


def read(script: Script, log: Log) -> Any:
    capsule = make.stream(script, log)
    return (read_stream if script.device is None else read_device_stream)(capsule)


@pytest.mark.parametrize("device", [None, 1])
def test_chunks_come_in_order_and_outlive_the_stream(device: int | None) -> None:
    log = Log()
    field, chunks = read(Script(TYPE, [batch(b"abc"), batch(b""), batch(b"de")], device=device), log)
    assert [child.name for child in field.children] == ["a", "b"]
    assert [chunk.length for chunk in chunks] == [3, 0, 2]
    assert [content(chunk.children[0]) for chunk in chunks] == [b"abc", b"", b"de"]
    assert (log.streams, log.calls) == (1, {"get_schema": 1, "get_next": 4})
    assert log.arrays == ["root", "root", "root"]  # each taken apart as it came
    assert sorted(log.schemas) == ["a", "b", "root"]
    returned = weakref.ref(chunks[0].children[1].owner)
    chunks[0] = chunks[0]._replace(children=chunks[0].children[:1])
    assert returned() is None
    assert log.arrays[3:] == ["b"]
    assert content(chunks[0].children[0]) == b"abc"
    chunks.clear()
    assert sorted(log.arrays[4:]) == ["a", "a", "a", "b", "b"]


def test_a_stream_of_one_column_and_of_none() -> None:
    log = Log()
    field, chunks = read(Script(Lie("c", 0), [Lie("c", 2, [None, b"ab"]), Lie("c", 1, [None, b"c"])]), log)
    assert field.format == "c"
    assert [content(chunk) for chunk in chunks] == [b"ab", b"c"]
    assert log.arrays == []
    assert read(Script(TYPE, []), log)[1] == []
    assert read(Script(Lie("+s", 0), [Lie("+s", 7, [None])]), log)[1][0].length == 7
    assert log.streams == 3


def test_a_chunk_with_nulls_of_its_own_stays_whole() -> None:
    log = Log()
    lie = batch(b"abc", null_count=1)
    lie.buffers = [b"\x05"]
    (chunk,) = read(Script(TYPE, [lie]), log)[1]
    assert log.arrays == []
    assert chunk.children[0].owner is chunk.owner
    del chunk
    assert log.arrays == ["root", "a", "b"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (b"the disk is gone", "EIO): the disk is gone"),
        (None, "EIO): no message"),
        (b"", "EIO): no message"),
        (b"not UTF-8: \xff", "not UTF-8: \ufffd"),
    ],
)
@pytest.mark.parametrize("device", [None, 1])
def test_an_error_carries_its_message_and_nothing_follows_but_release(
    message: bytes | None, shown: str, device: int | None
) -> None:
    log = Log()
    with pytest.raises(ProducerError) as caught:
        read(Script(TYPE, [batch(b"ab"), 5, batch(b"cd")], message, device), log)
    assert shown in str(caught.value)
    assert "get_next()" in str(caught.value)
    assert "error 5" in str(caught.value)
    assert log.calls == {"get_schema": 1, "get_next": 2, "get_last_error": 1}
    assert log.streams == 1
    del caught
    gc.collect()
    assert sorted(log.arrays) == ["a", "b", "root"]  # the chunk before went with the error


def test_a_schema_that_fails() -> None:
    log = Log()
    with pytest.raises(ProducerError, match=r"get_schema\(\): the producer raised error 22 \(EINVAL\): the disk"):
        read(Script(22, [batch(b"ab")]), log)
    with pytest.raises(ProducerError, match=r"error -7 \(unknown\)"):
        read(Script(-7, []), log)
    assert log.calls == {"get_schema": 2, "get_last_error": 2}
    assert log.streams == 2
    with pytest.raises(ProducerError, match=r"ArrowSchema\.release"):  # it says that all went well
        read(Script(None, []), log)
    with pytest.raises(ProducerError, match="format"):
        read(Script(Lie("x", 0, name="x"), [batch(b"ab")]), log)
    assert log.schemas == ["x"]
    assert log.streams == 4
    assert "get_next" not in log.calls


def test_what_an_error_leaves_behind_is_not_released() -> None:
    log = Log()
    called = []
    wrong = make.address_of(make.Release(called.append))

    def get_next(_: int, out: int) -> int:
        make.Array.from_address(out).release = wrong
        return 5

    with pytest.raises(ProducerError, match="EIO"):
        read(Script(TYPE, [], stream={"get_next": make.address_of(make.Fill(get_next))}), log)
    gc.collect()
    assert called == []
    assert log.streams == 1


def test_the_out_argument_is_zeros() -> None:
    seen = []

    def get_next(_: int, out: int) -> int:
        seen.append(ctypes.string_at(out, 80))
        if len(seen) == 1:
            make.fill_array(make.Array.from_address(out), batch(b"ab"), Log())
        return 0

    read(Script(TYPE, [], stream={"get_next": make.address_of(make.Fill(get_next))}), Log())
    assert seen == [bytes(80), bytes(80)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_that_raises_is_an_error_or_the_end() -> None:
    # ctypes returns whatever stood there: a code that is 0, or not.
    for script in (Script(TYPE, [batch(b"ab"), RuntimeError("mine")]), Script(RuntimeError("mine"), [])):
        log = Log()
        with contextlib.suppress(ProducerError):
            read(script, log)
        assert log.streams == 1
        assert not [name for name in log.arrays if name.startswith("?")]


def test_a_wrong_chunk_is_released_and_so_are_those_before() -> None:
    log = Log()
    with pytest.raises(ProducerError, match="length"):
        read(Script(TYPE, [batch(b"ab"), batch(b"ab", array={"length": 3}), batch(b"ab")]), log)
    gc.collect()
    assert sorted(log.arrays) == ["a", "a", "b", "b", "root", "root"]
    assert (log.streams, log.calls["get_next"], log.calls["get_last_error"]) == (1, 2, 0)


@pytest.mark.parametrize("missing", ["get_schema", "get_next", "get_last_error"])
@pytest.mark.parametrize("device", [None, 1])
def test_functions_that_are_not_there(missing: str, device: int | None) -> None:
    log = Log()
    with pytest.raises(ProducerError, match="four functions"):
        read(Script(TYPE, [batch(b"ab")], device=device, stream={missing: None}), log)
    gc.collect()
    assert (log.streams, log.calls) == (1, {})


@pytest.mark.parametrize("device", [None, 1])
def test_a_stream_is_read_once(device: int | None) -> None:
    log = Log()
    capsule = make.stream(Script(TYPE, [batch(b"ab")], device=device), log)
    take = read_stream if device is None else read_device_stream
    assert len(take(capsule)[1]) == 1
    with pytest.raises(ProducerError, match="already consumed"):
        take(capsule)
    del capsule
    assert log.streams == 1
    other = read_device_stream if device is None else read_stream
    with pytest.raises(ProducerError, match="expected a capsule named"):
        other(make.stream(Script(TYPE, [], device=device), log))
    gc.collect()
    assert log.streams == 2


def test_a_release_that_forgets_to_clear_itself_is_called_once() -> None:
    calls: list[int] = []
    release = make.address_of(make.Release(calls.append))
    capsule = make.stream(Script(TYPE, [], stream={"release": release}), Log())
    read_stream(capsule)
    del capsule
    assert len(calls) == 1


def test_a_device_stream_says_where_it_is() -> None:
    log = Log()
    nowhere = Lie("l", 3, [None, 0xDEAD0000], name="x")
    (chunk,) = read(Script(Lie("l", 0), [nowhere], device=2), log)[1]
    assert chunk.device == (2, 0)
    assert chunk.buffers == {"data": (0xDEAD0000, 24)}
    del chunk
    with pytest.raises(DeviceError, match="ROCM"):
        read(Script(Lie("u", 0), [Lie("u", 1, [None, 0xDEAD0000, 0xDEAD0000], name="y")], device=10), log)
    with pytest.raises(ProducerError, match="device_type"):
        read(Script(Lie("l", 0), [nowhere], device=2, stream={"device_type": 3}), log)
    with pytest.raises(ProducerError, match="device_type"):
        read(Script(Lie("l", 0), [nowhere], device=2, stream={"device_type": 0}), log)
    gc.collect()
    assert log.arrays == ["x", "y", "x"]
    assert log.streams == 4


def test_a_foreign_thread_may_be_the_last_to_hold_a_chunk() -> None:
    log = Log()
    held = read(Script(TYPE, [batch(b"ab"), batch(b"cd")]), log)[1]
    log.arrays.clear()
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert sorted(log.arrays) == ["a", "a", "b", "b"]


def test_other_threads_run_while_a_chunk_is_waited_for() -> None:
    passed = threading.Event()
    waited = []

    def get_next(*_: int) -> int:
        waited.append(passed.wait(60))
        return 0

    script = Script(TYPE, [], stream={"get_next": make.address_of(make.Fill(get_next))})
    other = threading.Thread(target=passed.set)
    reader = threading.Thread(target=read, args=(script, Log()))
    reader.start()
    other.start()
    reader.join()
    other.join()
    assert waited == [True]


def test_a_thousand_streams_leave_nothing() -> None:
    log = Log()
    for _ in range(1000):
        field, chunks = read(Script(TYPE, [batch(b"ab"), batch(b"c")]), log)
    del field, chunks
    assert log.streams == 1000
    assert len(log.arrays) == 6000
    assert not [name for name in log.arrays if name.startswith("?")]
