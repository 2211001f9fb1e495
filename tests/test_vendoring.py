"""Two folders copied into another package work there, under that package's name, with no `buflend` installed.

The copy is made as docs/vendoring.md says. The small frame below is what a light library would offer: a producer of the
interchange protocol over the standard library's arrays.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import buflend.minimal
import buflend.shared

Run = Callable[..., str]

FRAME = '''
from array import array
from lightlib._vendor.minimal import Buffer

class Column:
    """Integers with a byte mask, 0 = missing."""
    offset, null_count, metadata = 1, 1, {}
    dtype, describe_null = (0, 64, "l", "="), (4, 0)
    def __init__(self, values, mask):
        self.values, self.mask = array("q", values), array("B", mask)
    def size(self):
        return len(self.values) - 1
    def num_chunks(self):
        return 1
    def get_chunks(self, n_chunks=None):
        return [self]
    def get_buffers(self):
        lend = lambda a: Buffer(a.buffer_info()[0], len(a) * a.itemsize, owner=a, readonly=True)
        mask = lend(self.mask), (20, 8, "b", "=")
        return {"data": (lend(self.values), self.dtype), "validity": mask, "offsets": None}

class Frame:
    version, metadata = 0, {}
    def __init__(self, **columns):
        self.columns = columns
    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self
    def num_columns(self):
        return len(self.columns)
    def num_rows(self):
        return 3
    def num_chunks(self):
        return 1
    def get_chunks(self, n_chunks=None):
        return [self]
    def column_names(self):
        return list(self.columns)
    def get_column(self, i):
        return list(self.columns.values())[i]
    def get_column_by_name(self, name):
        return self.columns[name]
    def get_columns(self):
        return list(self.columns.values())
'''


def vendor(into: Path) -> str:
    """Copy `shared` and `minimal` into a package `lightlib`; return the folder for `sys.path`."""
    package = into / "lightlib" / "_vendor"
    package.mkdir(parents=True)
    (into / "lightlib" / "__init__.py").touch()
    (package / "__init__.py").touch()
    for part in (buflend.shared, buflend.minimal):
        folder = Path(part.__path__[0])
        shutil.copytree(folder, package / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    return str(into)


def test_memory_without_numpy(run_python: Run, tmp_path: Path) -> None:
    code = """
import lightlib._vendor.minimal as minimal
from lightlib._vendor.shared import CPU
view = minimal.as_memoryview(minimal.as_buffer(b"lent"))
print(bytes(view), minimal.Buffer.__module__, type(CPU).__module__, minimal.as_buffer.__module__)
print(sorted(name for name in sys.modules if name.split(".")[0] in ("buflend", "minimal", "numpy", "shared")))
"""
    assert run_python(code, path=[vendor(tmp_path)]).splitlines() == [
        "b'lent' lightlib._vendor.minimal lightlib._vendor.shared lightlib._vendor.minimal",
        "[]",
    ]


def test_arrays_and_frames(run_python: Run, tmp_path: Path) -> None:
    import numpy as np

    code = (
        FRAME
        + """
import gc
from lightlib._vendor.minimal import as_ndarray, dataframe_to_ndarrays
numbers = array("q", [4, 5])
lent = as_ndarray(Buffer(numbers.buffer_info()[0], 16, owner=numbers), "int64")
frame = Frame(a=Column([99, 1, 2, 3], [1, 1, 0, 1]))
column = dataframe_to_ndarrays(frame, allow_copy=True)["a"]
expected = frame.columns["a"].values.buffer_info()[0] + 8
same_memory = column.values.ctypes.data == expected
del numbers, frame
gc.collect()
print(lent.tolist(), column.values[column.valid].tolist(), column.valid.tolist(), same_memory)
print([name for name in sys.modules if name.split(".")[0] == "buflend"])
"""
    )
    path = [vendor(tmp_path), str(Path(np.__file__).parent.parent)]
    assert run_python(code, path=path).splitlines() == ["[4, 5] [1, 3] [True, False, True] True", "[]"]


def test_errors_carry_the_new_name(run_python: Run, tmp_path: Path) -> None:
    code = """
from lightlib._vendor.minimal import Buffer, as_memoryview
from lightlib._vendor.shared import DeviceError
try:
    as_memoryview(Buffer(1 << 40, 8, owner=sys, device=(2, 0)))
except BufferError as error:
    print(type(error) is DeviceError, type(error).__module__)
"""
    assert run_python(code, path=[vendor(tmp_path)]) == "True lightlib._vendor.shared\n"
