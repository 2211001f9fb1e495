"""`buflend compare`: every part says what is true, what is absent is named, and the page needs nothing else."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import (
    cli,
    compare,
    consumers,
    cost,
    holding,
    lifetime,
    peers,
    processes,
    surface,
    terminal,
    timing,
    values,
    wording,
)
from buflend.bench.wording import values_lines

pytestmark = pytest.mark.peers

CONSUMERS = ["minimal", "maximal", "pandas", "pyarrow", "polars"]
PRODUCERS = ["pandas", "pyarrow", "polars"]
SCRIPT = "<script>alert(1)</script>"


def quiet(_text: str, _fraction: float) -> None:
    """Show no progress."""


def table() -> Any:
    import pyarrow as pa

    return pa.table(
        {
            "number": pa.array([7, None, 2**60 + 1, -3], pa.int64()),
            "real": pa.array([0.5, -1.25, None, 4.0], pa.float64()),
            "text": pa.array(["a", None, "\N{SNOWMAN}", ""]),
            "kind": pa.array(["x", "y", None, "x"]).dictionary_encode(),
            "when": pa.array([0, None, 1_700_000_000_000_001, 5], pa.timestamp("us", "Europe/Rome")),
            "price": pa.array([1, 2, None, 4], pa.decimal128(9, 2)),
            SCRIPT: pa.array([1, 2, 3, 4], pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write the table in every kind of file."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    folder = tmp_path_factory.mktemp("tables")
    paths = {kind: str(folder / f"table.{kind}") for kind in ("parquet", "arrow", "csv")}
    parquet.write_table(table(), paths["parquet"])
    with pa.OSFile(paths["arrow"], "wb") as out, pa.ipc.new_file(out, table().schema) as writer:
        writer.write_table(table())
    csv.write_csv(table().select(["number", "real", "text"]), paths["csv"])
    return paths


class Ran:
    """What one run of the command in this process left behind."""

    def __init__(self, code: int, out: str, err: str, report: dict[str, Any], page: str) -> None:
        self.code, self.out, self.err, self.report, self.page = code, out, err, report, page
        self.parts: dict[str, Any] = report["parts"]


@pytest.fixture(scope="module")
def ran(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run all parts but the battery, on the person's own Parquet file, with short timings."""
    folder = tmp_path_factory.mktemp("report")
    out, err = io.StringIO(), io.StringIO()
    arguments = [
        "compare",
        "--data",
        files["parquet"],
        "--json",
        str(folder / "r.json"),
        "--html",
        str(folder / "r.html"),
    ]
    for part in ("surface", "values", "lifetime", "cost"):
        arguments += ["--only", part]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(cost, "SECONDS", 0.02)
        patch.setattr(surface, "ROUNDS", 2)
        code = cli.main(arguments)
    report = json.loads((folder / "r.json").read_text("utf-8"))
    return Ran(code, out.getvalue(), err.getvalue(), report, (folder / "r.html").read_text("utf-8"))


