"""What a tool only showed to the model: that it was called is enough."""

import polars as pl

from turnetl.episodes.content.base import FAILED, ROLE, TEXT, Kind, on_one_line

_SHORT = 120
"""Characters of an answer to a question: a count, a version, that there is none."""
_CREATED = r"^(?:File created|Created|Successfully created|Wrote)"
_SHOWS = ~FAILED & ROLE.is_in(["reads", "looks"])

UNREAD = _SHOWS & ((ROLE == "reads") | (TEXT.str.len_chars() > _SHORT))
"""Texts of which nothing is kept, so that nothing needs to read them."""

SHOWN = Kind("shown", _SHOWS, pl.when(UNREAD).then(pl.lit("")).otherwise(on_one_line(TEXT)))
"""Files and listings; a short answer of a search or a command is kept."""

WRITTEN = Kind(
    "written",
    ~FAILED & (ROLE == "edits"),
    pl.when(TEXT.str.contains(_CREATED)).then(pl.lit("created")).otherwise(pl.lit("")),
)
"""That a file was changed; what was changed stands in the call."""
