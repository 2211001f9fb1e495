"""Producers that lie, break and change their minds: each is refused with a documented error, or read right.

Some inputs of each protocol are drawn by Hypothesis. BUFLEND_HOSTILE says how many; `python -m tests.hostile.long`
draws for minutes.
"""

import os

import pytest

from .guard import survived
from .hostile.case import Input
from .hostile.driver import Found, hunt, wrong_with
from .hostile.protocols import PROTOCOLS

COUNT = int(os.environ.get("BUFLEND_HOSTILE", "40"))

protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


@protocols
def test_any_input_is_refused_or_read_right(protocol: str) -> None:
    found: Found = survived(hunt(protocol, COUNT))
    assert found.inputs
    assert not found.faults


@protocols
def test_what_tells_the_truth_is_read(protocol: str) -> None:
    given = [Input(protocol, base, twice=twice) for base in PROTOCOLS[protocol].bases for twice in (False, True)]
    assert wrong_with(given) == {}
