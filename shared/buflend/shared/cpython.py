"""CPython's C functions, through prototypes of our own.

Lives here: every call into the interpreter. Must not know: libraries, protocols above the buffer protocol and capsules.
Imported when a call is needed, since other interpreters lack `ctypes.pythonapi`.

Attributes of `ctypes.pythonapi` are shared by the whole process, so none is set here: a prototype is made from a name
and belongs to this file. `PYFUNCTYPE` keeps the interpreter's lock during the call, which is needed wherever Python
objects are touched.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from .errors import InterpreterError

# pybuffer.h: the exporter may choose C or Fortran order, and says so in shape and strides (PEP 3118).
_PYBUF_STRIDES = 0x0010 | 0x0008


class _PyBuffer(ctypes.Structure):
    """`Py_buffer` of PEP 3118; `obj` is a plain address, so that ctypes does not count references to it."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a C function of the interpreter, by a prototype of its own."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_buffer = function("PyObject_GetBuffer", ctypes.c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int)
_release_buffer = function("PyBuffer_Release", None, ctypes.POINTER(_PyBuffer))

# A capsule's pointer by its name; raises ValueError where the capsule has another. Names are compared as text.
capsule_pointer = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
capsule_is_valid = function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
capsule_name = function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
CAPSULE: type = type(
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )(1, None, None)
)
"""The type of capsules. Who is not of it is not passed on: ctypes asks an argument for its class, which may raise."""

# For destructors: the capsule has no references left, so it is an address.
capsule_pointer_raw = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
capsule_is_valid_raw = function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
# As `(capsule,) = map(new_capsule, ...)` where there is a destructor: right after a call a signal's handler may raise,
# and the result is dropped with that pending.
new_capsule = function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

immortal = function("Py_IncRef", None, ctypes.py_object)
raw_calloc = function("PyMem_RawCalloc", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
raw_free = function("PyMem_RawFree", None, ctypes.c_void_p)

_interpreter_id = function("PyInterpreterState_GetID", ctypes.c_int64, ctypes.c_void_p)
_current_interpreter = function("PyInterpreterState_Get", ctypes.c_void_p)

IS_MAIN = not _interpreter_id(_current_interpreter())  # each interpreter imports this module for itself


def require_main(what: str) -> None:
    """Raise where exports cannot be returned: in a subinterpreter.

    Consumers return what they hold by C functions that ask for the lock of the main interpreter (`PyGILState_Ensure`).
    On a thread of a subinterpreter that waits for itself on Python 3.11; on any other thread objects of one interpreter
    are freed in another.
    """
    if not IS_MAIN:
        raise InterpreterError(
            f"{what}: works in the main interpreter only, and this is a subinterpreter, where a consumer that returns "
            "the memory waits for ever or crashes: pass bytes, or a memoryview (as_memoryview), or export in the main "
            "interpreter"
        )


def buffer_address(view: memoryview) -> int:
    """Return the address of a contiguous view's first byte, 0 where the exporter gives none for no bytes."""
    info = _PyBuffer()
    try:
        _get_buffer(view, info, _PYBUF_STRIDES)
        return info.buf or 0
    finally:  # also where a signal's handler raises right after the call
        _release_buffer(info)


def address_of(name: str) -> int:
    """Return the address of a C function of the interpreter."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
