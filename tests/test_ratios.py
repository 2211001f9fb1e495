"""What is fast stays fast: the ratios of `make bars`, on a machine that does other work too.

Lives here: for each bar of the host that is a time, what its ratio was on a calm machine, and what it may be. The two
sides, and how they are measured in turns, stand in `asv_bench/bars.py`; no time is looked at but in a ratio.

A bound is wide for a busy machine, and below twice what was measured on a calm one: where our side takes twice as long
it is missed, also where the bar itself would still be met. `test_ratios_planted` plants that, and looks. A ratio above
its bound is measured again, ATTEMPTS times in all, and the smallest counts: what is slower in the code is slower each
time, a busy machine is not.

What was measured is CPython 3.11 with NumPy 2, on which `noxfile.py` lets these tests run (`OF_THE_COMMAND`), whichever
way it was compiled. On 3.13 some ratios are others. Who makes something faster enters the new ratio, and its bound.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ATTEMPTS = 5
ROUNDS = 15


class Ratio(NamedTuple):
    """Ours over the other's: measured on a calm machine, and the most that it may be."""

    calm: float
    bound: float


Name = tuple[str, str]  # what is measured, against what

NDARRAY, CALLBACKS = "numpy.from_dlpack(ndarray)", "ctypes callbacks"
READERS = ("as_table(pandas)", "pandas from_dataframe"), ("as_table(pyarrow)", "pyarrow from_dataframe")
ENDS = "1 kB to 10 GB"  # flat is 1, whatever it takes: a bound of growth
# What is measured together -> its ratios.
RATIOS: dict[str, dict[Name, Ratio]] = {
    "import": {
        ("import buflend.minimal", "import ctypes, enum"): Ratio(0.72, 1.08),
        ("import buflend.minimal", "import nanoarrow"): Ratio(0.245, 0.37),
    },
    "as_ndarray": {
        ('as_ndarray(buffer, "int64")', "the recipe of 2021"): Ratio(0.182, 0.27),
        ('as_ndarray(buffer, "int64")', "numpy.frombuffer(owner)"): Ratio(3.25, 4.7),
    },
    "as_buffer": {("as_buffer, from_dlpack", NDARRAY): Ratio(6, 8.7)},
    "from_dlpack": {("numpy.from_dlpack(buffer)", NDARRAY): Ratio(1.07, 1.6)},
    "to-torch": {("torch.from_dlpack(buffer)", "torch.from_dlpack(ndarray)"): Ratio(1.02, 1.5)},
    "from-torch": {("as_buffer, as_ndarray", "numpy.from_dlpack(tensor)"): Ratio(0.7, 1.03)},
    "dlpack-of-cuda": {("DLPack of CUDA memory", CALLBACKS): Ratio(0.195, 0.285)},
    "dlpack-of-bfloat16": {("DLPack of bfloat16", CALLBACKS): Ratio(0.195, 0.285)},
    "dlpack-of-4-bits": {("DLPack of packed 4 bits", CALLBACKS): Ratio(0.295, 0.43)},
    "capsules": {("capsules of a column", "one ctypes callback"): Ratio(5.3, 7.7)},
    "column": {("pyarrow.array(column)", "pyarrow.array(ndarray)"): Ratio(1.35, 2)},
    # The others read each value: with few rows both sides take about as long, with many a copy of ours would show.
    "tables": {READERS[0]: Ratio(0.23, 0.37), READERS[1]: Ratio(1, 1.5)},
    "long-tables": {READERS[0]: Ratio(0.07, 0.12), READERS[1]: Ratio(0.52, 0.9)},
    "flat": {
        ("numpy.from_dlpack of mmap", ENDS): Ratio(1.05, 1.6),
        ("as_ndarray of mmap", ENDS): Ratio(1.05, 1.6),
        ("pyarrow.array of mmap", ENDS): Ratio(1.05, 1.6),
    },
}
# Those that differ by more than a tenth.
ON_3_13 = {
    ("import buflend.minimal", "import ctypes, enum"): Ratio(1.2, 1.75),
    ("as_buffer, from_dlpack", NDARRAY): Ratio(4.6, 6.7),
    ("capsules of a column", "one ctypes callback"): Ratio(3.9, 5.7),
}
# Those whose other side is a library beside NumPy, which must be there; of the import and of torch it may be missing.
PEERS = {"import", "column", "tables", "long-tables", "flat"}
OPTIONAL = {"to-torch": "torch", "from-torch": "torch"}
# Before 2.1 NumPy cannot make capsules for others: ours are those that it is compared with.
BY_NUMPY = {"as_buffer", "from_dlpack", "to-torch", "dlpack-of-cuda", "dlpack-of-bfloat16", "dlpack-of-4-bits"}


