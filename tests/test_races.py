"""What two threads do to the tables of the library at once, one step of the other put between two of the one."""

import dis
import inspect
import sys
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import pytest

from buflend.shared import CPU, arrow_export, arrow_release, arrow_stream_export, dlpack_light
from buflend.shared.arrow_c import Data, Field
from buflend.shared.dlpack import Tensor

from .conftest import Run
from .only import CONTENT, Owner


def test_what_is_parked_during_a_collection_stays_parked() -> None:
    class Parked(deque[object]):
        """Another thread parks something as soon as this one has looked."""

        late: "list[object]"

        def popleft(self) -> object:
            taken = super().popleft()
            if self.late:
                self.append(self.late.pop())
            return taken

        def clear(self) -> None:
            self.extend(self.late)
            super().clear()

    parked, before = Parked(["a", "b"]), deque(["c"])
    parked.late = ["d"]
    arrow_release._unpark("start", {}, (parked,), before)
    assert [*before] == ["a", "b"], "what was parked before the last collection goes, what was there now stays"
    assert [*parked] == ["d"]
    arrow_release._unpark("stop", {}, (parked,), before)
    assert [*parked] == ["d"]


def test_what_another_thread_takes_during_a_collection() -> None:
    class Taken(deque[object]):
        def popleft(self) -> object:
            self.clear()
            return super().popleft()

    parked: deque[object] = Taken(["a", "b"])
    before: deque[object] = deque()
    arrow_release._unpark("start", {}, (parked,), before)
    assert not before
    assert not parked


CALLBACKS = ("arrow_release.py", "arrow_stream_export.py", "dlpack_light.py")


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


@lru_cache
def _steps(code: CodeType) -> tuple[int, frozenset[int]]:
    """Return the first line within the `try` that is tried twice, and the steps behind calls from there on."""
    lines, start = inspect.getsourcelines(code)
    first = next(start + i + 2 for i, line in enumerate(lines) if line.strip() == "for is_last in twice:")
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


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer interpreters see what a trace function raises elsewhere")
@pytest.mark.parametrize("after", range(25))
@pytest.mark.parametrize(
    ("name", "event"),
    [(name, event) for name in ("release", "destructor") for event in ("line", "opcode")] + [("release", "call")],
)
@pytest.mark.parametrize("make", [array, stream])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signals_handler_raises_within_a_callback(
    make: Callable[[], tuple[object, list[int]]], name: str, after: int, event: str
) -> None:
    arrow_release.flush()
    capsule, returned = make()
    interrupt = Interrupt(name, after, event)
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        del capsule
        arrow_release.flush()
    finally:
        sys.settrace(before)
    assert returned == [1]
    assert not arrow_release._live
    assert not arrow_release._blocks
    if after < 3:
        assert interrupt.raised


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer interpreters see what a trace function raises elsewhere")
@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize(
    ("name", "event"),
    [*((name, event) for name in ("deleter", "destructor") for event in ("line", "opcode")), ("deleter", "call")],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signals_handler_raises_within_a_callback_of_dlpack(name: str, event: str, after: int) -> None:
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    tensor = Tensor(owner.address, (8,), (1,), (1, 8, 1), CPU, readonly=False)
    capsule = dlpack_light.exporter(owner, tensor)()
    del owner
    interrupt, before = Interrupt(name, after, event), sys.gettrace()
    sys.settrace(interrupt)
    try:
        del capsule
    finally:
        sys.settrace(before)
    assert returned == [1]
    assert not dlpack_light._live
    if not after:
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


LOOK = """
import sys, threading
from buflend.maximal import live_exports

sys.setswitchinterval(1e-6)
over, faults = threading.Event(), []

def work():
    while not over.is_set():
        try:  # a tuple that is made in steps, between which other threads run
            made = tuple(map(lambda one: one, range(5)))
        except SystemError as error:
            faults.append(error)
            return
        assert made == (0, 1, 2, 3, 4)

thread = threading.Thread(target=work)
thread.start()
for looked in range(100):
    live_exports()
    if faults:
        break
over.set()
thread.join()
print(faults)
"""


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="so live_exports says itself")
def test_looking_for_exports_disturbs_no_other_thread(run_python: Run) -> None:
    assert run_python(LOOK) == "[]\n"
