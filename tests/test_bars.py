"""The script of the bars runs, and no ratio is off by more than a loaded machine explains.

The bars themselves are reported by `make bars`; here each may be missed by far before a test fails.
"""

import importlib.util
import io
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.peers  # compares with nanoarrow and pyarrow, prints with rich

SCRIPT = Path(__file__).resolve().parent.parent / "asv_bench" / "bars.py"
# What is measured against -> the ratio that would mean that something broke.
ABSURD = {
    "import ctypes, enum": 8,
    "import nanoarrow": 2,
    "the recipe of 2021": 1,
    "numpy.frombuffer(owner)": 20,
    "pyarrow.Buffer": 4,
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
    rows = {row.bar.against: row for row in bars.measure(5)}
    assert rows.keys() - {"import arro3.core"} == ABSURD.keys()
    for against, absurd in ABSURD.items():
        ratios = sorted(rows[against].ratios)
        assert 0 < ratios[len(ratios) // 2] < absurd, against


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
    every = [*bars.IMPORTS.values(), bars.RECIPE, bars.FROMBUFFER, bars.BYTES]
    rows = [bars.Row(bar, [0.0123, 0.0456, 123.4] * 9, 123.4, 0.0123, "bytes") for bar in every]
    written = io.StringIO()
    bars.Console(file=written, width=80).print(bars.table(rows))
    shown = written.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for bar in every:
        assert bar.work in shown
        assert bar.against in shown
    assert "stretch 0.14" in shown
    assert "verdict" in shown
