"""Arrow in: what the structs say, and who releases when, against data written by hand and against peers."""

import ctypes
import gc
import struct
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from buflend.shared import Device, ProducerError
from buflend.shared.arrow_import import Imported, read_array, read_schema

from . import arrow_producer as make
from .arrow_producer import Lie, Log


def read(lie: Lie, log: Log | None = None) -> Imported:
    log = log or Log()
    return read_array(make.schema(lie, log), make.array(lie, log))


def content(array: Imported, name: str) -> bytes:
    return ctypes.string_at(*array.buffers[name])


def sizes(array: Imported) -> dict[str, int]:
    return {name: size for name, (_, size) in array.buffers.items()}


def ints(*values: int, code: str = "i") -> bytes:
    return struct.pack(f"={len(values)}{code}", *values)


# Format -> buffers of two elements behind one that is skipped, and the bytes that the format's layout asks for.
V = b"\x07"
FLAT: dict[str, tuple[list[Any], dict[str, int]]] = {
    "n": ([], {}),
    "b": ([V, b"\x05"], {"validity": 1, "data": 1}),
    **{code: ([V, bytes(3)], {"validity": 1, "data": 3}) for code in "cC"},
    **{code: ([V, bytes(6)], {"validity": 1, "data": 6}) for code in "sSe"},
    **{code: ([V, bytes(12)], {"validity": 1, "data": 12}) for code in ("i", "I", "f", "tdD", "tts", "ttm", "tiM")},
    **{code: ([V, bytes(24)], {"validity": 1, "data": 24}) for code in ("l", "L", "g", "tdm", "ttu", "ttn", "tiD")},
    **{code: ([V, bytes(24)], {"validity": 1, "data": 24}) for code in ("tss:", "tsm:", "tsu:UTC", "tsn:Asia/Tokyo")},
    **{code: ([V, bytes(24)], {"validity": 1, "data": 24}) for code in ("tDs", "tDm", "tDu", "tDn")},
    "tin": ([V, bytes(48)], {"validity": 1, "data": 48}),
    "d:9,2,32": ([V, bytes(12)], {"validity": 1, "data": 12}),
    "d:18,2,64": ([V, bytes(24)], {"validity": 1, "data": 24}),
    "d:38,2": ([V, bytes(48)], {"validity": 1, "data": 48}),
    "d:76,-2,256": ([V, bytes(96)], {"validity": 1, "data": 96}),
    "w:5": ([V, bytes(15)], {"validity": 1, "data": 15}),
    "w:0": ([V, None], {"validity": 1}),
    **{code: ([V, ints(0, 2, 3, 7), b"abcdefg"], {"validity": 1, "offsets": 16, "data": 7}) for code in "uz"},
    **{code: ([V, ints(0, 2, 3, 7, code="q"), b"abcdefg"], {"validity": 1, "offsets": 32, "data": 7}) for code in "UZ"},
    **{code: ([V, bytes(48), None], {"validity": 1, "data": 48}) for code in ("vu", "vz")},
}


@pytest.mark.parametrize("text", FLAT)
def test_the_bytes_of_each_buffer_count_what_is_skipped(text: str) -> None:
    buffers, expected = FLAT[text]
    array = read(Lie(text, 2, buffers, offset=1, name="x", flags=2))
    assert sizes(array) == expected
    assert (array.length, array.offset, array.device) == (2, 1, Device(1, 0))
    assert array.field[:4] == (text, "x", 2, ())
    assert array.null_count == (2 if text == "n" else 0)
    for name, buffer in zip(expected, buffers, strict=False):
        assert content(array, name) == buffer


