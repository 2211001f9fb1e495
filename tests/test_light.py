"""`buflend.minimal` is light: what its import brings, and what it does without NumPy or any peer.

Each test asks a fresh interpreter without installed packages, and subtracts what a bare one has loaded by itself.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]

LOADED = "print(*sys.modules)"
HEAVY = {"collections", "contextlib", "dataclasses", "enum", "functools", "inspect", "re", "typing"}
PEERS = {"arro3", "cupy", "duckdb", "jax", "nanoarrow", "numba", "pandas", "polars", "pyarrow", "torch"}

# Says which modules were asked for, found or not.
WATCH = """
class Watch:
    asked = []
    def find_spec(self, name, path=None, target=None):
        self.asked.append(name)
sys.meta_path.insert(0, Watch())
"""


def loaded_by(run_python: Run, code: str) -> set[str]:
    """Return what is loaded after the code and not without it."""
    return set(run_python(f"{code}\n{LOADED}").split()) - set(run_python(LOADED).split())


@pytest.fixture
def numpy_folder() -> str:
    """Return the folder to put on `sys.path` for `import numpy`."""
    import numpy as np

    return str(Path(np.__file__).parent.parent)


@pytest.mark.parametrize("part", ["shared", "minimal"])
def test_import_brings_the_standard_library_only(run_python: Run, part: str) -> None:
    names = {name.split(".")[0] for name in loaded_by(run_python, f"import buflend.{part}")}
    assert names - sys.stdlib_module_names == {"buflend"}


@pytest.mark.parametrize("part", ["shared", "minimal"])
def test_import_brings_nothing_heavy(run_python: Run, part: str) -> None:
    assert loaded_by(run_python, f"import buflend.{part}") & HEAVY == set()


def test_the_heavy_ones_would_be_noticed(run_python: Run) -> None:
    assert loaded_by(run_python, "import dataclasses, typing") >= HEAVY


def test_minimal_does_not_bring_maximal(run_python: Run) -> None:
    parts = {name for name in loaded_by(run_python, "import buflend.minimal") if name.startswith("buflend.m")}
    assert {name.split(".")[1] for name in parts} == {"minimal"}


def test_numpy_comes_with_the_first_array(run_python: Run, roots: list[str], numpy_folder: str) -> None:
    code = """
from buflend.minimal import as_buffer, as_memoryview, as_ndarray
buffer = as_buffer(b"lent")
before = "numpy" in sys.modules
view = as_memoryview(buffer)
between = "numpy" in sys.modules
array = as_ndarray(buffer)
print(before, between, "numpy" in sys.modules, bytes(view), array.tobytes())
"""
    assert run_python(code, path=[*roots, numpy_folder]) == "False False True b'lent' b'lent'\n"


def test_without_numpy(run_python: Run) -> None:
    code = """
sys.modules["numpy"] = None
from array import array
from buflend.minimal import Buffer, as_buffer, as_memoryview
numbers = array("q", [1, 2, 3])
writable = as_memoryview(as_buffer(numbers))
writable[0] = 7
address, items = numbers.buffer_info()
own = as_memoryview(Buffer(address, items * 8, owner=numbers, readonly=True))
print(as_memoryview(as_buffer(b"lent")).tobytes(), numbers[0], own.nbytes, own.readonly)
"""
    assert run_python(code) == "b'lent' 7 24 True\n"


def test_arrays_without_numpy_say_what_is_missing(run_python: Run) -> None:
    code = """
sys.modules["numpy"] = None
from buflend.minimal import as_buffer, as_ndarray
try:
    as_ndarray(as_buffer(b"lent"))
except ImportError as error:
    print("numpy" in str(error))
"""
    assert run_python(code) == "True\n"


def test_no_peer_is_imported_to_look(run_python: Run, roots: list[str], numpy_folder: str) -> None:
    code = f"""{WATCH}
from buflend.minimal import Buffer, as_buffer, as_cupy, as_memoryview, as_ndarray
import numpy as np
del Watch.asked[:]
as_ndarray(as_buffer(np.arange(3)), "int64")
as_memoryview(as_buffer(b"lent"))
as_buffer(Buffer(1 << 40, 8, owner=sys, device=(2, 0)))
for refused in (lambda: as_buffer(object()), lambda: as_cupy(as_buffer(b"lent"))):
    try:
        refused()
    except (TypeError, BufferError):
        continue
    raise AssertionError("accepted")
print(*Watch.asked)
"""
    asked = run_python(code, path=[*roots, numpy_folder]).split()
    assert {name.split(".")[0] for name in asked} & PEERS == set()


def test_the_watch_sees_a_search(run_python: Run) -> None:
    code = f"{WATCH}\ntry:\n    import no_such_peer\nexcept ImportError:\n    print(Watch.asked)"
    assert run_python(code) == "['no_such_peer']\n"


def test_a_star_import_needs_no_library(run_python: Run) -> None:
    code = """
import sys
for name in ("numpy", "pandas", "pyarrow"):
    sys.modules[name] = None
from buflend.minimal import *
print(ColumnArrays.__name__, SupportsBuffer.__name__)
"""
    assert run_python(code).split() == ["ColumnArrays", "SupportsBuffer"]
