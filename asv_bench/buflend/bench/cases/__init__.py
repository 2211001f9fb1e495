"""The cases of the battery: small frames with their right values, one file per subject.

Every expected value follows from the specification of the dataframe interchange protocol and is checked by the tests
against a reader that does what the text says, one value at a time.
"""

from collections import Counter
from functools import cache

from . import (
    booleans,
    categories,
    chunks,
    contradictions,
    copies,
    devices,
    hostile,
    lifetimes,
    nulls,
    numeric,
    text,
    times,
)
from ._case import Case

__all__ = ["SUBJECTS", "Case", "all_cases"]

SUBJECTS = (
    numeric,
    nulls,
    booleans,
    text,
    times,
    categories,
    chunks,
    contradictions,
    hostile,
    devices,
    copies,
    lifetimes,
)


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case, in the order of the subjects.

    Raises
    ------
    ValueError
        When two cases have one name.
    """
    found = tuple(case for subject in SUBJECTS for case in subject.cases())
    twice = [name for name, count in Counter(case.name for case in found).items() if count > 1]
    if twice:
        raise ValueError(f"cases: names must be unique, these are not: {twice}")
    return found
