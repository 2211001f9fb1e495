"""A floor of a bar does what its path does, in no more time: the same array, capsule or table, with its owner."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from buflend.maximal import live_exports
from buflend.shared.dlpack_import import read_capsule

from .conftest import Run

pytestmark = pytest.mark.peers  # the paths are those of the command's script, which prints with rich

ATTEMPTS = 5  # a busy machine is not busy each time
LEAST = 0.9  # a path over its floor; of two paths nothing is left to save, so that both take about as long

sys.path.append(str(Path(__file__).resolve().parent.parent / "asv_bench"))  # a script finds what lies beside it
floors: Any = importlib.import_module("floors")


@pytest.fixture(scope="module")
def bars() -> Any:
    """Return the script."""
    return importlib.import_module("bars")


@pytest.fixture(scope="module")
def paths(bars: Any) -> dict[str, Any]:
    """Return what is timed of buffers, by name."""
    return {work.bar.work: work for work in bars.WORKS}


def works(bars: Any) -> Iterator[str]:
    """Yield what bars are about, of any table of bars."""
    yield from (bar.work for bar in bars.IMPORTS.values())
    yield from (bar.work for bar in (bars.RECIPE, bars.FROMBUFFER, bars.BYTES, bars.COLUMN, bars.CAPSULE))
    yield from (work.bar.work for work in bars.WORKS)
    yield from (bar.work for bar in bars.FRAMES.values())
    yield from bars.FLAT


def test_every_bar_has_a_floor_or_a_reason(bars: Any) -> None:
    assert set(works(bars)) == floors.FLOORS.keys() | floors.WITHOUT.keys()
    assert not floors.FLOORS.keys() & floors.WITHOUT.keys()
    for floor in floors.FLOORS.values():
        assert floor.calls
        assert all(floor.calls)


def both(work: str, path: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return what path and floor of a work give."""
    floor = floors.FLOORS[work]
    ours = floors.Floor("", path, ())
    return floors.result(ours, dict(given)), floors.result(floor, floors.names(floor, given))


def address(array: Any) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def lent(owner: Any, kind: str) -> int:
    """Return how many exports of a kind are told of that hold an owner."""
    return sum(each.exports for each in live_exports() if each.owner is owner and each.kind == kind)


def test_a_view(bars: Any) -> None:
    owner = np.arange(10)
    buffer = bars.minimal.Buffer(owner.ctypes.data, owner.nbytes, owner=owner)
    given = {"as_ndarray": bars.minimal.as_ndarray, "buffer": buffer, "np": np}
    made = both(bars.RECIPE.work, 'as_ndarray(buffer, "int64")', given)
    for array in made:
        assert array.tolist() == list(range(10))
        assert array.dtype == np.int64
        assert address(array) == owner.ctypes.data
        assert array.base.nbytes == owner.nbytes, "its bounds are those of the memory"
        assert array.base.obj.owner is owner


@pytest.mark.parametrize("work", ["as_buffer, from_dlpack", "numpy.from_dlpack(buffer)", "torch.from_dlpack(buffer)"])
def test_what_a_buffer_lends(bars: Any, paths: dict[str, Any], work: str) -> None:
    names = bars.names_of_works()
    if paths[work].package not in names and paths[work].package != "numpy":
        pytest.skip("PyTorch is not installed")
    owner = names["array"]
    before = lent(owner, "dlpack")
    path, floor = both(work, paths[work].ours, names)
    assert lent(owner, "dlpack") == before + 2
    for array in (path, floor):
        whole = np.asarray(array)
        assert whole.dtype == np.uint8
        assert (address(whole), whole.nbytes) == (owner.ctypes.data, owner.nbytes)
        assert whole.flags.writeable


def test_a_view_of_a_tensor(bars: Any, paths: dict[str, Any]) -> None:
    names = bars.names_of_works()
    if "tensor" not in names:
        pytest.skip("PyTorch is not installed")
    tensor = names["tensor"]
    for array in both("as_buffer, as_ndarray", paths["as_buffer, as_ndarray"].ours, names):
        assert array.tolist() == tensor.tolist()
        assert address(array) == tensor.data_ptr()
        assert array.base.nbytes == tensor.nbytes
        assert array.base.obj.owner is tensor


@pytest.mark.parametrize("work", [work for work in floors.FLOORS if work.startswith("DLPack of ")])
def test_a_capsule_of_any_device_and_type(bars: Any, paths: dict[str, Any], work: str) -> None:
    names = bars.names_of_works()
    path, floor = both(work, paths[work].ours, names)
    kind, device = bars.TYPES[
        {"CUDA memory": "cuda", "bfloat16": "bfloat16"}.get(work.removeprefix("DLPack of "), "fp4")
    ]
    for capsule in (path, floor):
        tensor, _ = read_capsule(capsule)
        assert (tensor.ptr, tensor.shape, tensor.strides) == (names["array"].ctypes.data, (1000,), (1,))
        assert (tensor.dtype, tuple(tensor.device), tensor.readonly) == (kind, device, False)


