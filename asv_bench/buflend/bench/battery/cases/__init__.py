"""The cases of the battery: small frames with their right values, by subject.

Every expected value follows from the specification of the dataframe interchange protocol and is checked by the tests
against a reader that does what the text says, one value at a time.
"""

from collections import Counter
from functools import cache

from . import categories, chunks, fixed, liars, memory, nulls, text
from ._build import Case

__all__ = ["SUBJECTS", "Case", "all_cases"]

SUBJECTS = {
    "numeric": fixed.numeric,
    "nulls": nulls.cases,
    "booleans": fixed.booleans,
    "text": text.cases,
    "times": fixed.times,
    "categories": categories.cases,
    "chunks": chunks.cases,
    "contradictions": liars.contradictions,
    "hostile": liars.hostile,
    "devices": memory.devices,
    "copies": memory.copies,
    "lifetimes": memory.lifetimes,
}


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case, in the order of the subjects; a ValueError where two have one name."""
    found = tuple(case for cases in SUBJECTS.values() for case in cases())
    twice = [name for name, count in Counter(case.name for case in found).items() if count > 1]
    if twice:
        raise ValueError(f"cases: names must be unique, these are not: {twice}")
    return found
