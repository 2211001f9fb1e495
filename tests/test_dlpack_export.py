"""DLPack out, read as a consumer in C would: every field of the struct, at the offsets of `dlpack.h`.

Numbers here are those of `dlpack.h` 1.3 and of the Python array API standard 2025.12, not of the library's tables.
"""

import ctypes
import gc
import math
import struct
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Buffer
from buflend.shared import STATIC, Device
from buflend.shared.dlpack import Tensor

from . import cuda_runtime
from .only import CONTENT, Owner, lend

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
if NUMPY < (2, 1):
    pytest.skip("the export is NumPy's, which knows no max_version before 2.1", allow_module_level=True)

from buflend.shared.dlpack_export import exporter  # noqa: E402 - only now

pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}

READ_ONLY, IS_COPIED = 1, 2


class Said(NamedTuple):
    """What a capsule's struct says."""

    name: bytes
    version: tuple[int, int] | None
    flags: int | None
    data: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    byte_offset: int
    deleter: int
    struct: int


def said(capsule: object) -> Said:
    """Read the struct at the offsets of a 64-bit `dlpack.h`."""
    name = name_of(capsule)
    at = pointer(capsule, name)
    version = flags = None
    if name == b"dltensor_versioned":
        major, minor, _, deleter, flags = struct.unpack("=IIQQQ", ctypes.string_at(at, 32))
        version, tensor = (major, minor), at + 32
    else:
        assert name == b"dltensor"
        _, deleter = struct.unpack("=QQ", ctypes.string_at(at + 48, 16))
        tensor = at
    data, kind, ordinal, ndim, code, bits, lanes, shape, strides, offset = struct.unpack(
        "=QiiiBBHQQQ", ctypes.string_at(tensor, 48)
    )

    def integers(address: int) -> tuple[int, ...]:
        return struct.unpack(f"={ndim}q", ctypes.string_at(address, 8 * ndim)) if ndim else ()

    return Said(
        name=name,
        version=version,
        flags=flags,
        data=data,
        device=(kind, ordinal),
        dtype=(code, bits, lanes),
        shape=integers(shape),
        strides=integers(strides) if strides or not ndim else None,
        byte_offset=offset,
        deleter=deleter,
        struct=at,
    )


def consume(capsule: object) -> Said:
    """Do what a consumer does: rename once, then own the struct."""
    found = said(capsule)
    assert rename(capsule, USED[found.name]) == 0
    return found


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(max(extent, 1) for extent in shape[i + 1 :]) for i in range(len(shape)))


