"""Exceptions that are pending while a consumer drops an export: they arrive with their type and message.

A deleter or destructor that is a Python callback runs with the consumer's exception set, loses it, and leaves a
SystemError and a leaked owner (numpy#32697, pytorch#84056, jax#31271).
"""

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer
from buflend.shared import arrow_export
from buflend.shared.arrow_c import Data, Field
from buflend.shared.dlpack import Tensor

from .only import CONTENT, Owner, lend, only

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
NEEDS = (2, 1)
needs_versions = pytest.mark.skipif(
    NUMPY < NEEDS, reason="the export is NumPy's, which knows no max_version before 2.1"
)


class Producer:
    """Anything that the generic exporter exports."""

    def __init__(self, tensor: Tensor, owner: object) -> None:
        from buflend.shared.dlpack_export import exporter

        self.export = exporter(owner, tensor)
        self.device = tensor.device

    def __dlpack__(self, **options: Any) -> object:
        return self.export(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return int(self.device[0]), self.device[1]


def generic(dtype: tuple[int, int, int]) -> tuple[Producer, list[int]]:
    """Return a producer of four elements, whose only reference is the caller's, and what was returned."""
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    return Producer(Tensor(owner.address, (4,), (1,), dtype), owner), returned


USES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "int": (lambda p: int(np.from_dlpack(p)), "only .* arrays can be converted to Python scalars"),
    "float": (lambda p: float(np.from_dlpack(p)), "only .* arrays can be converted to Python scalars"),
    "too many arguments": (lambda p: abs(np.from_dlpack(p), 1), r"abs\(\) takes exactly one argument \(2 given\)"),  # type: ignore[call-arg]
    "no such keyword": (lambda p: np.from_dlpack(p).sum(nonsense=1), "nonsense"),
}


@pytest.mark.parametrize("use", USES)
def test_an_array_dropped_by_a_call_that_failed(use: str) -> None:
    call, message = USES[use]
    buffer, returned = lend()
    producer = only(buffer, "dlpack")
    del buffer
    with pytest.raises(TypeError, match=message):
        call(producer)
    assert not returned
    del producer
    assert returned == [1]


@needs_versions
@pytest.mark.parametrize("use", USES)
def test_the_same_of_the_buffer_itself(use: str) -> None:
    call, message = USES[use]
    buffer, returned = lend()
    with pytest.raises(TypeError, match=message):
        call(buffer)
    del buffer
    assert returned == [1]


@needs_versions
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", [(1, 8, 1), (2, 64, 1)])
def test_the_same_of_the_generic_export(use: str, dtype: tuple[int, int, int]) -> None:
    call, message = USES[use]
    producer, returned = generic(dtype)
    with pytest.raises(TypeError, match=message):
        call(producer)
    assert not returned
    del producer
    assert returned == [1]


UNSUPPORTED = {
    "opaque": (3, 64, 1),
    "bfloat16": (4, 16, 1),
    "float8": (12, 8, 1),
    "float4": (17, 4, 1),
    "lanes of a byte": (1, 8, 4),
    "lanes": (2, 32, 3),
    "bits": (0, 4, 1),
}


@needs_versions
@pytest.mark.parametrize("dtype", UNSUPPORTED)
def test_numpy_refuses_a_type(dtype: str) -> None:
    producer, returned = generic(UNSUPPORTED[dtype])
    with pytest.raises((BufferError, RuntimeError, TypeError)) as refused:
        np.from_dlpack(producer)
    assert not isinstance(refused.value, SystemError)
    assert "nsupported" in str(refused.value)
    del producer, refused
    assert returned == [1]


@needs_versions
@pytest.mark.parametrize("device", [(2, 0), (10, 1), (99, 3)])
def test_numpy_refuses_a_device(device: tuple[int, int]) -> None:
    buffer, returned = lend(device=device)
    with pytest.raises((BufferError, RuntimeError), match="nsupported device"):
        np.from_dlpack(buffer)
    del buffer
    assert returned == [1]


