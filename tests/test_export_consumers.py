"""Every protocol of a buffer, alone, in every consumer that is installed: values, address, access, owner.

A consumer that is not installed is not tested; nothing here needs a GPU.
"""

import contextlib
import ctypes
import gc
import io
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend.maximal import Buffer, as_buffer, live_exports
from buflend.shared.loan import ByteLoan

from .only import CONTENT, lend, only

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
OLD = NUMPY < (2, 1)
BEFORE_21 = pytest.mark.xfail(
    OLD,
    strict=True,
    reason="known fault: NumPy before 2.1 looks the method up on the type, where a slot is, and knows no max_version",
)

# Whether what is made of read-only memory can be written: it cannot; nothing made here can; it can, since the library
# has no read-only arrays; the library asks for the struct that cannot say it, and is refused; so do its older releases.
KEPT, ALWAYS, LOST, REFUSED, REFUSED_ONCE = "kept", "always", "lost", "refused", "refused once"
REFUSAL = (BufferError, ValueError, RuntimeError, TypeError)


class Consumer(NamedTuple):
    """One way of one library to take memory; `address` is None where it copies."""

    module: str
    protocol: str
    take: Callable[[Any, Any], Any]
    values: Callable[[Any], list[int]]
    address: Callable[[Any], int] | None
    readonly: str
    writable: Callable[[Any], bool] = lambda _: False


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _arro3_address(array: Any) -> int:
    """Read `buffers[1]` and `offset` of the ArrowArray that it exports: its own views are copies."""
    _, capsule = array.__arrow_c_array__()
    _, _, offset, _, _, buffers = struct.unpack("=qqqqqQ", ctypes.string_at(_pointer(capsule, b"arrow_array"), 48))
    return ctypes.c_uint64.from_address(buffers + 8).value + offset


def _duckdb(duckdb: Any, obj: Any) -> Any:
    lent = sys.modules["pyarrow"].table({"x": sys.modules["pyarrow"].array(obj)})
    with contextlib.closing(duckdb.connect()) as connection:
        rows = connection.sql("select x from lent").fetchall()
    del lent
    return [value for (value,) in rows]


def _view(module: Any) -> Any:
    return module.utils.StridedMemoryView


def _ndarray(**options: Any) -> dict[str, Any]:
    return {
        "module": "numpy",
        "values": lambda a: a.tolist(),
        "address": lambda a: a.ctypes.data,
        "readonly": KEPT,
        "writable": lambda a: a.flags.writeable,
        **options,
    }


def _tensor(**options: Any) -> dict[str, Any]:
    return {
        "module": "torch",
        "values": lambda t: t.tolist(),
        "address": lambda t: t.data_ptr(),
        "readonly": LOST,
        **options,
    }


def _arrow(**options: Any) -> dict[str, Any]:
    return {
        "module": "pyarrow",
        "values": lambda a: a.to_pylist(),
        "address": lambda a: a.buffers()[1].address + a.offset,
        "readonly": ALWAYS,
        **options,
    }


def _series(**options: Any) -> dict[str, Any]:
    return {
        "module": "polars",
        "values": lambda s: s.to_list(),
        "address": lambda s: s.to_numpy(allow_copy=False).ctypes.data,
        "readonly": ALWAYS,
        "take": lambda pl, o: pl.Series(o),
        **options,
    }


