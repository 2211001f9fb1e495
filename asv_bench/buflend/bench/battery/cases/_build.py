"""Cases, and the columns they need, laid out byte by byte.

The rule: what lies outside the window (before the offset, behind the last element, in the padding of a bitmap, under a
missing slot) is the opposite of harmless. A value read from there is visible in the result.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...producer import Buf, Col, Dtype, Frame, Kind, Null, dtype

if TYPE_CHECKING:
    from ..adapters import Reading

Array = npt.NDArray[Any]
Make = Callable[[], Frame]
Nulls = Callable[[Sequence[Any], int], dict[str, Any]]

OUTSIDE = 77  # What numbers hold outside the window.
HIDDEN = 99  # What they hold under a missing slot.


def _stored(type_: str, order: Any) -> np.dtype[Any]:
    return np.dtype(type_).newbyteorder(order)


def around(
    values: Sequence[Any], type_: str, *, lead: int = 0, tail: int = 3, hidden: Any = HIDDEN, order: str = "="
) -> Array:
    """Lay out values with junk elements before and behind them; `hidden` stands where a value is None."""
    inner = [hidden if value is None else value for value in values]
    return np.array([OUTSIDE] * lead + inner + [OUTSIDE] * tail, _stored(type_, order))


def bitmap(bits: Sequence[bool], *, lead: int = 0) -> Array:
    """Lay out bits, least significant first; the bits before and behind them are their opposites."""
    before = [not bits[i % len(bits)] if bits else True for i in range(lead)]
    padding = -(lead + len(bits)) % 8
    behind = [not bits[-1 - i % len(bits)] if bits else True for i in range(padding)]
    return np.packbits(np.array([*before, *bits, *behind], bool), bitorder="little")


def bytemap(bits: Sequence[bool], *, lead: int = 0, true: Sequence[int] = (1,)) -> Array:
    """Lay out one byte per bit; a set one is written as the numbers of `true` in turn."""
    before = [not bits[i % len(bits)] for i in range(lead)]
    return np.array([true[i % len(true)] if bit else 0 for i, bit in enumerate([*before, *bits])], np.uint8)


def one(
    build: Callable[..., Col], values: Sequence[Any], *args: Any, nulls: Nulls | None = None, **options: Any
) -> Make:
    """Return a maker of a frame of the one column `a`, with its nulls described at the same offset.

    What `options` says wins over what the description of the nulls says, so that a case can make the two disagree.
    """

    def make() -> Frame:
        described = nulls(values, options.get("lead", 0)) if nulls else {}
        return Frame({"a": build(values, *args, **(described | options))})

    return make


def bitmask(missing: int = 0, type_: Dtype | None = None) -> Nulls:
    """Describe the None among values by a bit mask, `missing` being the bit that means missing."""

    def describe(values: Sequence[Any], lead: int = 0) -> dict[str, Any]:
        bits = [(value is None) == bool(missing) for value in values]
        return {
            "null": (Null.USE_BITMASK, missing),
            "validity": (Buf(bitmap(bits, lead=lead)), type_ or dtype("bits")),
            "null_count": list(values).count(None),
        }

    return describe


def bytemask(missing: int = 1, type_: Dtype | None = None, true: Sequence[int] = (1,)) -> Nulls:
    """Describe the None among values by a byte mask, set bytes being written as the numbers of `true`."""

    def describe(values: Sequence[Any], lead: int = 0) -> dict[str, Any]:
        bits = [(value is None) == bool(missing) for value in values]
        return {
            "null": (Null.USE_BYTEMASK, missing),
            "validity": (Buf(bytemap(bits, lead=lead, true=true)), type_ or dtype("bool")),
            "null_count": list(values).count(None),
        }

    return describe


def sentinel(mark: Any) -> Nulls:
    """Describe the None among values by a value that stands for missing."""
    return lambda values, _: {"hidden": mark, "null": (Null.USE_SENTINEL, mark), "null_count": list(values).count(None)}


def nan() -> Nulls:
    """Describe the None among values by NaN."""
    return lambda values, _: {"hidden": np.nan, "null": (Null.USE_NAN, None), "null_count": list(values).count(None)}


def numbers(
    values: Sequence[Any],
    type_: str = "int64",
    *,
    lead: int = 0,
    tail: int = 3,
    hidden: Any = HIDDEN,
    order: str = "=",
    announced: Any = None,
    **column: Any,
) -> Col:
    """Build a column of numbers, `lead` elements into its buffer."""
    data = Buf(around(values, type_, lead=lead, tail=tail, hidden=hidden, order=order))
    return Col(data, announced or dtype(type_, order), len(values), offset=lead, **column)


def bools(values: Sequence[Any], *, packed: bool, lead: int = 0, **column: Any) -> Col:
    """Build a column of bools, one bit or one byte each; True stands under a missing slot."""
    bits = [value is None or value for value in values]
    data = bitmap(bits, lead=lead) if packed else bytemap(bits, lead=lead)
    return Col(Buf(data), dtype("bits" if packed else "bool"), len(values), offset=lead, **column)


def text(
    values: Sequence[str | bytes | None],
    *,
    width: int = 32,
    announced: Any = None,
    lead: int = 0,
    tail: int = 0,
    first: int = 0,
    hidden: str | bytes = "hidden",
    order: str = "=",
    data_dtype: Any = None,
    **column: Any,
) -> Col:
    """Build a column of strings, with `width` bits to an offset.

    Bytes are laid down as they are, UTF-8 or not. `first` is the first offset of the buffer, in bytes. There is no
    `tail` by default, since a consumer that reads strings behind the window too would fail every case.
    """
    words = [
        word if isinstance(word, bytes) else word.encode() for word in (hidden if v is None else v for v in values)
    ]
    words = [b"junk"] * lead + words + [b"tail"] * tail
    ends = np.cumsum([first, *map(len, words)])
    offsets = ends.astype(_stored(f"int{width}", order))
    return Col(
        Buf(b"#" * first + b"".join(words)),
        announced or dtype("string" if width == 32 else "large_string"),
        len(values),
        offset=lead,
        offsets=(Buf(offsets), dtype(f"int{width}", order)),
        data_dtype=data_dtype or dtype("uint8"),
        **column,
    )


def moments(
    values: Sequence[int | None],
    format_: str,
    *,
    type_: str = "int64",
    lead: int = 0,
    hidden: int = HIDDEN,
    order: str = "=",
    bits: int | None = None,
    data_dtype: Any = None,
    tail: int = 3,
    **column: Any,
) -> Col:
    """Build a column of dates, time stamps, durations or times of day from its integers.

    `bits` is the announced width where it is not the width of `type_`, the type of the rows in memory.
    """
    data = Buf(around(values, type_, lead=lead, hidden=hidden, order=order, tail=tail))
    announced = Dtype(Kind.DATETIME, bits or np.dtype(type_).itemsize * 8, format_, order)
    stored = dtype(f"int{announced.bits}", order) if data_dtype is None else data_dtype
    return Col(data, announced, len(values), offset=lead, data_dtype=stored, **column)


def codes(
    values: Sequence[int | None],
    categories: Col | None,
    *,
    type_: str = "int8",
    lead: int = 0,
    tail: int = 3,
    hidden: int = HIDDEN,
    order: str = "=",
    data_dtype: Any = None,
    **column: Any,
) -> Col:
    """Build a categorical column from its codes."""
    _, bits, format_, _ = dtype(type_)
    data = Buf(around(values, type_, lead=lead, tail=tail, hidden=hidden, order=order))
    stored = dtype(type_, order) if data_dtype is None else data_dtype
    announced = Dtype(Kind.CATEGORICAL, bits, format_, order)
    return Col(data, announced, len(values), offset=lead, data_dtype=stored, categories=categories, **column)


def nothing() -> Buf:
    """Return a buffer of no bytes with the null pointer."""
    return Buf(b"", ptr=0, bufsize=0)


NONE: Mapping[str, Any] = MappingProxyType({})


class Case(NamedTuple):
    """An input with its right value.

    `make` makes the frame, afresh at each call. `expect` has the values of each column, in order, in the canonical form
    of `adapters.Reading`; None where nothing can be read, and a consumer must refuse. With `may_refuse` it may too.
    `errors` names the exceptions of which buflend must raise one. `outlives` reads the result only after the frame is
    dropped, from this row on, through a slice that outlives the result. With `intact` a write into the producer's
    memory is wrong, else a remark. `after` looks at the reading (None when refused) and the frame afterwards, and
    returns what is wrong, or None.
    """

    name: str
    title: str
    make: Make
    expect: Mapping[str, list[Any]] | None
    ordered: Mapping[str, bool] = NONE
    timezone: Mapping[str, str] = NONE
    may_refuse: bool = False
    errors: tuple[str, ...] = ()
    allow_copy: bool = True
    outlives: int | None = None
    intact: bool = False
    after: "Callable[[Reading | None, Frame], str | None] | None" = None

    def expects(self) -> str:
        """Say in a line what is right."""
        if self.expect is None:
            return "a refusal"
        values = ", ".join(f"{name}: {values}" for name, values in self.expect.items()) or "no column"
        if len(values) > 200:
            values = values[:197] + "..."
        return values + (", or a refusal" if self.may_refuse else "")


def case(
    name: str,
    title: str,
    make: Callable[[], Any],
    expect: Mapping[str, list[Any]] | list[Any] | None,
    *,
    ordered: bool | None = None,
    timezone: str | None = None,
    **more: Any,
) -> Case:
    """Return a case; what is said of one column is said of `a`, and `make` may make that column alone."""

    def frame() -> Frame:
        made = make()
        return made if isinstance(made, Frame) else Frame({"a": made})

    return Case(
        name,
        title,
        frame,
        {"a": expect} if isinstance(expect, list) else expect,
        ordered=NONE if ordered is None else {"a": ordered},
        timezone=NONE if timezone is None else {"a": timezone},
        **more,
    )


def liar(name: str, title: str, make: Callable[[], Any], **more: Any) -> Case:
    """Return a case of a producer that contradicts itself, which buflend must say."""
    return case(name, title, make, None, errors=("ProducerError",), **more)


def same(
    name: str,
    title: str,
    build: Callable[..., Col],
    values: Sequence[Any],
    *args: Any,
    may_refuse: bool = False,
    **options: Any,
) -> Case:
    """Return a case whose values are those that `one` builds its column of."""
    return case(name, title, one(build, values, *args, **options), list(values), may_refuse=may_refuse)
