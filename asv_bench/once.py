"""Run every exchange of a package some times, in one process, under a tool that looks for mistakes.

    valgrind -q python asv_bench/once.py numpy 5

With 0 nothing is exchanged: what the tool says then is not of the library.
"""

import gc
import sys
import warnings

import exchanges


def main(package: str, count: str) -> None:
    """Run the statements of a package so many times each."""
    warnings.simplefilter("ignore")  # pandas and polars announce the end of `__dataframe__`
    names = exchanges.names(package)
    for needs, statement in exchanges.EXCHANGES.values():
        if needs == package:
            exec(f"for _ in range({int(count)}):\n    {statement}", names)  # noqa: S102 - of the table
    gc.collect()
    gc.collect()  # what was parked goes with the second


if __name__ == "__main__":
    main(*sys.argv[1:])
