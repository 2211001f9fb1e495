"""`buflend compare --device cuda`: what is not here is said, what is measured is judged, and nothing is shown as more.

No CUDA device is needed and none is used: what the runtime and the libraries answer is told by stand-ins of processes.
The rows themselves are run in `fake_cuda/test_compare_cuda.py`.
"""

import contextlib
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from buflend.bench import cli, compare, peers, processes, taking, terminal, wording
from buflend.bench.cuda import cost, device, lifetime, memory, shown, speaking, takers
from buflend.bench.cuda import wording as of_device
from buflend.shared import DeviceError, cuda

pytestmark = pytest.mark.peers

COUNTS = """
import os, signal

def no_library(_payload, tell):
    tell({"reason": "no CUDA runtime library can be loaded: looked for it"})

def no_driver(_payload, tell):
    tell({"reason": "counting CUDA devices failed: CUDA error 35, the driver is insufficient"})

def nothing(_payload, tell):
    tell({"count": 0})

def dies(_payload, tell):
    os.kill(os.getpid(), signal.SIGSEGV)

def raises(_payload, tell):
    raise OSError("a broken library")
"""

REASONS = {
    "no_library": "no CUDA runtime library can be loaded: looked for it",
    "no_driver": "counting CUDA devices failed: CUDA error 35, the driver is insufficient",
    "nothing": "the CUDA runtime counts 0 devices",
    "dies": "the runtime crashed: signal SIGSEGV",
    "raises": "the runtime failed: OSError: a broken library",
}

NAME = "a device of the tests"


def quiet(_text: str, _fraction: float) -> None:
    """Show no progress."""


def library(name: str, *, sees: bool = False, installed: bool = True) -> dict[str, Any]:
    """Return what `device.look` says of a library."""
    reason = "" if sees else "sees no CUDA device: RuntimeError: no driver" if installed else "not installed"
    get = "" if installed else f"pip install {device.LIBRARIES[name].wanted}"
    version, seen = ("1.2" if installed else ""), (NAME if sees else None)
    return {"name": name, "available": sees, "reason": reason, "version": version, "device": seen, "get": get}


def found(source: str = memory.PLAIN, **libraries: dict[str, Any]) -> dict[str, Any]:
    """Return what `device.look` returns of a device; libraries are not installed where nothing is said of them."""
    named = {name.replace("_", "."): one for name, one in libraries.items()}
    every = {name: named.get(name, library(name, installed=False)) for name in device.LIBRARIES}
    return {
        "kind": "cuda", "available": True, "reason": "", "count": 1, "name": NAME, "source": source,
        "counted_by": memory.MAKERS[source].counted_by, "libraries": every,
    }  # fmt: skip


def plain(text: str) -> str:
    """Return a text without markup and line breaks."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


def body(page: str) -> str:
    """Return what a page says outside of scripts and styles."""
    return plain(re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))


class Ran:
    """What one run of the command in this process left behind."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        out = io.StringIO()
        written = ["--json", str(folder / "r.json"), "--html", str(folder / "r.html")]
        with contextlib.redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            self.code = cli.main(["compare", "--device", "cuda", *arguments, *written])
        self.out, self.shown = out.getvalue(), plain(out.getvalue())
        self.report = json.loads((folder / "r.json").read_text("utf-8"))
        self.page = (folder / "r.html").read_text("utf-8")


# No device.


@pytest.mark.parametrize("answer", REASONS)
def test_without_a_device_the_reason_is_shown_everywhere(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fake_counts.py").write_text(COUNTS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(device, "COUNT", f"fake_counts:{answer}")
    monkeypatch.setattr(device, "LIBRARIES", {})
    ran = Ran(tmp_path)
    said = f"no CUDA device: {REASONS[answer]}"
    assert ran.code == 0
    assert said in ran.shown
    assert said in body(ran.page)
    assert "not measured" not in ran.shown.lower() + body(ran.page).lower()  # once is enough
    told = ran.report["device"]
    assert (told["kind"], told["available"], told["reason"]) == ("cuda", False, REASONS[answer])
    assert list(ran.report["parts"]) == list(compare.PARTS)
    for name, part in ran.report["parts"].items():
        assert (part["part"], part["available"], part["reason"]) == (name, False, said)


def test_the_runtime_of_this_machine_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "LIBRARIES", {})  # they may see what this runtime does not
    try:
        count, reason = cuda.device_count(), "the CUDA runtime counts 0 devices"
    except DeviceError as error:
        count, reason = None, str(error)
    ran = Ran(tmp_path, "--only", "surface")
    assert ran.code == 0
    assert ran.report["device"]["count"] == count
    assert (plain(f"no CUDA device: {reason}") in ran.shown) == (not count)


