"""What a check is: a function, what it needs, and how its end becomes a verdict.

Lives here: the list that the modules of checks fill, the judge, and the two ways for a check to end early. Must not
know: what is checked. Nothing of a library is imported before a check that needs it is judged.

A check raises `FailedError` (or anything else) to fail, `SkippedError` for what this machine lacks; it may return
figures, JSON-able. A CUDA error that is left behind fails it: the next call of somebody else would be blamed for it.
"""

from __future__ import annotations

import gc
import time
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from buflend.shared import DeviceError, cuda, cuda_library
from buflend.shared.errors import EXITS

from .rows import FAIL, PASS, SKIP

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 400
"""Characters of a reason."""


class FailedError(Exception):
    """What was checked is not so."""


class SkippedError(Exception):
    """What the check needs is not on this machine."""


class Check(NamedTuple):
    """One thing to be shown: its function, and the libraries that it needs."""

    name: str
    needs: tuple[str, ...]
    function: Callable[[], dict[str, Any] | None]


CHECKS: dict[str, Check] = {}
"""Name -> check, in the order in which they are judged."""


def check(*needs: str) -> Callable[[Callable[[], dict[str, Any] | None]], Callable[[], dict[str, Any] | None]]:
    """List the function below as a check that needs these libraries."""

    def listed(function: Callable[[], dict[str, Any] | None]) -> Callable[[], dict[str, Any] | None]:
        name = function.__name__
        if name in CHECKS:
            raise ValueError(f"two checks are called {name}")
        CHECKS[name] = Check(name, needs, function)
        return function

    return listed


def expect(what: str, got: object, expected: object) -> None:
    """Fail unless two things are equal."""
    if got != expected:
        raise FailedError(f"{what}: got {got!r}, expected {expected!r}")


def expect_values(what: str, got: list[Any], expected: list[Any]) -> None:
    """Fail unless two lists are equal; the first difference is told."""
    expect(f"{what}: how many", len(got), len(expected))
    for place, pair in enumerate(zip(got, expected, strict=True)):
        expect(f"{what}: value {place}", *pair)


def hold(what: str, so: object) -> None:
    """Fail unless something is so."""
    if not so:
        raise FailedError(f"{what}: this is not so")


def refused(what: str, call: Callable[[], object], *kinds: type[Exception]) -> None:
    """Fail unless a call raises one of these errors."""
    try:
        made = call()
    except kinds:
        return
    raise FailedError(f"{what}: got {type(made).__name__}, expected {' or '.join(kind.__name__ for kind in kinds)}")


def _core_sees(core: Any) -> bool:
    core.Device(0).set_current()
    return True


_SEES: dict[str, Callable[[Any], bool]] = {
    "cupy": lambda cupy: cupy.is_available(),
    "torch": lambda torch: torch.cuda.is_available(),
    "jax": lambda jax: bool(jax.devices("cuda")),
    "numba.cuda": lambda numba_cuda: numba_cuda.is_available(),
    "cuda.core": _core_sees,
}
"""Library -> whether it sees a CUDA device; each may also raise."""


def lacks(name: str) -> str:
    """Return why a library cannot be used here; nothing where it can."""
    try:
        if find_spec(name) is None:
            return f"{name} is not installed"
    except ModuleNotFoundError:  # the package around it
        return f"{name} is not installed"
    except (ImportError, ValueError) as error:
        return f"{name} cannot be found: {error}"
    try:
        library = import_module(name)
    except Exception as error:  # noqa: BLE001 - a library that does not load raises what it likes
        return f"{name} cannot be imported: {_sentence(error)}"
    try:
        return "" if _SEES[name](library) else f"{name} sees no CUDA device"
    except Exception as error:  # noqa: BLE001 - each says in its own way that there is none
        return f"{name} sees no CUDA device: {_sentence(error)}"


def no_device() -> str:
    """Return why there is no CUDA device; nothing where there is one."""
    try:
        return "" if cuda.device_count() else "the CUDA runtime counts 0 devices"
    except DeviceError as error:
        return str(error)


def judge(one: Check) -> dict[str, Any]:
    """Do a check and return its row; it has `sick` where the device is.

    Every further call to a sick device fails: what comes next needs a process of its own.
    """
    start = time.perf_counter()
    verdict, reason = SKIP, "; ".join(filter(None, map(lacks, one.needs)))
    figures: dict[str, Any] = {}
    ran = not reason
    if ran:
        _left_behind()  # by whoever was here before
        verdict, reason, figures = _done(one)
        gc.collect()
    left, sick = _left_behind() if ran else ("", False)
    if left and verdict != FAIL:
        verdict, reason = FAIL, f"a CUDA error was left behind: {left}"
    seconds = round(time.perf_counter() - start, 3)
    row = {"check": one.name, "verdict": verdict, "reason": reason[:LONGEST], "seconds": seconds, "figures": figures}
    return row | ({"sick": True} if sick else {})


def _done(one: Check) -> tuple[str, str, dict[str, Any]]:
    try:
        return PASS, "", one.function() or {}
    except SkippedError as error:
        return SKIP, str(error), {}
    except EXITS:
        raise
    except FailedError as error:
        return FAIL, f"{error} {_place(error)}", {}
    except BaseException as error:  # noqa: BLE001 - panics of libraries in Rust are no Exception
        return FAIL, f"{type(error).__name__}: {_sentence(error)} {_place(error)}", {}


def _place(error: BaseException) -> str:
    """Say where in the checks an error came up."""
    here = Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == here]
    frame = next((frame for frame in reversed(frames) if frame.filename != __file__), frames[-1])
    return f"({Path(frame.filename).name}:{frame.lineno})"


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split())


_NOT_READY = 600  # cudaErrorNotReady: what is left by asking whether a stream is done; it is no error


def _left_behind() -> tuple[str, bool]:
    """Return the CUDA error that stands, and whether the device answers no more; the error is cleared."""
    try:
        library = cuda_library.runtime()
        status = library.cudaGetLastError()
        text = "" if status in {0, _NOT_READY} else f"{status}, {library.cudaGetErrorString(status).decode()}"
        cuda.synchronize(cuda.DEFAULT_STREAM, cuda.current_device().id)
    except DeviceError as error:
        return str(error), True
    return text, False
