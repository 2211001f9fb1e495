"""Capsules of structs without parts are used again where nobody else holds them, and show nothing of before."""

import ctypes
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from buflend.shared import arrow_export, arrow_release
from buflend.shared.arrow_c import NULLABLE, ArrowArray, ArrowSchema, Data, Field
from buflend.shared.arrow_export import array_capsule, schema_capsule

from .only import Owner

pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
RELEASE_OF_ARRAY, NUMBER_OF_ARRAY, ARRAY = 64, 72, 80


@pytest.fixture(autouse=True)
def _all_is_released() -> Iterator[None]:
    arrow_export.flush()
    yield
    arrow_export.flush()
    assert not arrow_export._live, "something was not released"
    assert not arrow_release._blocks, "a capsule was not destroyed"


def numbers(returned: list[int], *values: int) -> Data:
    owner = Owner(returned, struct.pack(f"={len(values)}q", *values))
    return Data(len(values), (None, (owner.address, owner)))


def at(capsule: object) -> int:
    address: int = pointer(capsule, b"arrow_array")
    return address


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def values_at(address: int) -> list[int]:
    length, null_count, offset, n_buffers, n_children, buffers, children, dictionary = struct.unpack(
        "=5q3Q", ctypes.string_at(address, 64)
    )
    assert (null_count, offset, n_buffers, n_children, children, dictionary) == (0, 0, 2, 0, 0, 0)
    return list(struct.unpack(f"={length}q", ctypes.string_at(word(buffers + 8), 8 * length)))


def test_capsules_that_are_held_are_never_used_again() -> None:
    returned: list[int] = []
    held = [array_capsule(numbers(returned, i, i)) for i in range(100)]
    assert len({at(capsule) for capsule in held}) == 100
    assert len({word(at(capsule) + NUMBER_OF_ARRAY) for capsule in held}) == 100
    assert [values_at(at(capsule)) for capsule in held] == [[i, i] for i in range(100)]
    assert returned == []
    held.clear()
    arrow_export.flush()
    assert returned == [1] * 100