CONSUMERS = {
    name: Consumer(**options)
    for name, options in {
        "numpy.from_dlpack": _ndarray(protocol="dlpack", take=lambda np, o: np.from_dlpack(o)),
        "numpy.asarray of the interface": _ndarray(protocol="array_interface", take=lambda np, o: np.asarray(o)),
        "numpy.asarray of __array__": _ndarray(protocol="array", take=lambda np, o: np.asarray(o)),
        "numpy.asarray of a buffer": _ndarray(protocol="buffer", take=lambda np, o: np.asarray(o)),
        "numpy.frombuffer": _ndarray(protocol="buffer", take=lambda np, o: np.frombuffer(o, np.uint8)),
        "memoryview": {
            "module": "builtins",
            "protocol": "buffer",
            "take": lambda _, o: memoryview(o),
            "values": lambda m: m.tolist(),
            "address": lambda m: np.frombuffer(m, np.uint8).ctypes.data,
            "readonly": KEPT,
            "writable": lambda m: not m.readonly,
        },
        "bytes": {
            "module": "builtins",
            "protocol": "buffer",
            "take": lambda _, o: bytes(o),
            "values": list,
            "address": None,
            "readonly": ALWAYS,
        },
        "torch.from_dlpack": _tensor(protocol="dlpack", take=lambda torch, o: torch.from_dlpack(o)),
        "torch.asarray": _tensor(protocol="dlpack", take=lambda torch, o: torch.asarray(o)),
        "torch.frombuffer": _tensor(protocol="buffer", take=lambda torch, o: torch.frombuffer(o, dtype=torch.uint8)),
        "jax.dlpack.from_dlpack": {
            "module": "jax.dlpack",
            "protocol": "dlpack",
            "take": lambda module, o: module.from_dlpack(o),
            "values": lambda a: np.asarray(a).tolist(),
            "address": lambda a: a.unsafe_buffer_pointer(),
            "readonly": REFUSED_ONCE,
        },
        "tvm_ffi.from_dlpack": {
            "module": "tvm_ffi",
            "protocol": "dlpack",
            "take": lambda module, o: module.from_dlpack(o),
            "values": lambda t: np.from_dlpack(t).tolist(),
            "address": lambda t: t.data_ptr(),
            "readonly": REFUSED,
        },
        "cuda.core.StridedMemoryView": {
            "module": "cuda.core",
            "protocol": "dlpack",
            "take": lambda module, o: _view(module).from_dlpack(o, stream_ptr=-1),
            "values": lambda v: list(ctypes.string_at(v.ptr, v.shape[0])),
            "address": lambda v: v.ptr,
            "readonly": KEPT,
            "writable": lambda v: not v.readonly,
        },
        "pyarrow.array of __arrow_array__": _arrow(protocol="arrow_array", take=lambda pa, o: pa.array(o)),
        "pyarrow.array of a device array": _arrow(protocol="arrow_c_device_array", take=lambda pa, o: pa.array(o)),
        "pyarrow.array of an array": _arrow(protocol="arrow_c_array", take=lambda pa, o: pa.array(o)),
        "pyarrow.Array.from_dlpack": _arrow(protocol="dlpack", take=lambda pa, o: pa.Array.from_dlpack(o)),
        "pyarrow.py_buffer": {
            "module": "pyarrow",
            "protocol": "buffer",
            "take": lambda pa, o: pa.py_buffer(o),
            "values": lambda b: list(b.to_pybytes()),
            "address": lambda b: b.address,
            "readonly": KEPT,
            "writable": lambda b: b.is_mutable,
        },
        "nanoarrow.c_array": {
            "module": "nanoarrow",
            "protocol": "arrow_c_array",
            "take": lambda na, o: na.c_array(o),
            "values": lambda a: list(memoryview(a.view().buffer(1))[: a.length]),
            "address": lambda a: np.frombuffer(a.view().buffer(1), np.uint8).ctypes.data,
            "readonly": ALWAYS,
        },
        "nanoarrow.device.c_device_array": {
            "module": "nanoarrow.device",
            "protocol": "arrow_c_device_array",
            "take": lambda module, o: module.c_device_array(o),
            "values": lambda a: list(memoryview(a.view().buffer(1))),
            "address": lambda a: np.frombuffer(a.view().buffer(1), np.uint8).ctypes.data,
            "readonly": ALWAYS,
        },
        "nanoarrow.c_buffer of a capsule": {
            "module": "nanoarrow",
            "protocol": "dlpack",
            "take": lambda na, o: na.c_buffer(o),
            "values": list,
            "address": lambda b: np.frombuffer(b, np.uint8).ctypes.data,
            "readonly": REFUSED,
        },
        "nanoarrow.c_buffer of a buffer": {
            "module": "nanoarrow",
            "protocol": "buffer",
            "take": lambda na, o: na.c_buffer(o),
            "values": list,
            "address": lambda b: np.frombuffer(b, np.uint8).ctypes.data,
            "readonly": ALWAYS,
        },
        "polars.Series": _series(protocol="arrow_c_array"),
        "arro3.core.Array": {
            "module": "arro3.core",
            "protocol": "arrow_c_array",
            "take": lambda module, o: module.Array(o),
            "values": lambda a: a.to_numpy().tolist(),
            "address": _arro3_address,
            "readonly": ALWAYS,
        },
        "arro3.core.Array.from_buffer": {
            "module": "arro3.core",
            "protocol": "buffer",
            "take": lambda module, o: module.Array.from_buffer(o),
            "values": lambda a: a.to_numpy().tolist(),
            "address": _arro3_address,
            "readonly": ALWAYS,
        },
        "duckdb of pyarrow": {
            "module": "duckdb",
            "protocol": "arrow_c_array",
            "take": _duckdb,
            "values": list,
            "address": None,
            "readonly": ALWAYS,
        },
    }.items()
}


