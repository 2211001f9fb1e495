"""What one hostile input is, and the objects that hand it out.

Lives here: the record, and what is right. Must not know: any protocol's table, any library.

What no consumer can see is no input: that memory is shorter than was said, where a protocol does not tell its size, or
that an address which is not zero belongs to somebody else. `SECURITY.md` lists it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

DLPACK, INTERFACE, BUFFER = "DLPack", "array interface", "buffer protocol"
ARRAY, STREAM, DEVICE, POINTER = "Arrow array", "Arrow stream", "Arrow device", "pointer"

PROTOCOLS = (DLPACK, INTERFACE, BUFFER, ARRAY, STREAM, DEVICE, POINTER)
"""In the order of display."""


class Input(NamedTuple):
    """A producer with one fault.

    Attributes
    ----------
    protocol, fault : str
        What it speaks, and what is wrong; together they name it.
    make : callable
        Returns the producer, made anew.
    right : tuple of list
        Values that a reader may give, any of them; empty where it must be refused.
    sound : bool
        Whether nothing is wrong: refusing it is `refused` then, not right.
    raw : bytes, optional
        What a reader of bytes gives, where that may be read.
    rows : callable, optional
        Returns the same as an Arrow stream of tables, for who reads no arrays.
    twice : bool
        Whether the producer is read twice, and the second time counts.
    """

    protocol: str
    fault: str
    make: Callable[[], Any]
    right: tuple[list[Any], ...] = ()
    sound: bool = False
    raw: bytes | None = None
    rows: Callable[[], Any] | None = None
    twice: bool = False

    @property
    def name(self) -> str:
        """Name it as `--json` does."""
        return f"{self.protocol}: {self.fault}"

    def expects(self) -> str:
        """Say what is right, in words."""
        if not self.right and self.raw is None:
            return "must be refused"
        values = " or ".join(map(repr, self.right)) or repr(self.raw)
        return values if self.sound else f"{values}, or refused"


class PanicError(BaseException):
    """What libraries in Rust raise: no `Exception`."""


def raises(kind: type[BaseException]) -> Callable[[], NoReturn]:
    """Return what raises an error."""

    def throw() -> NoReturn:
        raise kind("on purpose")

    return throw


def then(*answers: Callable[[], Any]) -> Callable[[], Any]:
    """Return what answers differently each time it is asked, and the last forever."""
    left = list(answers)

    def answer() -> Any:
        return (left.pop(0) if len(left) > 1 else left[0])()

    return answer


def always(answer: Any) -> Callable[[], Any]:
    """Return what always answers the same."""
    return lambda: answer


def methods(**answers: Callable[[], Any]) -> Any:
    """Return an object whose methods give these answers, whatever they are called with."""

    def method(answer: Callable[[], Any]) -> Any:
        return lambda _self, *_, **__: answer()

    return type("Producer", (), {name: method(answer) for name, answer in answers.items()})()


def members(**answers: Callable[[], Any]) -> Any:
    """Return an object whose attributes give these answers."""

    def member(answer: Callable[[], Any]) -> Any:
        return property(lambda _self: answer())

    return type("Producer", (), {name: member(answer) for name, answer in answers.items()})()


NO_CAPSULE: dict[str, Callable[[], Any]] = {
    "returns None": always(None),
    "returns an integer": always(3),
    "returns a text": always("capsule"),
    "raises RuntimeError": raises(RuntimeError),
    "raises a BaseException": raises(PanicError),
    "raises SystemError": raises(SystemError),
}
"""What a dunder does that gives a capsule: fault -> answer."""
