"""What a report holds of a CUDA device as people read it, the same in the terminal and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wording import Line, on_cuda, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ITSELF = "maximal.as_buffer"
"""The call that is lent no buffer, but what a library made."""


def device(report: Mapping[str, Any]) -> str:
    """Say on which CUDA device a report was measured, or why there is none; empty for the CPU."""
    found = report["device"]
    if not on_cuda(report):
        return ""
    if not found["available"]:
        return f"no CUDA device: {found['reason']}"
    name = found["name"] or "its name is not told"
    return f"CUDA device 0 ({name}); memory that buffers of ours lend is made by {found['source']}"


def speaking(part: Mapping[str, Any]) -> str:
    """Say how it was found out what a buffer on a device speaks."""
    return (
        f"{size_text(part['size'])} of the device are read by each protocol alone, in a process of its own. What the "
        "host would read is rightly refused; who reads it all the same ends that process."
    )


def returning(part: Mapping[str, Any]) -> str:
    """Say how it was found out what of a device's memory stays alive."""
    return (
        f"{size_text(part['size'])} of the device, made by {part['source']}, lent by a buffer and taken by each call "
        f"({ITSELF} takes what was made itself). In use while something is held, as counted by {part['counted_by']}."
    )


def lifetime_lines(part: Mapping[str, Any]) -> Iterator[Line]:
    """Tell of a CUDA device's memory who held it too long, too short or for ever, and who could not be measured."""
    for name, found in part["holders"].items():
        if found["outcome"] not in ("measured", "n/a"):
            yield Line("refused", f"{name} not measured", "", found["detail"])
        for step in found["steps"]:
            if step["dangling"]:
                yield Line("wrong", f"{name}: freed under a living view,", step["step"], size_text(step["held"]))
            elif step["excess"] and step["least"]:
                yield Line("refused", f"{name} holds more than needed,", step["step"], size_text(step["held"]))
        if found["leaked"]:
            yield Line("wrong", f"{name} leaks", "in the end", size_text(found["leaked"]))
        elif found["at_once"] is False:
            yield Line("refused", f"{name} returns late", "", "the owner goes with the collector, not with the view")
