"""A signal's handler raises wherever one can, within exports, imports and callbacks; and code that an exception ends.

Where it can is what CPython 3.11 does: where a function in Python begins, where a loop jumps back, and right after a
call of what is no function in Python, while its result is kept nowhere. A trace function raises there, once, at each
place in turn. Within a process of its own, which may crash.
"""

import dis
import sys
from itertools import pairwise
from typing import Any

import pytest

from buflend.shared import arrow_release, arrow_stream_export, dlpack_light

from .conftest import Run
from .test_arrow_stream_export import code_of

PRELUDE = """
import ctypes, gc, sys
from buflend.shared import CPU, arrow_export, arrow_import, arrow_release, arrow_stream_export, cpython, dlpack_light
from buflend.shared.arrow_c import Data, Field
from buflend.shared.cpython import capsule_pointer
from buflend.shared.dlpack import Tensor

returned = []

class Owner:
    def __init__(self):
        self.memory = (ctypes.c_int64 * 8)(*range(8))
        self.address = ctypes.addressof(self.memory)
        returned.append(-1)
    def __del__(self, note=returned.append):
        note(1)

def data():
    owner = Owner()
    return Data(8, (None, (owner.address, owner)))

def rows():
    return Data(8, (None,), children=(data(), data()))

NUMBERS = Field("l", "x")
TABLE = Field("+s", children=(NUMBERS, NUMBERS))

def tensor():
    owner = Owner()
    return dlpack_light.exporter(owner, Tensor(owner.address, (8,), (1,), (0, 64, 1)))()

def nothing_is_left(what):
    gc.collect()
    arrow_release.flush()
    gc.collect()
    assert not sum(returned), (what, "not returned", -sum(returned))
    assert not arrow_release._live, (what, arrow_release._live)
    assert not arrow_release._blocks, (what, arrow_release._blocks)
    assert not dlpack_light._live, (what, dlpack_light._live)
"""

# What is held by a call that another argument ends: it is dropped while the exception is pending.
UNWOUND = """
def take(*arguments):
    pass

ended = []

class Ended(Exception):
    def __del__(self):
        ended.append(1)

def end():
    raise Ended

class Producer:
    def __init__(self):
        self.capsule = tensor()
    def __dlpack__(self, **_):
        return self.capsule
    def __dlpack_device__(self):
        return (1, 0)

def older():
    held = [arrow_export.array_capsule(data()) for _ in range(9)]
    return held[0]  # no longer among those that are parked

HELD = {"a capsule of DLPack": tensor, "an older capsule of Arrow": older}
if NUMPY:
    import numpy
    HELD["an array of NumPy"] = lambda: numpy.from_dlpack(Producer())

# The second time a collection is due at the exception; Python 3.12 runs it as the next function in Python begins.
thresholds = gc.get_threshold()
for name, hold in HELD.items():
    for threshold in (thresholds[0], 1):
        gc.set_threshold(threshold)
        try:
            take(hold(), end())
        except (SystemError, Ended):  # NumPy before 2.1 puts the exception aside while it calls the deleter
            pass
        else:
            raise AssertionError(name)
        gc.set_threshold(*thresholds)
        assert ended.pop() and not ended, "what was taken is kept"
        hold()
        nothing_is_left(name)

if sys.version_info >= (3, 12):  # a handler that raises nothing runs as the destructor begins
    import signal
    from functools import partial
    from operator import call
    handled = []
    signal.signal(signal.SIGINT, lambda *_: handled.append(1))
    arrives = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(("PyErr_SetInterruptEx", ctypes.pythonapi))
    for name, hold in HELD.items():
        # All in C: a signal, and then an error, so that no code in Python sees the signal before.
        steps = partial(arrives, int(signal.SIGINT)), partial(divmod, 1, 0)
        try:
            take(hold(), list(map(call, steps)))
        except (SystemError, ZeroDivisionError):
            pass
        else:
            raise AssertionError(name)
        assert handled.pop() and not handled
        hold()
        nothing_is_left(name)

try:
    take(arrow_export.array_capsule(data()), 1 / 0)
except ZeroDivisionError:  # one that is parked is not dropped
    pass
nothing_is_left("parked")
print("done")
"""


@pytest.mark.parametrize("numpy", [True, False], ids=["NumPy", "no NumPy"])
def test_an_export_by_callbacks_that_is_dropped_as_an_exception_ends_a_call(run_python: Run, numpy: bool) -> None:
    assert run_python(f"NUMPY = {numpy}\n{PRELUDE}{UNWOUND}", site=numpy) == "done\n"


