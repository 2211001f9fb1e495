"""Buffers of libraries, read as they are: arrays, tensors and Arrow buffers, each at its own address and kept."""

import gc
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Buffer, Native, as_buffer, as_memoryview, as_ndarray
from buflend.shared import CPU, STATIC, CopyRequiredError, ProducerError
from tests.capsules import refusal

NDARRAYS: dict[str, Callable[[], Any]] = {
    "int64": lambda: np.arange(6),
    "float16": lambda: np.arange(6, dtype="f2"),
    "longdouble": lambda: np.arange(3, dtype="g"),
    "complex": lambda: np.arange(3, dtype="c16"),
    "bool": lambda: np.ones(5, "?"),
    "other byte order": lambda: np.arange(6).astype(">i8"),
    "dates": lambda: np.array(["2020", "NaT"], "M8[s]"),
    "durations": lambda: np.arange(3).astype("m8[ns]"),
    "bytes": lambda: np.array([b"a", b"bcd"]),
    "text": lambda: np.array(["a", "bcd"]),
    "void": lambda: np.zeros(3, "V5"),
    "record": lambda: np.zeros(2, "i4,f8"),
    "no dimension": lambda: np.array(3.5),
    "nothing": lambda: np.zeros((0, 3)),
    "nothing, strided": lambda: np.zeros((4, 0, 3))[::2],
    "C order": lambda: np.arange(6).reshape(2, 3),
    "Fortran order": lambda: np.asfortranarray(np.arange(6).reshape(2, 3)),
    "transposed": lambda: np.arange(24).reshape(2, 3, 4).T,
    "slice": lambda: np.arange(10)[3:7],
    "unaligned": lambda: np.frombuffer(bytearray(17), "u1")[1:].view("i8"),
    "extents of one": lambda: np.arange(4)[None, :, None][:, ::1],
    "read-only": lambda: np.frombuffer(b"12345678", "i8"),
    "read-only in Fortran order": lambda: np.broadcast_to(np.asfortranarray(np.zeros((2, 3))), (2, 3)),
}


class TestNdarray:
    @pytest.mark.parametrize("name", NDARRAYS)
    def test_address_bytes_access_and_life(self, name: str) -> None:
        array = NDARRAYS[name]()
        buffer = as_buffer(array)
        assert (buffer.bufsize, buffer.device) == (array.nbytes, CPU)
        assert buffer.ptr == array.__array_interface__["data"][0] or not array.nbytes
        assert buffer.readonly is not array.flags.writeable
        assert buffer.owner is array
        assert buffer.native is Native.NUMPY
        assert as_ndarray(buffer).tobytes() == array.tobytes("A")
        assert as_ndarray(buffer).flags.writeable is (array.flags.writeable)
        died = weakref.ref(array)
        view = as_memoryview(buffer)
        del array, buffer
        assert died() is not None
        del view
        assert died() is None

    @pytest.mark.parametrize(
        "cut",
        [
            lambda a: a[::2],
            lambda a: a[::-1],
            lambda a: a.reshape(4, 6)[:, 1:],
            lambda a: a.reshape(4, 6)[1:, ::5],
            lambda a: np.broadcast_to(a, (2, 24)),
            lambda a: a.reshape(2, 3, 4).transpose(1, 0, 2)[:2],
            lambda a: a.view("i4,i4")["f1"],
        ],
        ids=["step", "backwards", "columns", "columns with a step", "broadcast", "part of an order", "field"],
    )
    def test_strided(self, cut: Callable[[Any], Any]) -> None:
        text = refusal(CopyRequiredError, cut(np.arange(24)))
        assert "strided" in text
        assert "copy" in text

    def test_python_objects(self) -> None:
        assert "Python objects" in refusal(TypeError, np.array([None, 1]))
        assert "Python objects" in refusal(TypeError, np.zeros(2, [("a", "i4"), ("b", "O")]))

    def test_strings_of_variable_width(self) -> None:
        if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
            pytest.skip("this NumPy has no StringDType")
        assert "Python objects" in refusal(TypeError, np.array(["a"], np.dtypes.StringDType()))

    def test_nothing_else_is_asked_of_an_array(self) -> None:
        class Array(np.ndarray):
            @property
            def __array_interface__(self) -> Any:
                raise AssertionError("asked")

            def __dlpack__(self, **options: Any) -> Any:  # type: ignore[override]
                raise AssertionError("asked")

        array = np.arange(4).view(Array)
        buffer = as_buffer(array)
        assert (buffer.bufsize, buffer.owner) == (32, array)

    def test_subclasses(self, tmp_path: Path) -> None:
        file = tmp_path / "map"
        file.write_bytes(bytes(range(16)))
        for mode, readonly in (("r", True), ("r+", False), ("c", False)):
            mapped: Any = np.memmap(file, "u1", mode=mode)
            buffer = as_buffer(mapped)
            assert (buffer.bufsize, buffer.readonly, buffer.native) == (16, readonly, Native.NUMPY)
            assert buffer.owner is mapped
            assert as_ndarray(buffer).tolist() == list(range(16))
        matrix = np.arange(4).reshape(2, 2).view(np.matrix)
        assert as_buffer(matrix).bufsize == 32
        record = np.zeros(2, "i4,f8").view(np.recarray)
        assert as_buffer(record).bufsize == 24

    def test_a_masked_array_is_two_buffers(self) -> None:
        masked: Any = np.ma.array([1, 2, 3], mask=[0, 1, 0])
        assert "mask" in refusal(TypeError, masked)
        assert as_buffer(masked.data).bufsize == 24
        assert as_buffer(masked.mask).bufsize == 3

    def test_an_array_is_read_after_it_changed(self) -> None:
        array = np.zeros(4)
        assert not as_buffer(array).readonly
        array.flags.writeable = False
        assert as_buffer(array).readonly
        array.flags.writeable = True
        array.resize(6, refcheck=False)
        assert as_buffer(array).bufsize == 48

    def test_a_class_is_not_kept(self) -> None:
        class Passing(np.ndarray):
            pass

        died = weakref.ref(Passing)
        as_buffer(np.zeros(3).view(Passing))
        del Passing
        gc.collect()
        assert died() is None


