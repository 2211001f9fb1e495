"""What asv's files have to hold, as far as they are read here: checked before anything is made of them.

Results come from other machines, by hand: what is cut off or was edited is said when the file is read, not minutes
later. Names become names of files, so that one that leads elsewhere is refused. Must not know: what results mean.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from . import DashboardError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""What a machine may be called: its folder is called so, too."""

NAMED = "letters, digits, and . _ - between them"

COMMIT = re.compile(r"[0-9a-f]{40}")
ENVIRONMENT = re.compile(r"[^/\\\x00-\x1f]+")
"""What an environment may be called: the file of its results is called so, too."""

KINDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
"""Types, as people call them who look into JSON."""

KEYS = {
    "commit_hash": str,
    "env_name": str,
    "date": int,
    "params": dict,
    "python": str,
    "results": dict,
    "result_columns": list,
}
"""What is read of a file of results -> its type."""

PATTERNS = {"commit_hash": (COMMIT, "40 digits of a commit"), "env_name": (ENVIRONMENT, "a name without a slash")}

NUMBERS = ("result", "stats_q_25", "stats_q_75", "stats_repeat")
"""The columns that hold a number, or null, for each combination of parameters."""


def check_machine(path: Path, info: Mapping[str, Any], name: str) -> None:
    """Refuse a file that describes a machine, `machine.json`, of which the page could not be written."""
    if not NAME.fullmatch(name):
        raise DashboardError(f"{path}: machine: got {name!r}, expected {NAMED}")
    for key, value in info.items():
        if key != "version" and not isinstance(value, str):
            raise DashboardError(f"{path}: {key}: got {_short(value)}, expected {KINDS[str]}")


def check_run(path: Path, data: Mapping[str, Any]) -> None:
    """Refuse a file of results that lacks something, or holds it in another form."""
    for key, kind in KEYS.items():
        if key not in data:
            raise DashboardError(f"{path}: asv's key {key!r} is missing")
        if not isinstance(data[key], kind):
            raise DashboardError(f"{path}: {key}: got {_short(data[key])}, expected {KINDS[kind]}")
    for key, (pattern, expected) in PATTERNS.items():
        if not pattern.fullmatch(data[key]):
            raise DashboardError(f"{path}: {key}: got {_short(data[key])}, expected {expected}")
    notes = data.get("buflend", {})
    reasons = notes.get("reasons", {}) if isinstance(notes, dict) else notes
    if not isinstance(reasons, dict) or not all(isinstance(one, dict) for one in reasons.values()):
        raise DashboardError(f"{path}: buflend: expected an object, its reasons an object of objects")
    for name, row in data["results"].items():
        if not isinstance(row, list):
            raise DashboardError(f"{path}: {name}: got {_short(row)}, expected {KINDS[list]}")
        _check_columns(f"{path}: {name}", dict(zip(data["result_columns"], row, strict=False)))


def _check_columns(where: str, columns: Mapping[str, Any]) -> None:
    """Refuse the row of a benchmark of which some values could not be told from others."""
    params = columns.get("params")
    if not isinstance(params, list) or not all(isinstance(one, list) for one in params):
        raise DashboardError(f"{where}: params: got {_short(params)}, expected a list of lists")
    count = math.prod(map(len, params))
    for name in NUMBERS:
        values = columns.get(name)
        if values is None:
            continue
        if not isinstance(values, list) or not all(one is None or isinstance(one, int | float) for one in values):
            raise DashboardError(f"{where}: {name}: got {_short(values)}, expected a list of numbers")
        if len(values) != count:
            told = "results" if name == "result" else f"values of {name}"
            raise DashboardError(
                f"{where}: got {len(values)} {told}, expected {count}, one for each combination of its parameters"
            )
    started = columns.get("started_at")
    if not isinstance(started, int | None):
        raise DashboardError(f"{where}: started_at: got {_short(started)}, expected milliseconds")


def _short(value: object) -> str:
    """Return a value as Python writes it, no longer than a line holds."""
    told = repr(value)
    return told if len(told) <= 60 else f"{told[:57]}..."