STORM = """
import dis
from functools import lru_cache

class Interrupt:
    # Raises at the n-th place, once, in functions of the library's files.
    def __init__(self, after, files):
        self.after, self.files, self.returned, self.raised = after, files, False, False
    def __call__(self, frame, event, _):
        code = frame.f_code
        if event == "call":
            if not code.co_filename.endswith(self.files):
                return self.returns
            frame.f_trace_opcodes = True
            if code.co_name not in BEGINS:
                self.count()
        elif event == "opcode" and not self.returned and frame.f_lasti in places(code):
            self.count()
        self.returned = event == "return"
        return self
    def returns(self, frame, event, _):
        self.returned = event == "return"
        return self.returns
    def count(self):
        self.after -= 1
        if not self.after:
            self.raised = True
            raise KeyboardInterrupt

@lru_cache
def places(code):
    steps = list(dis.get_instructions(code))
    return {after.offset for step, after in zip(steps, steps[1:]) if step.opname in ("CALL", "CALL_FUNCTION_EX")}

# These cannot be kept from ending as they begin: docs/protocols.md says what follows.
BEGINS = ("release", "destructor", "deleter", "get")

class Once:
    def __init__(self, name, capsule):
        setattr(self, name, lambda *_, **__: capsule)

def read_stream():
    capsule = arrow_stream_export.stream_capsule(TABLE, [rows(), rows()])
    yield
    field, chunks = arrow_import.read_stream(capsule)
    assert len(chunks) == 2

Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

def by_callbacks():
    capsule = arrow_stream_export.stream_capsule(TABLE, [rows(), rows()])
    address = capsule_pointer(capsule, b"arrow_array_stream")
    get_schema, get_next = (Get(each) for each in (ctypes.c_uint64 * 2).from_address(address))
    for get, size in ((get_schema, 9), (get_next, 10), (get_next, 10), (get_next, 10)):
        out = (ctypes.c_uint64 * size)()
        yield from [None] * (size == 9)
        status = get(address, ctypes.addressof(out))
        before = sys.gettrace()
        sys.settrace(None)  # of a callback that failed, consumers release what it has given, where it has
        if status:
            assert not out[size - 2]
        elif out[size - 2]:
            Release(out[size - 2])(ctypes.addressof(out))
        sys.settrace(before)

def read_array():
    capsules = arrow_export.schema_capsule(TABLE), arrow_export.array_capsule(rows())
    yield
    arrow_import.read_array(*capsules)

def exports(make):
    def export():
        given = data(), rows()
        yield
        make(*given)
    return export

def light():
    owner = Owner()
    export = dlpack_light.exporter(owner, Tensor(owner.address, (8,), (1,), (0, 64, 1)))
    yield
    export(max_version=(1, 0))

def address():
    memory = bytearray(8)
    view = memoryview(memory).toreadonly()
    yield
    try:
        cpython.buffer_address(view)
    finally:
        sys.settrace(None)
        view.release()  # refused where an export of it is held
        memory.append(0)

def many():
    held = [arrow_export.array_capsule(data()) for _ in range(6)]
    del held
    given = data()
    yield
    arrow_export.array_capsule(given)

ARROW = "arrow_export.py", "arrow_release.py", "arrow_stream_export.py"
DONE = {
    "an array": (exports(lambda one, _: arrow_export.array_capsule(one)), ARROW),
    "an array, by a capsule that was used": (many, ARROW),
    "rows": (exports(lambda _, both: arrow_export.array_capsule(both)), ARROW),
    "a schema": (exports(lambda *_: arrow_export.schema_capsule(TABLE)), ARROW),
    "both": (exports(lambda one, _: arrow_export.exporter(NUMBERS, one)()), ARROW),
    "an array of a device": (exports(lambda one, _: arrow_export.device_array_capsule(one, CPU)), ARROW),
    "a stream": (exports(lambda _, both: arrow_stream_export.stream_capsule(TABLE, [both, both])), ARROW),
    "reading an array": (read_array, ("arrow_import.py", "arrow_owner.py", "arrow_array.py", "arrow_schema.py")),
    "reading a stream": (read_stream, ("arrow_import.py", "arrow_owner.py", "arrow_array.py", "arrow_schema.py")),
    "a stream that is read": (read_stream, ARROW),
    "a stream that is read by C": (by_callbacks, ("arrow_stream_export.py",)),
    "a tensor": (light, ("dlpack_light.py",)),
    "an address": (address, ("cpython.py",)),
}

def interrupted(work, files, after):
    steps = work()
    next(steps)
    interrupt = Interrupt(after, files)
    sys.settrace(interrupt)
    try:
        next(steps, None)
    except KeyboardInterrupt:
        pass
    except arrow_import.ProducerError as error:  # of a stream, whose callback can tell of it only so
        assert "KeyboardInterrupt" in str(error), error
    finally:
        sys.settrace(None)
        del steps
    return interrupt.raised

sys.unraisablehook = lambda _: None
for name, (work, files) in DONE.items():
    after = 1
    while interrupted(work, files, after):
        nothing_is_left((name, after))
        after += 1
    nothing_is_left((name, after))
    assert after > 4, (name, after)
    print(name, after)
"""


CALLBACKS = pytest.mark.parametrize(
    ("module", "name"),
    [
        (arrow_release, "release"),
        (arrow_release, "destructor"),
        (arrow_stream_export, "release"),
        (dlpack_light, "deleter"),
        (dlpack_light, "destructor"),
    ],
)


@CALLBACKS
def test_a_callback_calls_within_a_try(module: Any, name: str) -> None:
    for code in code_of(module, name):
        steps, entries = list(dis.get_instructions(code)), dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
        for step, following in pairwise(steps):
            if code.co_name == name and step.opname.startswith("CALL") and following.opname != "RAISE_VARARGS":
                assert any(entry.start <= step.offset < entry.end for entry in entries), step.positions


@CALLBACKS
def test_every_loop_that_is_tried_twice_jumps_back_within_its_try(module: Any, name: str) -> None:
    codes = code_of(module, name)
    assert codes
    for code in codes:
        steps, entries = list(dis.get_instructions(code)), dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
        outer = next((step.offset for step in steps if step.opname == "FOR_ITER"), None)
        for step in steps:
            within = any(entry.start <= step.offset < entry.end for entry in entries)
            if step.opname == "JUMP_BACKWARD" and not within:
                assert step.argval == outer, step.positions


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer interpreters see what a trace function raises elsewhere")
def test_a_handler_raises_at_each_place(run_python: Run) -> None:
    printed = run_python(PRELUDE + STORM)
    assert len(printed.splitlines()) == 13
