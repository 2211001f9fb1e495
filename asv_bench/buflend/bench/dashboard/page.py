"""The landing page, complete in itself: it opens from a file, and its plots draw without the network.

Lives here: what the template is given. The words and numbers stand in `rows`, `bars` and `figures`.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from .. import drawing, peers
from ..wording import plural, times_text
from . import figures, summary
from .rows import FIRST, chosen, left_out, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .bars import Reached
    from .offline import Package
    from .results import Machine
    from .rows import Row, Table

GENERATOR = "buflend dashboard"
MARK = f'<meta name="generator" content="{GENERATOR}">'
"""What a page of ours has in its head: another page is not written over."""

ASV = "asv/index.html"
"""Where asv's own page lies, seen from the landing page."""


class Notes(NamedTuple):
    """What has to be known of the whole page: sentences, and whether asv's own page is beside it."""

    sentences: Sequence[str]
    asv: bool


def render(
    table: Table, machines: Iterable[Machine], bars: list[Reached], words: Mapping[str, str], notes: Notes
) -> str:
    """Return the page."""
    groups = {
        name: summary.sections((row for row in table.rows if row.on_gpu is on_gpu), words)
        for name, on_gpu in summary.GROUPS.items()
    }
    graphs = figures.graphs(table.rows)
    return drawing.template("dashboard.html.j2").render(
        generator=GENERATOR,
        version=peers.our_version(),
        python=platform.python_version(),
        made=datetime.now(UTC).isoformat(" ", "minutes").removesuffix("+00:00"),
        groups=groups,
        machines=[about(machine) for machine in machines],
        bars=bars,
        left_out=left_out(table.skipped),
        outdated=table.outdated,
        notes=notes,
        first=FIRST,
        amount=figures.amount,
        around=summary.around,
        spread=summary.spread,
        chosen=chosen,
        limits=summary.limits,
        told_ratio=summary.told_ratio,
        plural=plural,
        times=times_text,
        link=link,
        graphs=graphs,
        figures=drawing.embedded({graph.name: graph.figure for graph in graphs}),
        plotly=drawing.plotly(),
    )


def link(row: Row) -> str:
    """Return the address of a row's graph on asv's page: implementations side by side.

    With more than one series asv draws nothing there, so that every other choice is made.
    """
    chosen = {"x-axis": "impl", **{f"p-{name}": value for name, value in row.raw.items()}}
    chosen |= {"machine": row.machine, "python": row.python, "gpu": row.gpu}
    told = "&".join(f"{name}={quote(value, safe='')}" for name, value in chosen.items())
    return f"{ASV}#{row.benchmark}?{told}"


def about(machine: Machine) -> dict[str, Any]:
    """Return what a person has to know of a machine and of what was measured on it."""
    info = machine.info
    newest = max(machine.runs, key=lambda run: max(map(run.when, run.results), default=0), default=None)
    when = max((run.when(name) for run in machine.runs for name in run.results), default=0)
    return {
        "name": machine.name,
        "gpu": info.get("gpu", "none"),
        "cpu": ", ".join(filter(None, (info.get("cpu", ""), info.get("arch", "")))),
        "cpus": info.get("num_cpu", ""),
        "os": info.get("os", ""),
        "python": ", ".join(sorted({plain(str(run.data["python"])) for run in machine.runs})),
        "commit": commit_text(newest.commit, newest.notes) if newest else "",
        "when": datetime.fromtimestamp(when / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
        "quick": any(run.notes.get("quick") for run in machine.runs),
    }


def commit_text(commit: str, notes: Mapping[str, Any]) -> str:
    """Give a commit, and what is to be known of it."""
    if notes.get("no_history"):
        return "no history"
    return commit[:8] + (" with changes" if notes.get("changed") else "")


def licences(found: Iterable[tuple[Package, str]]) -> str:
    """Return the page that says whose scripts lie beside asv's page, and under which licences."""
    return drawing.template("licences.html.j2").render(packages=list(found), plotly=peers.version("plotly"))