@pytest.fixture(scope="module")
def bars() -> Iterator[Any]:
    """Return the script of the bars as a module; what it starts finds the same `buflend`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPOSITORY / "asv_bench"))  # a script finds what lies beside it
        yield importlib.import_module("bars")


def measure(bars: Any, group: str) -> Callable[[], Iterator[Any]]:
    """Return what measures a group and yields its rows."""
    others: dict[str, Callable[[], Iterator[Any]]] = {
        "import": lambda: bars.imports(5),
        "as_ndarray": lambda: bars.arrays(ROUNDS),
        "capsules": lambda: bars.capsules(31),
        "column": lambda: bars.columns(ROUNDS),
        "tables": lambda: bars.frames(31, 1000),
        "long-tables": lambda: bars.frames(5, 100_000),
        "flat": lambda: bars.flat(9),
    }
    chosen = [work for work in bars.WORKS if (work.bar.work, work.bar.against) in RATIOS[group]]
    return others.get(group, lambda: bars.works(ROUNDS, chosen=chosen))


def smallest(wanted: dict[Name, Ratio], measure: Callable[[], Iterator[Any]]) -> dict[Name, float]:
    """Return the smallest median of each ratio, of as many measurements as it takes for all to be within the bounds."""
    found: dict[Name, float] = {}
    for _ in range(ATTEMPTS):
        for row in measure():
            name = row.bar.work, row.bar.against
            found[name] = min(median(row.ratios), found.get(name, float("inf")))
        if all(found[name] <= ratio.bound for name, ratio in wanted.items()):
            break
    return {name: found[name] for name in wanted}


def marked(group: str) -> Any:
    """Return a group as a parameter, marked where its other side is more than NumPy."""
    marks: dict[bool, Any] = {True: pytest.mark.peers, False: ()}
    return pytest.param(group, marks=marks[group in PEERS or group in OPTIONAL])


@pytest.mark.parametrize("group", [marked(group) for group in RATIOS])
def test_takes_no_longer_than_it_may(group: str, bars: Any) -> None:
    if group in OPTIONAL:
        pytest.importorskip(OPTIONAL[group])
    if group in BY_NUMPY and tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        pytest.skip(f"NumPy 2.1 or newer makes these capsules, this is {np.__version__}")
    wanted = {
        name: ratio if sys.version_info < (3, 13) else ON_3_13.get(name, ratio) for name, ratio in RATIOS[group].items()
    }
    found = smallest(wanted, measure(bars, group))
    told = {
        name: f"{' / '.join(name)}: {found[name]:.3g}, at most {bound:g} ({calm:g} on a calm machine)"
        for name, (calm, bound) in wanted.items()
    }
    print(*told.values(), sep="\n")  # noqa: T201 - shown where it fails, and with -s
    assert not [told[name] for name, ratio in wanted.items() if found[name] > ratio.bound]


def test_a_bound_is_wide_and_sees_twice() -> None:
    assert {name for group in RATIOS.values() for name in group} > ON_3_13.keys()
    for ratios in (*RATIOS.values(), ON_3_13):
        for name, ratio in ratios.items():
            assert 1.4 <= ratio.bound / ratio.calm <= 1.75, name


class Rows:
    """Measures one ratio, which is each time the next of a list."""

    def __init__(self, *ratios: float) -> None:
        self.ratios = list(ratios)

    def __call__(self) -> Iterator[Any]:
        ratio = self.ratios.pop(0)
        yield SimpleNamespace(bar=SimpleNamespace(work="this", against="that"), ratios=[ratio, ratio * 9, ratio / 9])


@pytest.mark.parametrize(
    ("ratios", "left", "found"),
    [
        ((1, 5), [5], 1),
        ((1.5, 5), [5], 1.5),
        ((2, 3, 1.2, 5), [5], 1.2),
        ((3, 2, 4, 5, 6, 1), [1], 2),
    ],
)
def test_a_busy_moment_is_measured_again_and_slower_code_too_often(
    ratios: tuple[float, ...], left: list[float], found: float
) -> None:
    rows = Rows(*ratios)
    assert smallest({("this", "that"): Ratio(1, 1.5)}, rows) == {("this", "that"): found}
    assert rows.ratios == left