def test_every_row_of_nesting() -> None:
    item = Lie("i", 6, [None, ints(*range(6))])
    one = {"length": 2, "offset": 1}
    for text, buffers, child, expected in [
        ("+l", [None, ints(0, 1, 3, 6)], item, {"offsets": 16}),
        ("+L", [None, ints(0, 1, 3, 6, code="q")], item, {"offsets": 32}),
        ("+vl", [None, ints(4, 2, 0), ints(1, 2, 3)], item, {"offsets": 12, "sizes": 12}),
        ("+vL", [None, ints(4, 2, 0, code="q"), ints(1, 2, 3, code="q")], item, {"offsets": 24, "sizes": 24}),
        ("+w:2", [b"\x07"], item, {"validity": 1}),
        ("+w:0", [None], item, {}),
    ]:
        array = read(Lie(text, buffers=buffers, children=[child], **one))  # type: ignore[arg-type]
        assert sizes(array) == expected, text
        (read_child,) = array.children
        assert (read_child.length, read_child.offset, content(read_child, "data")) == (6, 0, ints(*range(6)))
        assert read_child.owner is array.owner


def test_a_map_and_unions_and_runs() -> None:
    entries = Lie("+s", 3, [None], children=[Lie("c", 3, [None, b"abc"], name="key"), Lie("c", 3, [None, b"xyz"])])
    array = read(Lie("+m", 2, [None, ints(0, 1, 3)], children=[entries], flags=4))
    assert sizes(array) == {"offsets": 12}
    assert content(array.children[0].children[1], "data") == b"xyz"
    assert array.field.flags == 4

    parts = [Lie("c", 3, [None, b"abc"]), Lie("i", 3, [None, ints(1, 2, 3)])]
    sparse = read(Lie("+us:0,5", 2, [b"\x05\x00\x05"], offset=1, children=parts))
    assert content(sparse, "type_ids") == b"\x05\x00\x05"
    assert sparse.null_count == 0
    dense = read(Lie("+ud:0,5", 2, [b"\x05\x00\x05", ints(0, 0, 1)], offset=1, null_count=-1, children=parts))
    assert sizes(dense) == {"type_ids": 3, "offsets": 12}
    assert dense.null_count == 0

    runs = [Lie("s", 2, [None, ints(3, 7, code="h")]), Lie("u", 2, [None, ints(0, 1, 2), b"ab"])]
    array = read(Lie("+r", 5, offset=2, children=runs))
    assert (array.buffers, array.length, array.offset) == ({}, 5, 2)
    assert content(array.children[1], "data") == b"ab"


def test_sizes_of_a_views_buffers_are_64_bits() -> None:
    long = b"a text of more than twelve bytes"
    view = struct.pack("=i4sii", len(long), long[:4], 1, 0)
    array = read(Lie("vu", 1, [None, view, b"", long, ints(0, len(long), code="q")]))
    assert sizes(array) == {"data": 16}
    assert [size for _, size in array.variadic] == [0, len(long)]
    assert ctypes.string_at(*array.variadic[1]) == long


def test_dictionaries_are_arrays_of_their_own() -> None:
    values = Lie("u", 2, [None, ints(0, 1, 3), b"abb"], name="values")
    array = read(Lie("c", 3, [b"\x03", b"\0\1\x7f"], null_count=1, dictionary=values, flags=3))
    assert array.dictionary is not None
    assert content(array.dictionary, "data") == b"abb"
    assert array.field.dictionary == array.dictionary.field
    assert array.field.flags == 3
    assert array.null_count == 1


def test_metadata_is_kept_as_it_stands_and_unknown_flags_do_not_matter() -> None:
    pairs = [b"ARROW:extension:name", b"uuid", b"empty", b""]
    metadata = ints(2) + b"".join(ints(len(each)) + each for each in pairs)
    log = Log()
    field = read_schema(make.schema(Lie("w:16", 0, metadata=metadata, flags=-(2**63) + 2, name=None), log))
    assert field.metadata == metadata
    assert (field.flags, field.name) == (-(2**63) + 2, "")
    assert log.schemas == ["None"]


