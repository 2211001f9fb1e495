"""A process forks in every state of an export: its child drops, lends and leaves, its parent gets its memory back once.

A process goes through the states, and forks several times in each. A child that waits for ever is ended by its alarm,
and its status tells of it. Nothing of the library is locked, so nothing can be found locked: the states in which other
threads work are those in which a lock would be held; `BUFLEND_FORKS` is how often it forks there (default: 4).
"""

import os
import subprocess
import sys

import pytest

from .conftest import ROOTS

FORKS = int(os.environ.get("BUFLEND_FORKS", "4"))

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PRELUDE = """
import ctypes, gc, os, signal, sys, threading, time
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_table, live_exports
from buflend.shared.arrow_c import Data, Field
from buflend.shared.cpython import capsule_pointer

lent, returned = [], []

class Owner:
    # Notes in which process it was made, and in which it was returned.
    def __init__(self):
        self.memory = (ctypes.c_ubyte * 64)(*range(64))
        self.ptr, self.pid = ctypes.addressof(self.memory), os.getpid()
        lent.append(self.pid)
    def __del__(self, fill=ctypes.memset, note=returned.append):
        fill(self.ptr, 0xEE, 64)
        note(self.pid)

def lend():
    owner = Owner()
    return Buffer(owner.ptr, 64, owner=owner)

class Once:
    def __init__(self, capsule, name):
        setattr(self, name, lambda *_, **__: capsule)
    def __dlpack_device__(self):
        return (1, 0)

class Dlpack:
    def __init__(self, capsule):
        self.capsule = capsule
    def __dlpack__(self, **_):
        return self.capsule
    def __dlpack_device__(self):
        return (1, 0)

def capsules():
    from buflend.shared.arrow_export import array_capsule, schema_capsule
    owner = Owner()
    return schema_capsule(Field("C")), array_capsule(Data(64, (None, (owner.ptr, owner))))

def stream():
    from buflend.shared.arrow_stream_export import stream_capsule
    chunks = []
    for _ in range(2):
        owner = Owner()
        chunks.append(Data(64, (None,), children=(Data(64, (None, (owner.ptr, owner))),)))
    return stream_capsule(Field("+s", children=(Field("C", "x"),)), chunks)

GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

class HalfRead:
    # A stream of which one chunk was taken, as a consumer in C does; both are returned when this goes.
    def __init__(self):
        self.capsule = stream()
        self.at = capsule_pointer(self.capsule, b"arrow_array_stream")
        self.chunk = (ctypes.c_uint64 * 10)()
        get_next = GetNext(ctypes.c_uint64.from_address(self.at + 8).value)
        assert not get_next(self.at, ctypes.addressof(self.chunk))
    def __del__(self, release=ctypes.CFUNCTYPE(None, ctypes.c_void_p), address=ctypes.addressof):
        release(self.chunk[8])(address(self.chunk))

def use():
    # Everything that is lent here is returned here.
    view = as_memoryview(as_buffer(Dlpack(lend().__dlpack__(max_version=VERSION))))
    assert bytes(view) == bytes(range(64))
    column = as_column(Once(capsules(), "__arrow_c_array__"))
    assert column.tolist() == list(range(64)) if NUMPY else len(column) == 64
    assert len(as_table(Once(stream(), "__arrow_c_stream__"))["x"]) == 128

def flush():
    gc.collect()
    if "buflend.shared.arrow_release" in sys.modules:
        sys.modules["buflend.shared.arrow_release"].flush()
    gc.collect()

def forked(held):
    # Forks; the child uses the library, drops what it has of `held`, and leaves as a program does.
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            use()
            held.clear()
            use()
            flush()
            assert lent.count(os.getpid()), "nothing was lent in the child"
            assert returned.count(os.getpid()) == lent.count(os.getpid()), "it was not returned there"
            live_exports()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(status)
    assert not status, f"the child ended with status {status}"

def all_is_returned():
    flush()
    assert returned.count(os.getpid()) == lent.count(os.getpid()), (len(returned), len(lent))
    assert not live_exports(), live_exports()
"""

# What is held where the process forks; each state is tried after the ones before it.
HOLD = """
def hold(take, parked):
    held = [take() for _ in range(3)]
    for _ in range(2):
        forked(held)
    use()
    forked(held)
    assert parked or len(returned) < len(lent), "the child gave back what is the parent's"
    held.clear()
    all_is_returned()

for state, take in HELD.items():
    print(state, flush=True)
    hold(eval(f"lambda: {take}"), take.endswith(("None", "[1]")))
print("done")
"""
HELD = {
    "nothing yet": "None",
    "buffers": "lend()",
    "unused capsules": "lend().__dlpack__(max_version=VERSION)",
    "capsules that were read": "as_memoryview(as_buffer(Dlpack(lend().__dlpack__(max_version=VERSION))))",
    "unused Arrow capsules": "capsules()",
    "Arrow capsules that were read": "as_column(Once(capsules(), '__arrow_c_array__'))",
    "unused streams": "stream()",
    "streams that were read": "as_table(Once(stream(), '__arrow_c_stream__'))",
    "streams that were half read": "HalfRead()",
    "views": "lend().memoryview()",
    "parked capsules": "(capsules(), None)[1]",
    "parked streams": "(stream(), None)[1]",
}