def meaningful(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> list[int] | None:
    """Return the strides that lead anywhere: of nothing, and of one element, any stride is legal."""
    if 0 in shape:
        return None
    steps = compact(shape) if strides is None else strides
    return [step for step, extent in zip(steps, shape, strict=True) if extent > 1]


def check(capsule: object, tensor: Tensor, *, versioned: bool) -> Said:
    """Compare all that a struct says with what was asked for."""
    found = said(capsule)
    assert found.name == (b"dltensor_versioned" if versioned else b"dltensor")
    assert found.device == tuple(tensor.device)
    assert found.dtype == tensor.dtype
    assert found.shape == tensor.shape
    assert found.byte_offset == 0
    assert found.deleter
    if 0 not in tensor.shape:
        assert found.data == tensor.ptr
    assert meaningful(tensor.shape, found.strides) == meaningful(tensor.shape, tensor.strides)
    if found.strides is None:  # NULL is legal before 1.2 only, and means C order
        assert NUMPY < (2, 4)
        assert found.version is None or found.version < (1, 2)
    if versioned:
        assert found.version is not None
        assert (1, 0) <= found.version <= (1, 3), "our version, whatever was asked"
        assert found.flags == READ_ONLY * tensor.readonly
    return found


class TestOfABuffer:
    @pytest.mark.parametrize("device", [(1, 0), (2, 1), (3, 0), (10, 3), (13, 0), (12, 0), (99, 3)])
    @pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 3), (9, 9)])
    @pytest.mark.parametrize("readonly", [False, True])
    def test_every_field(self, device: tuple[int, int], max_version: tuple[int, int] | None, *, readonly: bool) -> None:
        buffer, returned = lend(device=device, readonly=readonly)
        assert buffer.__dlpack_device__() == device
        assert [type(number) for number in buffer.__dlpack_device__()] == [int, int]
        versioned = max_version is not None and max_version >= (1, 0)
        if readonly and not versioned:
            with pytest.raises(BufferError, match=r"read-?only"):
                buffer.__dlpack__(max_version=max_version)
            return
        capsule = buffer.__dlpack__(max_version=max_version)
        expected = Tensor(buffer.ptr, (64,), (1,), (1, 8, 1), Device(*device), readonly)
        check(capsule, expected, versioned=versioned)
        del buffer
        assert not returned
        del capsule
        assert returned == [1]

    def test_without_arguments(self) -> None:
        buffer, _ = lend()
        assert said(buffer.__dlpack__()).name == b"dltensor"

    def test_each_call_makes_a_capsule_of_its_own(self) -> None:
        buffer, _ = lend()
        first, second = (buffer.__dlpack__(max_version=(1, 0)) for _ in range(2))
        assert said(first).struct != said(second).struct

    @pytest.mark.parametrize("device", [(1, 0), (2, 1), (13, 0), (99, 3)])
    @pytest.mark.parametrize("max_version", [None, (1, 0)])
    def test_nothing_of_nothing(self, device: tuple[int, int], max_version: tuple[int, int] | None) -> None:
        buffer = Buffer(0, 0, owner=STATIC, device=device)  # type: ignore[arg-type]
        found = said(buffer.__dlpack__(max_version=max_version))
        assert (found.shape, found.dtype, found.device) == ((0,), (1, 8, 1), device)

    def test_memory_of_a_device_is_not_read(self) -> None:
        buffer = Buffer(0x10, 1 << 40, owner=STATIC, device=(2, 0))  # type: ignore[arg-type]
        found = said(buffer.__dlpack__(max_version=(1, 0)))
        assert (found.data, found.shape) == (0x10, (1 << 40,))

    @pytest.mark.parametrize("max_version", [None, (1, 0)])
    @pytest.mark.parametrize("device", [(1, 0), (2, 1)])
    def test_consumed_then_returned_once(self, max_version: tuple[int, int] | None, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        capsule = buffer.__dlpack__(max_version=max_version)
        del buffer
        found = consume(capsule)
        del capsule  # used: its destructor has nothing to do
        assert not returned
        Deleter(found.deleter)(found.struct)
        assert returned == [1]

    @pytest.mark.parametrize("device", [(1, 0), (2, 1)])
    def test_deleters_on_foreign_threads(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        found = [consume(buffer.__dlpack__(max_version=(1, 0))) for _ in range(40)]
        del buffer
        released = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # drops the lock, as a thread in C has none
        threads = [
            threading.Thread(target=lambda some=found[i::4]: [released(each.deleter)(each.struct) for each in some])
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert returned == [1]

    def test_every_export_holds_the_owner(self) -> None:
        buffer, returned = lend()
        capsules = [buffer.__dlpack__(max_version=version) for version in (None, (1, 0), (1, 3))]
        del buffer
        while capsules:
            assert not returned
            capsules.pop(0)
        assert returned == [1]

    @pytest.mark.parametrize(
        ("device", "exported"),
        [
            ((1, 0), False),
            *(
                pytest.param(
                    device,
                    True,
                    marks=pytest.mark.xfail(
                        strict=True,
                        reason="known fault: an owner that keeps its own buffer is never collected once exported, "
                        "since the buffer keeps an ndarray, through which the collector does not see",
                    ),
                )
                for device in [(1, 0), (2, 0)]
            ),
        ],
    )
    def test_an_owner_that_keeps_its_buffer_is_collected(self, device: tuple[int, int], *, exported: bool) -> None:
        buffer, returned = lend(device=device)
        if exported:
            buffer.__dlpack__()
        buffer.owner.lent = buffer  # type: ignore[attr-defined]
        del buffer
        gc.collect()
        assert returned == [1]


class TestCopy:
    @pytest.mark.parametrize("readonly", [False, True])
    @pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 3)])
    def test_true_gives_fresh_writable_memory(self, max_version: tuple[int, int] | None, *, readonly: bool) -> None:
        buffer, returned = lend(readonly=readonly)
        address = buffer.ptr
        capsule = buffer.__dlpack__(max_version=max_version, copy=True)
        found = said(capsule)
        assert not address <= found.data < address + 64
        assert ctypes.string_at(found.data, 64) == CONTENT
        assert (found.shape, found.strides or (1,), found.dtype) == ((64,), (1,), (1, 8, 1))
        if max_version is not None and max_version >= (1, 0):
            assert found.flags == IS_COPIED
        ctypes.memset(found.data, 0, 64)
        assert ctypes.string_at(address, 64) == CONTENT
        del buffer
        assert returned == [1], "a copy holds nothing of the original"
        del capsule

    @pytest.mark.parametrize("copy", [False, None])
    @pytest.mark.parametrize("device", [(1, 0), (2, 1), (3, 0)])
    def test_false_never_copies(self, device: tuple[int, int], *, copy: bool | None) -> None:
        buffer, _ = lend(device=device)
        found = said(buffer.__dlpack__(max_version=(1, 0), copy=copy))
        assert (found.data, found.flags) == (buffer.ptr, 0)

    @pytest.mark.parametrize("device", [(2, 1), (10, 0), (14, 0), (99, 3)])
    def test_true_within_a_device_is_refused(self, device: tuple[int, int]) -> None:
        buffer, _ = lend(device=device)
        with pytest.raises(BufferError, match="copy"):
            buffer.__dlpack__(max_version=(1, 0), copy=True)

    @pytest.mark.parametrize("device", [(3, 0), (11, 0), (13, 0)])
    def test_a_copy_is_labelled_with_where_it_lies(self, device: tuple[int, int]) -> None:
        buffer, _ = lend(device=device)
        try:
            found = said(buffer.__dlpack__(max_version=(1, 0), copy=True))
        except BufferError:  # right as well: the copy cannot be made on the same device
            return
        assert found.device == (1, 0)

    @pytest.mark.parametrize("device", [(1, 0), (3, 0), (11, 0), (13, 0)])
    @pytest.mark.parametrize("readonly", [False, True])
    def test_true_to_the_cpu(self, device: tuple[int, int], *, readonly: bool) -> None:
        buffer, _ = lend(device=device, readonly=readonly)
        found = said(buffer.__dlpack__(max_version=(1, 0), copy=True, dl_device=(1, 0)))
        assert (found.device, found.flags) == ((1, 0), IS_COPIED)
        assert found.data != buffer.ptr
        assert ctypes.string_at(found.data, 64) == CONTENT