@pytest.mark.parametrize("text", FLAT)
def test_nothing_needs_no_buffers(text: str) -> None:
    array = read(Lie(text, 0, [None] * len(FLAT[text][0]), null_count=-1))
    assert (array.buffers, array.variadic, array.null_count, array.length) == ({}, (), 0, 0)


def test_an_empty_text_may_start_anywhere_and_point_nowhere() -> None:
    array = read(Lie("u", 0, [None, ints(123), None]))
    assert sizes(array) == {"offsets": 4}
    array = read(Lie("u", 0, [1, 4, 1]))  # what an empty vector of Rust points at
    assert array.buffers == {}
    array = read(Lie("u", 2, [None, ints(0, 0, 0), None]))
    assert sizes(array) == {"offsets": 12}


def test_unknown_nulls_without_a_bitmap_are_none() -> None:
    assert read(Lie("c", 2, [None, b"ab"], null_count=-1)).null_count == 0
    assert read(Lie("c", 2, [b"\1", b"ab"], null_count=-1)).null_count == -1


def table(**options: Any) -> Lie:
    columns = [
        Lie("c", 6, [b"\x3b", b"abcdef"], null_count=1, name="a", offset=0),
        Lie("u", 5, [None, ints(0, 0, 1, 2, 3, 4), b"wxyz"], name="b"),
        Lie("+s", 5, [None], children=[Lie("c", 5, [None, b"stuvw"], name="d")], name="c"),
    ]
    return Lie("+s", 3, [None], offset=2, children=columns, name="root", **options)


def test_a_plain_struct_is_taken_apart() -> None:
    log = Log()
    array = read(table(), log)
    assert log.arrays == ["root"]  # at once, and before any child
    assert (array.offset, array.length, array.buffers, array.null_count) == (0, 3, {}, 0)
    a, b, c = array.children
    assert [child.length for child in array.children] == [3, 3, 3]
    assert [child.offset for child in array.children] == [2, 2, 2]
    assert (a.null_count, b.null_count, c.null_count) == (-1, 0, 0)
    assert content(a, "data") == b"abcde"
    assert sizes(b) == {"offsets": 24, "data": 4}
    assert (c.children[0].length, c.children[0].offset) == (5, 0)  # nested: as it stands
    assert c.children[0].owner is c.owner
    assert len({id(child.owner) for child in array.children}) == 3

    returned = weakref.ref(b.owner)
    assert log.arrays == ["root"]
    array = array._replace(children=())
    del b
    assert returned() is None
    assert log.arrays == ["root", "b"]
    assert content(a, "data") == b"abcde"  # a released buffer would read 0xDD
    assert content(c.children[0], "data") == b"stuvw"
    del c
    assert log.arrays == ["root", "b", "c", "d"]
    del a
    assert log.arrays == ["root", "b", "c", "d", "a"]


def test_what_was_not_cut_keeps_its_count() -> None:
    columns = [Lie("c", 2, [b"\1", b"ab"], null_count=1), Lie("n", 2, null_count=2)]
    array = read(Lie("+s", 2, [None], children=columns))
    assert [child.null_count for child in array.children] == [1, 2]
    array = read(Lie("+s", 1, [None], offset=1, children=columns))
    assert [child.null_count for child in array.children] == [-1, 1]


@pytest.mark.parametrize(
    ("null_count", "bitmap", "apart"),
    [
        (-1, None, True),
        (0, b"\x00", True),  # the producer is believed
        (-1, b"\x1c", True),  # bits 2 to 4 are set, others are not its own
        (-1, b"\x14", False),
        (1, b"\x14", False),
        (1, b"\x1c", False),  # what it announces, whatever the bits say
        (-1, b"\x0c", False),
    ],
)
def test_a_struct_is_taken_apart_unless_it_has_nulls(null_count: int, bitmap: bytes | None, apart: bool) -> None:
    log = Log()
    lie = table()
    lie.null_count, lie.buffers = null_count, [bitmap]
    array = read(lie, log)
    owners = {id(child.owner) for child in array.children}
    if apart:
        assert log.arrays == ["root"]
        assert id(array.owner) not in owners
        assert array.buffers == {}
    else:
        assert log.arrays == []
        assert owners == {id(array.owner)}
        assert (array.offset, array.length, array.children[0].offset, array.children[0].length) == (2, 3, 0, 6)
        assert array.null_count == null_count
        assert content(array, "validity") == bitmap


