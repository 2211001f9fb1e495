"""`buflend dashboard`: measure, keep, gather what other machines measured, publish, write the landing page, serve.

Results of this checkout are kept in `.asv` beside the suite, which git ignores; those of machines that everybody is to
see lie in `results`, and are always shown. The landing page needs nothing but results: where asv's own page cannot be
had, it is written all the same.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import processes
from ..wording import plural
from . import (
    DashboardError,
    bars,
    checkout,
    measuring,
    offline,
    page,
    publishing,
    results,
    rows,
    serving,
    shape,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from .checkout import Repository
    from .measuring import Measured, Plan, Progress
    from .publishing import Place
    from .results import Machine
    from .rows import Table

    Say = Callable[[str], None]

SUITE = Path(__file__).resolve().parents[3]
"""The folder that holds asv's configuration, the benchmarks and the results."""

NOTHING = "''"
QUICK = "Quick: three samples each, as they come: for a look, not for numbers."
NO_HISTORY = "This checkout has no git history: asv's own page shows everything at one commit."
ONE_COMMIT = "asv's own page draws history: of one commit it shows the graphs that are linked here, and an empty grid."


class Options(NamedTuple):
    """What was asked for, by the names of the command's options."""

    quick: bool
    bench: list[str]
    machine: str
    gpu: str | None
    commit: str | None
    add: list[Path]
    history: str | None
    publish: bool
    serve: bool
    output: Path | None
    port: int | None


class Dashboard:
    """One run of the command: what was asked for, where things are, and whom to tell."""

    def __init__(self, options: Options, say: Say) -> None:
        self.options, self.say = options, say
        self.store = SUITE / ".asv"
        self.site = (options.output or self.store / "site").absolute()
        self.kept = self.store / ("quick" if options.quick else "results")
        self.log = self.store / "asv.log"
        self.lines: list[str] = []
        self.failed = False

    def check(self) -> None:
        """Refuse what cannot be done before minutes are spent."""
        options = self.options
        if not shape.NAME.fullmatch(options.machine):
            raise DashboardError(f"--machine {options.machine or NOTHING}: expected {shape.NAMED}")
        for name, value in (("gpu", options.gpu), ("history", options.history)):
            if value is not None and not value.strip():
                raise DashboardError(f"--{name}: got nothing, expected a value; leave the option out")
        for pattern in options.bench:
            try:
                re.compile(pattern)
            except re.error as error:
                raise DashboardError(f"--bench {pattern}: this is no regular expression: {error}") from error
        for folder in options.add:
            if not any(machine.runs for machine in results.machines(folder)):
                raise DashboardError(
                    f"--add {folder}: no results there: expected a folder with a machine.json and files of results, "
                    "or of such folders"
                )
        if options.publish:
            _check_ours(self.site)
        if options.serve and options.port is not None:
            serving.opened(self.site, options.port).server_close()

    def measure(self, shown: Callable[[], AbstractContextManager[Progress]]) -> None:
        """Measure, keep the results, and publish them unless that is not wanted; what came of it is said at the end."""
        self.store.mkdir(exist_ok=True)
        self.say(f"measuring; what asv says goes to {self.log}")
        try:
            with shown() as progress:  # while that is on a terminal, nothing else may write
                self._measure(progress)
        finally:
            for line in self.lines:
                self.say(line)

    def _measure(self, progress: Progress) -> None:
        with tempfile.TemporaryDirectory(prefix="buflend-") as made:
            place = publishing.Place(SUITE, self.store / "assets", self.log, Path(made, "work"), self.site)
            place.work.mkdir()
            repository = self._repository(Path(made))
            self._gathered(repository)  # what is wrong with others' results is better known now
            progress("looking for a GPU", 0.0)
            plan = self._plan(repository)
            found = self._measured(plan, repository, place, progress)
            self.failed = found.failed
            if self.options.publish:
                progress("publishing", 1.0)
                self._publish(found, repository, place)
            else:
                self.lines.append(f"kept: {self.kept / plan.machine}; to show it: buflend dashboard --add FOLDER")

    def _repository(self, folder: Path) -> Repository:
        found = checkout.find(SUITE.parent, folder)
        commit, span = self.options.commit, self.options.history
        if commit is not None and found.history and not (commit and found.commit.startswith(commit)):
            raise DashboardError(f"--commit {commit}: the checkout is at {found.commit}; leave the option out")
        if commit is not None and not found.history and not shape.COMMIT.fullmatch(commit):
            raise DashboardError(f"--commit {commit}: expected 40 digits, as `git rev-parse HEAD` writes them")
        if span is not None and not found.history:
            raise DashboardError(f"--history {span}: this checkout has no git history; measure in a clone")
        return found

    def _plan(self, repository: Repository) -> Plan:
        options = self.options
        span = None
        if options.history is not None:
            span = checkout.commits(repository, options.history)
            if not span:
                raise DashboardError(f"--history {options.history}: got no commit, expected at least one")
        gpu = options.gpu if options.gpu is not None else gpu_name()
        return measuring.Plan(SUITE, options.quick, options.bench, options.machine, gpu, span)

    def _measured(self, plan: Plan, repository: Repository, place: Place, progress: Progress) -> Measured:
        """Measure, and keep what came of it."""
        place.log.write_bytes(b"")
        try:
            found = measuring.measure(plan, repository, place.work, place.log, progress)
        except (KeyboardInterrupt, DashboardError):  # of many commits some may be measured
            machine = measuring.collect(plan, place.work)
            if plan.span is not None and measuring.count(machine):
                results.keep(self.kept, machine)
            raise
        if plan.span is None:
            found = found._replace(machine=self._described(found.machine, repository))
        if not measuring.count(found.machine):
            told = "; ".join(measuring.reasons(found.machine)) or "no benchmark was run"
            raise DashboardError(f"nothing was measured: {told} (see {place.log})")
        if self.options.quick:
            measuring.emptied(self.kept)
        results.keep(self.kept, found.machine)
        results.write_benchmarks(self.kept, found.benchmarks)
        for line in measuring.failures(found.machine):
            self.lines.append(f"failed: {line}")
        return found

    def _described(self, machine: Machine, repository: Repository) -> Machine:
        """Say of runs what their commit does not: that files were changed, or that there is no history."""
        commit = self.options.commit
        is_so = {"changed": repository.changed, "no_history": not repository.history and commit is None}
        notes = {name: True for name, holds in is_so.items() if holds}
        runs = [one._replace(notes={**one.notes, **notes}) for one in machine.runs]
        if commit is not None and not repository.history:
            runs = [results.at(one, commit, one.data["date"]) for one in runs]
        return machine._replace(runs=runs)

    def _gathered(self, repository: Repository) -> tuple[list[Machine], list[Machine], set[str]]:
        """Return all machines, the same as asv can publish them, and the commits that are not here."""
        found = publishing.gathered([SUITE / "results", self.kept], self.options.add)
        strict = {one.name for folder in self.options.add for one in results.machines(folder)}
        return found, *publishing.placed(found, repository, strict)

    def _publish(self, found: Measured, repository: Repository, place: Place) -> None:
        machines, for_asv, replaced = self._gathered(repository)
        notes = [QUICK] if self.options.quick else []
        if not repository.history:
            notes.append(NO_HISTORY)
        elif len({one.commit for machine in for_asv for one in machine.runs}) == 1:
            notes.append(ONE_COMMIT)
        if repository.history and replaced:
            told = ", ".join(sorted(one[:8] for one in replaced))
            here = repository.commit[:8]
            notes.append(f"What was measured on commits that are not here stands on asv's own page at {here}: {told}.")
        broken = None
        try:
            publishing.publish(for_asv, found.benchmarks, repository, place)
        except offline.AssetsError as error:
            self.lines.append(f"without asv's own page: {error}")
            notes.append(f"Without asv's own page, and so without history: {error}.")
        except DashboardError as error:
            notes.append(f"Without asv's own page: {error}.")
            broken = error
        table = write(place, machines, found.benchmarks, notes)
        for group, on_gpu in summary.GROUPS.items():
            self.lines.append(f"{group}: {plural(sum(row.on_gpu is on_gpu for row in table.rows), 'row')}")
        self.lines.append(f"written: {place.site / 'index.html'}")
        if broken is not None:
            raise broken

    def show(self) -> None:
        """Serve the pages until somebody interrupts, or say how to."""
        if not self.options.publish:
            return
        if not self.options.serve:
            self.say(f"a browser opens it as a file; asv's own page has to be served: {serving.how_to(self.site)}")
            return
        with serving.opened(self.site, self.options.port) as server, contextlib.suppress(KeyboardInterrupt):
            self.say(f"{serving.address(server)} shows it to this machine, until you press Ctrl-C")
            server.serve_forever()


