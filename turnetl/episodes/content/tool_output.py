"""Results that only display something to the model: usually the call itself is enough."""

import polars as pl

from turnetl.episodes.content import output_lines
from turnetl.episodes.content.base import (
    FAILED,
    ROLE,
    TEXT,
    ContentType,
    flatten,
    join_lines,
    matching_lines,
    tidy_line,
)

_SHORT_CHARS, _SEARCHED_CHARS = 120, 400
"""Maximum characters of a short result (a count, a version, no match), and of one that is searched
for failures."""
_NO_RESULT = r"No such file|[Nn]ot found|[Dd]enied|^fatal:|[Ee]xit [Cc]ode: [1-9]"
_LOCATION = r"(?:[^ \t\n:]+:)?[0-9]+:"
_MATCH = rf"(?m)^{_LOCATION}[^\n]*|^[^ \t\n:]+/[^ \t\n:/]+\.[A-Za-z0-9]+$"
"""A match of a search: `path:line:text`, `line:text` in a single file, or a path alone."""
_MAX_MATCHES, _LINE_CHARS = 5, 100
"""Matches kept, and maximum characters of the first, which is kept with its text."""
_CREATED = r"^(?:File created|Created|Successfully created)|\nA [^ ]"
_CONFIRMATION = r"^(?:The file |Edit applied|Success\. Updated|Wrote file|\s*$)"
_DISPLAYS = ~FAILED & ROLE.is_in(["read", "search"])


def _file_change() -> pl.Expr:
    """Return `created` for a new file; otherwise what a short first line adds to a confirmation."""
    first_line = TEXT.str.extract(r"\A([^\n]*)").fill_null("")
    is_usual = TEXT.str.contains(_CONFIRMATION)
    line = pl.when(is_usual).then(pl.lit("")).otherwise(tidy_line(first_line, _SHORT_CHARS))
    return pl.when(TEXT.str.contains(_CREATED)).then(pl.lit("created")).otherwise(line)


def _displayed() -> pl.Expr:
    return pl.when(DISCARDED).then(pl.lit("")).otherwise(flatten(TEXT))


def _search_result() -> pl.Expr:
    """Return failures, if the text is too short to be code; otherwise the matches."""
    is_short = TEXT.str.len_chars() <= _SEARCHED_CHARS
    text = pl.when(is_short).then(TEXT).otherwise(pl.lit(""))
    failures = join_lines(matching_lines(text, output_lines.whole_line(_NO_RESULT)))
    return pl.coalesce(failures.replace("", None), _matches())


def _matches() -> pl.Expr:
    """Return the first match, and of other matches the file with its folder and line.

    The agent works on the matches next, so their text occurs in its following calls.
    """
    matches = TEXT.str.extract_all(_MATCH).list.head(_MAX_MATCHES)
    location = pl.element().str.replace(rf"^({_LOCATION}).*", "$1").str.strip_chars_end(":")
    others = matches.list.slice(1).list.eval(location.str.replace(r"^.*/([^/]+/[^/]+)$", "$1"))
    return join_lines(matches.list.head(1).list.concat(others), _LINE_CHARS)


DISCARDED = ~FAILED & (ROLE == "read")
"""Texts of which nothing is kept, so that no expression needs to read them."""

DISPLAYED = ContentType(
    "displayed",
    _DISPLAYS & (DISCARDED | (TEXT.str.len_chars() <= _SHORT_CHARS)),
    _displayed(),
)
"""Files and listings, of which nothing is kept; and short results of searches, which are kept."""

SEARCH_RESULT = ContentType("search_result", _DISPLAYS, _search_result())
"""Results of searches and of commands that only display something."""

FILE_CHANGE = ContentType("file_change", ~FAILED & (ROLE == "edit"), _file_change())
"""Confirmation that a file was changed; the change itself is in the call."""
