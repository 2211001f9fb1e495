"""Measure the bars that `buflend` has to reach, and print what came out.

    make bars
    make bars ARGS="--long 1000000"
    make bars ARGS="--write docs/bars.md"

Every row is a ratio of two things measured in this run, in turns, so that a slow minute of the machine slows both. A
time is the thread's own, without what other processes took. Shown are the median over the rounds and the quartiles
around it. A bar (what must be) is missed where the median is above it, a stretch is what we would like; the exit status
is 0 all the same, since machines differ: this reports, tests bound.

How far our side is from its floor, which `floors.py` holds and the same turns measure, stands in a table of its own.

Imports are timed inside a fresh interpreter, around the import statement alone, with `site` loaded, but nothing that an
environment lets it load: a library's .pth file may import what is to be measured.
Memory is the growth over many objects of the resident set, but for the pages of files, so that integers and C structs
held by an object count.

Flat is the slowest of some sizes over the fastest, by their medians; the memory is a sparse file, mapped, never read.
"""

import argparse
import ctypes
import json
import mmap
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from timeit import Timer
from typing import Any, NamedTuple

import floors
import numpy as np
import remains
from rounds import CLOCK, in_turns, timed

from buflend import maximal, minimal
from buflend.bench import peers, wording
from buflend.shared import Device, dlpack, dlpack_export, dlpack_light

ITEMS = 100_000
OBJECTS = 100_000


class Bar(NamedTuple):
    """One work to be measured, against what, and how many times that it may cost."""

    work: str
    against: str
    bar: float | None
    stretch: float | None


class Row(NamedTuple):
    """A bar and what was measured: the ratios, and both sides' medians in the unit; of its floor the same, if any."""

    bar: Bar
    ratios: list[float]
    ours: float
    other: float
    unit: str
    over_floor: tuple[float, ...] = ()
    floor: float | None = None

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
    prelude = (
        f"import site, sys\nsys.path[:] = {sys.path!r}\n"  # `site` is there, and has run no file of an environment
    )
    command = [sys.executable, "-S", "-P", "-c", prelude + code]
    done = subprocess.run(command, capture_output=True, check=True, env=environment, text=True)
    return json.loads(done.stdout)


def import_time(modules: str) -> int:
    """Return how long an import takes in a fresh interpreter, in nanoseconds."""
    clock = f"time.{CLOCK.__name__}_ns()"
    return int(child(f"import time\nt = {clock}\nimport {modules}\nprint({clock} - t)"))


def object_size(make: str) -> int:
    """Return how much memory an object takes, in bytes, with all that it alone refers to."""
    found = child(
        f"""
import pyarrow
from remains import resident
from buflend.minimal import Buffer
owner = bytes({OBJECTS})
kept = [None] * {OBJECTS}
before = resident()
for i in range({OBJECTS}):
    kept[i] = {make}
print((resident() - before) // {OBJECTS})
"""
    )
    return int(found)


def row(bar: Bar, measured: Sequence[Sequence[float]], scale: float, unit: str) -> Row:
    """Return the row of a bar from what was measured in turns: ours, the other and, if any, the floor."""
    ours, other, *floor = (median(side) * scale for side in zip(*measured, strict=True))
    over = tuple(values[0] / values[2] for values in measured if len(values) > 2)
    return Row(bar, [values[0] / values[1] for values in measured], ours, other, unit, over, *floor)


def imports(rounds: int) -> Iterator[Row]:
    """Measure the import of `buflend.minimal` against others that are installed, and its floor."""
    floor = floors.FLOORS["import buflend.minimal"].statement.removeprefix("import ")
    there = [modules for modules in IMPORTS if all(_there(name.strip()) for name in modules.split(","))]
    sides = [lambda modules=modules: import_time(modules) for modules in ("buflend.minimal", floor, *there)]
    measured = in_turns(rounds, *sides)
    for place, modules in enumerate(there, 2):
        yield row(IMPORTS[modules], [(values[0], values[place], values[1]) for values in measured], 1e-6, "ms")


def compared(
    rounds: int, names: dict[str, Any], work: str, ours: str, *others: str, number: int = 1000
) -> list[tuple[float, ...]]:
    """Time statements in turns, in the same names: ours, the others, and the floor of the work; seconds per call."""
    floor = floors.FLOORS[work]
    timers = [Timer(statement, timer=CLOCK, globals=names) for statement in (ours, *others)]
    timers.append(Timer(floor.statement, timer=CLOCK, globals=floors.names(floor, names)))
    return timed(rounds, number, timers)


