"""What the dashboard shows: bars that are met or missed, graphs, the landing page, read by a parser of HTML."""

import importlib
import importlib.util
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from buflend.bench.dashboard import bars, figures, results, rows
from buflend.bench.wording import TIMES

from .asv_files import BENCHMARKS, NAN, REASON, SIZE, benchmark, lay, row, run, two_machines

pytestmark = pytest.mark.peers  # the page is made with jinja2 and plotly


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return two_machines(tmp_path)


def table(folder: Path, words: dict[str, str] | None = None) -> rows.Table:
    return rows.table(results.machines(folder), results.benchmarks(folder), words or {})


# Bars.


def bar_rows(tmp_path: Path, values: list[float], topic: str = "View") -> tuple[rows.Table, dict[str, Any]]:
    name = f"bench_b.{topic}.time_x1000"
    entry = benchmark(name, {"impl": ["'minimal'", "'numpy'", "'recipe2021'"]})
    BENCHMARKS.update(entry)
    try:
        lay(tmp_path, "here", run({name: row(name, [*values])}))
        return table(tmp_path), entry
    finally:
        del BENCHMARKS[name]


def reached(made: rows.Table, benchmarks: dict[str, Any], against: str) -> bars.Reached:
    (one,) = [one for one in bars.reached(made, benchmarks) if one.bar.topic == "View" and against in one.bar.against]
    return one


@pytest.mark.parametrize(
    ("values", "against", "ratio", "verdicts"),
    [
        ([6.0, 1.0, 24.0], "frombuffer", 6, {"bar": "met", "stretch": "missed"}),
        ([3.0, 1.0, 24.0], "frombuffer", 3, {"bar": "met", "stretch": "met"}),
        ([6.5, 1.0, 24.0], "frombuffer", 6.5, {"bar": "missed", "stretch": "missed"}),
        ([6.0, 1.0, 24.0], "recipe", 0.25, {"bar": "met", "stretch": "missed"}),
        ([3.0, 1.0, 24.0], "recipe", 0.125, {"bar": "met", "stretch": "met"}),
    ],
)
def test_a_bar_is_met_or_missed(
    tmp_path: Path, values: list[float], against: str, ratio: float, verdicts: dict[str, str]
) -> None:
    one = reached(*bar_rows(tmp_path, values), against)
    assert one.ratio == pytest.approx(ratio)
    assert one.verdicts == verdicts
    assert one.machine == "here"


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(1.2, "1.2"), (1.2004, "1.2004"), (1.3, "1.3"), (1.30001, "1.30001"), (0.5, "0.5"), (17.54, "17.5")],
)
def test_a_ratio_is_shown_on_the_side_of_its_limits_that_it_is_on(ratio: float, told: str) -> None:
    from buflend.bench.dashboard import summary

    one = bars.Reached(bars.Bar("work", "other", 1.3, 1.2), "here", ratio)
    assert summary.told_ratio(one) == f"{told}{TIMES}"
    assert summary.told_ratio(one._replace(ratio=None)) == ""


def test_a_verdict_of_three_samples_has_no_colour(tmp_path: Path) -> None:
    for name, quick in (("hasty", True), ("calm", False)):
        lay(tmp_path, name, run({SIZE: row(SIZE, [1.0, 1.1, 1.3, 2.0, 2.0, 2.0])}, buflend={"quick": quick}))
    page = Page(rendered(tmp_path))
    assert page.classes["bar missed"] == "left wrong"
    assert page.classes["bar missed (quick)"] == "left absent"


def test_a_side_that_is_missing_is_said(tmp_path: Path) -> None:
    made, entry = bar_rows(tmp_path, [3.0, NAN, 24.0])
    assert (one := reached(made, entry, "frombuffer")).ratio is None
    assert one.reason == "not measured: n/a"
    assert one.verdicts == {}
    assert reached(rows.Table([], [], {}), {}, "frombuffer").reason == "not in this suite: make bars"


def test_flat_is_the_slowest_size_over_the_fastest(tmp_path: Path) -> None:
    lay(tmp_path, "here", run({SIZE: row(SIZE, [1.0, 1.1, 1.3, 2.0, 2.0, 2.0])}))
    made = [one for one in bars.reached(table(tmp_path), BENCHMARKS) if one.bar.against == bars.FLAT]
    assert [(one.bar.ours, one.ratio, one.verdicts) for one in made] == [
        ("minimal", pytest.approx(1.3), {"bar": "missed"}),
        ("maximal", 1, {"bar": "met"}),
    ]


def test_of_several_parameters_the_worst_counts(tmp_path: Path) -> None:
    name = "bench_out.OutDLPack.time_x1000"
    entry = benchmark(name, {"impl": ["'maximal'", "'callbacks'"], "struct": ["'legacy'", "'versioned'"]})
    BENCHMARKS.update(entry)
    try:
        lay(tmp_path, "here", run({name: row(name, [1.0, 3.0, 10.0, 5.0])}))
        (one,) = [one for one in bars.reached(table(tmp_path), entry) if one.bar.topic == "OutDLPack"]
    finally:
        del BENCHMARKS[name]
    assert one.ratio == pytest.approx(0.6)
    assert one.verdicts == {"bar": "missed", "stretch": "missed"}


