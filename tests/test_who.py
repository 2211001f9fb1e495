"""The parts of `buflend compare` about buffers alone: who can take them, and what the protocols cost."""

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import cli, peers, protocols, surface, takers, taking, terminal, wording

pytestmark = pytest.mark.peers

FAKES = """
import os, signal, sys, time, weakref
import numpy as np
from buflend.bench import taking
from buflend.bench.taking import NotTakenError, Taken

def zero_copy(lent):
    import buflend.maximal as maximal
    array = maximal.as_ndarray(maximal.as_buffer(lent))
    return Taken(array.ctypes.data, array.tolist)

def copy(lent):
    array = zero_copy(lent).values.__self__.copy()
    return Taken(array.ctypes.data, array.tolist)

def signed(lent):
    array = zero_copy(lent).values.__self__.view(np.int8)
    return Taken(array.ctypes.data, array.tolist, "int8")

def wrong(lent):
    array = zero_copy(lent).values.__self__.copy()
    array[17] = 99
    return Taken(array.ctypes.data, array.tolist)

def short(lent):
    array = zero_copy(lent).values.__self__[:100]
    return Taken(array.ctypes.data, array.tolist)

def unreadable(lent):
    def fail():
        raise ValueError("gone")
    return Taken(None, fail)

def late(lent):
    owner = weakref.ref(getattr(lent, "owner", lent))
    return Taken(None, lambda: taking.content() if owner() is None else [])

def refuses(lent):
    raise NotTakenError("no thanks\\nin two lines")

def crashes(lent):
    os.kill(os.getpid(), signal.SIGSEGV)

def leaves(lent):
    os._exit(3)

def exits(lent):
    sys.exit(3)

def hangs(lent):
    time.sleep(60)
"""

EXPECTED = {
    "zero_copy": ("zero-copy", ""),
    "copy": ("copy", ""),
    "signed": ("zero-copy", "as int8"),
    "wrong": ("wrong", "value 17: got 99, 17 was lent"),
    "short": ("wrong", f"100 values came, {taking.SIZE} were lent"),
    "unreadable": ("wrong", "the result cannot be read: ValueError: gone"),
    "late": ("copy", ""),
    "refuses": ("refused", "NotTakenError: no thanks"),
    "crashes": ("crashed", "SIGSEGV"),
    "leaves": ("crashed", "exit code 0x3"),
    "exits": ("refused", "SystemExit: 3"),
    "hangs": ("hung", "no answer in 2 s"),
}


def quiet(_text: str, _fraction: float) -> None:
    """Show no progress."""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Make calls that do each thing a call can do."""
    (tmp_path / "fake_takers.py").write_text(FAKES, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return {name: f"fake_takers:{name}" for name in re.findall(r"^def (\w+)\(", FAKES, re.MULTILINE)}


def lender(name: str) -> taking.Lender:
    return next(one for one in takers.LENDERS if one.name == name)


HERE = {"available": True, "reason": "", "group": ""}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_each_outcome_is_told_apart(fakes: dict[str, str]) -> None:
    assert fakes.keys() == EXPECTED.keys()
    lending = dict.fromkeys(("maximal", "ndarray", "pyarrow.Buffer"), HERE) | {"bytes": {"available": False}}
    cells = {(one["taker"], one["lender"]): one["cell"] for one in taking.row("", fakes, lending, takers.PLACE, 2.0)}
    assert cells.keys() == {(name, lent) for name in fakes for lent in ("maximal", "ndarray", "pyarrow.Buffer")}
    for (name, lent), found in cells.items():
        assert (found["outcome"], found["detail"]) == EXPECTED[name], (name, lent)


def test_without_fork_each_cell_has_a_fresh_interpreter(fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork", raising=False)
    places = {name: fakes[name] for name in ("crashes", "copy", "leaves")}
    cells = {one["taker"]: one["cell"] for one in taking.row("", places, {"maximal": HERE}, takers.PLACE)}
    assert cells["copy"] == {"outcome": "copy", "detail": ""}
    assert cells["crashes"] == {"outcome": "crashed", "detail": "signal SIGSEGV"}
    assert cells["leaves"]["outcome"] == "crashed"
    assert cells["leaves"]["detail"].startswith("exit code 3")
    (only,) = taking.row("", {"hangs": fakes["hangs"]}, {"maximal": HERE}, takers.PLACE, 2.0)
    assert only["cell"] == {"outcome": "hung", "detail": "no sign for 2 s"}


def test_a_package_that_cannot_be_imported_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("raise ImportError('no such driver')", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    taker = taking.Taker("broken.take", "broken_package", "broken_package:take")
    monkeypatch.setattr(takers, "TAKERS", (taker,))
    monkeypatch.setattr(takers, "LENDERS", (lender("maximal"),))
    part = takers.measure(quiet)
    assert part["cells"] == {}
    reason = "cannot be imported: ImportError: no such driver"
    assert part["takers"]["broken.take"] == {
        "package": "broken_package", "available": False, "reason": reason, "version": "",
    }  # fmt: skip
    report = {"peers": {}, "parts": {"consumers": part}}
    assert wording.absent(report) == {"broken_package": f"{reason}; pip install broken_package"}


def test_what_maximal_lacks_is_one_note() -> None:
    def part(**names: list[str] | None) -> dict[str, Any]:
        return {"offers": {"maximal": {"available": True, "reason": "", "names": names}}}

    assert wording.unbuilt(part(frame=["a"], column=["b"], buffer=["c"])) == ""
    assert wording.unbuilt(part(frame=None, column=None, buffer=["c"])) == "maximal's tables and columns: not built yet"
    assert wording.unbuilt({"offers": {"maximal": {"available": False, "reason": "not built yet"}}}) == ""


class Column:
    """A column as maximal's will be: the interchange protocol's names, and those of other protocols."""

    __arrow_c_array__ = __array__ = size = get_buffers = lambda _self: None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Table(Column):
    """A table as maximal's will be."""

    __arrow_c_stream__ = column_names = lambda _self: None
    _hidden = rows = None

    def __init__(self, arrays: dict[str, Any]) -> None:
        assert all(hasattr(array, "__array_interface__") for array in arrays.values())

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("on the host")

    def __dataframe__(self) -> "Table":
        return self

    def get_column(self, _place: int) -> Column:
        return Column()

    __getitem__ = get_column


