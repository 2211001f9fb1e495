"""Measure the bars that `buflend` has to reach, and print what came out.

    make bars
    make bars ARGS="--long 1000000"

Every row is a ratio of two things measured in this run, in turns, so that a slow minute of the machine slows both; what
is counted is the processor's time, not the time that is waited for it.
Shown are the median over the rounds and the quartiles around it. A bar (what must be) is missed where the median is
above it, a stretch is what we would like; the exit status is 0 all the same, since machines differ: this reports, tests
bound.

Imports are timed inside a fresh interpreter, around the import statement alone. `site` is left out, since what packages
have it load at start depends on what is installed.
Memory is the growth of the resident set over many objects, so that integers and C structs held by an object count.

Flat is the slowest of some sizes over the fastest, by their medians; the memory is a sparse file, mapped, never read.
"""

import argparse
import ctypes
import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import remains
from rounds import CLOCK, in_turns, statements

from buflend import maximal, minimal
from buflend.bench import peers, wording
from buflend.shared import Device, dlpack, dlpack_export, dlpack_light

if TYPE_CHECKING:  # what prints is imported to print: the tests of the ratios have no need of it
    from rich.console import JustifyMethod
    from rich.table import Table

HEADINGS: "dict[str, JustifyMethod]" = {
    "ours\nagainst": "left",
    "each": "right",
    "ratio\nquartiles": "right",
    "at most": "right",
    "verdict": "left",
}
CALLS = 300  # of one measurement
ITEMS = 100_000
OBJECTS = 100_000


class Bar(NamedTuple):
    """One work to be measured, against what, and how many times that it may cost."""

    work: str
    against: str
    bar: float | None
    stretch: float | None


class Row(NamedTuple):
    """A bar and what was measured: the ratios, and both sides' medians in the unit."""

    bar: Bar
    ratios: list[float]
    ours: float
    other: float
    unit: str

    @property
    def limits(self) -> dict[str, float]:
        """Return what the ratio may be at most, by name, where that was set."""
        named = {"bar": self.bar.bar, "stretch": self.bar.stretch}
        return {name: limit for name, limit in named.items() if limit is not None}

    @property
    def verdict(self) -> dict[str, str]:
        """Say which of the limits the median reaches."""
        ratio = median(self.ratios)
        return {name: "met" if ratio <= limit else "missed" for name, limit in self.limits.items()}


IMPORTS = {
    "ctypes, enum": Bar("import buflend.minimal", "import ctypes, enum", 1.5, None),
    "arro3.core": Bar("import buflend.minimal", "import arro3.core", None, 1),
    "nanoarrow": Bar("import buflend.minimal", "import nanoarrow", 1 / 3, 1 / 5),
}
RECIPE = Bar('as_ndarray(buffer, "int64")', "the recipe of 2021", 1 / 4, 1 / 7)
FROMBUFFER = Bar('as_ndarray(buffer, "int64")', "numpy.frombuffer(owner)", 6, 3)
BYTES = Bar("bytes per Buffer", "pyarrow.Buffer", 2, 1)


class Work(NamedTuple):
    """A bar whose two sides are statements, and the package that they need beside NumPy."""

    bar: Bar
    ours: str
    other: str
    package: str = "numpy"


