"""A process that has pytest loaded and runs tests in forked children: a run costs a fork, not the start of a process.

Lives here: what `mutants` starts as a script. It reads a request from each line of its input and answers with a line.
Must not know: mutants, the library. Nothing of the tree that is tested is imported before the fork.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import IO, Any, NoReturn

PATIENCE = 120  # seconds for a child that takes less than one
STRAY = 70  # exit status where the library came from elsewhere
SETTINGS = ("-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib", "--assert=plain", "-q", "--color=no")


class Outcomes:
    """A plugin that writes down how each test went, and why where it did not pass."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test, or a failure beside it."""
        if (report.when == "call" or not report.passed) and self.found.get(report.nodeid, ("",))[0] != "failed":
            where = report.longrepr
            why = where[-1] if isinstance(where, tuple) else getattr(getattr(where, "reprcrash", None), "message", "")
            self.found[report.nodeid] = ("error" if report.failed and report.when != "call" else report.outcome, why)


def child(request: dict[str, Any], said: IO[bytes], answer: IO[str]) -> NoReturn:
    """Run the tests of a request in its tree, report, and go: nothing of the parent's is torn down here."""
    status = STRAY
    try:
        signal.alarm(PATIENCE)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        tree = Path(request["tree"])
        os.chdir(tree)
        sys.dont_write_bytecode = not request["keep"]

        import pytest

        where = ("--rootdir", str(tree), "--config-file", str(tree / "pyproject.toml"))
        outcomes = Outcomes()
        ended = pytest.main([*SETTINGS, *where, *request["arguments"]], plugins=[outcomes])
        json.dump(outcomes.found, answer)
        answer.flush()
        strays = sorted(stray(tree))
        sys.stdout.write(f"not of {tree}: {strays}\n" if strays else "")
        sys.stdout.flush()
        sys.stderr.flush()
        status = STRAY if strays else int(ended)
    finally:
        os._exit(status)


def stray(tree: Path) -> set[str]:
    """Return the modules of the library that were loaded from outside a tree."""
    named = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return {name for name, file in named if file and name.startswith("buflend.") and tree not in Path(file).parents}


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return how a child ended, what it said, and how its tests went."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads, which libraries have
            number = os.fork()
        if not number:
            child(request, said, answer)
        _, status = os.waitpid(number, 0)
        said.seek(0)
        answer.seek(0)
        text, found = said.read().decode(errors="replace"), answer.read()
        return {
            "status": os.waitstatus_to_exitcode(status), "said": text, "outcomes": json.loads(found) if found else {}
        }  # fmt: skip


def serve() -> None:
    """Load what every run needs, in an empty folder where no tree is, and answer requests until there are no more."""
    import hypothesis.strategies
    import numpy as np
    import pytest

    del hypothesis, np
    output, sys.stdout = sys.stdout, sys.stderr
    pytest.main(["-q", "-p", "no:cacheprovider", "--noconftest", "--rootdir", ".", "--config-file", os.devnull, "."])
    sys.stdout = output
    gc.collect()
    gc.freeze()  # children, who collect, look at their own objects
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answered(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
