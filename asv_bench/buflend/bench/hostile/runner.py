"""Each hostile input in a process of its own, and what a consumer's answer to it is worth.

A job is one consumer's inputs: its process imports the library and uses nothing of it, as `processes` asks for; where
there is no fork, a fresh interpreter reads each input. *Right* are values that may be read, and a refusal that is due
or allowed; *refused* is a refusal of what is sound; *wrong* are other values, a lie that was believed, and structs that
were not released once, whatever came of the reading; *crashed* and *hung* are the end of the process.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import sys
import traceback
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .. import processes
from ..consumers import find
from . import abi, consumers
from .consumers import Consumer, plain
from .tables import inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .inputs import Input

OUTCOMES = ("right", "refused", "wrong", "crashed", "hung")
LIMIT = 60.0
"""Seconds a child may take: what dies of depth takes seconds for it, and a busy machine gives it a part of them."""

PLACE = f"{consumers.__name__}:CONSUMERS"
"""Where a child finds who reads."""

ROOM = 4 << 30
"""Bytes that a child may take beside what its parent has: what asks for more is told that there is none."""


def applies(consumer: Consumer, one: Input) -> bool:
    """Tell whether a consumer speaks what an input speaks."""
    if consumer.lacks is not None and one.fault.startswith(consumer.lacks):
        return False
    return one.protocol in consumer.takes and not (consumer.rows and one.rows is None)


def attempt(consumer: Consumer, one: Input) -> dict[str, str]:
    """Read an input in this process, which it may end; return `outcome` and `detail`."""
    abi.LOANS.clear()
    made = one.rows() if consumer.rows and one.rows is not None else one.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _read(consumer, one, made)
    del made
    gc.collect()
    gc.collect()
    owed = abi.owed()
    if owed:
        return {"outcome": "wrong", "detail": "; ".join(filter(None, (owed, f"{found['outcome']}: {found['detail']}")))}
    return found


def _read(consumer: Consumer, one: Input, made: Any) -> dict[str, str]:
    take = consumer.takes[one.protocol]
    try:
        if one.twice:
            take(made)()
        give = take(made)
        del made
        gc.collect()
        values = plain(give())
    except BaseException as error:  # noqa: BLE001 - a panic of a library in Rust is no Exception
        told = _sentence(error)
        return {"outcome": "refused" if one.sound else "right", "detail": told}
    return judge(one, values)


def judge(one: Input, values: Any) -> dict[str, str]:
    """Judge what was read."""
    raw = isinstance(values, bytes)
    allowed: Sequence[Any] = [one.raw] if raw and one.raw is not None else [] if raw else one.right
    if any(same(values, wanted) for wanted in allowed):
        return {"outcome": "right", "detail": ""}
    told = "what cannot be shown"  # text that is none, lists that are too deep
    with suppress(Exception):
        told = _short(ascii(values))
    return {"outcome": "wrong", "detail": f"read {told}, {one.expects()}"}


def same(got: Any, wanted: Any) -> bool:
    """Compare values; some libraries tell what is missing by NaN."""
    if wanted is None:
        return got is None or (isinstance(got, float) and math.isnan(got))
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(same(*each) for each in zip(got, wanted, strict=True))
        )
    if isinstance(wanted, dict):
        return isinstance(got, dict) and got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in got)
    return bool(got == wanted)


def _sentence(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
        if name == "SystemError" and "without setting an exception" in text:
            # The producer's callbacks are Python, and lose an exception that is pending while they are called.
            return "an exception, lost while the producer took its struct back"
        return f"{name}: {_short(text)}"
    except Exception:  # noqa: BLE001 - an error of a library may fail to say anything
        return name


def _short(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def job(payload: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    """Tell of each input of `names` what became of it on `consumer`: a job for `processes.run`."""
    os.environ.update(processes.SETTINGS)
    sys.setrecursionlimit(1000)
    readers: Any = find(payload["place"])
    (consumer,) = (one for one in readers if one.name == payload["consumer"])
    try:
        for package in consumer.packages():
            importlib.import_module(package)
    except Exception as error:  # noqa: BLE001 - a library that is installed and does not load is absent
        tell({"cannot": f"cannot be imported: {_sentence(error)}"})
        return
    wanted = {one.name: one for one in inputs()}
    gc.collect()
    gc.freeze()  # so that a collection in a child copies no page of the parent's
    for name in payload["names"]:
        tell({"input": name, **(_forked if payload["fork"] else _here)(consumer, wanted[name], payload["limit"])})


def _here(consumer: Consumer, one: Input, _limit: float) -> dict[str, str]:
    return attempt(consumer, one)


def _forked(consumer: Consumer, one: Input, limit: float) -> dict[str, str]:
    answer, code = processes.fork(lambda: _answer(consumer, one), limit)
    if code is None:
        return {"outcome": "hung", "detail": f"no answer in {limit:g} s"}
    if code or not answer:
        return {"outcome": "crashed", "detail": processes.child_death(code) if code else "ended without an answer"}
    told: dict[str, str] = json.loads(answer)
    if "broken" in told:
        raise RuntimeError(f"hostile: {one.name!r} on {consumer.name} cannot be judged\n{told['broken']}")
    return told


def _answer(consumer: Consumer, one: Input) -> bytes:
    _bound()
    try:
        return json.dumps(attempt(consumer, one)).encode()
    except BaseException:  # noqa: BLE001 - told to the parent, which raises
        return json.dumps({"broken": traceback.format_exc()}).encode()


def _bound() -> None:
    """Bound the memory of this process, where that can be done."""
    with suppress(ImportError, OSError, ValueError):
        import resource
        from pathlib import Path

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most, hard = pages * resource.getpagesize() + ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def run(
    consumer: str, names: Sequence[str], limit: float = LIMIT, *, fork: bool | None = None, place: str = PLACE
) -> Iterator[dict[str, Any]]:
    """Yield what became of inputs on a consumer: `input`, `outcome`, `detail`; or `cannot`, why it reads nothing.

    The consumer is one of those at `place`, as `module:name`. A RuntimeError says that the runner itself fails.
    """
    forks = hasattr(os, "fork") if fork is None else fork
    left = list(names)
    while left:
        order = {"consumer": consumer, "place": place, "fork": forks, "limit": limit}
        order["names"] = left if forks else left[:1]
        end: dict[str, Any] = {}
        for message in processes.run(f"{__name__}:job", order, timeout=processes.TIMEOUT if forks else limit + 10):
            if "end" in message:
                end = message
                continue
            yield message
            if "cannot" in message:
                return
            left.remove(message["input"])
        if end["end"] in ("crashed", "hung") and not forks:
            yield {"input": left.pop(0), "outcome": end["end"], "detail": end["detail"]}
        elif end["end"] != "done":
            raise RuntimeError(f"hostile: the run of {consumer} ended: {end['detail']}")
