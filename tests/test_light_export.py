"""Exports from a process without NumPy: structs of our own, read by a consumer written here and by real ones.

Each test of a process starts one in which NumPy cannot be found. What the fallback cannot promise is shown as it is.
"""

import gc
import math
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Buffer, as_buffer
from buflend.shared import CPU, Device, dlpack_light
from buflend.shared.dlpack import Tensor
from tests.capsules import IS_COPIED, READ_ONLY, VERSIONED, consume, name_of, read_struct

Run = Callable[..., str]
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
HERE = str(Path(__file__).parent)

PRELUDE = f"""
import sys

class NoNumpy:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "numpy":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NoNumpy())
sys.path.insert(0, {HERE!r})

import ctypes, gc
from capsules import consume, name_of, read_struct, struct_of
from buflend.maximal import Buffer, as_buffer, as_memoryview, live_exports

class Owner:
    def __init__(self):
        self.memory = (ctypes.c_ubyte * 64)(*range(64))
        self.ptr = ctypes.addressof(self.memory)
    def __del__(self, freed=[], say=print):
        say("freed")

def lend(**options):
    owner = Owner()
    return Buffer(owner.ptr, 64, owner=owner, **options)

def live():
    from buflend.shared import dlpack_light
    return len(dlpack_light._live)

def arrow_live():
    from buflend.shared import arrow_export
    return len(arrow_export._live)

class Arrow(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("buffers", "children", "dictionary", "release", "private_data")]
"""


@pytest.fixture
def light(run_python: Run) -> Run:
    """Return a function that runs code in a process without NumPy and returns what it printed."""

    def run(code: str, *, site: bool = False) -> str:
        return run_python(PRELUDE + code + "\nassert 'numpy' not in sys.modules", site=site)

    return run


