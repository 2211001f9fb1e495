"""The exchanges of `make endure`: each runs on an allocator that looks for mistakes, and what stays is seen.

`BUFLEND_ENDURE` is how often each runs here (default: 50).
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOTS

FOLDER = Path(__file__).resolve().parent.parent / "asv_bench"
sys.path.append(str(FOLDER))  # a script finds what lies beside it
endure, exchanges, remains = (importlib.import_module(name) for name in ("endure", "exchanges", "remains"))
COUNT = int(os.environ.get("BUFLEND_ENDURE", "50"))
PACKAGES = sorted({package for package, _ in exchanges.EXCHANGES.values()})

# The allocator fills what is freed with a pattern and surrounds what is not with another; `-X dev` adds checks.
PROGRAM = """
import gc, sys, warnings
sys.path[:0] = {path!r}
import exchanges
from buflend.maximal import live_exports

for text in (".*interchange protocol", ".*__dataframe__"):  # what pandas and polars say of it
    warnings.filterwarnings("ignore", text, DeprecationWarning)
names = exchanges.names({package!r})
chosen = {{name: one for name, (package, one) in exchanges.EXCHANGES.items() if package == {package!r}}}
for name, statement in chosen.items():
    print(name, flush=True)
    exec("def work(count):\\n    for _ in range(count):\\n        " + statement, names)
    names["work"]({count})
    gc.collect()
gc.collect()
assert not live_exports(), live_exports()
print("done")
"""


@pytest.mark.parametrize(
    "package", [pytest.param(name, marks=() if name == "numpy" else pytest.mark.peers) for name in PACKAGES]
)
def test_every_exchange_on_a_debug_allocator(package: str, tmp_path: Path) -> None:
    if not remains.peers.peer(package).available:
        pytest.skip(f"{package} is not installed")
    code = PROGRAM.format(path=[str(FOLDER), *ROOTS], package=package, count=COUNT)
    done = subprocess.run(
        [sys.executable, "-I", "-X", "dev", "-W", "error", "-c", code],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        encoding="utf-8",
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines()[-1] == "done"


def test_once_runs_what_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"this": ("numpy", "array.__setitem__(0, array[0] + 1)"), "that": ("another", "nothing()")}
    made = exchanges.names("numpy")
    monkeypatch.setattr(exchanges, "EXCHANGES", table)
    monkeypatch.setattr(exchanges, "names", lambda _: made)
    once = importlib.import_module("once")
    once.main("numpy", "0")
    assert made["array"][0] == 0
    once.main("numpy", "3")
    assert made["array"][0] == 3


def test_the_table_names_every_way_of_the_library() -> None:
    spoken = " ".join(statement for _, statement in exchanges.EXCHANGES.values())
    methods = {
        "__dlpack__",
        "__arrow_c_array__",
        "__arrow_c_schema__",
        "__arrow_c_device_array__",
        "__arrow_c_stream__",
    }
    functions = {"as_buffer", "as_ndarray", "as_memoryview", "as_column", "as_table", "column_to_ndarray", "pickle"}
    for name in (*methods, *functions, "dataframe_to_ndarrays", "__dataframe__", "__array__", "from_dlpack", "asarray"):
        assert name in spoken, name
    assert sum(statement.startswith("refused(") for _, statement in exchanges.EXCHANGES.values()) > 10


KEPT = "numpy.__dict__.setdefault('kept', [])"
LEAKS = {
    "references": f"{KEPT}.append(array)",
    "objects": f"{KEPT}.append([])",
    "blocks": f"{KEPT}.append(float(len(memory)))",
    "traced": f"{KEPT}.append(bytes(100))",
    "files": f"{KEPT}.append(open(numpy.__file__, 'rb') if len({KEPT}) % 100 == 0 else None)",
    "live": "numpy.__dict__.setdefault('kept', {}).update({id(array) % 7: buffer.memoryview()})",
}


@pytest.mark.parametrize("what", LEAKS)
def test_what_stays_is_seen(what: str) -> None:
    pytest.importorskip("psutil")
    found = remains.measure(1500, {"kept": ("numpy", LEAKS[what])})
    assert what in found["kept"]["verdict"], found


# The pages of a file go while objects stay, as where a system needs memory.
HIDDEN = (
    "import mmap, os; kept = numpy.__dict__.setdefault('kept', []); kept.append(bytes(4000)); "
    "pages = numpy.__dict__.get('pages') or mmap.mmap(os.open({path!r}, os.O_RDONLY), 0, access=mmap.ACCESS_READ); "
    "numpy.pages = pages; len(kept) == 900 and pages[::4096]; len(kept) == 1100 and pages.madvise(mmap.MADV_DONTNEED)"
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages of files are told apart on Linux only")
def test_what_stays_is_not_hidden_by_the_pages_of_files(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    path = tmp_path / "pages"
    path.write_bytes(bytes(1 << 24))
    found = remains.measure(1500, {"kept": ("numpy", HIDDEN.format(path=str(path)))})
    assert "resident" in found["kept"], found
    assert 0.9 < found["kept"]["resident"] / (1500 * 4000) < 1.2  # some was free before


def test_what_leaves_nothing_is_met(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(sys, "argv", ["endure.py", "--count", "1000", "--only", "^(as_memoryview|refused: no owner)$"])
    assert endure.main() == 0
    shown = capsys.readouterr().out
    assert "2 kinds in " in shown
    assert shown.count(" met\n") == 2


def test_what_stays_makes_the_command_fail(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endure, "EXCHANGES", {"kept": ("numpy", LEAKS["traced"]), "fails": ("numpy", "numpy.nothing")})
    monkeypatch.setattr(sys, "argv", ["endure.py", "--count", "1000"])
    assert endure.main() == 1
    assert "2 missed" in capsys.readouterr().out