def test_the_report_has_the_keys_of_every_report(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def part(name: str, _data: str | None, _progress: Callable[[str, float], None]) -> dict[str, Any]:
        asked.append(name)
        return {"whole": True}

    monkeypatch.setattr(compare, "_part", part)
    monkeypatch.setattr(device, "look", lambda _progress: found() | {"available": False, "reason": "gone"})
    usual = compare.measure(None, ["cost"], quiet)
    named = compare.measure(None, ["cost"], quiet, "cpu")
    assert asked == ["cost", "cost"]
    absent = compare.measure(None, ["cost"], quiet, "cuda")
    assert asked == ["cost", "cost"]
    assert usual.keys() == named.keys() == absent.keys()
    assert usual["device"] == named["device"] == {"kind": "cpu", "available": True, "reason": ""}
    assert usual["peers"] == named["peers"]
    assert list(usual["peers"]) == list(compare.PEERS)
    assert list(absent["peers"]) == ["numpy", *device.LIBRARIES]


# Which device, and whose memory.


def answers(told: dict[str, dict[str, Any]], count: dict[str, Any]) -> Callable[..., Any]:
    """Return what stands for the processes: what the runtime counts, and what each maker tells of the device."""

    def answer(job: str, payload: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if job == device.COUNT:
            return count, {}
        if told[payload["name"]].get("end"):
            return {}, told[payload["name"]]
        return told[payload["name"]], {}

    return answer


SEES = {"device": NAME, "reason": ""}
BLIND = {"device": None, "reason": "RuntimeError: no driver", "version": "1.5"}
UNNAMED = {"device": "", "reason": ""}
DEAD = {"end": "crashed", "detail": "signal SIGSEGV"}


@pytest.mark.parametrize(
    ("count", "told", "source", "name"),
    [
        ({"count": 1}, {"cupy": SEES, "torch": SEES, "numba.cuda": SEES}, "cupy", NAME),
        ({"count": 2}, {"cupy": BLIND, "torch": SEES}, "torch", NAME),
        ({"count": 1}, {"cupy": DEAD, "numba.cuda": SEES, memory.PLAIN: BLIND}, "numba.cuda", NAME),
        ({"count": 1}, {"cuda.core": SEES, "jax": SEES, memory.PLAIN: UNNAMED}, memory.PLAIN, NAME),
        ({"count": 1}, {memory.PLAIN: UNNAMED}, memory.PLAIN, ""),
        # Libraries bring a runtime of their own.
        ({"reason": "none can be loaded"}, {"torch": SEES}, "torch", NAME),
        ({"reason": "none can be loaded"}, {"jax": SEES, "cuda.core": SEES}, "", ""),
        ({"count": 1}, {}, "", ""),
        ({"count": 0}, {"cupy": SEES}, "", ""),
    ],
)
def test_memory_is_that_of_the_first_library_that_sees_the_device(
    count: dict[str, Any], told: dict[str, dict[str, Any]], source: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = {one: told.get(one, BLIND) for one in memory.MAKERS}
    monkeypatch.setattr(processes, "answer", answers(every, count))
    monkeypatch.setattr(peers, "peer", lambda one: peers.Peer(one, available=True, reason="", version="1.0"))
    seen = device.look(quiet)
    assert (seen["source"], seen["name"]) == (source, name)
    assert seen["available"] == bool(source)
    assert bool(seen["reason"]) != bool(source)
    assert seen["count"] == count.get("count")
    asked = {one for one, entry in seen["libraries"].items() if entry["device"] is not None}
    assert asked <= told.keys()
    if seen["libraries"]["cupy"]["reason"]:
        ended = "crashed: signal SIGSEGV" if every["cupy"] is DEAD else "RuntimeError: no driver"
        assert seen["libraries"]["cupy"]["reason"] == f"sees no CUDA device: {ended}"
        assert not seen["libraries"]["cupy"]["available"]


def test_the_name_of_the_device_is_the_runtime_s_and_nobody_else_s() -> None:
    def said(**more: Any) -> str:
        return of_device.device({"device": found("numba.cuda") | more})

    assert said(name="stand-in").startswith("CUDA device 0 (stand-in); ")
    assert said(name="").startswith("CUDA device 0 (its name is not told); ")
    assert of_device.device({"device": {"kind": "cpu", "available": True, "reason": ""}}) == ""


# What is shown.


def cells(row: str, lending: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what `taking.row` would of one call: the host's own is refused, all else taken."""
    for name, one in lending.items():
        if one["available"]:
            refused = speaking.GROUPS.get(row) == speaking.HOST
            cell = {"outcome": "refused" if refused else "zero-copy", "detail": "TypeError: no" if refused else ""}
            yield {"taker": row, "lender": name, "cell": cell}


TIMED = {"outcome": "timed", "detail": "", "makes": "", "calls": 1, "rounds": 3, "seconds": [1e-6, 9e-7, 1e-6]}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run all parts on a device of which numba-cuda is the source; what a process would do is told, not done."""

    def row(_package: str, places: dict[str, str], lending: dict[str, Any], *_more: Any) -> Iterator[dict[str, Any]]:
        for name in places:
            yield from cells(name, lending)

    def timed(_job: str, order: dict[str, Any], _told: Any) -> tuple[list[dict[str, Any]], str]:
        title, ways = order["title"], cost._usable(cost.PAIRS[order["title"]], order["here"])
        every = {way.name: TIMED | {"ratio": [1.0, 1.0, 1.0] if way is ways[0] else [2.0, 1.5, 2.5]} for way in ways}
        return [
            {"title": title, "rows": 1, "note": "", "left_out": {}, "baseline": ways[0].name, "alternatives": every}
        ], ""

    def held(job: str, payload: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        assert job.endswith("lifetime:_job")
        if payload["call"] == "numba as_cuda_array":
            return {}, {"end": "crashed", "detail": "signal SIGSEGV"}
        counts = zip(lifetime.STEPS, lifetime.LEAST, (True, True, False), strict=True)
        steps = [
            {"step": step, "alive": alive, "held": least, "least": least, "excess": False, "dangling": False}
            for step, least, alive in counts
        ]
        return {"outcome": "measured", "detail": "", "steps": steps, "at_once": True, "leaked": 0}, {}

    here = found("numba.cuda", numba_cuda=library("numba.cuda", sees=True), torch=library("torch"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "look", lambda _progress: here)
        patch.setattr(taking, "row", row)
        patch.setattr(cost.timing, "in_process", timed)
        patch.setattr(processes, "answer", held)
        return Ran(tmp_path_factory.mktemp("report"))


def test_parts_without_rows_say_so_in_a_line(ran: Ran) -> None:
    assert compare.ON_CUDA.keys() | compare.WITHOUT_CUDA.keys() == compare.PARTS.keys()
    for name, reason in compare.WITHOUT_CUDA.items():
        part = ran.report["parts"][name]
        assert (part["available"], part["reason"]) == (False, f"no rows for a CUDA device: {reason}")
        assert f"not measured: {part['reason']}" in ran.shown
        assert f"Not measured: {part['reason']}" in body(ran.page)
    for name in compare.ON_CUDA:
        assert ran.report["parts"][name]["device"] == "cuda"


def test_the_device_is_named_and_nothing_is_called_more_than_that(ran: Ran) -> None:
    assert f"CUDA device 0 ({NAME}); memory that buffers of ours lend is made by numba.cuda" in ran.shown
    assert f"CUDA device 0 ({NAME})" in body(ran.page)
    assert "GPU" not in ran.out + body(ran.page)


def test_80_columns_are_enough_and_fewer_are_no_error(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for line in ran.out.splitlines() if not line.startswith("written: ")]
    assert max(map(len, lines)) <= 80
    monkeypatch.setenv("COLUMNS", "40")
    with contextlib.redirect_stdout(again := io.StringIO()):
        terminal.show(ran.report)
    assert again.getvalue().splitlines() == lines


@pytest.mark.parametrize("part", ["consumers", "lifetime"])
def test_a_row_whose_library_is_not_here_says_which(ran: Ran, part: str) -> None:
    section = ran.out.partition(f"\n{part}: ")[2].partition("\ntook ")[0]
    page = plain(ran.page.partition(f'<section id="{part}">')[2].partition("</section>")[0])
    rows = ran.report["parts"][part]["cells" if part == "consumers" else "holders"]
    assert list(rows) == [one.name for one in takers.TAKERS]
    lacking = [one for one in takers.TAKERS if one.package not in {"", "numba.cuda"}]
    assert {one.package for one in lacking} == {"cupy", "torch", "jax", "cuda.core"}
    for one in lacking:
        first, _, rest = one.name.partition(" ")
        label = rf"^ {re.escape(first)}( {re.escape(rest)})? .*n/a.*\n( {re.escape(rest)} .*\n)?   needs {one.package} "
        assert re.search(label, section, re.MULTILINE), one.name
        reason = ran.report["device"]["libraries"][one.package]["reason"]
        entry = rows[one.name] if part == "lifetime" else rows[one.name]["minimal"]
        assert entry["outcome"] == "n/a"
        assert entry["detail"].startswith(f"needs {one.package}: {reason}")
        assert (one.package == "torch") != ("; pip install " in entry["detail"])  # it is installed
        assert f"{one.name} n/a: needs {one.package}: {reason}" in page


def test_who_is_absent_is_named_with_what_installs_it(ran: Ran) -> None:
    for line in (
        "absent: cupy (not installed; pip install cupy-cuda13x)",
        "absent: jax (not installed; pip install 'jax[cuda13]')",
        "absent: cuda.core (not installed; pip install cuda-core cuda-bindings)",
        "absent: torch (sees no CUDA device: RuntimeError: no driver)",
    ):
        assert line in ran.shown
    assert "numba.cuda 1.2" in ran.shown
    assert "absent: numba.cuda" not in ran.shown


def test_who_takes_what_is_counted_without_what_is_not_here(ran: Ran) -> None:
    part = ran.report["parts"]["consumers"]
    taking_part = [one.name for one in takers.TAKERS if one.package in {"", "numba.cuda"}]
    assert part["count"]["maximal"]["zero-copy"] == len(taking_part)
    assert f"zero-copy of {len(taking_part)}" in ran.shown
    assert [name for name, one in part["lenders"].items() if one["available"]] == ["maximal", "minimal", "numba.array"]


def test_what_the_host_is_refused_stands_apart(ran: Ran) -> None:
    part = ran.report["parts"]["protocols"]
    assert {"as_ndarray", "memoryview", "numpy.asarray"} <= {
        name for name, group in part["groups"].items() if group == speaking.HOST
    }
    assert list(dict.fromkeys(part["groups"].values())) == [speaking.SPOKEN, speaking.HOST]
    page = ran.page.partition('<section id="protocols">')[2].partition("</section>")[0]
    said, refused = page.split("<h3>")[1:]
    assert 'class="zero-copy"' in said
    assert shown._outcome("refused", speaking.HOST) == terminal.styled("refused", "right")
    assert shown._outcome("copy", speaking.HOST) == terminal.styled("copy", "wrong")
    assert shown._outcome("refused", speaking.SPOKEN) == terminal.styled("refused", "refused")
    assert 'class="refused"' not in said + refused
    assert refused.count('<td class="right">refused') == 2 * sum(
        group == speaking.HOST and part["takers"][name]["available"] for name, group in part["groups"].items()
    )


def test_a_crash_is_a_row_and_not_the_end(ran: Ran) -> None:
    holder = ran.report["parts"]["lifetime"]["holders"]["numba as_cuda_array"]
    assert (holder["outcome"], holder["detail"]) == ("crashed", "signal SIGSEGV")
    assert "numba as_cuda_array not measured: signal SIGSEGV" in ran.shown
    assert "StridedMemoryView by CAI" in ran.shown


def test_every_pair_is_shown_with_what_it_lacks(ran: Ran) -> None:
    (groups,) = ran.report["parts"]["cost"]["sections"].values()
    assert [group["title"] for group in groups] == list(cost.PAIRS)
    for group in groups:
        assert list(group["alternatives"]) == [way.name for way in cost.PAIRS[group["title"]]]
        for way in cost.PAIRS[group["title"]]:
            one, lacking = group["alternatives"][way.name], [name for name in way.needs if name != "numba.cuda"]
            assert one["outcome"] == ("absent" if lacking else "timed")
            if lacking:
                assert one["needs"] == ", ".join(lacking)
                assert all(f"{name}: " in one["detail"] for name in lacking)
    assert "as_cupy(as_buffer(tensor)) n/a needs cupy, torch" in ran.shown
    assert f"maximal.Buffer 1 µs {wording.ratio_text([2.0, 1.5, 2.5])}" in ran.shown
    assert f'id="plot-cost_{cost.SECTION}"' in ran.page


def test_a_table_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n", "utf-8")
    monkeypatch.setattr(device, "look", lambda _progress: found() | {"available": False, "reason": "gone"})
    ran = Ran(tmp_path, "--data", str(tmp_path / "t.csv"), "--only", "cost")
    assert re.search(r"note: \S+t\.csv was not read: with --device cuda no part reads a table", ran.shown)


def test_the_choice_is_explained_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compare", "--help"])
    told = plain(capsys.readouterr().out)
    assert "--device {cpu,cuda}" in told
    assert "With --device cuda: consumers, protocols, lifetime, cost." in told
    for wrong in (["--device", "tpu"], ["--device", "cuda", "--device", "cpu"]):
        with pytest.raises(SystemExit) as caught:
            cli.main(["compare", *wrong])
        assert caught.value.code == 2
