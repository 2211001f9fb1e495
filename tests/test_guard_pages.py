"""Buffers over memory that no read survives: what needs no byte reads none, and what would read is refused before it.

Each table of actions is turned round once: the same reading of the same memory, said to be the host's, ends a child by
a signal. So the actions do read, and the pages do kill.
"""

import copy
import ctypes
import operator
import os
import pickle
import sys
import weakref
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from buflend import maximal, minimal
from buflend.maximal import as_column, live_exports
from buflend.shared import STATIC, DeviceError
from buflend.shared.arrow_import import read_array, read_device_array, read_schema

from . import capsules
from .guard import DEVICES, UNREADABLE, dies, doing, in_a_child, lent, on_devices, on_host, refused
from .only import only

Device = tuple[int, int]
BOTH = (minimal.Buffer, maximal.Buffer)
CONTENT = bytes(range(1, 65))
SIZE = len(CONTENT)
UINT8 = (1, 8, 1)  # DLPack's code, bits, lanes
HAS_BUFFER = sys.version_info >= (3, 12)  # PEP 688
# An older NumPy asks the type for the method, and takes no device.
NEW_NUMPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def over(device: Device, kind: Callable[..., Any] = maximal.Buffer, **options: Any) -> Any:
    return kind(UNREADABLE, SIZE, owner=STATIC, device=device, **options)


def of_arrow(pair: tuple[object, object], read: Callable[[object, object], Any] = read_array) -> tuple[int, int]:
    """Return address and size of what a pair of Arrow's capsules holds."""
    found: tuple[int, int] = read(*pair).buffers["data"]
    return found


# What reads no byte.


def made(device: Device) -> None:
    for kind in BOTH:
        for readonly in (False, True):
            buffer = over(device, kind, readonly=readonly)
            assert (buffer.ptr, buffer.bufsize, buffer.device, buffer.owner) == (UNREADABLE, SIZE, device, STATIC)
            assert (buffer.readonly, buffer.__dlpack_device__()) == (readonly, device)


def shown(device: Device) -> None:
    names = {2: "CUDA", 8: "METAL", 10: "ROCM", 14: "ONEAPI"}
    where = f"{names.get(device[0], device[0])}:{device[1]}"
    for kind in BOTH:
        facts = f"ptr={UNREADABLE:#x} bufsize={SIZE} device={where} writable owner=STATIC"
        assert repr(over(device, kind)) == str(over(device, kind)) == f"<{kind.__module__}.Buffer {facts}>"


def compared(device: Device) -> None:
    for kind in BOTH:
        one, other = over(device, kind), over(device, kind)
        assert one == one  # noqa: PLR0124 - that is what is tried
        assert one != other
        assert len({one, other, one}) == 2
        assert weakref.ref(one)() is one
        assert bool(one)


def taken_again(device: Device) -> None:
    for module in (minimal, maximal):
        for kind in BOTH:
            given = over(device, kind, readonly=True)
            found: Any = module.as_buffer(given)
            assert (found is given) == (kind is module.Buffer)
            assert (found.ptr, found.bufsize, found.device, found.readonly) == (UNREADABLE, SIZE, device, True)


def described(device: Device) -> None:
    for module in (minimal, maximal):
        for kind in BOTH:
            found = module.as_buffer(only(over(device, kind), "description"))
            assert (found.ptr, found.bufsize, found.device) == (UNREADABLE, SIZE, device)


def exported_by_dlpack(device: Device) -> None:
    streams = {2: (None, -1, 1, 2, 0xCAFE), 10: (None, -1, 0, 0xCAFE)}.get(device[0], (None, -1))
    buffer = over(device)
    for version in (None, (0, 8), (1, 0), (1, 3)):
        for stream in streams:
            capsule = buffer.__dlpack__(stream=stream, max_version=version)
            said = capsules.read_struct(capsule)
            assert (said["data"], said["byte_offset"], said["device"]) == (UNREADABLE, 0, device)
            assert (said["dtype"], said["shape"], said["strides"]) == (UINT8, (SIZE,), (1,))
            assert ("version" in said) == (version is not None and version[0] == 1)
            capsules.consume(capsule)()
            buffer.__dlpack__(stream=stream, max_version=version, dl_device=device, copy=False)  # and dropped
    said = capsules.read_struct(over(device, readonly=True).__dlpack__(max_version=(1, 3)))
    assert said["flags"] == capsules.READ_ONLY


