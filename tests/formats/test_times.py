"""Parsing of the times that agents write."""

from datetime import UTC, datetime

import pytest

from turnetl.formats.kit.times import parse_timestamp

MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SECONDS = int(MORNING.timestamp())


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-02T09:00:00Z",
        "2026-03-02T10:00:00+01:00",
        "2026-03-02T09:00:00",
        SECONDS,
        float(SECONDS),
        SECONDS * 1_000,
        SECONDS * 1_000_000,
        SECONDS * 1_000_000_000,
    ],
)
def test_a_time_is_a_text_or_a_number_since_1970_in_any_unit(written: object) -> None:
    assert parse_timestamp(written) == MORNING


NO_TIMES: list[object] = [
    None,
    True,
    0,
    12,
    -SECONDS,
    10**30,
    float("nan"),
    float("inf"),
    "soon",
    "",
    [SECONDS],
    {},
]


def test_other_values_are_not_a_time(subtests: pytest.Subtests) -> None:
    for written in NO_TIMES:
        with subtests.test(written=written):
            assert parse_timestamp(written) is None