def command(
    *arguments: str, hide: tuple[str, ...] = (), folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; hidden packages cannot be found in it, nor in its children."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    if hide:
        assert folder is not None
        lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in hide)]
        (folder / "sitecustomize.py").write_text("\n".join(lines), "utf-8")
        environment["PYTHONPATH"] = f"{folder}{os.pathsep}{environment['PYTHONPATH']}"
    return subprocess.run(
        [sys.executable, "-m", "buflend.bench.cli", *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
        timeout=300,
    )


# The command.


def test_it_runs_and_is_quiet_where_there_is_no_terminal(ran: Ran) -> None:
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert f"took {ran.report['took_s']:.0f} s" in ran.out


def test_the_report_says_what_it_was_measured_with(ran: Ran) -> None:
    keys = {"buflend", "python", "platform", "cpus", "started", "data", "peers", "parts", "took_s"}
    assert keys <= ran.report.keys()
    assert ran.report["buflend"] == peers.our_version()
    assert list(ran.parts) == ["surface", "values", "lifetime", "cost"]
    assert all(part["part"] == name and part["took_s"] >= 0 for name, part in ran.parts.items())
    for name in ("values", "lifetime", "cost"):
        consumers = ran.parts[name]["consumers"]
        assert list(consumers)[:5] == CONSUMERS
        assert all({"available", "reason", "version"} <= one.keys() for one in consumers.values())


def test_maximal_takes_part_wherever_minimal_does(ran: Ran) -> None:
    for name in ("values", "lifetime", "cost"):
        assert ran.parts[name]["consumers"]["maximal"]["available"]
    assert ran.parts["surface"]["imports"]["buflend.maximal"]["available"]
    for groups in ran.parts["cost"]["sections"].values():
        for group in groups:
            timed = {who.partition(".")[0] for who, one in group["alternatives"].items() if one["outcome"] == "timed"}
            assert {"minimal", "maximal"} <= timed, group["title"]
    both = [ran.parts["lifetime"]["consumers"][name]["steps"] for name in ("minimal", "maximal")]
    assert both[0] == both[1]


def test_what_is_not_built_is_a_line_and_no_column(ran: Ran) -> None:
    report = json.loads(json.dumps(ran.report))
    gone = {"available": False, "reason": "not built yet", "version": ""}
    for part in report["parts"].values():
        for readers in (part.get("consumers"), part.get("offers"), part.get("uses")):
            if readers is not None:
                readers["maximal"] = gone | {"refused": {}, "steps": [], "leaks": []}
        part["pairs"] = [pair for pair in part.get("pairs", []) if pair["consumer"] != "maximal"]
    shown = printed(report, 80)
    assert "absent: buflend.maximal (not built yet)" in shown
    assert "maximal: not built yet" in shown
    headings = [line for line in shown.splitlines() if " pandas " in line and " polars" in line]
    assert headings
    assert not any("maximal" in line for line in headings)


def printed(report: dict[str, Any], width: int) -> str:
    """Return what a terminal of that many columns shows."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", str(width))
        terminal.show(report)
    return out.getvalue()


def test_80_columns_are_enough(ran: Ran) -> None:
    shown = printed(ran.report, 80)
    assert max(map(len, shown.splitlines())) <= 80
    for groups in (ran.parts["cost"]["sections"]["column"], ran.parts["cost"]["sections"]["table"]):
        for group in groups:
            for name, one in group["alternatives"].items():
                if one["outcome"] == "timed" and name != group["baseline"]:
                    assert f" {wording.short_ratio(one['ratio'])} " in shown
    assert "another run can" in " ".join(shown.split())
    # In fewer columns nothing is cut off: the terminal breaks the lines.
    assert printed(ran.report, 40) == shown


def test_the_person_s_own_file_is_named(ran: Ran) -> None:
    assert "values: table.parquet, every column against its source" in ran.out
    assert "values: table.parquet, every column against its source" in ran.page
    assert "the real table" not in ran.out


def test_a_table_that_no_part_reads_is_said(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--only", "lifetime", "--data", files["csv"]]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"note: \S+ was not read: lifetime measures no table, values and cost do", shown)


def test_a_stream_that_lacks_characters_gets_others(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(UnicodeEncodeError):
        terminal.show(ran.report)
    assert cli.main(["compare", "--only", "lifetime"]) == 0
    terminal.show(ran.report)
    terminal.say("\N{SNOWMAN}")
    monkeypatch.undo()
    stream.flush()
    shown = stream.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert re.search(r"numpy\.frombuffer\(owner\) +\| +\d+ ns \| +0\.\d+x \([\d.]+-[\d.]+\)", shown)
    assert "/ ctypes, enum" in shown
    assert shown.rstrip().endswith("?")


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize("part", ["surface", "hostile", "values", "cost"])
def test_an_interruption_is_one_line(part: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-m", "buflend.bench.cli", "compare", "--only", part],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=2.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the children too
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "buflend: interrupted\n")


@pytest.mark.parametrize("kind", ["arrow", "csv"])
def test_other_files_in_a_process_of_its_own(files: dict[str, str], tmp_path: Path, kind: str) -> None:
    done = command("compare", "--data", files[kind], "--only", "values", "--json", str(tmp_path / "r.json"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    part = json.loads((tmp_path / "r.json").read_text("utf-8"))["parts"]["values"]
    assert part["table"]["rows"] == 4
    minimal = [pair for pair in part["pairs"] if pair["consumer"] == "minimal"]
    assert [pair["producer"] for pair in minimal] == PRODUCERS
    for pair in minimal:
        # Nothing else of this process is there, so polars' categories have no strangers among their codes.
        assert {one["outcome"] for one in pair["columns"].values()} == {"right"}, pair


def test_an_absent_peer_is_named(files: dict[str, str], tmp_path: Path) -> None:
    parts = ("--only", "values", "--only", "lifetime")
    written = ("--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html"))
    done = command("compare", "--data", files["arrow"], *parts, *written, hide=("polars",), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert report["peers"]["polars"] == {"name": "polars", "available": False, "reason": "not installed", "version": ""}
    assert not report["parts"]["values"]["producers"]["polars"]["available"]
    for part in report["parts"].values():
        assert not part["consumers"]["polars"]["available"]
        assert part["consumers"]["polars"]["reason"]
        assert part["consumers"]["pandas"]["available"]
    assert re.search(r"absent: polars \(not installed; pip install 'polars<2'\)", done.stdout)
    assert "<b>polars</b>" in (tmp_path / "r.html").read_text("utf-8")


def test_without_pyarrow_each_library_reads_the_file(files: dict[str, str], tmp_path: Path) -> None:
    written = ("--json", str(tmp_path / "r.json"))
    done = command("compare", "--data", files["csv"], "--only", "values", *written, hide=("pyarrow",), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    part = json.loads((tmp_path / "r.json").read_text("utf-8"))["parts"]["values"]
    assert part["table"]["read_by"] == "polars"
    assert [name for name, made in part["producers"].items() if made["available"]] == ["pandas", "polars"]
    assert all(pair["count"]["right"] for pair in part["pairs"] if pair["consumer"] == "minimal")


@pytest.mark.parametrize(
    ("hidden", "more"),
    [("rich", ()), ("numpy", ()), ("jinja2", ("--html", "r.html")), ("plotly", ("--html", "r.html"))],
)
def test_a_missing_tool_is_said_without_a_traceback(tmp_path: Path, hidden: str, more: tuple[str, ...]) -> None:
    done = command("compare", "--only", "lifetime", *more, hide=(hidden,), folder=tmp_path)
    assert done.returncode == 2
    assert f"needs {hidden}: pip install {hidden}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_page_s_tools_are_not_needed_without_a_page(tmp_path: Path) -> None:
    done = command("compare", "--only", "lifetime", hide=("jinja2", "plotly"), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "--data", "gone.parquet"], "gone.parquet: No such file"),
        (["compare", "--only", "everything"], "invalid choice: 'everything'"),
        (["compare", "--json", "no/such/folder/r.json"], "there is no folder"),
        (["compare", "--html", "."], "this is a folder"),
        (["compare", "--html", "x", "--json", "./x"], "x: named by --json and by --html, expected two files"),
        (["compare", "--data", "x.csv", "--html", "x.csv"], "x.csv: named by --data and by --html"),
        (["compare", "--data", "a", "--data", "b"], "--data: given twice, expected once"),
        (["compare", "--json", "a", "--json", "b"], "--json: given twice, expected once"),
        (["dashboard", "--port", "x"], "--port: got x, expected a number up to 65535"),
        (["dashboard", "--machine", "a", "--machine", "b"], "--machine: given twice, expected once"),
        ([], "COMMAND"),
    ],
)
def test_what_cannot_be_done_is_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = cli.main(arguments)
    except SystemExit as error:
        code = error.code  # type: ignore[assignment]
    assert code == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"buflend {peers.our_version()}\n"


def test_progress_never_goes_back_and_ends_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def part(name: str, _data: str | None, progress: Callable[[str, float], None]) -> dict[str, Any]:
        for fraction in (-0.1, 0.0, 0.5, 1.0, 1.1):
            progress("", fraction)
        return {"part": name}

    monkeypatch.setattr(compare, "_part", part)
    report = compare.measure(None, ["cost", "surface"], lambda _text, fraction: seen.append(fraction))
    assert list(report["parts"]) == ["surface", "cost"]
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] == pytest.approx(1)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(ValueError, match="got whatever"):
        compare.measure(None, ["whatever"], quiet)


# The page.


LOADS = ("src", "srcset", "href", "poster", "data", "action", "background", "formaction", "ping", "xlink:href")


class Page(HTMLParser):
    """Collect what a page would load, its ids, and the text outside of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.figures: dict[str, str] = {}
        self.own_scripts: list[str] = []
        self.rows: dict[str, list[str]] = {}
        self._script: dict[str, str | None] | None = None
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids.add(named.get("id") or "")
        if tag == "tr":
            self._row: list[str] = []
            self.rows[named.get("id") or ""] = self._row
        if tag == "td":
            self._row.append("")
            self._in_cell = True
        if tag == "script":
            self._script = named
        self.loads += [
            value or "" for name, value in attrs if name in ("src", "srcset", "href", "poster", "data", "action")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is None:
            if self._in_cell:
                self._row[-1] += data
            return
        if self._script.get("class") == "figure":
            self.figures[self._script["data-for"] or ""] = data
        elif len(data) < 100_000:  # plotly's own is megabytes
            self.own_scripts.append(data)


def test_the_page_loads_nothing(ran: Ran) -> None:
    page = Page(ran.page)
    assert {load for load in page.loads if not load.startswith("#")} == {"data:,"}
    assert "@import" not in ran.page.partition("</style>")[0]
    assert "url(" not in ran.page.partition("</style>")[0]
    assert page.own_scripts
    for script in page.own_scripts:
        assert not re.search(r"https?:|fetch\(|import\s*\(|XMLHttpRequest|WebSocket|sendBeacon", script)
    assert "Plotly.react" in page.own_scripts[-1]


def test_the_page_shows_every_part_with_its_plots(ran: Ran) -> None:
    page = Page(ran.page)
    assert {"surface", "values", "lifetime", "cost"} <= page.ids
    wanted = {
        f"plot-{name}" for name in ("imports", "lifetime", "cost_pointer", "cost_column", "cost_table", "cost_size")
    }
    assert page.figures.keys() == wanted
    assert wanted <= page.ids
    for name, text in page.figures.items():
        figure = json.loads(text)
        assert figure["data"], name
        assert all(len(trace["x"]) for trace in figure["data"]), name


def test_names_from_a_table_are_text_on_the_page(ran: Ran) -> None:
    assert SCRIPT in {column["name"] for column in ran.parts["values"]["table"]["columns"]}
    assert SCRIPT not in ran.page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in ran.page


# Values.


def test_every_consumer_reads_every_frame(ran: Ran) -> None:
    part = ran.parts["values"]
    built = [name for name in CONSUMERS if part["consumers"][name]["available"]]
    assert {(pair["consumer"], pair["producer"]) for pair in part["pairs"]} == {
        (consumer, producer) for consumer in built for producer in PRODUCERS
    }
    for pair in part["pairs"]:
        offered = {
            name for name in table().column_names if name not in part["producers"][pair["producer"]]["not_offered"]
        }
        assert pair["columns"].keys() == offered
        assert sum(pair["count"].values()) == len(offered)
        if pair["consumer"] == "minimal":
            assert pair["count"]["right"] == len(offered), pair
            assert pair["written"] == {}


def test_a_column_that_cannot_be_offered_is_named(ran: Ran) -> None:
    producers = ran.parts["values"]["producers"]
    for name in PRODUCERS:
        assert list(producers[name]["not_offered"]) == ["price"], name
    assert re.search(r"pyarrow does not offer price: \w+", ran.out)


FAKES = f"""
import os, signal, sys
from buflend.bench.consumers import READERS, find

held = []

def liar(exchange):
    frame = find(READERS["pyarrow"])(exchange)
    place = frame.column_names.index("number") if "number" in frame.column_names else None
    if place is None:
        return frame
    import pyarrow as pa
    return frame.set_column(place, "number", pa.array([7, None, 2**60, -3], pa.int64()))

def forgetful(exchange):
    frame = find(READERS["pyarrow"])(exchange)
    return frame.drop_columns([name for name in frame.column_names if name == "real"])

def crasher(exchange):
    if "text" in list(exchange.__dataframe__().column_names()):
        os.kill(os.getpid(), signal.SIGSEGV)
    return find(READERS["pyarrow"])(exchange)

def refuser(exchange):
    if "kind" in list(exchange.__dataframe__().column_names()):
        raise NotImplementedError("no categories\\nin two lines")
    return find(READERS["pyarrow"])(exchange)

def writer(exchange):
    import ctypes
    columns = exchange.__dataframe__()
    if {SCRIPT!r} in list(columns.column_names()):
        buffer, _ = columns.get_column_by_name({SCRIPT!r}).get_buffers()["data"]
        ctypes.c_int64.from_address(buffer.ptr).value = 99
    return find(READERS["pyarrow"])(exchange)

def keeper(exchange):
    frame = exchange.__dataframe__()
    held.append([frame.get_column_by_name(name).get_buffers() for name in frame.column_names()])
    return find(READERS["minimal"])(exchange)

def quitter(exchange):
    sys.exit(3)
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Make consumers that do wrong, each in its own way."""
    (tmp_path / "fake_consumers.py").write_text(FAKES, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = re.findall(r"def (\w+)\(", FAKES)
    return {name: f"fake_consumers:{name}" for name in names}


def only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no consumer but minimal beside the fakes."""
    available = consumers.availability()["minimal"]
    monkeypatch.setattr(consumers, "availability", lambda: {"minimal": dict(available)})


def test_consumers_that_do_wrong_are_found_out(
    files: dict[str, str], fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_ours(monkeypatch)
    chosen = {name: fakes[name] for name in ("liar", "forgetful", "crasher", "refuser", "writer")}
    part = values.measure(files["arrow"], quiet, chosen)
    pairs = {pair["consumer"]: pair for pair in part["pairs"] if pair["producer"] == "pyarrow"}
    assert pairs.keys() == {"minimal", *chosen}

    number = pairs["liar"]["columns"]["number"]
    assert number["outcome"] == "differing"
    assert (number["row"], number["expected"], number["got"], number["rows"]) == (2, str(2**60 + 1), str(2**60), 1)
    assert pairs["liar"]["count"]["differing"] == 1
    assert pairs["liar"]["count"]["right"] == 5

    assert pairs["forgetful"]["columns"]["real"]["detail"] == "the column is not there"

    crashed = [name for name, one in pairs["crasher"]["columns"].items() if one["outcome"] == "crashed"]
    assert crashed == ["text"]
    assert pairs["crasher"]["columns"]["text"]["detail"] == "signal SIGSEGV"
    assert pairs["crasher"]["whole"] == "crashed: signal SIGSEGV"
    assert pairs["crasher"]["count"] == {
        "right": 5, "lucky": 0, "differing": 0, "refused": 0, "crashed": 1, "hung": 0,
    }  # fmt: skip

    assert pairs["refuser"]["columns"]["kind"] == {
        "outcome": "refused",
        "type": "",
        "detail": "NotImplementedError: no categories",
    }
    assert pairs["refuser"]["count"]["right"] == 5

    assert pairs["writer"]["written"] == {SCRIPT: "row 0: 1 became 99"}
    assert pairs["minimal"]["written"] == {}


def test_who_reads_a_broken_column_right_was_lucky(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = "ProducerError: column 'b': code of element 0: got 15, expected 0 to 2, the categories"

    def pair(consumer: str, **columns: tuple[str, str]) -> dict[str, Any]:
        told = {name: {"outcome": outcome, "type": "", "detail": why} for name, (outcome, why) in columns.items()}
        return {"producer": "maker", "consumer": consumer, "whole": "read", "columns": told, "written": {}}

    read = {
        "minimal": pair("minimal", a=("right", ""), b=("refused", fault), c=("refused", "TypeError: no")),
        "pandas": pair("pandas", a=("right", ""), b=("right", ""), c=("right", "")),
    }
    maker = {"available": True, "reason": "", "note": "", "not_offered": {}, "frame_differs": {}}
    about = {"reason": "", "table": {}, "producers": {"maker": maker}}
    here = {name: {"available": True, "reason": "", "version": ""} for name in read}
    monkeypatch.setattr(values, "_about", lambda _file: about)
    monkeypatch.setattr(values, "_read_all", lambda name, *_: [read[name]])
    monkeypatch.setattr(consumers, "availability", lambda: here)
    part = values.measure(None, quiet)
    assert part["broken"] == {"maker": {"b": fault}}
    assert part["nobody"] == {"maker": []}
    minimal, pandas = part["pairs"]
    assert {name: one["outcome"] for name, one in pandas["columns"].items()} == {
        "a": "right", "b": "lucky", "c": "right",
    }  # fmt: skip
    assert pandas["count"] == {"right": 2, "lucky": 1, "differing": 0, "refused": 0, "crashed": 0, "hung": 0}
    assert minimal["count"]["refused"] == 2
    lines = [f"{line.what} {line.where}: {line.why}" for line in values_lines(part)]
    assert lines == [
        "minimal from maker refused c: TypeError: no",
        f"maker contradicts itself in b: {fault}",
        "lucky : the values are right, though the producer's column contradicts itself",
    ]


def test_a_column_that_nobody_reads_right_points_at_the_producer() -> None:
    def pair(consumer: str, **columns: str) -> dict[str, Any]:
        return {"consumer": consumer, "columns": {name: {"outcome": outcome} for name, outcome in columns.items()}}

    pairs = [pair("one", a="right", b="refused", c="differing"), pair("two", a="refused", b="right", c="refused")]
    assert values._nobody(pairs) == ["c"]


def test_a_table_of_which_nothing_is_offered_is_no_failure(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = str(tmp_path / "lists.parquet")
    parquet.write_table(pa.table({"numbers": [[1], [2, 3]]}), path)
    part = values.measure(path, quiet)
    assert all(list(made["not_offered"]) == ["numbers"] for made in part["producers"].values())
    assert {pair["whole"] for pair in part["pairs"]} == {"no column is offered"}
    payload = {"section": "table", "file": path, "seconds": 0.01, "consumers": consumers.availability()}
    groups, note = timing.in_process("buflend.bench.cost:_job", payload, lambda _text: None)
    assert note == ""
    assert [group["alternatives"] for group in groups] == [{}, {}, {}]
    assert {group["note"] for group in groups} == {"no column is left to read"}


# Lifetime.


def test_nothing_is_held_without_need_and_nothing_dangles(ran: Ran) -> None:
    part = ran.parts["lifetime"]
    minimal = part["consumers"]["minimal"]
    assert minimal["outcome"] == "measured"
    assert minimal["refused"] == {}
    assert minimal["leaks"] == []
    assert [step["step"] for step in minimal["steps"]] == list(lifetime.STEPS)
    for step in minimal["steps"]:
        assert step["excess"] == step["dangling"] == []
        assert step["alive"] == step["least"]
    # Numbers are views; text becomes an array of its own, and masks become one byte per row.
    sizes = part["buffers"]
    assert minimal["steps"][0]["alive"] == list(sizes)
    assert minimal["steps"][1]["alive"] == ["int.data", "float.data", "category.codes"]
    assert minimal["steps"][2]["alive"] == minimal["steps"][3]["alive"] == ["float.data"]
    assert minimal["steps"][3]["alive_bytes"] == sizes["float.data"] == 8 * part["rows"]
    assert minimal["steps"][4]["alive_bytes"] == 0


def test_the_recipe_without_an_owner_dangles(ran: Ran) -> None:
    recipe = ran.parts["lifetime"]["consumers"][lifetime.RECIPE]
    assert [step["dangling"] for step in recipe["steps"]] == [
        [],
        ["int.data", "float.data"],
        ["float.data"],
        ["float.data"],
        [],
    ]
    assert "freed under a living array" in ran.out


def test_of_a_table_each_column_is_returned_by_itself_and_between_two_of_ours_each_buffer(ran: Ran) -> None:
    part = ran.parts["lifetime"]["table"]
    whole, column, offsets = part["least"]
    assert whole == part["columns"] * column
    assert offsets == 4 * (part["rows"] + 1)
    ours, both = (part["consumers"][name] for name in ("maximal", holding.DIRECT))
    assert (ours["held"], ours["leaked"]) == ([whole, column, column], 0)
    assert (both["held"], both["leaked"]) == ([whole, column, offsets], 0)
    # One release for a whole array: who keeps any of it keeps all.
    assert part["consumers"]["pyarrow"]["held"] == [whole, whole, whole]
    assert all(found["outcome"] in ("measured", "absent") for found in part["consumers"].values())
    assert "handed over by Arrow's capsules" in " ".join(ran.out.split())


def test_a_consumer_that_keeps_buffers_leaks_by_name(fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    only_ours(monkeypatch)
    part = lifetime.measure(quiet, {name: fakes[name] for name in ("keeper", "quitter")})
    keeper = part["consumers"]["keeper"]
    assert keeper["outcome"] == "measured"
    assert {"int.data", "float.data", "float.validity", "text.data", "text.offsets", "category.codes"} <= set(
        keeper["leaks"]
    )
    assert keeper["steps"][-1]["alive_bytes"] > 8 * part["rows"]
    assert part["consumers"]["minimal"]["leaks"] == []
    assert part["consumers"]["quitter"]["outcome"] == "refused"


# Surface.


def test_the_surface_is_what_the_specification_says(ran: Ran) -> None:
    part = ran.parts["surface"]
    protocol = {"ptr", "bufsize", "__dlpack__", "__dlpack_device__"}
    column = {
        "size", "offset", "dtype", "describe_categorical", "describe_null", "null_count", "metadata", "num_chunks",
        "get_chunks", "get_buffers",
    }  # fmt: skip
    for name in PRODUCERS:
        assert set(part["offers"][name]["names"]["buffer"]) == protocol
        assert set(part["offers"][name]["names"]["column"]) == column
        used = part["uses"][name]["names"]
        assert set(used["column"]) <= column
        assert {"ptr", "bufsize"} <= set(used["buffer"]) <= protocol
    required = {"ptr", "bufsize", "owner", "device", "__dlpack_device__"}
    assert required <= set(part["offers"]["minimal"]["names"]["buffer"])
    assert required | {"__dlpack__"} <= set(part["offers"]["maximal"]["names"]["buffer"])
    # The device is asked for before the pointer is used: what the other three leave out.
    assert set(part["uses"]["minimal"]["names"]["buffer"]) == {"ptr", "bufsize", "__dlpack_device__"}
    assert part["uses"]["pandas"]["missed"]["column"] == ["_col"]


def test_imports_and_sizes(ran: Ran) -> None:
    part = ran.parts["surface"]
    for name, one in part["imports"].items():
        assert one["available"] or one["reason"], name
    for name in ("numpy", "pandas", "pyarrow", "polars"):
        seconds = part["imports"][name]["seconds"]
        assert 0 < seconds[1] <= seconds[0] <= seconds[2]
        assert part["sizes"][name]["files"] > 100
    assert part["imports"]["pandas"]["seconds"][0] > part["imports"]["buflend.minimal"]["seconds"][0]
    shared = Path(consumers.__file__).parents[4] / "shared" / "buflend" / "shared"
    if shared.is_dir():
        assert part["sizes"]["buflend.shared"]["files"] == len(
            [p for p in shared.rglob("*") if p.is_file() and p.suffix != ".pyc"]
        )
    assert part["sizes"]["buflend.shared"]["lines"] > part["sizes"]["buflend.minimal"]["lines"] > 50


# Cost.


def test_every_time_has_its_ratio(ran: Ran) -> None:
    sections = ran.parts["cost"]["sections"]
    assert list(sections) == ["pointer", "column", "table", "size"]
    assert len(sections["column"]) == 4 * len(PRODUCERS)
    assert [group["rows"] for group in sections["size"]] == [1_000, 10_000, 100_000, 1_000_000]
    for groups in sections.values():
        for group in groups:
            assert group["alternatives"][group["baseline"]]["ratio"] == [1, 1, 1]
            for one in group["alternatives"].values():
                if one["outcome"] == "timed":
                    assert one["rounds"] >= 3
                    for median, low, high in (one["seconds"], one["ratio"]):
                        assert 0 < low <= median <= high
                else:
                    assert one["detail"]


def test_the_ways_from_an_address_to_an_array(ran: Ran) -> None:
    (group,) = ran.parts["cost"]["sections"]["pointer"]
    assert group["baseline"] == "minimal.as_ndarray"
    timed = [name for name, one in group["alternatives"].items() if one["outcome"] == "timed"]
    wanted = [
        "minimal.as_ndarray",
        "maximal.as_ndarray",
        "2021 recipe (no owner)",
        "numpy.frombuffer(owner)",
        "numpy.asarray(holder)",
    ]
    assert timed == wanted


def test_columns_that_someone_refuses_are_left_out_of_the_table_by_name(files: dict[str, str]) -> None:
    available = consumers.availability()
    payload = {"section": "table", "file": files["arrow"], "seconds": 0.01, "consumers": available}
    groups, note = timing.in_process("buflend.bench.cost:_job", payload, lambda _text: None)
    assert note == ""
    assert [group["title"] for group in groups] == [f"table.arrow from {name}" for name in PRODUCERS]
    for group in groups:
        producer = group["title"].rpartition(" ")[2]
        assert group["left_out"]["price"].startswith(f"not offered by {producer}: ")
        for name, reason in group["left_out"].items():
            assert name == "price" or re.match(rf"refused by ({'|'.join(CONSUMERS)}): \w+", reason)
        assert group["note"] == f"{7 - len(group['left_out'])} of 7 columns"


# Processes.


JOBS = """
import os, signal, sys, time

def works(payload, tell):
    print("not a message")
    tell({"got": payload})

def fails(payload, tell):
    raise ValueError("told")

def dies(payload, tell):
    tell({"before": 1})
    os.kill(os.getpid(), signal.SIGKILL)

def exits(payload, tell):
    sys.stderr.write("last words")
    sys.stderr.flush()
    os._exit(7)

def hangs(payload, tell):
    tell({"before": 1})
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize(
    ("job", "messages"),
    [
        ("works", [{"got": {"a": [1]}}, {"end": "done", "detail": ""}]),
        ("fails", [{"end": "failed", "detail": "ValueError: told"}]),
        ("dies", [{"before": 1}, {"end": "crashed", "detail": f"signal {signal.Signals(9).name}"}]),
        ("exits", [{"end": "crashed", "detail": "exit code 7: last words"}]),
        ("hangs", [{"before": 1}, {"end": "hung", "detail": "no sign for 5 s"}]),
    ],
)
def test_the_end_of_a_process_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, messages: list[dict[str, Any]]
) -> None:
    (tmp_path / "some_jobs.py").write_text(JOBS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(processes.run(f"some_jobs:{job}", {"a": [1]}, timeout=5)) == messages
