"""DLPack at the level of columns, both directions.

What goes out is read as a consumer in C would read it; what comes in is made by hand. Codes and flags are those of
`dlpack.h` 1.3.
"""

import gc
import struct
import sys
import tracemalloc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, as_buffer, as_column
from buflend.maximal.column_dlpack import read
from buflend.shared import STATIC, CopyRequiredError, Device, ProducerError
from tests.capsules import IS_COPIED, READ_ONLY, VERSIONED, lend, name_of, read_struct

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
SWAPPED = "<" if sys.byteorder == "big" else ">"
USE_NAN, USE_SENTINEL, USE_BITMASK, USE_BYTEMASK = range(1, 5)
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL, FLOAT8_E5M2 = 0, 1, 2, 4, 5, 6, 12


class Owner(bytearray):
    """Bytes that can be watched."""


def packed(code: str, *values: Any) -> Buffer:
    return as_buffer(Owner(struct.pack(f"={len(values)}{code}", *values)))


def said(column: Column, **options: Any) -> dict[str, Any]:
    return read_struct(column.__dlpack__(**{"max_version": (1, 3)} | options))


def chunked(*columns: Column) -> Column:
    return Column._make(columns[0]._type, tuple(column._piece for column in columns))


class Producer:
    """An object that gives one capsule."""

    def __init__(self, **fields: Any) -> None:
        self.device = fields.get("device", (1, 0))
        self.capsule, self.lent = lend(**fields)
        self.asked: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> object:
        self.asked = options
        capsule, self.capsule = self.capsule, None
        return capsule


