"""CPython's C functions, through prototypes of our own.

Lives here: every call into the interpreter. Must not know: libraries, protocols above the buffer protocol. Imported
when a call is needed, since other interpreters lack `ctypes.pythonapi`.

Attributes of `ctypes.pythonapi` are shared by the whole process, so none is set here: a prototype is made from a name
and belongs to this file. `PYFUNCTYPE` keeps the interpreter's lock during the call, which is needed wherever Python
objects are touched.
"""

import ctypes

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


_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_PyBuffer))(("PyBuffer_Release", ctypes.pythonapi))


def buffer_address(view: memoryview) -> int:
    """Return the address of a contiguous view's first byte, 0 where the exporter gives none for no bytes."""
    info = _PyBuffer()
    _get_buffer(view, info, _PYBUF_STRIDES)
    address = info.buf or 0
    _release_buffer(info)
    return address