class TestDLPack:
    @pytest.mark.parametrize(
        ("options", "struct"),
        [
            ("", {"name": b"dltensor"}),
            ("max_version=None", {"name": b"dltensor"}),
            ("max_version=(0, 8)", {"name": b"dltensor"}),
            ("max_version=(1, 0)", {"name": VERSIONED, "flags": 0}),
            ("max_version=(1, 3), stream=None, copy=False", {"name": VERSIONED, "flags": 0}),
            ("max_version=(2, 0), dl_device=(1, 0), stream=-1", {"name": VERSIONED, "flags": 0}),
        ],
    )
    def test_struct_consumer_and_return(self, light: Run, options: str, struct: dict[str, Any]) -> None:
        printed = light(
            f"""
buffer = lend()
capsule = buffer.__dlpack__({options})
said = read_struct(capsule) | {{"name": name_of(capsule), "at": struct_of(capsule)}}
said["data"] -= buffer.ptr
assert said.pop("deleter")
print(said)
release = consume(capsule)
del capsule, buffer
print(live())
release()
print(live())
"""
        )
        said, *rest = printed.splitlines()
        found = eval(said)  # noqa: S307 - a dict that the code above prints
        version = found.pop("version", None)
        assert (version is None) is (struct["name"] != VERSIONED)
        assert version is None or (version[0] == 1 and 0 <= version[1] <= 3)
        assert found.pop("at") % 8 == 0
        expected = {"data": 0, "device": (1, 0), "dtype": (1, 8, 1), "shape": (64,), "strides": (1,), "byte_offset": 0}
        assert found == expected | struct
        assert rest == ["1", "freed", "0"]

    def test_access(self, light: Run) -> None:
        printed = light(
            """
buffer = lend(readonly=True)
try:
    buffer.__dlpack__()
except BufferError as error:
    print("max_version" in str(error))
print(read_struct(buffer.__dlpack__(max_version=(1, 0)))["flags"])
del buffer
"""
        )
        assert printed.split() == ["True", str(READ_ONLY), "freed"]

    def test_copy(self, light: Run) -> None:
        printed = light(
            """
for readonly in (False, True):
    buffer = lend(readonly=readonly)
    capsule = buffer.__dlpack__(max_version=(1, 0), copy=True)
    said = read_struct(capsule)
    print(said["flags"], said["data"] != buffer.ptr, said["device"], live())
    del buffer
    print(ctypes.string_at(said["data"], 64) == bytes(range(64)))
    release = consume(capsule)
    del capsule
    release()
    print(live())
buffer = lend(readonly=True)
print(name_of(buffer.__dlpack__(copy=True)))
del buffer
"""
        )
        one = [f"{IS_COPIED} True (1, 0) 1", "freed", "True", "0"]
        assert printed.splitlines() == [*one, *one, "b'dltensor'", "freed"]

    def test_what_is_refused(self, light: Run) -> None:
        printed = light(
            """
buffer = lend()
for options in ({"stream": 1}, {"stream": 0}, {"dl_device": (2, 0)}, {"dl_device": "cpu"}, {"unknown": 1}):
    try:
        buffer.__dlpack__(max_version=(1, 0), **options)
    except Exception as error:
        print(type(error).__name__)
print(live())
del buffer
"""
        )
        assert printed.split() == ["ValueError", "ValueError", "BufferError", "TypeError", "TypeError", "0", "freed"]

    def test_memory_of_a_device_is_described_and_not_read(self, light: Run) -> None:
        printed = light(
            """
buffer = Buffer(0x10, 64, owner=sys, device=(2, 3))
said = read_struct(buffer.__dlpack__(max_version=(1, 0), stream=7))
print(said["data"], said["device"], said["shape"])
"""
        )
        assert printed == "16 (2, 3) (64,)\n"

    def test_a_copy_to_the_host_without_a_runtime_is_a_device_error(self, light: Run) -> None:
        printed = light(
            """
for device in ((2, 3), (14, 0)):
    try:
        Buffer(0x10, 64, owner=sys, device=device).__dlpack__(max_version=(1, 0), dl_device=(1, 0))
    except BufferError as error:
        print(type(error).__name__)
"""
        )
        assert printed.split() == ["DeviceError", "DeviceError"]

    def test_nothing(self, light: Run) -> None:
        printed = light(
            """
for pointer in (0, 16):
    said = read_struct(Buffer(pointer, 0, owner=sys).__dlpack__(max_version=(1, 0)))
    print(said["data"], said["shape"])
"""
        )
        assert printed == "0 (0,)\n" * 2

    def test_capsules_that_nobody_takes_are_returned(self, light: Run) -> None:
        printed = light(
            """
buffer = lend()
held = [buffer.__dlpack__(max_version=version) for version in (None, (1, 0)) for _ in range(50)]
print(live(), len(live_exports()), {each.kind for each in live_exports()})
del buffer, held[1:]
print(live(), live_exports()[0].bufsize)
held.clear()
print(live(), live_exports())
"""
        )
        assert printed.splitlines() == ["100 100 {'dlpack'}", "1 64", "freed", "0 []"]

    def test_it_is_read_again_by_as_buffer(self, light: Run) -> None:
        printed = light(
            """
class Only:
    def __init__(self, buffer):
        self.__dlpack__, self.__dlpack_device__ = buffer.__dlpack__, buffer.__dlpack_device__
buffer = lend(readonly=True)
again = as_buffer(Only(buffer))
print(again.ptr == buffer.ptr, again.readonly)
del buffer
print(as_memoryview(again)[5], live())
del again
print(live())
"""
        )
        assert printed.splitlines() == ["True True", "5 1", "freed", "0"]

    def test_threads(self, light: Run) -> None:
        printed = light(
            """
import threading
buffer = lend()
shelf, start = [], threading.Barrier(4)
def work(seed):
    start.wait()
    for i in range(1000):
        capsule = buffer.__dlpack__(max_version=(1, 0) if i & seed else None)
        shelf.append(consume(capsule) if i % 3 else lambda capsule=capsule: None)
        del capsule
        try:
            shelf.pop((7 * i + seed) % 20)()
        except IndexError:
            pass
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(live() == len(shelf) > 0)
while shelf:
    shelf.pop()()
print(live())
del buffer, each, threads, work
"""
        )
        assert printed.split() == ["True", "0", "freed"]

    @pytest.mark.parametrize("method", ["__dlpack__()", "__arrow_c_schema__()", "__arrow_c_array__()"])
    def test_libraries_that_are_blocked(self, run_python: Run, method: str) -> None:
        code = """
sys.modules["numpy"] = sys.modules["pyarrow"] = None
from array import array
from buflend.maximal import Buffer
memory = array("q", [1])
buffer = Buffer(memory.buffer_info()[0], 8, owner=memory)
"""
        assert "object" in run_python(f"{code}\nprint(buffer.{method})")