class TestOut:
    @pytest.mark.parametrize(
        ("dtype", "code", "nbits"),
        [("c", INT, 8), ("s", INT, 16), ("i", INT, 32), ("l", INT, 64), ("C", UINT, 8), ("S", UINT, 16),
         ("I", UINT, 32), ("L", UINT, 64), ("e", FLOAT, 16), ("f", FLOAT, 32), ("g", FLOAT, 64),
         ((20, 8, "b", "="), BOOL, 8), ((104, 64, "", "="), COMPLEX, 64), ((104, 128, "", "="), COMPLEX, 128)],
    )  # fmt: skip
    def test_types(self, dtype: Any, code: int, nbits: int) -> None:
        column = Column(dtype, 3, data=as_buffer(bytearray(64)), offset=1)
        assert column.data is not None
        found = said(column)
        assert found["dtype"] == (code, nbits, 1)
        assert found["data"] + found["byte_offset"] == column.data.ptr + nbits // 8
        assert (found["shape"], found["device"], found["flags"]) == ((3,), (1, 0), 0)

    @pytest.mark.parametrize(("step", "expected"), [(1, [0, 1, 2, 3, 4, 5]), (-2, [5, 3, 1]), (3, [0, 3])])
    def test_strided_memory_goes_out_as_it_is(self, step: int, expected: list[int]) -> None:
        array = np.arange(6, dtype="i4")[::step]
        column = as_column(array)
        found = np.from_dlpack(column)
        assert found.tolist() == expected
        assert found.strides == array.strides
        assert np.shares_memory(found, array)

    def test_broadcast(self) -> None:
        found = said(as_column(np.broadcast_to(np.float32(1), 5)))
        assert (found["shape"], found["strides"], found["flags"]) == ((5,), (0,), READ_ONLY)

    def test_of_nothing(self) -> None:
        assert said(Column("l", 0))["shape"] == (0,)
        assert np.from_dlpack(as_column(np.zeros(0, "f4"))).tolist() == []

    def test_the_owner_is_kept_and_returned(self) -> None:
        column = Column("i", 2, data=packed("i", 1, 2))
        assert column.data is not None
        died = weakref.ref(column.data.owner)
        array = np.from_dlpack(column)
        del column
        gc.collect()
        assert died() is not None
        assert array.tolist() == [1, 2]
        del array
        gc.collect()
        assert died() is None

    def test_read_only(self) -> None:
        column = as_column(b"ab")
        assert said(column)["flags"] == READ_ONLY
        with pytest.raises(BufferError):
            column.__dlpack__()

    @pytest.mark.parametrize(
        ("column", "dtype", "expected"),
        [
            (Column((0, 16, "s", SWAPPED), 2, data=as_buffer(bytes([1, 2, 3, 4]))), "i2", None),
            (Column("b", 3, data=as_buffer(b"\x0a"), offset=1), "?", [True, False, True]),
            (chunked(*(Column("i", 2, data=packed("i", n, n + 1)) for n in (1, 3))), "i4", [1, 2, 3, 4]),
            (chunked(*(Column("b", 2, data=as_buffer(bytes([n]))) for n in (1, 3))), "?", [True, False, True, True]),
            (as_column(np.array([(0, 1), (0, 2)], [("a", "i1"), ("b", "i4")])).children[1], "i4", [1, 2]),
        ],
    )
    def test_what_needs_a_copy(self, column: Column, dtype: str, expected: list[Any] | None) -> None:
        if expected is None:
            expected = [int.from_bytes(pair, {"<": "little", ">": "big"}[SWAPPED]) for pair in (b"\1\2", b"\3\4")]
        found = np.from_dlpack(column)
        assert (found.dtype, found.tolist()) == (np.dtype(dtype), expected)
        assert found.dtype.isnative
        assert said(column)["flags"] == IS_COPIED
        assert said(column, copy=True)["flags"] == IS_COPIED
        assert name_of(column.__dlpack__()) == b"dltensor"
        with pytest.raises(BufferError, match="copy=False"):
            column.__dlpack__(copy=False)

    def test_one_copy_is_enough(self) -> None:
        column = chunked(*(Column("C", 2**20, data=as_buffer(bytes(2**20))) for _ in range(2)))
        column.__dlpack__()
        tracemalloc.start()
        try:
            capsule = column.__dlpack__(copy=True, max_version=(1, 0))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert name_of(capsule) == VERSIONED
        assert peak < 3 * 2**20

    def test_a_copy_lives_by_itself(self) -> None:
        column = chunked(*(Column("i", 1, data=packed("i", n)) for n in (1, 2)))
        array = np.from_dlpack(column)
        del column
        gc.collect()
        assert array.tolist() == [1, 2]

    def test_one_chunk_with_elements_is_not_copied(self) -> None:
        column = chunked(Column("i", 0), Column("i", 2, data=packed("i", 1, 2)), Column("i", 0))
        assert said(column, copy=False)["data"] == column.chunks[1].data.ptr  # type: ignore[union-attr]

    @pytest.mark.skipif(NUMPY < (2, 1), reason="without NumPy's export copies are refused where they are strided")
    def test_copy(self) -> None:
        array = np.arange(4)[::2]
        found = said(as_column(array), copy=True)
        assert found["flags"] & IS_COPIED
        assert found["data"] != array.__array_interface__["data"][0]

    @pytest.mark.parametrize(
        "column",
        [
            Column("tss:", 1, data=packed("q", 1)),
            Column("tdD", 1, data=packed("i", 1)),
            Column("u", 1, data=as_buffer(b"a"), offsets=packed("i", 0, 1)),
            Column("d:3,1", 1, data=packed("q", 15, 0)),
            Column("w:4", 1, data=packed("i", 1)),
            Column("n", 2),
            Column("c", 1, data=packed("b", 0), dictionary=Column("i", 1, data=packed("i", 7))),
            Column("+s", 0, children=[Column("i", 0)]),
            Column((105, 16, "", "="), 1, data=packed("h", 1)),
        ],
    )
    def test_types_that_dlpack_lacks(self, column: Column) -> None:
        with pytest.raises(BufferError, match="part"):
            column.__dlpack__()

    def test_a_part_goes_where_the_column_does_not(self) -> None:
        column = as_column(np.array(["1970-01-02", "1970-01-04"], "M8[s]"))
        assert np.from_dlpack(column.part("data")).tolist() == [86_400, 3 * 86_400]


