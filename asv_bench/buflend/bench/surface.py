"""What it takes to take part: names to write, time to import, files to carry.

Names are counted on real objects, never listed: what a library *offers* is the public part of what its frames hand
out, what a consumer *uses* is what it asks of a witness before a producer. Import times are those of fresh
interpreters, taken in turns, the start of the interpreter left out.
"""

from __future__ import annotations

import inspect
import os
import site
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import consumers, lifetime, peers, processes, timing
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[dict[str, Any]], None]

LEVELS = ("frame", "column", "buffer")
PROTOCOL_DUNDERS = {
    "__dataframe__",
    "__dlpack__",
    "__dlpack_device__",
    "__array__",
    "__array_interface__",
    "__cuda_array_interface__",
    "__arrow_array__",
    "__arrow_c_array__",
    "__arrow_c_device_array__",
    "__arrow_c_schema__",
    "__arrow_c_stream__",
}
"""Names with underscores that belong to a protocol."""

STANDARD = "ctypes, enum"
ROUNDS = 7


def measure(progress: Callable[[str, float], None], rounds: int | None = None) -> dict[str, Any]:
    """Measure the surface: `offers`, `uses`, `imports` (in so many fresh interpreters per package), `sizes`."""
    offers: dict[str, dict[str, Any]] = {}
    for name in consumers.READERS:
        progress(f"surface: what {name} offers", 0.05)
        offers[name] = _in_process("_offers", name)
    uses = {}
    for name, found in consumers.availability().items():
        progress(f"surface: what {name} uses", 0.2)
        uses[name] = (
            _in_process("_uses", name) if found["available"] else {"available": False, "reason": found["reason"]}
        )
    sizes = {}
    for name in (peers.OURS[0], *peers.IMPORTED):
        found_here = peers.peer(name)
        sizes[name] = {"available": found_here.available, "reason": found_here.reason}
        if found_here.available:
            try:
                sizes[name] |= peers.size(name)._asdict()
            except LookupError as error:
                sizes[name] = {"available": False, "reason": str(error)}
    return {
        "offers": offers,
        "uses": uses,
        "imports": _imports(progress, rounds or ROUNDS),
        "sizes": sizes,
    }


def _in_process(job: str, name: str) -> dict[str, Any]:
    package = f"buflend.{name}" if name in consumers.OURS else name
    found = peers.peer(package)
    if not found.available:
        return {"available": False, "reason": found.reason}
    result, end = processes.answer(f"{__name__}:{job}", {"name": name})
    return {"available": False, "reason": f"{end['end']}: {end['detail']}"} if end else result


def _public(one: Any) -> list[str]:
    """Return what an object offers whoever holds it: public names and protocols' dunders; not ways to make one."""
    kind = type(one)
    spoken = {name for name in PROTOCOL_DUNDERS if hasattr(one, name)}  # a class can have what this object lacks
    names = [name for name in dir(kind) if name in spoken or not name.startswith("_")]
    return sorted(
        name for name in names if not isinstance(inspect.getattr_static(kind, name), classmethod | staticmethod)
    )


def _offers(payload: dict[str, Any], tell: Tell) -> None:
    """Tell the public names of a library's frame, column and buffer."""
    name = payload["name"]
    names: dict[str, list[str] | None] = dict.fromkeys(LEVELS)
    if name in consumers.OURS:
        import numpy as np

        part = import_module(f"buflend.{name}")
        names["buffer"] = _public(part.as_buffer(b"0123"))
        if hasattr(part, "as_table"):
            table = part.as_table({"a": np.array([1])})
            frame = table.__dataframe__()
            for level, objects in (("frame", (frame, table)), ("column", (frame.get_column(0), table["a"]))):
                exchange, own = (set(_public(one)) for one in objects)
                names[level] = sorted(exchange | own & PROTOCOL_DUNDERS)
    else:
        exchange = _small(name).__dataframe__()
        column = exchange.get_column(0)
        buffer, _ = column.get_buffers()["data"]
        names = {level: _public(one) for level, one in zip(LEVELS, (exchange, column, buffer), strict=True)}
    tell({"available": True, "reason": "", "names": names})


