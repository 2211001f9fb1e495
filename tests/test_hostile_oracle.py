"""The hunt itself: a library that is wrong is found out, in words, whatever it does wrong."""

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend.maximal import as_buffer, as_column, as_ndarray

from .guard import FAULTS, child, survived
from .hostile.case import Base, Input, Protocol, faults_in, table_of
from .hostile.driver import Found, hunt, prepared
from .hostile.oracle import judge
from .hostile.pointers import CONTENT, POINTERS
from .hostile.protocols import PROTOCOLS
from .hostile.structs import ARROW

WHOLE = Input("planted", "bytes")


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes something the one reader of a protocol, which is called "planted"."""

    def make(read: Callable[[Any], Any], bases: dict[str, Base] = POINTERS.bases, field: str = "buffer") -> None:
        monkeypatch.setitem(PROTOCOLS, "planted", Protocol(bases, {"it": (read, field)}))

    return make


def judged(given: Input) -> list[str]:
    """Return what a child finds wrong with an input."""
    return list(survived(child(lambda: judge(given))))


KEPT: list[Any] = []


def _too_far(obj: Any) -> Any:
    ctypes.string_at(obj.ptr, obj.bufsize + 1)
    return as_buffer(obj)


def _late(obj: Any) -> Any:
    ptr = obj.ptr
    del obj
    return as_buffer(_Lent(ptr))


class _Lent:
    """A description that does not keep what it describes."""

    def __init__(self, ptr: int) -> None:
        self.ptr, self.bufsize = ptr, len(CONTENT)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _swallowing(obj: Any) -> Any:
    try:
        return as_buffer(obj)
    except BaseException:  # noqa: BLE001 - as is to be seen
        raise TypeError("nothing is wrong") from None


def _in_a_cycle(obj: Any) -> Any:
    both = [obj]
    both.append(both)
    return as_buffer(obj)


def _noisy(obj: Any) -> Any:
    class Noise:
        def __del__(self) -> None:
            raise RuntimeError("too late")

    Noise()
    return as_buffer(obj)


def _lent_out(obj: Any) -> Any:
    KEPT.append(as_ndarray(obj))
    return as_buffer(obj)


# What a library does wrong -> its reader, and what must be said.
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another error": (lambda obj: {}[obj], "undocumented: "),
    "no words of ours": (lambda obj: obj + 1, "not raised by a line of ours"),
    "other bytes": (lambda _: np.frombuffer(b"other", "u1"), "expected b'"),
    "no result": (lambda _: 3, "no result of ours"),
    "a refusal of the truth": (lambda _: as_buffer(3), "refused although nothing is wrong"),
    "an owner that is kept": (lambda obj: KEPT.append(obj) or as_buffer(obj), "owners are held, 1 after a collection"),
    "an owner in a cycle": (_in_a_cycle, "owners are held, 0 after a collection"),
    "an error that nobody sees": (_noisy, "lost: "),
    "an export that is kept": (_lent_out, "live exports: "),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said(what: str, plant: Callable[..., None]) -> None:
    read, words = WRONG[what]
    plant(read)
    found = judged(WHOLE)
    assert any(words in fault for fault in found), found


def test_what_is_right_is_not(plant: Callable[..., None]) -> None:
    plant(as_buffer)
    assert judged(WHOLE) == []


def test_an_interrupt_that_is_swallowed_is_seen(plant: Callable[..., None]) -> None:
    plant(_swallowing)
    interrupted = WHOLE._replace(faults=(("ptr", "raises KeyboardInterrupt"),))
    assert any("KeyboardInterrupt on purpose') was swallowed" in fault for fault in judged(interrupted))
    assert judged(WHOLE._replace(faults=(("ptr", "raises RuntimeError"),))) != []


@pytest.mark.parametrize("read", [_too_far, _late], ids=["a byte too far", "after its owner"])
def test_who_reads_what_is_not_there_dies_and_names_the_input(
    read: Callable[[Any], Any], plant: Callable[..., None]
) -> None:
    plant(read, {"bytes": POINTERS.bases["bytes"]})
    ended = hunt("planted", 20, seed=1)
    assert ended.signal in FAULTS
    assert ended.doing.startswith("Input(protocol='planted', base='bytes'")


def _twice(obj: Any) -> Any:
    """Read an array, and release it again behind the owner's back."""
    found = as_column(obj)
    owner = found.data.owner
    release = ctypes.c_void_p.from_address(owner.address + 64)
    function = release.value
    owner.release()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(owner.address)
    raise TypeError


def _never(obj: Any) -> Any:
    """Read an array, and forget to release it."""
    found = as_column(obj)
    ctypes.c_void_p.from_address(found.data.owner.address + 64).value = None
    del found
    raise TypeError


@pytest.mark.parametrize(("read", "words"), [(_twice, "released twice: "), (_never, "1 of 2 structs are not")])
def test_structs_are_released_once(read: Callable[[Any], Any], words: str, plant: Callable[..., None]) -> None:
    plant(read, {"numbers": ARROW.bases["numbers"]}, "column")
    found = judged(Input("planted", "numbers"))
    assert any(words in fault for fault in found), found


def test_a_failure_is_made_small_and_named(plant: Callable[..., None]) -> None:
    plant(lambda obj: obj.ptr + obj.bufsize and as_buffer(obj))
    ended = hunt("planted", 200, seed=3)
    assert ended.error
    assert "Input(protocol='planted'" in ended.error[1]
    assert ended.error[1].count("'bufsize'") + ended.error[1].count("'ptr'") >= 1


def test_faults_can_be_collected(plant: Callable[..., None]) -> None:
    plant(lambda obj: obj.ptr + obj.bufsize and as_buffer(obj))
    found = survived(hunt("planted", 100, seed=3, go_on=True))
    assert len(found.inputs) >= 90
    assert found.faults
    assert all(isinstance(one, Input) for one in found.faults.values())


def test_each_place_can_be_wrong_in_some_way() -> None:
    for name, protocol in PROTOCOLS.items():
        for base in protocol.bases:
            assert faults_in(Input(name, base)) == {}
    assert {"ptr", "bufsize", "__dlpack_device__()[0]"} <= table_of("pointers", "bytes").keys()


def test_random_bytes_are_inputs() -> None:
    """What a fuzzer draws goes the same way."""

    def fuzz() -> int:
        found = Found([], Counter(), {})
        test = prepared("pointers", found, go_on=True)
        for number in range(40):
            test.hypothesis.fuzz_one_input(bytes((number * 7 + i * i) % 256 for i in range(256)))
        assert not found.faults
        return len(found.inputs)

    assert survived(child(fuzz)) > 0