class TestArrow:
    def test_structs_consumer_and_return(self, light: Run) -> None:
        printed = light(
            """
from buflend.shared.arrow_export import flush
buffer = lend(readonly=True)
schema, array = buffer.__arrow_c_array__()
print(name_of(schema), name_of(array))
said, kind = Arrow.from_address(struct_of(array)), struct_of(schema)
print(said.length, said.null_count, said.offset, said.n_buffers, said.n_children, said.dictionary)
print(ctypes.string_at(ctypes.c_void_p.from_address(kind).value), ctypes.c_int64.from_address(kind + 24).value)
validity, data = (ctypes.c_uint64 * 2).from_address(said.buffers)
print(validity, data == buffer.ptr, arrow_live())
moved = Arrow.from_buffer_copy(said)
said.release = None
del schema, array, said, buffer
flush()
print(arrow_live())
release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(moved.release)
release(ctypes.addressof(moved))
print(moved.release, arrow_live())
"""
        )
        assert printed.splitlines() == [
            "b'arrow_schema' b'arrow_array'",
            "64 0 0 2 0 None",
            "b'C' 0",
            "0 True 2",
            "1",
            "freed",
            "None 0",
        ]

    def test_capsules_that_nobody_takes_are_returned_when_the_parked_are_dropped(self, light: Run) -> None:
        printed = light(
            """
from buflend.shared.arrow_export import flush
buffer = lend()
for _ in range(100):
    buffer.__arrow_c_array__()
# 8 that were parked since the last collection, and 8 before it.
print(0 < arrow_live() <= 16, len(live_exports()) == arrow_live() // 2)
del buffer
print("kept")
flush()
print(arrow_live(), live_exports())
buffer = lend()
buffer.__arrow_c_device_array__()
del buffer
gc.collect()
gc.collect()
print(arrow_live())
"""
        )
        assert printed.splitlines() == ["True True", "kept", "freed", "0 []", "freed", "0"]

    def test_a_device_array(self, light: Run) -> None:
        printed = light(
            """
for buffer in (lend(), Buffer(0x10, 64, owner=sys, device=(2, 3))):
    _, array = buffer.__arrow_c_device_array__()
    at = struct_of(array)
    buffers = (ctypes.c_uint64 * 2).from_address(Arrow.from_address(at).buffers)
    place = ctypes.c_int64.from_address(at + 80).value, ctypes.c_int32.from_address(at + 88).value
    print(name_of(array), buffers[1] == buffer.ptr, place, ctypes.c_uint64.from_address(at + 96).value)
del buffer, array, _
gc.collect()
"""
        )
        assert printed.splitlines() == [
            "b'arrow_device_array' True (-1, 1) 0",
            "b'arrow_device_array' True (3, 2) 0",
            "freed",
        ]

    def test_a_second_release_does_nothing(self, light: Run) -> None:
        printed = light(
            """
buffer = lend()
_, array = buffer.__arrow_c_array__()
at = struct_of(array)
pointer = Arrow.from_address(at).release
release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(pointer)
copy = Arrow.from_buffer_copy(Arrow.from_address(at))
release(at)
release(at)
release(ctypes.addressof(copy))
del buffer
print(Arrow.from_address(at).release, Arrow.from_address(at).length)
"""
        )
        assert printed.splitlines() == ["freed", "None 64"]


