"""What all machines measured, gathered, and asv's own page of it.

asv publishes a result where its repository has the commit, and drops it with a warning where it has not, as in a clone
of limited depth. What is dropped so is shown at the commit that is checked out instead, and said; the landing page
takes results as they are, with the commits that they are of. Must not know: how something is measured.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, NamedTuple

from . import DashboardError, measuring, offline, page, results

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from .checkout import Repository
    from .results import Machine, Run


class Place(NamedTuple):
    """Where things are: the suite, its copies of what asv's page loads, asv's log, a folder to work in, the pages."""

    suite: Path
    assets: Path
    log: Path
    work: Path
    site: Path

    @property
    def asv(self) -> Path:
        """Return the folder of asv's own page."""
        return self.site / "asv"


def gathered(folders: Iterable[Path], added: Iterable[Path]) -> list[Machine]:
    """Return the machines of folders of results, each once, with all its runs; later folders know machines better.

    Raises
    ------
    DashboardError
        When a machine of `added` has the name of another one.
    """
    found: dict[str, Machine] = {}
    for folder, foreign in [*((one, False) for one in folders), *((one, True) for one in added)]:
        for machine in results.machines(folder):
            before = found.get(machine.name)
            if before is not None and foreign:
                _check_same(before, machine, folder)
            runs = results.merged([*(before.runs if before else ()), *machine.runs])
            if runs:
                found[machine.name] = machine._replace(runs=runs)
    return list(found.values())


def _check_same(one: Machine, other: Machine, folder: Path) -> None:
    for key in ("cpu", "gpu"):
        here, there = one.info.get(key), other.info.get(key)
        if here != there:
            raise DashboardError(
                f"--add {folder}: {one.name} is the name of two machines: {key}: got {there}, expected {here}; "
                "measure one of them again with another --machine"
            )


def placed(machines: Iterable[Machine], repository: Repository, strict: set[str]) -> tuple[list[Machine], set[str]]:
    """Return machines with runs of commits that the repository has, and the commits for which its own stands now.

    Parameters
    ----------
    machines : iterable of Machine
        What is to be published.
    repository : Repository
        Where asv looks for commits.
    strict : set of str
        Names of machines of which a commit that a whole repository lacks is an error.
    """
    replaced: set[str] = set()
    here = repository.date(repository.commit) or 0

    def at(run: Run, machine: str) -> Run:
        date = repository.date(run.commit)
        if date is not None:
            return results.at(run, run.commit, date)
        if repository.complete and machine in strict:
            raise DashboardError(
                f"{machine} was measured on commit {run.commit}, which this repository does not have: "
                "fetch it, or measure again on a commit that is here"
            )
        if not run.notes.get("no_history"):
            replaced.add(run.commit)
        return results.at(run, repository.commit, here)

    found = [one._replace(runs=results.merged(at(run, one.name) for run in one.runs)) for one in machines]
    return found, replaced


def publish(machines: Iterable[Machine], benchmarks: dict[str, Any], repository: Repository, place: Place) -> None:
    """Write asv's own page, which needs no network, and whose navigation leads to the landing page.

    Raises
    ------
    offline.AssetsError
        When what the page loads cannot be had.
    DashboardError
        When it loads something else, or asv fails.
    """
    try:
        made = _made(machines, benchmarks, repository, place)
    except DashboardError:
        shutil.rmtree(place.asv, ignore_errors=True)  # that of the last time shows other results
        raise
    shutil.rmtree(place.asv, ignore_errors=True)
    place.site.mkdir(parents=True, exist_ok=True)
    shutil.move(made, place.asv)
    text = page.licences(offline.licences(place.assets))
    (place.site / "licences.html").write_text(text, "utf-8")


def _made(machines: Iterable[Machine], benchmarks: dict[str, Any], repository: Repository, place: Place) -> Path:
    """Return a folder with asv's own page, elsewhere: who is interrupted keeps that of the last time."""
    offline.install(place.assets)
    folder = measuring.emptied(place.work / "published")
    made = place.work / "asv"
    for machine in machines:
        results.write(folder, machine)
    results.write_benchmarks(folder, benchmarks)
    settings = measuring.configuration(place.suite, repository, existing=True, results_dir=folder, html_dir=made)
    config = place.work / "publish.json"
    config.write_text(json.dumps(settings), "utf-8")
    measuring.done(["publish", "--config", str(config)], place.work, place.log)
    offline.localise(made, place.assets, home="../index.html")
    return made
