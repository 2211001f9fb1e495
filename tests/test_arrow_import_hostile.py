"""Arrow in: every lie that a struct can tell is refused, or read right, and released once.

The lies that point somewhere are told in processes of their own too: a crash is a failure of the test, not its end.
"""

import contextlib
import ctypes
import gc
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.shared import ProducerError, arrow_schema
from buflend.shared.arrow_import import read_array, read_device_array, read_schema, read_stream

from . import arrow_producer as make
from .arrow_producer import Array, Lie, Log, Schema

MOST = 2**63 - 1


def ints(*values: int, code: str = "i") -> bytes:
    return struct.pack(f"={len(values)}{code}", *values)


def byte(length: int = 2, **options: Any) -> Lie:
    return Lie("c", length, [None, bytes(length)], **options)


def text(*offsets: int, data: Any = b"abc", **options: Any) -> Lie:
    return Lie("u", len(offsets) - 1, [None, ints(*offsets), data], **options)


def struct_of(*children: Lie, length: int = 2, **options: Any) -> Lie:
    return Lie("+s", length, [None], children=list(children), **options)


def under(levels: int) -> Lie:
    inner = byte()
    for _ in range(levels):
        inner = struct_of(inner)
    return inner


def pairs(*numbers: int) -> bytes:
    return ints(*numbers)


