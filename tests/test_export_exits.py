"""The interpreter leaves while exports are held: exit status 0 and nothing on stderr.

Each process takes one kind of export as often as there are places that may hold one until late, and leaves. Consumers
that are not installed are not tested. Run on each interpreter by the test sessions.
"""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

OLD = tuple(map(int, np.__version__.split(".")[:2])) < (2, 1)

PRELUDE = """
import atexit, builtins, ctypes, gc, os, sys, threading, time

class Owner:
    # Memory that is poisoned when it is returned: whoever reads it later reads nonsense.
    def __init__(self):
        self.memory = (ctypes.c_ubyte * 128)(*range(128))
        self.ptr = ctypes.addressof(self.memory) + -ctypes.addressof(self.memory) % 64
    def __del__(self, fill=ctypes.memset):
        fill(self.ptr, 0xEE, 64)

def lend(device=(1, 0)):
    from buflend.maximal import Buffer
    owner = Owner()
    return Buffer(owner.ptr, 64, owner=owner, device=device)

class Once:
    def __init__(self, capsule):
        self.capsule = capsule
    def __dlpack__(self, **_):
        return self.capsule
    def __dlpack_device__(self):
        return (1, 0)
    def __arrow_c_array__(self, requested_schema=None):
        return self.capsule
"""

GENERIC = """
from buflend.shared import Device
from buflend.shared.dlpack import Tensor
def export(dtype, device=(1, 0), version=(1, 0)):
    owner = Owner()
    tensor = Tensor(owner.ptr, (4,), (1,), dtype, Device(*device))
    return exporter(owner, tensor)(max_version=version)
"""
SHELL = GENERIC + "from buflend.shared.dlpack_export import exporter\n"
LIGHT = "sys.modules['numpy'] = None\n" + GENERIC + "from buflend.shared.dlpack_light import exporter\n"
# An Arrow pair as it is made where pyarrow was not imported.
CALLBACKS = """
from buflend.shared.arrow_export import array_capsule, device_array_capsule, schema_capsule
def pair(device=False):
    assert "pyarrow" not in sys.modules or LOADED
    buffer = lend()
    from buflend.maximal import arrow
    data = arrow._data(buffer)
    return schema_capsule(arrow.BYTES), device_array_capsule(data, buffer.device) if device else array_capsule(data)
def nested():
    from buflend.shared.arrow_c import Data, Field
    from buflend.maximal import arrow
    child = arrow._data(lend())
    data = Data(64, (None,), children=(child, child._replace(length=64)), null_count=0)
    return schema_capsule(Field("+s", children=(Field("C", "a"), Field("C", "b")))), array_capsule(data)
LOADED = False
"""
LOADED = CALLBACKS + "import pyarrow as pa\nLOADED = True\n"
# A table in two chunks, as it is made where pyarrow was not imported, and what was read of it.
STREAM = """
from buflend.shared.arrow_stream_export import device_stream_capsule, stream_capsule
from buflend.shared.arrow_c import Data, Field
class Stream:
    def __init__(self):
        owners = Owner(), Owner()
        self.chunks = [Data(64, (None,), children=(Data(64, (None, (owner.ptr, owner))),)) for owner in owners]
        self.field = Field("+s", children=(Field("C", "x"),))
    def __arrow_c_stream__(self, requested_schema=None):
        return stream_capsule(self.field, self.chunks)
    def of_a_device(self):
        return device_stream_capsule(self.field, self.chunks, (2, 0))
def half(read, reader):
    return reader, read(reader)
def connection():
    made, lent = duckdb.connect(), Stream()
    made.execute("select * from lent").fetchone()
    return made
"""


class Export(NamedTuple):
    """How one export is taken: modules it needs, statements before, and the expression."""

    needs: str
    before: str
    take: str