def test_a_table_s_surface_is_counted_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from buflend import maximal

    found: dict[str, Any] = {}
    monkeypatch.delattr(maximal, "as_table", raising=False)
    surface._offers({"name": "maximal"}, found.update)
    assert found["names"]["frame"] is found["names"]["column"] is None
    monkeypatch.setattr(maximal, "as_table", Table, raising=False)
    surface._offers({"name": "maximal"}, found.update)
    column = ["__array__", "__arrow_c_array__", "get_buffers", "size"]
    frame = ["__arrow_c_stream__", "__dataframe__", "column_names", "get_column", "rows"]
    assert found["names"]["column"] == column
    assert found["names"]["frame"] == sorted([*column, *frame])
    assert wording.unbuilt({"offers": {"maximal": found}}) == ""
    assert {"__arrow_c_device_array__", "__dlpack__", "ptr"} <= set(found["names"]["buffer"])


def test_a_package_inside_one_that_is_missing_is_not_installed() -> None:
    found = peers.peer("no_such_package.part")
    assert (found.available, found.reason) == (False, "not installed")


def test_a_call_that_needs_another_package_says_so() -> None:
    packages = {
        "numpy": {"available": True, "reason": "", "version": "2"},
        "pyarrow": {"available": False, "reason": "gone", "version": ""},
    }
    state = taking.state(taking.Taker("a", "numpy", "", "pyarrow"), packages)
    assert (state["available"], state["reason"]) == (False, "needs pyarrow: gone")
    assert taking.state(taking.Taker("a", "numpy", ""), packages)["version"] == "2"


