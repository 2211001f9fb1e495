"""The script of the bars runs, measures whatever has a bar, and shows it; what the ratios may be is `test_ratios`'."""

import importlib
import io
import sys
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

from .test_ratios import OPTIONAL, RATIOS

pytestmark = pytest.mark.peers  # compares with nanoarrow and pyarrow, prints with rich

SCRIPT = Path(__file__).resolve().parent.parent / "asv_bench" / "bars.py"
sys.path.append(str(SCRIPT.parent))  # a script finds what lies beside it
remains = importlib.import_module("remains")
BOUNDED = {name for group in RATIOS.values() for name in group}
BYTES, LIGHT = ("bytes per Buffer", "pyarrow.Buffer"), ("import buflend.minimal", "import arro3.core")


@pytest.fixture(scope="module")
def bars() -> ModuleType:
    """Return the script as a module."""
    return importlib.import_module("bars")


def test_everything_is_measured(bars: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "ROWS", 1000)
    monkeypatch.setattr(bars, "OBJECTS", 20_000)
    rows = {(row.bar.work, row.bar.against): row for row in bars.measure(2)}
    optional = {name for group in OPTIONAL for name in RATIOS[group]}
    assert rows.keys() - optional == (BOUNDED | {BYTES, LIGHT}) - optional
    assert all(ratio > 0 for row in rows.values() for ratio in row.ratios)
    assert median(rows[BYTES].ratios) < 2  # memory is the same on a busy machine


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
    from rich.console import Console

    written = io.StringIO()
    Console(file=written, width=80).print(bars.left_behind(found, 1_000_000))
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
    from rich.console import Console

    written = io.StringIO()
    Console(file=written, width=80).print(bars.table(rows))
    shown = written.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for bar in [row.bar for row in rows]:
        assert bar.work in shown
        assert bar.against in shown
    assert "stretch 0.14" in shown
    assert "verdict" in shown
