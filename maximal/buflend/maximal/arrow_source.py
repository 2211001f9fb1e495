"""Arrow in: from the capsules that an object offers to columns.

Lives here: which method is asked, and what an imported array becomes. Must not know: structs, which are `shared`'s.
"""

from functools import lru_cache
from typing import Any

from ..shared.arrow_c import Field
from ..shared.arrow_format import parse_format
from ..shared.arrow_import import Imported, read_array, read_device_array, read_device_stream, read_stream
from ..shared.chunk import Dtype
from ..shared.errors import EXITS, ProducerError
from ..shared.interchange import DtypeKind
from ..shared.memory import offers
from .buffer import Buffer
from .column import Column
from .found import RefusedError
from .piece import ARROW_NULLS, NO_NULLS, Piece, Type

Chunks = tuple[Field, list[Imported]]

# Method -> how its answer is read. The first that is offered and answers is taken: host memory before a device's, one
# array before a stream.
_METHODS = {
    "__arrow_c_array__": lambda pair: _one(read_array(*_pair(pair))),
    "__arrow_c_stream__": read_stream,
    "__arrow_c_device_array__": lambda pair: _one(read_device_array(*_pair(pair))),
    "__arrow_c_device_stream__": read_device_stream,
}


def read(obj: Any) -> Chunks | None:
    """Return type and chunks of what an object offers by Arrow's capsules, None where it offers none.

    Raises
    ------
    RefusedError
        When every method that it offers raises: another protocol may be spoken.
    ProducerError
        When what it gives cannot be true.
    """
    refusal: RefusedError | None = None
    try:
        for name, reader in _METHODS.items():
            if not offers(obj, name):
                continue
            try:
                given = getattr(obj, name)()
            except EXITS:
                raise
            except BaseException as error:  # noqa: BLE001 - producers raise what they like
                refusal = refusal or RefusedError(f"{name}()", error)
                continue
            return reader(given)
        if refusal is not None:
            raise refusal
    finally:
        refusal = None  # its traceback holds this frame: without this, a cycle would keep the object
    return None


def _pair(given: Any) -> tuple[object, object]:
    if not issubclass(type(given), tuple) or tuple.__len__(given) != 2:
        raise ProducerError("Arrow capsules", got=given, expected="a tuple of two, schema and array")
    return tuple.__getitem__(given, slice(None))


def _one(array: Imported) -> Chunks:
    return array.field, [array]


def to_column(chunks: Chunks) -> Column:
    """Return the column that chunks of one type are."""
    field, arrays = chunks
    return Column._make(type_of(field), tuple(map(to_piece, arrays)) or (_empty(field),))


def to_columns(chunks: Chunks) -> list[Column]:
    """Return the columns of a table, whose chunks are structs.

    Raises
    ------
    TypeError
        When they are not.
    ProducerError
        When rows as a whole are missing, which no table can say.
    """
    field, arrays = chunks
    if field.format != "+s" or field.dictionary is not None:
        raise TypeError(f"a table is read from structs, but this is of Arrow's type {field.format!r}: take as_column")
    for array in arrays:
        if array.null_count and "validity" in array.buffers:
            raise ProducerError(
                "ArrowArray of a table",
                got=f"a validity bitmap (null_count {array.null_count})",
                expected="rows that are all there",
                hint="read it as a column of structs, with as_column",
            )
    found = []
    for i, child in enumerate(field.children):
        pieces = tuple([to_piece(array.children[i]) for array in arrays])  # of a root that was split, cut already
        found.append(Column._make(type_of(child), pieces or (_empty(child),)))
    return found


@lru_cache(maxsize=1024)
def type_of(field: Field) -> Type:
    """Return the type that a schema describes."""
    layout = parse_format(field.format)
    kind = layout.kind if field.dictionary is None else DtypeKind.CATEGORICAL
    return Type(Dtype(kind, layout.bits, field.format, "="), field.name, field.flags, field.metadata)


def to_piece(array: Imported) -> Piece:
    """Return an imported array as a piece: every buffer's owner is the array's."""
    type_ = type_of(array.field)
    owner, device = array.owner, array.device
    buffers = {name: _buffer(block, owner, device) for name, block in array.buffers.items()}
    masked = "validity" in buffers and array.null_count
    return Piece(
        array.length,
        array.offset,
        buffers,
        ARROW_NULLS if masked else NO_NULLS,
        array.null_count if masked else 0,
        0,
        type_.width,
        array.offset,
        1,
        tuple([_buffer(block, owner, device) for block in array.variadic]),
        tuple([Column._make(type_of(child.field), (to_piece(child),)) for child in array.children]),
        array.dictionary and Column._make(type_of(array.dictionary.field), (to_piece(array.dictionary),)),
    )


def _buffer(block: tuple[int, int], owner: object, device: Any) -> Buffer:
    """Return a buffer over checked numbers, the short way."""
    made = _new(Buffer)
    made._ptr, made._bufsize = block
    made._owner = owner
    made._device = device
    made._stream = None  # its event was waited for
    made._readonly = True  # Arrow's arrays are not to be written
    return made


_new = object.__new__


def _empty(field: Field) -> Piece:
    """Return a piece without elements, for a stream without chunks."""
    children = tuple(Column._make(type_of(child), (_empty(child),)) for child in field.children)
    inner = field.dictionary
    dictionary = None if inner is None else Column._make(type_of(inner), (_empty(inner),))
    return Piece(0, 0, {}, stride=type_of(field).width, children=children, dictionary=dictionary)