@pytest.mark.parametrize(
    "export",
    [
        lambda _: (schema_capsule(Field("l")),),
        lambda data: (array_capsule(data),),
        lambda data: arrow_export.exporter(Field("l"), data)(),
    ],
    ids=["schema", "array", "both"],
)
def test_a_capsule_is_nobody_elses_as_soon_as_it_is_parked(
    export: Callable[[Data], tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[object] = []

    class Parked(deque[Any]):
        """Another thread exports as soon as something is parked, and it is the turn of that."""

        def append(self, entry: Any) -> None:
            super().append(entry)
            del entry
            taken.append(arrow_release.next_flat(*self.next)[0])

        next: Any

    monkeypatch.setattr(arrow_release, "_ROUNDS", 1)
    for name, kind, own in (
        ("schemas", ArrowSchema, arrow_release.SCHEMA_RELEASE),
        ("arrays", ArrowArray, arrow_release.ARRAY_RELEASE),
    ):
        parked = Parked()
        parked.next = kind, parked, own
        monkeypatch.setattr(arrow_export, name, parked)
    returned: list[int] = []
    lent = export(numbers(returned, 1))
    assert len(taken) == len(lent)
    assert not [one for one in lent for other in taken if one is other], "two consumers got the same capsule"
    taken.clear()
    arrow_export.schemas.clear()
    arrow_export.arrays.clear()


@pytest.mark.parametrize("name", ["__getitem__", "popleft"])
def test_what_another_thread_takes_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def take(parked: "deque[Any]", *place: int) -> Any:
        parked.clear()
        return getattr(deque, name)(parked, *place)

    returned: list[int] = []
    taken = type("Taken", (deque,), {name: take})
    monkeypatch.setattr(arrow_export, "arrays", taken([None] * arrow_release._ROUNDS))
    assert values_at(at(array_capsule(numbers(returned, 7)))) == [7]
    arrow_export.arrays.clear()
    assert returned == [1]


def test_what_was_dropped_is_released_before_its_capsule_is_used_again() -> None:
    returned: list[int] = []
    capsules = set()
    for i in range(100):
        capsules.add(id(array_capsule(numbers(returned, i))))
        assert i - 8 <= len(returned) <= i
    assert len(capsules) < 20, "none was used again"
    arrow_export.flush()
    assert returned == [1] * 100


def test_no_capsule_is_made_where_one_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[int] = []
    for _ in range(4):
        array_capsule(numbers(returned, 1))
    made: list[object] = []
    make = arrow_release._new_capsule

    def counted(kind: Any) -> Any:
        made.append(kind)
        return make(kind)

    monkeypatch.setattr(arrow_release, "_new_capsule", counted)
    for _ in range(20):
        array_capsule(numbers(returned, 1))
    assert not made


def test_what_was_moved_out_lives_on() -> None:
    returned: list[int] = []
    moved = []
    for i in range(30):
        address = at(array_capsule(numbers(returned, i, -i)))  # parked, so the address is good
        moved.append(ctypes.create_string_buffer(ctypes.string_at(address, ARRAY), ARRAY))
        ctypes.memset(address + RELEASE_OF_ARRAY, 0, 8)
    assert returned == []
    for i, each in enumerate(moved):
        address = ctypes.addressof(each)
        assert values_at(address) == [i, -i]
        Release(word(address + RELEASE_OF_ARRAY))(address)
        assert len(returned) == i + 1


def test_what_the_consumer_released_is_not_released_again() -> None:
    returned: list[int] = []
    for i in range(30):
        address = at(array_capsule(numbers(returned, i)))
        Release(word(address + RELEASE_OF_ARRAY))(address)
        assert len(returned) == i + 1
    arrow_export.flush()
    assert returned == [1] * 30


def test_a_second_release_of_what_was_moved_out_leaves_it_alone() -> None:
    returned: list[int] = []
    capsule = array_capsule(Data(1, (None,), children=(numbers(returned, 5),)))
    address = at(capsule)
    moved = ctypes.create_string_buffer(ctypes.string_at(address, ARRAY), ARRAY)
    function = Release(word(address + RELEASE_OF_ARRAY))
    ctypes.memset(address + RELEASE_OF_ARRAY, 0, 8)
    function(address)
    assert returned == []
    child = word(word(ctypes.addressof(moved) + 48))
    assert values_at(child) == [5]
    function(ctypes.addressof(moved))
    assert returned == [1]


def test_a_foreign_struct_that_was_moved_in_is_released_by_its_own_function() -> None:
    released: list[int] = []

    def end(address: int) -> None:
        released.append(address)
        ctypes.memset(address + RELEASE_OF_ARRAY, 0, 8)

    function = Release(end)
    returned: list[int] = []
    capsule = array_capsule(numbers(returned, 1))
    address = at(capsule)
    Release(word(address + RELEASE_OF_ARRAY))(address)
    ctypes.c_uint64.from_address(address + RELEASE_OF_ARRAY).value = ctypes.cast(function, ctypes.c_void_p).value or 0
    ctypes.c_uint64.from_address(address + NUMBER_OF_ARRAY).value = 1
    del capsule
    for i in range(10):
        array_capsule(numbers(returned, i))
    assert released == [address]


def test_an_owner_that_exports_at_its_end() -> None:
    returned: list[int] = []

    class Exporting(Owner):
        def __del__(self, *_: Any) -> None:
            array_capsule(numbers(returned, 7))
            schema_capsule(Field("l"))

    for _ in range(20):
        owner = Exporting([], bytes(8))
        capsule = array_capsule(Data(1, (None, (owner.address, owner))))
        assert values_at(at(capsule)) == [0]
        del owner, capsule
    for _ in range(20):
        arrow_export.flush()
    assert returned == [1] * 20


def test_data_that_cannot_be_written_leaves_nothing() -> None:
    returned: list[int] = []
    for _ in range(10):
        array_capsule(numbers(returned, 1))
        with pytest.raises(struct.error):
            array_capsule(numbers(returned, 1)._replace(length=2**63))
    arrow_export.flush()
    assert returned == [1] * 20


def test_schemas() -> None:
    seen = []
    for name in ("a", "b", "a", "a", "b", "a", "b", "a"):
        capsule = schema_capsule(Field("l", name, NULLABLE, metadata=struct.pack("=i", 0) if name == "a" else None))
        address = pointer(capsule, b"arrow_schema")
        fmt, text, metadata, flags, n_children = struct.unpack("=3Q2q", ctypes.string_at(address, 40))
        assert (ctypes.string_at(fmt), ctypes.string_at(text), flags, n_children) == (b"l", name.encode(), NULLABLE, 0)
        assert (metadata != 0) == (name == "a")
        seen.append(word(address + 64))
    assert len(set(seen)) == 8


def test_schemas_keep_their_texts_when_the_cache_forgot_them() -> None:
    capsule = schema_capsule(Field("l", "kept"))
    for i in range(300):
        schema_capsule(Field("l", f"other {i}"))
    assert ctypes.string_at(word(pointer(capsule, b"arrow_schema") + 8)) == b"kept"


def test_more_fields_than_the_cache_holds_do_not_pile_up() -> None:
    for i in range(300):
        schema_capsule(Field("l", f"number {i}"))
    assert len(arrow_export._live) <= 8
    assert arrow_export._flat_schema.cache_info().currsize <= 128


@pytest.mark.parametrize("nested", [False, True])
def test_an_exporter(nested: bool) -> None:
    returned: list[int] = []
    data = numbers(returned, 4, 5)
    field = Field("l", "x")
    if nested:
        data, field = Data(2, (None,), children=(data,)), Field("+s", children=(field,))
    export = arrow_export.exporter(field, data)
    del data
    assert not arrow_export._live, "nothing was lent yet"
    pairs = [export() for _ in range(20)]
    assert len({word(at(pair[1]) + NUMBER_OF_ARRAY) for pair in pairs}) == 20
    for pair in pairs:
        address = at(pair[1])
        assert values_at(word(word(address + 48)) if nested else address) == [4, 5]
        assert ctypes.string_at(word(pointer(pair[0], b"arrow_schema"))) == (b"+s" if nested else b"l")
    del export
    assert returned == []
    del pair
    pairs.clear()
    arrow_export.flush()
    assert returned == [1]


def test_many_threads() -> None:
    returned: list[int] = []
    wrong: list[Any] = []

    def work(start: int) -> None:
        for i in range(start, start + 500):
            capsule = array_capsule(numbers(returned, i, -i))
            if values_at(at(capsule)) != [i, -i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    arrow_export.flush()
    assert returned == [1] * 4000
