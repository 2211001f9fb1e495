"""Exports that are made on one thread, taken on another and returned on a third, while others collect and look.

Each group of kinds runs in a process of its own, where a crash is a failure of one test, with threads switched as often
as the interpreter can. Some of it is returned by threads that Python never saw: the C library starts them, and they
run a struct's own deleter or release.

`BUFLEND_THREADS` is the number of exports of each kind (default: 100).
"""

import os
import sys

import numpy as np
import pytest

from .conftest import Run

COUNT = int(os.environ.get("BUFLEND_THREADS", "100"))
OLD = tuple(map(int, np.__version__.split(".")[:2])) < (2, 1)

PRELUDE = """
import ctypes, faulthandler, gc, itertools, queue, struct, sys, threading, time, traceback
faulthandler.enable()
faulthandler.dump_traceback_later(100, exit=True)
from buflend.maximal import Buffer, Column, Table, live_exports
from buflend.maximal import as_buffer, as_column, as_memoryview, as_ndarray, as_table
from buflend.shared.cpython import capsule_is_valid, capsule_pointer

made, returned, following = [], [], itertools.count().__next__

class Owner:
    # Eight numbers of its own, poisoned when they are returned.
    def __init__(self):
        self.number = following()
        made.append(self.number)
        self.memory = (ctypes.c_int64 * 8)(*range(self.number, self.number + 8))
        self.ptr = ctypes.addressof(self.memory)
    def __del__(self, fill=ctypes.memset, note=returned.append):
        fill(self.ptr, 0xEE, 64)
        note(self.number)

def lend(device=(1, 0)):
    owner = Owner()
    return Buffer(owner.ptr, 64, owner=owner, device=device)

def check(numbers):
    first = int(numbers[0])
    assert [int(each) for each in numbers] == list(range(first, first + 8)), f"read {list(numbers)}"

class Once:
    # What offers one capsule, or pair of them.
    def __init__(self, capsule, name):
        self.capsule = capsule
        setattr(self, name, lambda *_, **__: capsule)
    def __dlpack_device__(self):
        return (1, 0)

class Dlpack(Once):
    def __init__(self, capsule):
        self.capsule = capsule
    def __dlpack__(self, **_):
        return self.capsule

# --- threads that Python never saw

libc = ctypes.CDLL(None)
libc.pthread_create.argtypes = libc.pthread_join.argtypes = None
libc.pthread_create.argtypes = [ctypes.c_void_p] * 4
libc.pthread_join.argtypes = [ctypes.c_void_p] * 2
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
# Name of a capsule -> where its struct has the function that returns it, and the bytes of a struct that is moved.
FUNCTIONS = {
    b"dltensor": (56, 0), b"dltensor_versioned": (16, 0),
    b"arrow_array": (64, 80), b"arrow_schema": (56, 72), b"arrow_device_array": (64, 128),
    b"arrow_array_stream": (24, 40),
}
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}

def foreign(capsules):
    # Takes capsules as a consumer in C does, and lets a thread of the C library return each.
    started = []
    for capsule in capsules if type(capsules) is tuple else (capsules,):
        (name,) = [name for name in FUNCTIONS if capsule_is_valid(capsule, name)]
        at, size = FUNCTIONS[name]
        address = capsule_pointer(capsule, name)
        moved = None
        if name in USED:
            rename(capsule, USED[name])
        else:
            moved = ctypes.create_string_buffer(ctypes.string_at(address, size), size)
            ctypes.c_uint64.from_address(address + at).value = 0
            address = ctypes.addressof(moved)
        function = ctypes.c_uint64.from_address(address + at).value
        thread = ctypes.c_void_p()
        assert not libc.pthread_create(ctypes.byref(thread), None, function, address)
        started.append((thread, moved))
    for thread, _ in started:
        assert not libc.pthread_join(thread, None)

# --- the line: made, taken, dropped

def run(name, make, take, drop=None):
    print(name, flush=True)
    faults, lent, taken, over = [], queue.SimpleQueue(), queue.SimpleQueue(), threading.Event()
    def maker():
        for _ in range(COUNT // 2):
            lent.put(make())
    def taker():
        while (each := lent.get()) is not None:
            taken.put((drop, each) if take is None else (None, take(each)))
            del each
    def dropper():
        while (each := taken.get()) is not None:
            if each[0] is not None:
                each[0](each[1])
            del each
    def looker():
        while not over.is_set():
            gc.collect()
            LOOK and live_exports()
            time.sleep(0.001)
    def guarded(work):
        def call():
            try:
                work()
            except BaseException:
                faults.append(traceback.format_exc())
        return call
    lines = [[threading.Thread(target=guarded(work)) for _ in range(2)] for work in (maker, taker, dropper)]
    look = threading.Thread(target=guarded(looker))
    look.start()
    for line in lines:
        for thread in line:
            thread.start()
    for line, after in zip(lines, (lent, taken, None)):
        for thread in line:
            thread.join()
        if after is not None:
            after.put(None), after.put(None)
    over.set()
    look.join()
    assert not faults, faults[0]
    all_is_returned()

def all_is_returned():
    if "buflend.shared.arrow_release" in sys.modules:
        sys.modules["buflend.shared.arrow_release"].flush()
    gc.collect()
    assert made, "nothing was lent"
    assert sorted(returned) == sorted(made), f"{len(returned)} of {len(made)} were returned"
    made.clear(), returned.clear()
    left = live_exports()
    assert not left, f"still lent: {left}"
    for module in ("arrow_release", "dlpack_light"):
        if f"buflend.shared.{module}" in sys.modules:
            assert not sys.modules[f"buflend.shared.{module}"]._live, f"{module}: something was not released"

sys.setswitchinterval(1e-6)
"""