class TestMissing:
    @pytest.mark.parametrize("null", [(USE_BITMASK, 0), (USE_BITMASK, 1), (USE_BYTEMASK, 0), (USE_BYTEMASK, 1)])
    def test_masks(self, null: tuple[int, int]) -> None:
        present = [1, 0, 1]
        marks = [flag ^ null[1] for flag in present]
        mask = as_buffer(bytes(marks) if null[0] == USE_BYTEMASK else bytes([sum(m << i for i, m in enumerate(marks))]))
        column = Column("i", 3, data=packed("i", 1, 2, 3), validity=mask, null=null)
        with pytest.raises(BufferError, match=r"1 of 3.*part\('data'\)"):
            column.__dlpack__()
        assert np.from_dlpack(column[:1]).tolist() == [1]
        assert np.from_dlpack(column.part("data")).tolist() == [1, 2, 3]
        with pytest.raises(BufferError, match="1 of 2"):
            chunked(column[:1], column[1:2]).__dlpack__()

    def test_sentinels(self) -> None:
        column = Column("i", 2, data=packed("i", 1, -1), null=(USE_SENTINEL, -1))
        with pytest.raises(BufferError, match="1 of 2"):
            column.__dlpack__()

    def test_nan_goes_out(self) -> None:
        column = Column("g", 2, data=packed("d", 1.5, float("nan")), null=(USE_NAN, None))
        found = np.from_dlpack(column)
        assert found[0] == 1.5
        assert np.isnan(found[1])

    def test_on_a_device_nobody_can_count(self) -> None:
        memory = Buffer(0x1000, 64, owner=STATIC, device=(2, 0))
        column = Column("i", 3, data=memory, validity=memory, null=(USE_BITMASK, 0))
        with pytest.raises(BufferError, match="may be missing"):
            column.__dlpack__()
        counted = Column("i", 3, data=memory, validity=memory, null=(USE_BITMASK, 0), null_count=0)
        assert said(counted)["device"] == (2, 0)


class TestDevices:
    def test_memory_is_described_and_not_read(self) -> None:
        memory = Buffer(0x1000, 64, owner=STATIC, device=(2, 3))
        column = Column("f", 4, data=memory, offset=1, strides=(8,), byte_offset=4)
        assert column.__dlpack_device__() == (2, 3)
        found = said(column)
        assert (found["data"], found["device"], found["strides"]) == (0x100C, (2, 3), (2,))

    def test_nothing_is_copied_there(self) -> None:
        memory = Buffer(0x1000, 64, owner=STATIC, device=(2, 0))
        for column in (Column((0, 32, "i", SWAPPED), 2, data=memory), Column("b", 2, data=memory)):
            with pytest.raises(BufferError, match="CUDA"):
                column.__dlpack__()