class TestLimits:
    """What the docstring of the fallback says that it cannot promise, and what the export through NumPy can."""

    @staticmethod
    def lent(light: bool) -> tuple[Any, Any]:
        class Owner:
            def __init__(self) -> None:
                self.memory = np.arange(8, dtype="u1")

        owner = Owner()
        tensor = Tensor(owner.memory.ctypes.data, (8,), (1,))
        exported: Any = Buffer(tensor.ptr, 8, owner=owner).__dlpack__
        if light:
            exported = dlpack_light.exporter(owner, tensor)

        class Shim:
            def __dlpack__(self, **options: Any) -> object:
                return exported(**options)

            def __dlpack_device__(self) -> tuple[int, int]:
                return 1, 0

        return Shim(), weakref.ref(owner)

    # Before NumPy 2.1 the fallback is all there is.
    @pytest.mark.parametrize(
        ("light", "error"),
        [(True, SystemError), (False, TypeError if NUMPY >= (2, 1) else SystemError)],
    )
    def test_an_exception_that_is_pending_when_the_export_is_dropped(self, light: bool, error: type[Exception]) -> None:
        shim, died = self.lent(light)
        with pytest.raises(error):
            int(shim.__dlpack__())  # refuses the capsule and drops it
        del shim
        gc.collect()  # a class is a cycle
        assert died() is None, "the owner is returned all the same"

    def test_what_is_lent_at_exit_is_never_returned(self, light: Run) -> None:
        printed = light(
            """
buffer = lend()
sys.held = consume(buffer.__dlpack__(max_version=(1, 0)))
del buffer
print("end")
"""
        )
        assert printed.split() == ["end"]

    def test_at_exit_the_deleters_do_nothing(self, light: Run) -> None:
        """Handlers run in the reverse order of their registration, so this one comes after the library's."""
        printed = light(
            """
import atexit
@atexit.register
def look():
    nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
    print([deleter.value == nothing for deleter in deleters])
    for release in releases:
        release()
buffer = lend()
deleters, releases = [], []
for options, at in (({}, 56), ({"max_version": (1, 0)}, 16)):
    capsule = buffer.__dlpack__(**options)
    deleters.append(ctypes.c_uint64.from_address(struct_of(capsule) + at))
    consume(capsule)
    address = struct_of(capsule)
    releases.append(lambda a=address, d=deleters[-1]: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(d.value)(a))
del capsule, buffer
"""
        )
        assert printed == "[True, True]\n"


# How an export may still be held when the interpreter ends.
EXITS = {
    "a capsule in a global": "capsule = export()",
    "a capsule on sys": "sys.held = export()",
    "a capsule on builtins": "import builtins; builtins.held = export()",
    "a capsule in a cycle": "cycle = [export()]; cycle.append(cycle)",
    "a used capsule": "sys.held = use(export())",
    "a consumer that returns it late": """
class Late:
    def __init__(self, call):
        self.call = call
    def __del__(self):
        self.call()
sys.held = Late(use(export()))
""",
    "a capsule that is dropped late, when other callbacks have the places of those that were freed": """
import os
class Late:
    def __init__(self, capsule, kind=ctypes.PYFUNCTYPE(None, ctypes.c_void_p)):
        self.capsule, self.kind, self.leave = capsule, kind, os._exit
    def __del__(self):
        taken = [self.kind(lambda _, leave=self.leave: leave(3)) for _ in range(300)]
        self.capsule = None
sys.held = Late(export())
""",
    "a daemon thread": """
import threading, time
def run():
    held = export()
    started.set()
    time.sleep(60)
started = threading.Event()
threading.Thread(target=run, daemon=True).start()
started.wait()
""",
    "a fork": """
import os
held = export(), use(export())
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""",
}


