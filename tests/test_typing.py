"""mypy accepts and refuses what typing_cases.py says, also with the installed package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers  # runs mypy

CASES = Path(__file__).with_name("typing_cases.py")
IGNORE = re.compile(r"  # type: ignore\[([a-z, -]+)\]")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder for what mypy remembers, so that NumPy's types are read once."""
    return str(tmp_path_factory.mktemp("mypy"))


def mypy(source: str, folder: Path, cache: str, roots: list[str]) -> str:
    """Return what mypy, strict and without this project's settings, says about a source."""
    file = folder / "cases.py"
    file.write_text(source, encoding="utf-8")
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\nfollow_imports = silent\n", encoding="utf-8")
    # Installed packages are found by mypy itself, which refuses to be told about them.
    told = os.pathsep.join(root for root in roots if Path(root).name != "site-packages")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            "mypy.ini",
            "--cache-dir",
            cache,
            "--no-error-summary",
            file.name,
        ],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, "MYPYPATH": told},
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_cases_hold(tmp_path: Path, cache: str, roots: list[str]) -> None:
    assert mypy(CASES.read_text("utf-8"), tmp_path, cache, roots) == ""


def test_refusals_are_refusals(tmp_path: Path, cache: str, roots: list[str]) -> None:
    source = CASES.read_text("utf-8")
    expected = {
        (number, code)
        for number, line in enumerate(source.splitlines(), 1)
        for codes in IGNORE.findall(line)
        for code in codes.split(", ")
    }
    found = re.findall(
        r"^cases\.py:(\d+): error: .*\[([a-z-]+)\]$", mypy(IGNORE.sub("", source), tmp_path, cache, roots), re.MULTILINE
    )
    assert {(int(number), code) for number, code in found} == expected
    assert len(expected) >= 15
