"""Numbers as people read them: three digits that count, a unit, no exponent."""

from typing import Any

import pytest

from buflend.bench import wording


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (wording.time_text(4.2e-7), "420 ns"),
        (wording.time_text(0.01234), "12.3 ms"),
        (wording.time_text(2.5), "2.5 s"),
        (wording.size_text(0), "0 B"),
        (wording.size_text(12_500), "12.5 kB"),
        (wording.size_text(171_314_610), "171 MB"),
        (wording.digits(0.000932), "0.000932"),
        (wording.digits(5.046), "5.05"),
        (wording.digits(80.84), "80.8"),
        (wording.digits(20901.7), "20,902"),
        (wording.digits(1.449, 2), "1.4"),
        (wording.plural(1, "column"), "1 column"),
        (wording.plural(336_776, "row"), "336,776 rows"),
        (wording.count_text({"right": 17, "differing": 2, "refused": 0}), "17 right, 2 differing"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(("ratio", "expected"), [(45.38, "45.4*"), (1.0, "1*"), (0.687, "0.69*"), (0.00311, "0.0031*")])
def test_a_ratio_has_two_digits_below_1(ratio: float, expected: str) -> None:
    assert wording.times_text(ratio) == expected.replace("*", wording.TIMES)


def test_a_spread_is_written_with_quartiles_or_in_percent() -> None:
    spread = [5.05, 4.98, 5.22]
    assert wording.ratio_text(spread) == f"5.05{wording.TIMES} (5{wording.DASH}5.2)"
    assert wording.short_ratio(spread) == f"5.05{wording.TIMES} ±2%"
    assert wording.ratio_text([1.0, 1.0, 1.0]) == wording.short_ratio([1.0, 1.0, 1.0]) == f"1{wording.TIMES}"


def test_columns_of_the_same_types_share_a_line() -> None:
    timed: dict[str, Any] = {"ours": {"makes": "int64"}, "its": {"makes": "Int64"}, "peer": {"makes": "int64"}}
    groups = [{"title": title, "alternatives": timed | {"gone": {}}} for title in "ab"]
    assert wording.types(groups) == ["a, b come as int64 (ours, peer), Int64 (its)"]