class TestExit:
    """The fixture fails where the process does not end with status 0."""

    @pytest.mark.parametrize("name", EXITS)
    @pytest.mark.parametrize("protocol", ["legacy", "versioned", "arrow"])
    def test_with_an_export_alive(self, light: Run, name: str, protocol: str) -> None:
        export = {
            "legacy": "buffer.__dlpack__()",
            "versioned": "buffer.__dlpack__(max_version=(1, 0))",
            "arrow": "buffer.__arrow_c_array__()[1]",
        }[protocol]
        use = {
            "arrow": """
def use(capsule):
    said = Arrow.from_address(struct_of(capsule))
    moved, said.release = Arrow.from_buffer_copy(said), None
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(moved.release)
    return lambda: release(ctypes.addressof(moved))
""",
        }.get(
            protocol,
            """
def use(capsule):
    at, address = (16 if name_of(capsule) == b"dltensor_versioned" else 56), struct_of(capsule)
    consume(capsule)
    kind, read = ctypes.CFUNCTYPE(None, ctypes.c_void_p), ctypes.c_uint64.from_address
    return lambda: kind(read(address + at).value)(address)
""",
        )
        printed = light(f"buffer = lend()\n{use}\ndef export():\n    return {export}\n{EXITS[name]}\nprint('end')")
        assert "end" in printed.split()


@pytest.mark.peers
class TestConsumers:
    """Libraries that work without NumPy."""

    @pytest.mark.parametrize("library", ["torch", "tvm_ffi"])
    def test_by_dlpack(self, light: Run, library: str) -> None:
        pytest.importorskip(library)
        pointer = {"torch": "tensor.data_ptr()", "tvm_ffi": "as_buffer(tensor).ptr"}[library]
        printed = light(
            f"""
import os, warnings
warnings.simplefilter("ignore")
sys.stderr = open(os.devnull, "w")  # torch tells that NumPy is missing
import {library} as library
buffer = lend()
tensor = library.from_dlpack(buffer)
print({pointer} == buffer.ptr, live())
del buffer
print(as_memoryview(as_buffer(tensor))[5])
del tensor
print(live())
library.held = library.from_dlpack(lend())
""",
            site=True,
        )
        assert printed.splitlines() == ["True 1", "5", "freed", "0"]

    def test_nanoarrow(self, light: Run) -> None:
        pytest.importorskip("nanoarrow")
        printed = light(
            """
import nanoarrow as na
from buflend.shared.arrow_export import flush
buffer = lend(readonly=True)
array = na.c_array(buffer)
print(array.length, array.null_count, array.buffers[1] == buffer.ptr, na.Array(buffer).to_pylist() == list(range(64)))
del buffer
flush()
print("held")
del array
gc.collect()
print(arrow_live())
sys.held = na.c_array(lend())
""",
            site=True,
        )
        assert printed.splitlines()[:5] == ["64 0 True True", "held", "freed", "0"]

    def test_arro3(self, light: Run) -> None:
        pytest.importorskip("arro3.core")
        printed = light(
            """
from arro3.core import Array
from buflend.shared.arrow_export import flush
buffer = lend()
array = Array.from_arrow(buffer)
print(len(array), array.null_count, array.to_pylist() == list(range(64)), arrow_live())
del buffer
flush()
print("held")
del array
print(arrow_live())
sys.held = Array.from_arrow(lend())
""",
            site=True,
        )
        assert printed.splitlines()[:4] == ["64 0 True 2", "held", "freed", "0"]


