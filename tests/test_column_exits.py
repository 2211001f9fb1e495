"""The interpreter leaves while columns, tables and their exports are held, in ways in which programs leave.

As `test_export_exits`, with all kinds of one library at once in a process: exit status as asked for, nothing on stderr.
Where it fails, take kinds out until it does not.
"""

import importlib.util
import os
from typing import NamedTuple

import numpy as np
import pytest

from .conftest import ROOTS
from .test_export_exits import DAEMON, FORK, PRELUDE, REFERENCES, leave

OLD = tuple(map(int, np.__version__.split(".")[:2])) < (2, 1)

MAKE = """
from buflend.maximal import Column, Table, as_buffer, as_column, as_table
class Arrow:
    def __init__(self, name, capsules):
        setattr(self, name, lambda *_, **__: capsules)
    def __dlpack_device__(self):
        return (1, 0)
def column(device=(1, 0)):
    return Column("l", 8, data=lend(device))
def texts():
    return Column("u", 2, data=as_buffer(b"abc"), offsets=as_buffer(bytes(12)), validity=lend())
def table():
    return Table({"n": column(), "m": column()})
"""


class Kinds(NamedTuple):
    """What is taken at once: the modules that it needs, an import, and expressions."""

    needs: str
    before: str
    take: tuple[str, ...]


WITHOUT = (
    "column()",
    "texts()",
    "table()",
    "column().__arrow_c_schema__()",
    "column().__arrow_c_array__()",
    "column().__arrow_c_device_array__()",
    "column((2, 0)).__arrow_c_device_array__()",
    "column().__arrow_c_stream__()",
    "table().__arrow_c_array__()",
    "table().__arrow_c_device_array__()",
    "table().__arrow_c_stream__()",
    "as_column(Arrow('__arrow_c_array__', column().__arrow_c_array__()))",
    "as_column(Arrow('__arrow_c_device_array__', column().__arrow_c_device_array__()))",
    "as_column(Arrow('__arrow_c_stream__', column().__arrow_c_stream__()))",
    "as_table(Arrow('__arrow_c_stream__', table().__arrow_c_stream__()))",
    "as_table(Arrow('__arrow_c_array__', table().__arrow_c_array__()))",
    "column((2, 0)).__dlpack__(max_version=(1, 0))",
    "lend().__dlpack__(max_version=(1, 0))",
    "lend().memoryview()",
)
KINDS = {
    "no NumPy": Kinds("numpy", "sys.modules['numpy'] = None", WITHOUT),
    "NumPy": Kinds(
        "numpy",
        "import numpy as np",
        (
            *WITHOUT,
            "texts().__arrow_c_array__()",
            "table().__dataframe__().get_column_by_name('n').get_buffers()",
            "np.asarray(column())",
            "np.asarray(table())",
            "column().__dlpack__()",
            "column().__dlpack__(max_version=(1, 0), copy=True)",
            *(() if OLD else ("np.from_dlpack(column())", "np.from_dlpack(table())")),
            "as_column(np.arange(8))",
            "as_table({'n': np.arange(8)})",
        ),
    ),
    "pyarrow": Kinds(
        "pyarrow",
        "import pyarrow as pa",
        (
            "pa.array(column())",
            "pa.table(table())",
            "pa.record_batch(table())",
            "pa.RecordBatchReader.from_stream(table())",
            "pa.RecordBatchReader.from_stream(table()).read_next_batch()",
            "table().__arrow_c_stream__()",
            "table().__arrow_c_device_array__()",
            "as_table(pa.table({'n': [1, 2]}))",
            "as_column(pa.array(['a', None]))",
        ),
    ),
    "polars": Kinds("polars", "import polars as pl", ("pl.DataFrame(table())", "pl.Series(column())")),
    "nanoarrow": Kinds(
        "nanoarrow", "import nanoarrow as na", ("na.Array(table())", "na.c_array(column())", "na.ArrayStream(table())")
    ),
}
LEAVING = {
    "daemon threads hold it": f"BUSY = False\n{DAEMON}",
    "other threads still make and drop it": """
def late():
    ready.set()
    time.sleep(0.05)  # the main thread is over by then
    for _ in range(3):
        local.kept = take()
ready, local = threading.Event(), threading.local()
threads = [threading.Thread(target=late) for _ in range(2)]
[thread.start() for thread in threads]
ready.wait()
kept = take()
""",
    "it is made by functions at exit, of before the library and of after it": """
atexit.register(lambda: setattr(sys, "kept", take()))
atexit.register(lambda kept=take(): kept.clear())
kept = take()
""",
    "a thread ends by SystemExit": """
def leave():
    kept = take()
    sys.exit(3)
thread = threading.Thread(target=leave)
thread.start()
thread.join()
""",
}
# Written before the library is imported: functions at exit run in the opposite order.
BEFORE = 'import atexit, sys; atexit.register(lambda: setattr(sys, "last", take()))\n'
STATUS = {
    "sys.exit": "sys.kept = take(); print('at the end'); sys.exit(3)",
    "os._exit": "sys.kept = take(); print('at the end', flush=True); os._exit(3)",
    "SystemExit of a producer": """
class Leaving:
    def __dlpack__(self, **_):
        sys.exit(3)
    def __dlpack_device__(self):
        return (1, 0)
    def __arrow_c_array__(self, requested_schema=None):
        self.kept = take()
        sys.exit(3)
kept = take()
print("at the end")
try:
    as_column(Leaving())
finally:
    as_buffer(Leaving())
""",
    "SystemExit of a signal's handler": """
import signal
def leave(*_):
    sys.exit(3)
signal.signal(signal.SIGTERM, leave)
kept = take()
print("at the end")
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(10)
""",
}


def program(name: str, manner: str) -> str:
    kinds = KINDS[name]
    if importlib.util.find_spec(kinds.needs) is None:
        pytest.skip(f"{kinds.needs} is not installed")
    take = f"def take():\n    return [{', '.join(kinds.take)}]\n"
    return f"{BEFORE}sys.path[:0] = {ROOTS!r}\n{PRELUDE}\n{kinds.before}\n{MAKE}\n{take}\n{manner}\n"


def named(*names: str) -> pytest.MarkDecorator:
    marked = [pytest.param(name, marks=pytest.mark.peers if KINDS[name].needs != "numpy" else ()) for name in names]
    return pytest.mark.parametrize("name", marked)


@named(*KINDS)
def test_leaves_while_it_is_held_in_every_place_that_is_cleared_late(name: str) -> None:
    leave(program(name, f"{REFERENCES}\nprint('at the end')"))


@named("no NumPy", "NumPy", "pyarrow")
@pytest.mark.parametrize("manner", LEAVING)
def test_leaves(name: str, manner: str) -> None:
    leave(program(name, f"{LEAVING[manner]}\nprint('at the end')"))


@named("no NumPy", "NumPy", "pyarrow")
@pytest.mark.parametrize("manner", STATUS)
def test_leaves_with_the_status_asked_for(name: str, manner: str) -> None:
    leave(program(name, STATUS[manner]), 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@named("no NumPy", "NumPy", "pyarrow")
def test_leaves_after_a_fork(name: str) -> None:
    leave(program(name, f"{FORK}\nchild and print('at the end')"))


def test_a_crash_would_be_seen() -> None:
    code = program("NumPy", "import faulthandler\nprint('at the end')\natexit.register(ctypes.string_at, 8)")
    with pytest.raises(AssertionError):
        leave(code)