def peer(name: str) -> Any:
    """Return a consumer's library, or skip."""
    if name == "duckdb":
        pytest.importorskip("pyarrow")
    if name == "cuda.core":
        pytest.importorskip("cuda.bindings")
        pytest.importorskip("cuda.core.utils")
    return pytest.importorskip(name)


def offer(buffer: Buffer, protocol: str) -> Any:
    """Return the buffer with one protocol alone; before Python 3.12 a class cannot export a buffer, its view can."""
    if protocol == "buffer" and sys.version_info < (3, 12):
        return buffer.memoryview()
    return only(buffer, protocol)


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if consumer.module in {"numpy", "builtins"} else pytest.mark.peers)
        for name, consumer in CONSUMERS.items()
    ]
)
def consumer(request: pytest.FixtureRequest) -> tuple[Any, Consumer]:
    found = CONSUMERS[request.param]
    return peer(found.module), found


def collect(how: Consumer) -> None:
    """Let JAX return what it dropped, which it does late; with any other library the owner is returned at once."""
    if how.module.startswith("jax"):
        gc.collect()


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
class TestEveryConsumer:
    def test_values_at_the_same_address(self, consumer: tuple[Any, Consumer]) -> None:
        library, how = consumer
        buffer, _ = lend()
        address = buffer.ptr
        taken = how.take(library, offer(buffer, how.protocol))
        del buffer
        collect(how)
        assert how.values(taken) == list(CONTENT)
        if how.address is not None:
            assert how.address(taken) == address

    def test_the_owner_is_returned_once_and_not_before(self, consumer: tuple[Any, Consumer]) -> None:
        library, how = consumer
        buffer, returned = lend()
        taken = how.take(library, offer(buffer, how.protocol))
        del buffer
        collect(how)
        assert returned == ([] if how.address is not None else [1]), "a copy holds nothing, a view holds the owner"
        assert how.values(taken) == list(CONTENT)
        del taken
        collect(how)
        assert returned == [1]

    def test_taken_twice_and_dropped_in_both_orders(self, consumer: tuple[Any, Consumer]) -> None:
        library, how = consumer
        for last in (0, 1):
            buffer, returned = lend()
            taken = [how.take(library, offer(buffer, how.protocol)) for _ in range(2)]
            del buffer
            del taken[1 - last]
            collect(how)
            assert how.values(taken[0]) == list(CONTENT)
            del taken
            collect(how)
            assert returned == [1]

    def test_read_only(self, consumer: tuple[Any, Consumer], request: pytest.FixtureRequest) -> None:
        library, how = consumer
        if OLD and how.protocol == "dlpack":
            request.node.add_marker(BEFORE_21)
        for readonly in (False, True):
            buffer, returned = lend(readonly=readonly)
            if readonly and how.readonly == REFUSED:
                with pytest.raises(REFUSAL):
                    how.take(library, offer(buffer, how.protocol))
            elif readonly and how.readonly == REFUSED_ONCE:
                with contextlib.suppress(*REFUSAL):
                    values = how.values(how.take(library, offer(buffer, how.protocol)))  # an assert keeps its parts
                    assert values == list(CONTENT)
            else:
                taken = how.take(library, offer(buffer, how.protocol))
                assert how.values(taken) == list(CONTENT)
                if how.readonly == KEPT:
                    assert how.writable(taken) is not readonly
                elif how.readonly == LOST:  # the library's own, and why `copy=True` is there
                    taken[0] = 77
                    assert ctypes.string_at(buffer.ptr, 1) == bytes([77])
                del taken
            del buffer
            collect(how)
            assert returned == [1]

    def test_nothing(self, consumer: tuple[Any, Consumer]) -> None:
        library, how = consumer
        if how is CONSUMERS["torch.frombuffer"]:
            pytest.skip("torch.frombuffer refuses every empty buffer")
        buffer, returned = lend(b"")
        taken = how.take(library, offer(buffer, how.protocol))
        assert how.values(taken) == []
        del buffer, taken
        collect(how)
        assert returned == [1]

    def test_the_buffer_itself(self, consumer: tuple[Any, Consumer], request: pytest.FixtureRequest) -> None:
        library, how = consumer
        if OLD and how.protocol == "dlpack":
            request.node.add_marker(BEFORE_21)
        if how.protocol == "buffer" and sys.version_info < (3, 12) and how.module != "nanoarrow":
            pytest.skip("a class cannot export a buffer before Python 3.12")
        buffer, returned = lend()
        address = buffer.ptr
        taken = how.take(library, buffer)
        del buffer
        assert how.values(taken) == list(CONTENT)
        if how.address is not None:
            assert how.address(taken) == address
            assert not returned
        del taken
        collect(how)
        assert returned == [1]