def _check_ours(site: Path) -> None:
    """Refuse a folder that cannot be written, and one that holds something else: files of it would be replaced."""
    there = next(one for one in (site, *site.parents) if one.exists())
    if not there.is_dir():
        raise DashboardError(f"--output {site}: {there} is a file, expected a folder")
    missing = [one for one in (site, *site.parents) if not one.exists()]
    try:
        site.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=site).close()  # nothing less tells whether files can be written there
    except OSError as error:
        raise DashboardError(f"--output {site}: may not be written: {error.strerror}; name another folder") from error
    finally:
        for one in missing:
            with contextlib.suppress(OSError):
                one.rmdir()
    if there != site:
        return
    index = site / "index.html"
    ours = index.is_file() and page.MARK in index.read_text("utf-8", "replace")[:4000]
    if not ours and any(site.iterdir()):
        raise DashboardError(f"--output {site}: this folder holds something else, expected a new one, or a dashboard")


def gpu_name() -> str:
    """Return what the CUDA runtime calls the first device, or `results.NO_GPU`; it is asked in other processes."""
    from ..cuda import device, memory

    told, _ = processes.answer(device.COUNT, {})
    if not told.get("count"):
        return results.NO_GPU
    named, _ = processes.answer(device.PROBE, {"name": memory.PLAIN})
    return str(named.get("device") or "CUDA device")


def write(place: Place, machines: list[Machine], benchmarks: dict[str, Any], notes: list[str]) -> Table:
    """Write the landing page, and its rows as Markdown, and return the rows."""
    words = rows.suite_words(place.suite / "benchmarks")
    table = rows.table(machines, benchmarks, words)
    reached = bars.reached(table, benchmarks)
    about = page.Notes(notes, asv=(place.asv / "index.html").is_file())
    texts = {
        "index.html": page.render(table, machines, reached, words, about),
        "summary.md": summary.render(table, reached, words, notes),
    }
    place.site.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():  # neither without the other
        (place.site / name).write_text(text, "utf-8")
    return table
