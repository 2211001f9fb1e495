"""What `buflend` has to reach, and whether these results reach it: ratios, as `make bars` measures them in turns.

Lives here: the literal table, with the two sides where the suite has both. asv measures the sides one after the other,
so that a slow minute between them counts; where a result is near its bar, `make bars` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .rows import Row, Table

FLAT = "itself, at other sizes"
IN_TURNS = "make bars"
ON_A_GPU = "the GPU check"


class Bar(NamedTuple):
    """One work, against what, and how many times that it may cost: what must be, what we would like.

    Attributes
    ----------
    work, against : str
        The two sides, as people read them.
    bar, stretch : float or None
        How many times the other side it may cost.
    topic : str
        The class of the suite that has both sides; empty where none has.
    ours, other : str
        The implementations that are compared; without the other, ours is compared with itself over all parameters.
    elsewhere : str
        What measures it, where the suite does not.
    """

    work: str
    against: str
    bar: float | None
    stretch: float | None
    topic: str = ""
    ours: str = ""
    other: str = ""
    elsewhere: str = IN_TURNS


BARS = (
    Bar("import buflend.minimal", "import ctypes, enum", 1.5, None, "Import", "minimal", "callbacks"),
    Bar("import buflend.minimal", "import arro3.core", None, 1, "Import", "minimal", "arro3"),
    Bar("import buflend.minimal", "import nanoarrow", 1 / 3, 1 / 5, "Import", "minimal", "nanoarrow"),
    Bar('minimal.as_ndarray(buffer, "int64")', "the recipe of 2021", 1 / 4, 1 / 7, "View", "minimal", "recipe2021"),
    Bar('minimal.as_ndarray(buffer, "int64")', "numpy.frombuffer(owner)", 6, 3, "View", "minimal", "numpy"),
    Bar(
        "as_buffer(ndarray), numpy.from_dlpack",
        "numpy.from_dlpack(ndarray)",
        8,
        4,
        "Handed",
        "maximal",
        "numpy",
    ),
    Bar("numpy.from_dlpack(buffer)", "numpy.from_dlpack(ndarray)", 2, 1.3, "TakeNumpy", "maximal", "numpy"),
    Bar("torch.from_dlpack(buffer)", "torch.from_dlpack(ndarray)", 1.5, 1.2, "TakeTorch", "maximal", "numpy"),
    Bar("as_ndarray(as_buffer(tensor))", "numpy.from_dlpack(tensor)", 1, 1 / 2, "HandedTensor", "maximal", "numpy"),
    Bar("as_cupy(as_buffer(tensor)), CUDA", "cupy.from_dlpack(tensor)", 1 / 2, 1 / 5, elsewhere=ON_A_GPU),
    Bar("cupy.from_dlpack(buffer), CUDA", "cupy.from_dlpack(array)", 1.3, 1.1, "GpuTakeCupy", "maximal", "cupy"),
    Bar("DLPack out, host", "ctypes callbacks", 1 / 2, 1 / 3, "OutDLPack", "maximal", "callbacks"),
    Bar("DLPack out, CUDA", "ctypes callbacks", 1 / 2, 1 / 3, "GpuOutDLPack", "maximal", "callbacks"),
    Bar("pyarrow.array(column)", "pyarrow.array(ndarray)", 2, 1, "TakeColumn", "maximal", "numpy"),
    Bar("capsules of a column, without pyarrow", "one ctypes callback", 6, 4, "OutArrowCall", "maximal", "callbacks"),
    Bar(
        "as_table of a pandas frame, 1e6 rows",
        "pandas from_dataframe",
        1 / 10,
        1 / 50,
        "LargeFrame",
        "maximal",
        "pandas",
    ),
    Bar(
        "as_table of a pyarrow table, 1e6 rows", "pyarrow from_dataframe", 1, 1 / 2, "LargeTable", "maximal", "pyarrow"
    ),
    Bar("minimal, 1 kB to 10 GB", FLAT, 1.2, None, "Size", "minimal"),
    Bar("maximal, 1 kB to 10 GB", FLAT, 1.2, None, "Size", "maximal"),
    Bar("bytes per minimal.Buffer", "pyarrow.Buffer", 2, 1, "BytesPerObject", "minimal", "pyarrow"),
    Bar("1e6 exchanges", "no growth of memory, no live export left", None, None),
)


class Reached(NamedTuple):
    """A bar on one machine: the ratio, or why there is none.

    Attributes
    ----------
    bar : Bar
        What has to be reached.
    machine : str
        Where; empty where no machine has measured both sides.
    ratio : float or None
        Ours over the other's; the worst, where there are several of different parameters.
    reason : str
        Why there is no ratio.
    quick : bool
        Whether the samples are too few to decide.
    """

    bar: Bar
    machine: str = ""
    ratio: float | None = None
    reason: str = ""
    quick: bool = False

    @property
    def verdicts(self) -> dict[str, str]:
        """Say of the bar and the stretch whether they are met."""
        limits = {"bar": self.bar.bar, "stretch": self.bar.stretch}
        told = {name: limit for name, limit in limits.items() if limit is not None}
        if self.ratio is None:
            return {}
        return {name: "met" if self.ratio <= limit else "missed" for name, limit in told.items()}


def reached(table: Table, benchmarks: Mapping[str, Mapping[str, Any]]) -> list[Reached]:
    """Return every bar, once for each machine that has measured both sides, or once with the reason."""
    found = []
    for bar in BARS:
        of_topic = [row for row in (*table.rows, *table.skipped) if bar.topic and row.topic == bar.topic]
        by_machine: dict[str, list[Row]] = {}
        for row in of_topic:
            by_machine.setdefault(row.machine, []).append(row)
        measured = [
            Reached(bar, machine, ratio, quick=any(row.notes.get("quick") for row in group))
            for machine, group in by_machine.items()
            if (ratio := _ratio(bar, group)) is not None
        ]
        found += measured or [Reached(bar, reason=_why_not(bar, of_topic, benchmarks))]
    return found


def _ratio(bar: Bar, rows: list[Row]) -> float | None:
    """Return the worst ratio of a bar's two sides on one machine, or None where a side is missing."""
    ours = [cell.value for row in rows if (cell := row.cells.get(bar.ours)) and cell.value]
    if not bar.other:
        return max(ours) / min(ours) if len(ours) > 1 else None
    pairs = [(row.cells.get(bar.ours), row.cells.get(bar.other)) for row in rows]
    known = [one.value / other.value for one, other in pairs if one and other and one.value is not None and other.value]
    return max(known, default=None)


def _why_not(bar: Bar, rows: list[Row], benchmarks: Mapping[str, Mapping[str, Any]]) -> str:
    has = any(bar.topic in name.split(".") for name in benchmarks) if bar.topic else False
    if not has:
        return f"not in this suite: {bar.elsewhere}"
    cells = [row.cells.get(name) for row in rows for name in filter(None, (bar.ours, bar.other))]
    reasons = dict.fromkeys(cell.reason or cell.outcome for cell in cells if cell and cell.value is None)
    return f"not measured: {'; '.join(reasons)}" if reasons else "not measured"
