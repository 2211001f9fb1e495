"""`buflend compare --device cuda` on the stand-in: its rows for numba-cuda, cuda.core and plain memory of the runtime.

What the rows must say follows from the contract: addresses stay, bytes are those that were lent, memory is counted, and
a host that reads the device's memory dies of it.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .build import RUNTIME
from .hooks import StandIn

pytest.importorskip("rich")
pytest.importorskip("plotly")
pytest.importorskip("jinja2")

# Of libraries that are not asked for here: they cannot run on the stand-in, and take long to say so.
HIDDEN = ("cupy", "torch", "jax")

# Each process of the command has to find the stand-in before a library brings a runtime of its own.
START = "import ctypes, sys\nctypes.CDLL({runtime!r})\nfor name in {hidden!r}:\n    sys.modules[name] = None\n"

READS = """
import ctypes

def host_reads(lent):
    ctypes.string_at(lent.ptr, 1)
"""

PARTS = ("lifetime", "cost", "consumers", "protocols")


class Ran:
    """What a run of the command left behind."""

    def __init__(self, folder: Path, *hidden: str) -> None:
        out = io.StringIO()
        arguments = ["compare", "--device", "cuda", "--json", str(folder / "r.json"), "--html", str(folder / "r.html")]
        for part in PARTS:
            arguments += ["--only", part]
        with started_with(folder, *hidden), contextlib.redirect_stdout(out), pytest.MonkeyPatch.context() as patch:
            patch.setattr(importlib.import_module("buflend.bench.cuda.cost"), "SECONDS", 0.02)
            self.code = importlib.import_module("buflend.bench.cli").main(arguments)
        self.out, self.page = out.getvalue(), (folder / "r.html").read_text("utf-8")
        self.report = json.loads((folder / "r.json").read_text("utf-8"))
        self.parts: dict[str, Any] = self.report["parts"]

    def taken(self, part: str, lender: str) -> dict[str, str]:
        """Return what became of a lender with each call that is here."""
        calls = self.parts[part]["takers"]
        return {
            call: row[lender]["outcome"] for call, row in self.parts[part]["cells"].items() if calls[call]["available"]
        }


@contextlib.contextmanager
def started_with(folder: Path, *hidden: str) -> Iterator[None]:
    """Let new interpreters begin with the stand-in, and find no hidden package, nor let this one find it."""
    every = [*HIDDEN, *hidden]
    (folder / "sitecustomize.py").write_text(START.format(runtime=RUNTIME, hidden=every), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        for name in every:
            patch.setitem(sys.modules, name, None)
        yield


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the command where memory is made by numba-cuda."""
    for name in ("numba", "cuda.core"):
        if importlib.util.find_spec(name.partition(".")[0]) is None or importlib.util.find_spec(name) is None:
            pytest.skip(f"could not import {name!r}")
    return Ran(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the command where no library makes memory."""
    return Ran(tmp_path_factory.mktemp("plain"), "numba")


def name_of_the_device(stand_in: StandIn) -> str:
    name = ctypes.create_string_buffer(256)
    assert stand_in.driver.cuDeviceGetName(name, 256, 0) == 0
    return name.value.decode()


def test_the_device_is_called_what_the_driver_calls_it(peers: Ran, stand_in: StandIn) -> None:
    device, name = peers.report["device"], name_of_the_device(stand_in)
    assert peers.code == 0
    assert (device["available"], device["count"], device["source"]) == (True, 2, "numba.cuda")
    assert device["name"] == name
    shown = " ".join(peers.out.split())
    assert f"CUDA device 0 ({name}); memory that buffers of ours lend is made by numba.cuda" in shown
    page = re.sub(r"<(script|style).*?</\1>", "", peers.page, flags=re.DOTALL)
    for text in (shown, page):
        assert name in text
        assert "GPU" not in text.replace(name, "")


def test_plain_memory_is_lent_where_no_library_makes_any(plain: Ran) -> None:
    device = plain.report["device"]
    assert plain.code == 0
    assert (device["available"], device["count"], device["source"]) == (True, 2, "cudaMalloc")
    shown = " ".join(plain.out.split())
    assert "memory that buffers of ours lend is made by cudaMalloc" in shown
    assert "needs numba.cuda" in shown


def test_who_takes_memory_of_numba_and_of_cuda_core(peers: Ran) -> None:
    every = {"minimal.as_buffer", "maximal.as_buffer", "numba as_cuda_array", "StridedMemoryView from_dlpack",
             "StridedMemoryView by CAI"}  # fmt: skip
    assert peers.taken("consumers", "maximal") == dict.fromkeys(every, "zero-copy")
    # Who lends by which protocol: numba by the CUDA array interface, cuda.core by DLPack, minimal by neither.
    speaks = {
        "minimal": {"minimal.as_buffer", "maximal.as_buffer"},
        "numba.array": {"maximal.as_buffer", "numba as_cuda_array", "StridedMemoryView by CAI"},
        "cuda.core.Buffer": {"maximal.as_buffer", "StridedMemoryView from_dlpack"},
    }
    for lender, calls in speaks.items():
        taken = peers.taken("consumers", lender)
        assert taken.keys() == every
        assert {call for call, outcome in taken.items() if outcome == "zero-copy"} == calls, lender
        assert {taken[call] for call in every - calls} == {"refused"}, lender


def test_who_takes_plain_memory(plain: Ran) -> None:
    taken = plain.taken("consumers", "maximal")
    assert set(taken.values()) == {"zero-copy"}
    assert {"minimal.as_buffer", "maximal.as_buffer"} <= taken.keys()
    assert not any("numba" in call for call in taken)


@pytest.mark.parametrize("run", ["peers", "plain"])
def test_what_a_buffer_speaks_and_that_it_refuses_the_host(run: str, request: pytest.FixtureRequest) -> None:
    ran: Ran = request.getfixturevalue(run)
    device, host = dict.fromkeys(ran.parts["protocols"]["groups"].values())
    groups = ran.parts["protocols"]["groups"]
    for lender in ("maximal", "minimal"):
        taken = ran.taken("protocols", lender)
        assert {"as_ndarray", "as_memoryview", "memoryview", "numpy.asarray", "numpy.from_dlpack"} <= taken.keys()
        assert {outcome for call, outcome in taken.items() if groups[call] == host} == {"refused"}
        said = {call: outcome for call, outcome in taken.items() if groups[call] == device}
        if lender == "minimal":
            assert {call for call, outcome in said.items() if outcome != "refused"} == {"ptr, bufsize, device"}
        else:
            assert said.pop("to_host()") == "copy"
            assert len(said) >= 5
            assert set(said.values()) == {"zero-copy"}


@pytest.mark.parametrize("run", ["peers", "plain"])
def test_memory_goes_with_the_last_view(run: str, request: pytest.FixtureRequest) -> None:
    ran: Ran = request.getfixturevalue(run)
    part = ran.parts["lifetime"]
    measured = {call: one for call, one in part["holders"].items() if one["outcome"] == "measured"}
    assert {"minimal.as_buffer", "maximal.as_buffer"} <= measured.keys()
    assert ("numba as_cuda_array" in measured) == (run == "peers")
    assert {one["outcome"] for one in part["holders"].values()} <= {"measured", "n/a"}
    for call, one in measured.items():
        assert [step["held"] for step in one["steps"]] == [part["size"], part["size"], 0], call
        assert [step["alive"] for step in one["steps"]] == [True, True, False], call
        assert (one["at_once"], one["leaked"]) == (True, 0), call
        assert not any(step["excess"] or step["dangling"] for step in one["steps"])


def test_times_are_paired(peers: Ran) -> None:
    part = peers.parts["cost"]
    (groups,), (note,) = part["sections"].values(), part["notes"].values()
    assert note == ""
    timed = {group["title"]: group for group in groups if group["baseline"]}
    assert timed.keys() == {"__dlpack__(), not consumed", "numba.cuda.as_cuda_array", "StridedMemoryView"}
    assert timed["numba.cuda.as_cuda_array"]["baseline"] == "numba array"
    for group in timed.values():
        assert group["alternatives"][group["baseline"]]["ratio"] == [1, 1, 1]
        for name, one in group["alternatives"].items():
            assert one["outcome"] in ({"timed", "absent"} if name == "cupy array" else {"timed"}), one


def test_a_host_that_reads_the_device_is_a_cell_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking, memory = (importlib.import_module(f"buflend.bench.{name}") for name in ("taking", "cuda.memory"))
    (tmp_path / "fake_reads.py").write_text(READS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    here = {"available": True, "reason": "", "group": ""}
    lenders = taking.Lenders("buflend.bench.cuda.takers:lenders", memory.PLAIN)
    places = {"reads": "fake_reads:host_reads", "takes": "buflend.bench.cuda.takers:_maximal_as_buffer"}
    with started_with(tmp_path):
        told = {one["taker"]: one["cell"] for one in taking.row("", places, {"maximal": here}, lenders)}
    assert told["reads"] == {"outcome": "crashed", "detail": "SIGSEGV"}
    assert told["takes"]["outcome"] == "zero-copy"
