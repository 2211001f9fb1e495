"""CPython's C functions, through prototypes of our own.

Lives here: every call into the interpreter. Must not know: any library, any protocol above the buffer protocol.

Attributes of `ctypes.pythonapi` are shared by the whole process, so none is set here: a prototype is made from a name
and belongs to this file. `PYFUNCTYPE` keeps the interpreter's lock during the call, which is needed wherever Python
objects are touched.
"""

import ctypes

from .errors import CopyRequiredError, ProducerError, raised

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


def exported(exporter: object) -> tuple[int, memoryview] | None:
    """Return address and view of the block that an object exports by the buffer protocol, None where it exports none.

    Parameters
    ----------
    exporter : object
        Anything; bytes, bytearray, `array.array`, mmap, memoryview and NumPy arrays export.

    Returns
    -------
    tuple of (int, memoryview) or None
        The view holds the export, so that a bytearray cannot be resized and a map not closed while it lives: it, not
        the exporter, is the owner of the memory. Its `nbytes` and `readonly` are those of the block.

    Raises
    ------
    CopyRequiredError
        When the bytes are not contiguous.
    ProducerError
        When the exporter fails, as a closed map does.
    TypeError
        When the memory holds references to Python objects, which are no data.
    """
    try:
        view = memoryview(exporter)  # type: ignore[arg-type]
    except TypeError:
        return None
    except Exception as error:
        raise ProducerError("buffer protocol", got=raised(error), expected="an exported buffer") from error
    if not view.contiguous:
        raise CopyRequiredError(
            f"a buffer is one contiguous range of bytes, but this {type(exporter).__name__} is strided "
            f"(shape {view.shape}, strides {view.strides}): copy it to contiguous memory first"
        )
    if "O" in "".join(view.format.split(":")[::2]):  # between colons stand the names of fields
        raise TypeError(
            f"the memory of this {type(exporter).__name__} holds Python objects, not data: convert it first"
        )
    info = _PyBuffer()
    _get_buffer(view, info, _PYBUF_STRIDES)
    address = info.buf or 0
    _release_buffer(info)
    return address, view