WRITABLE = 1  # PyBUF_WRITABLE


def test_a_writable_view_of_read_only_memory_is_refused() -> None:
    buffer, returned = lend(readonly=True)
    assert buffer.__buffer__(0).readonly
    with pytest.raises(BufferError, match="read-only"):
        buffer.__buffer__(WRITABLE)
    if sys.version_info >= (3, 12):
        with pytest.raises((BufferError, TypeError), match=r"read-(only|write)|not writable"):
            io.BytesIO(CONTENT).readinto(only(buffer, "buffer"))
    writable, _ = lend()
    assert not writable.__buffer__(WRITABLE).readonly
    del buffer
    assert returned == [1]


class Once:
    """A producer that gives the same capsule each time, as none should."""

    def __init__(self, capsule: object, device: tuple[int, int] = (1, 0)) -> None:
        self.capsule = capsule
        self.device = device

    def __dlpack__(self, **_: Any) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


LEGACY, VERSIONED = None, (1, 0)
READS = {  # what each asks for; some read the other struct as well
    "numpy.from_dlpack": [LEGACY, VERSIONED],
    "torch.from_dlpack": [LEGACY, VERSIONED],
    "cuda.core.StridedMemoryView": [LEGACY, VERSIONED],
    "jax.dlpack.from_dlpack": [LEGACY],
    "tvm_ffi.from_dlpack": [LEGACY],
    "pyarrow.Array.from_dlpack": [VERSIONED],
}


@pytest.mark.parametrize(
    ("name", "max_version"),
    [
        pytest.param(name, version, marks=() if name.startswith("numpy") else pytest.mark.peers)
        for name, versions in READS.items()
        for version in versions
        if not (OLD and version)
    ],
)
def test_a_capsule_is_consumed_once(name: str, max_version: tuple[int, int] | None) -> None:
    how = CONSUMERS[name]
    library, take = peer(how.module), how.take
    buffer, returned = lend()
    options = {} if max_version is None else {"max_version": max_version}
    producer = Once(buffer.__dlpack__(**options))
    del buffer
    taken = take(library, producer)
    with pytest.raises(Exception) as refused:
        take(library, producer)
    assert not isinstance(refused.value, SystemError)
    del refused
    assert not returned
    del producer
    assert not returned
    del taken
    collect(how)
    assert returned == [1]


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (99, 3)])
def test_a_dropped_capsule_returns_the_owner(device: tuple[int, int]) -> None:
    buffer, returned = lend(device=device)
    capsule = buffer.__dlpack__()
    del buffer
    assert not returned
    del capsule
    assert returned == [1]


def test_many_threads_take_the_first_capsules_of_one_buffer() -> None:
    for _ in range(20):
        buffer, returned = lend()
        start = threading.Barrier(4)
        taken: list[Any] = []

        def take(buffer: Buffer = buffer, start: threading.Barrier = start, taken: list[Any] = taken) -> None:
            start.wait()
            taken.extend(np.from_dlpack(only(buffer, "dlpack")) for _ in range(5))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [array.ctypes.data for array in taken] == [buffer.ptr] * 20
        del buffer, take, threads, thread
        assert not returned
        taken.clear()
        assert returned == [1]


