"""The Makefile says in one line what it cannot do, and cleans up behind itself."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers  # starts make, which is not part of every environment

MAKEFILE = Path(__file__).resolve().parent.parent / "Makefile"


MADE = (".venv", "asv_bench/.asv", "asv_bench/deep/__pycache__", "tests/__pycache__", "__pycache__")


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(MAKEFILE, folder)
    command = ["make", "--no-print-directory", "--directory", str(folder), *arguments]
    return subprocess.run(["env", "-u", "MAKEFLAGS", *command], capture_output=True, check=False, text=True)  # noqa: S607 - those on the path


def script(folder: Path, body: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'pyenv: python: command not found' >&2; echo 'It exists in: 3.12' >&2; exit 127", "does not run"),
        ('test "$2" = "" || { echo "buflend needs Python 3.11 or newer" >&2; exit 1; }', "needs Python 3.11 or newer"),
    ],
)
def test_an_interpreter_that_cannot_be_used_is_said_in_a_line(tmp_path: Path, body: str, said: str) -> None:
    done = make(tmp_path, f"PYTHON={script(tmp_path, body)}", "lint")
    assert done.returncode == 2
    ours = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(ours) == 1
    assert said in ours[0]
    assert not (tmp_path / ".venv").exists()


def test_an_interpreter_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = make(tmp_path, "PYTHON=no-such-python", "test")
    assert done.returncode == 2
    assert "no-such-python is not there or does not run" in done.stderr


@pytest.mark.parametrize(
    ("target", "program", "arguments", "asked"),
    [
        ("dashboard", "buflend", "--quick", "dashboard --quick"),
        ("slower", "python", "main HEAD", "asv_bench/slower.py main HEAD"),
    ],
)
def test_a_target_is_advertised_and_gets_its_arguments(
    target: str, program: str, arguments: str, asked: str, tmp_path: Path
) -> None:
    assert f"make {target} " in make(tmp_path, "help").stdout
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("pyproject.toml", ".venv/.pip", ".venv/.bench", ".venv/.dashboard"):  # as if all were set up
        (tmp_path / name).touch()
    script(tmp_path, 'echo "asked for: $*"')
    (tmp_path / "python").rename(tmp_path / ".venv" / "bin" / program)
    assert f"asked for: {asked}\n" in make(tmp_path, target, f"ARGS={arguments}").stdout


def test_the_hunt_is_advertised_and_gets_its_arguments(tmp_path: Path) -> None:
    assert "make hostile " in make(tmp_path, "help").stdout
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("pyproject.toml", ".venv/.pip", ".venv/.hostile"):  # as if all were set up
        (tmp_path / name).touch()
    script(tmp_path / ".venv" / "bin", 'echo "asked for: $*"')
    assert "asked for: -m tests.hostile.long --minutes 1\n" in make(tmp_path, "hostile", "ARGS=--minutes 1").stdout


def test_clean_leaves_the_sources(tmp_path: Path) -> None:
    made = [tmp_path / place for place in MADE]
    for folder in (*made, tmp_path / "minimal", tmp_path / "maximal", tmp_path / "shared" / "kept"):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    assert make(tmp_path, "clean").returncode == 0
    assert not any(folder.exists() for folder in made)
    assert (tmp_path / "shared" / "kept" / "file").exists()
    assert (tmp_path / "asv_bench" / "deep").is_dir()
