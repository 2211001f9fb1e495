"""The files that users get: what the wheel and the sdist hold, and what they make importable."""

import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from email import message_from_string
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers  # builds with `build` and hatchling

REPOSITORY = Path(__file__).resolve().parent.parent
ROOTS = ("shared", "minimal", "maximal", "asv_bench")
PARTS = ("shared", "minimal", "maximal", "bench")
SUFFIXES = {".css", ".html", ".j2", ".js", ".py", ".typed"}
LARGEST = 200_000  # bytes
COMMAND = "asv_bench/buflend/bench"
SHIPPED = {"__init__.py", "py.typed"}  # of the command, whose measurements are of the repository

Run = Callable[..., str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the sdist of this tree."""
    folder = tmp_path_factory.mktemp("built")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--sdist",
        "--wheel",
        "--outdir",
        str(folder),
        str(REPOSITORY),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the path of the wheel."""
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds what the wheel installs; for a pure wheel that is its content."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


@pytest.fixture(scope="module")
def information(unpacked: Path) -> Path:
    """Return the dist-info folder."""
    (folder,) = unpacked.glob("*.dist-info")
    return folder


def test_tag_and_size(wheel: Path) -> None:
    assert wheel.name.startswith("buflend-")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < LARGEST


def test_the_wheel_holds_the_tree_and_nothing_else(unpacked: Path, information: Path) -> None:
    tree = {
        str(path.relative_to(REPOSITORY / root))
        for root in ROOTS
        for path in (REPOSITORY / root / "buflend").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    tree -= {
        name for name in tree if name.startswith("buflend/bench/") and name[len("buflend/bench/") :] not in SHIPPED
    }
    shipped = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    about = {
        f"{information.name}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert shipped == tree | about
    assert {Path(name).suffix for name in tree} <= SUFFIXES


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_there_and_typed(unpacked: Path, part: str) -> None:
    assert (unpacked / "buflend" / part / "__init__.py").is_file()
    assert (unpacked / "buflend" / part / "py.typed").is_file()


def test_nothing_is_required(information: Path) -> None:
    metadata = message_from_string((information / "METADATA").read_text("utf-8"))
    unconditional = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert unconditional == []
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert set(metadata.get_all("Provides-Extra", [])) == {"bench", "cupy", "numpy"}


def test_the_command_is_declared(information: Path) -> None:
    assert "buflend = buflend.bench:main" in (information / "entry_points.txt").read_text("utf-8")


def test_only_buflend_can_be_imported(run_python: Run, unpacked: Path) -> None:
    code = """
from importlib.util import find_spec
import buflend.minimal, buflend.maximal, buflend.shared, buflend.bench
print([name for name in ("asv_bench", "bench", "benchmarks", "maximal", "minimal", "shared") if find_spec(name)])
print(buflend.minimal.__file__)
"""
    names, origin = run_python(code, path=[str(unpacked)]).splitlines()
    assert names == "[]"
    assert Path(origin).is_relative_to(unpacked)


def test_the_command_says_where_its_measurements_are(run_python: Run, unpacked: Path) -> None:
    code = """
import contextlib, io
from buflend.bench import main
with contextlib.redirect_stderr(io.StringIO()) as said:
    print(main())
print("make compare" in said.getvalue())
"""
    assert run_python(code, path=[str(unpacked)]) == "2\nTrue\n"


@pytest.mark.parametrize(
    "name",
    [
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md", "noxfile.py"),
        "pyproject.toml",
        *("asv_bench/bars.py", "docs/how-it-works.md", "docs/vendoring.md", "tests/conftest.py", "tests/test_wheel.py"),
        *(f"{COMMAND}/{name}.py" for name in ("cli", "battery/part", "battery/cases/liars", "hostile/part")),
        *(f"{root}/buflend/{part}/py.typed" for root, part in zip(ROOTS, PARTS, strict=True)),
    ],
)
def test_the_sdist_holds_what_contributors_need(built: Path, name: str) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if "/" in member.name}
    assert name in names
