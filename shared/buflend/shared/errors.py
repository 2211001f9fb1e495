"""Errors: one root, and a class for each party that can be at fault.

Lives here: the classes and the one form of a message about a producer. Must not know: any protocol.
"""

_LONGEST = 200  # characters of a foreign repr


class BuflendError(Exception):
    """The root of every error that `buflend` defines.

    Bad arguments of a caller are plain `TypeError` and `ValueError`.
    """


class ProducerError(BuflendError, ValueError):
    """The other object broke its protocol: what it says of its memory cannot be true or cannot be read.

    Parameters
    ----------
    field : str
        What the producer said wrongly.
    got : object
        What it said.
    expected : str
        What the protocol asks for.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    field, got, expected, hint
        As given.

    Examples
    --------
    >>> raise ProducerError("column 'a': bufsize", got=16, expected="at least 8000 bytes")
    Traceback (most recent call last):
        ...
    buflend.shared.ProducerError: column 'a': bufsize: got 16, expected at least 8000 bytes (the producer is at fault)
    """

    def __init__(self, field: str, *, got: object, expected: str, hint: str = "") -> None:
        super().__init__(field, got, expected, hint)
        self.field = field
        self.got = got
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        """Say which field, what was got, what was expected, who is at fault and what to do."""
        end = f"; {self.hint}" if self.hint else ""
        if type(self.got) is Raised:
            return f"{self.field}: the producer raised {self.got} where {self.expected} was expected{end}"
        return f"{self.field}: got {shown(self.got)}, expected {self.expected} (the producer is at fault{end})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the keyword arguments; what was got becomes its text, since it may be anything."""
        got = self.got if type(self.got) is Raised else _Verbatim(shown(self.got))
        notes = {"__notes__": self.__notes__} if hasattr(self, "__notes__") else None
        return _again, (type(self), self.field, got, self.expected, self.hint), notes


class DeviceError(BuflendError, BufferError):
    """Memory is not reachable from where it was asked for."""


class CopyRequiredError(BuflendError, BufferError):
    """What was asked for cannot be given without a copy, and a copy was not allowed."""


class InterpreterError(BuflendError, BufferError):
    """What was asked for needs the main interpreter, and a subinterpreter asks. Caught by either of its bases."""


class _Verbatim(str):
    """Text that is shown without quotation marks."""

    __slots__ = ()


class Raised(str):
    """The text of an exception that a producer raised where it should have answered."""

    __slots__ = ()


# What a person or the exit raises, and what is therefore nobody's fault. Everything else that a foreign object raises
# is caught, beyond `Exception` too: panics of libraries written in Rust derive from `BaseException`.
EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)


def raised(error: BaseException) -> Raised:
    """Return what stands for `got` where the producer raised instead of answering."""
    try:
        text = str(error)
    except EXITS:
        raise
    except BaseException as again:  # noqa: BLE001 - a foreign __str__ may raise anything
        text = f"(its text raised {type(again).__name__})"
    return Raised(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def shown(got: object) -> str:
    """Return how a message shows what was got, whatever its repr does."""
    if type(got) is _Verbatim:
        return got
    try:
        text = repr(got)
    except EXITS:
        raise
    except BaseException as error:  # noqa: BLE001 - a foreign repr may raise anything, the message must still be made
        text = f"an object of type {type(got).__name__} whose repr raised {type(error).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _again(cls: type[ProducerError], field: str, got: object, expected: str, hint: str) -> ProducerError:
    return cls(field, got=got, expected=expected, hint=hint)