def arrays(rounds: int) -> Iterator[Row]:
    """Measure the making of an array over a pointer."""
    owner = np.arange(ITEMS, dtype="int64")
    buffer = minimal.Buffer(owner.ctypes.data, owner.nbytes, owner=owner)
    names = {"as_ndarray": minimal.as_ndarray, "buffer": buffer, "owner": owner, "np": np, "ctypes": ctypes}
    recipe = (
        "kind = np.ctypeslib.as_ctypes_type(np.int64)\n"
        "pointer = ctypes.cast(buffer.ptr, ctypes.POINTER(kind))\n"
        "np.ctypeslib.as_array(pointer, shape=(buffer.bufsize // 8,))"
    )
    ours = 'as_ndarray(buffer, "int64")'
    measured = compared(rounds, names, RECIPE.work, ours, recipe, 'np.frombuffer(owner, "int64")')
    yield row(RECIPE, [(mine, other, floor) for mine, other, _, floor in measured], 1e6, "µs")
    yield row(FROMBUFFER, [(mine, other, floor) for mine, _, other, floor in measured], 1e6, "µs")


def sizes(rounds: int) -> Iterator[Row]:
    """Measure the memory that a buffer takes for itself; pointers and sizes differ, the owner does not."""
    if _there("pyarrow") and _there("psutil"):
        ours = "Buffer((1 << 40) + i, (1 << 20) + i, owner=owner)"
        other = "pyarrow.foreign_buffer((1 << 40) + i, (1 << 20) + i, owner)"
        measured = in_turns(rounds, lambda: object_size(ours), lambda: object_size(other))
        yield row(BYTES, measured, 1, "bytes")


def names_of_works() -> dict[str, Any]:
    """Return the names that the statements of `WORKS` speak of."""
    array = np.arange(1000)
    names = {"np": np, "ctypes": ctypes, "array": array, "buffer": maximal.as_buffer(array)}
    names |= {"as_buffer": maximal.as_buffer, "as_ndarray": maximal.as_ndarray}
    for name, (dtype, device) in TYPES.items():
        tensor = dlpack.Tensor(array.ctypes.data, (1000,), (1,), dtype, Device(*device))
        names[f"{name}_export"] = dlpack_export.exporter(array, tensor)
        names[f"{name}_callbacks"] = dlpack_light.exporter(array, tensor)
    if _there("torch"):
        import torch

        names |= {"torch": torch, "tensor": torch.arange(1000)}
    return names


def works(rounds: int, chosen: Sequence[Work] = WORKS) -> Iterator[Row]:
    """Measure what `maximal.Buffer` exports and imports against who does the same."""
    names = names_of_works()
    for work in chosen:
        if _there(work.package):
            yield row(work.bar, compared(rounds, names, work.bar.work, work.ours, work.other), 1e6, "µs")


def columns(rounds: int) -> Iterator[Row]:
    """Measure what pyarrow takes to make an array of a column of int64."""
    if _there("pyarrow"):
        yield row(
            COLUMN, compared(rounds, names_of_columns(), COLUMN.work, "pa.array(column)", "pa.array(array)"), 1e6, "µs"
        )


def names_of_columns() -> dict[str, Any]:
    """Return the names that the statements of `COLUMN` speak of; loads pyarrow."""
    import pyarrow as pa

    array = np.arange(1000)
    return {"pa": pa, "np": np, "array": array, "column": maximal.as_column(array)}


def capsules(rounds: int) -> Iterator[Row]:
    """Measure what the capsules of a column of int64 take, in a process that has not loaded pyarrow."""
    floor = floors.FLOORS[CAPSULE.work]
    yield row(CAPSULE, child(_EXPORT.format(floor.setup, floor.statement, rounds)), 1e6, "µs")


_EXPORT = """
import ctypes, json
from timeit import Timer
import numpy as np
from buflend.maximal import as_column
from rounds import CLOCK, timed
column = as_column(np.arange(1000))
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
thunk = kind(lambda address: None)
call = kind(ctypes.cast(thunk, ctypes.c_void_p).value)
names = dict(globals())
exec({!r}, names)
timers = [Timer(code, timer=CLOCK, globals=globals()) for code in ("column.__arrow_c_array__()", "call(1)")]
timers.append(Timer({!r}, timer=CLOCK, globals=names))
print(json.dumps(timed({}, 200, timers)))
"""


