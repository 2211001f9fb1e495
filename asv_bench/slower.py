"""Say which benchmarks of ours a commit has made slower: `asv continuous`, set to find what is there and little else.

    make slower ARGS="main HEAD"
    make slower ARGS="HEAD~1 HEAD --bench View --bench Ndarray"

Both commits are built and installed by asv, in turns; the benchmarks are those of the checkout, of `minimal` and
`maximal` alone, since the others do not change. Compared are 40 samples of each commit, from four rounds: between six
and six asv never finds a difference, and between 20 and 20 not always where four processes want each core. Nothing is
kept but the environment.

The exit status is 0 where nothing is slower, 1 where something is, and 2 where nothing was measured, which asv calls 1
too. Under make it stands behind `Error`: that of make is 2 for both.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import buflend
from buflend.bench.dashboard import DashboardError, checkout, driver, measuring, results

SUITE = Path(__file__).resolve().parent
OPTIONS = ("--interleave-rounds", "-a", "rounds=4", "-a", "repeat=10", "--show-stderr")
FACTOR = "1.5"  # with less, a machine that does other work finds something every day
OURS = r"\('m(ini|axi)mal'"
# What differs from process to process, and what takes the cores of others.
ENVIRONMENT = {"PYTHONHASHSEED": "0"}
ENVIRONMENT |= dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
MACHINE = "here"


def compare(base: str, head: str, bench: list[str], factor: str, work: Path) -> int:
    """Compare two commits.

    Parameters
    ----------
    base, head : str
        Commits as git knows them.
    bench : list of str
        Regular expressions, of which the name of a benchmark has to match one; all of them where there are none.
    factor : str
        How many times as long is slower.
    work : Path
        An empty folder.

    Returns
    -------
    int
        The exit status.
    """
    from asv.machine import Machine

    repository = checkout.find(SUITE.parent, work)
    commits = [commit(repository, name) for name in (base, head)]
    folder = work / "results"
    settings = measuring.configuration(SUITE, repository, existing=False, results_dir=folder)
    config = work / measuring.CONFIGURATION
    config.write_text(json.dumps(settings), "utf-8")
    info = {**Machine.get_defaults(), "machine": MACHINE, "gpu": results.NO_GPU}
    (work / driver.MACHINES).write_text(json.dumps({"version": 1, MACHINE: info}), "utf-8")
    chosen = [word for one in bench or [""] for word in ("-b", f"{one}.*{OURS}")]
    command = [sys.executable, "-u", "-X", "utf8", "-m", driver.__name__, str(work / "notes.json"), "continuous"]
    command += ["--config", str(config), "--machine", MACHINE, "--factor", factor, *OPTIONS, *chosen, *commits]
    # For asv's own process; what is measured is what it installs.
    roots = os.pathsep.join(str(Path(portion).resolve().parent) for portion in buflend.__path__)
    environment = {**checkout.environment(), **ENVIRONMENT, "PYTHONPATH": roots}
    code = subprocess.run(command, check=False, cwd=work, env=environment).returncode
    if unmeasured := set(commits) - measured(folder):
        raise DashboardError(f"nothing was measured of {', '.join(name[:8] for name in sorted(unmeasured))}")
    return code


def commit(repository: checkout.Repository, name: str) -> str:
    """Return the 40 digits of a commit."""
    found = checkout.git(repository.path, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found.returncode:
        raise DashboardError(f"{name}: git knows no such commit here; a clone of limited depth lacks most")
    return found.stdout.strip()


def measured(folder: Path) -> set[str]:
    """Return the commits of which there are numbers."""
    return {
        run.commit
        for machine in results.machines(folder)
        for run in machine.runs
        if any(value.measured for name in run.results for value in run.values(name).values())
    }


def main() -> int:
    """Compare what the command line names."""
    parser = argparse.ArgumentParser(prog="make slower ARGS=", description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit that was")
    parser.add_argument("head", help="the commit that is")
    parser.add_argument("--bench", action="append", default=[], metavar="RE", help="only these; may be repeated")
    parser.add_argument("--factor", default=FACTOR, help=f"how many times as long is slower (default: {FACTOR})")
    arguments = parser.parse_args()
    for pattern in arguments.bench:
        try:
            re.compile(pattern)
        except re.error as error:
            parser.error(f"--bench {pattern}: this is no regular expression: {error}")
    try:
        wide = float(arguments.factor) > 1
    except ValueError:
        wide = False
    if not wide:
        parser.error(f"--factor {arguments.factor}: expected a number above 1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            return compare(arguments.base, arguments.head, arguments.bench, arguments.factor, Path(folder))
        except DashboardError as error:
            print(f"make slower: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130


if __name__ == "__main__":
    sys.exit(main())
