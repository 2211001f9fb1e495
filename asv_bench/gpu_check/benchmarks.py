"""What exchanges cost on a machine with a GPU: each group's statements in turns, each over the group's first.

    python -m gpu_check.benchmarks --report benchmarks.jsonl

Lives here: the statements, what they need, and the bars that two of them have to reach. How they are timed stands in
`buflend.bench.timing`: medians of paired rounds, with quartiles. The host's clock is read: none of the statements
starts work on the device but the copies to the host. A missed bar is reported and fails nothing, since machines differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from buflend.bench import timing

from .check import lacks
from .rows import FAIL, PASS, SKIP, Report, Row, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 1.0
"""Time to spend on each group, about."""

COUNT = 1024
"""Elements of 4 bytes."""


class Bar(NamedTuple):
    """How many times the time of the group's first statement another may take: what must be, what we would like."""

    bar: float
    stretch: float


class Group(NamedTuple):
    """Statements that are timed in turns; the others are compared with the first.

    Attributes
    ----------
    title : str
        What they have in common.
    statements : dict of str to tuple of str
        Statement -> libraries that it needs beside CuPy.
    bars : dict of str to Bar
        Of some of them.
    streams : bool
        Whether CuPy and PyTorch work on side streams of their own, which have to be ordered.
    """

    title: str
    statements: dict[str, tuple[str, ...]]
    bars: dict[str, Bar] = {}  # noqa: RUF012 - never changed
    streams: bool = False


TORCH: tuple[str, ...] = ("torch",)
NUMBA: tuple[str, ...] = ("numba.cuda",)
CORE: tuple[str, ...] = ("cuda.core",)

TENSORS = {"cupy.from_dlpack(tensor)": TORCH, "as_cupy(as_buffer(tensor))": TORCH, "as_cupy(tensor)": TORCH}
OF_TENSORS = {"as_cupy(as_buffer(tensor))": Bar(1 / 2, 1 / 5)}

GROUPS = (
    Group("a tensor as a CuPy array", TENSORS, OF_TENSORS),
    Group("the same, on side streams", TENSORS, OF_TENSORS, streams=True),
    Group(
        "a CuPy array by DLPack",
        {"cupy.from_dlpack(array)": (), "cupy.from_dlpack(buffer)": (), "cupy.from_dlpack(as_buffer(array))": ()},
        {"cupy.from_dlpack(buffer)": Bar(1.3, 1.1)},
    ),
    Group(
        "the same, on a side stream",
        {"cupy.from_dlpack(array)": (), "cupy.from_dlpack(buffer)": ()},
        {"cupy.from_dlpack(buffer)": Bar(1.3, 1.1)},
        streams=True,
    ),
    Group("export by DLPack", {"array.__dlpack__()": (), "buffer.__dlpack__()": (), "column.__dlpack__()": ()}),
    Group(
        "the CUDA array interface",
        {"array.__cuda_array_interface__": (), "buffer.__cuda_array_interface__": ()},
    ),
    Group(
        "a CuPy array by the CUDA array interface",
        {"cupy.asarray(tensor)": TORCH, "cupy.asarray(buffer)": (), "as_cupy(buffer)": ()},
    ),
    Group(
        "a CuPy array by its address",
        {"viewed(address, ordinal)": (), "viewed(address, -1)": (), "minimal.as_cupy(small, 'float32')": ()},
    ),
    Group(
        "a tensor by DLPack",
        {"torch.from_dlpack(tensor)": TORCH, "torch.from_dlpack(array)": TORCH, "torch.from_dlpack(buffer)": TORCH},
    ),
    Group(
        "a tensor by the CUDA array interface",
        {"torch.as_tensor(array, device='cuda')": TORCH, "torch.as_tensor(buffer, device='cuda')": TORCH},
    ),
    Group(
        "an array of numba-cuda",
        {"numba_cuda.as_cuda_array(array)": NUMBA, "numba_cuda.as_cuda_array(buffer)": NUMBA},
    ),
    Group(
        "a view of cuda.core",
        {
            "views.from_dlpack(array, stream_ptr=-1)": CORE,
            "views.from_dlpack(buffer, stream_ptr=-1)": CORE,
            "views.from_cuda_array_interface(array, stream_ptr=-1)": CORE,
            "views.from_cuda_array_interface(buffer, stream_ptr=-1)": CORE,
        },
    ),
    Group("reading", {"as_buffer(array)": (), "as_buffer(tensor)": TORCH, "as_buffer(interface)": ()}),
    Group("a copy of 4 kB to the host", {"array.get()": (), "buffer.to_host()": ()}),
    Group("asking an address", {"runtime.pointerGetAttributes(address)": (), "cuda.device_at(address)": ()}),
)


