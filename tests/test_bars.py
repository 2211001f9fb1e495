"""The script of the bars runs, measures whatever has a bar, and shows it; what the ratios may be is `test_ratios`'."""

import importlib
import io
import sys
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

from buflend.bench import wording

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


@pytest.fixture(scope="module")
def bars_shown() -> ModuleType:
    """Return what shows the bars as a module."""
    return importlib.import_module("bars_shown")


def test_everything_is_measured(bars: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "ROWS", 1000)
    monkeypatch.setattr(bars, "OBJECTS", 20_000)
    rows = {(row.bar.work, row.bar.against): row for row in bars.measure(2)}
    optional = {name for group in OPTIONAL for name in RATIOS[group]}
    assert rows.keys() - optional == (BOUNDED | {BYTES, LIGHT}) - optional
    assert all(ratio > 0 for row in rows.values() for ratio in row.ratios)
    assert median(rows[BYTES].ratios) < 2  # memory is the same on a busy machine
    for name, row in rows.items():
        assert (row.floor is None) == (name[0] in bars.floors.WITHOUT), name


def test_nothing_is_loaded_before_an_import_is_timed(
    bars: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import enum\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert bars.child("print([int(name in sys.modules) for name in ('os', 'enum', 'ctypes')])") == [1, 0, 0]


def test_what_many_exchanges_leave_behind() -> None:
    grows = "numpy.kept = [getattr(numpy, 'kept', None), bytes(100)]"
    lends = "numpy.kept = [*getattr(numpy, 'kept', [])[-2:], numpy.from_dlpack(as_buffer(array))]"
    kinds = {"grows": ("numpy", grows), "lends": ("numpy", lends), "fails": ("numpy", "numpy.nothing()")}
    kinds |= {"absent": ("no_such_package", ""), **remains.EXCHANGES}
    found = remains.measure(3000, kinds)
    assert list(found)[:3] == ["grows", "lends", "fails"]
    assert "absent" not in found
    assert found["grows"]["verdict"].startswith("missed: ")
    assert found["grows"]["traced"] > 1000 * 100, "the pass that is traced is shorter"
    assert (found["lends"]["verdict"], found["lends"]["live"]) == ("missed: live", 3)
    assert found["fails"]["verdict"].startswith("failed: AttributeError")
    for name in remains.EXCHANGES.keys() & found.keys():
        assert found[name]["live"] == 0, name
        assert found[name]["traced"] < 1000 * 20, name
        assert found[name]["resident"] < 3000 * 1000, name


def test_the_tables_of_what_is_left_fit_80_columns(bars_shown: ModuleType) -> None:
    found = {
        "as_ndarray of a tensor": {"resident": 123_456_789, "traced": -2, "live": 1_000_000, "verdict": "missed"},
        "crashed": {"verdict": "crashed: signal SIGSEGV, and what else may stand in a long line about the end of it"},
    }
    from rich.console import Console

    written = io.StringIO()
    Console(file=written, width=80).print(bars_shown.left_behind(found, 1_000_000))
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


@pytest.mark.parametrize(("table", "says"), [("table", "stretch 0.14"), ("distances", "beneath")])
def test_a_table_fits_a_terminal_of_80_columns(bars: ModuleType, bars_shown: ModuleType, table: str, says: str) -> None:
    every = [*bars.IMPORTS.values(), bars.RECIPE, bars.FROMBUFFER, bars.BYTES, *(work.bar for work in bars.WORKS)]
    every += [bars.COLUMN, bars.CAPSULE, *bars.FRAMES.values()]
    spread = [0.0123, 0.0456, 123.4] * 9
    rows = [bars.Row(bar, spread, 123.4, 0.0123, "bytes", tuple(spread), 0.123) for bar in every]
    rows += [bars.Row(bars.Bar(work, bars.ENDS, 1.2, None), [1.234], 12.3, 10.2, "µs") for work in bars.FLAT]
    from rich.console import Console

    written = io.StringIO()
    Console(file=written, width=80).print(getattr(bars_shown, table)(rows))
    shown = written.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for bar in [row.bar for row in rows if table == "table" or row.floor is not None]:
        assert bar.work in shown
        assert bar.against in shown
    assert says in shown


def test_what_was_measured_is_put_between_the_marks_of_a_page(
    bars: ModuleType, bars_shown: ModuleType, tmp_path: Path
) -> None:
    floor = bars.floors.Floor("", "x", ("a call",))
    rows = [
        bars.Row(bars.Bar("work", "other", 8, 4), [5.0, 6.0, 7.0], 6e-6, 1e-6, "s", (1.2, 1.5, 1.8), 4.5e-6),
        bars.Row(bars.Bar("flat", "sizes", 1.2, None), [1.3], 1, 1, "s"),
    ]
    left = {"kind": {"resident": 1000, "traced": 0, "live": 0, "verdict": "met"}}
    text = bars_shown.markdown(rows, left, 10, {"work": floor}, "the command")
    plain = text.replace(wording.TIMES, "x").replace(wording.DASH, "-")
    assert "by `the command`" in plain
    assert "| `work` | other | 6e-06 s | 1e-06 s | 6x | 5.5-6.5 | 8x met | 4x missed |" in plain
    assert "| `flat` | sizes | 1 s | 1 s | 1.3x | max ÷ min | 1.2x missed |  |" in plain
    assert "| `work` | other | 4.5e-06 s | 1.5x | 1.4-1.6 | 4.5x | 4x, beneath |" in plain
    assert "| `work` | a call |" in plain
    assert "| kind | 1.0 kB | 0.0 kB | 0 | met |" in plain
    assert plain.count("`flat`") == 1, "it has no floor"
    page = tmp_path / "page.md"
    begin, end = bars_shown.BEGIN, bars_shown.END
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    for _ in range(2):
        bars_shown.put(page, text)
        assert page.read_text() == f"before\n{begin}\n\n{text}\n\n{end}\nafter\n"
    new = tmp_path / "new.md"
    for _ in range(2):
        bars_shown.put(new, text)
        assert new.read_text() == f"{begin}\n\n{text}\n\n{end}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--write", "no/where.md"), "no/where.md: there is no folder no"),
        (("--write", "."), "."),
        (("--rounds", "1"), "--rounds 1: expected 2 or more"),
        (("--long", "0"), "--long 0: expected 1 or more"),
    ],
)
def test_what_cannot_be_measured_or_written_is_refused_before_anything_is_measured(
    arguments: tuple[str, ...],
    said: str,
    bars: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["bars.py", *arguments])
    monkeypatch.setattr(bars, "measure", lambda _: pytest.fail("it measured"))
    with pytest.raises(SystemExit) as ended:
        bars.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("page", ["", "{begin}", "{end}{begin}", "{begin}{begin}{end}", "{begin}{end}{end}"])
def test_a_page_without_both_marks_is_refused_before_anything_is_measured(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bars, bars_shown = map(importlib.import_module, ("bars", "bars_shown"))
    path = tmp_path / "page.md"
    path.write_text(page.format(begin=bars_shown.BEGIN, end=bars_shown.END))
    monkeypatch.setattr(sys, "argv", ["bars.py", "--write", str(path)])
    monkeypatch.setattr(bars, "measure", None)
    with pytest.raises(SystemExit):
        bars.main()
    assert "expected the marks" in capsys.readouterr().err