@pytest.mark.peers
class TestTorch:
    def test_a_device_that_is_not_there(self) -> None:
        torch: Any = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("the device is there")
        buffer, returned = lend(device=(2, 0))
        capsule = buffer.__dlpack__(max_version=(1, 0))
        with pytest.raises((RuntimeError, AssertionError), match=r"CUDA|NVIDIA"):  # by how PyTorch was built
            torch.utils.dlpack.from_dlpack(capsule)
        del buffer, capsule
        assert returned == [1]

    @pytest.mark.parametrize("device", [(3, 0), (13, 0), (14, 0), (99, 3)])
    def test_a_device_that_it_does_not_know(self, device: tuple[int, int]) -> None:
        torch: Any = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("the device is there")
        buffer, returned = lend(device=device)
        capsule = buffer.__dlpack__(max_version=(1, 0))
        with pytest.raises((RuntimeError, BufferError)) as refused:
            torch.utils.dlpack.from_dlpack(capsule)
        assert not isinstance(refused.value, SystemError)
        del buffer, capsule, refused
        assert returned == [1]

    @pytest.mark.parametrize("dtype", ["opaque", "lanes", "bits"])
    def test_a_type_that_it_does_not_know(self, dtype: str) -> None:
        torch: Any = pytest.importorskip("torch")
        producer, returned = generic(UNSUPPORTED[dtype])
        with pytest.raises((RuntimeError, BufferError), match=r"(?i)unsupported|not support"):
            torch.from_dlpack(producer)
        del producer
        assert returned == [1]

    def test_a_call_that_failed(self) -> None:
        torch: Any = pytest.importorskip("torch")
        buffer, returned = lend()
        with pytest.raises((RuntimeError, ValueError), match=r"(?i)scalar"):
            int(torch.from_dlpack(buffer))
        del buffer
        assert returned == [1]


@pytest.mark.peers
@pytest.mark.parametrize("dtype", UNSUPPORTED)
@pytest.mark.parametrize("name", ["jax.dlpack", "tvm_ffi", "pyarrow", "cuda.core"])
def test_others_refuse_or_take(name: str, dtype: str) -> None:
    library: Any = pytest.importorskip(name)
    if name == "cuda.core":
        library = pytest.importorskip("cuda.core.utils")
    producer, returned = generic(UNSUPPORTED[dtype])
    raised: type = type(None)
    try:
        if name == "cuda.core":
            library.StridedMemoryView.from_dlpack(producer, stream_ptr=-1).dtype  # noqa: B018 - it looks only then
        else:
            (library.Array if name == "pyarrow" else library).from_dlpack(producer)
    except Exception as error:  # noqa: BLE001 - each library has its own
        raised = type(error)
    assert raised is not SystemError
    del producer
    assert returned == [1]


@pytest.fixture
def _callbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a buffer export Arrow by callbacks, as it does where pyarrow was not imported."""
    arrow_export.flush()
    for name in [name for name in sys.modules if name == "pyarrow" or name.startswith("pyarrow.")]:
        monkeypatch.delitem(sys.modules, name)
    yield
    monkeypatch.undo()
    arrow_export.flush()


def data(owner: Owner, length: int = 64, buffers: int = 1) -> Data:
    return Data(length, (None, *[(owner.address, owner)] * buffers))


class Pair:
    """An object that answers with what it is told to, after which a collection may come."""

    def __init__(self, schema: Field, data: Data, *, collects: bool = False) -> None:
        self.schema = schema
        self.data = data
        self.collects = collects

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        pair = arrow_export.schema_capsule(self.schema), arrow_export.array_capsule(self.data)
        if self.collects:
            gc.collect()
        return pair


REFUSED_BY_PYARROW: dict[str, tuple[Field, int, str]] = {
    "format": (Field("no format"), 1, "(?i)invalid"),
    "number of buffers": (Field("C"), 2, "(?i)expected 2 buffers"),
    "no buffers": (Field("n"), 1, "(?i)expected"),
    "children": (Field("+s", children=(Field("C"),)), 0, "(?i)expected|children"),
}


@pytest.fixture
def _no_collection() -> Iterator[None]:
    """Keep the collector from running by itself, so that what is tested does not hang on when it does."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.peers
@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("what", REFUSED_BY_PYARROW)
@pytest.mark.parametrize("collects", [False, True])
def test_pyarrow_refuses_capsules_of_callbacks(what: str, *, collects: bool) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    arrow_export.flush()
    schema, buffers, message = REFUSED_BY_PYARROW[what]
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    producer = Pair(schema, data(owner, buffers=buffers), collects=collects)
    with pytest.raises((pa.ArrowInvalid, pa.ArrowNotImplementedError), match=message):
        pa.array(producer)
    del owner, producer
    arrow_export.flush()
    assert returned == [1]
    assert not arrow_export._live


