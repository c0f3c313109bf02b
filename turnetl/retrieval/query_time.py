"""Times that a query names, as in "what did we change last week": a weight, not a filter.

Only expressions that are unlikely to mean anything else are read: not `may`, `now` or `today`. What
is in quotes is left alone.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from turnetl.base.terms import content_words
from turnetl.base.time_span import (
    DATED,
    RELATIVE,
    CalendarUnit,
    TimeSpan,
    calendar_span,
    parse_time_span,
)
from turnetl.retrieval.ranking import RankedTurn, sort_key

OUTSIDE = 0.7
"""What a turn outside of the time that the query names keeps of its score."""

_PREPOSITION = "since|after|before|until"
_EXPRESSION = (
    rf"(?:\b(?P<preposition>{_PREPOSITION}) )?(?<![\w./:-])"
    rf"(?P<time>(?P<relative>(?!today)(?:{RELATIVE}))|{DATED})(?![\w/:-]|\.\w)"
)
_PART = re.compile(r"[0-9]{4}|yesterday|ago|last|past|this", re.IGNORECASE)
"""What every expression contains. Few queries do, and compiling `_EXPRESSION` takes 5 ms."""
_GENERAL_WORDS = """
change changed changes doing done happen happened happening made make work worked working all
anything everything between during since until before after
"""
_ASKS_FOR_ALL = frozenset(_GENERAL_WORDS.split())
"""Words of a question about all that was done, beside stop words."""
_AGO = re.compile(r".* (second|minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]*"')
_SPACES = re.compile(r"[^\S\n]+")
_FIRST = datetime(1, 1, 1, tzinfo=UTC)


def find_time(text: str, now: datetime) -> tuple[TimeSpan | None, str]:
    """Return the time that a query names, if any, and the query without it.

    Several expressions name the time from the first to the last. An ISO date stays in the query
    too: the texts of turns contain such dates.
    """
    text = _SPACES.sub(" ", text)
    if not _PART.search(text):
        return None, text
    spans, kept, end = [], [], 0
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for match in re.finditer(_EXPRESSION, text, re.IGNORECASE):
        if any(start < match.end() and match.start() < stop for start, stop in quoted):
            continue
        span = _span(match["time"], match["preposition"], now)
        if span is None:
            continue
        spans.append(span)
        if match["relative"] or " " in match["time"]:
            kept.append(text[end : match.start()])
            end = match.end()
    if not spans:
        return None, text
    whole = TimeSpan(min(span.start for span in spans), max(span.end for span in spans))
    return whole, " ".join((*kept, text[end:]))


def asks_for_all(text: str) -> bool:
    """Return whether a query that names a time asks for all that was done then."""
    words = content_words(re.sub(_EXPRESSION, " ", text, flags=re.IGNORECASE)).lower().split()
    return not _QUOTED.search(text) and _ASKS_FOR_ALL.issuperset(words)


def weigh_by_time(
    ranked: Sequence[RankedTurn], within: Sequence[RankedTurn], outside: float = OUTSIDE
) -> list[RankedTurn]:
    """Return the turns, those outside of the time with a lower score, best first.

    Args:
        ranked: turns of any time.
        within: turns of the time that the query names.
        outside: what the others keep of their score.
    """
    found = {turn.turn.key: turn for turn in within}
    others = [
        replace(turn, score=outside * turn.score) for turn in ranked if turn.turn.key not in found
    ]
    return sorted((*within, *others), key=sort_key)


def _span(expression: str, preposition: str | None, now: datetime) -> TimeSpan | None:
    span = parse_time_span(expression, now)
    if span is None:
        return None
    if ago := _AGO.fullmatch(expression):
        span = calendar_span(_unit(ago[1].lower()), span.start.astimezone(now.tzinfo))
    present = max(now.astimezone(UTC), span.end)
    match (preposition or "").lower():
        case "since":
            return TimeSpan(span.start, present)
        case "after":
            return TimeSpan(span.end, present)
        case "before":
            return TimeSpan(_FIRST, span.start)
        case "until":
            return TimeSpan(_FIRST, span.end)
        case _:
            return span


def _unit(word: str) -> CalendarUnit:
    try:
        return CalendarUnit(word)
    except ValueError:  # an hour, a minute
        return CalendarUnit.DAY
