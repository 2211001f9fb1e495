"""What foreign columns and frames answer wrongly or not at all: refused by name, by the class that is documented.

The columns are made by the producer of the battery.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend.bench.producer import Buf, Col, Frame
from buflend.maximal import Column, as_buffer, as_column, as_table
from buflend.maximal import column_to_ndarray as read_by_maximal
from buflend.minimal import as_buffer as as_minimal_buffer
from buflend.minimal import column_to_ndarray, dataframe_to_ndarrays
from buflend.shared import CopyRequiredError, ProducerError
from buflend.shared.arrow_import import read_array, read_device_array, read_schema

INT64, BYTES, CODE = (0, 64, "l", "="), (1, 8, "C", "="), (0, 8, "c", "=")
OTHER = ">" if np.dtype("i4").newbyteorder(">") != np.dtype("i4") else "<"
USE_NAN, USE_BYTEMASK = 1, 4


class _PanicError(BaseException):
    """What a library in Rust raises."""


def numbers(count: int = 1, **options: Any) -> Col:
    return Col(Buf(np.arange(count)), INT64, count, **options)


def texts(*values: str, order: str = "=", **options: Any) -> Col:
    ends = np.cumsum([0, *map(len, values)]).astype(f"{order}i4")
    offsets = Buf(ends), (0, 32, "i", order)
    return Col(
        Buf("".join(values).encode()), (21, 8, "u", "="), len(values), offsets=offsets, data_dtype=BYTES, **options
    )


def coded(*codes: int, code: str = "i1", categories: Col | None = None) -> Col:
    array = np.array(codes, code)
    bits = 8 * array.itemsize
    own = (0, bits, {8: "c", 16: "s"}[bits], "=")
    return Col(Buf(array), (23, *own[1:]), len(codes), categories=categories or texts("a", "b"), data_dtype=own)


def one_of_two() -> Col:
    lost = Buf(b"\1\0"), (20, 8, "b", "=")
    return Col(Buf(np.arange(2)), INT64, 2, null=(USE_BYTEMASK, 0), validity=lost, null_count=1)


class TestPanics:
    @pytest.mark.parametrize("name", ["size", "offset", "dtype", "describe_null", "get_buffers", "num_chunks"])
    def test_of_a_column(self, name: str) -> None:
        with pytest.raises(ProducerError, match="_PanicError: not today"):
            column_to_ndarray(numbers(raises={name: _PanicError("not today")}))  # type: ignore[dict-item]

    @pytest.mark.parametrize("name", ["ptr", "bufsize"])
    def test_of_a_buffer(self, name: str) -> None:
        def fail(_: object) -> None:
            raise _PanicError("not today")

        fields = {"ptr": 0, "bufsize": 0, "__dlpack_device__": lambda _: (1, 0), name: property(fail)}
        with pytest.raises(ProducerError, match="_PanicError: not today"):
            as_minimal_buffer(type("Raising", (), fields)())

    def test_of_a_capsule(self) -> None:
        class Raising:
            def __arrow_c_array__(self, requested_schema: object = None) -> None:
                raise _PanicError("not today")

        with pytest.raises(ProducerError, match="_PanicError: not today"):
            as_column(Raising())


class TestCopies:
    def test_a_refusal_of_ours_stays_one(self) -> None:
        table = as_table({"x": np.arange(6)[::2]})
        with pytest.raises(CopyRequiredError, match="strided"):
            dataframe_to_ndarrays(table, allow_copy=False)  # type: ignore[arg-type]

    def test_too_much_recursion_is_no_refusal_to_copy(self) -> None:
        column = numbers(raises={"size": RecursionError("too deep")})
        with pytest.raises(ProducerError, match="too deep"):
            column_to_ndarray(column, allow_copy=False)

    def test_bytes_that_are_no_booleans(self) -> None:
        column = Col(Buf(bytes([0, 1, 2])), (20, 8, "b", "="), 3)
        assert column_to_ndarray(column).values.tolist() == [False, True, True]
        with pytest.raises(CopyRequiredError, match="other than 0 and 1"):
            column_to_ndarray(column, allow_copy=False)

    def test_categories_that_are_missing(self) -> None:
        column = coded(0, 1, categories=one_of_two())
        assert column_to_ndarray(column).tolist() == [0, None]
        with pytest.raises(CopyRequiredError, match="codes of a missing category"):
            column_to_ndarray(column, allow_copy=False)

    def test_missing_categories_that_no_code_means_are_left_where_they_lie(self) -> None:
        column = coded(0, 0, categories=one_of_two())
        data, _ = column.get_buffers()["data"]  # type: ignore[misc]
        assert column_to_ndarray(column).categories.tolist() == [0]  # type: ignore[union-attr]
        made = column_to_ndarray(column, allow_copy=False)
        assert np.shares_memory(made.values, data.memory)
        assert made.tolist() == [0, 0]

    @pytest.mark.parametrize(
        ("columns", "why"),
        [
            ([texts("a", "bc", order=OTHER)], "offsets are not in native byte order"),
            ([coded(0, 1), coded(1, code="i2")], "codes of several types"),
        ],
        ids=["offsets", "codes"],
    )
    def test_of_a_table_of_ours(self, columns: list[Col], why: str) -> None:
        def frame() -> Frame:
            chunks = [Frame({"a": column}) for column in columns]
            return Frame({"a": columns[0]}, chunks=chunks, rows=lambda: sum(column.size() for column in columns))

        assert as_table(frame())["a"].size() == sum(column.size() for column in columns)
        with pytest.raises(CopyRequiredError, match=why):
            as_table(frame(), allow_copy=False)
        if len(columns) == 1:
            with pytest.raises(CopyRequiredError, match=why):
                as_column(columns[0], allow_copy=False)

    def test_values_that_become_objects(self) -> None:
        column = Column("d:3,1", 1, data=as_buffer(bytes([15, *bytes(15)])))
        assert str(read_by_maximal(column).tolist()) == "[Decimal('1.5')]"
        with pytest.raises(CopyRequiredError, match="Python objects"):
            read_by_maximal(column, allow_copy=False)


class TestContradictions:
    def test_integers_have_no_nan(self) -> None:
        with pytest.raises(ProducerError, match="USE_NAN"):
            column_to_ndarray(numbers(null=(USE_NAN, None)))

    @pytest.mark.parametrize("missing", [2, -1])
    def test_a_byte_of_a_mask_that_means_neither(self, missing: int) -> None:
        mask = Buf(b"\0"), (20, 8, "b", "=")
        with pytest.raises(ProducerError, match="expected 0 or 1"):
            column_to_ndarray(numbers(null=(USE_BYTEMASK, missing), validity=mask))

    def test_chunks_that_are_not_the_column(self) -> None:
        column = Col(None, INT64, 4, chunks=[numbers(), numbers(2)])
        with pytest.raises(ProducerError, match=r"size\(\): got 4, expected 3"):
            column_to_ndarray(column)

    def test_rows_that_are_not_the_columns(self) -> None:
        with pytest.raises(ProducerError, match=r"num_rows\(\): got 2, expected 1"):
            dataframe_to_ndarrays(Frame({"a": numbers()}, rows=lambda: 2))

    def test_names_twice(self) -> None:
        with pytest.raises(ProducerError, match="unique"):
            dataframe_to_ndarrays(Frame([("a", numbers()), ("a", numbers())]))

    def test_rows_that_are_missing(self) -> None:
        rows = Column("+s", 2, children=[as_column(np.arange(2))], validity=as_buffer(b"\1"))
        pair = rows.__arrow_c_array__()
        with pytest.raises(ProducerError, match="rows that are all there"):
            as_table(SimpleNamespace(__arrow_c_array__=lambda: pair))

    def test_the_column_is_named(self) -> None:
        with pytest.raises(ProducerError, match="column 'b': offset"):
            dataframe_to_ndarrays(Frame({"a": numbers(), "b": numbers(raises={"offset": ValueError("no")})}))


@pytest.mark.parametrize(
    ("read", "method"),
    [(read_array, "__arrow_c_array__"), (read_device_array, "__arrow_c_device_array__")],
    ids=["array", "device array"],
)
def test_a_schema_beside_a_used_array_stays_unused(read: Any, method: str) -> None:
    column = as_column(np.arange(3))
    schema, array = getattr(column, method)()
    read(schema, array)
    again = column.__arrow_c_schema__()
    with pytest.raises(ProducerError, match="already consumed"):
        read(again, array)
    assert read_schema(again).format == "l"


def test_a_refusal_by_a_class_of_its_own_means_what_it_says() -> None:
    class RefusalError(TypeError):
        pass

    class Refusing:
        asked = 0

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **_: object) -> None:
            self.asked += 1
            raise RefusalError("not this one")

    obj = Refusing()
    with pytest.raises(ProducerError, match="not this one"):
        as_buffer(obj)
    assert obj.asked == 1, "without `max_version` it would refuse again"


def test_of_several_refusals_the_first_is_told() -> None:
    class Refusing:
        @property
        def __cuda_array_interface__(self) -> None:
            raise RuntimeError("the first")

        @property
        def __array_interface__(self) -> None:
            raise RuntimeError("the last resort")

    with pytest.raises(ProducerError, match="the first"):
        as_buffer(Refusing())


SIX = as_column(np.arange(10, 16))
DENSE = as_buffer(np.array([5, 4, 3], "i4"))
MASKED = Column("C", 4, data=as_buffer(b"abcdef"), validity=as_buffer(b"\xff"), offset=1)


def test_what_needed_a_copy_for_arrow_is_not_kept() -> None:
    flags = np.array([True, False])
    column = as_column(flags)

    def exported() -> list[Any]:
        pair = column.__arrow_c_array__()
        return as_column(SimpleNamespace(__arrow_c_array__=lambda: pair)).tolist()

    assert exported() == [True, False]
    flags[1] = True
    assert exported() == [True, True]


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (Column("C", 2, data=as_buffer(b"abcdef"), byte_offset=2, offset=1), [100, 101]),
        (Column("s", 1, data=as_buffer(np.arange(5, dtype="i2")), byte_offset=2, offset=2), [3]),
        (Column("C", 3, data=as_buffer(b"abcdef"), validity=as_buffer(b"\x16"), offset=1), [98, 99, None]),
        (Column("+us:0", 2, type_ids=as_buffer(bytes(3)), children=[SIX], offset=1), [11, 12]),
        (Column("+ud:0", 2, type_ids=as_buffer(bytes(3)), offsets=DENSE, children=[SIX], offset=1), [14, 13]),
        (Column("+s", 2, children=[MASKED], offset=1), [{"": 99}, {"": 100}]),
    ],
    ids=["bytes", "two bytes", "a mask", "a sparse union", "a dense union", "a struct"],
)
def test_arrow_has_the_elements_where_they_start(column: Column, wanted: list[Any]) -> None:
    pair = column.__arrow_c_array__()
    made = as_column(SimpleNamespace(__arrow_c_array__=lambda: pair))
    assert made.tolist() == column.tolist() == wanted
    assert all(buffer.readonly for buffer in made.buffers.values()), "Arrow's arrays are not to be written"