# What is wrong -> the array, and a word of the error.
LIES: dict[str, tuple[Callable[[], Lie], str]] = {
    # section 7, step 2: numbers
    "length -1": (lambda: byte(array={"length": -1}), "(length, offset)"),
    "offset -1": (lambda: byte(array={"offset": -1}), "(length, offset)"),
    "null_count -2": (lambda: byte(array={"null_count": -2}), "null_count"),
    "null_count above length": (lambda: Lie("c", 2, [b"\0", b"ab"], null_count=3), "null_count"),
    "null_count without a bitmap": (lambda: byte(array={"null_count": 1}), "null_count"),
    "null_count of a union": (lambda: Lie("+us:", 1, [b"\0"], null_count=1), "null_count"),
    "offset and length overflow": (lambda: byte(array={"length": MOST, "offset": 1}), "length"),
    "bytes overflow": (lambda: Lie("l", 2, [None, bytes(16)], array={"length": MOST // 4}), "data"),
    "behind the last address": (lambda: Lie("c", 2, [None, 2**64 - 1]), "data"),
    "n_buffers 1": (lambda: byte(array={"n_buffers": 1}), "n_buffers"),
    "n_buffers 3": (lambda: byte(array={"n_buffers": 3}), "n_buffers"),
    "n_buffers -1": (lambda: byte(array={"n_buffers": -1}), "n_buffers"),
    "n_buffers of a view": (lambda: Lie("vu", 2, [None, bytes(32)]), "n_buffers"),
    "endless buffers of a view": (
        lambda: Lie("vu", 2, [None, bytes(32), None], array={"n_buffers": 2**40}),
        "n_buffers",
    ),
    "null type with buffers": (lambda: Lie("n", 2, [None, None]), "n_buffers"),
    "union with a bitmap": (lambda: Lie("+us:", 2, [None, b"\0\0"]), "n_buffers"),
    "n_children of the array": (lambda: struct_of(byte(), array={"n_children": 2}), "n_children"),
    "n_children -1": (lambda: struct_of(byte(), array={"n_children": -1}), "n_children"),
    "n_children of the schema": (lambda: struct_of(byte(), schema={"n_children": 2**40}), "n_children"),
    "n_children below 0": (lambda: struct_of(byte(), schema={"n_children": -1}), "n_children"),
    "children of a number": (lambda: Lie("c", 2, [None, b"ab"], children=[byte()]), "n_children"),
    "list of nothing": (lambda: Lie("+l", 1, [None, ints(0, 0)]), "n_children"),
    "union of more ids": (lambda: Lie("+us:0", 1, [b"\0"], children=[byte(), byte()]), "n_children"),
    "64 levels and one": (lambda: under(64), "64 levels"),
    "dictionary in the schema alone": (lambda: byte(dictionary=byte(), array={"dictionary": None}), "dictionary"),
    "dictionary in the array alone": (lambda: byte(dictionary=byte(), schema={"dictionary": None}), "dictionary"),
    "dictionary of floats": (lambda: Lie("f", 2, [None, bytes(8)], dictionary=byte()), "dictionary"),
    "dictionary of dates": (lambda: Lie("tdD", 2, [None, bytes(8)], dictionary=byte()), "dictionary"),
    # step 3: pointers
    "no buffers": (lambda: byte(array={"buffers": None}), "buffers"),
    "no data": (lambda: Lie("c", 2, [None, None]), "data"),
    "data in the first page": (lambda: Lie("c", 2, [None, 64]), "data"),
    "no offsets": (lambda: Lie("u", 2, [None, None, b"abc"]), "offsets"),
    "no characters": (lambda: text(0, 1, 2, data=None), "data"),
    "no sizes of lists": (lambda: Lie("+vl", 1, [None, ints(0), None], children=[byte()]), "sizes"),
    "no type ids": (lambda: Lie("+us:0", 1, [None], children=[byte()]), "type_ids"),
    "no children": (lambda: struct_of(byte(), array={"children": None}), "children"),
    "no child": (lambda: struct_of(byte(), array={"children": make.keep(ctypes.c_void_p())}), "children"),
    "no children of the schema": (lambda: struct_of(byte(), schema={"children": None}), "children"),
    "no child of the schema": (
        lambda: struct_of(byte(), schema={"children": make.keep(ctypes.c_void_p())}),
        "children",
    ),
    "a released child": (lambda: struct_of(byte(array={"release": None})), "release"),
    "a released child of the schema": (lambda: struct_of(byte(schema={"release": None})), "release"),
    "a released dictionary": (lambda: byte(dictionary=byte(array={"release": None})), "release"),
    "first offset below 0": (lambda: text(-1, 1, 2), "offset"),
    "last offset below 0": (lambda: text(0, 1, -2), "offset"),
    "last offset before the first": (lambda: text(3, 2, 1), "offset"),
    "large offsets below 0": (lambda: Lie("Z", 1, [None, ints(0, -1, code="q"), b"abc"]), "offset"),
    "large offset overflows": (lambda: Lie("Z", 1, [None, ints(0, MOST, code="q"), 2**63]), "data"),
    "no size of a view's buffers": (lambda: Lie("vu", 1, [None, bytes(16), b"abc", None]), "sizes"),
    "size below 0": (lambda: Lie("vu", 1, [None, bytes(16), b"abc", ints(-1, code="q")]), "view"),
    "size without a buffer": (lambda: Lie("vu", 1, [None, bytes(16), None, ints(1, code="q")]), "view"),
    "size overflows": (lambda: Lie("vu", 1, [None, bytes(16), b"abc", ints(MOST, code="q")]), "view"),
    # lengths of children
    "a short child": (lambda: struct_of(byte(1)), "length"),
    "a short child behind an offset": (lambda: struct_of(byte(3), offset=2), "length"),
    "a short child under nulls": (lambda: Lie("+s", 2, [b"\1"], null_count=1, children=[byte(1)]), "length"),
    "a bitmap for more than the children": (
        lambda: Lie("+s", 2**50, [b"\1"], null_count=-1, children=[byte(1)]),
        "length",
    ),
    "a short nested child": (lambda: struct_of(struct_of(byte(3), offset=2)), "length"),
    "a short fixed list": (lambda: Lie("+w:3", 2, [None], children=[byte(5)]), "length"),
    "a short fixed list behind an offset": (lambda: Lie("+w:3", 1, [None], offset=1, children=[byte(5)]), "length"),
    "a fixed list overflows": (
        lambda: Lie("+w:2147483647", 1, [None], children=[byte()], array={"length": MOST // 2}),
        "length",
    ),
    "a short list": (lambda: Lie("+l", 2, [None, ints(0, 1, 3)], children=[byte()]), "length"),
    "a list that falls": (lambda: Lie("+l", 2, [None, ints(2, 1, 0)], children=[byte()]), "offset"),
    "a short large list": (lambda: Lie("+L", 1, [None, ints(0, MOST, code="q")], children=[byte()]), "length"),
    "a short map": (lambda: Lie("+m", 1, [None, ints(0, 3)], children=[struct_of(byte(), byte())]), "length"),
    "a map of numbers": (lambda: Lie("+m", 1, [None, ints(0, 1)], children=[byte()]), "keys and values"),
    "a map of three": (lambda: Lie("+m", 1, [None, ints(0, 1)], children=[struct_of(byte(), byte(), byte())]), "keys"),
    "a short sparse union": (lambda: Lie("+us:0,1", 3, [bytes(3)], children=[byte(3), byte(2)]), "length"),
    "run ends of bytes": (lambda: Lie("+r", 2, children=[byte(), byte()]), "run ends"),
    "runs that end early": (lambda: Lie("+r", 4, children=[Lie("i", 2, [None, ints(1, 3)]), byte()]), "run end"),
    "runs behind an offset": (
        lambda: Lie("+r", 2, offset=2, children=[Lie("i", 2, [None, ints(1, 3)]), byte()]),
        "run",
    ),
    "no runs": (lambda: Lie("+r", 1, children=[Lie("i", 0, [None, None]), byte(0)]), "runs"),
    "more runs than values": (lambda: Lie("+r", 3, children=[Lie("i", 2, [None, ints(1, 3)]), byte(1)]), "values"),
    "null run ends": (
        lambda: Lie("+r", 3, children=[Lie("i", 2, [b"\1", ints(1, 3)], null_count=1), byte()]),
        "without nulls",
    ),
    "run ends that may be null": (
        lambda: Lie("+r", 3, children=[Lie("i", 2, [b"\1", ints(1, 3)], null_count=-1), byte()]),
        "without nulls",
    ),
    # texts of the schema
    "no format": (lambda: byte(schema={"format": None}), "format"),
    "an empty format": (lambda: Lie("", 1, [None, b"a"]), "format"),
    "an unknown format": (lambda: Lie("x", 1, [None, b"a"]), "format"),
    "no colon": (lambda: Lie("tsu", 1, [None, bytes(8)]), "format"),
    "a format that is not UTF-8": (lambda: Lie(b"ts\xff:", 1, [None, bytes(8)]), "UTF-8"),
    "an endless format": (lambda: Lie("tsu:" + "x" * 5000, 1, [None, bytes(8)]), "format"),
    "a name that is not UTF-8": (lambda: byte(name=b"\xff"), "UTF-8"),
    "an endless name": (lambda: byte(name="x" * (2**20 + 1)), "name"),
    "metadata below 0": (lambda: byte(metadata=pairs(-1)), "metadata"),
    "a key below 0": (lambda: byte(metadata=pairs(1, -1)), "metadata"),
    "a value below 0": (lambda: byte(metadata=pairs(1, 0, -5)), "metadata"),
    "endless metadata": (lambda: byte(metadata=pairs(1, 2**31 - 1)), "metadata"),
}


def told(lie: Lie) -> tuple[Log, str | None]:
    """Return what was released once all is gone, and the error."""
    log = Log()
    error = None
    try:
        read_array(make.schema(lie, log), make.array(lie, log))
    except ProducerError as caught:
        error = str(caught)
    gc.collect()
    return log, error


def count(lie: Lie, kind: str) -> int:
    """Count the structs that a producer's release visits."""
    nested = [*lie.children, *([lie.dictionary] if lie.dictionary else [])]
    return 1 + sum(count(each, kind) for each in nested if "release" not in getattr(each, kind))


@pytest.mark.parametrize("what", LIES)
def test_lies_are_refused_and_released_once(what: str) -> None:
    build, word = LIES[what]
    lie = build()
    log, error = told(lie)
    assert error is not None
    assert word in error
    for names, kind in [(log.arrays, "array"), (log.schemas, "schema")]:
        assert not [name for name in names if name.startswith("?")]
        assert len(names) == count(lie, kind)


def test_lies_crash_no_process() -> None:
    root = Path(__file__).resolve().parent.parent
    code = (
        "import sys, faulthandler; faulthandler.enable()\n"
        f"sys.path[:0] = {[*sys.path, str(root)]!r}\n"
        "from tests.test_arrow_import_hostile import LIES, told\n"
        "for what, (build, word) in LIES.items():\n"
        "    print(what, flush=True)\n"
        "    log, error = told(build())\n"
        "    assert error and word in error, error\n"
        "print('all told')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    assert done.stdout.endswith("all told\n")


def test_64_levels_are_read() -> None:
    log, error = told(under(63))
    assert error is None
    assert len(log.arrays) == len(log.schemas) == 64


def test_a_schema_that_holds_itself_is_refused() -> None:
    for children in (1, 2):
        loop = Schema()
        make.fill_schema(loop, struct_of(), Log())
        address = make.keep(loop)
        loop.n_children = children
        loop.children = make.keep((ctypes.c_void_p * children)(*[address] * children))
        with pytest.raises(ProducerError, match="64 levels"):
            read_schema(make.wrap(loop))
        loop.n_children = 0


def test_a_schema_that_doubles_at_each_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_schema, "MOST_PARTS", 1000)
    address = make.keep(Schema())
    make.fill_schema(Schema.from_address(address), byte(), Log())
    for _ in range(40):
        outer = make.keep(Schema())
        make.fill_schema(Schema.from_address(outer), struct_of(), Log())
        Schema.from_address(outer).n_children = 2
        Schema.from_address(outer).children = make.keep((ctypes.c_void_p * 2)(address, address))
        address = outer
    with pytest.raises(ProducerError, match="1000 types in all"):
        read_schema(make.wrap(Schema.from_address(address)))


def test_a_fault_in_the_last_child_returns_those_before() -> None:
    log = Log()
    lie = struct_of(byte(name="a"), text(0, 1, 2, name="b"), byte(1, name="short"), byte(name="d"), name="root")
    with pytest.raises(ProducerError, match="'short'"):
        read_array(make.schema(lie, log), make.array(lie, log))
    gc.collect()
    assert sorted(log.arrays) == ["a", "b", "d", "root", "short"]


@pytest.mark.parametrize("given_", [None, 3, "arrow_array", b"arrow_schema", object()])
def test_what_is_no_capsule_is_refused(given_: object) -> None:
    log = Log()
    for read in (read_schema, read_stream):
        with pytest.raises(ProducerError, match="expected a capsule named"):
            read(given_)
    for take, array in [(read_array, make.array), (read_device_array, make.device_array)]:
        with pytest.raises(ProducerError, match="expected a capsule named 'arrow_schema'"):
            take(given_, array(byte(), log))
        with pytest.raises(ProducerError, match="expected a capsule named"):
            take(make.schema(byte(), log), given_)
    gc.collect()
    assert log.arrays == ["", ""]
    assert log.schemas == ["", ""]


def test_capsules_in_the_wrong_place_are_refused_and_stay_unused() -> None:
    log = Log()
    schema, array = make.schema(byte(), log), make.array(byte(), log)
    with pytest.raises(ProducerError, match="got b'arrow_schema', expected a capsule named 'arrow_array'"):
        read_array(array, schema)
    with pytest.raises(ProducerError, match="expected a capsule named 'arrow_device_array'"):
        read_device_array(schema, array)
    assert (log.schemas, log.arrays) == ([], [])
    assert read_array(schema, array).length == 2


def test_a_refused_schema_leaves_the_array_unused() -> None:
    log = Log()
    array = make.array(byte(), log)
    with pytest.raises(ProducerError, match="format"):
        read_array(make.schema(Lie("x", 2), log), array)
    assert log.arrays == []
    assert read_array(make.schema(byte(), log), array).length == 2


@pytest.mark.parametrize("device", [(0, 0), (-1, 0), (1 << 30, -5)])
def test_devices_that_cannot_be_are_refused(device: tuple[int, int]) -> None:
    log = Log()
    with pytest.raises(ProducerError, match="device_type"):
        read_device_array(make.schema(byte(), log), make.device_array(byte(), log, device))
    gc.collect()
    assert log.arrays == [""]


def test_a_release_that_forgets_to_clear_itself_is_called_once() -> None:
    calls = []
    release = make.address_of(make.Release(calls.append))
    lie = byte(schema={"release": release}, array={"release": release})
    array = read_array(make.schema(lie, Log()), make.array(lie, Log()))
    assert len(calls) == 1  # the schema; the destructor of its capsule has nothing left to do
    array.owner.release()
    del array
    gc.collect()
    assert len(calls) == 2


def test_a_schemas_release_that_uses_the_array_up_is_noticed() -> None:
    log = Log()
    array = make.array(byte(), log)
    taken = []

    def use(address: int) -> None:
        ctypes.c_void_p.from_address(address + Schema.release.offset).value = None
        taken.append(read_array(make.schema(byte(), log), array))

    schema = make.schema(byte(schema={"release": make.address_of(make.Release(use))}), log)
    with pytest.raises(ProducerError, match="already consumed"):
        read_array(schema, array)
    taken.clear()
    assert log.arrays == [""]


# Numbers that are near a border, as fields of the struct of an array that is otherwise right. Only a release that is
# NULL or right: a wrong one is called.
NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**20, 2**31 - 1, 2**31, 2**32, 2**62, MOST, -MOST - 1]),
)
NULLABLE = st.sampled_from([None, 1, 64, 4095])
FIELDS = {
    **dict.fromkeys(["length", "null_count", "offset", "n_buffers", "n_children"], NUMBERS),
    **dict.fromkeys(["buffers", "children", "dictionary"], st.none()),
    "release": st.none(),
}
WHOLE = [
    byte,
    lambda: text(0, 1, 3),
    lambda: struct_of(byte(4), text(0, 1, 2, 3, 3), length=3, offset=1),
    lambda: Lie("+l", 2, [b"\3", ints(0, 1, 3)], children=[byte(3)], null_count=-1),
    lambda: Lie("+w:2", 2, [None], children=[byte(4)]),
    lambda: Lie("vu", 2, [None, bytes(32), b"abc", ints(3, code="q")]),
    lambda: Lie("+r", 3, children=[Lie("i", 2, [None, ints(1, 3)]), byte()]),
    lambda: Lie("+us:0,1", 2, [bytes(2)], children=[byte(), byte()]),
    lambda: byte(dictionary=text(0, 1, 3)),
]


@given(
    build=st.sampled_from(WHOLE),
    where=st.integers(0, 3),
    changed=st.fixed_dictionaries({}, optional=FIELDS),
    buffer=st.integers(0, 4),
    pointer=NULLABLE,
)
def test_a_struct_with_any_numbers_is_refused_or_read_within_it(
    build: Callable[[], Lie], where: int, changed: dict[str, Any], buffer: int, pointer: int | None
) -> None:
    lie = build()
    parts = [lie, *lie.children, *([lie.dictionary] if lie.dictionary else [])]
    part = parts[where % len(parts)]
    if part.buffers and buffer < len(part.buffers):
        part.buffers[buffer] = pointer
    # A length or an offset that is too large is nothing that can be seen, where it is small: what is read of it, one
    # offset or bitmap, would be beyond the memory. All structs of this producer are followed by some room.
    if min(changed.get("length", 0), 2**20) + min(changed.get("offset", 0), 2**20) > 64:
        changed = {**changed, "length": MOST, "offset": MOST}
    part.array = changed
    log, _ = told(lie)
    assert not [name for name in log.arrays + log.schemas if name.startswith("?")]
    assert len(log.schemas) == count(lie, "schema")
    if "release" in changed and part is lie:
        assert log.arrays == []
    else:
        assert len(log.arrays) == count(lie, "array")


@given(formats=st.text(st.sampled_from("+wsud:tnD0123,-lLvmr"), max_size=8), children=st.integers(0, 2))
def test_any_format_is_refused_or_read(formats: str, children: int) -> None:
    log = Log()
    with contextlib.suppress(ProducerError):
        read_schema(make.schema(Lie(formats, 0, children=[byte() for _ in range(children)]), log))
    gc.collect()
    assert len(log.schemas) == 1 + children


def test_the_structs_here_have_the_sizes_of_the_specification() -> None:
    found = [ctypes.sizeof(each) for each in (Schema, Array, make.Stream, make.DeviceArray, make.DeviceStream)]
    assert found == [72, 80, 40, 128, 48]