EXPORTS = {
    "numpy from_dlpack": Export("numpy", "import numpy as np", "np.from_dlpack(lend())"),
    "numpy asarray": Export("numpy", "import numpy as np", "np.asarray(lend())"),
    "numpy of __array__": Export("numpy", "", "lend().__array__()"),
    "memoryview": Export("numpy", "", "lend().memoryview()"),
    "torch": Export("torch", "import torch", "torch.from_dlpack(lend())"),
    "jax": Export("jax", "import jax", "jax.dlpack.from_dlpack(lend())"),
    "tvm_ffi": Export("tvm_ffi", "import tvm_ffi", "tvm_ffi.from_dlpack(lend())"),
    "cuda.core": Export(
        "cuda.bindings",
        "from cuda.core.utils import StridedMemoryView as View",
        "View.from_dlpack(lend(), stream_ptr=-1)",
    ),
    "cuda.core of CUDA memory": Export(
        "cuda.bindings",
        "from cuda.core.utils import StridedMemoryView as View",
        "View.from_dlpack(lend((2, 0)), stream_ptr=-1)",
    ),
    "cupy": Export("cupy", "import cupy", "cupy.from_dlpack(lend((2, 0)).__dlpack__())"),
    "pyarrow of __arrow_array__": Export("pyarrow", "import pyarrow as pa", "pa.array(lend())"),
    "pyarrow from_dlpack": Export("pyarrow", "import pyarrow as pa", "pa.Array.from_dlpack(lend())"),
    "pyarrow of its capsules": Export(
        "pyarrow", "import pyarrow as pa", "pa.Array._import_from_c_capsule(*lend().__arrow_c_array__())"
    ),
    "pyarrow of callbacks": Export("pyarrow", LOADED, "pa.Array._import_from_c_capsule(*pair())"),
    "pyarrow of nested callbacks": Export("pyarrow", LOADED, "pa.Array._import_from_c_capsule(*nested())"),
    "pyarrow of device callbacks": Export("pyarrow", LOADED, "pa.Array._import_from_c_device_capsule(*pair(True))"),
    "nanoarrow of callbacks": Export(
        "nanoarrow", CALLBACKS + "import nanoarrow as na", "na.c_array(Once(pair())).view()"
    ),
    "nanoarrow of pyarrow's capsules": Export(
        "nanoarrow pyarrow", "import nanoarrow as na, pyarrow", "na.c_array(Once(lend().__arrow_c_array__())).view()"
    ),
    "polars of callbacks": Export("polars", CALLBACKS + "import polars as pl", "pl.Series(Once(pair()))"),
    "polars of pyarrow's capsules": Export(
        "polars pyarrow", "import polars as pl, pyarrow", "pl.Series(Once(lend().__arrow_c_array__()))"
    ),
    "arro3 of callbacks": Export("arro3.core", CALLBACKS + "from arro3.core import Array", "Array(Once(pair()))"),
    "legacy capsule": Export("numpy", "", "lend().__dlpack__()"),
    "versioned capsule": Export("numpy", "", "lend().__dlpack__(max_version=(1, 0))"),
    "copied capsule": Export("numpy", "", "lend().__dlpack__(max_version=(1, 0), copy=True)"),
    "CUDA capsule": Export("numpy", "", "lend((2, 0)).__dlpack__(max_version=(1, 0))"),
    "bfloat16 capsule": Export("numpy", SHELL, "export((4, 16, 1))"),
    "float4 capsule": Export("numpy", SHELL, "export((17, 4, 1))"),
    "legacy float4 capsule": Export("numpy", SHELL, "export((17, 4, 1), version=None)"),
    "capsule without NumPy": Export("numpy", LIGHT, "export((1, 8, 1))"),
    "legacy capsule without NumPy": Export("numpy", LIGHT, "export((1, 8, 1), version=None)"),
    "Arrow capsules of callbacks": Export("numpy", CALLBACKS, "pair()"),
    "Arrow device capsules of callbacks": Export("numpy", CALLBACKS, "pair(True)"),
    "Arrow stream capsule": Export("numpy", STREAM, "Stream().__arrow_c_stream__()"),
    "Arrow device stream capsule": Export("numpy", STREAM, "Stream().of_a_device()"),
    "pyarrow of a stream": Export("pyarrow", STREAM + "import pyarrow as pa", "pa.table(Stream())"),
    "pyarrow's unused reader": Export(
        "pyarrow", STREAM + "import pyarrow as pa", "pa.RecordBatchReader.from_stream(Stream())"
    ),
    "pyarrow's half-read reader": Export(
        "pyarrow",
        STREAM + "import pyarrow as pa",
        "half(pa.RecordBatchReader.read_next_batch, pa.RecordBatchReader.from_stream(Stream()))",
    ),
    "nanoarrow of a stream": Export("nanoarrow", STREAM + "import nanoarrow as na", "na.Array(Stream())"),
    "nanoarrow's unused reader": Export("nanoarrow", STREAM + "import nanoarrow as na", "na.ArrayStream(Stream())"),
    "nanoarrow's half-read reader": Export(
        "nanoarrow", STREAM + "import nanoarrow as na", "half(lambda r: r.get_next(), na.c_array_stream(Stream()))"
    ),
    "polars of a stream": Export("polars", STREAM + "import polars as pl", "pl.DataFrame(Stream())"),
    "arro3 of a stream": Export("arro3.core", STREAM + "from arro3.core import Table", "Table(Stream())"),
    "arro3's half-read reader": Export(
        "arro3.core",
        STREAM + "from arro3.core import RecordBatchReader as Reader",
        "half(Reader.read_next_batch, Reader.from_arrow(Stream()))",
    ),
    "duckdb's half-read result": Export("duckdb", STREAM + "import duckdb", "connection()"),
    "Arrow capsules of pyarrow": Export("pyarrow", "import pyarrow", "lend().__arrow_c_array__()"),
    "a buffer of our own capsule": Export(
        "numpy", "from buflend.maximal import as_buffer", "as_buffer(Once(lend().__dlpack__(max_version=(1, 0))))"
    ),
    "a buffer of a capsule without NumPy": Export(
        "numpy", LIGHT + "from buflend.maximal import as_buffer", "as_buffer(Once(export((1, 8, 1))))"
    ),
    "a buffer of an ndarray": Export(
        "numpy", "import numpy as np; from buflend.maximal import as_buffer", "as_buffer(np.arange(9))"
    ),
    "a buffer of a tensor": Export(
        "torch", "import torch; from buflend.maximal import as_buffer", "as_buffer(torch.arange(9))"
    ),
    "a buffer of a pyarrow array": Export(
        "pyarrow", "import pyarrow as pa; from buflend.maximal import as_buffer", "as_buffer(pa.py_buffer(b'lent'))"
    ),
}

