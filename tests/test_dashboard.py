"""What the dashboard reads from result files: values per call, ratios, reasons. Expected values are counted by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from buflend.bench.dashboard import DashboardError, results, rows

from .asv_files import BYTES, DAY, GPU, NAN, NEW, OLD, REASON, SIZE, VIEW, lay, row, run, two_machines

pytestmark = pytest.mark.peers  # the page is made with jinja2 and plotly


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return two_machines(tmp_path)


def table(folder: Path, words: dict[str, str] | None = None) -> rows.Table:
    return rows.table(results.machines(folder), results.benchmarks(folder), words or {})


def found(folder: Path, benchmark: str, machine: str = "here", **parameters: str) -> rows.Row:
    (one,) = [
        row
        for row in table(folder).rows
        if row.benchmark == benchmark and row.machine == machine and parameters.items() <= row.parameters.items()
    ]
    return one


def test_a_value_is_of_one_call_and_its_ratio_is_over_minimal(folder: Path) -> None:
    view = found(folder, VIEW)
    minimal, maximal, numpy = view.cells.values()
    assert list(view.cells) == ["minimal", "maximal", "numpy"]
    assert (minimal.value, maximal.value) == (pytest.approx(200e-9), pytest.approx(300e-9))  # 1000 calls took 0.2 ms
    assert (minimal.low, minimal.high, minimal.samples) == (pytest.approx(100e-9), pytest.approx(400e-9), 8)
    assert (maximal.low, maximal.high, maximal.samples) == (None, None, 1)
    assert (minimal.ratio, maximal.ratio) == (1, pytest.approx(1.5))
    assert (minimal.best, maximal.best) == (True, False)
    assert numpy == rows.Cell("n/a", reason=REASON)
    assert view.base == "minimal"
    assert (view.topic, view.work, view.unit) == ("View", "View", "seconds")
    assert view.when == DAY
    assert view.commit == NEW


def test_the_newest_result_counts_and_bytes_are_not_divided(folder: Path) -> None:
    weight = found(folder, BYTES)
    assert [cell.value for cell in weight.cells.values()] == [80, 160, None]
    assert [cell.outcome for cell in weight.cells.values()] == ["measured", "measured", "failed"]
    assert weight.commit == OLD
    assert found(folder, VIEW).cells["minimal"].value != 9e-3


def test_a_row_for_each_parameter_and_what_failed_is_told_from_what_was_skipped(folder: Path) -> None:
    small, middle, large = (found(folder, SIZE, nbytes=size) for size in ("1000", "2000000", "3000000000"))
    values = [one.cells["minimal"].value for one in (small, middle, large)]
    assert values == pytest.approx([1e-6, 1e-6, 2e-6])
    outcomes = [(one.cells["maximal"].outcome, one.cells["maximal"].reason) for one in (small, middle, large)]
    assert outcomes == [("failed", "ValueError: no"), ("failed", ""), ("n/a", "")]
    assert [(one.work, name) for one, name, _ in rows.failures(table(folder).rows)] == [
        ("Size", "maximal"), ("Size", "maximal"), ("Bytes", "numpy"),
    ]  # fmt: skip


def test_where_minimal_cannot_the_first_that_can_is_the_base(folder: Path) -> None:
    take = found(folder, GPU, "far")
    assert take.base == "maximal"
    assert [(name, cell.ratio) for name, cell in take.cells.items()] == [
        ("minimal", None), ("maximal", 1), ("cupy", pytest.approx(0.25)),
    ]  # fmt: skip
    assert take.cells["cupy"].best
    assert take.on_gpu
    assert take.gpu == "H1"


def test_a_work_without_a_value_is_no_row_but_a_line_and_another_version_is_none(folder: Path) -> None:
    made = table(folder)
    assert rows.left_out(made.skipped) == {"here": [("GpuTake", "no reason was noted")]}
    assert made.outdated == {"far": [VIEW]}
    assert [(one.on_gpu, one.machine) for one in made.rows if one.on_gpu] == [(True, "far")]


def test_a_benchmark_that_is_no_more_is_no_row(tmp_path: Path) -> None:
    lay(tmp_path, "here", run({VIEW: row(VIEW, [1.0, 2.0, 3.0]), "bench_gone.time_x": row(VIEW, [1.0, 2.0, 3.0])}))
    made = table(tmp_path)
    assert [one.benchmark for one in made.rows] == [VIEW]
    assert made.outdated == {"here": ["bench_gone.time_x"]}


def test_one_sample_has_no_quartiles(tmp_path: Path) -> None:
    values = [1.0, 2.0, 3.0]
    columns = row(VIEW, [*values], stats_q_25=values, stats_q_75=values, stats_repeat=[1, 2, 3])
    lay(tmp_path, "here", run({VIEW: columns}))
    cells = found(tmp_path, VIEW).cells.values()
    assert [(cell.samples, cell.low, cell.high) for cell in cells] == [
        (1, None, None), (2, 2e-3, 2e-3), (3, 3e-3, 3e-3),
    ]  # fmt: skip


def test_equal_values_have_no_best(tmp_path: Path) -> None:
    lay(tmp_path, "here", run({BYTES: row(BYTES, [8, 8, NAN])}))
    assert [cell.best for cell in found(tmp_path, BYTES).cells.values()] == [False, False, False]


def test_a_parameter_that_the_result_did_not_have_is_said(tmp_path: Path) -> None:
    columns = row(VIEW, [2e-4, 3e-4], DAY)
    columns[1] = [["'minimal'", "'maximal'"]]
    lay(tmp_path, "here", run({VIEW: columns}))
    assert found(tmp_path, VIEW).cells["numpy"].outcome == "absent"


@pytest.mark.parametrize(
    ("name", "calls", "titles"),
    [
        ("bench_a.View.time_x1000", 1000, ("View", "View")),
        ("bench_a.View.time_view_xy", 1, ("View", "View")),
        ("bench_a.track_x10_bytes_x2", 2, ("", "x10 bytes")),
        ("bench_a.time_take_two_x5", 5, ("", "take two")),
    ],
)
def test_a_name_says_how_often_and_what(name: str, calls: int, titles: tuple[str, str]) -> None:
    assert rows.calls(name) == calls
    assert rows.titles([name])[name] == titles


def test_a_class_with_several_benchmarks_names_them() -> None:
    names = ["bench_a.View.time_view_x10", "bench_a.View.track_bytes", "bench_b.View.time_view_x10"]
    assert [title for _, title in rows.titles(names).values()] == ["View, view", "View, bytes", "View"]


def test_columns_stand_in_an_order_that_every_row_has() -> None:
    def one(*names: str) -> Any:
        return rows.Row(
            "", "", "", "", {}, {}, "", "", "", 0, "", {}, "", {name: rows.Cell("n/a") for name in names}, ""
        )

    made = [one("minimal", "torch"), one("minimal", "maximal", "numpy", "torch"), one("numpy", "cupy")]
    names = rows.columns(made)
    assert names[:3] == ["minimal", "maximal", "numpy"]
    assert sorted(names[3:]) == ["cupy", "torch"]
    assert sorted(rows.columns([one("a", "b"), one("b", "a")])) == ["a", "b"]  # no order has both


def test_what_a_suite_says_of_itself_is_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "bench_a.py").write_text(
        '"""All of it.\n\nMore."""\n1 / 0\nclass View:\n    """A view.\n\n    More."""\n', "utf-8"
    )
    assert rows.suite_words(tmp_path) == {"bench_a": "All of it.", "bench_a.View": "A view."}


# Result files.


def test_an_environment_gets_a_name_that_other_machines_share(tmp_path: Path) -> None:
    path = "/somewhere/bin/python"
    one = run({}, env_name="existing-py_somewhere_bin_python", python=path, params={"machine": "here", "python": path})
    lay(tmp_path, "here", one)
    ((read,),) = [machine.runs for machine in results.machines(tmp_path)]
    made = results.labelled(read, "H1", python="3.12", quick=True)
    assert made.data["env_name"] == "existing-py3.12"
    assert made.data["params"] == {"machine": "here", "python": "3.12", "gpu": "H1"}
    assert made.data["python"] == "3.12"
    assert made.notes == {"quick": True}
    assert made.file == f"{NEW[:8]}-existing-py3.12.json"
    venv = results.labelled(read._replace(data={**read.data, "env_name": "virtualenv-py3.10"}), "none", python="3.12")
    assert (venv.data["env_name"], venv.data["python"]) == ("virtualenv-py3.10", path)
    assert venv.gpu == "none"


def test_of_two_files_of_a_commit_the_newest_of_each_benchmark_is_kept_with_its_reasons(tmp_path: Path) -> None:
    early = run({VIEW: row(VIEW, [1.0, NAN, NAN], 5), BYTES: row(BYTES, [7, NAN, 9], 5),
                SIZE: row(SIZE, [NAN] * 6, 5)},
                buflend={"reasons": {VIEW: {"'maximal'": "early", "'numpy'": "early"}, BYTES: {"'maximal'": "kept"},
                                     SIZE: {"'minimal', 1000": "early"}}})  # fmt: skip
    late = run({VIEW: row(VIEW, [2.0, NAN, NAN], 6), SIZE: row(SIZE, [NAN] * 6, 6)},
               buflend={"reasons": {VIEW: {"'maximal'": "late"}}})  # fmt: skip
    lay(tmp_path / "one", "here", early)
    lay(tmp_path / "two", "here", late)
    for order in (("one", "two"), ("two", "one")):
        runs = [run for name in order for machine in results.machines(tmp_path / name) for run in machine.runs]
        (made,) = results.merged(runs)
        assert [value.number for value in made.values(BYTES).values()][::2] == [7, 9]
        view = made.values(VIEW)
        assert view["'minimal'",].number == 2.0
        assert [view[name,].reason for name in ("'maximal'", "'numpy'")] == ["late", ""]
        assert {value.reason for value in made.values(SIZE).values()} == {""}
        assert made.values(BYTES)["'maximal'",].reason == "kept"


def test_what_is_written_is_read_again_and_other_files_are_none_of_ours(folder: Path, tmp_path: Path) -> None:
    (folder / "here" / "gpu_check.json").write_text("[]", "utf-8")
    before = list(results.machines(folder))
    for machine in before:
        results.write(tmp_path / "copy", machine)
    results.write_benchmarks(tmp_path / "copy", results.benchmarks(folder))
    assert [(one.name, [run.file for run in one.runs]) for one in results.machines(tmp_path / "copy")] == [
        (one.name, [run.file for run in one.runs]) for one in before
    ]
    assert repr(table(tmp_path / "copy")) == repr(table(folder))
    assert json.loads((tmp_path / "copy/here/machine.json").read_text("utf-8"))["gpu"] == "none"


def test_files_that_are_not_what_they_seem_are_errors(tmp_path: Path) -> None:
    place = lay(tmp_path, "here", run({VIEW: row(VIEW, [1.0, 2.0, 3.0])}))
    (file,) = [path for path in place.iterdir() if path.name != "machine.json"]
    good = json.loads(file.read_text("utf-8"))
    short = {**good, "results": {VIEW: [[1.0], *good["results"][VIEW][1:]]}}
    for content, said in (
        ("{", "cannot be read as JSON"),
        (json.dumps({**good, "version": 1}), "version: got 1, expected 2"),
        (json.dumps({key: value for key, value in good.items() if key != "date"}), "asv's key 'date' is missing"),
        (json.dumps(short), "got 1 results, expected 3"),
    ):
        file.write_text(content, "utf-8")
        with pytest.raises(DashboardError, match="here") as caught:
            table(tmp_path)
        assert said in str(caught.value)


SKIPPED = "asv: skipped: NotImplementedError('no \"CUDA\" device') "
TRACEBACK = "Traceback (most recent call last):\n  File\nValueError: no size\nasv: benchmark failed (exit status 1)"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (SKIPPED, 'no "CUDA" device'),
        ('a warning\nasv: skipped: NotImplementedError("it\'s not here") ', "it's not here"),
        ("asv: skipped: NotImplementedError() ", "NotImplementedError"),
        (TRACEBACK, "ValueError: no size"),
        ("words\nasv: benchmark failed (exit status -11)", "ended with exit status -11"),
        ("asv: benchmark timed out (timeout 60.0s)", "asv: benchmark timed out (timeout 60.0s)"),
        ("asv: benchmark failed (exit status 1)", "failed without a word"),
    ],
)
def test_why_there_is_no_value_is_a_line(output: str, reason: str) -> None:
    assert results.reason(output) == reason


def test_reasons_belong_to_parameters() -> None:
    output = f"For parameters: 'numpy', 8\n{SKIPPED}\n\nFor parameters: 'maximal', 8\n{TRACEBACK}\n"
    keys = [("'numpy'", "8"), ("'maximal'", "8"), ("'minimal'", "8")]
    assert results.reasons(output, keys) == {"'numpy', 8": 'no "CUDA" device', "'maximal', 8": "ValueError: no size"}
    assert results.reasons(TRACEBACK, [()]) == {"": "ValueError: no size"}
