"""The suite that asv runs: every benchmark of every implementation runs once here, and what is n/a is listed here.

The suite is loaded by its path, as asv does it: it is no part of `buflend`.
"""

import ast
import importlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., str]

FOLDER = Path(__file__).resolve().parent.parent / "asv_bench" / "benchmarks"
CONFIG = FOLDER.parent / "asv.conf.json"
METHOD = re.compile(r"(?:time|timeraw|track)_\w+")  # what asv takes for a benchmark, as far as there are any here
LONGEST = 350  # lines


def load() -> None:
    """Load the suite as a package of this process."""
    place = importlib.util.spec_from_file_location(
        "suite", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert place is not None
    assert place.loader is not None
    sys.modules["suite"] = importlib.util.module_from_spec(place)
    place.loader.exec_module(sys.modules["suite"])


load()
common = importlib.import_module("suite.common")
MODULES = [importlib.import_module(f"suite.{path.stem}") for path in sorted(FOLDER.glob("bench_*.py"))]


def methods(kind: type) -> list[str]:
    """Return the names of the benchmarks in a class."""
    return [name for name in dir(kind) if METHOD.fullmatch(name)]


CLASSES: dict[str, Any] = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type) and kind.__module__ == module.__name__ and methods(kind)
}
TIMED = [name for name, kind in CLASSES.items() if issubclass(kind, common.Timed)]

# Class and implementation -> what its reason says, on a machine on which everything is installed and no GPU is.
NOT_DONE = {
    **dict.fromkeys(
        [
            ("OutDLPack", "minimal"),
            ("OutDLPackLegacy", "minimal"),
            ("OutArrayInterface", "minimal"),
            ("OutArray", "minimal"),
            ("OutArrowArray", "minimal"),
            ("OutArrow", "minimal"),
            ("OutArrowCall", "minimal"),
            ("OutArrowStream", "minimal"),
            ("OutArrowDevice", "minimal"),
            ("OutInterchange", "minimal"),
            ("GpuOutDLPack", "minimal"),
            ("GpuOutInterface", "minimal"),
        ],
        "speaks no other protocol",
    ),
    **dict.fromkeys(
        [
            ("InDLPack", "minimal"),
            ("InArrayInterface", "minimal"),
            ("InArrow", "minimal"),
            ("InArrowStream", "minimal"),
            ("InArrowDevice", "minimal"),
            ("HandedTensor", "minimal"),
            ("GpuInDLPack", "minimal"),
            ("GpuInInterface", "minimal"),
        ],
        "reads pointers, the buffer protocol and the interchange protocol",
    ),
    ("HeldOffsets", "minimal"): "holds no offsets",
    ("GpuToHost", "minimal"): "copies nothing",
}

# Classes that have changed what they measure.
VERSIONS = {"Import": "2"}

# What need not be installed where tests with peers run; all else is.
OPTIONAL = {"cuda.core", "cuda.core.utils", "cupy", "numba.cuda", "torch"}


