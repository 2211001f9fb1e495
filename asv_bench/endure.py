"""Exchange a million times in every way, and show what is left behind.

    make endure
    make endure ARGS="--count 10000 --only refused"

Every kind of exchange has a process of its own: all ways out and in, of buffers, columns and tables, pickles, and what
is refused. A million of each takes an hour or two of one core, most of it for whole frames: `--count` makes it shorter,
`--only` leaves out the kinds whose names do not match.
"""

from __future__ import annotations

import argparse
import re
import sys
import time

import remains
from exchanges import EXCHANGES

from buflend.bench import peers

COLUMNS = ("resident", "traced", "references", "blocks", "objects", "files", "live")


def say(text: str) -> None:
    """Write a line now: hours lie between the first and the last."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def line(name: str, found: dict[str, object]) -> str:
    """Return a row of what was left behind."""
    if "exchange" not in found:
        return f"{name:44} {found['verdict']}"
    left = " ".join(f"{found[column]:>10,}" for column in COLUMNS)
    return f"{name:44} {left} {found['exchange']:8.1f} {found['verdict']}"


def main() -> int:
    """Measure and print, one by one; status 1 where something was left behind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="exchanges of each kind (default: 1000000)")
    parser.add_argument("--only", default="", metavar="RE", help="the kinds whose names match")
    arguments = parser.parse_args()
    chosen = {name: one for name, one in EXCHANGES.items() if re.search(arguments.only, name)}
    say(f"{arguments.count:,} exchanges each, Python {sys.version.split()[0]}; growth, in bytes or in number")
    headings = " ".join(f"{column:>10}" for column in COLUMNS)
    say(f"{'':44} {headings} {'µs each':>8} verdict")
    began, failed, measured = time.monotonic(), 0, 0
    try:
        for name, found in remains.run(arguments.count, chosen):
            say(line(name, found))
            measured += 1
            failed += found["verdict"] != "met"
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    absent = sorted({package for package, _ in chosen.values() if not peers.peer(package).available})
    say(f"{measured} kinds in {time.monotonic() - began:.0f} s, {failed} missed; not installed: {absent or 'nothing'}")
    say(f"met: less than {remains.LEAST} byte per exchange, no reference, object, file or export more than before")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