PEERS = [name for name, export in EXPORTS.items() if export.needs != "numpy"]

REFERENCES = """
kept = take()
sys.kept = take()
builtins.kept = take()
for name in (
    "numpy", "torch", "jax", "tvm_ffi", "pyarrow", "pyarrow.lib", "nanoarrow", "polars", "arro3.core",
    "duckdb", "buflend.shared.arrow_export", "buflend.shared.arrow_release", "buflend.shared.arrow_stream_export",
    "buflend.shared.dlpack_export", "buflend.shared.dlpack_light",
    "buflend.shared.cpython", "buflend.shared.loan", "ctypes", "encodings", "threading", "atexit",
):
    if sys.modules.get(name) is not None:
        sys.modules[name].kept = take()

class Node:
    kept = None

cycle = Node()
cycle.kept, cycle.self = take(), cycle
del cycle
Node.kept = take()
sys.cycle = Node()
sys.cycle.kept, sys.cycle.self = take(), sys.cycle

def default(kept=take()):
    return kept

def generator(kept):
    try:
        yield
    finally:
        del kept

running = generator(take())
next(running)
atexit.register(lambda kept: None, take())
local = threading.local()
local.kept = take()
"""

DAEMON = """
ready = threading.Event()
def hold():
    kept = take()
    ready.set()
    time.sleep(1000)

def take_and_drop():
    while True:
        take()
        time.sleep(0.001)

threading.Thread(target=hold, daemon=True).start()
ready.wait()
if BUSY:
    threading.Thread(target=take_and_drop, daemon=True).start()
    time.sleep(0.01)
"""

FORK = """
kept, sys.kept, builtins.kept = take(), take(), take()
child = os.fork()
more = take()
del kept
if child:
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {os.waitstatus_to_exitcode(status)}"
"""