NDARRAY = "numpy.from_dlpack(ndarray)"
WORKS = (
    Work(Bar("as_buffer, from_dlpack", NDARRAY, 8, 4), "np.from_dlpack(as_buffer(array))", "np.from_dlpack(array)"),
    Work(Bar("numpy.from_dlpack(buffer)", NDARRAY, 2, 1.3), "np.from_dlpack(buffer)", "np.from_dlpack(array)"),
    Work(
        Bar("torch.from_dlpack(buffer)", "torch.from_dlpack(ndarray)", 1.5, 1.2),
        "torch.from_dlpack(buffer)",
        "torch.from_dlpack(array)",
        "torch",
    ),
    Work(
        Bar("as_buffer, as_ndarray", "numpy.from_dlpack(tensor)", 1, 1 / 2),
        'as_ndarray(as_buffer(tensor), "int64")',
        "np.from_dlpack(tensor)",
        "torch",
    ),
    *(
        Work(
            Bar(f"DLPack of {kind}", "ctypes callbacks", 1 / 2, 1 / 3),
            f"{name}_export(max_version=(1, 0))",
            f"{name}_callbacks(max_version=(1, 0))",
        )
        for kind, name in (("CUDA memory", "cuda"), ("bfloat16", "bfloat16"), ("packed 4 bits", "fp4"))
    ),
)
COLUMN = Bar("pyarrow.array(column)", "pyarrow.array(ndarray)", 2, 1)
CAPSULE = Bar("capsules of a column", "one ctypes callback", 6, 4)
FRAMES = {
    "pandas": Bar("as_table(pandas)", "pandas from_dataframe", 1 / 10, 1 / 50),
    "pyarrow": Bar("as_table(pyarrow)", "pyarrow from_dataframe", 1, 1 / 2),
}
ROWS = 1_000_000
TYPES = {"cuda": ((0, 64, 1), (2, 0)), "bfloat16": ((4, 16, 1), (1, 0)), "fp4": ((17, 4, 1), (1, 0))}
FLAT = {
    "numpy.from_dlpack of mmap": ("np.from_dlpack(as_buffer(mapped))", "numpy"),
    "as_ndarray of mmap": ("as_ndarray(as_buffer(mapped))", "numpy"),
    "pyarrow.array of mmap": ("pyarrow.array(as_buffer(mapped))", "pyarrow"),
}
SIZES = (1_000, 1_000_000, 100_000_000, 10_000_000_000)
ENDS = f"{wording.size_text(SIZES[0])} to {wording.size_text(SIZES[-1])}"


def child(code: str) -> Any:
    """Return what code prints, as JSON, in a fresh interpreter."""
    # An installed package is compiled; a checkout is too, unless this says no.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-P", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, env=environment, text=True)
    return json.loads(done.stdout)


def import_time(modules: str) -> float:
    """Return how long an import takes in a fresh interpreter, in seconds."""
    return float(child(f"from time import {CLOCK.__name__} as now\nt = now()\nimport {modules}\nprint(now() - t)"))


def object_size(make: str) -> int:
    """Return how much memory an object takes, in bytes, with all that it alone refers to."""
    found = child(
        f"""
import psutil, pyarrow
from buflend.minimal import Buffer
owner = bytes({OBJECTS})
kept = [None] * {OBJECTS}
process = psutil.Process()
before = process.memory_info().rss
for i in range({OBJECTS}):
    kept[i] = {make}
print((process.memory_info().rss - before) // {OBJECTS})
"""
    )
    return int(found)


def row(bar: Bar, pairs: Sequence[Sequence[float]], scale: float, unit: str) -> Row:
    """Return the row of a bar from pairs (ours, other)."""
    ours, other = (median(side) for side in zip(*pairs, strict=True))
    return Row(bar, [mine / others for mine, others in pairs], ours * scale, other * scale, unit)


def imports(rounds: int) -> Iterator[Row]:
    """Measure the import of `buflend.minimal` against others that are installed."""
    there = [modules for modules in IMPORTS if all(_there(name.strip()) for name in modules.split(","))]
    sides = [lambda modules=modules: import_time(modules) for modules in ("buflend.minimal", *there)]
    measured = in_turns(rounds, *sides)
    for place, modules in enumerate(there, 1):
        yield row(IMPORTS[modules], [(values[0], values[place]) for values in measured], 1e3, "ms")


def arrays(rounds: int, number: int = CALLS) -> Iterator[Row]:
    """Measure the making of an array over a pointer."""
    owner = np.arange(ITEMS, dtype="int64")
    buffer = minimal.Buffer(owner.ctypes.data, owner.nbytes, owner=owner)
    names = {"as_ndarray": minimal.as_ndarray, "buffer": buffer, "owner": owner, "np": np, "ctypes": ctypes}
    recipe = (
        "kind = np.ctypeslib.as_ctypes_type(np.int64)\n"
        "pointer = ctypes.cast(buffer.ptr, ctypes.POINTER(kind))\n"
        "np.ctypeslib.as_array(pointer, shape=(buffer.bufsize // 8,))"
    )
    sides = ('as_ndarray(buffer, "int64")', recipe, 'np.frombuffer(owner, "int64")')
    measured = statements(rounds, number, *((side, names) for side in sides))
    yield row(RECIPE, [(ours, other) for ours, other, _ in measured], 1e6, "µs")
    yield row(FROMBUFFER, [(ours, other) for ours, _, other in measured], 1e6, "µs")