@pytest.mark.peers
@pytest.mark.usefixtures("_no_collection")
def test_pyarrow_refuses_the_wrong_capsule() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    arrow_export.flush()

    class Swapped:
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            del requested_schema
            return arrow_export.schema_capsule(Field("C")), arrow_export.schema_capsule(Field("C"))

    with pytest.raises(ValueError, match="PyCapsule_GetPointer called with incorrect name"):
        pa.array(Swapped())
    arrow_export.flush()
    gc.collect()
    assert not arrow_export._live


@pytest.mark.peers
def test_pyarrow_refuses_a_device_it_has_not() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    buffer, returned = lend(device=(14, 0))
    with pytest.raises((KeyError, ValueError, NotImplementedError, ImportError)) as refused:
        pa.array(only(buffer, "arrow_c_device_array"))
    assert not isinstance(refused.value, SystemError)
    del buffer, refused
    arrow_export.flush()
    assert returned == [1]
    assert not arrow_export._live


@pytest.mark.peers
@pytest.mark.usefixtures("_callbacks", "_no_collection")
@pytest.mark.parametrize(
    ("name", "take"),
    [
        ("nanoarrow", lambda library: lambda producer: library.Array(producer).to_pylist()),
        ("polars", lambda library: library.Series),
        ("arro3.core", lambda library: library.Array),
    ],
    ids=["nanoarrow", "polars", "arro3"],
)
def test_others_refuse_a_format(name: str, take: Callable[[Any], Callable[[Any], Any]]) -> None:
    library: Any = pytest.importorskip(name)
    returned: list[int] = []
    owner = Owner(returned, CONTENT)
    producer = Pair(Field("no format"), data(owner))
    with pytest.raises(BaseException, match=r"(?i)format|parse|type") as refused:  # a panic is no Exception
        take(library)(producer)
    assert not isinstance(refused.value, SystemError)
    del owner, producer, refused
    arrow_export.flush()
    assert returned == [1]
    assert not arrow_export._live


@pytest.mark.peers
def test_a_release_by_callback_with_an_error_pending_does_not_abort(run_python: Callable[..., str]) -> None:
    pytest.importorskip("pyarrow")
    printed = run_python(
        """
from buflend.maximal import as_buffer
from buflend.shared import arrow_export
memory = bytearray(64)
pairs = [as_buffer(memory).__arrow_c_array__() for _ in range(3)]
arrow_export.flush()
import pyarrow as pa
for pair in pairs:
    try:
        abs(pa.Array._import_from_c_capsule(*pair), 1)
    except (TypeError, SystemError):  # the TypeError is what such a callback cannot promise
        pass
del pair, pairs
arrow_export.flush()
print(len(arrow_export._live))
""",
        site=True,
    )
    assert printed == "0\n"


@pytest.mark.usefixtures("_callbacks", "_no_collection")
def test_capsules_that_are_parked_are_few_and_return_at_a_flush() -> None:
    lent = [lend() for _ in range(30)]
    for buffer, _ in lent:
        buffer.__arrow_c_array__()
    returned = [each for _, each in lent]
    lent.clear()
    del buffer
    alive = sum(1 for each in returned if not each)
    assert 0 < alive <= 8
    arrow_export.flush()
    assert all(each == [1] for each in returned)
    assert not arrow_export._live


@pytest.mark.usefixtures("_callbacks", "_no_collection")
def test_the_second_collection_returns_what_is_parked() -> None:
    buffer, returned = lend()
    buffer.__arrow_c_array__()
    del buffer
    assert not returned
    gc.collect()
    assert not returned, "a collection may come between an export and its refusal"
    gc.collect()
    assert returned == [1]


def test_the_error_of_the_owner_itself_is_told_and_the_consumers_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failing:
        """An owner whose end fails."""

        def __init__(self) -> None:
            self.memory = np.arange(4, dtype=np.uint8)

        def __del__(self) -> None:
            raise ArithmeticError("the owner's end failed")

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(type(unraisable.exc_value)))
    owner = Failing()
    producers = [only(Buffer(owner.memory.ctypes.data, 4, owner=owner), "dlpack")]
    del owner
    with pytest.raises(TypeError, match=r"only .* arrays can be converted"):
        int(np.from_dlpack(producers.pop()))
    assert told == [ArithmeticError]
