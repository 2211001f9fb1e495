"""What a signal's handler raises, Ctrl-C's `KeyboardInterrupt` say, at every step of callbacks and of exports."""

import ctypes
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import pytest

from buflend.shared import CPU, arrow_export, arrow_release, arrow_stream_export, dlpack_light
from buflend.shared.arrow_c import ArrowArray, ArrowArrayStream, Data, Field
from buflend.shared.dlpack import LEGACY, STRUCTS, Tensor

from . import arrow_producer, capsules
from .conftest import Run
from .only import CONTENT, Owner

STEPS = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="newer interpreters see what a trace function raises elsewhere"
)
CALLBACKS = ("arrow_export.py", "arrow_release.py", "arrow_stream_export.py", "dlpack_light.py")


class Interrupt:
    """Raises in functions of a name at their n-th line or step of what they do twice, once, as a signal's handler may.

    What is raised in the call above it ends the callback, and between the two no handler runs. Within a line one runs
    where a call has returned and its result is kept nowhere yet.
    """

    def __init__(self, name: str, after: int, event: str = "line") -> None:
        self.name, self.after, self.event, self.raised = name, after, event, False

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_name != self.name or not frame.f_code.co_filename.endswith(CALLBACKS):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        if event == self.event == "call":  # of another callback: it ends as it begins
            self.after, self.raised = self.after - 1, self.raised or not self.after
            if self.after == -1:
                raise KeyboardInterrupt
        first, returned = _steps(frame.f_code)
        within = frame.f_lasti in returned if self.event == "opcode" else frame.f_lineno > first
        if event == self.event and not self.raised and within:
            self.after -= 1
            if self.after < 0:
                self.raised = True
                raise KeyboardInterrupt
        return self


@contextmanager
def traced(trace: Any) -> Iterator[list[type[BaseException]]]:
    """Run under a trace function; yield the classes of what callbacks could not raise, which is shown."""
    shown: list[type[BaseException]] = []
    before, hook = sys.gettrace(), sys.unraisablehook
    sys.unraisablehook = lambda unraisable: shown.append(unraisable.exc_type)
    sys.settrace(trace or before)
    try:
        yield shown
    finally:
        sys.settrace(before)
        sys.unraisablehook = hook


@lru_cache
def _steps(code: CodeType) -> tuple[int, frozenset[int]]:
    """Return the first line within what is tried twice, or that of what is not, and the steps behind calls since."""
    lines, start = inspect.getsourcelines(code)
    first = next((start + i + 2 for i, line in enumerate(lines) if line.strip() == "for _ in twice:"), start)
    line, returned, steps = 0, set(), list(dis.get_instructions(code))
    for step, following in pairwise(steps):
        line = step.starts_line or line
        if step.opname == "CALL" and line >= first:
            returned.add(following.offset)
    return first, frozenset(returned)


def array() -> tuple[object, list[int]]:
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    parts = tuple(Data(8, (None, (owner.address, owner))) for _ in range(2))
    return arrow_export.array_capsule(Data(8, (None,), children=parts)), returned


def stream() -> tuple[object, list[int]]:
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    chunks = [Data(8, (None,), children=(Data(8, (None, (owner.address, owner))),)) for _ in range(2)]
    return arrow_stream_export.stream_capsule(Field("+s", children=(Field("l", "x"),)), chunks), returned


@STEPS
@pytest.mark.parametrize("after", range(25))
@pytest.mark.parametrize(
    ("name", "event"),
    [(name, event) for name in ("release", "destructor") for event in ("line", "opcode")] + [("release", "call")],
)
@pytest.mark.parametrize("make", [array, stream])
def test_a_signals_handler_raises_within_a_callback(
    make: Callable[[], tuple[object, list[int]]], name: str, after: int, event: str
) -> None:
    arrow_release.flush()
    capsule, returned = make()
    interrupt = Interrupt(name, after, event)
    with traced(interrupt) as shown:
        del capsule
        arrow_release.flush()
    assert shown == [KeyboardInterrupt] * interrupt.raised, "nothing fails because of what was raised"
    assert returned == [1]
    assert not arrow_release._live
    assert not arrow_release._blocks
    if after < 3:
        assert interrupt.raised


@STEPS
@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize(
    ("name", "event"),
    [*((name, event) for name in ("deleter", "destructor") for event in ("line", "opcode")), ("deleter", "call")],
)
def test_a_signals_handler_raises_within_a_callback_of_dlpack(name: str, event: str, after: int) -> None:
    returned: list[int] = []
    capsule = light(Owner(returned, CONTENT))
    interrupt = Interrupt(name, after, event)
    with traced(interrupt) as shown:
        del capsule
    assert shown == [KeyboardInterrupt] * interrupt.raised
    assert returned == [1]
    assert not dlpack_light._live
    if not after:
        assert interrupt.raised


