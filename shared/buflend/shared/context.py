"""Who is being read, and whether copies are allowed.

Lives here: how a foreign object is asked, and how its failure to answer becomes an error that names it. Must not know:
what the answers mean.
"""

from operator import index
from typing import Any, NamedTuple

from .errors import BuflendError, CopyRequiredError, ProducerError
from .memory import failed


class Context(NamedTuple):
    """The name of what is being read, for errors, and the caller's word on copies."""

    whose: str
    allow_copy: bool

    def within(self, label: str) -> "Context":
        """Return the context of a part."""
        return Context(f"{self.whose}, {label}", self.allow_copy)

    def get(self, foreign: Any, name: str) -> Any:
        """Return an attribute of a foreign object."""
        try:
            return getattr(foreign, name)
        except BaseException as error:
            raise self._refusal(name, error) from error

    def call(self, foreign: Any, name: str, *args: Any, **options: Any) -> Any:
        """Return what a method of a foreign object returns."""
        try:
            return getattr(foreign, name)(*args, **options)
        except BaseException as error:
            raise self._refusal(f"{name}()", error) from error

    def items(self, foreign: Any, name: str) -> list[Any]:
        """Return all that a method of a foreign object yields."""
        try:
            return list(getattr(foreign, name)())
        except BaseException as error:
            raise self._refusal(f"{name}()", error) from error

    def integer(self, value: Any, field: str) -> int:
        """Return a number that a foreign object gave as an integer of any library."""
        try:
            return index(value)
        except Exception:  # noqa: BLE001 - a foreign __index__ may raise anything
            raise self.broken(field, value, "an integer") from None

    def broken(self, field: str, got: object, expected: str, hint: str = "") -> ProducerError:
        """Return the error for an answer that cannot be true."""
        return ProducerError(f"{self.whose}: {field}", got=got, expected=expected, hint=hint)

    def copy(self, what: str) -> None:
        """Raise unless a copy is allowed; `what` completes the sentence "column 'a': ..."."""
        if not self.allow_copy:
            raise CopyRequiredError(f"{self.whose}: {what}, which needs a copy; pass allow_copy=True to have it made")

    def _refusal(self, field: str, error: BaseException) -> BuflendError:
        if isinstance(error, BuflendError):
            return error
        if not self.allow_copy and isinstance(error, RuntimeError):
            # The protocol's word for "not without a copy" (`allow_copy`, section "DataFrame.__dataframe__").
            return CopyRequiredError(f"{self.whose}: {field}: the producer refused with allow_copy=False: {error}")
        return failed(self.whose, field, error)