@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple),
    cut=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([-2, -1, 1, 1, 1, 2])), max_size=4),
    axes=st.randoms(use_true_random=False),
    dtype=st.sampled_from(["u1", "<i4", ">f8", "M8[D]", "U2"]),
)
def test_any_view_of_an_array_is_lent_or_needs_a_copy(shape: Any, cut: Any, axes: Any, dtype: str) -> None:
    array: Any = np.zeros(shape, dtype)
    order = list(range(array.ndim))
    axes.shuffle(order)
    array = array.transpose(order)[tuple(slice(*part) for part in cut[: array.ndim])]
    if array.size and not (array.flags.c_contiguous or array.flags.f_contiguous):
        refusal(CopyRequiredError, array)
    else:
        buffer = as_buffer(array)
        assert buffer.bufsize == array.nbytes
        assert not array.nbytes or buffer.ptr == array.__array_interface__["data"][0]


class TestEnum:
    def test_of_owners(self) -> None:
        array = np.arange(4)
        assert as_buffer(array).native is Native.NUMPY
        assert Buffer(array.ctypes.data, 32, owner=array).native is Native.NUMPY
        assert Buffer(array.ctypes.data, 32, owner=[array]).native is Native.NONE
        assert Buffer(0, 0, owner=STATIC).native is Native.NONE
        assert as_buffer(b"bytes").native is Native.NONE

    def test_members(self) -> None:
        assert [member.name for member in Native] == ["NONE", "NUMPY", "ARROW", "CUPY"]

    def test_a_library_that_was_never_imported_owns_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("pyarrow", "cupy", "torch"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        assert as_buffer(b"bytes").native is Native.NONE
        assert not {"cupy", "pyarrow", "torch"} & set(sys.modules)


@pytest.mark.peers
class TestArrow:
    @pytest.fixture(autouse=True)
    def _arrow(self) -> None:
        self.pa: Any = pytest.importorskip("pyarrow")

    @pytest.mark.parametrize("readonly", [True, False])
    def test_a_buffer(self, readonly: bool) -> None:
        memory = bytes(range(16)) if readonly else bytearray(range(16))
        theirs = self.pa.py_buffer(memory)
        buffer = as_buffer(theirs)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (theirs.address, 16, CPU)
        assert buffer.readonly is readonly
        assert buffer.owner is theirs
        assert buffer.native is Native.ARROW
        assert as_ndarray(buffer).tolist() == list(range(16))

    def test_parts_and_kinds_of_buffers(self) -> None:
        theirs = self.pa.py_buffer(bytes(range(16)))
        part = theirs.slice(3, 5)
        assert (as_buffer(part).ptr, as_buffer(part).bufsize) == (theirs.address + 3, 5)
        made = self.pa.allocate_buffer(32, resizable=True)
        assert (as_buffer(made).bufsize, as_buffer(made).readonly) == (32, False)
        assert as_buffer(self.pa.py_buffer(b"")).bufsize == 0
        assert as_buffer(made).native is Native.ARROW

    def test_the_memory_is_returned(self) -> None:
        before = self.pa.total_allocated_bytes()
        view = as_ndarray(self.pa.allocate_buffer(1 << 16))
        assert self.pa.total_allocated_bytes() >= before + (1 << 16)
        del view
        assert self.pa.total_allocated_bytes() == before

    def test_an_array_and_its_offset(self) -> None:
        array = self.pa.array([1, 2, 3, 4])
        before = as_buffer(array).ptr
        assert before == as_buffer(array).ptr == array.buffers()[1].address
        part = array[1:3]
        buffer = as_buffer(part)
        assert (buffer.ptr, buffer.bufsize, buffer.readonly) == (array.buffers()[1].address + 8, 16, True)
        del part, array
        assert as_ndarray(buffer, "i8").tolist() == [2, 3]

    REFUSED = pytest.mark.parametrize(
        ("values", "why"), [([1, None], "no nulls"), (["a"], "spec: string"), ([True], "Bit-packed"), ([[1]], "list<")]
    )

    @REFUSED
    @pytest.mark.filterwarnings("ignore:Exporting an unversioned DLPack capsule:DeprecationWarning")
    def test_an_array_of_several_buffers(self, values: list[Any], why: str) -> None:
        assert why in refusal(ProducerError, self.pa.array(values))

    @REFUSED
    def test_a_refusal_is_not_asked_for_twice(self, values: list[Any], why: str) -> None:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert why in refusal(ProducerError, self.pa.array(values))
        assert not seen

    def test_an_empty_array(self) -> None:
        assert as_ndarray(self.pa.array([], self.pa.int64())).tolist() == []

    def test_a_buffer_of_the_interchange_protocol(self) -> None:
        table = self.pa.table({"a": [1, 2, 3]})
        theirs = table.__dataframe__().get_column(0).get_buffers()["data"][0]
        buffer = as_buffer(theirs)
        assert (buffer.ptr, buffer.readonly) == (table["a"].chunk(0).buffers()[1].address, True)
        assert buffer.owner is theirs
        del table, theirs
        assert as_ndarray(buffer, "i8")[:3].tolist() == [1, 2, 3]


@pytest.mark.peers
class TestPandas:
    def test_a_buffer_of_the_interchange_protocol(self) -> None:
        pd: Any = pytest.importorskip("pandas")
        frame = pd.DataFrame({"a": [1.5, 2.5]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = frame.__dataframe__().get_column_by_name("a").get_buffers()["data"][0]
        buffer = as_buffer(theirs)
        assert (buffer.ptr, buffer.bufsize) == (frame["a"].to_numpy().ctypes.data, 16)
        del frame, theirs
        gc.collect()
        assert as_ndarray(buffer, "f8").tolist() == [1.5, 2.5]

    def test_a_column_is_no_buffer(self) -> None:
        pd: Any = pytest.importorskip("pandas")
        assert "pandas.Series" in refusal(TypeError, pd.Series([1, 2]))


@pytest.mark.peers
class TestNanoarrow:
    @pytest.fixture(autouse=True)
    def _nanoarrow(self) -> None:
        self.na: Any = pytest.importorskip("nanoarrow")

    def test_buffers(self) -> None:
        memory = bytes(range(8))
        buffer = as_buffer(self.na.c_buffer(memory))
        assert (buffer.ptr, buffer.bufsize) == (np.frombuffer(memory, "u1").ctypes.data, 8)
        assert buffer.readonly

    def test_the_data_of_an_array(self) -> None:
        array = self.na.Array([1, 2, 3], self.na.int64())
        theirs = array.buffers[1]
        buffer = as_buffer(theirs)
        assert (buffer.ptr, buffer.bufsize) == (np.asarray(theirs).ctypes.data, 24)
        del array, theirs
        gc.collect()
        assert as_ndarray(buffer, "i8").tolist() == [1, 2, 3]

    def test_immutable_memory_cannot_be_written(self) -> None:
        """An immutable array of pyarrow, seen through nanoarrow, whose capsules have no flag for access."""
        pa: Any = pytest.importorskip("pyarrow")
        immutable = pa.array([1, 2, 3])
        view = as_ndarray(self.na.Array(immutable).buffers[1], "i8")
        assert not view.flags.writeable


@pytest.mark.peers
class TestTorch:
    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        self.torch: Any = pytest.importorskip("torch")

    def test_tensors(self) -> None:
        torch = self.torch
        made = {
            "plain": torch.arange(6),
            "no dimension": torch.tensor(3),
            "bfloat16": torch.ones(3, dtype=torch.bfloat16),
            "bool": torch.ones(3, dtype=torch.bool),
            "fp8": torch.zeros(5, dtype=torch.uint8).view(torch.float8_e5m2),
            "complex": torch.ones(3, dtype=torch.complex64),
            "slice": torch.arange(10)[3:],
            "transposed": torch.arange(6).reshape(2, 3).T,
            "channels last": torch.zeros(1, 2, 3, 4).to(memory_format=torch.channels_last),
            "strides of extents of one": torch.arange(4).as_strided((1, 4), (77, 1)),
            "frozen parameter": torch.nn.Parameter(torch.ones(3), requires_grad=False),
        }
        for name, tensor in made.items():
            buffer = as_buffer(tensor)
            assert (buffer.ptr, buffer.bufsize) == (tensor.data_ptr(), tensor.nbytes), name
            assert as_buffer(tensor).ptr == buffer.ptr, name
            assert (buffer.device, buffer.native) == (CPU, Native.NONE), name

    @pytest.mark.parametrize("name", ["plain", "transposed", "frozen parameter"])
    def test_a_tensor_may_be_written(self, name: str) -> None:
        plain = self.torch.ones(2, 3)
        tensor = {
            "plain": plain,
            "transposed": plain.T,
            "frozen parameter": self.torch.nn.Parameter(plain, requires_grad=False),
        }[name]
        assert not as_buffer(tensor).readonly

    @pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
    def test_empty(self, shape: tuple[int, ...]) -> None:
        assert as_ndarray(self.torch.empty(*shape)).tolist() == []

    @pytest.mark.parametrize("transposed", [False, True])
    def test_life(self, transposed: bool) -> None:
        """A tensor is kept itself; of one that is read by a capsule, its storage is."""
        tensor = self.torch.arange(6).reshape(2, 3)
        storage = self.torch.arange(6).untyped_storage()
        tensor = self.torch.empty(0, dtype=self.torch.int64).set_(storage, 0, (2, 3))
        died = weakref.ref(tensor)
        view = as_ndarray(tensor.T if transposed else tensor, "i8")
        if not transposed:
            del tensor
            assert died() is not None
            assert view.tolist() == list(range(6))
            del view
            assert died() is None
        else:
            del tensor, storage
            gc.collect()
            assert view.tolist() == list(range(6))

    def test_values_that_are_not_in_memory(self) -> None:
        lazy = self.torch.ones(3, dtype=self.torch.complex64).conj()
        assert "resolve_conj" in refusal(CopyRequiredError, lazy)
        assert "resolve_neg" in refusal(CopyRequiredError, lazy.imag)

    def test_strided(self) -> None:
        for tensor in (self.torch.arange(6)[::2], self.torch.zeros(1).expand(3), self.torch.zeros(4, 4)[:, 1:]):
            assert "strided" in refusal(CopyRequiredError, tensor)

    def test_recorded_values_are_asked_for_and_refused(self) -> None:
        recorded = self.torch.ones(3, requires_grad=True)
        for tensor in (recorded, recorded * 2, self.torch.nn.Parameter(self.torch.ones(3))):
            assert "gradient" in refusal(ProducerError, tensor)
        assert as_buffer(recorded.detach()).ptr == recorded.data_ptr()

    def test_tensors_without_memory(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # compressed layouts are announced as new
            tensors = [
                self.torch.empty(3, device="meta"),
                self.torch.eye(3).to_sparse(),
                self.torch.eye(3).to_sparse_csr(),
            ]
        for tensor in tensors:
            refusal(ProducerError, tensor)

    def test_a_subclass(self) -> None:
        class Own(self.torch.Tensor):  # type: ignore[misc, name-defined]
            pass

        tensor = self.torch.arange(4).as_subclass(Own)
        assert as_buffer(tensor).ptr == tensor.data_ptr()
        assert as_ndarray(tensor, "i8").tolist() == [0, 1, 2, 3]


@pytest.mark.peers
class TestJax:
    @pytest.fixture(autouse=True)
    def _jax(self) -> None:
        self.jnp: Any = pytest.importorskip("jax.numpy")

    @pytest.mark.parametrize(("dtype", "size"), [("int32", 4), ("bfloat16", 2), ("bool", 1), ("float8_e5m2", 1)])
    def test_arrays(self, dtype: str, size: int) -> None:
        array = self.jnp.ones((2, 3), dtype)
        buffer = as_buffer(array)
        assert (buffer.ptr, buffer.bufsize) == (array.unsafe_buffer_pointer(), 6 * size)
        assert as_buffer(array).ptr == buffer.ptr
        assert buffer.readonly, "an array of JAX never changes"

    def test_no_dimension_and_nothing(self) -> None:
        assert as_ndarray(self.jnp.asarray(7, "int32"), "i4").tolist() == [7]
        assert as_ndarray(self.jnp.zeros((0, 3))).tolist() == []

    def test_a_slice_is_an_array_of_its_own(self) -> None:
        assert as_ndarray(self.jnp.arange(6, dtype="int32")[::2], "i4").tolist() == [0, 2, 4]

    def test_the_memory_outlives_the_array(self) -> None:
        view = as_ndarray(self.jnp.arange(1000, dtype="int32"), "i4")
        gc.collect()
        assert view.sum() == 499500

    def test_one_of_several_devices_on_the_cpu(self, run_python: Callable[..., str]) -> None:
        """Its capsule says (1, 3); all are one address space."""
        code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
from buflend.maximal import as_buffer, as_ndarray
array = jax.device_put(jax.numpy.arange(3, dtype="int32"), jax.devices()[3])
print(tuple(as_buffer(array).device), as_ndarray(array, "i4"))
"""
        assert run_python(code, site=True) == "(1, 0) [0 1 2]\n"


@pytest.mark.peers
class TestTvm:
    def test_tensors(self) -> None:
        tvm: Any = pytest.importorskip("tvm_ffi")
        memory = np.arange(6)
        died = weakref.ref(memory)
        tensor = tvm.from_dlpack(memory)
        buffer = as_buffer(tensor)
        assert (buffer.ptr, buffer.bufsize) == (memory.ctypes.data, 48)
        assert as_buffer(tensor).ptr == buffer.ptr
        del tensor, memory
        assert as_ndarray(buffer, "i8").tolist() == list(range(6))
        assert died() is not None
        del buffer
        assert died() is None

    def test_strided(self) -> None:
        tvm: Any = pytest.importorskip("tvm_ffi")
        assert "strided" in refusal(CopyRequiredError, tvm.from_dlpack(np.arange(6)[::2]))


@pytest.mark.peers
class TestArro3:
    def test_a_buffer(self) -> None:
        core: Any = pytest.importorskip("arro3.core")
        memory = bytes(range(8))
        buffer = as_buffer(core.Buffer(memory))
        assert (buffer.ptr, buffer.bufsize, buffer.readonly) == (np.frombuffer(memory, "u1").ctypes.data, 8, True)