def exported_by_cuda(device: Device) -> None:
    name = "__cuda_array_interface__"
    assert hasattr(over(device), name) == (device[0] == 2)
    if device[0] == 2:
        said = over(device).__cuda_array_interface__
        assert (said["data"], said["shape"], said["typestr"]) == ((UNREADABLE, False), (SIZE,), "|u1")
        assert (said["version"], said["strides"], said["stream"]) == (3, None, None)


def exported_by_arrow(device: Device) -> None:
    buffer = over(device)
    assert read_schema(buffer.__arrow_c_schema__()).format == "C"
    taken = read_device_array(*buffer.__arrow_c_device_array__())
    assert (taken.device, taken.length, taken.null_count) == (device, SIZE, 0)
    assert taken.buffers == {"data": (UNREADABLE, SIZE)}
    taken.owner.release()
    buffer.__arrow_c_schema__()  # and dropped
    buffer.__arrow_c_device_array__()


def taken_back(device: Device) -> None:
    protocols = ["dlpack", "description", *(["cuda_array_interface"] if device[0] == 2 else [])]
    for protocol in protocols:
        doing(protocol)
        found = maximal.as_buffer(only(over(device), protocol))
        assert (found.ptr, found.bufsize, found.device[0]) == (UNREADABLE, SIZE, device[0])
        assert found.__dlpack__(stream=-1, max_version=(1, 3)) if protocol != "cuda_array_interface" else True
        repr(found)


def taken_as_a_column(device: Device) -> None:
    protocols = ["dlpack", "arrow_c_device_array", *(["cuda_array_interface"] if device[0] == 2 else [])]
    for protocol in protocols:
        doing(protocol)
        column = as_column(only(over(device), protocol))
        assert (column.size(), column.dtype.format, column.device[0]) == (SIZE, "C", device[0])
        assert column[3:].buffers["data"].ptr == UNREADABLE
        repr(column)


def listed(device: Device) -> None:
    buffer = over(device)
    capsule, (_, array) = buffer.__dlpack__(max_version=(1, 3)), buffer.__arrow_c_device_array__()
    found = [one for one in live_exports() if one.ptr == UNREADABLE]
    assert [(one.kind, one.bufsize, one.device, one.exports) for one in found if one.kind == "dlpack"] == [
        ("dlpack", SIZE, device, 1)
    ]
    assert any(one.kind == "arrow" for one in found)
    del capsule, array


def of_no_size(device: Device) -> None:
    for address in (UNREADABLE, 0):
        buffer: Any = maximal.Buffer(address, 0, owner=STATIC, device=device)
        for version in (None, (1, 3)):
            said = capsules.read_struct(buffer.__dlpack__(max_version=version))
            assert (said["device"], said["shape"]) == (device, (0,))
        assert maximal.as_buffer(only(buffer, "dlpack")).bufsize == 0
        assert as_column(only(buffer, "arrow_c_device_array")).size() == 0
        assert pickle.loads(pickle.dumps(buffer)).bufsize == 0  # noqa: S301 - made here
        if device[0] == 2:
            assert buffer.__cuda_array_interface__["data"] == (0, False)
        repr(buffer)


def without_what_reads(device: Device) -> None:
    names = ["__array__", "__array_interface__", "__arrow_array__", "__arrow_c_array__", "__buffer__", "memoryview"]
    for kind in BOTH:
        assert [name for name in names if hasattr(over(device, kind), name)] == []


NO_READ = [
    *(made, shown, compared, taken_again, described, exported_by_dlpack, exported_by_cuda, exported_by_arrow),
    *(taken_back, taken_as_a_column, listed, of_no_size, without_what_reads),
]


@on_devices
@pytest.mark.parametrize("action", NO_READ, ids=lambda action: action.__name__)
@in_a_child
def test_no_byte_is_read(action: Callable[[Device], None], device: Device) -> None:
    action(device)


# What reads all bytes: name -> action that returns them, of the maximal buffer and, where it says so, of the minimal.

Read = Callable[[Any], bytes]


def out_of_band(buffer: Any) -> bytes:
    found: list[pickle.PickleBuffer] = []
    pickle.dumps(buffer, 5, buffer_callback=found.append)
    return found[0].raw().tobytes()


def by_dlpack(buffer: Any) -> bytes:
    return bytes(numpy_by_dlpack(buffer))


def numpy_by_dlpack(buffer: Any) -> Any:
    return np.from_dlpack(buffer if NEW_NUMPY else only(buffer, "dlpack"))


def backwards(buffer: Any) -> bytes:
    return minimal.as_ndarray(buffer, shape=SIZE, strides=-1, offset=SIZE - 1)[::-1].tobytes()