class TestDevice:
    @pytest.mark.parametrize("device", [(1, 0), (2, 1), (3, 0), (10, 3), (13, 0), (12, 0), (99, 3)])
    def test_its_own(self, device: tuple[int, int]) -> None:
        buffer, _ = lend(device=device)
        found = said(buffer.__dlpack__(max_version=(1, 0), dl_device=device, copy=False))
        assert (found.device, found.data) == (device, buffer.ptr)

    @pytest.mark.parametrize("device", [(3, 0), (11, 0), (13, 0)])
    @pytest.mark.parametrize("copy", [False, None])
    def test_host_memory_is_the_cpus_without_a_copy(self, device: tuple[int, int], *, copy: bool | None) -> None:
        buffer, _ = lend(device=device)
        found = said(buffer.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=copy))
        assert (found.device, found.data, found.flags) == ((1, 0), buffer.ptr, 0)

    @pytest.mark.parametrize("device", [(1, 0), (2, 1), (3, 0), (10, 3), (99, 3)])
    @pytest.mark.parametrize("other", [(2, 0), (2, 2), (4, 0), (8, 0)])
    def test_another_is_refused(self, device: tuple[int, int], other: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        with pytest.raises(BufferError):
            buffer.__dlpack__(max_version=(1, 0), dl_device=other)
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("device", [(2, 1), (10, 0), (14, 0), (99, 3)])
    def test_to_the_cpu_is_a_copy(self, device: tuple[int, int]) -> None:
        buffer, _ = lend(device=device)
        with pytest.raises(BufferError, match="copy"):
            buffer.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)

    @pytest.mark.parametrize("wrong", ["cpu", 1, (1,), (1, "x"), (1, 0, 0)])
    @pytest.mark.parametrize("device", [(1, 0), (2, 0)])
    def test_no_device(self, device: tuple[int, int], wrong: Any) -> None:
        buffer, _ = lend(device=device)
        with pytest.raises((TypeError, ValueError)):
            buffer.__dlpack__(dl_device=wrong)


