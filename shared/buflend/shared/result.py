"""What a column is read into.

Lives here: the named tuple that both implementations return. Must not know: how it is read. Imports no library, so that
a light import can name it.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ColumnArrays(NamedTuple):
    """A column as NumPy arrays.

    Attributes
    ----------
    values : ndarray of n items
        The values, or the codes where there are categories. What stands in a missing slot means nothing.
    valid : ndarray of n bool, or None
        True where a value is present; None where nothing is missing.
    categories : ndarray, or None
        What the codes mean.
    ordered : bool, or None
        Whether the categories are ordered; None where there are none.
    timezone : str, or None
        The zone whose local times the values stand for; the values themselves are UTC.
    """

    values: "NDArray[Any]"
    valid: "NDArray[np.bool_] | None" = None
    categories: "NDArray[Any] | None" = None
    ordered: bool | None = None
    timezone: str | None = None

    def tolist(self) -> list[Any]:
        """Return the column as Python objects: None where missing, categories in place of codes.

        Returns
        -------
        list of n items
            Times are NumPy's `datetime64` and `timedelta64`, which have units that Python's lack. Everything is copied.

        Examples
        --------
        >>> import numpy as np
        >>> ColumnArrays(np.array([1, 0, 7]), np.array([True, True, False]), np.array(["a", "b"])).tolist()
        ['b', 'a', None]
        """
        values = _objects(self.values)
        if self.categories is None:
            found = values
        else:
            # What stands in a missing slot may be no code at all.
            meaning = dict(enumerate(_objects(self.categories)))
            found = [meaning.get(code) for code in values]
        if self.valid is None:
            return found
        return [item if there else None for item, there in zip(found, self.valid.tolist(), strict=True)]


def _objects(array: "NDArray[Any]") -> list[Any]:
    # Of nanoseconds `tolist` would make integers, of microseconds `datetime`.
    return list(array) if array.dtype.kind in "Mm" else array.tolist()
