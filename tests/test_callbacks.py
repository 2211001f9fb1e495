"""Callbacks on every Python: what a stream tells of what interrupts it, and what is pending, freed, kept and gone.

What is raised at their steps stands in `test_signals`.
"""

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from buflend.shared import arrow_release, arrow_stream_export, dlpack_light
from buflend.shared.arrow_owner import ArrowOwner
from buflend.shared.arrow_stream_export import stream_capsule

from . import arrow_producer, capsules
from .conftest import Run
from .test_arrow_stream_export import EIO, NUMBERS, Consumer, GetError, word
from .test_signals import TRIED_TWICE, Interrupted, deleter, traced


def fail(*_: object) -> Any:
    raise KeyboardInterrupt


def table(name: str) -> Any:
    """Return a table of which one method raises; it has what the stream of the tests is found by."""
    return type("Table", (dict,), {name: fail})({7: "a stream"})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("clear_error", fail),
        ("_errors", table("pop")),
        ("_live", table("get")),
        ("_live", {7: "a stream"}),  # what takes from it raises
        ("_errors", table("__setitem__")),  # and once more, where that is told
    ],
    ids=["clear", "errors", "registry", "take", "tell"],
)
def test_a_stream_tells_of_whatever_interrupts_it(name: str, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_stream_export, "_live", {7: "a stream"})
    monkeypatch.setattr(arrow_stream_export, "_errors", {})
    monkeypatch.setattr(arrow_stream_export, name, found)
    get = arrow_producer.Fill(arrow_stream_export._getter_of(32, fail))
    words, out = (ctypes.c_uint64 * 5)(0, 0, 0, 1, 7), (ctypes.c_uint64 * 10)()
    with traced(None) as shown:
        status = get(ctypes.addressof(words), ctypes.addressof(out))
    assert (status, shown) == (EIO, []), "it is told, and not shown"


@pytest.fixture
def failed() -> Iterator[list[Consumer]]:
    """Return two streams whose last call failed in the same way."""
    arrow_release.flush()
    streams = [Consumer(stream_capsule(NUMBERS, [])) for _ in range(2)]
    for stream in streams:
        arrow_release._live[word(stream.address + 32)].schema = None
        assert stream.schema()[0] == EIO
    yield streams
    for stream in streams:
        stream.release() if stream.function(3) else None
    arrow_release.flush()


def test_an_error_goes_with_its_stream(failed: list[Consumer]) -> None:
    assert failed[0].error() == b"TypeError"
    failed[0].release()
    assert failed[0].error() is None, "another stream may lie there next"
    assert failed[1].error() == b"TypeError"


def test_the_text_of_an_error_is_kept(failed: list[Consumer]) -> None:
    kept = ctypes.addressof(arrow_stream_export._texts["TypeError"])
    assert [GetError(stream.function(2))(stream.address) for stream in failed] == [kept, kept]


def test_the_last_error_is_told_without_code_in_python(failed: list[Consumer]) -> None:
    ran: list[str] = []
    with traced(lambda frame, *_: ran.append(frame.f_code.co_filename)):
        assert failed[0].error() == b"TypeError"
    assert ran, "the trace function is called"
    assert arrow_stream_export.__file__ not in ran


class Gone:
    """Makes interrupts of which it is known whether they are alive."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        said = {"__init__": lambda noted: self.seen.append(weakref.ref(noted))}
        self.kind: type[BaseException] = type("Noted", (KeyboardInterrupt,), said)

    def __call__(self, *_: object) -> Any:
        raise self.kind

    @property
    def alive(self) -> int:
        return sum(each() is not None for each in self.seen)


@pytest.fixture
def _no_collection() -> Iterator[None]:
    """Keep the collector from taking what only a circle holds."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize(("module", "name", "call"), TRIED_TWICE.values(), ids=TRIED_TWICE)
