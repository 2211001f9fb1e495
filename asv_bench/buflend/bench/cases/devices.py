"""Memory on a device, and memory that is nobody's.

Specification: `__dlpack_device__` is asked before `ptr` is used. Pinned host memory (3 and 11) is host memory. Where a
buffer announces another device, its pointer is 0xDEAD0000: following it ends the process.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ..dtypes import Kind, dtype
from ..producer import Buf, Col, Frame
from ._build import around, bitmap, codes, numbers, text
from ._case import Case

if TYPE_CHECKING:
    from ..consumers import Reading

_HOST = (1, 3, 11)
_HOST_DEVICES = {"no-id": (1, None), "pinned": (3, 0), "rocm-pinned": (11, 0)}
_ELSEWHERE = {"cuda": (2, 0), "metal": (8, 0), "unknown": (99, 0)}


def _far(device: object = (2, 0), size: int = 64) -> Buf:
    return Buf(b"", device=device, ptr=0xDEAD0000, bufsize=size)


def never_asked(_: "Reading | None", frame: Frame) -> str | None:
    """Find a buffer on a device whose pointer was asked for, though nobody on the host can follow it."""
    for column in frame.cols():
        for buf, _type in filter(None, column.parts.values()):
            if buf.device[0] not in _HOST and "ptr" in buf.asked:
                return "the pointer of a buffer on a device was asked for"
    return None


def _with(part: str, device: object) -> Frame:
    """Return a column with one part on a device."""
    far = _far(device)
    column: dict[str, Any] = {
        "data": lambda: Col(far, dtype("int64"), 3),
        "bitmask": lambda: numbers([1, 2, 3], null=(3, 0), validity=(far, dtype("bits")), null_count=None),
        "bytemask": lambda: numbers([1, 2, 3], null=(4, 1), validity=(far, dtype("bool")), null_count=None),
        "string-offsets": lambda: _string(Buf(b"abc"), far),
        "characters": lambda: _string(far, Buf(around([0, 1, 3], "int32"))),
        "codes": lambda: Col(far, (Kind.CATEGORICAL, 8, "c", "="), 3, data_dtype=dtype("int8"), categories=text(["x"])),
        "categories": lambda: codes([0, 0, 0], Col(far, dtype("int64"), 1)),
        "packed-bool": lambda: Col(far, dtype("bits"), 3),
    }
    return Frame({"a": column[part]()})


def _near(device: object) -> Frame:
    return Frame({"a": Col(Buf(around([1, 2, 3], "int64"), device=device), dtype("int64"), 3)})


def _string(characters: Buf, offsets: Buf) -> Col:
    return Col(characters, dtype("string"), 2, offsets=(offsets, dtype("int32")), data_dtype=dtype("uint8"))


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    for word, device in _ELSEWHERE.items():
        yield Case(
            f"device-{word}",
            f"data on device {device}",
            partial(_with, "data", device),
            None,
            errors=("DeviceError",),
            after=never_asked,
        )
    for part in ("bitmask", "bytemask", "string-offsets", "characters", "codes", "categories", "packed-bool"):
        yield Case(
            f"device-cuda-{part}",
            f"{part.replace('-', ' ')} on CUDA",
            partial(_with, part, (2, 0)),
            None,
            errors=("DeviceError",),
            after=never_asked,
        )
    for word, near in _HOST_DEVICES.items():
        yield Case(
            f"device-host-{word}",
            f"host memory announced as device {near}",
            partial(_near, near),
            {"a": [1, 2, 3]},
        )
    yield Case(
        "device-ignored-mask-elsewhere",
        "not nullable; a mask on CUDA lies there and is not needed",
        lambda: Frame({"a": numbers([1, 2, 3], validity=(_far(), dtype("bits")))}),
        {"a": [1, 2, 3]},
        may_refuse=True,
    )
    yield Case(
        "device-second-column",
        "the second column on CUDA",
        lambda: Frame({"a": numbers([1, 2, 3]), "b": Col(_far(), dtype("int64"), 3)}),
        None,
        errors=("DeviceError",),
        after=never_asked,
    )
    yield Case(
        "device-raises",
        "the device cannot be had",
        lambda: Frame(
            {"a": Col(Buf(bitmap([True]), raises={"__dlpack_device__": OSError("no device")}), dtype("bits"), 1)}
        ),
        {"a": [True]},
        may_refuse=True,
        errors=("ProducerError",),
    )
