"""What is read of producers whose memory no read survives, or ends where such memory starts.

The producers are made by hand: columns of the interchange protocol, Arrow's structs, DLPack's, and dicts of the CUDA
array interface. What stays on the device is taken without a look at it. What must be looked at is refused.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from buflend import maximal, minimal
from buflend.maximal import as_buffer, as_column, as_table
from buflend.shared import DeviceError, ProducerError
from buflend.shared.interchange import DtypeKind

from . import arrow_producer as arrow
from . import capsules
from .arrow_producer import Lie, Log, Script
from .guard import UNREADABLE, dies, doing, in_a_child, on_devices, on_host, placed
from .kinds import BYTEMASK, KINDS, NUMBER, Kind, alike

Pair = tuple[int, int]
Where = Callable[[bytes], "Lent"]

# Arrow format -> kind and bits of the interchange protocol.
DTYPES: dict[str, tuple[int, int]] = {
    "b": (DtypeKind.BOOL, 1),
    "c": (DtypeKind.INT, 8),
    "s": (DtypeKind.INT, 16),
    "l": (DtypeKind.INT, 64),
    "C": (DtypeKind.UINT, 8),
    "g": (DtypeKind.FLOAT, 64),
    "u": (DtypeKind.STRING, 8),
    "U": (DtypeKind.STRING, 8),
    "tsu:": (DtypeKind.DATETIME, 64),
    "tdD": (DtypeKind.DATETIME, 32),
}
BYTES, BITS = (DtypeKind.UINT, 8, "C", "="), (DtypeKind.BOOL, 1, "b", "=")
FOREIGN = {
    name: kind
    for name, kind in KINDS.items()
    if "interchange" in kind.says + kind.copies and not {"strides", "byte_offset"} & set(kind.options)
    and not kind.variadic and name != "days of 64 bits"
}  # fmt: skip
of_every_kind = pytest.mark.parametrize("kind", FOREIGN.values(), ids=[name.replace(" ", "-") for name in FOREIGN])


class Lent:
    """A buffer of the protocol, which writes down whether its address was asked for."""

    def __init__(self, address: int, bufsize: int, device: Any) -> None:
        self.address, self.bufsize, self.device = address, bufsize, device
        self.asked = 0

    @property
    def ptr(self) -> int:
        self.asked += 1
        return self.address

    def __dlpack_device__(self) -> Any:
        return self.device


def on(device: Any) -> Where:
    return lambda content: Lent(UNREADABLE, len(content), device)


def at(side: str, device: Any = (1, None), past: int = 0) -> Where:
    return lambda content: Lent(placed(content, side, past=past), len(content), device)


class Foreign:
    """A column of the protocol in one chunk, or in two that are its halves said twice."""

    def __init__(self, kind: Kind, where: Where, chunks: "tuple[Foreign, ...]" = (), **elsewhere: Where) -> None:
        self.kind, self.chunks = kind, chunks
        self.parts = {name: elsewhere.get(name, where)(content) for name, content in kind.parts.items()}
        whole = isinstance(kind.dtype, str)
        self.dtype = (*DTYPES[kind.dtype], kind.dtype, "=") if whole else kind.dtype
        self.offset = kind.options.get("offset", 0)
        self.null_count = kind.values.count(None)
        self.describe_null = kind.options.get("null", (3, 0) if "validity" in kind.parts else (0, None))
        self.metadata: dict[str, Any] = {}
        self.of = self.dtype
        if kind.dictionary is not None:
            self.of, self.dtype = self.dtype, (DtypeKind.CATEGORICAL, *self.dtype[1:])
            categories = Foreign(kind.dictionary, elsewhere.get("dictionary", where))
            self.describe_categorical = {"is_ordered": False, "is_dictionary": True, "categories": categories}

    def size(self) -> int:
        return sum(chunk.size() for chunk in self.chunks) or len(self.kind.values)

    def num_chunks(self) -> int:
        return len(self.chunks) or 1

    def get_chunks(self, _: int | None = None) -> "tuple[Foreign, ...]":
        return self.chunks or (self,)

    def get_buffers(self) -> dict[str, Any]:
        is_text = self.dtype[0] == DtypeKind.STRING
        masks = {3: BITS, BYTEMASK: BYTES}
        offsets = (DtypeKind.INT, 64 if self.dtype[2] == "U" else 32, "l", "=")
        dtypes = {
            "data": BYTES if is_text else self.of, "validity": masks.get(self.describe_null[0]), "offsets": offsets
        }  # fmt: skip
        return {name: (self.parts[name], dtypes[name]) if name in self.parts else None for name in dtypes}

    def lent(self) -> list[Lent]:
        inner = getattr(self, "describe_categorical", {}).get("categories")
        return [*self.parts.values(), *(inner.lent() if inner else []), *(b for c in self.chunks for b in c.lent())]


class Frame:
    """A frame of the protocol with one column."""

    def __init__(self, column: Foreign) -> None:
        self.column = column

    def __dataframe__(self, *_: object, **__: object) -> "Frame":
        return self

    def column_names(self) -> list[str]:
        return ["x"]

    def get_column_by_name(self, _: str) -> Foreign:
        return self.column

    def num_rows(self) -> int:
        return self.column.size()

    def get_chunks(self, _: int | None = None) -> "list[Frame]":
        return [self]


READERS: dict[str, Callable[[Any], list[Any]]] = {
    "minimal": lambda foreign: minimal.column_to_ndarray(foreign).tolist(),
    "maximal": lambda foreign: maximal.column_to_ndarray(foreign).tolist(),
    "minimal, frame": lambda foreign: minimal.dataframe_to_ndarrays(Frame(foreign))["x"].tolist(),
    "maximal, frame": lambda foreign: maximal.dataframe_to_ndarrays(Frame(foreign))["x"].tolist(),
    "as_column": lambda foreign: as_column(foreign).tolist(),
    "as_table": lambda foreign: as_table(Frame(foreign))["x"].tolist(),
}
readers = pytest.mark.parametrize("name", READERS)
both_readers = pytest.mark.parametrize("name", ["minimal", "as_column"])


@on_devices
@readers
@pytest.mark.parametrize("ordinal", [True, False], ids=["with an id", "without"])
@in_a_child
def test_a_column_of_a_device_is_refused_before_its_pointer_is_asked_for(
    name: str, device: Pair, *, ordinal: bool
) -> None:
    for title, kind in FOREIGN.items():
        doing(title)
        foreign = Foreign(kind, on(device if ordinal else (device[0], None)))
        with pytest.raises(DeviceError, match="the host cannot read") as caught:
            READERS[name](foreign)
        assert "device" in str(caught.value)
        if "as_" not in name:  # they take it as it is
            assert [lent for lent in foreign.lent() if lent.asked] == []


MIXED = [
    (name, part)
    for name, kind in FOREIGN.items()
    for part in (*kind.parts, *(["dictionary"] if kind.dictionary else []))
    if len(kind.parts) > 1 or kind.dictionary
]


@on_devices
@readers
@in_a_child
def test_a_column_with_one_part_on_a_device_is_refused(name: str, device: Pair) -> None:
    for title, part in MIXED:
        doing(f"{part} of {title}")
        foreign = Foreign(FOREIGN[title], at("end"), **{part: on(device)})
        with pytest.raises((DeviceError, ProducerError), match=r"the host cannot read|the parts lie apart"):
            READERS[name](foreign)


@on_devices
@readers
@in_a_child
def test_a_column_with_one_chunk_on_a_device_is_refused(name: str, device: Pair) -> None:
    for wheres in ((at("end"), on(device)), (on(device), at("end"))):
        chunks = tuple(Foreign(NUMBER, where) for where in wheres)
        with pytest.raises(DeviceError, match="the host cannot read"):
            READERS[name](Foreign(NUMBER, on(device), chunks))


@on_devices
@in_a_child
def test_a_column_of_a_device_is_taken_as_it_is(device: Pair) -> None:
    for title, kind in FOREIGN.items():
        doing(title)
        column = as_column(Foreign(kind, on(device)))
        assert (column.size(), column.device, column.num_chunks()) == (len(kind.values), device, 1)
        assert {buffer.ptr for buffer in column.buffers.values()} == {UNREADABLE}
        assert as_table(Frame(Foreign(kind, on(device)))).device == device
        repr(column)


@on_host
@readers
@of_every_kind
@in_a_child
def test_all_elements_and_no_byte_beside_them(kind: Kind, name: str, device: Pair) -> None:
    for side in ("end", "start"):
        doing(side)
        assert alike(READERS[name](Foreign(kind, at(side, device)))) == kind.values


@both_readers
@of_every_kind
def test_a_byte_too_far_kills(kind: Kind, name: str) -> None:
    assert dies(lambda: READERS[name](Foreign(kind, at("end", past=1))))


@both_readers
@of_every_kind
def test_the_same_over_unreadable_memory_kills(kind: Kind, name: str) -> None:
    assert dies(lambda: READERS[name](Foreign(kind, on((3, 0)))))


# Arrow's structs.

NUMBERS = Lie("l", 3, [None, UNREADABLE])
CHILD = Lie("c", 9, [None, UNREADABLE], name="a")
TAKEN = {
    "int64": NUMBERS,
    "nulls to count": Lie("l", 3, [UNREADABLE, UNREADABLE], null_count=-1),
    "nulls": Lie("l", 3, [UNREADABLE, UNREADABLE], null_count=2),
    "behind others": Lie("l", 3, [UNREADABLE, UNREADABLE], offset=5, null_count=-1),
    "bits": Lie("b", 3, [None, UNREADABLE]),
    "decimals": Lie("d:5,2", 3, [None, UNREADABLE]),
    "times": Lie("tsu:UTC", 3, [None, UNREADABLE]),
    "list": Lie("+l", 3, [UNREADABLE, UNREADABLE], null_count=2, children=[CHILD]),
    "list of three": Lie("+w:3", 3, [UNREADABLE], null_count=-1, children=[CHILD]),
    "struct": Lie("+s", 3, [None], children=[CHILD, NUMBERS]),
    "struct with nulls": Lie("+s", 3, [UNREADABLE], null_count=-1, children=[CHILD, NUMBERS]),
    "sparse union": Lie("+us:0,1", 3, [UNREADABLE], children=[CHILD, NUMBERS]),
    "dense union": Lie("+ud:0,1", 3, [UNREADABLE, UNREADABLE], children=[CHILD, NUMBERS]),
    "runs": Lie("+r", 3, children=[Lie("i", 2, [None, UNREADABLE]), Lie("c", 2, [None, UNREADABLE])]),
    "categories": Lie("c", 3, [None, UNREADABLE], dictionary=NUMBERS),
}
# How many characters there are stands in the memory.
TEXT = {
    **{form: Lie(form, 2, [None, UNREADABLE, UNREADABLE]) for form in ("u", "U", "z", "Z")},
    **{form: Lie(form, 2, [None, UNREADABLE, UNREADABLE, UNREADABLE]) for form in ("vu", "vz")},
    "in a struct": Lie("+s", 2, [None], children=[CHILD, Lie("u", 2, [None, UNREADABLE, UNREADABLE])]),
    "of categories": Lie("c", 3, [None, UNREADABLE], dictionary=Lie("u", 2, [None, UNREADABLE, UNREADABLE])),
}


def by_array(lie: Lie, device: Pair) -> Any:
    log = Log()
    pair = arrow.schema(lie, log), arrow.device_array(lie, log, device)
    return SimpleNamespace(log=log, __arrow_c_device_array__=lambda: pair)


def by_stream(lie: Lie, device: Pair) -> Any:
    log = Log()
    stream = arrow.stream(Script(lie, [lie], device=device[0]), log)
    return SimpleNamespace(log=log, __arrow_c_device_stream__=lambda: stream)


ways = pytest.mark.parametrize("way", [by_array, by_stream], ids=["array", "stream"])


@on_devices
@ways
@in_a_child
def test_what_arrow_has_on_a_device_is_taken_as_it_is(way: Callable[[Lie, Pair], Any], device: Pair) -> None:
    for title, lie in TAKEN.items():
        doing(title)
        column = as_column(way(lie, device))
        assert (column.size(), column.device[0], column.dtype.format) == (3, device[0], lie.format)
        repr(column)
        assert column.null_count in {0, None, 2}
        column[1:].__arrow_c_device_array__()
        with pytest.raises(DeviceError):
            column.tolist()
        if lie.format == "+s" and not lie.null_count:
            assert as_table(way(lie, device)).device[0] == device[0]


@on_devices
@ways
@in_a_child
def test_text_of_arrow_on_a_device_is_refused_and_released(way: Callable[[Lie, Pair], Any], device: Pair) -> None:
    for title, lie in TEXT.items():
        doing(title)
        given = way(lie, device)
        with pytest.raises(DeviceError):
            as_column(given)
        assert given.log.arrays[-1] == ""


@pytest.mark.parametrize("lie", [*TAKEN.values(), *TEXT.values()], ids=[*TAKEN, *TEXT])
def test_the_same_said_to_be_the_hosts_kills(lie: Lie) -> None:
    assert dies(lambda: as_column(by_array(lie, (3, 0))).tolist())


# DLPack's structs, and dicts.


@on_devices
@in_a_child
def test_tensors_of_a_device_are_taken_as_they_are(device: Pair) -> None:
    for fields in (
        {},
        {"versioned": False},
        {"dtype": (2, 64, 1), "shape": (3,), "strides": (-2,)},
        {"shape": (0,)},
    ):
        doing(str(fields))
        producer: Any = capsules.Producer(device=device, data=UNREADABLE, **fields)
        column = as_column(producer)
        assert column.device == device
        repr(column)
        if column.size():
            with pytest.raises(DeviceError):
                column.tolist()
        if fields.get("strides") is None:
            assert (as_buffer(producer).ptr, as_buffer(producer).device) == (UNREADABLE, device)


def cuda(**fields: Any) -> Any:
    said = {"version": 3, "shape": (3,), "typestr": "<i8", "data": (UNREADABLE, False), **fields}
    return SimpleNamespace(__cuda_array_interface__=said)


CUDA = {
    "C order": {},
    "backwards": {"strides": (-8,)},
    "every other": {"strides": (16,)},
    "foreign order": {"typestr": ">i8"},
    "mask of bytes": {"mask": cuda(typestr="|b1")},
    "mask of bits": {"mask": cuda(typestr="<t1")},
    "nothing": {"shape": (0,), "data": (0, False)},
}


@pytest.mark.parametrize("name", CUDA)
@in_a_child
def test_the_cuda_array_interface_is_taken_as_it_is(name: str) -> None:
    column = as_column(cuda(**CUDA[name]))
    repr(column)
    assert (column.size(), column.device[0]) == (0 if name == "nothing" else 3, 2)
    assert column.null_count == (None if "mask" in name else 0)
    if column.size():
        with pytest.raises(DeviceError):
            column.tolist()


@pytest.mark.parametrize("take", [as_buffer, as_column], ids=["as_buffer", "as_column"])
@in_a_child
def test_a_stream_that_nobody_can_wait_for_is_refused(take: Callable[[Any], Any]) -> None:
    with pytest.raises(DeviceError, match="CUDA runtime"):
        take(cuda(stream=1))
    with pytest.raises(ProducerError, match="stream"):
        take(cuda(stream=0))
