"""Numbers as people read them, the same in the terminal and on the page.

Rules of this file: it turns numbers of a report into short text and knows of no terminal and no page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONSUMERS = ("minimal", "maximal", "pandas", "pyarrow", "polars")
TIMES = "\N{MULTIPLICATION SIGN}"
DASH = "\N{EN DASH}"

OUTCOMES = ("right", "wrong", "refused", "crashed", "hung")


def time_text(seconds: float) -> str:
    """Give a time with three digits and its unit.

    Examples
    --------
    >>> time_text(4.2e-7), time_text(0.01234), time_text(2.5)
    ('420 ns', '12.3 ms', '2.5 s')
    """
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if abs(seconds) * factor < 999.5:
            return f"{digits(seconds * factor)} {unit}"
    return f"{digits(seconds)} s"


def size_text(count: float) -> str:
    """Give a number of bytes with its decimal unit.

    Examples
    --------
    >>> size_text(0), size_text(12_500), size_text(171_314_610)
    ('0 B', '12.5 kB', '171 MB')
    """
    for factor, unit in ((1, "B"), (1e3, "kB"), (1e6, "MB")):
        if count / factor < 999.5:
            return f"{digits(count / factor)} {unit}"
    return f"{digits(count / 1e9)} GB"


def digits(number: float, count: int = 3) -> str:
    """Give a number with so many digits that count, without an exponent.

    Examples
    --------
    >>> digits(0.000932), digits(5.046), digits(80.84), digits(20901.7), digits(1.449, 2)
    ('0.000932', '5.05', '80.8', '20,902', '1.4')
    """
    if number == 0:
        return "0"
    places = max(count - 1 - int(f"{number:.{count - 1}e}".partition("e")[2]), 0)
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ratio_text(spread: Sequence[float]) -> str:
    r"""Give a ratio with its quartiles.

    Examples
    --------
    >>> ascii(ratio_text([5.05, 4.98, 5.22])), ascii(ratio_text([1.0, 1.0, 1.0]))
    ("'5.05\\xd7 (5\\u20135.2)'", "'1\\xd7'")
    """
    if spread[0] == spread[1] == spread[2] == 1:
        return f"1{TIMES}"
    return f"{digits(spread[0])}{TIMES} ({digits(spread[1], 2)}{DASH}{digits(spread[2], 2)})"


def count_text(count: Mapping[str, int]) -> str:
    """Give the counts that are not zero.

    Examples
    --------
    >>> count_text({"right": 17, "differing": 2, "refused": 0})
    '17 right, 2 differing'
    """
    return ", ".join(f"{number} {name}" for name, number in count.items() if number) or "nothing read"


def shortened(text: str, length: int = 150) -> str:
    """Cut a text to a length, with dots where something is missing."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def by_subject(part: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the cases of a battery by their subject, in order."""
    subjects: dict[str, list[dict[str, Any]]] = {}
    for case in part["cases"]:
        subjects.setdefault(case["subject"], []).append(case)
    return subjects


def outcomes(part: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], consumer: str) -> dict[str, int]:
    """Count a consumer's outcomes over some cases of a battery."""
    results = part["consumers"][consumer]["results"]
    found = [results[case["name"]]["outcome"] for case in cases if case["name"] in results]
    return {outcome: found.count(outcome) for outcome in OUTCOMES}


def packages(part: Mapping[str, Any]) -> list[str]:
    """Return the packages of a surface part in the order of display: what comes with Python, ours, theirs."""
    standard, *_ = part["imports"]
    return [standard, *part["sizes"]]


def made(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what types readings came in, one line for each set of them; a type tells what was copied, text say.

    Examples
    --------
    >>> timed = {"ours": {"makes": "int64"}, "theirs": {"makes": "Int64"}, "gone": {"outcome": "absent"}}
    >>> made([{"title": "a", "alternatives": timed}, {"title": "b", "alternatives": timed}])
    ['a; b: made are ours int64, theirs Int64']
    """
    found: dict[str, list[str]] = {}
    for group in groups:
        types = [f"{name} {one['makes']}" for name, one in group["alternatives"].items() if one.get("makes")]
        if types:
            found.setdefault(", ".join(types), []).append(group["title"])
    return [f"{'; '.join(titles)}: made are {types}" for types, titles in found.items()]


def absent(report: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that a report names as absent, with the reasons."""
    found = {name: peer["reason"] for name, peer in report["peers"].items() if not peer["available"]}
    for part in report["parts"].values():
        for name, consumer in part.get("consumers", {}).items():
            if not consumer["available"]:
                found.setdefault(f"buflend.{name}" if name in ("minimal", "maximal") else name, consumer["reason"])
    return found