@pytest.mark.peers
class TestCupy:
    """CUDA memory in CuPy without a driver: it reads the struct, and touches no memory."""

    @pytest.mark.parametrize("ordinal", [0, 1, 5])
    @pytest.mark.parametrize("max_version", [None, (1, 0)])
    def test_address_and_device(self, ordinal: int, max_version: tuple[int, int] | None) -> None:
        cupy: Any = pytest.importorskip("cupy")
        buffer, returned = lend(device=(2, ordinal))
        address = buffer.ptr
        taken = cupy.from_dlpack(buffer.__dlpack__(max_version=max_version))
        assert (taken.data.ptr, taken.shape, taken.dtype, taken.device.id) == (address, (64,), "uint8", ordinal)
        part = taken[8:16]
        del buffer, taken
        assert not returned
        assert part.data.ptr == address + 8
        del part
        assert returned == [1]

    @pytest.mark.parametrize("device", [(3, 0), (10, 0), (99, 3)])
    def test_a_refused_device_returns_the_owner_once(self, device: tuple[int, int]) -> None:
        cupy: Any = pytest.importorskip("cupy")
        buffer, returned = lend(device=device)
        capsule = buffer.__dlpack__(max_version=(1, 0))
        del buffer
        with pytest.raises(Exception) as refused:
            cupy.from_dlpack(capsule)
        assert not isinstance(refused.value, SystemError)
        del capsule, refused
        assert returned == [1]

    def test_nothing(self) -> None:
        cupy: Any = pytest.importorskip("cupy")
        buffer, returned = lend(b"", device=(2, 0))
        taken = cupy.from_dlpack(buffer.__dlpack__(max_version=(1, 0)))
        assert taken.shape == (0,)
        del buffer, taken
        assert returned == [1]


@pytest.mark.peers
class TestStridedMemoryView:
    """cuda.core without a driver: the struct of any device is read, none of its memory is."""

    @pytest.mark.parametrize("device", [(2, 1), (3, 0), (13, 0)])
    @pytest.mark.parametrize("readonly", [False, True])
    def test_device_and_access(self, device: tuple[int, int], *, readonly: bool) -> None:
        library = peer("cuda.core")
        buffer, returned = lend(device=device, readonly=readonly)
        view = _view(library).from_dlpack(only(buffer, "dlpack"), stream_ptr=-1)
        assert (view.ptr, view.shape, view.readonly) == (buffer.ptr, (64,), readonly)
        assert view.is_device_accessible
        del buffer, view
        assert returned == [1]


def lent_by(owner: object) -> list[tuple[str, int, int, int]]:
    return sorted((e.kind, e.ptr, e.bufsize, e.exports) for e in live_exports() if e.owner is owner)


TAKERS: dict[str, Callable[[Buffer], Any]] = {
    "capsule": lambda b: b.__dlpack__(),
    "versioned capsule": lambda b: b.__dlpack__(max_version=(1, 0)),
    "numpy": np.from_dlpack,
    "torch": lambda b: peer("torch").from_dlpack(b),
}