def sizes(rounds: int) -> Iterator[Row]:
    """Measure the memory that a buffer takes for itself; pointers and sizes differ, the owner does not."""
    if _there("pyarrow") and _there("psutil"):
        ours = "Buffer((1 << 40) + i, (1 << 20) + i, owner=owner)"
        other = "pyarrow.foreign_buffer((1 << 40) + i, (1 << 20) + i, owner)"
        measured = in_turns(rounds, lambda: object_size(ours), lambda: object_size(other))
        yield row(BYTES, [(mine, others) for mine, others in measured], 1, "bytes")


def works(rounds: int, number: int = CALLS, chosen: Sequence[Work] = WORKS) -> Iterator[Row]:
    """Measure what `maximal.Buffer` exports and imports against who does the same."""
    array = np.arange(1000)
    names = {"np": np, "array": array, "buffer": maximal.as_buffer(array)}
    names |= {"as_buffer": maximal.as_buffer, "as_ndarray": maximal.as_ndarray}
    for name, (dtype, device) in TYPES.items():
        tensor = dlpack.Tensor(array.ctypes.data, (1000,), (1,), dtype, Device(*device))
        names[f"{name}_export"] = dlpack_export.exporter(array, tensor)
        names[f"{name}_callbacks"] = dlpack_light.exporter(array, tensor)
    if _there("torch"):
        import torch

        names |= {"torch": torch, "tensor": torch.arange(1000)}
    for work in chosen:
        if _there(work.package):
            yield row(work.bar, statements(rounds, number, (work.ours, names), (work.other, names)), 1e6, "µs")


def columns(rounds: int, number: int = CALLS) -> Iterator[Row]:
    """Measure what pyarrow takes to make an array of a column of int64."""
    if _there("pyarrow"):
        import pyarrow as pa

        array = np.arange(1000)
        names = {"pa": pa, "array": array, "column": maximal.as_column(array)}
        yield row(
            COLUMN, statements(rounds, number, ("pa.array(column)", names), ("pa.array(array)", names)), 1e6, "µs"
        )


def capsules(rounds: int, number: int = CALLS) -> Iterator[Row]:
    """Measure what the capsules of a column of int64 take, in a process that has not loaded pyarrow."""
    yield row(
        CAPSULE, child(_EXPORT.format(folder=str(Path(__file__).parent), number=number, rounds=rounds)), 1e6, "µs"
    )


_EXPORT = """
import ctypes, json, sys
sys.path.append({folder!r})
import numpy as np
from buflend.maximal import as_column
from rounds import statements
column = as_column(np.arange(1000))
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
thunk = kind(lambda address: None)
call = kind(ctypes.cast(thunk, ctypes.c_void_p).value)
print(json.dumps(statements({rounds}, {number}, ("column.__arrow_c_array__()", globals()), ("call(1)", globals()))))
"""


def frames(rounds: int, length: int) -> Iterator[Row]:
    """Measure the reading of a table of ten columns with nulls against each library's own reader."""
    if not all(map(_there, FRAMES)):
        return
    import pandas as pd
    import pyarrow.interchange

    places = np.arange(length)
    some = np.where(places % 7, places / 3, np.nan)
    gaps = pd.array(places, "Int64")
    gaps[::5] = pd.NA
    frame = pd.DataFrame(
        {
            **{f"float {i}": some + i for i in range(5)},
            **{f"integer {i}": gaps for i in range(2)},
            "category": pd.Categorical(np.array(["a", "b", None], object)[places % 3]),
            "time": pd.Series(places.astype("M8[ns]")).where(places % 11 > 0),
            "flag": pd.array(np.where(places % 4, places % 2 == 0, None), "boolean"),
        }
    )
    table = pyarrow.Table.from_pandas(frame)
    readers = {
        "pandas": (frame, pd.api.interchange.from_dataframe),
        "pyarrow": (table, pyarrow.interchange.from_dataframe),
    }
    for name, (source, reader) in readers.items():
        names = {"as_table": maximal.as_table, "source": source, "reader": reader, "shown": _Protocol(source)}
        yield row(FRAMES[name], statements(rounds, 1, ("as_table(source)", names), ("reader(shown)", names)), 1e3, "ms")


class _Protocol:
    """A frame that offers `__dataframe__` and nothing else."""

    def __init__(self, frame: Any) -> None:
        self.__dataframe__ = frame.__dataframe__


