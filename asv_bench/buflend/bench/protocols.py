"""What each protocol costs: time per export and per import, beside whoever speaks it too.

Rules of this file: the works are in `spoken`, their timing in `groups`. Every group has a baseline of its own, the
library that the protocol comes from where it is here; a time never stands without its ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import groups, peers, spoken

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.3
"""Time to spend on each group, about."""

TITLES = {
    "exports": "What is asked of an object",
    "consumers": "What libraries call",
    "imports": "as_buffer, beside what others make of the object",
    "generic": "DLPack of what NumPy cannot export",
    "live": "live_exports(), which records nothing when something is lent",
}
"""Sections in the order of display, each with what it shows."""


def measure(progress: Callable[[str, float], None], seconds: float = SECONDS) -> dict[str, Any]:
    """Time all sections.

    Parameters
    ----------
    progress : callable
        Called with a text and the fraction done.
    seconds : float
        Time to spend on each group, about.

    Returns
    -------
    dict
        JSON-able: `sections`, each a list of groups with their `alternatives`; `notes`; `packages`.
    """
    sections: dict[str, list[dict[str, Any]]] = {}
    notes: dict[str, str] = {}
    for done, section in enumerate(TITLES):

        def told(text: str, share: float = done / len(TITLES)) -> None:
            progress(f"protocols: {text}", share)

        told(section)
        payload = {"section": section, "seconds": seconds}
        sections[section], notes[section] = groups.in_process(f"{__name__}:_job", payload, told)
    packages = {name: peers.peer(name)._asdict() for name in spoken.PACKAGES}
    return {"part": "protocols", "sections": sections, "notes": notes, "packages": packages}


def _job(payload: dict[str, Any], tell: groups.Tell) -> None:
    groups.time_all(spoken.SECTIONS[payload["section"]](), payload, tell)