def test_a_bitmap_is_looked_at_from_its_first_bit_to_its_last() -> None:
    for length in range(1, 40):
        for offset in range(12):
            own = ((1 << length) - 1) << offset
            for missing in [None, *range(offset, offset + length)]:
                bitmap = (own if missing is None else own & ~(1 << missing)).to_bytes(8, "little")
                log = Log()
                read(Lie("+s", length, [bitmap], null_count=-1, offset=offset), log)
                assert log.arrays == [""]
                array = read(Lie("+s", length, [bitmap], null_count=-1, offset=offset), Log())
                assert array.null_count == (0 if missing is None else -1)


def test_a_released_array_is_released_once() -> None:
    log = Log()
    array = read(Lie("c", 2, [None, b"ab"], name="x"), log)
    assert log.schemas == ["x"]
    owner = array.owner
    del array
    assert log.arrays == []
    owner.release()
    owner.release()
    del owner
    gc.collect()
    assert log.arrays == ["x"]
    assert log.schemas == ["x"]


def test_a_capsule_is_consumed_once() -> None:
    log, lie = Log(), Lie("c", 2, [None, b"ab"])
    schema, array = make.schema(lie, log), make.array(lie, log)
    first = read_array(schema, array)
    with pytest.raises(ProducerError, match="already consumed"):
        read_schema(schema)
    with pytest.raises(ProducerError, match="already consumed"):
        read_array(make.schema(lie, log), array)
    assert content(first, "data") == b"ab"
    del schema, array
    assert log.arrays == []
    del first
    assert log.arrays == [""]


def test_an_owner_is_released_with_an_exception_pending_and_keeps_it() -> None:
    log = Log()

    def fail() -> None:
        held = read(Lie("c", 1, [None, b"a"], name="x"), log)
        del held
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert log.arrays == ["x"]
    holder = [read(Lie("c", 1, [None, b"a"], name="y"), log)]
    with pytest.raises(ZeroDivisionError):
        [holder.pop() and 1 // 0]  # the array goes while the error is on its way
    gc.collect()
    assert log.arrays == ["x", "y"]


LEAVE = """
import atexit, sys
sys.path[:0] = {paths!r}
from buflend.shared.arrow_import import read_array, read_stream
{make}
held = sys.held = [made()]
atexit.register(lambda held=held: None)
class Late:
    def __del__(self, held=made()):
        held.owner
sys.late = Late()
cycle = [made()]
cycle.append(cycle)
print("left")
"""


BY_CALLBACKS = """
from tests import arrow_producer as make
lie, log = make.Lie('c', 1, [None, b'a']), make.Log()
made = lambda: read_array(make.schema(lie, log), make.array(lie, log))
"""
BY_PYARROW = """
import pyarrow as pa
batch = pa.record_batch({'a': [1], 'b': ['x']})
made = lambda: read_array(*batch.__arrow_c_array__())
"""


@pytest.mark.parametrize(
    "made",
    [
        BY_CALLBACKS,
        pytest.param(BY_PYARROW, marks=pytest.mark.peers),
    ],
    ids=["callbacks", "pyarrow"],
)
def test_the_interpreter_leaves_while_arrays_are_held(made: str, roots: list[str]) -> None:
    if "pyarrow" in made:
        pytest.importorskip("pyarrow")
    code = LEAVE.format(paths=[*roots, str(Path(__file__).resolve().parent.parent)], make=made)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