# What another thread does while the process forks, often; `started` is set when it has begun.
BESIDE = """
sys.setswitchinterval(1e-5)
use()
over, started, faults = threading.Event(), threading.Barrier(3), []
def work():
    started.wait()
    try:
        while not over.is_set():
            WORK
    except BaseException as error:
        faults.append(error)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
started.wait()
try:
    for _ in range(FORKS):
        forked([])
finally:  # or the process would wait for them, whatever is wrong
    over.set()
for thread in threads:
    thread.join()
assert not faults, faults
all_is_returned()
print("done")
"""
WORK = {
    "lends": "use()",
    "lends and drops": "lend().__dlpack__(max_version=VERSION), capsules(), stream()",
    "collects": "capsules(); gc.collect()",
    "looks for exports": "live_exports()",
    "returns on a thread of C": "return_elsewhere()",
}
ELSEWHERE = """
libc = ctypes.CDLL(None)
libc.pthread_create.argtypes, libc.pthread_join.argtypes = [ctypes.c_void_p] * 4, [ctypes.c_void_p] * 2
def return_elsewhere():
    pair, thread = capsules(), ctypes.c_void_p()
    at = capsule_pointer(pair[1], b"arrow_array")
    assert not libc.pthread_create(ctypes.byref(thread), None, ctypes.c_uint64.from_address(at + 64).value, at)
    assert not libc.pthread_join(thread, None)
"""
# python/cpython#112275: a child took the lock of the list of threads before it was made anew. A thread of C holds that
# lock for a moment at each call of Python, without the interpreter's.
WAITS = sys.version_info < (3, 11, 10)


def runs(code: str, *, numpy: bool) -> None:
    settings = f"import sys; sys.path[:0] = {ROOTS!r}\nNUMPY, VERSION, FORKS = {numpy}, (1, 0), {FORKS}\n"
    settings += "import numpy\n" if numpy else "sys.modules['numpy'] = None\n"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        # Processes with threads are forked here on purpose.
        [sys.executable, "-I", "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", settings + code],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines()[-1] == "done"


@pytest.mark.parametrize("numpy", [True, False], ids=["NumPy", "no NumPy"])
def test_held_where_a_process_forks(numpy: bool) -> None:
    runs(f"{PRELUDE}HELD = {HELD!r}\n{HOLD}", numpy=numpy)


# In a process of its own, whose imports are counted: each takes a lock that a fork may leave locked.
ABSENT = """
import builtins
asked, imported = [], builtins.__import__
def counting(name, *arguments):
    asked.append(name)
    return imported(name, *arguments)
lend().__dlpack__()
builtins.__import__ = counting
for _ in range(3):
    lend().__dlpack__()
    Buffer(4096, 64, owner=lend, device=(2, 0)).__dlpack__(max_version=VERSION)
builtins.__import__ = imported
assert "shared.dlpack_light" in asked and "shared.dlpack_export" not in asked, asked
print("done")
"""


def test_an_import_that_failed_is_not_tried_again() -> None:
    runs(PRELUDE + ABSENT, numpy=False)


# Another library imports NumPy after the first exports, by callbacks, were made.
LATER = """
from buflend.maximal import dlpack
held = [lend().__dlpack__(max_version=VERSION) for _ in range(2)]
light = sys.modules["buflend.shared.dlpack_light"]
assert len(light._live) == 2 and dlpack._is_missing
del sys.modules["numpy"]
import numpy
held += [lend().__dlpack__(max_version=VERSION) for _ in range(2)]
assert "buflend.shared.dlpack_export" in sys.modules, "NumPy was not seen"
assert not dlpack._is_missing, "the short way is not taken again"
held.clear()
all_is_returned()
print("done")
"""


def test_numpy_that_is_imported_later_is_seen() -> None:
    runs(PRELUDE + LATER, numpy=False)


@pytest.mark.parametrize("numpy", [True, False], ids=["NumPy", "no NumPy"])
@pytest.mark.parametrize("work", WORK)
def test_another_thread_works_where_a_process_forks(work: str, numpy: bool) -> None:
    if WAITS and work == "returns on a thread of C":
        pytest.skip("a child of this Python may wait for ever, whatever the thread of C calls: python/cpython#112275")
    runs(PRELUDE + ELSEWHERE + BESIDE.replace("WORK", WORK[work]), numpy=numpy)
