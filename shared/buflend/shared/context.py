"""Who is being read, and whether copies are allowed.

Lives here: how a foreign object is asked, and how its failure to answer becomes an error that names it. Must not know:
what the answers mean.
"""

from itertools import islice
from typing import Any, NamedTuple

from .errors import EXITS, BuflendError, CopyRequiredError, ProducerError
from .memory import failed, foreign_integer


class Context(NamedTuple):
    """The name of what is being read, for errors, and the caller's word on copies."""

    whose: str
    allow_copy: bool
    in_dictionary: bool = False

    def within(self, label: str) -> "Context":
        """Return the context of a part."""
        return self._replace(whose=f"{self.whose}, {label}")

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
        """Return all that a method of a foreign object yields, which has an end."""
        try:
            found = list(islice(getattr(foreign, name)(), MOST_ITEMS + 1))
        except BaseException as error:
            raise self._refusal(f"{name}()", error) from error
        if len(found) > MOST_ITEMS:
            raise self.broken(f"{name}()", "more", f"at most {MOST_ITEMS} items")
        return found

    def item(self, foreign: Any, key: Any, field: str, default: Any = ...) -> Any:
        """Return an item of a foreign mapping; the default, if there is one, where it has no such key."""
        try:
            return foreign[key]
        except BaseException as error:
            if default is not ... and isinstance(error, KeyError):
                return default
            raise self._refusal(f"{field}[{key!r}]", error) from error

    def parts(self, foreign: Any, count: int, field: str, expected: str) -> list[Any]:
        """Return the items of a foreign sequence that must have `count` of them."""
        try:
            found = list(islice(foreign, count + 1))
        except EXITS:
            raise
        except BaseException:  # noqa: BLE001 - a foreign __iter__ may raise anything
            found = []
        if len(found) != count:
            raise self.broken(field, foreign, expected)
        return found

    def integer(self, value: Any, field: str) -> int:
        """Return a number that a foreign object gave as an integer of any library."""
        return foreign_integer(value, f"{self.whose}: {field}")

    def truth(self, value: Any, field: str) -> bool:
        """Return what a foreign object means by a value that is to be true or false."""
        try:
            return bool(value)
        except BaseException as error:
            raise self._refusal(field, error) from error

    def text(self, value: Any, field: str, expected: str) -> str:
        """Return a string that a foreign object gave as a plain one: a subclass may compare as it likes."""
        if not issubclass(type(value), str):
            raise self.broken(field, value, expected)
        return str.__getitem__(value, slice(None))

    def broken(self, field: str, got: object, expected: str, hint: str = "") -> ProducerError:
        """Return the error for an answer that cannot be true."""
        return ProducerError(f"{self.whose}: {field}", got=got, expected=expected, hint=hint)

    def copy(self, what: str) -> None:
        """Raise unless a copy is allowed; `what` completes the sentence "column 'a': ..."."""
        if not self.allow_copy:
            raise CopyRequiredError(f"{self.whose}: {what}: this needs a copy, which allow_copy=True permits")

    def _refusal(self, field: str, error: BaseException) -> BuflendError:
        try:
            if isinstance(error, BuflendError):
                return error
            if not self.allow_copy and isinstance(error, RuntimeError) and not isinstance(error, _OTHER):
                # The protocol's word for "not without a copy" (`allow_copy`, section "DataFrame.__dataframe__").
                return CopyRequiredError(f"{self.whose}: {field}: the producer refused with allow_copy=False: {error}")
            return failed(self.whose, field, error)
        finally:
            del error  # see `failed`


MOST_ITEMS = 2**20  # names or chunks: more is nonsense, or has no end
_OTHER = (NotImplementedError, RecursionError)  # RuntimeErrors that no permission to copy would help
