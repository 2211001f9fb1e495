"""Arrow, out: pyarrow's own protocol and the capsules of the C data interface.

Lives here: a buffer as one Arrow array of unsigned bytes, without nulls. Must not know: structs and callbacks, which
are `shared`'s. Where pyarrow is loaded the capsules are pyarrow's, whose release is compiled code.
"""

import sys
from typing import Any

from ..shared.access import admit_host, pair_of, settle
from ..shared.arrow_c import Data, Field, clear_reserved
from ..shared.device import CPU, Device
from ..shared.loan import Loan
from ..shared.memory import Memory

BYTES = Field("C")
"""Type of what a buffer exports: uint8, not nullable."""


def pyarrow_array(memory: Memory, type: Any = None) -> Any:  # noqa: A002 - pyarrow's name
    """Return a `pyarrow.UInt8Array` over host memory, cast where another type is asked for; imports pyarrow."""
    import pyarrow as pa

    if memory._device is not CPU:
        admit_host(memory)
    loan = Loan(memory.owner, "arrow", memory.ptr, memory.bufsize, memory.device)
    lent = pa.foreign_buffer(memory.ptr, memory.bufsize, base=loan)
    array = pa.Array.from_buffers(pa.uint8(), memory.bufsize, [None, lent])
    return array if type is None or type == array.type else array.cast(type)


def schema() -> object:
    """Return the `arrow_schema` capsule of every buffer."""
    if _is_loaded():
        import pyarrow as pa

        return pa.field("", pa.uint8(), nullable=False).__arrow_c_schema__()
    from ..shared.arrow_export import schema_capsule

    return schema_capsule(BYTES)


def array(memory: Memory, requested_schema: object = None) -> tuple[object, object]:
    """Return `arrow_schema` and `arrow_array` capsules of host memory.

    A requested schema is best effort by the specification. pyarrow casts where it makes the capsules; else it is left
    aside, and bytes are what comes.
    """
    if _is_loaded():
        return _typed(pyarrow_array(memory).__arrow_c_array__(requested_schema), requested_schema)
    from ..shared.arrow_export import array_capsule

    return schema(), array_capsule(_data(memory))


def device_array(memory: Memory, requested_schema: object = None, **options: Any) -> tuple[object, object]:
    """Return `arrow_schema` and `arrow_device_array` capsules of memory on any device, ready to be used."""
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError(f"__arrow_c_device_array__: got {name}={value!r}, an option that is not known")
    if memory.device == CPU and _is_loaded():
        pair = pyarrow_array(memory).__arrow_c_device_array__(requested_schema)
        clear_reserved(pair[1])
        return _typed(pair, requested_schema)
    from ..shared.arrow_export import device_array_capsule

    return schema(), device_array_capsule(_data(memory), Device(*pair_of(memory)))


def _typed(pair: tuple[object, object], requested_schema: object) -> tuple[object, object]:
    """Return pyarrow's capsules with our type: pyarrow calls every array nullable."""
    return (schema(), pair[1]) if requested_schema is None else pair


def _is_loaded() -> bool:
    return sys.modules.get("pyarrow") is not None


def _data(memory: Memory) -> Data:
    settle(memory)
    loan = Loan(memory.owner, "arrow", memory.ptr, memory.bufsize, memory.device)
    return Data(memory.bufsize, (None, (memory.ptr, loan)))
