"""Subinterpreters: what works in one, and what is refused there since its return would wait for ever or crash.

Every case runs in a process of its own, in an interpreter that shares the lock of the main one ("legacy") or has its
own ("isolated", from Python 3.12 on; ctypes can be imported there from 3.13 on).
"""

import sys
import textwrap

import pytest

from .conftest import ROOTS, Run

START = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
if sys.version_info >= (3, 13):
    made = interpreters.create(KIND)
else:
    made = interpreters.create(isolated=KIND == "isolated")
failed = interpreters.run_string(made, {code!r})
assert not failed, failed.formatted
"""

PRELUDE = f"""
import os, sys, warnings
warnings.simplefilter("ignore")  # NumPy warns, where it can be imported
sys.path[:0] = {ROOTS!r}
from array import array

def refused(call, *arguments, **options):
    from buflend.shared import BuflendError, InterpreterError
    try:
        lent = call(*arguments, **options)
    except BuflendError as error:
        assert isinstance(error, BufferError), type(error)
        assert type(error) is InterpreterError, type(error)
        assert "subinterpreter" in str(error), error
        assert "memoryview" in str(error), error
    else:  # at once, since what was lent would wait for ever when it goes
        print(lent, "was to be refused", file=sys.stderr, flush=True)
        os._exit(1)
"""

WORKS = {
    "views": """
from buflend.minimal import Buffer, as_buffer, as_memoryview
lent = bytearray(b"lent")
view = as_memoryview(as_buffer(lent))
assert bytes(view) == b"lent"
view[0] = ord("L")
assert lent == b"Lent"
""",
    "views of maximal": """
from buflend.maximal import as_buffer, as_memoryview, live_exports
lent = as_buffer(bytearray(b"lent"))
view = lent.memoryview()
assert bytes(view) == bytes(as_memoryview(lent)) == b"lent"
assert [export.kind for export in live_exports()] == ["view"] * len(live_exports())
""",
    "pickles": """
import pickle
from buflend.maximal import as_buffer, as_memoryview
assert bytes(as_memoryview(pickle.loads(pickle.dumps(as_buffer(b"lent"), 5)))) == b"lent"
""",
    "columns": """
from buflend.maximal import Column, as_buffer
column = Column("l", 2, data=as_buffer(array("q", [7, 8])))
assert column.dtype[1] == 64 and len(column) == 2
""",
}
REFUSED = {
    "DLPack": "refused(lambda: as_buffer(b'lent').__dlpack__(max_version=(1, 0)))",
    "DLPack without NumPy": "sys.modules['numpy'] = None\n"
    "refused(lambda: as_buffer(b'lent').__dlpack__(max_version=(1, 0)))",
    "Arrow schema": "refused(as_buffer(b'lent').__arrow_c_schema__)",
    "Arrow array": "refused(as_buffer(b'lent').__arrow_c_array__)",
    "Arrow array, again": "for _ in range(2):\n    refused(as_buffer(b'lent').__arrow_c_array__)",
    "Arrow device array": "refused(as_buffer(b'lent').__arrow_c_device_array__)",
    "Arrow array of a column": "refused(column.__arrow_c_array__)",
    "Arrow device array of a column": "refused(column.__arrow_c_device_array__)",
    "Arrow stream of a column": "refused(column.__arrow_c_stream__)",
    "Arrow stream of a table": "refused(Table({'n': column}).__arrow_c_stream__)",
    "DLPack of a column": "refused(lambda: column.__dlpack__(max_version=(1, 0)))",
    "DLPack of CUDA memory": "card = Buffer(4096, 8, owner=1, device=(2, 0))\n"
    "refused(lambda: card.__dlpack__(max_version=(1, 0)))",
    # Refused where it is called, not where a consumer looks whether it is there.
    "DLPack that was found": "found = getattr(as_buffer(b'lent'), '__dlpack__', None)\n"
    "assert found is not None\nrefused(lambda: found(max_version=(1, 0)))",
    "DLPack that was found without NumPy": "sys.modules['numpy'] = None\n"
    "found = getattr(as_buffer(b'lent'), '__dlpack__', None)\n"
    "assert found is not None\nrefused(lambda: found(max_version=(1, 0)))",
}
LENT = """
from buflend.maximal import Buffer, Column, Table, as_buffer
column = Column("l", 2, data=as_buffer(array("q", [7, 8])))
"""

KINDS = [
    "legacy",
    pytest.param(
        "isolated",
        marks=pytest.mark.skipif(
            sys.version_info[:2] == (3, 12), reason="ctypes of 3.12 is not imported there; a test of its own"
        ),
    ),
]


def in_another(kind: str, code: str) -> str:
    """Return code that runs code in another interpreter.

    In a function, so that nothing is left: CPython 3.12.1 crashes where an interpreter ends while views of views live.
    """
    body = textwrap.indent(code, "    ")
    return f"KIND = {kind!r}\n" + START.format(code=f"{PRELUDE}\ndef work():\n{body}\nwork()\n")


def within(run: Run, kind: str, code: str, *, site: bool = False) -> None:
    assert run(in_another(kind, code), site=site) == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WORKS)
def test_works(kind: str, name: str, run_python: Run) -> None:
    within(run_python, kind, WORKS[name])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_without_numpy(kind: str, name: str, run_python: Run) -> None:
    within(run_python, kind, LENT + REFUSED[name])


@pytest.mark.parametrize("name", [name for name in REFUSED if "DLPack" in name])
def test_is_refused_with_numpy(name: str, run_python: Run) -> None:
    # One that has its own lock does not get NumPy, from Python 3.12 on.
    within(run_python, "legacy", LENT + "import numpy\n" + REFUSED[name], site=True)


def test_arrays_of_numpy_are_views_there(run_python: Run) -> None:
    code = """
import numpy
from buflend.maximal import as_buffer, as_ndarray
array = numpy.arange(3)
assert as_ndarray(as_buffer(array), array.dtype).tolist() == [0, 1, 2]
assert numpy.asarray(as_buffer(bytearray(b"ab"))).tolist() == [97, 98]
"""
    within(run_python, "legacy", code, site=True)


def test_an_array_of_numpy_is_not_lent_there(run_python: Run) -> None:
    code = """
import numpy
from buflend.maximal import as_buffer
refused(lambda: as_buffer(numpy.arange(3)).__dlpack__(max_version=(1, 0)))
"""
    within(run_python, "legacy", code, site=True)


@pytest.mark.skipif(sys.version_info[:2] != (3, 12), reason="of the ctypes of 3.12")
def test_an_interpreter_with_its_own_lock_has_no_ctypes_in_3_12(run_python: Run) -> None:
    code = """
try:
    import buflend.minimal
except ImportError as error:
    assert "_ctypes does not support loading in subinterpreters" in str(error), error
else:
    raise AssertionError("it was imported")
"""
    within(run_python, "isolated", code)


def test_the_main_interpreter_lends_while_another_lives(run_python: Run) -> None:
    # Also where the other imported the library first.
    code = in_another("legacy", WORKS["views"])
    code += """
from buflend.maximal import as_buffer
lent = as_buffer(b"lent")
assert "dltensor" in repr(lent.__dlpack__(max_version=(1, 0)))
assert "arrow_array" in repr(lent.__arrow_c_array__())
print("lent")
"""
    assert run_python(code) == "lent\n"