@pytest.mark.parametrize("name", [one.name for one in takers.LENDERS])
def test_lenders_say_where_their_bytes_lie(name: str) -> None:
    import numpy as np

    from buflend.minimal import Buffer, as_ndarray

    one = lender(name)
    if one.package:
        pytest.importorskip(one.package)
    if not takers.availability()[name]["available"]:
        pytest.skip(takers.availability()[name]["reason"])
    lent, address = one.make()
    seen = as_ndarray(Buffer(address, taking.SIZE, owner=lent))
    assert seen.tolist() == taking.content()
    assert np.array_equal(takers.aligned(), seen)
    if name != "bytes":
        assert address % 16 == 0


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, str]:
    """Run both parts once, with short timings; return the report, what was printed, and the page."""
    folder = tmp_path_factory.mktemp("report")
    out = io.StringIO()
    arguments = ["compare", "--json", str(folder / "r.json"), "--html", str(folder / "r.html")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", "80")
        patch.setattr(protocols, "SECONDS", 0.01)
        patch.setattr(protocols, "LOANS", (100,))
        assert cli.main([*arguments, "--only", "consumers", "--only", "protocols"]) == 0
    return json.loads((folder / "r.json").read_text("utf-8")), out.getvalue(), (folder / "r.html").read_text("utf-8")


def test_every_cell_has_an_outcome_and_every_refusal_a_reason(ran: tuple[dict[str, Any], str, str]) -> None:
    part = ran[0]["parts"]["consumers"]
    assert part["lenders"].keys() == {one.name for one in takers.LENDERS}
    assert list(part["takers"]) == [one.name for one in takers.TAKERS]
    assert list(part["cells"]) == [name for name, one in part["takers"].items() if one["available"]]
    for row in part["cells"].values():
        assert list(row) == [name for name, one in part["lenders"].items() if one["available"]]
        for one in row.values():
            assert one["outcome"] in taking.OUTCOMES
            assert one["detail"] or one["outcome"] in {"zero-copy", "copy"}
    for name, count in part["count"].items():
        assert sum(count.values()) == len(part["cells"]), name
    assert all(one["reason"] for one in part["takers"].values() if not one["available"])


def test_the_maximal_buffer_is_taken_without_a_copy_by_whom_the_protocols_name(
    ran: tuple[dict[str, Any], str, str],
) -> None:
    cells = ran[0]["parts"]["consumers"]["cells"]
    speaks = {"maximal.as_buffer", "minimal.as_buffer", "x.memoryview()", "pickle out of band", "numpy.from_dlpack",
              "numpy.asarray", "pyarrow.array", "polars.Series", "torch.from_dlpack", "torch.asarray",
              "jax from_dlpack", "nanoarrow.c_array", "tvm_ffi from_dlpack"}  # fmt: skip
    for name in speaks & cells.keys():
        assert cells[name]["maximal"]["outcome"] == "zero-copy", name
    assert not any(row["maximal"]["outcome"] in ("wrong", "crashed", "hung") for row in cells.values())
    assert {row["minimal"]["outcome"] for name, row in cells.items() if "as_buffer" not in name} == {"refused"}
    for name in ("pandas", "pyarrow", "polars", "ndarray", "bytes", "pyarrow.Buffer"):
        assert cells["maximal.as_buffer"][name]["outcome"] == "zero-copy"
    assert cells["numpy.from_dlpack"]["ndarray"]["outcome"] == "zero-copy"
    assert cells["numpy.asarray"]["bytes"]["outcome"] == "copy"
    assert cells["numpy.asarray"]["minimal"]["detail"].startswith("NotTakenError")


def test_every_protocol_is_timed_beside_its_own_library(ran: tuple[dict[str, Any], str, str]) -> None:
    part = ran[0]["parts"]["protocols"]
    assert list(part["sections"]) == list(protocols.TITLES)
    assert part["notes"] == dict.fromkeys(protocols.TITLES, "")
    titles = [group["title"] for group in part["sections"]["exports"]]
    assert titles == [
        "__dlpack__()", "__dlpack__(max_version=(1, 0))", "__array_interface__", "memoryview", "__arrow_c_array__()",
    ]  # fmt: skip
    for groups in part["sections"].values():
        for group in groups:
            timed = {name: one for name, one in group["alternatives"].items() if one["outcome"] == "timed"}
            assert timed[group["baseline"]]["ratio"] == [1, 1, 1]
            assert len(timed) >= 2, group["title"]
            for one in timed.values():
                assert one["rounds"] >= 3
                for median, low, high in (one["seconds"], one["ratio"]):
                    assert 0 < low <= median <= high
    for section, name in (("exports", "maximal.Buffer"), ("imports", "maximal.as_buffer")):
        for group in part["sections"][section]:
            assert any(one.startswith(name) for one in group["alternatives"]), group["title"]
    for group in part["sections"]["generic"]:
        assert group["baseline"] == "ctypes callbacks"
        assert group["alternatives"]["NumPy's capsule, completed"]["outcome"] == "timed"


def test_both_parts_fit_80_columns(ran: tuple[dict[str, Any], str, str]) -> None:
    report, shown, _ = ran
    with contextlib.redirect_stdout(again := io.StringIO()), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        terminal.show(report)
    lines = [line for line in shown.splitlines() if not line.startswith("written: ")]
    assert lines[:-1] == again.getvalue().splitlines()[: len(lines) - 1]
    assert max(map(len, lines)) <= 80
    for name in report["parts"]["consumers"]["cells"]:
        assert re.search(rf"^ {re.escape(name.split()[0])}", shown, re.MULTILINE), name
    for groups in report["parts"]["protocols"]["sections"].values():
        for group in groups:
            for one in group["alternatives"].values():
                if one["outcome"] == "timed":
                    assert f" {wording.ratio_text(one['ratio'])} " in shown


def test_who_is_absent_is_named(ran: tuple[dict[str, Any], str, str]) -> None:
    report, shown, page = ran
    text = " ".join(shown.split())
    for name in ("torch", "jax", "duckdb", "tvm_ffi", "cuda.core"):
        found = report["parts"]["consumers"]["packages"][name]
        if found["available"]:
            assert f"{name} {found['version']}" in text
        else:
            assert f"absent: {name} ({found['reason']}; {peers.how_to_get(name)})" in text
            assert f"<b>{name}</b>" in page


def test_the_page_shows_both_parts(ran: tuple[dict[str, Any], str, str]) -> None:
    report, _, page = ran
    assert '<section id="consumers">' in page
    assert '<section id="protocols">' in page
    for section in protocols.TITLES:
        assert f'id="plot-protocols_{section}"' in page
    matrix_table = page.partition('id="matrix"')[2].partition("</table>")[0]
    for outcome in ("zero-copy", "copy", "refused"):
        cells = [one for row in report["parts"]["consumers"]["cells"].values() for one in row.values()]
        count = sum(one["outcome"] == outcome for one in cells)
        assert count
        assert matrix_table.count(f'<td class="{outcome}">{outcome}') == count
    assert "object has no attribute" in page
