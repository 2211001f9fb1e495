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
        return f"{self.field}: got {_shown(self.got)}, expected {self.expected} (the producer is at fault{end})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the keyword arguments; what was got becomes its text, since it may be anything."""
        return _again, (type(self), self.field, _shown(self.got), self.expected, self.hint)


class DeviceError(BuflendError, BufferError):
    """Memory is not reachable from where it was asked for."""


class CopyRequiredError(BuflendError, BufferError):
    """What was asked for cannot be given without a copy, and a copy was not allowed."""


class _Verbatim(str):
    """Text that is shown without quotation marks."""

    __slots__ = ()


def _shown(got: object) -> str:
    if isinstance(got, _Verbatim):
        return got
    try:
        text = repr(got)
    except Exception as error:  # noqa: BLE001 - a producer's repr may raise anything, the message must still be made
        text = f"an object of type {type(got).__name__} whose repr raised {type(error).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _again(cls: type[ProducerError], field: str, got: str, expected: str, hint: str) -> ProducerError:
    return cls(field, got=_Verbatim(got), expected=expected, hint=hint)


def raised(error: BaseException) -> str:
    """Return what stands for `got` where the producer raised instead of answering."""
    return _Verbatim(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
