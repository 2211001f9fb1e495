"""Lifetimes, at random: sequences of what people do, compared with a plain model of who holds whom.

After each step those owners are alive that the model says, what is left reads its bytes, no struct was released twice,
and `live_exports` tells what the model has lent. In the end every owner is gone, once, without the collector.

BUFLEND_LIFETIMES=N runs N sequences instead of a few, and prints what was done in them.
"""

import importlib.util
import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import Machine, done

WANTED = int(os.environ.get("BUFLEND_LIFETIMES", "0"))
FEW, STEPS = 60, 40
LIBRARIES = ("arro3.core", "nanoarrow", "pandas", "polars", "pyarrow", "torch")


def _run(machine: type[Machine]) -> None:
    # A sequence that fails is shown as it was found: shrinking it takes minutes.
    chosen = settings(
        max_examples=WANTED or FEW,
        stateful_step_count=STEPS,
        report_multiple_bugs=False,
        phases=[Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    done.clear()
    run_state_machine_as_test(machine, settings=chosen)
    if WANTED:
        pass


def test_alone() -> None:
    _run(Machine)


@pytest.mark.peers
def test_with_peers() -> None:
    class WithPeers(Machine):
        libraries = frozenset(name for name in LIBRARIES if importlib.util.find_spec(name.partition(".")[0]))

    for name in WithPeers.libraries:
        importlib.import_module(name)
    _run(WithPeers)