# A consumer in C that returns what it holds when the interpreter is gone: it looks for the deleter in the struct then.
AFTER = """
pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
at_exit = ctypes.CDLL(None).__cxa_atexit
at_exit.argtypes = [ctypes.c_void_p] * 3
names = {b"dltensor": (b"used_dltensor", 56), b"dltensor_versioned": (b"used_dltensor_versioned", 16)}
held, late = [], []

@atexit.register  # before those of the library: runs after them
def leave():
    for each in late:
        consume(each())
    for address, field in held:
        at_exit(ctypes.c_void_p.from_address(address + field).value, address, None)

def consume(capsule):
    (name,) = [name for name in names if valid(capsule, name)]
    used, field = names[name]
    held.append((pointer(capsule, name), field))
    rename(capsule, used)
"""


def leave(code: str, status: int = 0) -> None:
    """Run code in a fresh interpreter, which must leave with a status and say nothing."""
    from .conftest import ROOTS

    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"JAX_PLATFORMS": "cpu"}
    started = subprocess.Popen(
        # Processes with threads are forked here on purpose.
        [sys.executable, "-I", "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(ROOTS[0]).parent,
        encoding="utf-8",
        env=environment,
        start_new_session=True,  # so that a child that hangs can be ended with it
    )
    try:
        output, errors = started.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        pytest.fail("it did not leave within 30 s")
    assert (started.returncode, errors) == (status, "")
    assert output == "at the end\n"


def program(name: str, manner: str) -> str:
    """Return the code of a process that takes an export, and skip where a module for it is missing."""
    from .conftest import ROOTS

    export = EXPORTS[name]
    for module in export.needs.split():
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"{module} is not installed")
    if OLD and (export.before == SHELL or "from_dlpack" in export.take):
        pytest.skip("the export through NumPy needs 2.1, and so does its from_dlpack of a buffer")
    take = f"{export.before}\ndef take():\n    return {export.take}\n"
    return f"import sys; sys.path[:0] = {ROOTS!r}\n{PRELUDE}\n{take}\n{manner}\nprint('at the end')"


def exports(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.peers if name in PEERS else ()) for name in names]
    )


@exports(*EXPORTS)
def test_held_in_every_place_that_is_cleared_late(name: str) -> None:
    leave(program(name, REFERENCES))


@exports(*EXPORTS)
def test_held_by_a_daemon_thread(name: str) -> None:
    # A thread that is within C++ when the interpreter ends is aborted by CPython (gh-87135), with us or not.
    busy = name not in PEERS
    leave(program(name, f"BUSY = {busy}\n{DAEMON}"))


# JAX hangs in a forked child whatever is exported, and so does polars 1.44 with a Series of its own (2.1 does not);
# duckdb 2.0 crashes there with a connection of its own: all have threads that are not there in the child.
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@exports(*(name for name in EXPORTS if not name.startswith(("jax", "polars", "duckdb"))))
def test_held_over_a_fork(name: str) -> None:
    leave(program(name, FORK).replace("print('at the end')", "child and print('at the end')"))


CAPSULES = [name for name in EXPORTS if "capsule" in name and "Arrow" not in name and "capsules" not in name]


# An Arrow export by callbacks is left out: its release is Python code, for which there is no interpreter then.
@pytest.mark.skipif(sys.platform != "linux", reason="__cxa_atexit is the C library's of Linux")
@exports(*(name for name in CAPSULES if not name.startswith("a buffer")))
def test_returned_when_the_interpreter_is_gone(name: str) -> None:
    leave(program(name, "consume(take()); consume(take())").replace(PRELUDE, PRELUDE + AFTER))


@pytest.mark.skipif(sys.platform != "linux", reason="__cxa_atexit is the C library's of Linux")
@exports("legacy capsule", "CUDA capsule", "capsule without NumPy", "legacy capsule without NumPy")
def test_lent_at_exit_and_returned_when_the_interpreter_is_gone(name: str) -> None:
    leave(program(name, "consume(take()); late.append(take)").replace(PRELUDE, PRELUDE + AFTER))


def test_a_crash_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        leave("print('at the end'); import ctypes; ctypes.string_at(8)")
    with pytest.raises(AssertionError):
        leave("print('at the end'); import sys; sys.stderr.write('x')")
    with pytest.raises(AssertionError):
        leave(f"{PRELUDE}{AFTER}\nheld.append((ctypes.addressof(buffer := (ctypes.c_void_p * 9)(1, 1, 8)), 16))")
