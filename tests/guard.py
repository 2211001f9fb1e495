"""Memory that nobody can read, and children that may die of reading it.

Lives here: pages without access, blocks that end or start at such a page, an action in a forked child, and what became
of it. Imported by tests, as `from .guard import UNREADABLE, survive`.

A fault is a signal only where the processor reads. A system call that is handed such an address answers EFAULT, which
is why actions return what they have read instead of passing it on.
"""

import ctypes
import faulthandler
import gc
import inspect
import io
import mmap
import os
import pickle
import pkgutil
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import IO, Any, NamedTuple, NoReturn

import pytest

from buflend import maximal, minimal, shared
from buflend.shared import STATIC

if not hasattr(os, "fork"):
    pytest.skip("this system has no os.fork: nothing may die in a child of its own", allow_module_level=True)

import resource  # of the systems that fork, too

PAGE = mmap.PAGESIZE
PATIENCE = 120.0  # seconds for a child that takes milliseconds

FAULTS = {signal.SIGSEGV} if sys.platform == "linux" else {signal.SIGSEGV, signal.SIGBUS}

# Name -> a device of DLPack (`DLDeviceType`, `dlpack.h` 1.3) that the host cannot read.
DEVICES = {
    "CUDA device 0": (2, 0),
    "CUDA device 1": (2, 1),
    "ROCM device 0": (10, 0),
    "ONEAPI device 0": (14, 0),
    "METAL device 0": (8, 0),
    "unknown (type 99) device 3": (99, 3),
}
# The same of those that it can.
HOST = {"CPU": (1, 0), "CUDA_HOST": (3, 0), "ROCM_HOST": (11, 0), "CUDA_MANAGED": (13, 0)}

on_devices = pytest.mark.parametrize("device", DEVICES.values(), ids=[name.replace(" ", "-") for name in DEVICES])
on_host = pytest.mark.parametrize("device", HOST.values(), ids=HOST)

# What is imported when it is asked for is imported now: else each child would do it again.
for _part in (minimal, maximal, shared):
    for _file in pkgutil.iter_modules(_part.__path__):
        import_module(f"{_part.__name__}.{_file.name}")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_NO_ACCESS = 0  # PROT_NONE
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE


def pages(count: int, access: int = _READ_WRITE) -> int:
    """Return the address of fresh pages, which stay mapped for ever: who comes too late meets no other memory."""
    address = _libc.mmap(None, count * PAGE, access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert address not in {None, ctypes.c_void_p(-1).value}, os.strerror(ctypes.get_errno())
    return int(address)


UNREADABLE = pages(16, _NO_ACCESS)
"""Address of 16 pages that no read survives: what stands for memory of a device."""


def placed(content: bytes, side: str = "end", *, past: int = 0) -> int:
    """Return the address of bytes that end where an unreadable page starts, or start where one ends.

    They can be written. `past` is how many bytes behind their place the address is: that many lie in the page.
    """
    count = max(1, -(-len(content) // PAGE))
    start = pages(count + 2)
    for wall in (start, start + (count + 1) * PAGE):
        assert not _libc.mprotect(wall, PAGE, _NO_ACCESS), os.strerror(ctypes.get_errno())
    address = start + PAGE if side == "start" else start + (count + 1) * PAGE - len(content)
    ctypes.memmove(address, content, len(content))
    return address + (past if side == "end" else -past)


def lent(kind: Callable[..., Any], content: bytes, side: str = "end", *, past: int = 0, **options: Any) -> Any:
    """Return a buffer of a class over bytes placed so."""
    return kind(placed(content, side, past=past), len(content), owner=STATIC, **options)


class Ended(NamedTuple):
    """How a child ended.

    Attributes
    ----------
    signal : int
        What killed it, 0 where nothing did.
    value : object
        What its action returned.
    error : tuple of (type, str, str) or None
        What the action raised: its class, its text, and the traceback as text.
    doing : str
        What the action said last by `doing`.
    trace : str
        Where it was when it died.
    """

    signal: int
    value: Any
    error: tuple[type[BaseException], str, str] | None
    doing: str
    trace: str


_out: IO[bytes] | None = None  # of the child: where it reports to


def doing(what: str) -> None:
    """Let the parent know, should this be the last thing that it hears of."""
    if _out is not None:
        pickle.dump(("doing", what), _out)


def child(action: Callable[[], Any], *, peers: bool = False, seconds: float = PATIENCE) -> Ended:
    """Do something in a forked child, and return how that ended.

    The action has the parent's objects, and one thread. It must not wait for locks that another thread of the parent
    may have held: of libraries that work in threads it does nothing but hand them an object. Without `peers` it finds
    no pyarrow, whoever has imported it. What takes longer than `seconds` is aborted.
    """
    return children([action], peers=peers, seconds=seconds)[0]


def children(actions: list[Callable[[], Any]], *, peers: bool = False, seconds: float = PATIENCE) -> list[Ended]:
    """Do several things as `child` does one: in one child, and where it dies, in another one from the next thing on."""
    ended: list[Ended] = []
    while len(ended) < len(actions):
        ended += _forked(actions[len(ended) :], ("cupy",) if peers else ("cupy", "pyarrow"), seconds)
    return ended


def _forked(actions: list[Callable[[], Any]], hidden: tuple[str, ...], seconds: float) -> list[Ended]:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as trace:
        with warnings.catch_warnings():
            # Python 3.12 warns of the parent's other threads, and a warning that is an error would come in both.
            warnings.simplefilter("ignore", DeprecationWarning)
            # So does JAX, where a test has imported it; no child of these calls it.
            warnings.simplefilter("ignore", RuntimeWarning)
            number = os.fork()
        if not number:
            _report(actions, writing, trace, hidden)
        os.close(writing)
        try:
            said = _heard(reading, number, time.monotonic() + seconds)
        finally:
            os.close(reading)
            if sys.exc_info()[0]:  # the person has had enough
                os.kill(number, signal.SIGKILL)
            _, status = os.waitpid(number, 0)
        trace.seek(0)
        return _ended(len(actions), status, said, trace.read().decode(errors="replace"))


def _report(actions: list[Callable[[], Any]], writing: int, trace: IO[bytes], hidden: tuple[str, ...]) -> NoReturn:
    """Act, report and go: nothing of the parent's is torn down here, and nobody's garbage is collected."""
    global _out  # noqa: PLW0603 - the child's own copy
    status = 70
    try:
        gc.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.enable(trace, all_threads=False)
        # No driver of a GPU survives a fork: none is loaded.
        ctypes.CDLL = _no_library  # type: ignore[misc, assignment]
        sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
        _out = os.fdopen(writing, "wb", buffering=0)
        for action in actions:
            _out.write(_answer(action))
        status = 0
    finally:
        os._exit(status)


def _answer(action: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps(("value", action()))
    except BaseException as error:  # noqa: BLE001 - the parent judges
        # pytest's own classes have names that are not found again.
        own = isinstance(error, (pytest.fail.Exception, pytest.skip.Exception))
        kind = AssertionError if own else type(error)
        return pickle.dumps(("error", (kind, str(error), traceback.format_exc())))


def _no_library(name: str, *_: object, **__: object) -> NoReturn:
    raise OSError(f"{name}: no library is loaded in a child")


def _heard(reading: int, number: int, end: float) -> bytes:
    """Return all that a child writes until it ends, or is made to."""
    found = bytearray()
    while True:
        if not select.select([reading], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(number, signal.SIGABRT)  # it says where it is
            return bytes(found)
        step = os.read(reading, 1 << 16)
        if not step:
            return bytes(found)
        found += step


def _ended(count: int, status: int, said: bytes, trace: str) -> list[Ended]:
    """Return how the things ended that a child was to do, as far as it came."""
    found: list[Ended] = []
    last, stream = "", io.BytesIO(said)
    while stream.tell() < len(said):
        name, given = pickle.load(stream)  # noqa: S301 - our own child's
        if name == "doing":
            last = given
        else:
            found.append(Ended(0, **{"value": None, "error": None, name: given}, doing=last, trace=""))
            last = ""
    if len(found) < count:
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        left = AssertionError, f"it left with status {os.waitstatus_to_exitcode(status)}", ""
        found.append(Ended(killed, None, None if killed else left, last, trace))
    return found


def survived(ended: Ended) -> Any:
    """Return what was returned in a child; fail where it died or raised."""
    _not_killed(ended)
    if ended.error:
        pytest.fail(f"{ended.doing or 'the child'}: {ended.error[2] or ended.error[1]}", pytrace=False)
    return ended.value


def _not_killed(ended: Ended) -> None:
    if ended.signal:
        name = signal.Signals(ended.signal).name
        pytest.fail(f"{ended.doing or 'the child'}: died of {name}\n{ended.trace}", pytrace=False)


def survive(action: Callable[[], Any], *, peers: bool = False) -> Any:
    """Return what an action returns in a child; fail where the child dies or raises."""
    return survived(child(action, peers=peers))


def refused(action: Callable[[], Any], *kinds: type[BaseException], peers: bool = False) -> str:
    """Return the text of the error, of one of the kinds, that an action raises in a child; fail where it does not."""
    ended = child(action, peers=peers)
    _not_killed(ended)
    assert ended.error, f"{ended.doing or 'the child'}: not refused, it returned {ended.value!r}"
    kind, text, where = ended.error
    assert issubclass(kind, kinds), f"{ended.doing or 'the child'}: {where}"
    return text


def dies(action: Callable[[], Any], *, peers: bool = False) -> bool:
    """Tell whether a child dies of a fault of memory."""
    return child(action, peers=peers).signal in FAULTS


def in_a_child(test: Callable[..., None]) -> Callable[..., None]:
    """Make a test whose body runs in a child: one for all parameters that it is run with, as long as none dies.

    The body gets parameters, no fixtures. With the mark `peers` on the module it finds pyarrow.
    """
    ended: dict[str, Ended] = {}

    def run(request: pytest.FixtureRequest, **_: object) -> None:
        name, node = request.node.nodeid, request.node
        if name not in ended:
            given = {
                item.nodeid: partial(test, **(item.callspec.params if hasattr(item, "callspec") else {}))
                for item in request.session.items
                if getattr(item, "function", None) is node.function
            }
            peers = node.get_closest_marker("peers") is not None
            ended.update(zip(given, children(list(given.values()), peers=peers), strict=True))
        survived(ended[name])

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    signature = inspect.signature(test)
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = signature.replace(parameters=[request, *signature.parameters.values()])  # type: ignore[attr-defined]
    return run