class TestCudaToHost:
    @pytest.fixture(autouse=True)
    def _runtime(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runtime = cuda_runtime.install(monkeypatch)

    @pytest.mark.parametrize("max_version", [None, (1, 0)])
    @pytest.mark.parametrize("copy", [None, True])
    @pytest.mark.parametrize("readonly", [False, True])
    def test_a_copy(self, max_version: tuple[int, int] | None, *, copy: bool | None, readonly: bool) -> None:
        buffer, returned = lend(device=(2, 1), readonly=readonly)
        try:
            capsule = buffer.__dlpack__(max_version=max_version, dl_device=(1, 0), copy=copy)
        finally:
            asked = self.runtime.calls
        found = said(capsule)
        assert (found.device, found.shape, found.dtype) == ((1, 0), (64,), (1, 8, 1))
        # Device to host, on the default stream, which is waited for; device 1 is current meanwhile.
        assert asked == [("cudaMemcpyAsync", buffer.ptr, 64, 2, 1), ("cudaStreamSynchronize", 1)]
        assert (self.runtime.devices, self.runtime.current) == ([1, 1], 0)
        assert ctypes.string_at(found.data, 64) == CONTENT
        if max_version:
            assert found.flags == IS_COPIED
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("stream", [1, 2, 12345])
    def test_takes_no_stream(self, stream: int) -> None:
        buffer, _ = lend(device=(2, 1))
        with pytest.raises(ValueError, match="stream"):
            buffer.__dlpack__(dl_device=(1, 0), stream=stream)

    def test_columns_of_a_matrix_keep_their_order(self) -> None:
        owner = Owner([], CONTENT)
        method = exporter(owner, Tensor(owner.address, (2, 16), (1, 2), (0, 16, 1), Device(2, 0)))
        capsule = method(max_version=(1, 0), dl_device=(1, 0))
        found = said(capsule)
        assert (found.shape, found.strides, found.dtype) == ((2, 16), (1, 2), (0, 16, 1))
        assert ctypes.string_at(found.data, 64) == CONTENT


STREAMS = {
    # device type: (allowed, forbidden); array API standard 2025.12, `__dlpack__`, parameter `stream`
    2: ([None, 1, 2, 3, 2**47, -1], [0, -2, "one", 1.0]),
    13: ([None, 1, 2, 3, 2**47, -1], [0, -2, "one", 1.0]),
    10: ([None, 0, 3, 2**47, -1], [1, 2, -2, "one"]),
    3: ([None, -1], [0, 1, 2]),
    14: ([None, -1], [0]),
}


@pytest.mark.parametrize(("kind", "stream"), [(kind, each) for kind, (good, _) in STREAMS.items() for each in good])
def test_streams_that_are_allowed(kind: int, stream: Any) -> None:
    buffer, _ = lend(device=(kind, 0))
    assert said(buffer.__dlpack__(max_version=(1, 0), stream=stream)).device == (kind, 0)


@pytest.mark.parametrize(("kind", "stream"), [(kind, each) for kind, (_, bad) in STREAMS.items() for each in bad])
def test_streams_that_are_forbidden(kind: int, stream: Any) -> None:
    buffer, returned = lend(device=(kind, 0))
    with pytest.raises((ValueError, TypeError), match="stream"):
        buffer.__dlpack__(max_version=(1, 0), stream=stream)
    del buffer
    assert returned == [1]


@pytest.mark.parametrize("stream", [0, 1, 2, 12345])
def test_the_cpu_has_no_stream(stream: int) -> None:
    buffer, _ = lend()
    with pytest.raises((ValueError, RuntimeError), match="stream"):  # NumPy's own answer; RuntimeError before 2.5
        buffer.__dlpack__(stream=stream)
    assert said(buffer.__dlpack__(stream=None)).name == b"dltensor"


DTYPES = {
    **{f"int{bits}": (0, bits, 1) for bits in (8, 16, 32, 64, 128)},
    **{f"uint{bits}": (1, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits, 1) for bits in (16, 32, 64, 128)},
    "opaque": (3, 64, 1),
    "bfloat16": (4, 16, 1),
    "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
    "bool": (6, 8, 1),
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
    "float6_e2m3fn": (15, 6, 1),
    "float6_e3m2fn": (16, 6, 1),
    "float4_e2m1fn": (17, 4, 1),
    "float4_e2m1fn x2": (17, 4, 2),
    "float6_e3m2fn x4": (16, 6, 4),
    "int4": (0, 4, 1),
    "uint1": (1, 1, 1),
    "float32 x2": (2, 32, 2),
    "float32 x4": (2, 32, 4),
    "uint8 x3": (1, 8, 3),
    "int24": (0, 24, 1),
    "uint8 x65535": (1, 8, 65535),
    "a later version's": (200, 8, 1),
}

DEVICES = [(1, 0), (2, 0), (2, 7), (3, 0), (4, 0), (7, 0), (8, 0), (9, 0), (10, 1), (11, 0)]
DEVICES += [(12, 0), (13, 0), (14, 2), (15, 0), (16, 0), (17, 0), (18, 1), (99, 3), (2**31 - 1, 2**31 - 1)]

LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "one": ((4,), (1,)),
    "0-d": ((), ()),
    "empty": ((0,), (1,)),
    "empty, strides of anything": ((0, 3), (7, -5)),
    "empty inside": ((2, 0, 3), (0, 3, 1)),
    "C order": ((2, 3, 4), (12, 4, 1)),
    "Fortran order": ((2, 3, 4), (1, 2, 6)),
    "extent 1, stride of anything": ((1, 3, 1), (77, 1, -9)),
    "extent 1 alone": ((1,), (3,)),
    "one element thrice": ((3,), (0,)),
    "steps": ((2, 3), (30, 5)),
    "overlapping": ((3, 3), (1, 1)),
    "64 dimensions": ((2, 3) + (1,) * 62, (3, 1) + (1,) * 62),
    "backwards": ((4,), (-1,)),
    "backwards and forwards": ((2, 3), (3, -1)),
}


