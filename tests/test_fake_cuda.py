"""The tests of `fake_cuda`, each file in a process of its own that starts with a stand-in CUDA library in its path.

That library must be found before any real one, and must not be met by the libraries of other tests: hence the process.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from .fake_cuda import build

HERE = Path(__file__).resolve().parent
CONTRACT = HERE.parent / "asv_bench" / "gpu_check" / "contract.py"
FILES = [path.stem for path in sorted((HERE / "fake_cuda").glob("test_*.py"))]
PATIENCE = 300  # seconds

# File -> how many tests it has at least, so that an empty run is found out; others have one.
AT_LEAST = {
    "test_buffers": 270,
    "test_columns": 250,
    "test_failures": 60,
    "test_gpu_checks": 70,
    "test_lifetimes": 160,
    "test_memory": 20,
    "test_order": 20,
    "test_real_consumers": 18,
    "test_reports": 34,
    "test_stand_in": 45,
    "test_streams_order": 210,
}
OF_PEERS = {"test_compare_cuda", "test_real_consumers"}  # where tests may be left out, for want of a package

pytestmark = pytest.mark.fake_cuda


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the library, under both of its names."""
    try:
        return build.build(tmp_path_factory.mktemp("fake_cuda"))
    except build.CannotBuildError as error:
        pytest.skip(str(error))


def surroundings(folder: Path) -> dict[str, str]:
    """Return the environment of a child: nothing of this run of pytest, nor of the runner that has shared it out."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return kept | {"BUFLEND_FAKE_CUDA": str(folder), "LD_LIBRARY_PATH": os.pathsep.join(paths)}


def command(config: pytest.Config, path: Path, report: Path) -> list[str]:
    """Return what runs a file of tests with the settings of this run, which may be those of an installed wheel."""
    settings = ["--rootdir", str(config.rootpath), "--config-file", str(config.inipath)]
    settings += ["-o", f"pythonpath={shlex.join(map(str, config.getini('pythonpath')))}"]
    plugins = ["-p", "no:xdist", "-p", "no:cacheprovider"]
    shown = ["-q", "-rs", "--color=no", "--tb=short", f"--junitxml={report}"]
    return [sys.executable, "-m", "pytest", *settings, *plugins, *shown, str(path)]


def cases(report: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each test's name, how it went ("" is passed), and why."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by our own child
        outcome = next((part for part in case if part.tag in {"error", "failure", "skipped"}), None)
        yield (
            case.get("name", ""),
            "" if outcome is None else outcome.tag,
            "" if outcome is None else outcome.get("message", ""),
        )


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, id=f"fake-cuda-{name}", marks=[pytest.mark.peers] * (name in OF_PEERS)) for name in FILES],
)
def test_in_a_process_of_its_own(name: str, folder: Path, pytestconfig: pytest.Config, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = subprocess.run(
        command(pytestconfig, HERE / "fake_cuda" / f"{name}.py", report),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        encoding="utf-8",
        env=surroundings(folder),
        timeout=PATIENCE,
    )
    said = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    if done.returncode:
        pytest.fail(said, pytrace=False)
    found = list(cases(report))
    assert [test for test, _, _ in found if "fake-cuda" not in test] == [], said
    assert {how for _, how, _ in found} <= {"", "skipped"}, said
    passed = [test for test, how, _ in found if not how]
    counted = found if name in OF_PEERS else passed
    assert len(counted) >= AT_LEAST.get(name, 1), said
    if not passed:
        pytest.skip("; ".join(sorted({why for _, _, why in found})))


def test_every_count_is_of_a_file() -> None:
    assert set(AT_LEAST) | OF_PEERS <= set(FILES)


def test_without_a_compiler_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.CannotBuildError, match=r"no C compiler .* \(looked for cc, gcc, clang\)"):
        build.build(tmp_path)
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(build.CannotBuildError, match="looked for CC=no-such-compiler -m64"):
        build.build(tmp_path)


def test_the_contract_needs_a_library_that_can_be_loaded(tmp_path: Path) -> None:
    done = asked(str(tmp_path / "libcudart.so"))
    assert done.returncode == 2
    assert "the library cannot be loaded" in done.stderr


@pytest.mark.peers
def test_a_real_runtime_without_a_driver_says_so() -> None:
    spec = pytest.importorskip("nvidia", reason="no CUDA runtime is installed")
    found = sorted(path for place in spec.__path__ for path in Path(place).glob("*/lib/libcudart.so.*"))
    if not found:
        pytest.skip("no CUDA runtime is installed")
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a driver")
    done = asked(str(found[0]))
    assert done.returncode == 25  # each of the facts
    assert "every call failed with 35 (cudaErrorInsufficientDriver: " in done.stdout
    assert done.stderr == ""


def asked(library: str) -> subprocess.CompletedProcess[str]:
    """Return how the contract ended for a library."""
    return subprocess.run([sys.executable, str(CONTRACT), library], capture_output=True, check=False, text=True)
