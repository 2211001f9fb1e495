"""Exporters of the buffer protocol (PEP 3118): from an object to the address of its bytes.

Lives here: what may be lent of an exporter, and where it lies. Must not know: any other protocol.
"""

import ctypes

from .errors import EXITS, CopyRequiredError, ProducerError, raised


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
        When the exporter fails, as a closed map does, or gives no address for its bytes.
    TypeError
        When the memory holds references to Python objects, which are no data.
    """
    try:
        view = memoryview(exporter)  # type: ignore[arg-type]
    except TypeError:
        return None
    except EXITS:
        raise
    except BaseException as error:
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
    return view_address(view), view


def writable_address(exporter: object) -> int:
    """Return the address of writable memory in C order, on every interpreter; ValueError where there is none.

    The export that `from_buffer` takes ends with the statement: who keeps the address keeps an export, too.
    """
    return _address_of(_byte_in(exporter))  # type: ignore[arg-type]


_address_of, _byte_in = ctypes.addressof, ctypes.c_ubyte.from_buffer


def view_address(view: memoryview) -> int:
    """Return the address of a view's first element, strided or not; ProducerError where there is none for its bytes."""
    if view.nbytes and view.c_contiguous and not view.readonly:
        address = writable_address(view)
    else:
        from .cpython import buffer_address

        address = buffer_address(view)
    if view.nbytes and not address:
        raise ProducerError("buffer protocol", got=None, expected=f"the address of {view.nbytes} bytes")
    return address