def test_the_suite_has_both_sides_of_each_bar_that_is_tied_to_it() -> None:
    folder = Path(__file__).resolve().parent.parent / "asv_bench" / "benchmarks"
    place = importlib.util.spec_from_file_location(
        "suite_of_bars", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert place is not None
    sys.modules["suite_of_bars"] = importlib.util.module_from_spec(place)
    host = importlib.import_module("suite_of_bars.implementations")
    ways = host.WAYS | importlib.import_module("suite_of_bars.implementations_gpu").WAYS_GPU
    tied = [one for one in bars.BARS if one.topic]
    others = {one.work: one.elsewhere for one in bars.BARS if not one.topic}
    assert others == {"as_cupy(as_buffer(tensor)), CUDA": bars.ON_A_GPU, "1e6 exchanges": bars.IN_TURNS}
    for one in tied:
        for name in filter(None, (one.ours, one.other)):
            assert isinstance(ways[one.topic][name], str), (one.topic, name)


# Graphs and the page.


def test_sizes_make_lines_and_others_bars_from_the_base(folder: Path) -> None:
    made = {graph.title: graph.figure for graph in figures.graphs(table(folder).rows)}
    assert list(made) == ["View", "Size", "Bytes", "GpuTake"]
    (line,) = made["Size"].data  # maximal has no value
    assert (line.name, list(line.x)) == ("minimal", [1e3, 2e6, 3e9])
    assert list(line.y) == pytest.approx([1e-6, 1e-6, 2e-6])
    base, other = made["View"].data
    assert (base.name, list(base.x)) == ("minimal", [1.0])
    assert (other.name, other.base[0], other.x[0]) == ("maximal", 1, pytest.approx(0.5))
    cupy = next(trace for trace in made["GpuTake"].data if trace.name == "cupy")
    assert cupy.x[0] == pytest.approx(-0.75)  # a quarter of maximal's


class Page(HTMLParser):
    """What a page holds: texts of the cells of each table, links, and everything that it would load."""

    VOID = ("br", "hr", "img", "link", "meta")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.classes: dict[str, str] = {}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.kind = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag == "a":
            self.links.append(given["href"] or "")
        elif given.get("src") or (tag == "link" and given.get("href") != "data:,"):
            self.loads.append(str(attrs))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
            self.kind = given.get("class") or ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in {"td", "th"}:
            self.classes[self.tables[-1][-1][-1]] = self.kind

    def handle_data(self, data: str) -> None:
        if "script" in self.open or "style" in self.open:
            return
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] = " ".join(f"{self.tables[-1][-1][-1]} {data}".split())


def rendered(folder: Path, *, asv: bool = True) -> str:
    from buflend.bench.dashboard import page

    words = {"bench_buffers": "Buffers.", "bench_buffers.View": "A view."}
    made = table(folder, words)
    notes = page.Notes(["<b>noted</b>"], asv=asv)
    return page.render(made, results.machines(folder), bars.reached(made, BENCHMARKS), words, notes)


def test_the_page_shows_every_row_and_needs_nothing_else(folder: Path) -> None:
    page = Page(rendered(folder))
    assert page.loads == []
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    buffers, weight, gpu, limits, machines = page.tables
    assert buffers[0] == ["work", "machine", "minimal", "maximal", "numpy"]
    assert buffers[1] == [
        "View A view.", "here quick", f"200 ns 1{TIMES} ±75%", f"300 ns 1.5{TIMES}", "n/a 1",
    ]  # fmt: skip
    assert [line[0] for line in buffers[2:]] == ["Size nbytes=1,000", "nbytes=2,000,000", "nbytes=3,000,000,000"]
    assert buffers[2][3] == "failed ValueError: no"
    assert weight[1][2:] == [f"80 B 1{TIMES}", f"160 B 2{TIMES}", "failed"]
    assert gpu[0] == ["work", "device", "minimal", "maximal", "cupy"]
    assert gpu[1] == [
        "GpuTake", "far H1", "n/a", f"4 µs 1{TIMES}", f"1 µs 0.25{TIMES}",
    ]  # fmt: skip
    assert page.classes[buffers[1][2]] == "right"
    assert page.classes[buffers[1][3]] == ""
    assert page.classes[buffers[2][3]] == "wrong"
    assert len(limits) == 1 + len(bars.BARS)
    assert [line[:2] for line in machines[1:]] == [["far", "H1"], ["here", "none"]]
    text = "".join(page.words)
    assert REASON in text
    assert "<b>noted</b>" in text
    assert "Without a value on here: 1" in text
    assert "_x1000 is of a thousand calls" in " ".join(text.split())
    assert "Left out of far: 1 result of benchmarks that are no longer" in text


def test_links_lead_to_one_series_of_asv_and_stand_only_where_its_page_is(folder: Path) -> None:
    links = [link for link in Page(rendered(folder)).links if link.startswith("asv/")]
    assert f"asv/index.html#{SIZE}?x-axis=impl&p-nbytes=1000&machine=here&python=3.11&gpu=none" in links
    assert "asv/index.html" in links
    assert not [link for link in Page(rendered(folder, asv=False)).links if "asv" in link or "licences" in link]


def test_the_rows_as_markdown(folder: Path) -> None:
    from buflend.bench.dashboard import summary

    made = table(folder)
    text = summary.render(made, bars.reached(made, BENCHMARKS), {"bench_buffers": "Buffers."}, ["a note"])
    assert f"| View | here | **200 ns 1{TIMES} ±75%** | 300 ns 1.5{TIMES} | n/a [1] |" in text
    assert f"1. {REASON}" in text
    assert "### Buffers" in text
    assert f"| GpuTake | far (H1) | n/a | 4 µs 1{TIMES} | **1 µs 0.25{TIMES}** |" in text
    assert "- a note" in text
    for line in text.splitlines():
        if line.startswith("| View"):
            header = next(one for one in text.splitlines() if one.startswith("| work"))
            assert line.count("|") == header.count("|")