def test_a_column_by_pyarrow(bars: Any) -> None:
    names = bars.names_of_columns()
    owner = names["array"]
    before = lent(owner, "arrow")
    path, floor = both(bars.COLUMN.work, "pa.array(column)", names)
    assert lent(owner, "arrow") == before + 2
    assert path.equals(floor)
    for array in (path, floor):
        assert array.tolist() == list(range(1000))
        assert array.buffers()[1].address == owner.ctypes.data


def test_a_column_by_capsules(bars: Any, run_python: Run) -> None:
    floor = floors.FLOORS[bars.CAPSULE.work]
    code = f"""
import json
import numpy as np
from buflend.maximal import as_column, live_exports
owner = np.arange(1000)
column = as_column(owner)
floor = {{"column": column}}
exec({floor.setup!r}, floor)
another = as_column(np.arange(5.0))
for _ in range(4):
    another.__arrow_c_array__()
class Lent:
    def __init__(self, pair):
        self.pair = pair
    def __arrow_c_array__(self, requested_schema=None):
        return self.pair
for _ in range(9):
    exec({floor.statement!r}, floor)
made = floor["capsule"], floor["other"]
waiting = sum(each.exports for each in live_exports() if each.owner is owner)
told = []
for pair in (made, column.__arrow_c_array__()):
    one = as_column(Lent(pair))
    data, _ = one.get_buffers()["data"]
    told.append([one.dtype[2], one.tolist() == list(range(1000)), data.ptr == owner.ctypes.data])
print(json.dumps([waiting, *told, "pyarrow" in sys.modules]))
"""
    assert json.loads(run_python(code, site=True)) == [4, *[["l", True, True]] * 2, False]


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_a_table(bars: Any, name: str) -> None:
    names = bars.names_of_frames(100)[name]
    table, floor = both(bars.FRAMES[name].work, "as_table(source)", names)
    check: Callable[[Any, Any, Any], None] = {"pandas": check_pandas, "pyarrow": check_stream}[name]
    check(table, floor, names["source"])


def check_pandas(table: Any, floor: Any, frame: Any) -> None:
    held = {
        "NumpyExtensionArray": lambda array: array.to_numpy(),
        "IntegerArray": lambda array: array._data,
        "BooleanArray": lambda array: array._data,
        "Categorical": lambda array: array.codes,
        "DatetimeArray": lambda array: array._ndarray,
    }
    assert [name for name, _, _ in floor] == list(table.column_names())
    for name, dtype, array in floor:
        assert dtype == frame[name].dtype
        data, _ = table[name].for_interchange().get_buffers()["data"]
        if type(array).__name__ != "BooleanArray":  # whose bytes are packed for the interchange protocol
            assert data.ptr == address(held[type(array).__name__](array)), name


def check_stream(table: Any, floor: Any, _: Any) -> None:
    from buflend.shared.arrow_c import ArrowArray

    types, columns, _ = floor
    assert [text.decode() for _, text in types] == list(table.column_names())
    assert [text.decode() for text, _ in types] == [column.dtype[2] for column in table.columns]
    for owner, column in zip(columns, table.columns, strict=True):
        assert ArrowArray.from_address(owner.address).length == len(column)


def test_an_import(run_python: Run) -> None:
    floor = floors.FLOORS["import buflend.minimal"]
    show = "print(*sys.modules)"
    path = set(run_python(f"import buflend.minimal\n{show}").split())
    assert {"ctypes", "_ctypes"} <= set(run_python(f"{floor.statement}\n{show}").split()) <= path


def test_the_page_says_what_the_floors_call() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "bars.md").read_text("utf-8")
    for work, floor in floors.FLOORS.items():
        assert f"| `{work}` | {'; '.join(floor.calls)} |" in page, "make bars ARGS='--write docs/bars.md'"


@pytest.mark.parametrize("group", ["imports", "arrays", "works", "capsules", "columns", "frames"])
def test_what_is_slower_than_the_path_is_no_floor(bars: Any, group: str) -> None:
    counts = {"imports": (5,), "frames": (9, 1000)}
    over: dict[str, float] = {}
    for _ in range(ATTEMPTS):
        for row in getattr(bars, group)(*counts.get(group, (31,))):
            over[row.bar.work] = max(median(row.over_floor), over.get(row.bar.work, 0))
        if min(over.values()) >= LEAST:
            break
    assert not {work: ratio for work, ratio in over.items() if ratio < LEAST}