def frames(rounds: int, length: int) -> Iterator[Row]:
    """Measure the reading of a table of ten columns with nulls against each library's own reader."""
    if not all(map(_there, FRAMES)):
        return
    for name, names in names_of_frames(length).items():
        measured = compared(rounds, names, FRAMES[name].work, "as_table(source)", "reader(shown)", number=1)
        yield row(FRAMES[name], measured, 1e3, "ms")


def names_of_frames(rows: int) -> dict[str, dict[str, Any]]:
    """Return by library the names that the statements of `FRAMES` speak of; loads pandas and pyarrow."""
    import pandas as pd
    import pyarrow.interchange

    places = np.arange(rows)
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
    readers = {
        "pandas": (frame, pd.api.interchange.from_dataframe),
        "pyarrow": (pyarrow.Table.from_pandas(frame), pyarrow.interchange.from_dataframe),
    }
    return {
        name: {"as_table": maximal.as_table, "source": source, "reader": reader, "shown": _Protocol(source)}
        for name, (source, reader) in readers.items()
    }


class _Protocol:
    """A frame that offers `__dataframe__` and nothing else."""

    def __init__(self, frame: Any) -> None:
        self.__dataframe__ = frame.__dataframe__


def flat(rounds: int) -> Iterator[Row]:
    """Measure exchanges of a few bytes to many, which should take the same time."""
    with tempfile.TemporaryFile() as file:
        file.truncate(max(SIZES))
        maps = [mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) for size in SIZES]
        names = {"np": np, "as_buffer": maximal.as_buffer, "as_ndarray": maximal.as_ndarray}
        number = 500
        for work, (statement, package) in FLAT.items():
            if not _there(package):
                continue
            timers = [
                Timer(statement, f"import {package}", timer=CLOCK, globals=names | {"mapped": mapped})
                for mapped in maps
            ]
            measured = timed(rounds, number, timers)
            medians = [median(times) for times in zip(*measured, strict=True)]
            slow, fast = max(medians), min(medians)
            yield Row(Bar(work, ENDS, 1.2, None), [slow / fast], slow * 1e6, fast * 1e6, "µs")


def _there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def measure(rounds: int) -> list[Row]:
    """Measure every bar whose peer is installed.

    Parameters
    ----------
    rounds : int
        How often each import is measured, 2 or more; the cheaper arrays are measured more often, sizes less.
    """
    cheap = rounds * 3
    few = max(2, rounds // 4)
    found = [*imports(rounds), *arrays(cheap), *works(cheap), *capsules(10 * rounds), *columns(rounds)]
    return [*found, *frames(rounds, ROWS), *flat(cheap), *sizes(few)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31, help="measurements of each import, 2 or more (default: 31)")
    parser.add_argument(
        "--long",
        type=int,
        default=100_000,
        metavar="COUNT",
        help="exchanges of each kind after which memory is looked at (default: 100000)",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="write the tables to a page too, between its marks: docs/bars.md; or to a new one",
    )
    arguments = parser.parse_args()
    for name, least in (("rounds", 2), ("long", 1)):
        if (got := getattr(arguments, name)) < least:
            parser.error(f"--{name} {got}: expected {least} or more")
    import bars_shown  # which needs rich: who only measures does without
    from rich.console import Console

    from buflend.bench import terminal

    if arguments.write:
        try:
            bars_shown.around(arguments.write)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    terminal.tame()
    console = Console(highlight=False)
    try:
        with console.status("measuring"):
            rows = measure(arguments.rounds)
            left = remains.measure(arguments.long) if _there("psutil") else {}
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130
    console.print(bars_shown.table(rows))
    console.print(bars_shown.distances(rows))
    console.print(
        "floor: the shortest code with the same effect, which asks and checks nothing (floors.py); beneath: the "
        "stretch is below the floor, and no Python code reaches it here"
    )
    if left:
        console.print(bars_shown.left_behind(left, arguments.long))
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
    if arguments.write:
        command = f"make bars ARGS={shlex.quote(shlex.join(sys.argv[1:]))}"
        text = bars_shown.markdown(rows, left, arguments.long, floors.FLOORS, command)
        bars_shown.put(arguments.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
