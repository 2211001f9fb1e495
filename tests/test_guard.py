"""The guard itself: reads of its pages kill, system calls do not, and a child's end is told as it was."""

import ctypes
import errno
import mmap
import os
import signal
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from buflend.shared import DeviceError

from .guard import (
    FAULTS,
    PAGE,
    UNREADABLE,
    child,
    children,
    dies,
    doing,
    in_a_child,
    placed,
    refused,
    survive,
)

READS: dict[str, Callable[[int], object]] = {
    "string_at": lambda address: ctypes.string_at(address, 1),
    "memmove": lambda address: ctypes.memmove((ctypes.c_ubyte * 1)(), address, 1),
    "memset": lambda address: ctypes.memset(address, 0, 1),
    "value": lambda address: ctypes.c_ubyte.from_address(address).value,
    "bytes": lambda address: bytes((ctypes.c_ubyte * 1).from_address(address)),
    "sum": lambda address: np.ctypeslib.as_array((ctypes.c_ubyte * 1).from_address(address)).sum(),
}
ADDRESSES = {
    "the first byte": lambda: UNREADABLE,
    "the last byte": lambda: UNREADABLE + 16 * PAGE - 1,
    "behind a block": lambda: placed(b"abc") + 3,
    "before a block": lambda: placed(b"abc", "start") - 1,
    "behind a page": lambda: placed(bytes(PAGE)) + PAGE,
    "before a page": lambda: placed(bytes(PAGE), "start") - 1,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_read_kills(address: Callable[[], int], read: Callable[[int], object]) -> None:
    assert dies(lambda: read(address()))


@pytest.mark.parametrize("side", ["end", "start"])
@pytest.mark.parametrize("content", [b"", b"abc", bytes(range(256)) * (PAGE // 128)], ids=["nothing", "3", "pages"])
def test_a_block_can_be_read_and_written(content: bytes, side: str) -> None:
    address = placed(content, side)
    assert ctypes.string_at(address, len(content)) == content
    ctypes.memset(address, 7, len(content))
    assert ctypes.string_at(address, len(content)) == b"\7" * len(content)
    assert (address if side == "start" else address + len(content)) % PAGE == 0


def test_a_block_can_be_placed_too_far() -> None:
    assert survive(lambda: ctypes.string_at(placed(b"abc", past=1), 2)) == b"bc"
    assert dies(lambda: ctypes.string_at(placed(b"abc", past=1), 3))
    assert survive(lambda: ctypes.string_at(placed(b"abc", "start", past=1) + 1, 3)) == b"abc"
    assert dies(lambda: ctypes.string_at(placed(b"abc", "start", past=1), 1))


def test_an_array_over_it_does_not_kill() -> None:
    def describe() -> tuple[int, ...]:
        array = np.ctypeslib.as_array((ctypes.c_ubyte * 64).from_address(UNREADABLE))[::-2].reshape(4, 8)
        return (array.ctypes.data, *array.strides)

    assert survive(describe) == (UNREADABLE + 63, -16, -2)


def test_a_system_call_does_not_kill() -> None:
    def write() -> int:
        _, writing = os.pipe()
        with pytest.raises(OSError) as caught:
            os.write(writing, (ctypes.c_ubyte * 64).from_address(UNREADABLE))
        return caught.value.errno or 0

    assert survive(write) == errno.EFAULT


def test_a_child_tells_how_it_ended() -> None:
    def fails() -> None:
        doing("a step")
        raise DeviceError("why")

    ended = child(fails)
    assert (ended.signal, ended.doing) == (0, "a step")
    assert ended.error
    assert ended.error[:2] == (DeviceError, "why")
    assert "in fails" in ended.error[2]
    assert (child(lambda: [1, "a"]).value, child(lambda: None).error) == ([1, "a"], None)


def test_a_child_tells_where_it_died() -> None:
    died = child(lambda: (doing("a step"), doing("the last"), ctypes.string_at(UNREADABLE, 1)))
    assert (died.doing, died.value, died.error) == ("the last", None, None)
    assert died.signal in FAULTS
    assert "test_guard" in died.trace


def test_a_child_changes_nothing_here() -> None:
    before = (ctypes.CDLL, os.environ.get("X"))
    survive(lambda: os.environ.update(X="1"))
    assert (ctypes.CDLL, os.environ.get("X")) == before


def test_a_child_loads_no_library() -> None:
    assert "libcudart" in refused(lambda: ctypes.CDLL("libcudart.so.13"), OSError)


@pytest.mark.parametrize(
    ("action", "word"),
    [
        (lambda: (doing("the sum"), ctypes.string_at(UNREADABLE, 1)), "the sum: died of SIG"),
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: lambda: 0, "pickle"),
        (lambda: os._exit(3), "status 3"),
        (lambda: pytest.fail("as a test does"), "as a test does"),
    ],
    ids=["death", "error", "no answer", "exit", "failure"],
)
def test_what_does_not_survive_fails(action: Callable[[], object], word: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=word):
        survive(action)


def test_what_is_not_refused_fails() -> None:
    with pytest.raises(AssertionError, match="not refused, it returned 1"):
        refused(lambda: 1, DeviceError)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        refused(lambda: 1 // 0, DeviceError)
    with pytest.raises(pytest.fail.Exception, match="died of SIG"):
        refused(lambda: ctypes.string_at(UNREADABLE, 1), DeviceError)


def test_what_lives_does_not_die() -> None:
    assert not dies(lambda: 1)
    assert not dies(lambda: 1 // 0)
    assert not dies(os.abort)  # another signal


def test_a_child_that_hangs_is_ended() -> None:
    shared = mmap.mmap(-1, 8)

    def hang() -> None:
        shared[:] = os.getpid().to_bytes(8, "little")
        os.read(os.pipe()[0], 1)

    ended = child(hang, seconds=0.5)
    assert ended.signal == signal.SIGABRT
    assert "in hang" in ended.trace
    number = int.from_bytes(shared[:], "little")
    assert number
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_one_child_after_another_does_what_is_to_be_done() -> None:
    def note(what: str) -> int:
        doing(what)
        return os.getpid()

    def die() -> None:
        doing("death")
        ctypes.string_at(UNREADABLE, 1)

    first, second, third, fourth, fifth, last = children(
        [partial(note, "a"), die, lambda: 1 // 0, partial(note, "b"), lambda: os._exit(3), os.getpid]
    )
    assert (first.signal, second.signal in FAULTS, second.doing) == (0, True, "death")
    assert (third.error or [None])[0] is ZeroDivisionError
    assert (fourth.doing, fourth.error, last.doing, last.signal) == ("b", None, "", 0)
    assert "status 3" in (fifth.error or ["", ""])[1]
    assert len({first.value, fourth.value, last.value, os.getpid()}) == 4


PROCESSES: set[int] = set()


@pytest.mark.parametrize("number", [1, 2, 3])
@in_a_child
def test_a_body_runs_in_one_child_with_all_parameters(number: int) -> None:
    PROCESSES.add(os.getpid())
    assert len(PROCESSES) == 1
    assert number in {1, 2, 3}


def test_the_parent_has_seen_nothing_of_it() -> None:
    assert not PROCESSES


def test_each_parameter_fails_for_itself() -> None:
    @in_a_child
    def body(number: int) -> None:
        if number == 2:
            ctypes.string_at(UNREADABLE, 1)
        assert number != 3, "three"

    nodes = [
        SimpleNamespace(
            nodeid=str(number),
            function=body,
            callspec=SimpleNamespace(params={"number": number}),
            get_closest_marker=lambda _: None,
        )
        for number in (1, 2, 3, 4)
    ]
    requests = [SimpleNamespace(node=node, session=SimpleNamespace(items=[*nodes, object()])) for node in nodes]
    body(requests[0])
    with pytest.raises(pytest.fail.Exception, match="died of SIG"):
        body(requests[1])
    with pytest.raises(pytest.fail.Exception, match="AssertionError: three"):
        body(requests[2])
    body(requests[3])
