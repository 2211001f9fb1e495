"""Work in a forked child of this process, so that a crash is a result.

Rules of this file: the process that forks has imported libraries and used nothing of them, so that no thread of theirs
exists when children are made; its caller sees to that. A child ends by `os._exit`: nothing of the parent's is torn down
in it. What a child prints is lost.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

LIMIT = 20.0
"""Seconds a child may take."""


class Ended(NamedTuple):
    """How a child ended.

    Parameters
    ----------
    answer : bytes
        What its work returned, as far as it came.
    code : int or None
        Its exit code, negative for a signal; None where it took too long and was ended.
    """

    answer: bytes
    code: int | None


def run(work: Callable[[], bytes], limit: float = LIMIT) -> Ended:
    """Do work in a child of this process; only where there is `os.fork`."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    parts, deadline = [], time.monotonic() + limit
    ready: list[int] = []
    try:
        while ready := select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(ready[0], 1 << 16)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(reading)
        if not ready:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ended(b"".join(parts), code if ready else None)


def _answer(work: Callable[[], bytes], writing: int) -> NoReturn:
    """Do the work in the child, write what it returns, and end."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)  # what a panic prints is in its exception too
        _no_core()
        os.write(writing, work())
        code = 0
    finally:
        os._exit(code)


def _no_core() -> None:
    with contextlib.suppress(ImportError, ValueError):  # ImportError: Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def death(code: int) -> str:
    """Say how a process ended: the name of its signal, or its exit code."""
    if code >= 0:
        return f"exit code {code:#x}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