class TestIn:
    @pytest.mark.parametrize(
        ("dtype", "expected"),
        [((INT, 8, 1), (0, 8, "c")), ((INT, 64, 1), (0, 64, "l")), ((UINT, 16, 1), (1, 16, "S")),
         ((FLOAT, 16, 1), (2, 16, "e")), ((FLOAT, 64, 1), (2, 64, "g")), ((BOOL, 8, 1), (20, 8, "b")),
         ((COMPLEX, 64, 1), (104, 64, "")), ((BFLOAT, 16, 1), (105, 16, "")), ((FLOAT8_E5M2, 8, 1), (105, 8, "")),
         ((INT, 128, 1), (105, 128, ""))],
    )  # fmt: skip
    def test_types_come_and_go(self, dtype: tuple[int, int, int], expected: tuple[int, int, str]) -> None:
        producer = Producer(dtype=dtype, shape=(4,))
        column = read(producer)
        assert column is not None
        assert tuple(column.dtype) == (*expected, "=")
        assert (column.size(), column.strides, column.null_count) == (4, (dtype[1] // 8,), 0)
        found = said(column)
        assert (found["dtype"], found["data"], found["shape"]) == (dtype, producer.lent.ptr, (4,))

    def test_strides_and_offset(self) -> None:
        producer = Producer(dtype=(UINT, 16, 1), shape=(3,), strides=(-4,), byte_offset=40)
        column = read(producer)
        assert column is not None
        assert column.data is not None
        assert column.strides == (-8,)
        assert (column.data.ptr, column.data.bufsize) == (producer.lent.ptr + 24, 18)
        low = [40, 32, 24]
        assert column.tolist() == [int.from_bytes(bytes([n, n + 1]), sys.byteorder) for n in low]

    def test_the_capsule_is_the_owner(self) -> None:
        producer = Producer(shape=(8,))
        lent = producer.lent
        column = as_column(producer)
        assert column.data is not None
        assert name_of(column.data.owner) == VERSIONED
        del producer
        part = column[2:4].part("data")
        del column
        gc.collect()
        assert not lent.deleted
        assert part.tolist() == [2, 3]
        del part
        gc.collect()
        assert len(lent.deleted) == 1

    @pytest.mark.parametrize(
        ("fields", "readonly"), [({}, False), ({"flags": READ_ONLY}, True), ({"versioned": False}, True)]
    )
    def test_access(self, fields: dict[str, Any], readonly: bool) -> None:
        column = read(Producer(**fields))
        assert column is not None
        assert column.data is not None
        assert column.data.readonly is readonly

    def test_a_device_and_its_stream(self) -> None:
        producer = Producer(device=(2, 1), dtype=(FLOAT, 32, 1), shape=(4,))
        column = read(producer)
        assert column is not None
        assert column.device == Device(2, 1)
        assert producer.asked["stream"] == 1

    def test_nothing(self) -> None:
        column = read(Producer(shape=(0,), data=0, dtype=(FLOAT, 32, 1)))
        assert column is not None
        assert column.tolist() == []
        assert as_column(Producer(shape=(0,), data=0)).size() == 0

    @pytest.mark.parametrize(
        "fields",
        [{"shape": (4, 2)}, {"shape": ()}, {"dtype": (FLOAT, 32, 2), "shape": (4,)}, {"dtype": (BOOL, 1, 1)},
         {"dtype": (INT, 4, 1)}],
    )  # fmt: skip
    def test_what_a_column_lacks(self, fields: dict[str, Any]) -> None:
        producer = Producer(**fields)
        lent = producer.lent
        with pytest.raises(TypeError):
            read(producer)
        gc.collect()
        assert len(lent.deleted) == 1

    def test_what_cannot_be(self) -> None:
        with pytest.raises(ProducerError):
            read(Producer(shape=(4,), data=0))

    def test_none(self) -> None:
        assert read(SimpleNamespace()) is None

    def test_a_refusal_names_the_producer(self) -> None:
        class Refuses(Producer):
            def __dlpack__(self, **_: Any) -> object:
                raise BufferError("it needs a gradient")

        with pytest.raises(ProducerError, match="gradient"):
            as_column(Refuses())


@pytest.mark.peers
class TestTorch:
    """PyTorch as producer and consumer."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def test_round_trip(self, torch: Any) -> None:
        for dtype in (torch.bfloat16, torch.float8_e5m2, torch.float16, torch.complex64, torch.bool, torch.int32):
            tensor = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(dtype)
            column = as_column(tensor)
            again = torch.from_dlpack(column)
            assert again.dtype == dtype
            assert again.data_ptr() == tensor.data_ptr()
            assert again.tolist() == tensor.tolist()

    def test_strides(self, torch: Any) -> None:
        tensor = torch.arange(6)[1::2]
        column = as_column(tensor)
        assert (column.strides, column.tolist()) == ((16,), [1, 3, 5])
        assert torch.from_dlpack(column).stride() == (2,)

    def test_values_that_are_not_those_in_memory(self, torch: Any) -> None:
        with pytest.raises((ProducerError, CopyRequiredError)):
            as_column(torch.tensor([1j]).conj())