def names(libraries: tuple[str, ...]) -> dict[str, Any]:
    """Return what the statements speak of."""
    import cupy
    import numpy as np

    from buflend import maximal, minimal
    from buflend.shared import cuda

    from .offers import Interface

    array = cupy.zeros(COUNT, np.float32)
    address, ordinal = array.data.ptr, cupy.cuda.runtime.getDevice()

    def viewed(address: int, ordinal: int) -> Any:
        memory = cupy.cuda.UnownedMemory(address, array.nbytes, array, ordinal)
        return cupy.ndarray((COUNT,), np.float32, cupy.cuda.MemoryPointer(memory, 0))

    found = {
        "address": address,
        "array": array,
        "as_buffer": maximal.as_buffer,
        "as_cupy": maximal.as_cupy,
        "buffer": maximal.as_buffer(array),
        "column": maximal.as_column(array),
        "cuda": cuda,
        "cupy": cupy,
        "interface": Interface(array),
        "minimal": minimal,
        "ordinal": ordinal,
        "runtime": cupy.cuda.runtime,
        "small": minimal.Buffer(address, array.nbytes, owner=array, device=(2, ordinal)),
        "viewed": viewed,
    }
    if "torch" in libraries:
        import torch

        found |= {"torch": torch, "tensor": torch.zeros(COUNT, dtype=torch.float32, device=f"cuda:{ordinal}")}
    if "numba.cuda" in libraries:
        found["numba_cuda"] = import_module("numba.cuda")
    if "cuda.core" in libraries:
        import_module("cuda.core").Device(ordinal).set_current()
        found["views"] = import_module("cuda.core.utils").StridedMemoryView
    cupy.cuda.runtime.deviceSynchronize()
    return found


def measure(group: Group, spoken: dict[str, Any], missing: dict[str, str], seconds: float = SECONDS) -> Iterator[Row]:
    """Time a group and yield a row for each statement; what lacks a library is said."""
    calls: dict[str, Callable[[], object]] = {}
    for statement, needs in group.statements.items():
        reason = "; ".join(missing[name] for name in needs if name in missing)
        if reason:
            yield row(f"{group.title}: {statement}", SKIP, reason)
        else:
            # A statement of the table above, in a function that adds nothing to it.
            calls[statement] = eval(f"lambda: {statement}", spoken)  # noqa: S307
    if not calls:
        return
    start = time.perf_counter()
    try:
        timed = (_on_side_streams(spoken) if group.streams else _as_it_is)(
            partial(timing.compare, calls, baseline=next(iter(calls)), seconds=seconds)
        )
    except Exception as error:  # noqa: BLE001 - a library may refuse in its own way
        yield row(group.title, FAIL, f"{type(error).__name__}: {error}")
        return
    took = (time.perf_counter() - start) / len(calls)
    for statement, found in timed.items():
        yield row(f"{group.title}: {statement}", PASS, "", took, **figures(group, statement, next(iter(calls)), found))


def figures(group: Group, statement: str, baseline: str, found: timing.Timing) -> dict[str, Any]:
    """Return what was measured: seconds and ratio as median and quartiles, and which bars the median ratio reaches."""
    told: dict[str, Any] = {"microseconds": [round(value * 1e6, 3) for value in found.seconds], "calls": found.calls}
    told["rounds"] = found.rounds
    if statement == baseline:
        return told
    told |= {"against": baseline, "ratio": [round(value, 3) for value in found.ratio]}
    limits = group.bars.get(statement)
    if limits is not None and baseline == next(iter(group.statements)):
        for name, limit in limits._asdict().items():
            told |= {name: limit, f"{name} is": "met" if found.ratio.median <= limit else "missed"}
    return told


def _as_it_is(measured: Callable[[], Any]) -> Any:
    return measured()


def _on_side_streams(spoken: dict[str, Any]) -> Callable[[Callable[[], Any]], Any]:
    """Return what calls a function while CuPy and, where it is here, PyTorch have side streams as current ones."""
    cupy, torch = spoken["cupy"], spoken.get("torch")

    def on(measured: Callable[[], Any]) -> Any:
        with cupy.cuda.Stream(non_blocking=True):
            if torch is None:
                return measured()
            with torch.cuda.stream(torch.cuda.Stream()):
                return measured()

    return on


def run(seconds: float = SECONDS) -> Iterator[Row]:
    """Time all groups and yield their rows."""
    if reason := lacks("cupy"):
        yield row("all groups", SKIP, reason)
        return
    wanted = sorted({name for group in GROUPS for needs in group.statements.values() for name in needs})
    missing = {name: reason for name in wanted if (reason := lacks(name))}
    spoken = names(tuple(name for name in wanted if name not in missing))
    for group in GROUPS:
        yield from measure(group, spoken, missing, seconds)


def main() -> int:
    """Time all groups and report them."""
    parser = argparse.ArgumentParser(prog="python -m gpu_check.benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, help="file that gets a line of JSON for each statement")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="to spend on each group, about (default: 1)")
    arguments = parser.parse_args()
    report = Report(arguments.report)
    for found in run(arguments.seconds):
        report.add(found)
    return report.failed


if __name__ == "__main__":
    sys.exit(main())