GENERIC = """
from buflend.shared import Device
from buflend.shared.dlpack import Tensor
def generic(dtype, device=(1, 0), version=(1, 0)):
    owner = Owner()
    return exporter(owner, Tensor(owner.ptr, (4,), (1,), dtype, Device(*device)))(max_version=version)
"""

ARROW = """
from buflend.shared import arrow_export, arrow_stream_export
from buflend.shared.arrow_c import Data, Field
from buflend.shared.dlpack import Tensor

def column():
    return Column("l", 8, data=lend())

def chunk():
    owners = [Owner(), Owner()]
    return Data(8, (None,), children=tuple(Data(8, (None, (owner.ptr, owner))) for owner in owners))

STRUCT = Field("+s", children=(Field("l", "a"), Field("l", "b")))

def stream():
    return arrow_stream_export.stream_capsule(STRUCT, [chunk(), chunk()])

def nested():
    return arrow_export.schema_capsule(STRUCT), arrow_export.array_capsule(chunk())

def pair():
    owner = Owner()
    return arrow_export.schema_capsule(Field("l")), arrow_export.array_capsule(Data(8, (None, (owner.ptr, owner))))

def device_pair():
    owner = Owner()
    data = Data(8, (None, (owner.ptr, owner)))
    return arrow_export.schema_capsule(Field("l")), arrow_export.device_array_capsule(data, Device(1, 0))

def of_array(capsules):
    made = as_column(Once(capsules, "__arrow_c_array__"))
    check(made.tolist())
    return made

def of_device_array(capsules):
    made = as_column(Once(capsules, "__arrow_c_device_array__"))
    check(made.tolist())
    return made

def of_stream(capsule):
    made = as_table(Once(capsule, "__arrow_c_stream__"))
    check(made["a"][:8].tolist())
    check(made["b"][8:].tolist())
    return made

def table():
    return Table({"a": column(), "b": column()})
"""

WITH_NUMPY = (
    PRELUDE
    + GENERIC
    + ARROW
    + """
import numpy as np
from buflend.shared.dlpack_export import exporter

def array_of(lent):
    made = np.from_dlpack(lent).view("int64")
    check(made)
    return made

def seen(view):
    check(np.frombuffer(view, "int64"))
    return view

for version in (None, (1, 0)):
    export = lambda: lend().__dlpack__(max_version=version)
    if version is None or not OLD:
        run(f"capsule {version}, by NumPy", export, lambda capsule: array_of(Dlpack(capsule)))
    run(f"capsule {version}, by as_buffer", export, lambda capsule: seen(as_memoryview(as_buffer(Dlpack(capsule)))))
    run(f"capsule {version}, dropped", export, lambda capsule: capsule)
    run(f"capsule {version}, on a thread of C", export, None, foreign)
run("capsule of CUDA memory", lambda: lend((2, 0)).__dlpack__(max_version=(1, 0)), lambda capsule: capsule)
run("capsule of CUDA memory, on a thread of C", lambda: lend((2, 0)).__dlpack__(max_version=(1, 0)), None, foreign)
for dtype in ((4, 16, 1), (17, 4, 1)):
    run(f"capsule of {dtype}", lambda: generic(dtype), lambda capsule: capsule)
    run(f"capsule of {dtype}, on a thread of C", lambda: generic(dtype), None, foreign)
if not OLD:
    run("buffer, by NumPy", lend, array_of)
run("buffer, by the array interface", lend, lambda lent: seen(np.asarray(lent)))
run("buffer, viewed", lend, lambda lent: seen(as_memoryview(lent)))
run("buffer, as an array", lend, lambda lent: seen(as_ndarray(lent)))
run("buffer of an array", lambda: as_ndarray(lend(), "int64"), lambda array: seen(as_memoryview(as_buffer(array))))
run("arrays by Arrow", pair, of_array)
run("arrays by Arrow, dropped", pair, lambda capsules: capsules)
run("arrays by Arrow, on threads of C", pair, None, foreign)
run("nested arrays by Arrow", nested, lambda capsules: as_table(Once(capsules, "__arrow_c_array__")))
run("nested arrays by Arrow, on threads of C", nested, None, foreign)
run("arrays of a device by Arrow", device_pair, of_device_array)
run("arrays of a device by Arrow, on threads of C", device_pair, None, foreign)
run("streams by Arrow", stream, of_stream)
run("streams by Arrow, unread, on threads of C", stream, None, foreign)
run("columns, by Arrow", column, lambda lent: of_array(lent.__arrow_c_array__()))
run("columns, by Arrow, on threads of C", lambda: column().__arrow_c_array__(), None, foreign)
run("columns, by the array interface", column, lambda lent: seen(np.asarray(lent)))
if not OLD:
    run("columns, by DLPack", column, lambda lent: seen(np.from_dlpack(lent)))
run("tables, by Arrow", table, lambda lent: as_table(Once(lent.__arrow_c_stream__(), "__arrow_c_stream__")))
run("tables, by the interchange protocol", table, lambda lent: as_table(Once(lent.__dataframe__(), "__dataframe__")))

# One buffer, column and table for all threads: what is made when it is first asked for is asked for at once.
for name, make, take in (
    ("a buffer of all threads", lend, lambda lent: lent.__dlpack__(max_version=(1, 0))),
    ("a column of all threads", column, lambda lent: lent.__arrow_c_array__()),
    ("a table of all threads", table, lambda lent: lent.__arrow_c_stream__()),
):
    print(name, flush=True)
    for _ in range(COUNT // 10):
        lent, barrier, got = make(), threading.Barrier(4), []
        def ask():
            barrier.wait()
            got.append(take(lent))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(got) == 4
        del lent, got
    all_is_returned()
print("done")
"""
)

