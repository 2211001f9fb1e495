"""Columns of any size cost the same: of a mapped file of 10 GB nothing is read; chunks and columns add up, no more."""

import gc
import mmap
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from buflend.maximal import Column, Table, as_column, as_table

SMALL, LARGE = 1_000, 10_000_000_000  # bytes


def resident() -> int:
    """Return the resident bytes of this process that no file backs."""
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")))


@pytest.fixture
def mapped() -> Iterator[Callable[[int], mmap.mmap]]:
    """Return a function that maps the first bytes of a file of 10 GB that takes no place."""
    with tempfile.TemporaryFile() as file:
        file.truncate(LARGE)
        yield lambda size: mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def numbers(memory: mmap.mmap) -> Table:
    """Return a table of integers, times and floats over the same memory."""
    rows = np.frombuffer(memory, "i8")
    return as_table({"n": rows, "t": rows.view("M8[us]"), "x": rows.view("f8")[::-1]})


def text(memory: mmap.mmap) -> Table:
    """Return a table of empty strings: zeros are offsets, too."""
    buffer = as_column(np.frombuffer(memory, "u1")).data
    return Table({"s": Column("U", len(memory) // 8 - 1, data=buffer, offsets=buffer)})


def exchange(make: Callable[[mmap.mmap], Table], memory: mmap.mmap) -> None:
    table = make(memory)
    frame = table.__dataframe__(allow_copy=False)
    for chunk in frame.select_columns(range(1)).get_chunks(2):
        chunk.get_column(0).get_buffers()
    first = table.columns[0]
    first[10:20].tolist()
    first.__arrow_c_array__()
    if make is numbers:
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # older ones ask for a struct that cannot say read-only
            np.from_dlpack(table["n"])
        np.asarray(table["t"])
        np.asarray(table["x"])


@pytest.mark.parametrize("make", [numbers, text])
def test_ten_gigabytes_cost_no_more_than_a_thousand_bytes(
    make: Callable[[mmap.mmap], Table], mapped: Callable[[int], mmap.mmap]
) -> None:
    small, large = mapped(SMALL), mapped(LARGE)
    exchange(make, small)
    exchange(make, large)
    before = resident()
    taken: dict[int, list[float]] = {SMALL: [], LARGE: []}
    for _ in range(15):
        for memory in (small, large):
            start = time.perf_counter()
            exchange(make, memory)
            taken[len(memory)].append(time.perf_counter() - start)
    assert resident() - before < 8_000_000
    assert median(taken[LARGE]) < 5 * median(taken[SMALL])


@pytest.mark.peers
def test_ten_gigabytes_go_to_pyarrow_and_back(mapped: Callable[[int], mmap.mmap]) -> None:
    pa = pytest.importorskip("pyarrow")
    memory = mapped(LARGE)
    before = resident()
    whole = numbers(memory)  # but for the times, which are looked through for NaT, and the floats, which are strided
    table = pa.table({"n": whole["n"], "x": as_column(np.frombuffer(memory, "f8"))})
    back = as_table(table)
    assert resident() - before < 50_000_000  # of 20 GB
    assert back["n"].data is not None
    assert back["n"].data.ptr == as_column(np.frombuffer(memory, "i8")).data.ptr  # type: ignore[union-attr]
    assert back["x"][:2].tolist() == [0.0, 0.0]


def calls(work: Callable[[], object]) -> int:
    """Return how many functions are called while something is done, without what the collector does meanwhile."""
    return min(_calls(work) for _ in range(3))


def _calls(work: Callable[[], object]) -> int:
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    gc.collect()
    gc.disable()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def many_columns(count: int) -> Table:
    rows = np.arange(3)
    return as_table({str(i): rows for i in range(count)})


def many_chunks(count: int) -> Table:
    column = as_column(np.arange(3))
    return Table({"a": Column._make(column._type, column._pieces * count), "b": as_column(np.arange(3 * count))})


@pytest.mark.parametrize(("make", "count"), [(many_columns, 150), (many_chunks, 600)])
@pytest.mark.parametrize(
    "use",
    [
        lambda _: None,
        lambda table: list(table.get_chunks()),
        lambda table: table.__arrow_c_stream__(),
        lambda table: table.tolist(),
        lambda table: as_table(Capsules(table)),
    ],
    ids=["made", "chunks", "stream", "tolist", "back"],
)
def test_columns_and_chunks_add_up(make: Callable[[int], Table], count: int, use: Callable[[Table], object]) -> None:
    use(make(2))
    once, twice = (calls(lambda count=count: use(make(count))) for count in (count, 2 * count))
    assert twice < 2.2 * once


class Capsules:
    """What offers a stream and nothing else."""

    def __init__(self, table: Table) -> None:
        self.__arrow_c_stream__ = table.__arrow_c_stream__
