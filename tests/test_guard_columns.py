"""Columns of every layout over memory that no read survives, and over memory that ends where such memory starts.

On a device what needs no element reads none, and what would read is refused. On the host the same gives every element
and touches nothing beside the parts.
"""

import copy
import ctypes
import pickle
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend import maximal, minimal
from buflend.maximal import Buffer, Column, Table, as_column, as_table, column_to_ndarray, copied
from buflend.shared import STATIC, CopyRequiredError, DeviceError
from buflend.shared.arrow_import import read_schema

from . import capsules
from .arrow_producer import Array, DeviceArray
from .guard import PAGE, UNREADABLE, dies, doing, in_a_child, lent, on_devices, on_host
from .kinds import KINDS, NUMBER, Kind, alike, made
from .only import only

Pair = tuple[int, int]
DEVICE_PAGES = range(UNREADABLE, UNREADABLE + 16 * PAGE)

of_every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=[name.replace(" ", "-") for name in KINDS])


def on(device: Pair, kind: Kind) -> Column:
    """Return the column of a kind on a device; no part lies where another does."""
    starts = iter(range(UNREADABLE, UNREADABLE + PAGE, 256))

    def place(content: bytes) -> Buffer:
        return Buffer(next(starts), len(content), owner=STATIC, device=device)

    return made(kind, place)


class Interchange:
    """What a column of the dataframe interchange protocol must have, of another column, and nothing else."""

    NAMES = (
        *("size", "offset", "dtype", "describe_null", "null_count", "describe_categorical", "metadata"),
        *("num_chunks", "get_chunks", "get_buffers"),
    )

    def __init__(self, column: Any) -> None:
        self._column = column

    def __getattr__(self, name: str) -> Any:
        if name in self.NAMES:
            return getattr(self._column, name)
        raise AttributeError(name)


def for_interchange(column: Column, *, allow_copy: bool = True) -> Interchange:
    return Interchange(Table({"x": column}).__dataframe__(allow_copy=allow_copy).get_column(0))


def ways(column: Column) -> Iterator[Column]:
    """Yield a column, and what is said of it without its elements: another name, all rows, one of a table."""
    yield column
    yield column.rename("y")
    yield column[:]
    yield Table({"x": column})["x"]
    yield Table({"x": column, "y": column}).select_columns_by_name(["y"]).columns[0]
    yield next(iter(Table({"x": column}).get_chunks())).columns[0]
    yield from column.get_chunks()
    yield from column.chunks
    yield copy.copy(column)


def parts_of(column: Column) -> list[Buffer]:
    inner = [*column.children, *([] if column.dictionary is None else [column.dictionary])]
    return [*column.buffers.values(), *column.variadic, *(part for one in inner for part in parts_of(one))]


# What reads no element.


def described(column: Column, kind: Kind, device: Pair) -> None:
    for one in ways(column):
        assert (one.size(), len(one), one.num_chunks(), one.offset) == (
            len(kind.values), len(kind.values), 1, kind.options.get("offset", 0),
        )  # fmt: skip
        assert one.device == device == one.__dlpack_device__()
        assert one.dtype.format == (kind.dtype if isinstance(kind.dtype, str) else kind.dtype[2])
        assert {part.device for part in parts_of(one)} == {device}
        assert set(one.buffers) == set(kind.parts)
        assert (one.strides, one.timezone, one.metadata, one.ordered) is not None
        assert as_column(one) is one


def shown(column: Column, _: Kind, device: Pair) -> None:
    for one in ways(column):
        assert ("CUDA device" in repr(one)) == (device[0] == 2)
    assert "Table of" in repr(Table({"x": column}))


def compared(column: Column, kind: Kind, device: Pair) -> None:
    assert column == column  # noqa: PLR0124 - that is what is tried
    assert len({column, on(device, kind)}) == 2
    assert weakref.ref(column)() is column