def flat(rounds: int, number: int = CALLS) -> Iterator[Row]:
    """Measure exchanges of a few bytes to many, which should take the same time."""
    with tempfile.TemporaryFile() as file:
        file.truncate(max(SIZES))
        maps = {f"mapped_{size}": mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) for size in SIZES}
        names = {"np": np, "as_buffer": maximal.as_buffer, "as_ndarray": maximal.as_ndarray, **maps}
        for work, (statement, package) in FLAT.items():
            if not _there(package):
                continue
            names[package] = import_module(package)
            measured = statements(rounds, number, *((statement.replace("mapped", name), names) for name in maps))
            medians = [median(times) for times in zip(*measured, strict=True)]
            slow, fast = max(medians), min(medians)
            yield Row(Bar(work, ENDS, 1.2, None), [slow / fast], slow * 1e6, fast * 1e6, "µs")


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def table(rows: list[Row]) -> "Table":
    """Return what was measured as a table of the terminal, 80 columns wide at most."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, justify in HEADINGS.items():
        shown.add_column(name, no_wrap=True, justify=justify)
    for one in rows:
        middle = median(one.ratios)
        low, _, high = quantiles(one.ratios, n=4) if len(one.ratios) > 1 else (0, 0, 0)
        around = f"{wording.digits(low, 2)}{wording.DASH}{wording.digits(high, 2)}" if high else "max ÷ min"
        shown.add_row(
            f"{one.bar.work}\n{one.bar.against}",
            f"{one.ours:.3g} {one.unit}\n{one.other:.3g} {one.unit}",
            f"{wording.times_text(middle)}\n{around}",
            "\n".join(f"{name} {wording.times_text(limit)}" for name, limit in one.limits.items()),
            "\n".join(one.verdict.values()),
            end_section=True,
        )
    return shown


def measure(rounds: int) -> list[Row]:
    """Measure every bar whose peer is installed.

    Parameters
    ----------
    rounds : int
        How often each import is measured, 2 or more; what is cheaper is measured more often, tables and sizes less.
    """
    cheap = rounds * 3
    few = max(2, rounds // 4)
    found = [*imports(rounds), *arrays(cheap), *works(cheap), *capsules(cheap), *columns(cheap)]
    return [*found, *frames(few, ROWS), *flat(cheap), *sizes(few)]


def left_behind(found: dict[str, dict[str, Any]], count: int) -> "Table":
    """Return what exchanges left behind as a table of the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in (f"left by {count:,} exchanges", "resident", "traced", "lent", "verdict"):
        shown.add_column(
            heading, no_wrap=heading != "verdict", justify="left" if " " in heading or heading == "verdict" else "right"
        )
    for name, one in found.items():
        grown = [f"{one[key] / 1000:,.1f} kB" if key in one else "" for key in ("resident", "traced")]
        shown.add_row(name, *grown, str(one.get("live", "")), one["verdict"])
    return shown


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31, help="measurements of each import (default: 31)")
    parser.add_argument(
        "--long",
        type=int,
        default=100_000,
        metavar="COUNT",
        help="exchanges of each kind after which memory is looked at (default: 100000)",
    )
    arguments = parser.parse_args()
    from rich.console import Console

    from buflend.bench import terminal

    terminal.tame()
    console = Console(highlight=False)
    try:
        with console.status("measuring"):
            rows = measure(arguments.rounds)
            left = remains.measure(arguments.long) if _there("psutil") else {}
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130
    console.print(table(rows))
    if left:
        console.print(left_behind(left, arguments.long))
        console.print(f"met: the process grew by less than {remains.LEAST} byte per exchange, and nothing is lent")
    console.print(
        "bar: what must be; stretch: what we would like. A ratio is ours over the other's, median of paired rounds."
    )
    console.print(wording.RECIPE)
    console.print(wording.RUNS)
    measured = [one.bar for one in rows]
    absent = [modules for modules, bar in IMPORTS.items() if bar not in measured]
    absent += ["pyarrow"] if BYTES not in measured else []
    absent += sorted({work.package for work in WORKS if work.bar not in measured})
    console.print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, buflend from {minimal.__path__[0]}")
    for name in absent:
        console.print(f"absent: {name} (not installed; {peers.how_to_get(name)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
