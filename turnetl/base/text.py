"""Counts, times and amounts as text, texts on one line, and which calls write prose."""

import re
from collections.abc import Sequence
from datetime import datetime


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return the count with its noun: `1 group`, `2 groups`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many others there are: `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def format_minute(time: datetime | None) -> str:
    """Return a time to the minute, in UTC as all times are printed."""
    return "no time" if time is None else f"{time:%Y-%m-%d %H:%M}"


def format_span(first: datetime | None, last: datetime | None) -> str:
    """Return the time between two times, to the minute; what repeats is left out."""
    begin, end = format_minute(first), format_minute(last)
    if first is None or last is None or begin == end:
        return begin
    return f"{begin} to {end.removeprefix(begin[:11])}"


def format_cost(cost: float | None) -> str:
    """Return US dollars: four decimals below a dollar, else two."""
    if cost is None:
        return "unknown"
    return f"${cost:,.4f}" if 0 < cost < 1 else f"${cost:,.2f}"


_TITLE_CHARS = 300


def one_line(text: str, limit: int = _TITLE_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


_MB = 1_000_000


_BYTES_PER_TOKEN = 3


def estimate_tokens(*texts: str) -> int:
    """Return the approximate number of tokens of the texts, rather too high than too low."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN) for text in texts)


def size(count: int) -> str:
    return f"{count / _MB:,.1f} MB" if count >= _MB else f"{count / 1e3:,.0f} kB"


AUTHORED = (
    r"(?i)^(?:exit_?plan_?mode|plan_exit|create_plan)\b|\b(?:gh|glab) (?:pr|mr|issue|release|api)\b"
    r"|\bgit (?:commit|tag|notes)\b.{0,80}(?:<<| -[a-z]*[mF]\b)"
    r'|^\S+ \{.*"(?:plan|body|comment|description)":"(?:[^"\\]|\\.){200}'
    r"|^\S*(?:comment|doc|issue|message|note|page|release|review|ticket)\S* \{.*"
    r'"(?:content|markdown|text)":"(?:[^"\\]|\\.){200}'
)
"""Matches a tool's name, a space and the input of a call in which an agent wrote a text for people:
a plan, a commit message, a pull request, a ticket, a comment. For Python and for Rust."""


HISTORY_MARK = "turnetl-history-"
"""Begins the name of the element around what hooks of turnetl say to a model."""
HISTORY_HEAD = "From the user's past sessions"
"""Begins the text in that element."""
HISTORY_MARK_BYTES = f"<{HISTORY_MARK}".encode()
_HISTORY = re.compile(
    rf"(?<!\s)\s*<({HISTORY_MARK}[0-9a-f]{{16}})>"
    rf"(?:(?:(?!<{HISTORY_MARK}).)*?</\1>|\s*{HISTORY_HEAD}.*)\s*",
    re.DOTALL,
)


def without_injected(text: str) -> str:
    """Return what others wrote of a text.

    An element that is not closed lasts to the end of the text if it begins as those of hooks do:
    else somebody only writes about it.
    """
    return _HISTORY.sub("\n", text).strip() if HISTORY_MARK in text else text