def test_what_interrupts_a_callback_is_gone_when_it_was_shown(
    module: Any, name: str, call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = Gone()
    monkeypatch.setattr(module, name, type("Table", (dict,), {"get": noted.__call__, "pop": noted.__call__})())
    with traced(None) as shown:
        call()
    assert shown == [noted.kind]
    assert (len(noted.seen), noted.alive) == (2, 0)


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("times", [1, 2])
def test_what_interrupts_a_release_is_passed_on_when_it_was_tried_once_more(times: int) -> None:
    log, noted = arrow_producer.Log(), Gone()
    capsule = arrow_producer.array(arrow_producer.Lie("n", 3, name="rows"), log)
    owner = ArrowOwner(capsules.struct_of(capsule))

    def call(function: int) -> Any:
        return noted() if len(noted.seen) < times else arrow_producer.Release(function)

    with pytest.raises(KeyboardInterrupt) as raised:
        owner.release(call=call)
    assert len(noted.seen) == times
    assert log.arrays == (["rows"] if times == 1 else [])
    del raised
    assert not noted.alive, "it is held by nothing of its own"
    del owner
    assert log.arrays == ["rows"]


@pytest.mark.parametrize(("times", "count"), [(0, 1), (1, 1), (2, 0)])
def test_a_struct_is_freed_when_it_was_forgotten(times: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []
    monkeypatch.setattr(dlpack_light, "raw_free", freed.append)
    monkeypatch.setattr(dlpack_light, "_live", Interrupted(times))
    with traced(None):
        deleter()
    assert len(freed) == count


# Objects whose type names a callback as what frees them: they are structs, whose first two words are the object's head.
# Ctrl-C comes when the owner goes, and when that was shown, by functions in C, in which no handler runs: it does right
# after the next call, and again in what called that callback.
PENDING = """
import ctypes, signal, sys
from buflend.shared import arrow_export, arrow_release, dlpack_light
from buflend.shared.arrow_c import Data, Field
from buflend.shared.arrow_stream_export import stream_capsule
from buflend.shared.cpython import capsule_pointer
from buflend.shared.dlpack import Tensor

word = ctypes.c_uint64
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
used = b"used_dltensor"

class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("numbers", ctypes.c_int * 3), ("slots", ctypes.c_void_p)]

make_type = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("PyType_FromSpec", ctypes.pythonapi))

def freed_by(function, words):
    slots = (word * 4)(52, function, 0, 0)  # Py_tp_dealloc
    spec = Spec(b"tests.Struct", (1000, 0, 0), ctypes.addressof(slots))  # of a size that is from malloc
    made = make_type(ctypes.addressof(spec))()
    (word * len(words)).from_address(id(made))[2:] = words[2:]
    return made

class Owner:
    if INTERRUPTED:
        __del__ = ctypes.PYFUNCTYPE(None)(("PyErr_SetInterrupt", ctypes.pythonapi))

def data():
    return Data(8, (None, (id(used), Owner())))

def stream():
    given = stream_capsule(Field("l"), [data(), data()])  # is parked, and stays
    words = (word * 5).from_address(capsule_pointer(given, b"arrow_array_stream"))
    return freed_by(words[3], words[:])

def array():
    given = arrow_export.array_capsule(Data(8, (None,), children=(data(),)))  # as above
    words = (word * 10).from_address(capsule_pointer(given, b"arrow_array"))
    return freed_by(words[8], words[:])

def deleter():
    given = light()
    words = (word * 8).from_address(capsule_pointer(given, b"dltensor"))
    rename(given, used)
    return freed_by(words[7], words[:])

def destructor():
    made = arrow_export.array_capsule(Data(8, (None,), children=(data(), data())))
    arrow_release.flush()  # else it is parked, and not dropped
    return made

def light():
    return dlpack_light.exporter(Owner(), Tensor(id(used), (8,), (1,), (1, 8, 1)))()

def take(*_):
    pass

def fail(error):
    raise error

def interrupt(*_):
    interrupts.append(1)
    raise KeyboardInterrupt

interrupts = []
signal.signal(signal.SIGINT, interrupt)
sys.unraisablehook = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyErr_SetInterrupt", ctypes.pythonapi))
told = None
try:
    try:
        take(MAKE(), fail(RAISED))
    except SystemError as error:
        told = error
        take()  # the deleter makes no call after the owner has gone: it is the program that is interrupted then
except KeyboardInterrupt as error:
    told = told or error.__context__
assert type(told) is SystemError, told
print("told")
assert not (arrow_release._live or dlpack_light._live)
assert len(interrupts) >= INTERRUPTED * (1 if MAKE in (array, deleter, light) else 2), interrupts
Owner = type("Owner", (), {})
MAKE()
print("done")
"""


@pytest.mark.parametrize(
    ("raised", "interrupted"),
    [("ZeroDivisionError", False), ("ZeroDivisionError", True), ("KeyboardInterrupt", False)],
    ids=["whole", "interrupted", "interrupt"],
)
@pytest.mark.parametrize("make", ["array", "deleter", "stream", "destructor", "light"])
def test_what_is_pending_is_followed_by_another_error(
    run_python: Run, make: str, raised: str, interrupted: bool
) -> None:
    code = PENDING.replace("MAKE", make).replace("RAISED", raised).replace("INTERRUPTED", str(interrupted))
    printed = run_python(code)
    assert printed == "told\ndone\n"
