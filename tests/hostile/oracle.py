"""What may come of a hostile input: an error of ours, or the truth, and everything given back.

Lives here: the verdict. Must not know: how a producer is made.

An error is ours where a line of ours raises it: `TypeError: 'NoneType' object is not iterable` is a TypeError, and
tells nobody what to do. What a person or the exit raises goes through as it is.
"""

import gc
import linecache
import sys
import traceback
import warnings
from collections import Counter
from typing import Any

from buflend.maximal import live_exports
from buflend.shared import BuflendError

from .case import UNTOLD, Input, build
from .ledger import EXITS, Ledger
from .reading import Believed, read

# What is documented; AttributeError and KeyError of a protocol that is absent are BuflendErrors, too.
DOCUMENTED = (BuflendError, TypeError, BufferError, OverflowError, UnicodeEncodeError)
Tally = Counter[str] | None
OF_A_PERSON = ("arguments", "mappings")  # ValueError is documented there


def judge(given: Input, tally: Tally = None) -> list[str]:
    """Return what went wrong with an input, for each entry point in words; nothing where all went well."""
    from .protocols import PROTOCOLS

    found = []
    for name, (entry, field) in PROTOCOLS[given.protocol].entries.items():
        wrong = _judge(given, entry, field, tally)
        found += [f"{name}: {fault}" for fault in wrong]
    return found


def _judge(given: Input, entry: Any, field: str, tally: Tally) -> list[str]:
    ledger, lost = Ledger(), []
    before = sys.unraisablehook
    sys.unraisablehook = lambda args: lost.append(f"{args.err_msg or args.object!r}: {args.exc_value!r}")
    try:
        warnings.simplefilter("ignore")  # of formats that NumPy has to guess, and of old type codes
        producers = [build(given, ledger)] * (1 + given.twice)
        faults, verdict = _tried(given, entry, field, producers, ledger)
        while producers:
            faults += _tried(given, entry, field, producers, ledger)[0]
        ledger.forget()
    finally:
        sys.unraisablehook = before
    if tally is not None:
        tally[verdict] += 1
    return faults + _left(ledger) + [f"lost: {one}" for one in lost]


def _tried(given: Input, entry: Any, field: str, producers: list[Any], ledger: Ledger) -> tuple[list[str], str]:
    """Return what went wrong with the last of the producers, and the verdict; it is gone before what came is read."""
    from .protocols import PROTOCOLS

    expected = getattr(PROTOCOLS[given.protocol].bases[given.base], field)
    before = len(ledger.raised)
    try:
        values = read(entry(producers.pop()), ledger)
    except BaseException as error:  # noqa: BLE001 - which one, is what is judged
        return _refused(error, given, ledger, before, is_right=given.faults or expected in (None, UNTOLD))
    if wanted := _exit(ledger, before):
        return [f"{wanted} was swallowed"], "wrong"
    if not given.faults and values != expected and expected is not UNTOLD:
        return [f"read as {values!r}, expected {expected!r}"], "wrong"
    return [], "believed" if isinstance(values, Believed) else "read"


def _refused(
    error: BaseException, given: Input, ledger: Ledger, before: int, *, is_right: Any
) -> tuple[list[str], str]:
    """Return what is wrong with an error, and the verdict."""
    if wanted := _exit(ledger, before):
        return ([] if repr(error) == wanted else [f"{wanted} was swallowed: {_shown(error)}"]), "passed on"
    if wrong := _fault_of(error, given, on_purpose=any(error is one for one in ledger.raised)):
        return [wrong], "wrong"
    if not is_right:
        return [f"refused although nothing is wrong: {_shown(error)}"], "wrong"
    return [], f"refused by {type(error).__name__}"


def _exit(ledger: Ledger, before: int) -> str:
    """Return the first that was raised of what must go through, as text: the error itself would hold this frame."""
    return next((repr(one) for one in ledger.raised[before:] if isinstance(one, EXITS)), "")


def _fault_of(error: BaseException, given: Input, *, on_purpose: bool) -> str:
    """Return why an error is none of ours; nothing where it is."""
    theirs = given.protocol in OF_A_PERSON
    # What an argument raises itself, nobody has to explain.
    if not isinstance(error, (*DOCUMENTED, *((ValueError,) if theirs else ()))) and not (
        given.protocol == "arguments" and on_purpose
    ):
        return f"undocumented: {_shown(error)}"
    if given.protocol != "arguments" and not raised_on_purpose(error) and not isinstance(error, UnicodeEncodeError):
        return f"not raised by a line of ours: {_shown(error)}"
    try:
        said = str(error)
    except EXITS:  # of what was got
        return ""
    except BaseException as again:  # noqa: BLE001 - whatever it is
        return f"cannot be shown: {again!r}"
    return "" if said else "says nothing"


def raised_on_purpose(error: BaseException) -> bool:
    """Tell whether the innermost line that raised is one of the library's that raises."""
    frames = list(traceback.walk_tb(error.__traceback__))
    frame, line = frames[-1]
    file = frame.f_code.co_filename
    return "buflend" in file.rpartition("/")[0] and "raise" in linecache.getline(file, line).split()


def _shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _left(ledger: Ledger) -> list[str]:
    """Return what is still held, when nobody holds anything."""
    found = []
    if ledger.alive:
        late = ledger.alive
        gc.collect()
        found.append(f"{late} owners are held, {ledger.alive} after a collection")
    if exports := live_exports():
        found.append(f"live exports: {exports}")
    return found + [wrong for check in ledger.checks if (wrong := check())]