@pytest.mark.parametrize(
    ("layout", "dtype"),
    [
        *((layout, dtype) for layout in LAYOUTS for dtype in ("uint8", "bfloat16", "float4_e2m1fn", "float32 x4")),
        ("64 dimensions of 2", "float4_e2m1fn"),  # 2**64 elements: more than an array of NumPy may have
    ],
)
@pytest.mark.parametrize("device", [(1, 0), (2, 7)])
def test_every_layout(layout: str, dtype: str, device: tuple[int, int]) -> None:
    shape, strides = LAYOUTS.get(layout, ((2,) * 64, (0,) * 64))
    tensor = Tensor(0x7000_0000_1000, shape, strides, DTYPES[dtype], Device(*device))
    method = exporter(STATIC, tensor)
    check(method(max_version=(1, 0)), tensor, versioned=True)
    check(method(), tensor, versioned=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", [(1, 0), (2, 7), (99, 3)])
@pytest.mark.parametrize("readonly", [False, True])
def test_every_type(dtype: str, device: tuple[int, int], *, readonly: bool) -> None:
    tensor = Tensor(0x7000_0000_1000, (3, 2), (5, 2), DTYPES[dtype], Device(*device), readonly)
    method = exporter(STATIC, tensor)
    check(method(max_version=(1, 3)), tensor, versioned=True)
    if readonly:
        with pytest.raises(BufferError):
            method()
    else:
        check(method(), tensor, versioned=False)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float4_e2m1fn"])
def test_every_device(device: tuple[int, int], dtype: str) -> None:
    tensor = Tensor(0x7000_0000_1000, (3,), (1,), DTYPES[dtype], Device(*device))
    method = exporter(STATIC, tensor)
    check(method(max_version=(1, 0)), tensor, versioned=True)
    check(method(max_version=(0, 8)), tensor, versioned=False)


@pytest.mark.parametrize("dtype", [(15, 8, 1), (16, 8, 1), (17, 8, 1), (7, 4, 1), (12, 16, 1), (1, 0, 1), (1, 8, 0)])
def test_types_that_cannot_be(dtype: tuple[int, int, int]) -> None:
    with pytest.raises(BufferError, match="dtype"):
        exporter(STATIC, Tensor(0x1000, (2,), (1,), dtype))


@pytest.mark.parametrize("dtype", [(300, 8, 1), (1, 264, 1), (1, 8, 65537)])
def test_types_that_do_not_fit_the_struct(dtype: tuple[int, int, int]) -> None:
    with pytest.raises((BufferError, ValueError)):
        exporter(STATIC, Tensor(0x1000, (2,), (1,), dtype))()


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float4_e2m1fn"])
def test_more_than_64_dimensions_are_refused(dtype: str) -> None:
    with pytest.raises(BufferError):
        exporter(STATIC, Tensor(0x1000, (1,) * 65, (1,) * 65, DTYPES[dtype]))


@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "uint8 x2", "float4_e2m1fn x4"])
@pytest.mark.parametrize("shape", [(), (16,), (2, 4), (0, 3)])
def test_a_copy_of_any_type(dtype: str, shape: tuple[int, ...]) -> None:
    numbers = {**DTYPES, "uint8 x2": (1, 8, 2), "float4_e2m1fn x4": (17, 4, 4)}[dtype]  # each of two bytes
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    method = exporter(owner, Tensor(owner.address, shape, compact(shape), numbers, readonly=True))
    del owner
    capsule = method(max_version=(1, 0), copy=True)
    del method
    assert returned == [1]
    found = said(capsule)
    size = 2 * math.prod(shape)
    assert (found.shape, found.dtype, found.device, found.flags) == (shape, numbers, (1, 0), IS_COPIED)
    assert meaningful(shape, found.strides) == meaningful(shape, compact(shape))
    assert not size or ctypes.string_at(found.data, size) == CONTENT[:size]