def present(module: str) -> bool:
    """Tell whether a module is installed."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def cases(name: str) -> Iterator[tuple[Any, str, tuple[Any, ...]]]:
    """Yield a new instance of a class, a method, and values of the parameters, for each of them."""
    for values in itertools.product(*CLASSES[name].params):
        for method in methods(CLASSES[name]):
            yield CLASSES[name](), method, values


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_says_what_asv_needs(name: str) -> None:
    kind = CLASSES[name]
    assert {"version", "param_names", "params"} <= vars(kind).keys()
    assert kind.version == VERSIONS.get(name, "1")
    assert kind.param_names[0] == "impl"
    assert len(kind.param_names) == len(kind.params)
    assert kind.params[0][:2] == ("minimal", "maximal")
    assert len(set(kind.params[0])) == len(kind.params[0])
    assert name.startswith("Gpu") == issubclass(kind, common.TimedOnGpu) == (name in common.WAYS_GPU)


def test_every_topic_has_a_class() -> None:
    assert CLASSES.keys() == common.TOPICS.keys()
    for name, ways in common.TOPICS.items():
        assert set(CLASSES[name].params[0]) == ways.keys(), name


def test_the_table_of_what_is_not_done_is_that_of_the_suite() -> None:
    reasons = {
        (name, impl): way.reason
        for name, ways in common.TOPICS.items()
        for impl, way in ways.items()
        if not isinstance(way, str)
    }
    assert reasons.keys() == NOT_DONE.keys()
    for place, reason in reasons.items():
        assert NOT_DONE[place] in reason


@pytest.mark.parametrize("name", TIMED)
def test_a_name_tells_how_often_the_loop_runs(name: str) -> None:
    for bench, method, values in cases(name):
        counted: list[None] = []
        bench.body = counted.extend
        getattr(bench, method)(*values)
        found = re.search(r"_x(\d+)$", method)
        assert len(counted) == (int(found[1]) if found else 1)


def test_only_what_takes_long_has_no_loop() -> None:
    bare = [(name, one) for name in TIMED for one in methods(CLASSES[name]) if not re.search(r"_x\d+$", one)]
    assert bare == [(name, "time_read") for name in ("Chunks", "LargeFrame", "LargeTable")]


@pytest.mark.peers
@pytest.mark.parametrize("name", CLASSES)
def test_every_implementation_runs(name: str) -> None:
    for bench, method, values in cases(name):
        try:
            bench.setup(*values)
        except NotImplementedError as error:
            expected(name, values[0], str(error))
            continue
        assert (name, values[0]) not in NOT_DONE
        result = getattr(bench, method)(*values)
        if method.startswith("timeraw_"):
            assert result == common.TOPICS[name][values[0]]
        elif method.startswith("track_"):
            assert type(result) is int
            assert bench.unit == "bytes"
        else:
            assert result is None


def expected(name: str, impl: str, reason: str) -> None:
    """Fail unless a reason is one that may be: it stands in the table, a package is missing, or a device."""
    missing = re.fullmatch(r"([\w.]+) is not installed", reason)
    if missing:
        assert missing[1] in OPTIONAL
        assert not present(missing[1])
    elif (name, impl) in NOT_DONE:
        assert NOT_DONE[name, impl] in reason
    else:
        assert name.startswith("Gpu"), reason
        assert re.match(r"no CUDA device: |[\w.]+ sees no CUDA device|none of ", reason), reason


@pytest.mark.peers
def test_an_import_that_is_timed_can_be_done(run_python: Run) -> None:
    for impl in CLASSES["Import"].params[0]:
        statement = common.TOPICS["Import"][impl]
        if all(present(module) for module in statement.removeprefix("import ").split(", ")):
            assert run_python(f"{statement}\nprint('done')", site=True) == "done\n"


@pytest.mark.peers
def test_what_is_held_of_a_table() -> None:
    watched = sys.modules["suite.bench_weight"].Watched()
    table = watched.alive()
    assert table == sum(nbytes for _, nbytes in watched.owners) > 0
    column, ours = CLASSES["HeldColumn"](), CLASSES["HeldOffsets"]()
    # docs/columns.md: a column's memory goes back when that column is dropped.
    assert column.track_held("maximal") == ours.track_held("maximal") == table / 10
    assert column.track_held("minimal") == 0
    watched.table = None
    assert watched.alive() == 0


@pytest.mark.peers
def test_bytes_of_an_object_are_those_that_the_process_grows_by(run_python: Run) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(FOLDER.parent)!r})
from benchmarks.bench_weight import BytesPerObject
bench = BytesPerObject()
bench.setup("minimal")
ours = bench.track_bytes("minimal")
bench.make = lambda i: bytes(1000)
print(ours, bench.track_bytes("minimal"))
"""
    ours, known = map(int, run_python(code, site=True).split())
    assert 1000 < known < 1200  # what `bytes` has beside its content, and the allocator's rounding
    assert sys.getsizeof(object()) < ours < 1000