def in_pickle(protocol: int) -> Read:
    return lambda buffer: held(pickle.loads(pickle.dumps(buffer, protocol)))  # noqa: S301 - made here


def held(buffer: Any) -> bytes:
    return ctypes.string_at(buffer.ptr, buffer.bufsize)


OF_BOTH: dict[str, Read] = {
    "as_ndarray": lambda buffer: maximal.as_ndarray(buffer).tobytes(),
    "as_ndarray of minimal": lambda buffer: minimal.as_ndarray(buffer).tobytes(),
    "as_ndarray of int64": lambda buffer: minimal.as_ndarray(buffer, "int64").tobytes(),
    "as_ndarray of two dimensions": lambda buffer: maximal.as_ndarray(buffer, "int16", shape=(4, 8)).tobytes(),
    "as_ndarray backwards": backwards,
    "as_memoryview": lambda buffer: maximal.as_memoryview(buffer).tobytes(),
    "as_memoryview of minimal": lambda buffer: bytes(minimal.as_memoryview(buffer)),
    "what as_buffer makes": lambda buffer: bytes(maximal.as_memoryview(maximal.as_buffer(buffer))),
    "what is described": lambda buffer: bytes(minimal.as_memoryview(only(buffer, "description"))),
}
OF_MAXIMAL: dict[str, Read] = {
    "method memoryview": lambda buffer: bytes(buffer.memoryview()),
    "__array__": lambda buffer: buffer.__array__().tobytes(),
    "__array__ of a copy": lambda buffer: buffer.__array__(copy=True).tobytes(),
    "__array_interface__": lambda buffer: ctypes.string_at(buffer.__array_interface__["data"][0], SIZE),
    "__arrow_c_array__": lambda buffer: ctypes.string_at(*of_arrow(buffer.__arrow_c_array__())),
    "from_dlpack": by_dlpack,
    "as_buffer by DLPack": lambda buffer: bytes(maximal.as_memoryview(only(buffer, "dlpack"))),
    "as_column by DLPack": lambda buffer: bytes(as_column(only(buffer, "dlpack")).tolist()),
    "as_column by Arrow": lambda buffer: bytes(as_column(only(buffer, "arrow_c_device_array")).tolist()),
    "copy": lambda buffer: held(copy.deepcopy(buffer)),
    **{f"pickle {protocol}": in_pickle(protocol) for protocol in range(6)},
    "pickle out of band": out_of_band,
}
if HAS_BUFFER:
    OF_MAXIMAL |= {
        "__buffer__": lambda buffer: bytes(buffer.__buffer__(0)),
        "memoryview()": lambda buffer: memoryview(buffer).tobytes(),
        "bytes()": bytes,
        "frombuffer": lambda buffer: np.frombuffer(buffer, "u1").tobytes(),
    }
if NEW_NUMPY:
    OF_MAXIMAL["from_dlpack to the CPU"] = lambda buffer: np.from_dlpack(buffer, device="cpu").tobytes()
# Consumers that take an object without any protocol for a number, so that they raise an error of their own.
AS_A_NUMBER: dict[str, Read] = {
    "asarray": lambda buffer: np.asarray(buffer, "u1").tobytes(),
    "array": lambda buffer: np.array(buffer, "u1").tobytes(),
}
BY_DLPACK = [read for name, read in OF_MAXIMAL.items() if name.endswith("by DLPack")]
READS = [
    *(pytest.param(kind, read, id=f"{kind.__module__}-{name}") for name, read in OF_BOTH.items() for kind in BOTH),
    *(pytest.param(maximal.Buffer, read, id=name) for name, read in (OF_MAXIMAL | AS_A_NUMBER).items()),
]
reads = pytest.mark.parametrize(("kind", "read"), READS)


# NumPy's own refusal, once it has read a capsule; it is lost where the capsule is not NumPy's.
BY_NUMPY = (BufferError, RuntimeError) if NEW_NUMPY else SystemError


@on_devices
@reads
@in_a_child
def test_what_would_read_is_refused(kind: Any, read: Read, device: Device) -> None:
    kinds: dict[Read, Any] = {by_dlpack: BY_NUMPY, **dict.fromkeys(AS_A_NUMBER.values(), TypeError)}
    with pytest.raises(kinds.get(read, DeviceError)):
        read(over(device, kind))


