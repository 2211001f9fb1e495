"""How a callback in Python begins and ends, so that neither exceptions nor signals keep it from its work.

A consumer may drop what it was lent while an exception is pending. A call through ctypes would raise it within the
callback; and where a callback leaves none, code that the exception is just ending looks for it, and the process
crashes. A signal's handler that raises, Ctrl-C's say, may do so at any step. Hence:

- `taking` takes what is pending before the callback runs, and `-AGAIN` is returned in its place: a SystemError is seen;
- what has to be done is tried once more where it is interrupted, `for _ in TWICE`; what interrupted it is raised at the
  end, which no caller in C sees: ctypes shows it. A list holds it until then, or it would hold the frame that holds it;
- loops therein end with a `del`: where they end with an `if`, Python 3.12 jumps back from outside of the `try`;
- a thunk is immortal, and every name that its callback uses is bound as a default: at exit globals may be gone.

What is raised before the first statement ends a callback, and what it had to return is kept.

Lives here: these means. Must not know: what callbacks do.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from .cpython import address_of, function, immortal, new_capsule

TWICE = range(2)


def thunk(kind: Any, callback: Callable[..., Any]) -> int:
    """Return the address of a callback that outlives its module."""
    made = kind(callback)
    immortal(made)
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def subscripted(function: Callable[..., Any]) -> Any:
    """Return what calls a C function by `[argument]`: after an operator, unlike a call, no signal's handler runs."""
    return type("Subscripted", (), {"__slots__": (), "__getitem__": staticmethod(function)})()


# Without arguments on purpose: converting one would raise the error that is to be cleared.
clear_error = function("PyErr_Clear", None)


if sys.version_info >= (3, 12):

    def taking(callback: Callable[..., Any]) -> Any:
        """Return what takes the exception that is pending, if one is, and then calls `callback(taken, _, arguments)`.

        `taken` is its address, a reference that `DROP[taken]` gives back, or None. Not a line of Python runs before: as
        a function in Python begins, a collection may, and signals' handlers, and they lose what is pending.
        """
        taker: Any = function("PyErr_GetRaisedException", ctypes.c_void_p)
        taker.errcheck = callback  # ctypes calls it with the result, and returns what it returns
        return taker

    DROP: Any = subscripted(function("Py_DecRef", None, ctypes.c_void_p))
else:

    class _Pending:
        """What `-pending` asks: None where nothing is pending; what is, is raised, as after any call by ctypes."""

        __slots__ = ()
        __neg__ = function("Py_IsInitialized", None)

    _PENDING = _Pending()

    def taking(callback: Callable[..., Any]) -> Any:
        """Return what takes the exception that is pending, if one is, and then calls `callback(taken, _, arguments)`.

        Here collections do not run as a function begins, only signals' handlers, and `taken` is True or None.
        """

        def begin(
            address: int | None, pending: Any = _PENDING, go: Any = callback, anything: Any = BaseException
        ) -> object:
            taken: Any
            try:
                taken = -pending
            except anything:
                taken = True
            return go(taken, None, (address,))

        return begin

    DROP = {True: None}


class _Again:
    """What `-AGAIN` makes: a capsule that sets a SystemError as it goes, after the callback that returned it."""

    __slots__ = ()
    __neg__ = staticmethod(partial(new_capsule, 1, None, address_of("PyErr_BadInternalCall")))


AGAIN: Any = _Again()  # an operator, too