@given(
    shape=st.lists(st.integers(0, 5), max_size=5).map(tuple),
    dtype=st.sampled_from(
        [(1, 8, 1), (2, 64, 1), (4, 16, 1), (0, 4, 1), (10, 8, 1), (1, 8, 3), (5, 128, 1), (6, 8, 1)]
    ),
    device=st.sampled_from([(1, 0), (2, 1), (14, 0), (99, 7)]),
    readonly=st.booleans(),
    wild=st.booleans(),
    version=st.sampled_from([None, (0, 8), (1, 0), (1, 3), (7, 7)]),
)
def test_any_tensor_is_described_as_it_is(
    *,
    shape: tuple[int, ...],
    dtype: tuple[int, int, int],
    device: tuple[int, int],
    readonly: bool,
    wild: bool,
    version: tuple[int, int] | None,
) -> None:
    class Owner:
        pass

    owner = Owner()
    died = weakref.ref(owner)
    strides = tuple((-3) ** i if wild else math.prod(shape[i + 1 :]) for i in range(len(shape)))
    tensor = Tensor(0x7F0000000000, shape, strides, dtype, Device(*device), readonly)
    export = dlpack_light.exporter(owner, tensor)
    before = len(dlpack_light._live)
    versioned = version is not None and version[0] >= 1
    if readonly and not versioned:
        with pytest.raises(BufferError):
            export(max_version=version)
        assert len(dlpack_light._live) == before
        return
    capsule = export(max_version=version)
    said = read_struct(capsule)
    assert name_of(capsule) == (VERSIONED if versioned else b"dltensor")
    assert said["data"] == (0 if 0 in shape else tensor.ptr)
    assert (said["shape"], said["strides"], said["dtype"], said["device"]) == (shape, strides, dtype, device)
    assert said["byte_offset"] == 0
    assert said["deleter"]
    if versioned:
        assert said["flags"] == (READ_ONLY if readonly else 0)
        assert said["version"][0] == 1
    del export, owner
    assert died() is not None
    assert len(dlpack_light._live) == before + 1
    if wild:
        release = consume(capsule)
        del capsule
        release()
    else:
        del capsule
    assert died() is None
    assert len(dlpack_light._live) == before


@pytest.mark.parametrize("shape", [(4,), (2, 8), (0, 3), ()])
@pytest.mark.parametrize("versioned", [True, False])
def test_what_the_fallback_exports_the_import_reads(shape: tuple[int, ...], versioned: bool) -> None:
    memory = np.arange(64, dtype="u1")
    strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    export = dlpack_light.exporter(memory, Tensor(memory.ctypes.data, shape, strides, (0, 32, 1), CPU))

    class Shim:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **options: Any) -> object:
            return export() if not versioned else export(**options)

    buffer = as_buffer(Shim())
    assert buffer.bufsize == 4 * math.prod(shape)
    assert buffer.ptr == memory.ctypes.data or not buffer.bufsize


def test_an_export_of_the_fallback_leaves_nothing_to_the_collector() -> None:
    memory = np.arange(12)
    export = dlpack_light.exporter(memory, Tensor(memory.ctypes.data, (3, 4), (4, 1), (0, 64, 1)))
    export()
    gc.collect()
    gc.disable()
    try:
        export()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_copies_of_the_fallback() -> None:
    memory = np.arange(16, dtype="u1")
    export = dlpack_light.exporter(memory, Tensor(memory.ctypes.data, (2, 2), (1, 2), (2, 32, 1), readonly=True))
    capsule = export(max_version=(1, 0), copy=True)
    said = read_struct(capsule)
    assert (said["flags"], said["shape"], said["strides"], said["dtype"]) == (IS_COPIED, (2, 2), (1, 2), (2, 32, 1))
    assert said["data"] != memory.ctypes.data
    strided = dlpack_light.exporter(memory, Tensor(memory.ctypes.data, (2,), (2,), (2, 32, 1)))
    with pytest.raises(BufferError, match="contiguous"):
        strided(copy=True)
