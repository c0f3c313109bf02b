"""The options that take a time. All of them read the same expressions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter, Token

from turnetl.base.clock import now
from turnetl.base.time_span import TimeSpan, parse_time_span


def _span(tokens: Sequence[Token]) -> TimeSpan:
    span = parse_time_span(tokens[0].value, now())
    if span is None:
        raise ValueError  # `console.usage_errors` names what is accepted
    return span


def beginning(_type: Any, tokens: Sequence[Token]) -> datetime:
    """Convert an option to the beginning of the span that it names, in UTC."""
    return _span(tokens).start


def _end(_type: Any, tokens: Sequence[Token]) -> datetime:
    return _span(tokens).end


Since = Annotated[
    datetime | None,
    Parameter(
        converter=beginning,
        help="Only turns that started at this time or later: 2026-03-01, 2026-03, 7d, "
        "'last tuesday' (UTC without a zone).",
    ),
]
"""The beginning of the day, month or other span that the user names, in UTC."""
Until = Annotated[
    datetime | None,
    Parameter(converter=_end, help="Only turns that started before the end of this time."),
]
"""The end of the span: `2026-03` includes March."""
AsOf = Annotated[
    datetime | None,
    Parameter(
        converter=_end,
        help="What held at the end of this time: without later turns and facts, and "
        "without facts that had been invalidated.",
    ),
]
"""The end of the span: `2026-03` is the end of March."""