def counted(column: Column, kind: Kind, _: Pair) -> None:
    marked = kind.options.get("null", (3 if "validity" in kind.parts else 0,))[0]
    for one in ways(column):
        assert one.null_count == (None if marked else 0)
        assert one.describe_null[0] == marked
    if "validity" in kind.parts:
        made_so = kind._replace(options=kind.options | {"null_count": 1})
        assert on(column.device, made_so).null_count == 1


def cut(column: Column, kind: Kind, device: Pair) -> None:
    for start, stop in ((0, 1), (1, len(kind.values)), (0, 0)):
        one = column[start:stop]
        assert (one.size(), one.device) == (max(stop - start, 0), device)
        assert one.null_count in {0, None}
        assert len(list(one.get_chunks(3))) == 3
    assert [chunk.num_rows() for chunk in Table({"x": column}).get_chunks(2)] == [
        -(-len(kind.values) // 2), len(kind.values) // 2,
    ]  # fmt: skip


def in_parts(column: Column, kind: Kind, device: Pair) -> None:
    for name in kind.parts:
        part = column.part(name)
        assert (part.device, part.null_count, part.data) == (device, 0, column.buffers[name])
        if part.dtype.kind < 2 and part.dtype.order == "=":  # integers
            address = capsules.read_struct(part.__dlpack__(max_version=(1, 3)))["data"]
            assert 0 <= address - column.buffers[name].ptr < column.buffers[name].bufsize


def exported_by_dlpack(column: Column, kind: Kind, device: Pair) -> None:
    if "dlpack" not in kind.says:
        for options in ({}, {"copy": True}, {"max_version": (1, 3)}, {"dl_device": (1, 0)}):
            with pytest.raises(BufferError):
                column.__dlpack__(**options)
        return
    size, data = len(kind.values), column.buffers["data"]
    width = column.dtype.bits // 8
    stride = column.strides[0] if column.strides else 0
    for version in (None, (1, 3)):
        said = capsules.read_struct(column.__dlpack__(max_version=version))
        assert (said["device"], said["shape"], said["dtype"][1:]) == (device, (size,), (column.dtype.bits, 1))
        assert said["data"] == data.ptr + column.byte_offset + column.offset * stride
        assert said["strides"] == ((stride // width,) if size > 1 else (1,))
        capsules.consume(column.__dlpack__(max_version=version))()
    back = as_column(only(column, "dlpack"))
    assert (back.size(), back.device) == (size, device)
    assert {one.shared for one in copied(column, back)} == {one.bufsize for one in copied(column, back)}


def exported_by_cuda(column: Column, kind: Kind, device: Pair) -> None:
    name = "__cuda_array_interface__"
    assert hasattr(column, name) == ("cuda" in kind.says and device[0] == 2)
    if hasattr(column, name):
        said = column.__cuda_array_interface__
        assert (said["shape"], said["stream"]) == ((len(kind.values),), None)
        assert (said["strides"] or (column.dtype.bits // 8,)) == column.strides
        assert (said["mask"] is None) == ("validity" not in kind.parts)
        assert as_column(only(column, "cuda_array_interface")).size() == len(kind.values)


def exported_by_arrow(column: Column, kind: Kind, device: Pair) -> None:
    method = "__arrow_c_device_array__"
    if "arrow" not in kind.says:
        assert hasattr(column, method) == ("arrow" in kind.copies)
        if "arrow" in kind.copies:
            with pytest.raises(DeviceError):
                column.__arrow_c_device_array__()
        return
    assert read_schema(column.__arrow_c_schema__()).format == kind.dtype
    if kind.variadic:  # the sizes of its buffers of characters would have to lie on the device
        with pytest.raises(DeviceError, match="sizes"):
            column.__arrow_c_device_array__()
        return
    _, array = column.__arrow_c_device_array__()
    whole = DeviceArray.from_address(capsules.struct_of(array))
    assert ((whole.device_type, whole.device_id), whole.sync_event) == (device, None)
    lying = [one for one in pointers(whole.array) if one]
    assert lying
    assert [one for one in lying if one not in DEVICE_PAGES] == []
    if kind.dtype in {"u", "U", "z"} or kind.dtype == "+s":  # how much there is stands in the memory
        with pytest.raises(DeviceError):
            as_column(only(column, "arrow_c_device_array"))
    elif kind.dictionary is None and not kind.children:
        assert as_column(only(column, "arrow_c_device_array")).device == device


def pointers(array: Any) -> list[int | None]:
    """Return the addresses of all buffers of an ArrowArray."""
    found = list((ctypes.c_void_p * array.n_buffers).from_address(array.buffers)) if array.n_buffers else []
    nested = (ctypes.c_void_p * array.n_children).from_address(array.children) if array.n_children else ()
    for address in (*nested, *([array.dictionary] if array.dictionary else [])):
        found += pointers(Array.from_address(address))
    return found


def exported_by_interchange(column: Column, kind: Kind, device: Pair) -> None:
    if "interchange" not in kind.says:
        error = (CopyRequiredError, DeviceError) if "interchange" in kind.copies else TypeError
        with pytest.raises(error):
            for_interchange(column, allow_copy=False)
        with pytest.raises(error):
            for_interchange(column)
        return
    for one in (for_interchange(column, allow_copy=False), for_interchange(column)):
        lying = [given[0] for given in one.get_buffers().values() if given]
        assert [part.ptr for part in lying if part.ptr not in DEVICE_PAGES] == []
        assert {part.__dlpack_device__() for part in lying} == {device}
        back = as_column(one)
        assert (back.size(), back.device, back.null_count) == (len(kind.values), device, column.null_count)
        repr(back)


NO_READ = [
    *(described, shown, compared, counted, cut, in_parts),
    *(exported_by_dlpack, exported_by_cuda, exported_by_arrow, exported_by_interchange),
]


@on_devices
@pytest.mark.parametrize("action", NO_READ, ids=lambda action: action.__name__)
@in_a_child
def test_no_element_is_read(action: Callable[[Column, Kind, Pair], None], device: Pair) -> None:
    for name, kind in KINDS.items():
        doing(name)
        action(on(device, kind), kind, device)


# What reads all elements.

Read = Callable[[Column], list[Any]]


def by_arrow(method: str) -> Read:
    def read(column: Column) -> list[Any]:
        given = getattr(column, method)()
        return as_column(SimpleNamespace(**{method: lambda: given})).tolist()

    return read


def of_table(read: Callable[[Table], Any]) -> Read:
    return lambda column: list(read(Table({"x": column})))


def rows_by_arrow(table: Table) -> list[Any]:
    given = table.__arrow_c_array__()
    return as_table(SimpleNamespace(__arrow_c_array__=lambda: given))["x"].tolist()


READS: dict[str, Read] = {
    "tolist": Column.tolist,
    "iter": list,
    "asarray": lambda column: [None if one != one else one for one in np.asarray(column).tolist()],  # noqa: PLR0124 - NaN
    "__array__ of objects": lambda column: column.__array__("O").tolist(),
    "column_to_ndarray": lambda column: column_to_ndarray(column).tolist(),
    "dataframe_to_ndarrays": of_table(lambda table: maximal.dataframe_to_ndarrays(table)["x"].tolist()),
    "pickle": lambda column: pickle.loads(pickle.dumps(column)).tolist(),  # noqa: S301 - made here
    "deepcopy": lambda column: copy.deepcopy(column).tolist(),
    "rows": of_table(lambda table: [row["x"] for row in table.tolist()]),
    "__arrow_c_array__": by_arrow("__arrow_c_array__"),
    "__arrow_c_stream__": by_arrow("__arrow_c_stream__"),
    "__arrow_c_array__ of a table": of_table(rows_by_arrow),
}
# Where the protocol has a type for the column.
OF_SOME: dict[str, Read] = {
    "interchange, minimal": lambda column: minimal.column_to_ndarray(for_interchange(column)).tolist(),
    "interchange, maximal": lambda column: column_to_ndarray(for_interchange(column)).tolist(),
    "interchange, frame": of_table(lambda table: minimal.dataframe_to_ndarrays(table)["x"].tolist()),
    "interchange, back": lambda column: as_column(for_interchange(column)).tolist(),
    "dlpack, NumPy": lambda column: [None if one != one else one for one in np.from_dlpack(column).tolist()],  # noqa: PLR0124
    "dlpack, back": lambda column: [None if one != one else one for one in as_column(only(column, "dlpack"))],  # noqa: PLR0124
}


# NumPy's own refusal, once it has read a capsule; it is lost where the capsule is not NumPy's.
BY_NUMPY = (BufferError, RuntimeError) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else SystemError


def reads(kind: Kind) -> dict[str, Read]:
    """Return what can read the columns of a kind: of Arrow's types all that stands in `READS`."""
    known = kind.says + kind.copies
    found = {name: read for name, read in READS.items() if "arrow" in known or "arrow" not in name}
    return found | {name: read for name, read in OF_SOME.items() if name.partition(",")[0] in known}


@on_devices
@pytest.mark.parametrize("name", READS | OF_SOME)
@in_a_child
def test_what_would_read_is_refused(name: str, device: Pair) -> None:
    for title, kind in KINDS.items():
        if name in READS or name.partition(",")[0] in (kind.says if "dlpack" in name else kind.says + kind.copies):
            doing(title)
            with pytest.raises(BY_NUMPY if name == "dlpack, NumPy" else DeviceError):
                (READS | OF_SOME)[name](on(device, kind))


@on_host
@pytest.mark.parametrize("side", ["end", "start"])
@of_every_kind
@in_a_child
def test_all_elements_and_no_byte_beside_them(kind: Kind, side: str, device: Pair) -> None:
    for name, read in reads(kind).items():
        if device[0] != 13 or name != "dlpack, back":  # of managed memory work may be queued
            doing(name)
            assert alike(read(made(kind, lambda content: lent(Buffer, content, side, device=device)))) == kind.values


@of_every_kind
def test_a_byte_too_far_kills(kind: Kind) -> None:
    assert dies(lambda: made(kind, lambda content: lent(Buffer, content, past=1)).tolist())


@pytest.mark.parametrize("name", READS | OF_SOME)
@pytest.mark.parametrize("kind", [KINDS["int64"], KINDS["text"]], ids=["int64", "text"])
def test_the_same_over_unreadable_memory_kills(kind: Kind, name: str) -> None:
    if kind is KINDS["int64"] or name in reads(kind):
        assert dies(lambda: (READS | OF_SOME)[name](on((3, 0), kind)))


@on_devices
@in_a_child
def test_rows_of_a_device(device: Pair) -> None:
    table = Table({"a": on(device, NUMBER), "b": on(device, KINDS["text"])})
    assert (len(table), table.device, table.num_rows(), table.num_columns()) == (3, device, 3, 2)
    assert table.select_columns([1]).column_names() == ["b"]
    assert [chunk.num_rows() for chunk in table.get_chunks(3)] == [1, 1, 1]
    assert table[1:].num_rows() == 2
    assert dict(table).keys() == {"a", "b"}
    assert as_table(table) is table
    assert copy.copy(table).column_names() == ["a", "b"]
    with pytest.raises(DeviceError):  # not absent: of a table without it NumPy makes an array of the names
        np.asarray(table)
    absent = ("__array_interface__", "__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__")
    assert [name for name in absent if hasattr(table, name)] == []
    _, array = table.__arrow_c_device_array__()
    assert [one for one in pointers(DeviceArray.from_address(capsules.struct_of(array)).array) if one]
    with pytest.raises(BufferError):
        table.__dlpack__()
    with pytest.raises(DeviceError):
        pickle.dumps(table)
