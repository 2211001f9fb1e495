"""What a consumer's answer to a case is worth.

Lives here: the comparison of values and the five outcomes. Must not know: processes, libraries.

The rules: refusing is `refused`, unless the case demands or allows it. A value that is equal in another type of the
library's own is right, and the difference is a remark. A bool is no number, and missing is no value.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cases import Case
    from .consumers import Consumer, Reading

_ZONES = {"UTC+02:00": "+02:00", "Etc/GMT-2": "+02:00"}  # How pandas and polars name a fixed offset.
OUTCOMES = ("right", "wrong", "refused", "crashed", "hung")


class Verdict(NamedTuple):
    """The outcome of one case on one consumer.

    Parameters
    ----------
    outcome : str
        One of `OUTCOMES`.
    detail : str
        What was read or raised, where that says more than the outcome.
    remarks : list of str
        What was noticed besides, without a part in the outcome.
    """

    outcome: str
    detail: str = ""
    remarks: list[str] = []  # noqa: RUF012 - never changed in place


def refused(case: "Case", consumer: "Consumer", error: BaseException) -> Verdict:
    """Judge an exception."""
    name = type(error).__name__
    detail = ("panic: " if name == "PanicException" else f"{name}: ") + _short(str(error))
    if name == "UnreadableError":
        return Verdict("wrong", f"its result cannot be read: {_short(str(error))}")
    if consumer.ours and case.errors and not any(base.__name__ in case.errors for base in type(error).__mro__):
        return Verdict("wrong", f"{detail} (must be {' or '.join(case.errors)})")
    return Verdict("right" if case.expect is None or case.may_refuse else "refused", detail)


def read(case: "Case", consumer: "Consumer", reading: "Reading") -> Verdict:
    """Judge what was read."""
    if case.expect is None:
        return Verdict("wrong", f"must be refused, read {_short(str(reading.columns))}")
    if consumer.ours and case.errors:
        return Verdict("wrong", f"must raise {' or '.join(case.errors)}, read {_short(str(reading.columns))}")
    if list(reading.columns) != list(case.expect):
        return Verdict("wrong", f"columns {list(reading.columns)}, expected {list(case.expect)}")
    remarks: list[str] = []
    for name, expected in case.expect.items():
        wanted = expected[case.outlives or 0 :]
        wrong = next(_differences(reading.columns[name], wanted, consumer.nan_is_null, remarks), None)
        if wrong:
            return Verdict("wrong", f"column {name!r}: {wrong}", remarks)
    wrong = _order(case.ordered, reading.ordered, consumer) or _zones(case.timezone, reading.timezone)
    return Verdict("wrong", wrong, remarks) if wrong else Verdict("right", "", remarks)


def _differences(got: "Sequence[Any]", wanted: "Sequence[Any]", nan_is_null: bool, remarks: list[str]) -> Iterator[str]:  # noqa: FBT001
    if len(got) != len(wanted):
        yield f"{len(got)} rows, expected {len(wanted)}: {_short(str(got))}"
        return
    for row, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if not _equal(one, other, nan_is_null):
            yield f"row {row} is {_short(repr(one), 40)}, expected {_short(repr(other), 40)}: {_short(str(list(got)))}"
        elif one is not None and other is not None:
            remark = _remark(one, other)
            if remark and remark not in remarks:
                remarks.append(remark)


def _equal(got: Any, wanted: Any, nan_is_null: bool) -> bool:  # noqa: FBT001
    if nan_is_null:
        got, wanted = (None if isinstance(v, float) and math.isnan(v) else v for v in (got, wanted))
    if got is None or wanted is None:
        return got is wanted
    if isinstance(wanted, bool) or isinstance(got, bool):
        return isinstance(got, bool) and isinstance(wanted, bool) and got == wanted
    if isinstance(wanted, str):
        return isinstance(got, str) and wanted in (got, got.removesuffix("T00:00:00"))
    if not isinstance(got, int | float):
        return False
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(got)
    return bool(got == wanted)


def _remark(got: Any, wanted: Any) -> str:
    if isinstance(wanted, int) and isinstance(got, float):
        return "integers came as floats"
    if isinstance(wanted, str) and got != wanted:
        return "dates came as time stamps at midnight"
    return ""


def _order(wanted: "Mapping[str, bool]", got: "Mapping[str, bool]", consumer: "Consumer") -> str:
    for name, value in wanted.items():
        ordered = got.get(name, False)
        if ordered != value and (value or not consumer.always_ordered):
            return f"column {name!r}: ordered is {ordered}, expected {value}"
    return ""


def _zones(wanted: "Mapping[str, str]", got: "Mapping[str, str]") -> str:
    plain = {name: _ZONES.get(zone, zone) for name, zone in got.items()}
    return "" if plain == dict(wanted) else f"time zones {dict(got)}, expected {dict(wanted)}"


def _short(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
