"""The part `hostile` of the comparison: every input on every consumer that speaks its protocol; `runner` judges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from ..consumers import version
from .consumers import CONSUMERS, Consumer
from .inputs import PROTOCOLS
from .runner import OUTCOMES, applies, run
from .tables import inputs

if TYPE_CHECKING:
    from collections.abc import Callable


def measure(progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Let all consumers read, two at a time; `progress` is called from one thread at a time.

    Return, JSON-able, `inputs`, and `consumers`: `results` by input and `score`, a number for each outcome. A
    RuntimeError says that the part itself fails.
    """
    table = inputs()
    names = {one.name: [each.name for each in table if applies(one, each)] for one in CONSUMERS}
    reasons = {one.name: one.reason() for one in CONSUMERS}
    readers = [one for one in CONSUMERS if not reasons[one.name]]
    total = sum(len(names[one.name]) for one in readers)
    done, lock, interrupted = count(1), Lock(), Event()

    def read(consumer: Consumer) -> dict[str, dict[str, str]]:
        results: dict[str, dict[str, str]] = {}
        for message in run(consumer.name, names[consumer.name]):
            if interrupted.is_set():
                break
            if "cannot" in message:
                reasons[consumer.name] = message["cannot"]
                break
            results[message["input"]] = {key: message[key] for key in ("outcome", "detail")}
            with lock:
                progress(f"{consumer.name}: input {len(results)} of {len(names[consumer.name])}", next(done) / total)
        return results

    with ThreadPoolExecutor(2) as pool:  # two processes side by side, the threads only wait for what they tell
        try:
            results = dict(zip((one.name for one in readers), pool.map(read, readers), strict=True))
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {
        "available": True,
        "reason": "",
        "protocols": list(PROTOCOLS),
        "inputs": [
            {"name": one.name, "protocol": one.protocol, "fault": one.fault, "expects": one.expects()} for one in table
        ],
        "consumers": {
            one.name: {
                "available": not reasons[one.name],
                "reason": reasons[one.name],
                "version": version(one.name),
                "results": results.get(one.name, {}),
                "score": score(results.get(one.name, {})),
            }
            for one in CONSUMERS
        },
    }


def score(results: dict[str, dict[str, str]]) -> dict[str, int]:
    """Count the outcomes."""
    found = [result["outcome"] for result in results.values()]
    return {outcome: found.count(outcome) for outcome in OUTCOMES} | {"total": len(found)}
