"""Groups of alternatives that do the same work, tried and timed in a process of their own.

Rules of this file: every alternative is called once before it is timed. What refuses is said and left out; what ends
the process is said, and the rest is timed again without it. What the works are stands elsewhere (`exchanges`,
`spoken`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import processes, timing
from .files import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Tell = Callable[[dict[str, Any]], None]


class Group(NamedTuple):
    """Alternatives that do the same work.

    Parameters
    ----------
    title : str
        What the work is; unique within its section.
    alternatives : dict
        Name and function.
    rows : int
        Rows that each call reads.
    note : str
        What a reader has to know of the work.
    left_out : mapping of str to str
        Columns that are not read, and who refuses them why.
    baseline : str
        The alternative that all others are compared with; empty for buflend's, else the first that works.
    """

    title: str
    alternatives: dict[str, Callable[[], object]]
    rows: int
    note: str = ""
    left_out: Mapping[str, str] = MappingProxyType({})
    baseline: str = ""


def in_process(job: str, payload: dict[str, Any], told: Callable[[str], None]) -> tuple[list[dict[str, Any]], str]:
    """Time groups in a process of its own, again without whatever ended that process.

    Parameters
    ----------
    job : str
        `module:function`, as `processes.run` takes it; it calls `time_all`.
    payload : dict
        What the function gets, beside what was done and what to skip.
    told : callable
        Called with what is being tried.

    Returns
    -------
    tuple
        The groups, JSON-able, and why they are not all; empty where they are.
    """
    groups: list[dict[str, Any]] = []
    skip: dict[str, dict[str, str]] = {}
    while True:
        now = {"title": "", "name": ""}
        order = {**payload, "done": [group["title"] for group in groups], "skip": skip}
        end: dict[str, Any] = {}
        for message in processes.run(job, order):
            if "group" in message:
                groups.append(message["group"])
            elif "try" in message:
                if message["try"]["title"] != now["title"]:
                    told(message["try"]["title"])
                now = message["try"]
            else:
                end = message
        if end["end"] == "done":
            return groups, ""
        if end["end"] == "failed" or not now["title"] or now["name"] in skip.get(now["title"], {}):
            return groups, f"{end['end']}: {end['detail']}"
        skip.setdefault(now["title"], {})[now["name"]] = f"{end['end']}: {end['detail']}"


def time_all(
    groups: Iterable[Group],
    payload: dict[str, Any],
    tell: Tell,
    baseline: str = "",
    makes: Callable[[Any], str] = lambda _result: "",
) -> None:
    """Try and time groups, and tell of each; those that `payload` names as done are left out.

    Parameters
    ----------
    groups : iterable of Group
        Made one after another, so that what one holds is gone before the next.
    payload : dict
        `done`, `skip` and `seconds`.
    tell : callable
        Takes messages.
    baseline : str
        How the name of the alternative begins that others are compared with, where the group names none.
    makes : callable
        Says what a result is, in a word.
    """
    for group in groups:
        if group.title in payload["done"]:
            continue
        usable, entries = tried(group, payload["skip"].get(group.title, {}), tell)
        if usable:
            tell({"try": {"title": group.title, "name": "timing"}})
            base = _base(group, usable, baseline)
            for name, found in timing.compare(usable, baseline=base, seconds=payload["seconds"]).items():
                entries[name] = {"outcome": "timed", "detail": "", "makes": makes(usable[name]()), **found.as_json()}
            tell({"group": as_json(group, base, entries)})
        else:
            tell({"group": as_json(group, "", entries)})


def _base(group: Group, usable: Mapping[str, object], baseline: str) -> str:
    if group.baseline in usable:
        return group.baseline
    return next((name for name in usable if baseline and name.startswith(baseline)), next(iter(usable)))


def as_json(group: Group, baseline: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Return a group with what became of its alternatives."""
    return {
        "title": group.title,
        "rows": group.rows,
        "note": group.note,
        "left_out": dict(group.left_out),
        "baseline": baseline,
        "alternatives": {name: entries[name] for name in group.alternatives if name in entries},
    }


def tried(
    group: Group, skip: dict[str, str], tell: Tell
) -> tuple[dict[str, Callable[[], object]], dict[str, dict[str, Any]]]:
    """Call each alternative once; return those that work, and an entry for each that does not."""
    usable, entries = {}, {}
    for name, function in group.alternatives.items():
        reason = skip.get(name) or skip.get("timing")
        if reason is not None:
            entries[name] = {"outcome": "crashed", "detail": reason}
            continue
        tell({"try": {"title": group.title, "name": name}})
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            entries[name] = {"outcome": "refused", "detail": sentence(error)}
        else:
            usable[name] = function
    return usable, entries
