"""pyarrow's arrays over lent buffers: no Python code runs when they are released.

Lives here: what pyarrow makes of buffers. Must not know: how a column becomes Arrow's.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..shared.arrow_c import Data, Field
from ..shared.loan import Taken
from .arrow_form import Form

_EXTENSION = b"ARROW:extension:name"
_UNKNOWN = ("tiM", "tiD")  # to pyarrow, not to Arrow C++


def is_loaded() -> bool:
    """Tell whether pyarrow was imported by somebody."""
    return sys.modules.get("pyarrow") is not None


@lru_cache(maxsize=1024)
def makes(field: Field) -> bool:
    """Tell whether pyarrow makes arrays of a type from buffers: not unions, runs, extension types, old intervals."""
    if field.format[:2] in ("+u", "+r") or field.format in _UNKNOWN or _EXTENSION in (field.metadata or b""):
        return False
    return all(map(makes, field.children)) and (field.dictionary is None or makes(field.dictionary))


class _Capsules:
    """What offers nothing but Arrow's capsules, so that pyarrow takes these."""

    def __init__(self, field: Field, data: Data | None = None) -> None:
        self.field = field
        self.data = data

    def __arrow_c_schema__(self) -> object:
        from ..shared.arrow_export import schema_capsule

        return schema_capsule(self.field)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from ..shared.arrow_export import array_capsule

        return self.__arrow_c_schema__(), array_capsule(self.data)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def to_field(field: Field) -> Any:
    """Return a schema as a `pyarrow.Field`."""
    import pyarrow as pa

    return pa.field(_Capsules(field))


def to_array(form: Form) -> Any:
    """Return a form of one chunk as an array of pyarrow; imports pyarrow."""
    return (form.pyarrow or _prepare(form))()


def _prepare(form: Form) -> Callable[[], Any]:
    """Return what makes a form's array, which keeps it."""
    (data,) = form.chunks
    form.pyarrow = made = _maker(form.field, data)
    return made


def _maker(field: Field, data: Data) -> Callable[[], Any]:
    """Return what makes an array, each time anew; it holds the owners, as the data does."""
    import pyarrow as pa

    if not makes(field):
        return lambda: pa.array(_Capsules(field, data))
    kind = to_field(field).type
    if field.format == "n" or field.children or field.dictionary is not None:
        return lambda: _of_buffers(pa, field, data, kind)
    lent = [one and (one[0], one[1].bufsize, one[1]) for one in _given(field, data)]
    length, missing, offset = data.length, data.null_count, data.offset
    lend, array = pa.foreign_buffer, pa.Array.from_buffers

    def make() -> Any:
        buffers = [one and lend(one[0], one[1], _take(Taken, one[2])) for one in lent]
        return array(kind, length, buffers, missing, offset)

    return make


def _of_buffers(pa: Any, field: Field, data: Data, kind: Any) -> Any:
    if field.format == "n":
        return pa.nulls(data.length)
    lend = pa.foreign_buffer
    buffers = [one and lend(one[0], one[1].bufsize, _take(Taken, one[1])) for one in _given(field, data)]
    if not field.children and field.dictionary is None:
        return pa.Array.from_buffers(kind, data.length, buffers, data.null_count, data.offset)
    if field.dictionary is not None and data.dictionary is not None:
        values = _of_buffers(pa, field.dictionary, data.dictionary, kind.value_type)
        return pa.DictionaryArray.from_buffers(kind, data.length, buffers, values, data.null_count, data.offset)
    kinds = [to_field(inner).type for inner in field.children]
    children = list(map(_of_buffers, [pa] * len(kinds), field.children, data.children, kinds))
    return pa.Array.from_buffers(kind, data.length, buffers, data.null_count, data.offset, children)


def _given(field: Field, data: Data) -> tuple[tuple[int, Any] | None, ...]:
    """Return the buffers that pyarrow keeps: of views not that of sizes, which is the last."""
    return data.buffers[:-1] if field.format in ("vu", "vz") else data.buffers


_take = tuple.__new__


def to_chunked_array(form: Form) -> Any:
    """Return a form as a `pyarrow.ChunkedArray`; imports pyarrow."""
    import pyarrow as pa

    field, kind = form.field, to_field(form.field).type
    if makes(field):
        arrays = [_of_buffers(pa, field, data, kind) for data in form.chunks]
    else:
        arrays = [pa.array(_Capsules(field, data)) for data in form.chunks]
    return pa.chunked_array(arrays, kind)


def to_table(form: Form) -> Any:
    """Return a form of structs as a `pyarrow.Table`; imports pyarrow."""
    import pyarrow as pa

    parts = [Form(child, [data.children[i] for data in form.chunks]) for i, child in enumerate(form.field.children)]
    schema = to_field(form.field)
    named = pa.schema([to_field(part.field) for part in parts], schema.metadata)
    return pa.Table.from_arrays(list(map(to_chunked_array, parts)), schema=named)
