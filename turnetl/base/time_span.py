"""Times as users write them, in options and in queries: `2026-03`, `7d`, `last tuesday`.

Each expression is a span: a day from its midnight to the next one, a month from its first day to
the first of the next. A time of day or a duration back from now is an instant: an empty span.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import partial

from turnetl.base.errors import BadUsage

EXAMPLES = (
    "2026-03-01, 2026-03, 2026-03-01T12:00+01:00, 7d, yesterday, `last tuesday` or `3 weeks ago`"
)
"""Expressions that are read, for messages."""

_MAX_CHARS = 60
"""Characters of the longest expression."""
# Patterns are texts: most commands read no time, and compiling these takes 15 ms.
_NUMBER = r"(?:[0-9]{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:second|minute|hour|day|week|month|year)s?"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)"
)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_YEAR = r"[0-9]{4}"
DAY_OF_MONTH = rf"(?:{MONTH} {_DAY}|{_DAY} (?:of )?{MONTH})"
_CLOCK = r"(?:(?: at)? (?:[0-9]{1,2}:[0-9]{2}(?: ?[ap]m)?|[0-9]{1,2} ?[ap]m))"
ISO_DATE = r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?"
DATED = (
    rf"(?:{MONTH} {_YEAR}|{MONTH} {_DAY},? {_YEAR}|{_DAY} (?:of )?{MONTH},? {_YEAR})"
    rf"|{ISO_DATE}"
)
"""Pattern of the expressions that name a month or a day of a year."""
RELATIVE = (
    r"(?:the )?day before yesterday|yesterday|today"
    rf"|{_NUMBER} {_UNIT} ago|(?:last|past) {_NUMBER} {_UNIT}"
    rf"|(?:last|this) (?:week|month|year)|last {_WEEKDAY}"
)
"""Pattern of the expressions that name a time before now."""
WEEKDAY = rf"(?:last )?{_WEEKDAY}"
_ANCHOR = rf"(?:{RELATIVE}|{DATED}|{DAY_OF_MONTH}|{MONTH}|{WEEKDAY})"
OFFSET = rf"(?:the|{_NUMBER}) (?:day|week|month|year)s? (?:before|after)"
"""Pattern of what stands before a date or an event: `two days before`, `the week after`."""
_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (20, 29)}
_PART_OF_DAY = f"(?:{'|'.join(_HOURS)})"
_DAYS_OF_MONTH = {
    "early": (1, 11),
    "mid": (10, 21),
    "late": (20, 32),
    "beginning": (1, 11),
    "middle": (10, 21),
    "end": (20, 32),
    "first": (1, 8),
    "second": (8, 15),
    "third": (15, 22),
    "fourth": (22, 29),
}
"""From the first to the one after the last."""
COMPOUND = (
    rf"{OFFSET} {_ANCHOR}|(?:the )?{_PART_OF_DAY} of {_ANCHOR}|last night|(?:last|past) weekend"
    rf"|(?:yesterday|this|{WEEKDAY}) {_PART_OF_DAY}|(?:early|mid|late)[- ]{MONTH}(?: {_YEAR})?"
    r"|(?:the )?(?:beginning|middle|end|(?:first|second|third|fourth) week)"
    rf" of {MONTH}(?: {_YEAR})?"
)
"""Pattern of the expressions that name a time by another one: `the morning of 7 may`."""
_DAYS = rf"(?:the )?day before yesterday|yesterday|today|tomorrow|(?:last )?{_WEEKDAY}"
_IN_ENGLISH = (
    rf"now|{RELATIVE}|{DATED}|{MONTH}|{DAY_OF_MONTH}"
    rf"|(?:{_DAYS}|{MONTH} {_DAY}(?:,? {_YEAR})?|{_DAY} (?:of )?{MONTH}(?:,? {_YEAR})?){_CLOCK}?"
)
_SHORT = r"([0-9]{1,5}) ?(min|h|d|w|mo|y)"
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks", "mo": "months", "y": "years"}


class CalendarUnit(StrEnum):
    DAY = "day"
    WEEK = "week"
    """From Monday."""
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The times from `start` up to, but not including, `end`; both in UTC."""

    start: datetime
    end: datetime
    """Equal to `start` for an instant."""


def parse_time_span(text: str, now: datetime) -> TimeSpan | None:
    """Return the span that an ISO 8601 or English expression names; None if it cannot be read.

    Times without a zone are meant in that of `now`.
    """
    # Some characters grow many times when their case is folded.
    if len(text) > _MAX_CHARS:
        return None
    expression = " ".join(text.casefold().split())
    try:
        return _iso(expression, now) or _compound(expression, now) or _english(expression, now)
    except (ValueError, OverflowError):
        return None


def check_between(since: datetime | None, ends: Mapping[str, datetime | None], name: str) -> None:
    """Check that some time lies between a beginning and each end; names are quoted."""
    for end_name, end in ends.items():
        if since is not None and end is not None and end <= since:
            raise BadUsage(
                f"no turn can be selected: {end_name} ends at {end:%Y-%m-%d %H:%M}, and {name} "
                f"begins at {since:%Y-%m-%d %H:%M} (UTC)"
            )


def calendar_span(unit: CalendarUnit, moment: datetime) -> TimeSpan:
    """Return the day, week, month or year, in the moment's time zone, that contains the moment."""
    day = moment.date()
    match unit:
        case CalendarUnit.DAY:
            first, length = day, 1
        case CalendarUnit.WEEK:
            first, length = day - timedelta(days=day.weekday()), 7
        case CalendarUnit.MONTH:
            first, length = day.replace(day=1), 31
        case CalendarUnit.YEAR:
            first, length = day.replace(month=1, day=1), 366
    midnight = partial(datetime.combine, time=time(), tzinfo=moment.tzinfo)
    if first > date.max - timedelta(days=length):
        return TimeSpan(midnight(first).astimezone(UTC), datetime.max.replace(tzinfo=UTC))
    after = first + timedelta(days=length)
    if unit in (CalendarUnit.MONTH, CalendarUnit.YEAR):
        after = after.replace(day=1)
    return TimeSpan(midnight(first).astimezone(UTC), midnight(after).astimezone(UTC))


