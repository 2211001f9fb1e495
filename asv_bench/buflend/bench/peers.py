"""Which packages are installed here, in which version, and how large they are; looked for, never imported."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

DISTRIBUTIONS = {
    "arro3.core": "arro3-core",
    "cuda.core": "cuda-core",
    "numba.cuda": "numba-cuda",
    "tvm_ffi": "apache-tvm-ffi",
}
"""Import name -> name of the distribution, where they differ."""

OURS = ("buflend.shared", "buflend.minimal", "buflend.maximal")

IMPORTED = ("buflend.minimal", "buflend.maximal", "numpy", "pandas", "pyarrow", "polars", "nanoarrow", "arro3.core")
"""Packages whose import and size are compared, in the order of display."""

WANTED = DISTRIBUTIONS | {"cuda.core": "cuda-core cuda-bindings", "polars": "'polars<2'"}
"""Import name -> what pip is to install, where it is not that name."""


class Peer(NamedTuple):
    """A package as it is found here: whether an import can be tried, else why not; the version where it is known."""

    name: str
    available: bool
    reason: str
    version: str


def peer(name: str) -> Peer:
    """Look for one package by its import name."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # the package around it
        spec = None
    except (ImportError, ValueError) as error:
        return Peer(name, available=False, reason=f"cannot be found: {error}", version="")
    if spec is None:
        return Peer(name, available=False, reason="not installed", version="")
    return Peer(name, available=True, reason="", version=version(name))


def how_to_get(name: str) -> str:
    """Return the command that installs a package."""
    return f"pip install {WANTED.get(name, name)}"


def version(name: str) -> str:
    """Return the version of the distribution that an import name belongs to, or an empty text."""
    if name == "buflend" or name in OURS:
        return our_version()
    try:
        return metadata.version(DISTRIBUTIONS.get(name, name.partition(".")[0]))
    except metadata.PackageNotFoundError:
        return ""


def our_version() -> str:
    """Return the version that the running code states, which in a checkout may be newer than what is installed."""
    from buflend import shared

    return shared.__version__


def sources(name: str) -> list[Path]:
    """Return the files of one of our packages, sorted, compiled ones left out."""
    spec = importlib.util.find_spec(name)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return sorted(path for path in found if path.suffix != ".pyc")


class Size(NamedTuple):
    """How much of a package there is: files, and their bytes.

    Lines are those of Python that are neither empty nor a comment alone; None where only the installed files are
    counted.
    """

    files: int
    size: int
    lines: int | None


def size(name: str) -> Size:
    """Count a package: our own from its source, any other from what its distribution has installed.

    Parts that a distribution has split off under its own name (`polars` and `polars-runtime-32`) are counted with it. A
    LookupError says that a distribution keeps no list of its files.
    """
    if name in OURS:
        ours = sources(name)
        return Size(len(ours), sum(path.stat().st_size for path in ours), sum(map(_lines, ours)))
    top = DISTRIBUTIONS.get(name, name.partition(".")[0])
    try:
        wanted = [top, *_split_off(top)]
        found = [Path(str(entry.locate())) for one in wanted for entry in metadata.files(one) or ()]
    except metadata.PackageNotFoundError as error:
        raise LookupError(f"{name}: no distribution found, so its files cannot be counted") from error
    present = [path for path in found if path.suffix != ".pyc" and path.is_file()]
    if not present:
        raise LookupError(f"{name}: its distribution lists no files")
    return Size(len(present), sum(path.stat().st_size for path in present), None)


def _split_off(distribution: str) -> list[str]:
    names = []
    for line in metadata.requires(distribution) or ():
        match = re.match(r"[\w.-]+", line)
        if match and "extra ==" not in line and match.group().startswith(f"{distribution}-"):
            names.append(match.group())
    return names


def _lines(path: Path) -> int:
    if path.suffix != ".py":
        return 0
    return sum(1 for line in path.read_text("utf-8").splitlines() if line.strip() and not line.lstrip().startswith("#"))
