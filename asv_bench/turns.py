"""Compare two checkouts of the library in turns, in one process: what a change makes of the paths that bars time.

    git worktree add ../before HEAD~1
    python asv_bench/turns.py ../before

Both trees are loaded, the other under another name, which works since parts import one another relatively. Shown are
the median over the rounds of this tree's time over the other's, and the quartiles around it. Times are of the thread's
own work, without what other processes took in between.
"""

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from timeit import Timer
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from rounds import CLOCK, timed

HERE = Path(__file__).resolve().parent.parent
PARTS = ("shared", "minimal", "maximal")


class Timed(NamedTuple):
    """A statement, how often it runs in a round, and the package that it needs."""

    statement: str
    number: int = 500
    package: str = "numpy"


TIMED = {
    'as_ndarray(buffer, "int64")': Timed('minimal.as_ndarray(held, "int64")'),
    "as_buffer": Timed("maximal.as_buffer(array)"),
    "as_buffer, from_dlpack": Timed("np.from_dlpack(maximal.as_buffer(array))"),
    "numpy.from_dlpack(buffer)": Timed("np.from_dlpack(buffer)"),
    "DLPack of CUDA memory": Timed("cuda.__dlpack__(max_version=(1, 0))"),
    "DLPack of packed 4 bits": Timed("packed(max_version=(1, 0))"),
    "capsules of a column": Timed("column.__arrow_c_array__()"),
    # From here on pyarrow is loaded, which makes the capsules then.
    "pyarrow.array(column)": Timed("pyarrow.array(column)", package="pyarrow"),
    "as_table(pyarrow)": Timed("maximal.as_table(table)", 20, "pyarrow"),
    "as_buffer, as_ndarray": Timed('maximal.as_ndarray(maximal.as_buffer(tensor), "int64")', package="torch"),
}
"""What is timed, as `make bars` calls it -> how."""


def tree(checkout: Path, name: str) -> dict[str, Any]:
    """Load the library of a checkout under a name, and return what the statements speak of.

    Raises
    ------
    ModuleNotFoundError
        When the folder is no checkout.
    """
    root = ModuleType(name)
    root.__path__ = [str(checkout / part / "buflend") for part in PARTS]
    sys.modules[name] = root
    maximal, minimal = (import_module(f"{name}.{part}") for part in ("maximal", "minimal"))
    array = np.arange(1000)
    dlpack, dlpack_export = (import_module(f"{name}.shared.{part}") for part in ("dlpack", "dlpack_export"))
    ptr, size = array.ctypes.data, array.nbytes
    return {
        "np": np,
        "maximal": maximal,
        "minimal": minimal,
        "array": array,
        "held": minimal.Buffer(ptr, size, owner=array),
        "buffer": maximal.as_buffer(array),
        "cuda": maximal.Buffer(ptr, size, owner=array, device=(2, 0)),
        "packed": dlpack_export.exporter(array, dlpack.Tensor(ptr, (1000,), (1,), (17, 4, 1))),
        "column": maximal.as_column(array),
    }


def load(package: str, trees: list[dict[str, Any]]) -> None:
    """Import a package and make what its statements speak of."""
    module = import_module(package)
    for names in trees:
        names[package] = module
        if package == "pyarrow":
            names["table"] = module.table({str(place): range(1000) for place in range(10)})
        if package == "torch":
            names["tensor"] = module.arange(1000)


def measure(other: Path, rounds: int) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yield of each path its seconds per call: of this tree and of the other, in turns."""
    trees = [tree(HERE, "this_tree"), tree(other, "other_tree")]
    for name, (statement, number, package) in TIMED.items():
        if package not in trees[0] and package != "numpy":
            if find_spec(package) is None:
                continue
            load(package, trees)
        measured = timed(rounds, number, [Timer(statement, timer=CLOCK, globals=names) for names in trees])
        yield name, [(ours, others) for ours, others in measured]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=300, help="measurements of each path (default: 300)")
    arguments = parser.parse_args()
    for part in PARTS:
        if not (arguments.other / part / "buflend" / part).is_dir():
            parser.error(f"{arguments.other}: expected a checkout, with the folder {part}/buflend/{part}")
    print("| path | before | now | now over before | quartiles |\n| --- | --- | --- | --- | --- |")
    for name, pairs in measure(arguments.other, arguments.rounds):
        ours, others = (f"{median(side) * 1e6:.3g} µs" for side in zip(*pairs, strict=True))
        low, middle, high = quantiles([mine / other for mine, other in pairs], n=4)
        print(f"| `{name}` | {others} | {ours} | {middle:.3f} | {low:.3f}-{high:.3f} |")


if __name__ == "__main__":
    main()
