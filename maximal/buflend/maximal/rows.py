"""Elements of a piece that are about to be read, all of them present.

Lives here: their numbers, the checks that name them, and where text and lists lie. Must not know: what becomes of the
values. Source: Apache Arrow, "Arrow Columnar Format", sections "Variable-size Binary Layout" and "ListView Layout".
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..shared.arrays import to_ndarray
from ..shared.errors import ProducerError
from .elements import elements
from .piece import Piece, Type

Spans = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where each element starts and ends."""


class Rows(NamedTuple):
    """The elements `at` of a piece, of which `first` is the first one's number in the column that errors name."""

    piece: Piece
    type: Type
    at: NDArray[np.int64]
    whose: str
    first: int = 0

    def items(self) -> NDArray[Any]:
        """Return a copy of the elements of `data`."""
        return elements(self.piece, self.type)[self.at]

    def numbers(self, name: str, bits: int, more: int = 0) -> NDArray[Any]:
        """Return the integers of a buffer that has one for each element of the piece, and `more` behind the last."""
        size = self.piece.size + more
        return to_ndarray(self.piece.buffers[name], f"i{bits // 8}", size, None, self.piece.offset * (bits // 8))

    def refuse(self, wrong: NDArray[np.bool_], field: str, got: tuple[NDArray[Any], ...], expected: str) -> None:
        """Raise `ProducerError` for the first element that is wrong."""
        if wrong.any():
            index = int(np.argmax(wrong))
            found = [int(array[index]) for array in got]
            raise self.broken(field, index, found if len(found) > 1 else found[0], expected)

    def broken(self, field: str, index: int, got: object, expected: str) -> ProducerError:
        """Return the error for one of the elements."""
        return ProducerError(
            f"{self.whose}: {field} of element {self.first + int(self.at[index])}", got=got, expected=expected
        )

    def spans(self, held: int) -> Spans:
        """Return where elements lie among `held` bytes or items, by offsets, and sizes where there are some."""
        layout = self.type.layout
        assert layout is not None  # noqa: S101 - types with offsets are Arrow's
        bits = layout.offset_bits
        if "sizes" in layout.buffers:
            starts, sizes = (self.numbers(name, bits)[self.at].astype(np.int64) for name in ("offsets", "sizes"))
            wrong = (starts < 0) | (sizes < 0) | (sizes > held - starts)
            self.refuse(wrong, "offset and size", (starts, sizes), f"a part of the {held} that there are")
            return starts, starts + sizes
        offsets = self.numbers("offsets", bits, 1)
        starts, ends = offsets[self.at].astype(np.int64), offsets[self.at + 1].astype(np.int64)
        wrong = (starts < 0) | (ends < starts) | (ends > held)
        self.refuse(wrong, "offsets", (starts, ends), f"numbers that never decrease, up to the {held} that there are")
        return starts, ends
