"""Times as users write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.time_span import CalendarUnit, calendar_span, parse_time_span

NOW = datetime(2026, 3, 18, 14, 30, tzinfo=UTC)
"""A Wednesday."""


def span(text: str, now: datetime = NOW) -> str | None:
    """Return the beginning and the end of the span; an instant as one time."""
    found = parse_time_span(text, now)
    if found is None:
        return None
    start, end = (
        f"{time:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for time in (found.start, found.end)
    )
    return start if start == end else f"{start} to {end}"


def test_an_iso_time_is_read_as_the_span_that_it_names(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("2026", "2026-01-01 to 2027-01-01"),
        ("2026-03", "2026-03-01 to 2026-04-01"),
        ("2026-12", "2026-12-01 to 2027-01-01"),
        ("2026/03", "2026-03-01 to 2026-04-01"),
        ("2026-W10", "2026-03-02 to 2026-03-09"),
        ("2026-03-01", "2026-03-01 to 2026-03-02"),
        ("20260301", "2026-03-01 to 2026-03-02"),
        ("2026/03/01", "2026-03-01 to 2026-03-02"),
        ("2026-03-01T10:00", "2026-03-01 10:00"),
        ("2026-03-01 10:00", "2026-03-01 10:00"),
        ("2026-03-01T10:00+02:00", "2026-03-01 08:00"),
        ("2026-03-01T10:00:00.5Z", "2026-03-01 10:00"),
    ]:
        with subtests.test(text=text):
            assert span(text) == expected


def test_english_is_read_as_the_span_that_it_names(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("now", "2026-03-18 14:30"),
        ("today", "2026-03-18 to 2026-03-19"),
        ("Yesterday", "2026-03-17 to 2026-03-18"),
        ("the day before  yesterday", "2026-03-16 to 2026-03-17"),
        ("yesterday at 9pm", "2026-03-17 21:00"),
        ("yesterday 10:00", "2026-03-17 10:00"),
        ("last tuesday", "2026-03-17 to 2026-03-18"),
        ("tuesday", "2026-03-17 to 2026-03-18"),
        ("last Wednesday", "2026-03-11 to 2026-03-12"),
        ("this week", "2026-03-16 to 2026-03-23"),
        ("last week", "2026-03-09 to 2026-03-16"),
        ("last month", "2026-02-01 to 2026-03-01"),
        ("last year", "2025-01-01 to 2026-01-01"),
        ("march 2026", "2026-03-01 to 2026-04-01"),
        ("may", "2025-05-01 to 2025-06-01"),
        ("5 march", "2026-03-05 to 2026-03-06"),
        ("March 5th, 2026", "2026-03-05 to 2026-03-06"),
        ("March 5th, 2026 at 5pm", "2026-03-05 17:00"),
    ]:
        with subtests.test(text=text):
            assert span(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90min", "2026-03-18 13:00"),
        ("6h", "2026-03-18 08:30"),
        ("7d", "2026-03-11 14:30"),
        ("7 days ago", "2026-03-11 14:30"),
        ("2w", "2026-03-04 14:30"),
        ("3 weeks ago", "2026-02-25 14:30"),
        ("a month ago", "2026-02-18 14:30"),
        ("3mo", "2025-12-18 14:30"),
        ("1y", "2025-03-18 14:30"),
        ("past 2 weeks", "2026-03-04 14:30 to 2026-03-18 14:30"),
        ("last 3 days", "2026-03-15 14:30 to 2026-03-18 14:30"),
    ],
)
def test_a_duration_is_counted_back_from_now(text: str, expected: str) -> None:
    assert span(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two days before 7 march", "2026-03-05 to 2026-03-06"),
        ("the week before 3 march 2026", "2026-02-24 to 2026-03-03"),
        ("the week after 2026-02-10", "2026-02-11 to 2026-02-18"),
        ("a month before march 2026", "2026-02-01 to 2026-03-01"),
        ("the day before last tuesday", "2026-03-16 to 2026-03-17"),
        ("the morning of 7 march", "2026-03-07 05:00 to 2026-03-07 12:00"),
        ("this morning", "2026-03-18 05:00 to 2026-03-18 12:00"),
        ("friday evening", "2026-03-13 17:00 to 2026-03-14"),
        ("last night", "2026-03-17 20:00 to 2026-03-18 05:00"),
        ("last weekend", "2026-03-14 to 2026-03-16"),
        ("mid-february", "2026-02-10 to 2026-02-21"),
        ("the second week of november", "2025-11-08 to 2025-11-15"),
        ("the end of february", "2026-02-20 to 2026-03-01"),
    ],
)
def test_a_time_may_be_named_by_another_one(text: str, expected: str) -> None:
    assert span(text) == expected


def test_anything_else_is_not_a_time(subtests: pytest.Subtests) -> None:
    for text in [
        *("", " ", "a", "5", "12", "spring", "nonsense", "soon", "ago", "last", "-3d", "3m"),
        *("2026-13", "2026-02-30", "feb 30", "2026-W60", "0000", "3/4/2026", "12:30", "25:00"),
        *("night", "the day before", "the week after the release", "the year after 9999-12-31"),
        *("9999 years before may", "the end of december 9999", "the day before 0001-01-01"),
        *("99999d", "9999 years ago", "0001-01-01T00:00+05:00", "1710000000"),
        *(
            "今天",
            "вчера",
            "\uff12\uff10\uff12\uff16",
            "\x1b[31m",
            "[bold]today[/bold]",
            "last tuesday x",
            "İ" * 60,
        ),
    ]:
        with subtests.test(text=text):
            assert span(text) is None


def test_times_without_a_zone_are_in_the_zone_of_now() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=10)))  # there, Thursday has begun
    assert span("yesterday", now) == "2026-03-17 14:00 to 2026-03-18 14:00"
    assert span("2026-03-01", now) == "2026-02-28 14:00 to 2026-03-01 14:00"
    assert span("2026-03-01T10:00", now) == "2026-03-01"
    assert span("7d", now) == span("7d")


def test_the_last_year_of_the_calendar_ends_with_the_calendar() -> None:
    found = parse_time_span("9999-12-31", NOW)
    assert found is not None
    assert found.end == datetime.max.replace(tzinfo=UTC)


_WORDS = (
    "last past this the day before after of at in march may tuesday week year ago 7 7d 30 2026 an "
    "5pm morning night weekend early"
)
_near_misses = st.lists(st.sampled_from(_WORDS.split()), max_size=6).map(" ".join)
_digits = st.text("0123456789-/:TWZ+. dwy", max_size=30)
_nows = st.datetimes(timezones=st.just(UTC))


@given(st.one_of(st.text(), _near_misses, _digits), _nows)
def test_no_text_raises_an_error_or_gives_a_span_that_ends_before_it_starts(
    text: str, now: datetime
) -> None:
    found = parse_time_span(text, now)
    assert found is None or found.start <= found.end


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(CalendarUnit))
def test_a_calendar_span_contains_its_moment(moment: datetime, unit: CalendarUnit) -> None:
    found = calendar_span(unit, moment)
    assert found.start <= moment
    assert moment < found.end or found.end == datetime.max.replace(tzinfo=UTC)


def test_a_text_of_any_length_is_refused_at_once() -> None:
    assert span("2026-03 " * 12_500) is None
