"""What type checkers must accept, and refuse, of the public names.

Not a test module: `make lint` and test_typing.py run mypy over it. A line that must be refused carries the code of its
error in a `type: ignore`; in strict mode an ignore without an error is an error itself.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from buflend.minimal import (
    Buffer,
    ColumnArrays,
    InterchangeBuffer,
    InterchangeColumn,
    InterchangeFrame,
    SupportsBuffer,
    SupportsDataFrame,
    as_buffer,
    as_cupy,
    as_memoryview,
    as_ndarray,
    column_to_ndarray,
    dataframe_to_ndarrays,
)
from buflend.shared import CPU, STATIC, BuflendError, CopyRequiredError, Device, DeviceError, DeviceType, ProducerError

# A library annotates its own functions with the protocols.


def address(lent: SupportsBuffer) -> int:
    """Take any buffer."""
    return lent.ptr + lent.bufsize


def columns(frame: SupportsDataFrame) -> list[str]:
    """Take any frame."""
    return list(dataframe_to_ndarrays(frame))


class Lent:
    """The smallest buffer: plain attributes will do."""

    ptr = 0
    bufsize = 0

    def __dlpack_device__(self) -> tuple[int, None]:
        """Return the CPU as pandas spells it."""
        return 1, None


class Placeless:
    """A buffer that does not say where its memory lies."""

    ptr = 0
    bufsize = 0


class Frame:
    """The smallest frame."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:  # noqa: FBT002
        """Return nothing useful."""
        return (nan_as_null, allow_copy)


buffer = Buffer(0, 0, owner=STATIC)
assert_type(address(buffer), int)
assert_type(address(Lent()), int)
assert_type(columns(Frame()), list[str])
address(Placeless())  # type: ignore[arg-type]
address(b"lent")  # type: ignore[arg-type]
columns({"a": [1]})  # type: ignore[arg-type]

# Buffer

assert_type(buffer, Buffer)
assert_type(Buffer(0, 0, owner=b"", device=(2, 0), readonly=True), Buffer)
assert_type(Buffer(0, 0, owner=b"", device=Device(DeviceType.CUDA, 0)), Buffer)
assert_type(buffer.ptr, int)
assert_type(buffer.bufsize, int)
assert_type(buffer.device, Device)
assert_type(buffer.owner, object)
assert_type(buffer.readonly, bool)
assert_type(buffer.__dlpack_device__(), tuple[int, int])
Buffer(0, 0)  # type: ignore[call-arg]
Buffer(0, 0, b"")  # type: ignore[call-arg]
Buffer("0", 0, owner=b"")  # type: ignore[arg-type]
Buffer(0, 0, owner=b"", device="cpu")  # type: ignore[arg-type]
buffer.ptr = 1  # type: ignore[misc]
buffer.strides  # type: ignore[attr-defined]  # noqa: B018
supports: SupportsBuffer = buffer
also: InterchangeBuffer = buffer

# Functions

assert_type(as_buffer(b"lent"), Buffer)
assert_type(as_buffer(Lent()), Buffer)
assert_type(as_memoryview(buffer), memoryview)
assert_type(as_ndarray(buffer), NDArray[Any])
assert_type(as_ndarray(b"lent", np.dtype("<u2"), shape=(1, 1), strides=[2, 2], offset=2), NDArray[Any])
assert_type(as_ndarray(buffer, "int64", shape=0), NDArray[Any])
as_ndarray(buffer, "int64", (1,))  # type: ignore[call-arg]
as_ndarray(buffer, "int64", shape="1")  # type: ignore[arg-type]
as_ndarray(buffer, offset=None)  # type: ignore[arg-type]
as_ndarray(buffer, unit="s")  # type: ignore[call-arg]
as_cupy(buffer, "float32", shape=(2, 2), offset=4)
as_cupy(buffer, "float32", (2, 2))  # type: ignore[call-arg]

# Columns and frames


def read(column: InterchangeColumn, frame: InterchangeFrame, df: SupportsDataFrame) -> None:
    """Read what a producer gave."""
    assert_type(column_to_ndarray(column), ColumnArrays)
    assert_type(column_to_ndarray(column, allow_copy=False), ColumnArrays)
    column_to_ndarray(column, False)  # type: ignore[call-arg]  # noqa: FBT003
    column_to_ndarray(frame)  # type: ignore[arg-type]
    arrays = dataframe_to_ndarrays(df, allow_copy=False)
    assert_type(arrays, dict[str, ColumnArrays])
    assert_type(arrays["a"].values, NDArray[Any])
    assert_type(arrays["a"].valid, NDArray[np.bool_] | None)
    assert_type(arrays["a"].categories, NDArray[Any] | None)
    assert_type(arrays["a"].ordered, bool | None)
    assert_type(arrays["a"].timezone, str | None)
    arrays["a"].valid.sum()  # type: ignore[union-attr]
    assert_type(column.null_count, int | None)


# Devices and errors

assert_type(CPU, Device)
assert_type(CPU.type, int)
assert_type(CPU.id, int)
assert_type(DeviceType(2), DeviceType)
Device("cpu", 0)  # type: ignore[arg-type]
bad_value: ValueError = ProducerError("ptr", got=0, expected="an address")
bad_place: BufferError = DeviceError("there")
must_copy: BufferError = CopyRequiredError("strided")
roots: list[BuflendError] = [ProducerError("ptr", got=0, expected="an address"), DeviceError(), CopyRequiredError()]
not_a_value: ValueError = DeviceError("there")  # type: ignore[assignment]