def _iso(expression: str, now: datetime) -> TimeSpan | None:
    """Read an expression of digits; None if it is English."""
    if not expression[:4].isdecimal() or re.fullmatch(_SHORT, expression):
        return None
    unit, day = CalendarUnit.DAY, expression
    if found := re.fullmatch(r"([0-9]{4})", expression):
        unit, day = CalendarUnit.YEAR, f"{found[1]}-01-01"
    elif found := re.fullmatch(r"([0-9]{4})[-/]([0-9]{2})", expression):
        unit, day = CalendarUnit.MONTH, f"{found[1]}-{found[2]}-01"
    elif found := re.fullmatch(r"([0-9]{4})-w([0-9]{2})", expression):
        unit, day = CalendarUnit.WEEK, f"{found[1]}-W{found[2]}-1"
    elif found := re.fullmatch(r"([0-9]{4})/([0-9]{2})/([0-9]{2})", expression):
        day = "-".join(found.groups())
    given = datetime.fromisoformat(day.upper())
    if given.tzinfo is None:
        given = given.replace(tzinfo=now.tzinfo)
    if "t" in expression or ":" in expression:
        return _instant(given)
    return calendar_span(unit, given)


def shifted(offset: str, at: TimeSpan, now: datetime) -> TimeSpan:
    """Return the n-th day, week, month or year before or after a time: `OFFSET` says which.

    Raises:
        ValueError: it is in no year of the calendar.
    """
    count, unit, side = offset.casefold().replace("the ", "1 ").split()
    if side == "before":
        start = _moved(at.start, f"{count} {unit} ago", now)
        return TimeSpan(start, _moved(start, f"in 1 {unit}", now))
    end = _moved(at.end, f"in {count} {unit}", now)
    return TimeSpan(_moved(end, f"1 {unit} ago", now), end)


def _moved(moment: datetime, by: str, now: datetime) -> datetime:
    found = _interpret(by, moment.astimezone(now.tzinfo))
    if found is None:
        raise ValueError(f"no such time: {by}")
    return found[0].astimezone(UTC)


def _compound(expression: str, now: datetime) -> TimeSpan | None:
    """Read an expression that names a time by another one; None if it is no such expression."""
    if not re.fullmatch(COMPOUND, expression):
        return None
    if found := re.fullmatch(rf"({OFFSET}) (.+)", expression):
        at = parse_time_span(found[2], now)
        return shifted(found[1], at, now) if at else None
    if found := re.fullmatch(r"(?:last|past) weekend", expression):
        week = calendar_span(CalendarUnit.WEEK, now).start.astimezone(now.tzinfo)
        return _days(week, -2, 0)
    if found := re.search(rf"(?:^the )?\b({_PART_OF_DAY})\b(?: of)?", expression):
        rest = expression.replace(found[0], "").strip()
        day = parse_time_span({"last": "yesterday", "this": "today"}.get(rest, rest), now)
        midnight = day.start.astimezone(now.tzinfo) if day else None
        first, last = _HOURS[found[1]]
        return _days(midnight, first / 24, last / 24) if midnight else None
    which, rest = re.split(r"[- ]", expression.removeprefix("the "), maxsplit=1)
    month = parse_time_span(rest.rpartition("of ")[2], now)
    if month is None:
        return None
    first, last = _DAYS_OF_MONTH[which]
    days = _days(month.start.astimezone(now.tzinfo), first - 1, last - 1)
    return TimeSpan(days.start, min(days.end, month.end))


def _days(midnight: datetime, first: float, last: float) -> TimeSpan:
    """Return the span between `first` and `last` days after a midnight."""
    start, end = (midnight + timedelta(days=days) for days in (first, last))
    return TimeSpan(start.astimezone(UTC), end.astimezone(UTC))


def _english(expression: str, now: datetime) -> TimeSpan | None:
    if short := re.fullmatch(_SHORT, expression):
        expression = f"{short[1]} {_UNITS[short[2]]} ago"
    if not re.fullmatch(_IN_ENGLISH, expression):
        return None
    duration = re.fullmatch(rf"(?:last|past) ({_NUMBER} {_UNIT})", expression)
    found = _interpret(f"{duration[1]} ago" if duration else expression, now)
    if found is None:
        return None
    moment, period = found
    if duration:
        return TimeSpan(moment.astimezone(UTC), now.astimezone(UTC))
    if expression == "now" or expression.endswith(" ago") or re.search(f"{_CLOCK}$", expression):
        return _instant(moment)
    return calendar_span(CalendarUnit(period), moment)


def _interpret(expression: str, now: datetime) -> tuple[datetime, str] | None:
    """Return a time within the span, in the zone of `now`, and the unit of the span."""
    from dateparser.date import DateDataParser  # noqa: PLC0415 - 0.1 s, only for English

    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        # Else it reads the time zone of the machine.
        "TIMEZONE": "UTC",
        "PARSERS": ["relative-time", "absolute-time"],
    }
    found = DateDataParser(languages=["en"], settings=settings).get_date_data(expression)
    if found.date_obj is None:
        return None
    return found.date_obj.replace(tzinfo=now.tzinfo), found.period


def _instant(moment: datetime) -> TimeSpan:
    in_utc = moment.astimezone(UTC)
    return TimeSpan(in_utc, in_utc)
