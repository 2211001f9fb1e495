"""What was once wrong: each kind of fault, at every place of a producer where it can be.

Nothing is drawn, and each place is tried: one Python is enough for it (`OF_THE_TESTS` in `noxfile.py`).
"""

from collections.abc import Iterator

import pytest

from .hostile.case import Input, table_of
from .hostile.driver import wrong_with
from .hostile.protocols import PROTOCOLS

KINDS = {
    "a dunder that raises": ("is what raises RuntimeError", "is what raises PanicError", "is what raises SystemExit"),
    "an answer without an end": ("is endless",),
    "a class that is said wrongly": (
        "is a liar that it is a Buffer",
        "is a liar that it is a Column",
        "is a liar that it is a tuple",
        "is what raises RuntimeError of its class",
        "is what raises SystemExit of its class",
    ),
    "an integer that says it is in bounds": ("is 2**40, and equal to all", "is an integer that raises PanicError"),
    "a dict that raises": ("is a dict that raises RuntimeError", "is a dict that raises KeyboardInterrupt"),
    "an interrupt that would hold its producer": ("raises KeyboardInterrupt",),
    "text that raises": ("is text that raises PanicError",),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_fault_at_every_place(protocol: str, kind: str) -> None:
    assert wrong_with(list(_everywhere(protocol, KINDS[kind]))) == {}


# What stands in a column is read in one way, wherever the column does: these places are not tried again.
AGAIN = ("get_chunks()", "['categories'].", "get_column_by_name('", "['validity'][0]", "['offsets'][0]", "<children>")


def _everywhere(protocol: str, names: tuple[str, ...]) -> Iterator[Input]:
    """Yield inputs with these faults at each place, once though several producers have it (in chunks, once more)."""
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for base in PROTOCOLS[protocol].bases:
        table, before = table_of(protocol, base), seen[base.startswith("chunks")]
        for path in [path for path in table if path not in before and not any(part in path for part in AGAIN)]:
            yield from (Input(protocol, base, ((path, name),)) for name in names if name in table[path])
        before |= table.keys()
