from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.errors import InvalidInput
from redolab.units import (
    GIB,
    MIB,
    format_duration,
    format_size,
    noun,
    parse_duration,
    parse_percent,
    parse_size,
    size_span,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 * GIB), ("64M", 64 * MIB), ("1.5G", 3 * GIB // 2), ("64k", 65536), ("4096", 4096), ("8 GiB", 8 * GIB)],
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["8Q", "", "G", "-1G", "1e9", "8G8", "0x10", "∞"])
def test_nonsense_sizes_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_size(text)


@given(st.integers(min_value=1, max_value=4096), st.sampled_from("KMGT"))
def test_a_round_size_survives_being_written(count: int, unit: str) -> None:
    size = parse_size(f"{count}{unit}")
    assert abs(parse_size(format_size(size).rstrip("B")) - size) <= size / 150


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("90s", 90), ("1.5h", 5400), ("200ms", 0.2), ("7", 7)])
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.421, "0.42 s"), (14.71, "14.7 s"), (489, "8 min 9 s"), (3720, "1 h 02 min"), (59.99, "60.0 s")],
)
def test_durations_as_words(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("text", ["0%", "101%", "75", "%", "-3%"])
def test_nonsense_percentages_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_percent(text)


def test_percentages() -> None:
    assert parse_percent("75%") == 0.75


def test_a_range_of_equal_sizes_is_one() -> None:
    assert (size_span([GIB, 256 * MIB, 512 * MIB]), size_span({GIB})) == ("256M to 1G", "1G")


def test_one_is_singular() -> None:
    assert (noun(1, "client"), noun(4, "client"), noun(2, "die", "dice")) == ("1 client", "4 clients", "2 dice")