@pytest.mark.peers
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages of files are told apart on Linux only")
def test_bytes_of_an_object_do_not_fall_with_the_pages_of_files(run_python: Run, tmp_path: Path) -> None:
    path = tmp_path / "pages"
    path.write_bytes(bytes(1 << 24))
    code = f"""
import mmap, sys
sys.path.insert(0, {str(FOLDER.parent)!r})
from benchmarks.bench_weight import BytesPerObject
with open({str(path)!r}, "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
bench = BytesPerObject()
bench.setup("minimal")
pages[::4096]
def make(i):
    i == 9 and pages.madvise(mmap.MADV_DONTNEED)  # as a system does that needs memory
    return bytes(1000)
bench.make = make
print(bench.track_bytes("minimal"))
"""
    assert 1000 < int(run_python(code, site=True)) < 1200


@pytest.mark.parametrize(
    ("order", "start"), [("first", [0, 1, 2]), ("last", [9999, 9998, 9997]), ("mixed", [2081, 4162, 6243])]
)
def test_loans_end_in_the_order_that_is_asked_for(
    order: str, start: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = itertools.count()
    monkeypatch.setattr(sys.modules["suite.bench_buffers"], "function", lambda *_: numbers.__next__)
    bench = CLASSES["FreeOrder"]()
    monkeypatch.setattr(bench, "ready", lambda *_: ("", {}))
    bench.setup("minimal", order)
    held = bench.held
    assert sorted(held) == list(range(10_000))
    assert held[::-1][:3] == start
    bench.time_free_x10000("minimal", order)
    assert held == []


class TestNames:
    def test_things_are_made_of_things(self) -> None:
        things = {"one": "1", "two": "one + one", "four": "two * two"}
        found = common.names_of("four", {}, things)
        assert [found[name] for name in things] == [1, 2, 4]
        assert common.names_of("four", {"one": 2}, things)["four"] == 16

    def test_the_values_of_parameters_make_other_things(self) -> None:
        assert common.chosen({"layout": "text"})["table"] == 'pa.table({"a": words})'
        assert common.chosen({"rows": 7}) == common.THINGS

    def test_what_is_not_installed_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(common.MODULES, "absent", "no_such_package.part")
        with pytest.raises(NotImplementedError) as caught:
            common.names_of("absent.name", {})
        assert str(caught.value) == "no_such_package.part is not installed"

    def test_what_is_ours_is_never_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(common.MODULES, "ours", "buflend.no_such_part")
        with pytest.raises(ModuleNotFoundError):
            common.names_of("ours.name", {})

    @pytest.mark.parametrize(("probe", "why"), [("1 / 0", ": division by zero"), ("False", ""), ("True", None)])
    def test_a_library_that_sees_no_device(self, probe: str, why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(common.MODULES, "library", "math")
        monkeypatch.setitem(common.PROBES, "library", probe)
        things = {"gpu_pi": "library.pi"}
        if why is None:
            assert common.names_of("gpu_pi", {}, things)["gpu_pi"] > 3
        else:
            with pytest.raises(NotImplementedError) as caught:
                common.names_of("gpu_pi", {}, things)
            assert str(caught.value) == f"math sees no CUDA device{why}"
        assert common.names_of("library.pi", {}, things)["library"].pi > 3


class TestDevices:
    @pytest.mark.parametrize("count", [0, 1])
    def test_a_device_is_looked_for(self, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("buflend.shared.cuda.device_count", lambda: count)
        if count:
            assert common.way("GpuToHost", "maximal") == "gpu_buffer.to_host()"
        else:
            with pytest.raises(NotImplementedError, match="no CUDA device: the runtime counts 0"):
                common.way("GpuToHost", "maximal")

    def test_nothing_is_pending_when_the_loop_begins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[Any] = []
        monkeypatch.setattr("buflend.shared.cuda.device_count", lambda: 1)
        monkeypatch.setattr("buflend.shared.cuda.synchronize", lambda *stream: told.append(stream))
        monkeypatch.setitem(common.TOPICS["GpuToHost"], "maximal", "told.append('copy')")
        monkeypatch.setitem(common.HELPERS, "told", told)
        bench = CLASSES["GpuToHost"]()
        bench.setup("maximal")
        assert told == ["copy", (1, 0)]
        bench.time_copy_x100("maximal")
        assert told[2:] == ["copy"] * 100


def test_nothing_is_imported_before_it_is_measured(run_python: Run) -> None:
    code = f"""
from importlib import import_module
sys.path.insert(0, {str(FOLDER.parent)!r})
for name in {[module.__name__.partition(".")[2] for module in MODULES]!r}:
    import_module("benchmarks." + name)
print(*sorted(name for name in sys.modules if name.partition(".")[0] in {{"buflend", "numpy", "ctypes", "asv"}}))
"""
    assert run_python(code, site=True).split() == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_file_is_short_and_imports_no_library(path: Path) -> None:
    source = path.read_text("utf-8")
    assert len(source.splitlines()) <= LONGEST
    top = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.names[0].name if isinstance(node, ast.Import) else node.module or "" for node in top}
    own = {other.stem for other in FOLDER.glob("*.py")}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names - {"ctypes"} | own


def settings() -> dict[str, Any]:
    """Return what asv.conf.json says; asv, too, leaves out its comments."""
    said: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", CONFIG.read_text("utf-8")))
    return said


def test_processes_are_started_anew() -> None:
    config = settings()
    assert config["launch_method"] == "spawn"  # a fork of a process that has used CUDA cannot use it
    assert (CONFIG.parent / config["benchmark_dir"]).samefile(FOLDER)
    assert config["branches"] == ["HEAD"]
    assert "pythons" not in config


@pytest.mark.peers
class TestAsv:
    @pytest.fixture
    def asv(self, roots: list[str], tmp_path: Path) -> Run:
        """Return a function that runs asv on the running Python, off the checkout, and returns what it says."""
        path, home = os.pathsep.join(roots), str(tmp_path)
        paths = {"ASV_PYTHONPATH": path, "HOME": home, "PYTHONPATH": path, "USERPROFILE": home}
        places = {"repo": FOLDER.parent.parent, "benchmark_dir": FOLDER, "results_dir": tmp_path / "results"}
        config = tmp_path / "asv.conf.json"
        config.write_text(json.dumps(settings() | {name: str(place) for name, place in places.items()}))

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "asv", *arguments, "--config", str(config)],
                capture_output=True,
                check=False,
                cwd=tmp_path,
                encoding="utf-8",
                env=os.environ | paths,
                timeout=900,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        return run

    def test_it_finds_nothing_to_complain_of(self, asv: Run) -> None:
        assert "No problems found" in asv("check", "-E", f"existing:{sys.executable}")

    def test_a_quick_run_of_the_whole_suite_measures_what_is_done_and_says_why_the_rest_is_not(self, asv: Run) -> None:
        asv("machine", "--yes")
        quick = ("--quick", "--dry-run", "--show-stderr", "--launch-method", "forkserver")
        told = asv("run", "-E", f"existing:{sys.executable}", *quick)
        named = re.split(r"(?m)^\[ *[\d.]+%\] ·+ ([\w.]+) +ok$", told)[1:]  # a name, what is told of it, the next name
        tables = dict(zip(named[::2], named[1::2], strict=True))
        kinds = CLASSES.values()
        modules = {kind: kind.__module__.removeprefix("suite.") for kind in kinds}
        assert tables.keys() == {f"{modules[kind]}.{kind.__name__}.{one}" for kind in kinds for one in methods(kind)}
        table = tables["bench_out.OutArrayInterface.time_export_x1000"]
        values = dict(re.findall(r"(minimal|maximal|numpy) +(n/a|[\d.]+)", table))
        assert values.pop("minimal") == "n/a"
        assert {name for name, value in values.items() if float(value) > 0} == {"maximal", "numpy"}
        assert "speaks no other protocol" in table