@pytest.mark.parametrize("dtype", ["int16", "bfloat16"])
def test_a_strided_copy_has_the_values(dtype: str) -> None:
    owner = Owner([], CONTENT)
    tensor = Tensor(owner.address + 20, (2, 3), (12, -4), DTYPES[dtype])
    capsule = exporter(owner, tensor)(max_version=(1, 0), copy=True)
    found = said(capsule)
    assert (found.shape, found.flags) == ((2, 3), IS_COPIED)
    steps = found.strides or compact(found.shape)
    for i in range(2):
        for j in range(3):
            source = 20 + 2 * (12 * i - 4 * j)
            got = ctypes.string_at(found.data + 2 * (steps[0] * i + steps[1] * j), 2)
            assert got == CONTENT[source : source + 2]


def test_a_strided_copy_below_a_byte_is_refused() -> None:
    method = exporter(STATIC, Tensor(0x1000, (2,), (2,), DTYPES["float4_e2m1fn"]))
    with pytest.raises(BufferError, match="copy"):
        method(max_version=(1, 0), copy=True)


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float4_e2m1fn"])
@pytest.mark.parametrize("device", [(1, 0), (2, 0)])
@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_the_generic_export_returns_the_owner_once(
    dtype: str, device: tuple[int, int], max_version: tuple[int, int] | None
) -> None:
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    method = exporter(owner, Tensor(owner.address, (4,), (1,), DTYPES[dtype], Device(*device)))
    del owner
    dropped, kept = method(max_version=max_version), method(max_version=max_version)
    del method, dropped
    found = consume(kept)
    del kept
    assert not returned
    Deleter(found.deleter)(found.struct)
    assert returned == [1]


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Draw what a struct may say; nothing of it is ever read."""
    code = draw(st.integers(0, 20))
    if 7 <= code <= 17:
        bits = 8 if code <= 14 else 6 if code <= 16 else 4
    else:
        bits = draw(st.sampled_from([1, 2, 4, 7, 8, 16, 24, 32, 64, 128, 255]))
    lanes = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 65535]))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=6)))
    strides = tuple(draw(st.lists(st.integers(-40, 40), min_size=len(shape), max_size=len(shape))))
    if draw(st.booleans()):
        strides = compact(shape)
    pointer = draw(st.integers(1 << 20, 2**47) | st.integers(1 << 20, 2**64 - 2**34))
    device = draw(st.sampled_from(DEVICES) | st.tuples(st.integers(2, 2**31 - 1), st.integers(0, 2**31 - 1)))
    return Tensor(pointer, shape, strides, (code, bits, lanes), Device(*device), draw(st.booleans()))


@given(tensors(), st.sampled_from([None, (0, 8), (1, 0), (1, 3), (9, 9)]))
def test_the_struct_says_what_was_asked(tensor: Tensor, max_version: tuple[int, int] | None) -> None:
    returned: list[int] = []
    method = exporter(Owner(returned, b""), tensor)
    versioned = max_version is not None and max_version >= (1, 0)
    if tensor.readonly and not versioned:
        with pytest.raises(BufferError, match=r"read-?only"):
            method(max_version=max_version)
    else:
        capsule = method(max_version=max_version)
        check(capsule, tensor, versioned=versioned)
        again = method(max_version=max_version)
        found = consume(again)
        del again
        Deleter(found.deleter)(found.struct)
        del capsule
    assert not returned, "the method itself holds the owner"
    del method
    assert returned == [1]
