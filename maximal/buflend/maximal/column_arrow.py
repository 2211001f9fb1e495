"""Arrow out, at the level of columns and tables: the capsules.

Lives here: who makes them, and what is requested. Must not know: how a column becomes Arrow's, which is `arrow_form`'s,
nor structs and callbacks, which are `shared`'s. Where pyarrow is loaded the capsules are pyarrow's, whose release is
compiled code; what it does not make of buffers goes out through our own.
"""

from collections.abc import Callable
from sys import modules
from typing import Any

from ..shared.arrow_c import Field, clear_reserved
from ..shared.device import CPU, HOST_READABLE, Device, device_name
from ..shared.errors import DeviceError
from . import arrow_pyarrow
from .arrow_form import Form


def schema(form: Form) -> object:
    """Return the `arrow_schema` capsule."""
    if _by_pyarrow(form):
        return arrow_pyarrow.to_field(form.field).__arrow_c_schema__()
    from ..shared.arrow_export import schema_capsule

    return schema_capsule(form.field)


def array(form: Form, requested: object = None) -> tuple[object, object]:
    """Return `arrow_schema` and `arrow_array` capsules of host memory.

    A requested schema is best effort by the specification: pyarrow casts where it makes the capsules, else what there
    is is given. TypeError where the two have another number of fields.
    """
    if requested is None and modules.get("pyarrow") is None:  # the short way
        return (form.export or _prepare(form))()
    requested = _checked(form, requested)
    if _by_pyarrow(form):
        return _named(form, arrow_pyarrow.to_array(form).__arrow_c_array__(requested), requested)
    return (form.export or _prepare(form))()


def _prepare(form: Form) -> Callable[[], tuple[object, object]]:
    """Return what makes a form's capsules, which keeps it."""
    from ..shared.arrow_export import exporter

    form.export = made = exporter(form.field, form.chunks[0])
    return made


def device_array(form: Form, device: Device, requested: object = None, **options: Any) -> tuple[object, object]:
    """Return `arrow_schema` and `arrow_device_array` capsules of memory on any device, ready to be used."""
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError(f"__arrow_c_device_array__: got {name}={value!r}, an option that is not known")
    if device[0] not in HOST_READABLE and _has_views(form.field):
        raise DeviceError(
            f"views on {device_name(device)} need the sizes of their buffers of characters there, and nothing is "
            "copied to a device: make text of them first"
        )
    requested = _checked(form, requested)
    if device == CPU and _by_pyarrow(form):
        pair = arrow_pyarrow.to_array(form).__arrow_c_device_array__(requested)
        clear_reserved(pair[1])
        return _named(form, pair, requested)
    from ..shared.arrow_export import device_array_capsule

    return schema(form), device_array_capsule(form.chunks[0], device)


def _has_views(field: Field) -> bool:
    parts = [*field.children, *(() if field.dictionary is None else (field.dictionary,))]
    return field.format in ("vu", "vz") or any(map(_has_views, parts))


def stream(form: Form, requested: object = None) -> object:
    """Return an `arrow_array_stream` capsule of chunks in host memory."""
    requested = _checked(form, requested)
    if _by_pyarrow(form):
        make = arrow_pyarrow.to_table if form.is_table else arrow_pyarrow.to_chunked_array
        return make(form).__arrow_c_stream__(requested)
    from ..shared.arrow_stream_export import stream_capsule

    return stream_capsule(form.field, form.chunks)


def pyarrow_array(form: Form, type: Any = None) -> Any:  # noqa: A002 - pyarrow's name
    """Return a pyarrow array, of several chunks a chunked one, cast where another type is asked for."""
    made = arrow_pyarrow.to_array(form) if len(form.chunks) == 1 else arrow_pyarrow.to_chunked_array(form)
    return made if type is None or type == made.type else made.cast(type)


def _by_pyarrow(form: Form) -> bool:
    return arrow_pyarrow.is_loaded() and arrow_pyarrow.makes(form.field)


def _named(form: Form, pair: tuple[object, object], requested: object) -> tuple[object, object]:
    """Return pyarrow's capsules with our schema: pyarrow's arrays have no name and are nullable."""
    return (schema(form), pair[1]) if requested is None else pair


def _checked(form: Form, requested: object) -> object:
    """Return a requested schema in a capsule anew: whoever reads one uses it up."""
    if requested is None:
        return None
    from ..shared.arrow_export import schema_capsule
    from ..shared.arrow_import import read_schema

    field, wanted = form.field, read_schema(requested)
    if len(wanted.children) != len(field.children):
        raise TypeError(
            f"requested_schema: got {wanted.format!r} with {len(wanted.children)} fields, expected the "
            f"{len(field.children)} of {field.format!r}"
        )
    return schema_capsule(wanted)
