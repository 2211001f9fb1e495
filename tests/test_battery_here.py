"""The battery, read by ours in this process: what `test_battery` measures, without what isolates a crash.

A case is a test, so that a fault is seen where it happens, and one case runs alone in milliseconds. The mutants of
foreign columns and frames are killed by it.
"""

import pytest

from buflend.bench.battery import runner
from buflend.bench.battery.cases import all_cases
from buflend.bench.battery.readers import consumers

CASES = {case.name: case for case in all_cases()}
OURS = {consumer.name: consumer for consumer in consumers() if consumer.ours}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("package", OURS)
def test_is_right(package: str, name: str) -> None:
    OURS[package].load()
    verdict = runner.attempt(OURS[package], CASES[name])
    assert verdict.outcome == "right", verdict.detail


def test_both_are_read() -> None:
    assert sorted(OURS) == ["maximal", "minimal"]
