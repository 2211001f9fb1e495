"""The long hunt, a command: `python -m tests.hostile.long --minutes 15`, from the root of a checkout.

Lives here: the time, the seeds, and the table of what came. Must not know: any protocol, nor what is right.

Each round is a child with a seed of its own, and the number of the first is printed: with it all that Hypothesis draws
is drawn again. With `--atheris` what has been reached in the library guides what is drawn next.
"""

import argparse
import os
import sys
import time
from collections import Counter
from typing import Any

ROUND = 400  # inputs of a child


def main() -> int:
    """Hunt, and return how many kinds of fault were found."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.long", description=__doc__)
    parser.add_argument("protocols", nargs="*", help="names of protocols; all where none is named")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--atheris", action="store_true", help="let coverage guide it; needs the package atheris")
    options = parser.parse_args()
    sys.path[:0] = [part for part in ("minimal", "maximal", "shared", "asv_bench") if os.path.isdir(part)]  # noqa: PTH112
    if options.atheris:
        import atheris

        with atheris.instrument_imports(include=["buflend"]):
            from . import driver
    else:
        from . import driver
    from .protocols import PROTOCOLS

    if unknown := set(options.protocols) - PROTOCOLS.keys():
        parser.error(f"no such protocol: {', '.join(sorted(unknown))}; there are {', '.join(PROTOCOLS)}")
    names = options.protocols or list(PROTOCOLS)
    print(f"{options.minutes:g} minutes, first seed {options.seed}", flush=True)  # noqa: T201 - a command
    return report(_hunt(driver, names, options))


def _hunt(driver: Any, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return, by protocol, what came of all rounds."""
    end = time.monotonic() + 60 * options.minutes
    total = {name: driver.Found([], Counter(), {}) for name in names}
    number = 0
    while time.monotonic() < end:
        name = names[number % len(names)]
        if options.atheris:
            ended = driver.guided(name, int(60 * options.minutes / len(names)) + 1, options.seed + number)
        else:
            ended = driver.hunt(name, ROUND, seed=options.seed + number, go_on=True)
        found = total[name]
        if ended.value is None:
            why = f"died of signal {ended.signal}" if ended.signal else str(ended.error and ended.error[2])
            found.faults.setdefault(why, ended.doing)
            print(f"{name}: {ended.doing}: {why}\n{ended.trace}", flush=True)  # noqa: T201
        else:
            found.inputs.extend(ended.value.inputs)
            found.verdicts.update(ended.value.verdicts)
            for fault, one in ended.value.faults.items():
                found.faults.setdefault(fault, one)
        number += 1
        if options.atheris and number == len(names):
            break
    return total


def report(total: dict[str, Any]) -> int:
    """Print the table and the faults, and return how many there are."""
    heads = ("inputs", "different", "calls", "refused", "read", "believed", "passed on", "faults")
    lines: list[tuple[str, tuple[Any, ...]]] = [("protocol", heads)]
    for name, found in total.items():
        verdicts = found.verdicts
        refused = sum(count for verdict, count in verdicts.items() if verdict.startswith("refused"))
        told = (verdicts[verdict] for verdict in ("read", "believed", "passed on"))
        tried = len(found.inputs), len(set(found.inputs)), sum(verdicts.values()), refused
        lines.append((name, (*tried, *told, len(found.faults))))
    for name, numbers in lines:
        print(f"{name:22}" + "".join(f"{number:>10}" for number in numbers))  # noqa: T201
    for name, found in total.items():
        for fault, one in found.faults.items():
            print(f"\n{name}: {fault}\n    {one}")  # noqa: T201
    return sum(len(found.faults) for found in total.values())


if __name__ == "__main__":
    sys.exit(min(main(), 1))