@STEPS
@pytest.mark.parametrize("after", range(25))
@pytest.mark.parametrize(
    ("name", "event"),  # what `take` does without a call is one step
    [("take", "opcode"), *((name, event) for name in ("_take_schema", "fill") for event in ("line", "opcode"))],
)
def test_a_signals_handler_raises_while_a_stream_hands_over(name: str, event: str, after: int) -> None:
    arrow_release.flush()
    capsule, returned = stream()
    what, size = ("get_next", 80) if name == "take" else ("get_schema", 72)  # bytes, of an array and a schema
    at = capsules.struct_of(capsule)
    out = (ctypes.c_uint64 * 10)(*[2**64 - 1] * 10)  # garbage
    get = arrow_producer.Fill(getattr(arrow_producer.Stream.from_address(at), what))
    interrupt = Interrupt(name, after, event)
    with traced(interrupt) as shown:
        status = get(at, ctypes.addressof(out))
    assert not shown
    assert status == (5 if interrupt.raised else 0)  # EIO
    if status:
        assert get(at, ctypes.addressof(out)) == 0, "who asks again gets it"
    if name == "take":
        arrow_producer.Release(out[8])(ctypes.addressof(out))
        assert returned == [], "the second chunk is the stream's"
        assert get(at, ctypes.addressof(out)) == 0
    assert out[size // 8 - 2]
    arrow_producer.Release(out[size // 8 - 2])(ctypes.addressof(out))
    del capsule
    arrow_release.flush()
    assert returned == [1], "what was not handed over is the stream's"
    assert not arrow_release._live
    if not after and (name, event) != ("_take_schema", "line"):  # its one line is no step within it
        assert interrupt.raised


class Interrupted(dict[int, Any]):
    """A table that is interrupted at first, or always, where something is looked up or taken out."""

    def __init__(self, times: int) -> None:
        self.times, self.asked = times, 0

    def pop(self, *_: object) -> Any:
        self.asked += 1
        if self.asked <= self.times:
            raise KeyboardInterrupt

    get = pop


def release_of_array() -> None:
    words = (ctypes.c_uint64 * 10)(*[0] * 8, 1, 7)  # ArrowArray: release is set, and 7 the number
    arrow_release.Release(arrow_release._release_of(ArrowArray))(ctypes.addressof(words))
    assert words[8] == 0


def release_of_stream() -> None:
    words = (ctypes.c_uint64 * 5)(0, 0, 0, 1, 7)
    arrow_release.Release(arrow_stream_export._release_of(ArrowArrayStream, ArrowArray))(ctypes.addressof(words))


def destructor_of_arrow() -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(arrow_release._destructor_of(ArrowArray))(7)


def deleter() -> None:
    struct = STRUCTS[LEGACY]
    at = dlpack_light.raw_calloc(1, ctypes.sizeof(struct))
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(dlpack_light._deleter_of(struct))(at)


def destructor() -> None:
    lent = light(Owner([], CONTENT))
    made = dlpack_light._destructor_of(LEGACY, STRUCTS[LEGACY])
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(made)(id(lent))
    dlpack_light._live.clear()


TRIED_TWICE: dict[str, tuple[Any, str, Callable[[], None]]] = {
    "array": (arrow_release, "_live", release_of_array),
    "capsule": (arrow_release, "_blocks", destructor_of_arrow),
    "stream": (arrow_stream_export, "_live", release_of_stream),
    "deleter": (dlpack_light, "_live", deleter),
    "destructor": (dlpack_light, "_live", destructor),
}
"""Callback -> where the table lies that it asks, and what calls one that is made with the table as it is."""


@pytest.mark.parametrize(("module", "table", "call"), TRIED_TWICE.values(), ids=TRIED_TWICE)
def test_what_is_interrupted_is_tried_once_more_and_then_shown(
    module: Any, table: str, call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for times in (1, 9):
        found = Interrupted(times)
        monkeypatch.setattr(module, table, found)
        with traced(None) as shown:
            call()
        assert shown == [KeyboardInterrupt], "once, when all is done that can be"
        assert times == 1 or found.asked == 2


def light(owner: Owner) -> Any:
    return dlpack_light.exporter(owner, Tensor(owner.address, (8,), (1,), (1, 8, 1), CPU, readonly=False))()


@STEPS
@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize(
    ("name", "event"), [("deleter", "opcode"), *(("destructor", event) for event in ("line", "opcode"))]
)
def test_a_struct_is_freed_once_and_not_looked_at_again(
    name: str, event: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    struct, freed, held = STRUCTS[LEGACY], [], []

    def free(address: int) -> None:
        freed.append((address, len(dlpack_light._live)))
        ctypes.memmove(address, held[0], ctypes.sizeof(struct))  # as if the allocator gave it to the other export

    monkeypatch.setattr(dlpack_light, "raw_free", free)
    monkeypatch.setitem(dlpack_light._DELETER, LEGACY, dlpack_light._deleter_of(struct))
    kept: list[int] = []
    returned: list[int] = []
    other, capsule = light(Owner(kept, CONTENT)), light(Owner(returned, CONTENT))
    held.append(capsules.struct_of(other))
    address = capsules.struct_of(capsule)
    interrupt = Interrupt(name, after, event)
    with traced(interrupt) as shown:
        del capsule
    assert shown == [KeyboardInterrupt] * interrupt.raised
    assert freed == [(address, 1)], "once, when its number was forgotten and the other's was not"
    assert (returned, kept) == ([1], [])
    del other
    assert kept == [1]
    assert not dlpack_light._live
    if not after:
        assert interrupt.raised


@STEPS
@pytest.mark.parametrize("after", range(25))
@pytest.mark.parametrize("name", ["make", "_capsule"])
def test_a_signals_handler_raises_while_a_struct_is_made(
    name: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocate, free = dlpack_light.raw_calloc, dlpack_light.raw_free
    held: list[int] = []

    def allocated(*sizes: int) -> int:
        held.append(allocate(*sizes))
        return held[-1]

    def freed(address: int) -> None:
        held.remove(address)
        free(address)

    monkeypatch.setattr(dlpack_light, "raw_calloc", allocated)
    monkeypatch.setattr(dlpack_light, "raw_free", freed)
    monkeypatch.setitem(dlpack_light._DELETER, LEGACY, dlpack_light._deleter_of(STRUCTS[LEGACY]))
    returned: list[int] = []
    interrupt = Interrupt(name, after, "opcode")
    with traced(interrupt):
        try:
            light(Owner(returned, CONTENT))
        except (KeyboardInterrupt, SystemError):  # the latter where a capsule goes with it: no handler runs there
            assert interrupt.raised
        else:
            assert not interrupt.raised
    assert not held, "each is freed once"
    assert returned == [1]
    assert not dlpack_light._live
    if after < 3:
        assert interrupt.raised


EXPORT = """
import sys
from buflend.shared import CPU, arrow_export, arrow_release, arrow_stream_export
from buflend.shared.arrow_c import Data, Field

field = Field("l")
rows = Field("+s", children=(Field("+s", children=(field,)),) * 2, dictionary=field)
numbers = Data(8, (None, (id(field), field)))  # an address that nobody reads, and an owner
inner = Data(8, (None,), children=(numbers,))
data = Data(8, (None,), children=(inner, inner), dictionary=numbers)
EXPORTS = {
    "an array": lambda: arrow_export.array_capsule(data),
    "a schema": lambda: arrow_export.schema_capsule(rows),
    "both": lambda: arrow_export.exporter(rows, data)(),
    "both, flat": lambda: arrow_export.exporter(field, numbers)(),
    "an array of a device": lambda: arrow_export.device_array_capsule(data, CPU),
    "a stream": lambda: arrow_stream_export.stream_capsule(rows, [data, data]),
    "a stream of a device": lambda: arrow_stream_export.device_stream_capsule(rows, [data, data], CPU),
}

class Interrupt:
    def __init__(self, after):
        self.after = after
    def __call__(self, frame, event, _):
        if "arrow_" not in frame.f_code.co_filename or frame.f_code.co_name in ("release", "destructor"):
            return None
        if event == "line":
            self.after -= 1
            if not self.after:
                raise KeyboardInterrupt
        return self

def interrupted(make, after):
    sys.settrace(Interrupt(after))
    try:
        make()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        arrow_release.flush()
    return False

for name, make in EXPORTS.items():
    after = 1
    while interrupted(make, after):
        after += 1
        assert not arrow_release._live, (name, after, arrow_release._live)
        assert not arrow_release._blocks, (name, after)
    assert after > 20, name
print("done")
"""


def test_a_signals_handler_raises_within_an_export(run_python: Run) -> None:
    assert run_python(EXPORT) == "done\n"
