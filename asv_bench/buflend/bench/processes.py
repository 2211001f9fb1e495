"""Work in a process of its own, so that a crash is a result: a message, never an exception.

A job is a function named `module:function` that takes a dictionary and a `tell` function, and tells JSON-able
dictionaries while it works, in an interpreter of its own. A child is forked, and gives one answer; who forks has
imported libraries and used nothing of them, so that no thread of theirs exists.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT = 120.0
"""Longest wait in seconds for the next message of a job."""

_START = (
    "import json,sys; order=json.loads(sys.stdin.readline()); sys.path[:]=order['path'];"
    " from buflend.bench import processes; processes.serve(order)"
)


def run(job: str, payload: dict[str, Any], *, timeout: float = TIMEOUT) -> Iterator[dict[str, Any]]:
    """Run a job in a new interpreter and yield what it tells; it is ended after `timeout` seconds without a message.

    The last message has the key `"end"`: `"done"`, `"failed"` (an exception), `"crashed"` or `"hung"`, with `"detail"`.
    """
    order = json.dumps({"path": [os.path.abspath(p) for p in sys.path], "job": job, "payload": payload})  # noqa: PTH100
    process = subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    errors: list[str] = []
    readers = [
        threading.Thread(target=_pass_on, args=(process.stdout, lines.put), daemon=True),
        threading.Thread(target=_pass_on, args=(process.stderr, errors.append), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        try:
            assert process.stdin is not None  # noqa: S101
            process.stdin.write(order + "\n")
            process.stdin.close()
        except OSError:
            pass  # it died at once: its end is told below
        finished = False
        while True:
            try:
                line = lines.get(timeout=timeout)
            except queue.Empty:
                yield {"end": "hung", "detail": f"no sign for {timeout:g} s"}
                return
            if line is None:
                break
            message = json.loads(line)
            finished = "end" in message
            yield message
        process.wait(timeout)
        readers[1].join(1)
        if not finished:
            yield {"end": "crashed", "detail": death(process.returncode, "".join(filter(None, errors)))}
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def answer(job: str, payload: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a job; return all that it told as one dictionary, and the last message where it did not end well."""
    told: dict[str, Any] = {}
    for message in run(job, payload):
        if "end" not in message:
            told |= message
        elif message["end"] != "done":
            return told, message
    return told, {}


def death(code: int, stderr: str) -> str:
    """Say how a process ended: its signal, or its exit code with the last line it wrote."""
    if code < 0:
        return f"signal {_signal(code)}"
    last = stderr.strip().splitlines()[-1:] or ["nothing written"]
    return f"exit code {code}: {last[0][:300]}"


def serve(order: dict[str, Any]) -> None:
    """Do a job in this process; messages go to standard output, whatever a library prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    def tell(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    module, _, name = order["job"].partition(":")
    try:
        job: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], None] = getattr(
            importlib.import_module(module), name
        )
        job(order["payload"], tell)
    except Exception as error:  # noqa: BLE001
        tell({"end": "failed", "detail": f"{type(error).__name__}: {error}"})
    else:
        tell({"end": "done", "detail": ""})
    # Interpreters with several native libraries loaded can die while they are taken down; all has been told by now.
    os._exit(0)


def _pass_on(stream: Any, put: Callable[[str | None], None]) -> None:
    try:
        for line in stream:
            put(line)
    except ValueError:
        pass  # closed by the other side of this file
    put(None)


LIMIT = 20.0
"""Seconds a child may take."""

SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RUST_BACKTRACE": "0",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
"""Environment of who forks: no thread pools, which a child would wait for in vain; JAX takes a device's memory as it
needs it, not most of it at once."""


class Ended(NamedTuple):
    """How a child ended: what its work returned, as far as it came, and its exit code.

    The code is negative for a signal, None where the child took too long and was ended.
    """

    answer: bytes
    code: int | None


def fork(work: Callable[[], bytes], limit: float = LIMIT) -> Ended:
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


def child_death(code: int) -> str:
    """Say how a child ended: the name of its signal, or its exit code."""
    return _signal(code) if code < 0 else f"exit code {code:#x}"


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"number {-code}"
