"""What a producer of Arrow says: arrays with their types, streams, and the objects that hand them out.

Lives here: what a lie is, and how structs are made of it. Must not know: which lies there are, any library.

A `Lie` describes an array and its type together; what `schema` and `array` name is written over their fields last, so
that an input states the one thing that is wrong. A buffer is bytes, which end at an unreadable page; None is NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import abi

if TYPE_CHECKING:
    from collections.abc import Callable


class Lie(NamedTuple):
    """An array and its type; `many` is one of ten thousand, whose memory is plain."""

    format: bytes | None
    length: int
    buffers: tuple[bytes | None, ...] = ()
    children: tuple[Lie, ...] = ()
    dictionary: Lie | None = None
    offset: int = 0
    null_count: int = 0
    name: bytes = b""
    schema: dict[str, Any] = {}  # noqa: RUF012 - never changed in place
    array: dict[str, Any] = {}  # noqa: RUF012
    many: bool = False

    def inner(self) -> tuple[Lie, ...]:
        """Return what is nested in it."""
        return self.children if self.dictionary is None else (*self.children, self.dictionary)

    def of(self, **fields: Any) -> Lie:
        """Return the same with other fields."""
        return self._replace(**fields)

    def says(self, **fields: Any) -> Lie:
        """Return the same, whose array says something else."""
        return self._replace(array=self.array | fields)

    def typed(self, **fields: Any) -> Lie:
        """Return the same, whose type says something else."""
        return self._replace(schema=self.schema | fields)


def row(lie: Lie) -> Lie:
    """Return a struct with the array as its one column, for who reads tables only."""
    return Lie(b"+s", lie.array.get("length", lie.length), (None,), (lie.of(name=b"a"),), many=lie.many)


class Made(NamedTuple):
    """Stands in a field for an address that is known when the struct is made: `make` takes the struct."""

    make: Callable[[Any], int]


def fill_schema(struct: abi.Schema, lie: Lie) -> None:
    """Write a type, and all in it, without recursion."""
    waiting = [(struct, lie)]
    while waiting:
        struct, lie = waiting.pop()
        abi.erase(abi.address(struct), abi.Schema)  # a consumer's memory may hold anything
        parts = [abi.Schema() for _ in lie.inner()]
        nested = [abi.keep(part) for part in parts]
        waiting += zip(parts, lie.inner(), strict=True)
        struct.format = None if lie.format is None else abi.text(lie.format)
        struct.name, struct.flags = abi.text(lie.name), 2
        struct.n_children = len(lie.children)
        struct.children = _pointers(nested[: len(lie.children)], lie)
        struct.dictionary = nested[-1] if lie.dictionary else None
        struct.private_data, struct.release = abi.lend("a type", inner=nested), abi.RELEASE[abi.Schema]
        _overwrite(struct, lie.schema)


def fill_array(struct: abi.Array, lie: Lie) -> None:
    """Write an array, and all in it, without recursion."""
    waiting = [(struct, lie)]
    while waiting:
        struct, lie = waiting.pop()
        abi.erase(abi.address(struct), abi.Array)
        parts = [abi.Array() for _ in lie.inner()]
        nested = [abi.keep(part) for part in parts]
        waiting += zip(parts, lie.inner(), strict=True)
        place = abi.text if lie.many else abi.place
        blocks = [(place(each), len(each)) for each in lie.buffers if each is not None]
        addresses = iter(blocks)
        struct.length, struct.offset, struct.null_count = lie.length, lie.offset, lie.null_count
        struct.n_buffers = len(lie.buffers)
        struct.buffers = _pointers([0 if each is None else next(addresses)[0] for each in lie.buffers], lie)
        struct.n_children = len(lie.children)
        struct.children = _pointers(nested[: len(lie.children)], lie)
        struct.dictionary = nested[-1] if lie.dictionary else None
        struct.private_data, struct.release = abi.lend("an array", blocks, nested), abi.RELEASE[abi.Array]
        _overwrite(struct, lie.array)


def _pointers(addresses: list[int], lie: Lie) -> int | None:
    raw = abi.pointers(addresses)
    return (abi.text if lie.many else abi.place)(raw) if raw else None


def _overwrite(struct: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(struct, name, value.make(struct) if isinstance(value, Made) else value)
    if "release" in fields and fields["release"] is None:
        del abi.LOANS[struct.private_data]  # nothing is owed of a struct that says it was released


def schema(lie: Lie, name: bytes | None = b"") -> object:
    """Return the capsule of a type."""
    made = abi.Schema()
    fill_schema(made, lie)
    return abi.capsule(made, name)


def array(lie: Lie, name: bytes | None = b"") -> object:
    """Return the capsule of an array."""
    made = abi.Array()
    fill_array(made, lie)
    return abi.capsule(made, name)


def device_array(lie: Lie, device: tuple[int, int], event: int | None = None, name: bytes | None = b"") -> object:
    """Return the capsule of an array on a device."""
    made = abi.DeviceArray()
    made.device_type, made.device_id, made.sync_event = *device, event
    fill_array(made.array, lie)
    return abi.capsule(made, name)


class Told(NamedTuple):
    """What a stream tells: the type, and one after another arrays, or numbers of errors; then its end.

    A type that is a number is an error; None writes nothing and says that all is well. `message` is what the last error
    says, None for NULL; `stream` is written over the fields of the struct.
    """

    type: Lie | int | None
    chunks: tuple[Lie | int | None, ...] = ()
    message: bytes | None = b"on purpose"
    stream: dict[str, Any] = {}  # noqa: RUF012

    def rows(self) -> Told:
        """Return the same, with each array as the one column of a struct."""
        kind, chunks = (row(self.type) if isinstance(self.type, Lie) else self.type), self.chunks
        return self._replace(type=kind, chunks=tuple(row(one) if isinstance(one, Lie) else one for one in chunks))


def stream(told: Told, name: bytes | None = b"") -> object:
    """Return the capsule of a stream."""
    chunks = iter(told.chunks)

    def get_schema(_: int, out: int) -> int:
        if isinstance(told.type, Lie):
            fill_schema(abi.Schema.from_address(out), told.type)
        return told.type if isinstance(told.type, int) else _nothing(out, abi.Schema) if told.type is None else 0

    def get_next(_: int, out: int) -> int:
        chunk = next(chunks, None)
        if isinstance(chunk, int):
            return chunk
        if chunk is None:
            return _nothing(out, abi.Array)
        fill_array(abi.Array.from_address(out), chunk)
        return 0

    made = abi.Stream()
    made.get_schema, made.get_next = abi.call(abi.Fill(get_schema)), abi.call(abi.Fill(get_next))
    message = None if told.message is None else abi.text(told.message)
    made.get_last_error = abi.call(abi.Text(lambda _: message))
    made.private_data, made.release = abi.lend("a stream"), abi.RELEASE[abi.Stream]
    _overwrite(made, told.stream)
    return abi.capsule(made, name)


def _nothing(out: int, kind: Any) -> int:
    """Write a released struct: the end of a stream."""
    abi.erase(out, kind)
    return 0