def _small(library: str) -> Any:
    module = import_module(library)
    return module.table({"a": [1, 2]}) if library == "pyarrow" else module.DataFrame({"a": [1, 2]})


class Witness:
    """Stands before an object of a producer and notes the names asked of it, by level: those it had or not."""

    def __init__(self, one: Any, level: str, found: dict[str, set[str]], missed: dict[str, set[str]]) -> None:
        self.__dict__.update(_one=one, _level=level, _found=found, _missed=missed)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(type(self._one), name) and name not in vars(self._one):
            self._missed[self._level].add(name)
            raise AttributeError(name)
        self._found[self._level].add(name)
        value = getattr(self._one, name)
        if not callable(value):
            return self._wrapped(value)
        return lambda *given, **named: self._wrapped(value(*given, **named))

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        self._found[self._level].add("__dataframe__")
        return self._wrapped(self._one.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy))

    def __dlpack_device__(self) -> Any:
        self._found[self._level].add("__dlpack_device__")
        return self._one.__dlpack_device__()

    def _wrapped(self, value: Any) -> Any:
        """Put a witness before every object of the producer inside a value."""
        level = {"Frame": "frame", "Col": "column", "Buf": "buffer"}.get(type(value).__name__)
        if level is not None:
            return Witness(value, level, self._found, self._missed)
        if isinstance(value, dict):
            return {key: self._wrapped(one) for key, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._wrapped(one) for one in value)
        return map(self._wrapped, value) if hasattr(value, "__next__") else value


def _uses(payload: dict[str, Any], tell: Tell) -> None:
    """Tell the names that a consumer asks for while it reads a column of each kind, one after another."""
    read = consumers.find(consumers.READERS[payload["name"]])
    found: dict[str, set[str]] = {level: set() for level in LEVELS}
    missed: dict[str, set[str]] = {level: set() for level in LEVELS}
    refused = {}
    for name in ("int", "float", "text", "category"):
        witness = Witness(lifetime.watched([name]), "frame", found, missed)
        try:
            read(consumers.Exchange(witness))
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            refused[name] = sentence(error)
    tell(
        {
            "available": True,
            "reason": "",
            "names": {level: sorted(names) for level, names in found.items()},
            "missed": {level: sorted(names) for level, names in missed.items()},
            "refused": refused,
        }
    )


def _imports(progress: Callable[[str, float], None], rounds: int) -> dict[str, dict[str, Any]]:
    """Time `import` in fresh interpreters, in turns; seconds, without the start of the interpreter."""
    wanted = [STANDARD, *(name for name in peers.IMPORTED if peers.peer(name).available)]
    samples: dict[str, list[float]] = {name: [] for name in wanted}
    for done in range(-1, rounds):  # the first round compiles and fills the disk's cache, and is not counted
        progress("surface: import times", 0.3 + 0.7 * (done + 1) / (rounds + 1))
        for name in wanted:
            taken = _import_time(name)
            if done >= 0:
                samples[name].append(taken)
    result: dict[str, dict[str, Any]] = {}
    for name in (STANDARD, *peers.IMPORTED):
        if name not in samples:
            result[name] = {"available": False, "reason": peers.peer(name).reason}
            continue
        result[name] = {
            "available": True,
            "reason": "",
            "seconds": list(timing.spread(samples[name])),
            "ratio": list(timing.spread([a / b for a, b in zip(samples[name], samples[STANDARD], strict=True)])),
            "rounds": rounds,
        }
    return result


def _import_time(modules: str) -> float:
    code = f"import time; t = time.perf_counter()\nimport {modules}\nprint(time.perf_counter() - t)"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(
        command, env=_environment(), check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return float(done.stdout)


def _environment() -> dict[str, str]:
    """Return this environment, with the folders of a checkout that is not installed put before."""
    import buflend

    roots = [str(Path(folder).resolve().parent) for folder in buflend.__path__]
    elsewhere = [root for root in roots if root not in site.getsitepackages()]
    path = [*elsewhere, *filter(None, [os.environ.get("PYTHONPATH")])]
    # An installed package is compiled; a checkout is too, unless this says no.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPATH": os.pathsep.join(path)} if path else environment