WITHOUT_NUMPY = (
    "import sys\nsys.modules['numpy'] = None\n"
    + PRELUDE
    + GENERIC
    + """
from buflend.shared.dlpack_light import exporter

def seen(capsule):
    view = as_memoryview(as_buffer(Dlpack(capsule)))
    check(view.cast("q"))
    return view

for version in (None, (1, 0)):
    export = lambda: lend().__dlpack__(max_version=version)
    run(f"capsule {version}", export, seen)
    run(f"capsule {version}, dropped", export, lambda capsule: capsule)
    run(f"capsule {version}, on a thread of C", export, None, foreign)
run("capsule of bfloat16", lambda: generic((4, 16, 1)), lambda capsule: capsule)
run("arrays by Arrow, on threads of C", lambda: lend().__arrow_c_array__(), None, foreign)
run("buffer, viewed", lend, as_memoryview)
print("done")
"""
)

WITH_PYARROW = (
    PRELUDE
    + GENERIC
    + ARROW
    + """
import pyarrow as pa

def numbers(array):
    check(array.to_pylist() if array.type == pa.int64() else array.view(pa.int64()).to_pylist())
    return array

def bytes_of(array):
    check(struct.unpack("=8q", bytes(array.buffers()[1])))
    return array

run("buffer, by __arrow_array__", lend, lambda lent: bytes_of(pa.array(lent)))
run("buffer, by pyarrow's capsules", lambda: lend().__arrow_c_array__(),
    lambda capsules: bytes_of(pa.Array._import_from_c_capsule(*capsules)))
run("buffer, by pyarrow's capsules, on threads of C", lambda: lend().__arrow_c_array__(), None, foreign)
run("our capsules", pair, lambda capsules: numbers(pa.Array._import_from_c_capsule(*capsules)))
run("our capsules of a device", device_pair,
    lambda capsules: numbers(pa.Array._import_from_c_device_capsule(*capsules)))
run("our streams", stream, lambda capsule: pa.table(Once(capsule, "__arrow_c_stream__")))
run("our streams, half-read", stream,
    lambda capsule: pa.RecordBatchReader._import_from_c_capsule(capsule).read_next_batch())
run("columns", column, lambda lent: numbers(pa.array(lent)))
run("tables", table, pa.table)
print("done")
"""
)


def runs(run: Run, program: str, *, site: bool) -> None:
    # On a free-threaded build nobody may look while others work: so `live_exports` says.
    look = getattr(sys, "_is_gil_enabled", lambda: True)()
    settings = f"COUNT, OLD, LOOK = {COUNT // 2 * 2}, {OLD}, {look}\n"
    assert run(settings + program, site=site).splitlines()[-1] == "done"


@pytest.mark.skipif(sys.platform == "win32", reason="threads are started by pthread_create here")
class TestMadeTakenAndDroppedOnThreeThreads:
    def test_with_numpy(self, run_python: Run) -> None:
        runs(run_python, WITH_NUMPY, site=True)

    def test_without_numpy(self, run_python: Run) -> None:
        runs(run_python, WITHOUT_NUMPY, site=False)

    @pytest.mark.peers
    def test_with_pyarrow(self, run_python: Run) -> None:
        pytest.importorskip("pyarrow")
        runs(run_python, WITH_PYARROW, site=True)
