"""What two threads do to the tables of the library at once, one step of the other put between two of the one."""

import sys
from collections import deque

import pytest

from buflend.shared import arrow_release

from .conftest import Run


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
