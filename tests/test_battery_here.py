"""The battery, read by ours in this process: what `test_battery` measures, without what isolates a crash.

A case is a test, so that a fault is seen where it happens, and one case runs alone in milliseconds. Tables of ours,
whose columns lie as the producer's do, are held against it as well. The mutants of foreign frames are killed by it.
"""

from typing import Any

import pytest

from buflend import maximal
from buflend.bench.battery import runner
from buflend.bench.battery.adapters import Ours, Reading
from buflend.bench.battery.cases import all_cases
from buflend.bench.battery.readers import consumers
from buflend.shared import BuflendError


def by_a_table(frame: Any, allow_copy: bool) -> Reading:
    table = maximal.as_table(frame, allow_copy=allow_copy)
    return Ours("maximal").canonical(maximal.dataframe_to_ndarrays(table, allow_copy=allow_copy))


CASES = {case.name: case for case in all_cases()}
OURS = {consumer.name: consumer for consumer in consumers() if consumer.ours}
OURS["table"] = OURS["maximal"]._replace(read=by_a_table)

# What a table takes over as it lies: who reads the values looks at text and codes, who reads the memory at the device,
# and nothing need be copied before.
LATER = ("invalid-utf8-", "valid-bytes-invalid-strings", "code-", "dictionaries-ordered-", "device-", "must-copy-")
# A column's dictionary is in one piece.
REFUSED = {"categories-in-chunks"}


# A table takes over memory of a device, for which it asks for the pointer.
READ = [(package, name) for package in OURS for name in CASES if package != "table" or not name.startswith("device-")]


@pytest.mark.parametrize(("package", "name"), READ)
def test_is_right(package: str, name: str) -> None:
    OURS[package].load()
    verdict = runner.attempt(OURS[package], CASES[name])
    if package == "table" and name in REFUSED:
        assert verdict.outcome == "refused"
    else:
        assert verdict.outcome == "right", verdict.detail


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.errors and not n.startswith(LATER)])
def test_a_table_refuses_what_cannot_be_before_it_is_one(name: str) -> None:
    case = CASES[name]
    with pytest.raises(BuflendError) as caught:
        maximal.as_table(case.make(), allow_copy=case.allow_copy)
    assert type(caught.value).__name__ in case.errors


def test_both_are_read() -> None:
    assert sorted(OURS) == ["maximal", "minimal", "table"]
