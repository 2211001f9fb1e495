"""The script of the bars runs, and no ratio is off by more than a loaded machine explains.

The bars themselves are reported by `make bars`; here each may be missed by far before a test fails.
"""

import importlib
import importlib.util
import io
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.peers  # compares with nanoarrow and pyarrow, prints with rich

SCRIPT = Path(__file__).resolve().parent.parent / "asv_bench" / "bars.py"
sys.path.append(str(SCRIPT.parent))  # a script finds what lies beside it
remains = importlib.import_module("remains")
# What is measured, against what -> the ratio that would mean that something broke.
ABSURD = {
    ("import buflend.minimal", "import ctypes, enum"): 8,
    ("import buflend.minimal", "import nanoarrow"): 2,
    ('as_ndarray(buffer, "int64")', "the recipe of 2021"): 1,
    ('as_ndarray(buffer, "int64")', "numpy.frombuffer(owner)"): 20,
    ("as_buffer, from_dlpack", "numpy.from_dlpack(ndarray)"): 40,
    ("numpy.from_dlpack(buffer)", "numpy.from_dlpack(ndarray)"): 6,
    ("DLPack of CUDA memory", "ctypes callbacks"): 1.2,
    ("DLPack of bfloat16", "ctypes callbacks"): 1.2,
    ("DLPack of packed 4 bits", "ctypes callbacks"): 1.2,
    ("numpy.from_dlpack of mmap", "1 kB to 10 GB"): 10,
    ("as_ndarray of mmap", "1 kB to 10 GB"): 10,
    ("pyarrow.array of mmap", "1 kB to 10 GB"): 10,
    ("bytes per Buffer", "pyarrow.Buffer"): 4,
    ("capsules of a column", "one ctypes callback"): 20,
    ("pyarrow.array(column)", "pyarrow.array(ndarray)"): 8,
    ("as_table(pandas)", "pandas from_dataframe"): 1 / 4,
    ("as_table(pyarrow)", "pyarrow from_dataframe"): 2,
}
# Rows of what may be installed.
OTHERS = {
    ("import buflend.minimal", "import arro3.core"): 30,
    ("torch.from_dlpack(buffer)", "torch.from_dlpack(ndarray)"): 6,
    ("as_buffer, as_ndarray", "numpy.from_dlpack(tensor)"): 6,
}


@pytest.fixture(scope="module")
def bars() -> ModuleType:
    """Return the script as a module."""
    specification = importlib.util.spec_from_file_location("bars", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["bars"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def _children_find_buflend(monkeypatch: pytest.MonkeyPatch, roots: list[str]) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(roots))


@pytest.mark.usefixtures("_children_find_buflend")
def test_ratios_are_of_the_right_order(bars: ModuleType) -> None:
    rows = {(row.bar.work, row.bar.against): row for row in bars.measure(5)}
    assert rows.keys() - OTHERS.keys() == ABSURD.keys()
    for name, row in rows.items():
        ratios = sorted(row.ratios)
        assert 0 < ratios[len(ratios) // 2] < (ABSURD | OTHERS)[name], name


def test_what_many_exchanges_leave_behind() -> None:
    grows = "numpy.kept = [getattr(numpy, 'kept', None), bytes(100)]"
    lends = "numpy.kept = [*getattr(numpy, 'kept', [])[-2:], numpy.from_dlpack(as_buffer(array))]"
    kinds = {"grows": ("numpy", grows), "lends": ("numpy", lends), "fails": ("numpy", "numpy.nothing()")}
    kinds |= {"absent": ("no_such_package", ""), **remains.EXCHANGES}
    found = remains.measure(3000, kinds)
    assert list(found)[:3] == ["grows", "lends", "fails"]
    assert "absent" not in found
    assert found["grows"]["verdict"] == "missed"
    assert found["grows"]["traced"] > 3000 * 100
    assert (found["lends"]["verdict"], found["lends"]["live"]) == ("missed", 3)
    assert found["fails"]["verdict"].startswith("failed: AttributeError")
    for name in remains.EXCHANGES.keys() & found.keys():
        assert found[name]["live"] == 0, name
        assert found[name]["traced"] < 3000 * 20, name
        assert found[name]["resident"] < 3000 * 1000, name


def test_the_tables_of_what_is_left_fit_80_columns(bars: ModuleType) -> None:
    found = {
        "as_ndarray of a tensor": {"resident": 123_456_789, "traced": -2, "live": 1_000_000, "verdict": "missed"},
        "crashed": {"verdict": "crashed: signal SIGSEGV, and what else may stand in a long line about the end of it"},
    }
    written = io.StringIO()
    bars.Console(file=written, width=80).print(bars.left_behind(found, 1_000_000))
    shown = written.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "123,456.8 kB" in shown
    assert "crashed: signal" in shown


@pytest.mark.parametrize(
    ("ratio", "bar", "stretch", "verdict"),
    [
        (0.5, 1, 0.4, {"bar": "met", "stretch": "missed"}),
        (0.4, 1, 0.4, {"bar": "met", "stretch": "met"}),
        (1.1, 1, 0.4, {"bar": "missed", "stretch": "missed"}),
        (1.1, None, 1, {"stretch": "missed"}),
        (0.9, 1, None, {"bar": "met"}),
    ],
)
def test_verdicts(
    bars: ModuleType, ratio: float, bar: float | None, stretch: float | None, verdict: dict[str, str]
) -> None:
    row = bars.Row(bars.Bar("this", "that", bar, stretch), [ratio] * 3, 1, 1, "ms")
    assert row.verdict == verdict


def test_the_table_fits_a_terminal_of_80_columns(bars: ModuleType) -> None:
    every = [*bars.IMPORTS.values(), bars.RECIPE, bars.FROMBUFFER, bars.BYTES, *(work.bar for work in bars.WORKS)]
    every += [bars.COLUMN, bars.CAPSULE, *bars.FRAMES.values()]
    rows = [bars.Row(bar, [0.0123, 0.0456, 123.4] * 9, 123.4, 0.0123, "bytes") for bar in every]
    rows += [bars.Row(bars.Bar(work, bars.ENDS, 1.2, None), [1.234], 12.3, 10.2, "µs") for work in bars.FLAT]
    written = io.StringIO()
    bars.Console(file=written, width=80).print(bars.table(rows))
    shown = written.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for bar in [row.bar for row in rows]:
        assert bar.work in shown
        assert bar.against in shown
    assert "stretch 0.14" in shown
    assert "verdict" in shown