@pytest.mark.skipif(OLD, reason="the export is NumPy's, which knows no max_version before 2.1")
class TestLiveExports:
    @pytest.mark.parametrize(
        "taker", [pytest.param(name, marks=pytest.mark.peers if name == "torch" else ()) for name in TAKERS]
    )
    @pytest.mark.parametrize("device", [(1, 0), (3, 0)])
    def test_counts_while_the_buffer_lives(self, taker: str, device: tuple[int, int]) -> None:
        if device != (1, 0) and "capsule" not in taker:
            device = (1, 0)
        buffer, _ = lend(device=device)
        owner, at = buffer.owner, buffer.ptr
        take = TAKERS[taker]
        assert lent_by(owner) == []
        taken = []
        for count in (1, 2, 3):
            taken.append(take(buffer))
            assert lent_by(owner) == [("dlpack", at, 64, count)]
        for count in (2, 1):
            taken.pop()
            assert lent_by(owner) == [("dlpack", at, 64, count)]
        taken.pop()
        assert lent_by(owner) == []

    @pytest.mark.parametrize(
        "taker", [pytest.param(name, marks=pytest.mark.peers if name == "torch" else ()) for name in TAKERS]
    )
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_counts_when_the_buffer_is_gone(self, taker: str, count: int) -> None:
        buffer, _ = lend()
        owner, at = buffer.owner, buffer.ptr
        taken = [TAKERS[taker](buffer) for _ in range(count)]
        del buffer
        assert lent_by(owner) == [("dlpack", at, 64, count)]
        del taken

    def test_the_device_is_told(self) -> None:
        buffer, _ = lend(device=(2, 3))
        capsules = [buffer.__dlpack__() for _ in range(2)]
        (found,) = [each for each in live_exports() if each.owner is buffer.owner]
        assert (found.device, found.exports, found.bufsize) == ((2, 3), 2, 64)
        del capsules

    def test_views(self) -> None:
        buffer, _ = lend()
        owner, at = buffer.owner, buffer.ptr
        views = [buffer.memoryview(), np.asarray(buffer.__array__())]
        assert lent_by(owner) == [("view", at, -1, 1)] * 2
        views.pop()
        assert lent_by(owner) == [("view", at, -1, 1)]
        views.pop()
        assert lent_by(owner) == []

    @pytest.mark.peers
    def test_arrow(self) -> None:
        pa: Any = pytest.importorskip("pyarrow")
        buffer, _ = lend()
        owner, at = buffer.owner, buffer.ptr
        taken = [pa.array(buffer), pa.array(only(buffer, "arrow_c_array"))]
        del buffer
        assert lent_by(owner) == [("arrow", at, 64, 1)] * 2
        taken.pop()
        assert lent_by(owner) == [("arrow", at, 64, 1)]
        taken.pop()
        assert lent_by(owner) == []

    def test_a_copy_is_not_lent(self) -> None:
        buffer, _ = lend()
        copy = buffer.__dlpack__(max_version=(1, 0), copy=True)
        assert lent_by(buffer.owner) == []
        del copy

    def test_it_keeps_nothing_alive_but_by_its_list(self) -> None:
        buffer, returned = lend()
        array = np.from_dlpack(buffer)
        assert live_exports()
        del buffer, array
        assert returned == [1]
        buffer, returned = lend()
        array = np.from_dlpack(buffer)
        listed = [each for each in live_exports() if each.owner is buffer.owner]
        assert len(listed) == 1
        del buffer, array
        assert not returned, "the list holds the owner"
        del listed
        assert returned == [1]

    def test_an_imported_buffer_is_listed_with_its_owner(self) -> None:
        source = np.arange(8)
        buffer = as_buffer(source)
        assert lent_by(source) == []
        lent = np.from_dlpack(buffer)
        assert lent_by(source) == [("dlpack", source.ctypes.data, 64, 1)]
        del lent

    @pytest.mark.parametrize("shape", [(), (8,), (2, 4), (1, 2, 2, 2)])
    @pytest.mark.parametrize("writeable", [True, False])
    def test_an_ndarray_is_the_owner_of_what_is_lent_of_it(self, shape: tuple[int, ...], *, writeable: bool) -> None:
        source = np.empty(shape)
        source.flags.writeable = writeable
        count, at = source.nbytes, source.ctypes.data
        buffer = as_buffer(source)
        lent = [buffer.__dlpack__(max_version=(1, 0)) for _ in range(3)]
        copy = buffer.__dlpack__(max_version=(1, 0), copy=True)
        array = np.from_dlpack(buffer)
        assert array.shape == (count,)
        assert array.flags.writeable == writeable
        held = [buffer]
        del buffer
        for _ in range(2):
            assert lent_by(source) == [("dlpack", at, count, 4)]
            assert lent_by(None) == [], "a copy is not lent"
            held.clear()  # the exports stay
        returned = weakref.ref(source)
        del source, lent, array
        assert returned() is None
        del copy

    def test_a_loan_that_another_thread_is_making(self) -> None:
        buffer, _ = lend()
        loan = ByteLoan.from_address(buffer.ptr)  # as `bytes_exporter` does, before it has made the array
        assert lent_by(buffer.owner) == []
        loan.owner = buffer.owner
        assert lent_by(buffer.owner) == []

    def test_a_loan_that_somebody_holds_after_its_array(self) -> None:
        buffer, _ = lend()
        owner = buffer.owner
        buffer.__dlpack__()
        # A profiler does this; so does `live_exports` itself, while other threads drop what they exported.
        held = [each for each in gc.get_objects() if type(each) is ByteLoan and each.owner is owner]
        gone = id(buffer.__dlpack__.__self__)
        del buffer
        arrays = [np.empty(1) for _ in range(1000)]
        another = [array for array in arrays if id(array) == gone] * 5  # lies where the array was
        assert another, "no array was made in the same place: the test shows nothing"
        assert lent_by(owner) == []
        del held
