"""Missing values: every way to mark them, at every phase of a byte, in either polarity.

Specification: `describe_null` and `get_buffers()["validity"]`. A mask is shifted by the column's offset as the data is,
once. What stands under a missing slot is arbitrary; a NaN that a mask calls present is present.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...producer import Buf, Dtype, Frame, Kind, Null, dtype
from ._build import Case, Nulls, bitmap, bitmask, bytemask, case, liar, nan, numbers, one, same, sentinel

_INTS: list[int | None] = [10, None, 12, 13, None, 15, 16, 17, 18, None, 20]
_FLOATS: list[float | None] = [0.5, None, 1.5, None, None, 2.5, 3.5, None, 4.5, 5.5]
_MASKS: dict[str, Callable[..., Nulls]] = {"bitmask": bitmask, "bytemask": bytemask}
_SIZES = (1, 8, 65, 1000)

# The type, a value that stands for missing, and two others.
_SENTINELS: dict[str, tuple[int | float, int | float, int | float]] = {
    "int8": (-1, 0, 127),
    "int16": (-(2**15), -1, 5),
    "int32": (-(2**31), -1, 5),
    "int64": (-(2**63), 2**60 + 1, 5),
    "uint8": (255, 254, 0),
    "uint16": (2**16 - 1, 1, 0),
    "uint32": (2**32 - 1, 2**31, 0),
    "uint64": (2**64 - 1, 2**63 + 1, 0),
    "float32": (-999.0, 999.0, 0.5),
    "float64": (-999.0, float("nan"), 0.5),
}


def _every_third(size: int) -> list[int | None]:
    return [None if i % 3 == 1 else i for i in range(size)]


def _each_phase(lead: int) -> Iterator[Case]:
    """Each kind of null, `lead` elements into its buffers."""
    at = f"at offset {lead}" if lead else "without an offset"
    yield same(f"bitmask-offset-{lead}", f"bit mask {at}, 0 means missing", numbers, _INTS, lead=lead, nulls=bitmask())
    yield same(
        f"bytemask-offset-{lead}", f"byte mask {at}, 1 means missing", numbers, _INTS, lead=lead, nulls=bytemask()
    )
    yield same(
        f"sentinel-offset-{lead}",
        f"integer sentinel {at}, no validity buffer",
        numbers,
        _INTS,
        lead=lead,
        nulls=sentinel(-1),
    )
    yield same(f"nan-offset-{lead}", f"NaN {at}", numbers, _FLOATS, "float64", lead=lead, nulls=nan())


def _polarity(lead: int) -> Iterator[Case]:
    """Yield the masks of the other polarity."""
    yield same(
        f"bitmask-inverted-offset-{lead}",
        f"bit mask at offset {lead}, 1 means missing",
        numbers,
        _INTS,
        lead=lead,
        nulls=bitmask(missing=1),
    )
    yield same(
        f"bytemask-inverted-offset-{lead}",
        f"byte mask at offset {lead}, 0 means missing",
        numbers,
        _INTS,
        lead=lead,
        nulls=bytemask(missing=0),
    )


def _all_phases() -> Iterator[Case]:
    """Yield frames of ten columns, each one element further into its buffers."""
    kinds: dict[str, tuple[str, list[Any], Nulls]] = {
        "bitmask": ("int64", _INTS, bitmask()),
        "bitmask-inverted": ("int64", _INTS, bitmask(missing=1)),
        "bytemask": ("int64", _INTS, bytemask()),
        "bytemask-inverted": ("int64", _INTS, bytemask(missing=0)),
        "sentinel": ("int64", _INTS, sentinel(-1)),
        "nan": ("float64", _FLOATS, nan()),
    }
    for word, (type_, values, nulls) in kinds.items():
        yield case(
            f"{word}-every-phase",
            f"{word.replace('-', ' ')} at offsets 0 to 9, a column each",
            partial(_phases, type_, values, nulls),
            {f"offset {lead}": values for lead in range(10)},
        )


def _phases(type_: str, values: list[Any], nulls: Nulls) -> Frame:
    return Frame({f"offset {n}": numbers(values, type_, lead=n, **nulls(values, n)) for n in range(10)})


def _every_width() -> Frame:
    columns = {}
    for type_, (mark, first, second) in _SENTINELS.items():
        values = [first, None, second]
        columns[type_] = numbers(values, type_, lead=1, **sentinel(mark)(values, 1))
    return Frame(columns)


def _masks() -> Iterator[Case]:
    """Yield what masks can be besides their phase."""
    for size in _SIZES:
        values = _every_third(size)
        yield same(
            f"bitmask-{size}-rows", f"bit mask over {size} rows at offset 3", numbers, values, lead=3, nulls=bitmask()
        )
    for missing, word in ((0, "missing-is-0"), (1, "missing-is-1")):
        yield same(
            f"bytemask-other-bytes-{word}",
            "byte mask with 255, 2 and 128 for a set byte",
            numbers,
            _INTS,
            nulls=bytemask(missing, true=(255, 2, 128)),
        )
        yield same(
            f"bytemask-other-bytes-{word}-offset-9",
            "the same at offset 9",
            numbers,
            _INTS,
            lead=9,
            nulls=bytemask(missing, true=(255, 2, 128)),
        )
    for word, mask in _MASKS.items():
        yield same(
            f"{word}-announced-uint8",
            "mask announced as UINT 8, as cudf did",
            numbers,
            _INTS,
            nulls=mask(type_=dtype("uint8")),
        )
        yield same(f"{word}-all-missing", "nothing but nulls", numbers, [None] * 11, nulls=mask())
        yield same(f"{word}-none-missing", "a mask that calls every slot present", numbers, [1, 2, 3], nulls=mask())
        yield same(
            f"{word}-valid-nan-stays",
            "float with a mask: the NaN that is present is no null",
            numbers,
            [1.0, np.nan, None],
            "float64",
            nulls=mask(),
        )
    exact: list[int | None] = [2**60 + 1, None, -(2**63), 2**63 - 1]
    yield same(
        "int64-exact-beside-a-null",
        "2**60 + 1 beside a null: no way through float64",
        numbers,
        exact,
        lead=1,
        nulls=bitmask(),
    )
    large: list[int | None] = [2**63 + 1, None, 2**64 - 1]
    yield same(
        "uint64-exact-beside-a-null", "uint64 above 2**63 beside a null", numbers, large, "uint64", nulls=bitmask()
    )


def _sentinels() -> Iterator[Case]:
    """Yield a sentinel for each width, in and out of range."""
    for type_, (mark, first, second) in _SENTINELS.items():
        values: list[Any] = [first, None, second, None, first]
        yield same(
            f"sentinel-{type_}", f"{type_} with the sentinel {mark}", numbers, values, type_, nulls=sentinel(mark)
        )
    yield case(
        "sentinel-every-width-offset-1",
        "a sentinel in each width, at offset 1, a column each",
        _every_width,
        {type_: [first, None, second] for type_, (_, first, second) in _SENTINELS.items()},
    )
    yield same("sentinel-never-met", "a sentinel that no slot holds", numbers, [1, 2, 3], null=(Null.USE_SENTINEL, -5))
    yield same(
        "sentinel-outside-the-type",
        "sentinel -1 for uint8: no slot can hold it, 255 is a value",
        numbers,
        [1, 255],
        "uint8",
        null=(Null.USE_SENTINEL, -1),
        may_refuse=True,
    )
    for type_ in ("float16", "float32"):
        yield same(f"nan-{type_}", f"{type_} with NaN for missing", numbers, [0.5, None, 2.0], type_, nulls=nan())
    yield same(
        "sentinel-big-endian",
        "a sentinel in a big-endian column is compared as a value",
        numbers,
        [1, None, 3],
        "int32",
        order=">",
        nulls=sentinel(-2),
        may_refuse=True,
    )


def _counts() -> Iterator[Case]:
    """Yield what `null_count` and a superfluous mask may be."""
    values: list[int | None] = [1, None, 3]
    for word, known in (("unknown", None), ("numpy-integer", np.int64(1))):
        yield same(f"null-count-{word}", f"null_count is {known!r}", numbers, values, nulls=bitmask(), null_count=known)
    for word, mask in _MASKS.items():
        for count in (0, 7):
            yield case(
                f"{word}-null-count-{count}-of-1",
                f"null_count says {count}, the mask has 1",
                one(numbers, values, nulls=mask(), null_count=count),
                values,
                may_refuse=True,
                errors=("ProducerError",),
            )
        for announced in (0, None, 1):
            yield case(
                f"{word}-absent-null-count-{str(announced).lower()}",
                f"a {word} is announced, validity is None, null_count is {announced}",
                one(numbers, [1, 2, 3], nulls=mask(), validity=None, null_count=announced),
                None if announced else {"a": [1, 2, 3]},
                may_refuse=announced is None,
                errors=() if announced == 0 else ("ProducerError",),
            )
    junk = Buf(bitmap([False, False, False]))
    yield same(
        "non-nullable-with-junk-mask",
        "not nullable, yet a mask of zeros lies there",
        numbers,
        [0, 1, 2],
        validity=(junk, dtype("bits")),
    )
    yield same(
        "non-nullable-with-impossible-mask",
        "not nullable, yet a mask of no bytes at an address that is nobody's",
        numbers,
        [0, 1, 2],
        validity=(Buf(b"", ptr=0xDEAD0000, bufsize=0), dtype("bool")),
    )


def _contradictions() -> Iterator[Case]:
    """Yield masks whose layout and type say different things."""
    for word, type_ in (("bitmask", "bool"), ("bytemask", "bits")):
        yield liar(
            f"{word}-announced-bool{'8' if type_ == 'bool' else '1'}",
            "the null kind says one layout, the mask's type the other",
            one(numbers, _INTS, nulls=_MASKS[word](type_=dtype(type_))),
        )
    odd = {
        "null-kind-9": (9, None),
        "null-kind-negative": (-1, None),
        "mask-value-2": (Null.USE_BITMASK, 2),
        "mask-value-none": (Null.USE_BYTEMASK, None),
        "sentinel-none": (Null.USE_SENTINEL, None),
    }
    for word, null in odd.items():
        mask = _MASKS["bytemask" if null[0] == Null.USE_BYTEMASK else "bitmask"]
        yield liar(
            word,
            f"describe_null is {tuple(n if n is None else int(n) for n in null)}",
            one(numbers, _INTS, nulls=mask(), null=null),
        )
    yield liar(
        "mask-of-floats",
        "the mask is announced as float64",
        one(numbers, [1, None], nulls=bitmask(type_=Dtype(Kind.FLOAT, 64, "g"))),
    )


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    for lead in (0, 1, 9):
        yield from _each_phase(lead)
    for lead in (0, 9):
        yield from _polarity(lead)
    yield from _all_phases()
    yield from _masks()
    yield from _sentinels()
    yield from _counts()
    yield from _contradictions()
