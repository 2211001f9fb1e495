"""The hunt: many inputs of a protocol, in a forked child, and what came of them.

Lives here: the child, the count, and what is told where it dies. Must not know: any protocol.

Hypothesis draws inside of the child, which says what it is about to try: who dies has named the input.
"""

import gc
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from ..guard import Ended, child, doing, survived
from .case import Input, inputs, prepare
from .oracle import judge

OFTEN = 16  # inputs between collections
ROOM = 4 * 2**30  # bytes of addresses for a child, beside those that it is born with: what has no end ends there
PATIENCE = 20  # seconds for a child, beside a tenth for each input, which takes hundredths
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


class Found(NamedTuple):
    """What came of a hunt: a hash of each input, verdict -> how often, and fault -> the first input that showed it."""

    inputs: list[int]
    verdicts: "Counter[str]"
    faults: dict[str, Input]


def hunt(protocol: str, examples: int, *, seed: int | None = None, go_on: bool = False) -> Ended:
    """Try inputs of a protocol in a child, and return how that ended; its value is a `Found`.

    Parameters
    ----------
    protocol : str
        Name in `PROTOCOLS`.
    examples : int
        How many.
    seed : int, optional
        Of Hypothesis; it chooses one where it is not given, and prints it where something fails.
    go_on : bool, default False
        Whether faults are collected; else the first one is made small and raised.
    """
    return child(lambda: hunted(protocol, examples, seed=seed, go_on=go_on), seconds=PATIENCE + examples / 10)


def hunted(protocol: str, examples: int, *, seed: int | None = None, go_on: bool = False) -> Found:
    """Do what `hunt` does, here."""
    found = Found([], Counter(), {})
    test = prepared(protocol, found, go_on=go_on)
    test = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )(test)
    (test if seed is None else hypothesis.seed(seed)(test))()
    return found


def guided(protocol: str, seconds: int, seed: int) -> Ended:
    """Let Atheris draw inputs for so long, in a child, and return how that ended; its value is a `Found`."""
    return child(lambda: _guided(protocol, seconds, seed), seconds=seconds + PATIENCE * 4)


def _guided(protocol: str, seconds: int, seed: int) -> Found:
    import atheris

    found = Found([], Counter(), {})
    test, end = prepared(protocol, found, go_on=True), time.monotonic() + seconds

    def one(data: bytes) -> None:
        if time.monotonic() > end:
            raise _TimeIsUpError
        test.hypothesis.fuzz_one_input(data)

    folder = tempfile.mkdtemp()  # of random bytes: what is too short for an input is drawn for long
    draw = random.Random(seed)  # noqa: S311 - no secret
    for number in range(64):
        Path(folder, str(number)).write_bytes(draw.randbytes(256))
    options = [f"-seed={seed % 2**31}", "-rss_limit_mb=0", "-max_len=512", "-len_control=0", "-verbosity=0"]
    atheris.Setup([protocol, *options, folder], one)
    try:
        atheris.Fuzz()
    except SystemExit:  # which is how it ends, whatever it was that was raised
        pass
    finally:
        shutil.rmtree(folder)
    return found


class _TimeIsUpError(Exception):
    """Ends a hunt that would go on."""


def prepared(protocol: str, found: Found, *, go_on: bool) -> Any:
    """Return the test of one input of a protocol, which enters what came of it, in a process made ready for it."""

    @given(inputs(protocol))
    def test(one: Input) -> None:
        settled(len(found.inputs))
        doing(repr(one))
        wrong = judge(one, found.verdicts)
        found.inputs.append(hash(one))
        if go_on:
            for fault in wrong:
                found.faults.setdefault(_kind(fault), one)
        else:
            assert not wrong, "\n".join([repr(one), *wrong])

    prepare(protocol)
    settled(0)
    return test


def settled(number: int) -> None:
    """Put aside what is there, before some of the inputs: live exports are looked for among all that is not.

    Before the first one, addresses are limited.
    """
    if not number:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = _addresses() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    if not number % OFTEN:
        gc.collect()
        gc.freeze()


def _addresses() -> int:
    """Return how many bytes of addresses this process has: with large libraries loaded they are gigabytes."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:  # macOS, which has the limit and keeps nobody to it
        return 0


def _kind(fault: str) -> str:
    """Return what makes a fault another one: its entry point, the last line of its error, and where that was raised."""
    lines = [line for line in fault.splitlines() if line.strip()]
    where = [line.strip() for line in lines if line.lstrip().startswith("File")][-1:]
    return " | ".join([lines[0], *where, *lines[-1:]])[:600]


def wrong_with(given: Sequence[Input]) -> dict[str, list[str]]:
    """Return what is wrong with inputs that a child tries, by input."""
    return dict(survived(child(lambda: _tried(given))))


def _tried(given: Sequence[Input]) -> list[tuple[str, list[str]]]:
    found = []
    for number, one in enumerate(given):
        settled(number)
        doing(repr(one))
        if wrong := judge(one):
            found.append((repr(one), wrong))
    return found