@on_devices
def test_the_error_names_the_device(device: Device) -> None:
    name = next(name for name, each in DEVICES.items() if each == device)
    for read in (OF_BOTH["as_ndarray"], OF_BOTH["as_memoryview of minimal"], OF_MAXIMAL["pickle 5"]):
        assert name in refused(partial(read, over(device)), DeviceError)


# What a type does not offer at all, or offers on a newer Python only.
ABSENT: dict[str, Callable[[Any], object]] = {
    "memoryview()": memoryview,
    "bytes()": bytes,
    "frombuffer": lambda buffer: np.frombuffer(buffer, "u1"),
    "write": lambda buffer: os.write(1, buffer),
    "join": lambda buffer: b"".join([buffer]),
    "index": operator.index,
    "iter": iter,
    "len": len,
}


@on_devices
@pytest.mark.parametrize("name", ABSENT)
@pytest.mark.parametrize("kind", BOTH, ids=["minimal", "maximal"])
@in_a_child
def test_what_is_absent_is_refused_by_whoever_asks(kind: Any, name: str, device: Device) -> None:
    with pytest.raises((TypeError, AttributeError, BufferError)):
        ABSENT[name](over(device, kind))


@on_devices
def test_a_minimal_buffer_is_not_pickled(device: Device) -> None:
    for travel in (pickle.dumps, copy.copy, copy.deepcopy):
        assert "no meaning in another process" in refused(partial(travel, over(device, minimal.Buffer)), TypeError)


@on_devices
@in_a_child
def test_a_copy_on_the_host_is_not_made_without_a_runtime(device: Device) -> None:
    with pytest.raises(DeviceError):
        over(device).to_host()
    for options in ({"dl_device": (1, 0)}, {"dl_device": (1, 0), "copy": False}, {"copy": True}):
        with pytest.raises(BufferError):
            over(device).__dlpack__(max_version=(1, 0), **options)


@on_devices
def test_no_cupy(device: Device) -> None:
    word = "install the cupy package" if device[0] in {2, 10} else "CuPy cannot view"
    for module in (minimal, maximal):
        assert word in refused(partial(module.as_cupy, over(device)), DeviceError)


# Where the host may read, the same gives the bytes, and where it must not, the child dies of it.


@on_host
@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])
@reads
@in_a_child
def test_all_bytes_and_none_beside_them(kind: Any, read: Read, device: Device, *, readonly: bool) -> None:
    # Of managed memory work may be queued; an old capsule cannot say read-only.
    if (device[0] != 13 or read not in BY_DLPACK) and (NEW_NUMPY or not readonly or read is not by_dlpack):
        for side in ("end", "start"):
            assert read(lent(kind, CONTENT, side, device=device, readonly=readonly)) == CONTENT


@reads
def test_a_byte_too_many_kills(kind: Any, read: Read) -> None:
    assert dies(lambda: read(lent(kind, CONTENT, past=1)))


@reads
def test_the_same_over_unreadable_memory_kills(kind: Any, read: Read) -> None:
    assert dies(lambda: read(over((3, 0), kind)))


VIEWS: dict[str, Callable[[Any], int]] = {
    "as_ndarray": lambda buffer: maximal.as_ndarray(buffer).ctypes.data,
    "as_ndarray of minimal": lambda buffer: minimal.as_ndarray(buffer, "int32").ctypes.data,
    "as_memoryview": lambda buffer: np.asarray(maximal.as_memoryview(buffer)).ctypes.data,
    "asarray": lambda buffer: np.asarray(buffer).ctypes.data,
    "__array__": lambda buffer: buffer.__array__().ctypes.data,
    "__array_interface__": lambda buffer: int(buffer.__array_interface__["data"][0]),
    "from_dlpack": lambda buffer: numpy_by_dlpack(buffer).ctypes.data,
    "__arrow_c_array__": lambda buffer: of_arrow(buffer.__arrow_c_array__())[0],
    "__arrow_c_device_array__": lambda buffer: of_arrow(buffer.__arrow_c_device_array__(), read_device_array)[0],
}


@on_host
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_lies_where_the_buffer_does(name: str, device: Device) -> None:
    buffer = lent(maximal.Buffer, CONTENT, device=device)
    assert VIEWS[name](buffer) == buffer.ptr


@on_host
@in_a_child
def test_nothing_at_an_unreadable_address_is_read(device: Device) -> None:
    for kind, (name, read) in product(BOTH, OF_BOTH.items()):
        if "two" not in name and "backwards" not in name:
            doing(name)
            assert read(kind(UNREADABLE, 0, owner=STATIC, device=device)) == b""
