"""What tests share: the checkout, and a fresh interpreter that finds the same `buflend` as the tests do."""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

import buflend

# No test hangs on how long something takes: an example may wait for a slow machine.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")

# The folders that the portions of the namespace lie in: four in a checkout, one where the wheel is installed.
ROOTS = [str(Path(portion).parent) for portion in buflend.__path__]

PEER = re.compile(r"^import (?:nanoarrow|pandas|polars|pyarrow)\b", re.MULTILINE)

# Read by mypy, not run; and run by `test_fake_cuda`, in processes of its own.
collect_ignore = ["typing_cases.py", *([] if "BUFLEND_FAKE_CUDA" in os.environ else ["fake_cuda"])]

Run = Callable[..., str]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples in docstrings that import a peer, as tests that do are marked by hand."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and PEER.search("".join(each.source for each in item.dtest.examples)):
            item.add_marker("peers")


@pytest.fixture(scope="session")
def roots() -> list[str]:
    """Return the folders to put on `sys.path` for `import buflend`."""
    return ROOTS


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Return a function that runs code in a fresh interpreter, away from the checkout, and returns what it printed.

    The code finds nothing but the standard library; `path` (default: the folders of `buflend`) comes first on
    `sys.path`, and `site=True` adds installed packages.
    """

    def run(code: str, *, path: list[str] | None = None, site: bool = False) -> str:
        prelude = f"import sys; sys.path[:0] = {ROOTS if path is None else path!r}\n"
        flags = ["-I"] if site else ["-I", "-S"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            [sys.executable, *flags, "-X", "utf8", "-c", prelude + code],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            encoding="utf-8",
            env=environment,
            timeout=120,
        )
        if done.returncode:
            pytest.fail(f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    return run


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> None:
    """Put aside what is alive, pandas and all: collections, of which tests ask many, then look at their own objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _not_the_checkout() -> None:
    """Fail where the wheel is to be tested and something else is imported."""
    if os.environ.get("BUFLEND_TEST_INSTALLED"):
        assert len(ROOTS) == 1, f"expected one folder of site-packages, got {ROOTS}"
        assert Path(ROOTS[0]).name == "site-packages", f"expected the installed wheel, got {ROOTS}"
