"""The interface of content types: how a type is detected, and how its texts are condensed.

A content type is two expressions over `INPUT_COLUMNS`. The first type that matches a text condenses
it. Each type is evaluated only on texts that no earlier type matched, so cheap types come first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

INPUT_COLUMNS = pl.Schema(
    {
        "text": pl.String,
        "role": pl.String,
        "failed": pl.Boolean,
        "cwd": pl.String,
    }
)
"""The columns that a content type can read: the text; its role (of `text.tool_role`, or `code`);
whether the call failed; the turn's working directory without a final slash, or an empty string."""

LINE_CHARS = 240
"""Maximum characters kept of a line."""

_WHITESPACE = r"[ \t\r\n]{2,}|[\t\r\n]"
"""Whitespace to replace by one space. It does not match single spaces: polars then does not copy
texts that contain no other whitespace."""
_TIMESTAMP = r"\x{feff}?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9:]{5})[ \t]"
"""The time that a program writes before each of its lines."""

TEXT, ROLE, FAILED, CWD = (pl.col(name) for name in INPUT_COLUMNS.names())


@dataclass(frozen=True, eq=False)
class ContentType:
    """One content type."""

    name: str
    matches: pl.Expr
    """True for texts of this type; never null."""
    condensed: pl.Expr
    """The condensed text, on one line; never null."""


def condense(texts: pl.DataFrame, types: Sequence[ContentType]) -> pl.Series:
    """Return `text`, one per row: the text as the first matching type condenses it.

    It is never longer than the lines of the text joined by `; `. A text that no type matches
    becomes an empty string.
    """
    rest = texts.with_row_index("position")
    condensed = []
    for content_type in types:
        marked = rest.with_columns(content_type.matches.alias("matches"))
        if not marked["matches"].any():
            continue
        matching = marked.filter("matches").drop("matches")
        rest = marked.filter(~pl.col("matches")).drop("matches")
        short = content_type.condensed.str.strip_chars().alias("condensed")
        condensed.append(_never_longer(matching.select("position", "text", short)))
        if rest.is_empty():
            break
    unmatched = rest.select("position", pl.lit("").alias("text"))
    return pl.concat([*condensed, unmatched]).sort("position")["text"]


def matching_lines(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.extract_all(pattern).list.unique(maintain_order=True)


def tidy_line(line: pl.Expr, max_chars: int = LINE_CHARS) -> pl.Expr:
    """Return a line truncated, with single spaces and without a leading timestamp."""
    plain = line.str.replace_all(_TIMESTAMP, "").str.strip_chars()
    return truncate(plain.str.replace_all(_WHITESPACE, " "), max_chars)


def join_lines(lines: pl.Expr, max_chars: int = LINE_CHARS) -> pl.Expr:
    """Return tidy lines as one, without duplicates and blank lines."""
    tidied = tidy_line(pl.element(), max_chars).replace("", None).drop_nulls()
    return lines.list.eval(tidied.unique(maintain_order=True)).list.join("; ")


def flatten(text: pl.Expr) -> pl.Expr:
    """Return all lines of a short text as one, without duplicates."""
    return join_lines(text.str.split("\n"))


def truncate(text: pl.Expr, max_chars: int) -> pl.Expr:
    """Return the head of a text, with `...` if the rest is removed."""
    is_long = text.str.len_chars() > max_chars
    return pl.when(is_long).then(text.str.head(max_chars) + "...").otherwise(text)


def _never_longer(texts: pl.DataFrame) -> pl.DataFrame:
    """Return `position` and `text`: the condensed text, or the whole text if that is shorter."""
    condensed = pl.col("condensed")
    flat = TEXT.str.strip_chars().str.replace_all(r"\s*\n\s*", "; ")
    # The length in bytes is free; characters are counted only where the bytes do not decide.
    fits = condensed.str.len_bytes() <= TEXT.str.len_bytes()
    if texts.select(fits.all()).item():
        return texts.select("position", text="condensed")
    fitting = texts.filter(fits).select("position", text="condensed")
    max_chars = TEXT.str.len_chars() + TEXT.str.count_matches("\n", literal=True)
    shorter = pl.when(condensed.str.len_chars() <= max_chars).then(condensed).otherwise(flat)
    return pl.concat([fitting, texts.filter(~fits).select("position", text=shorter)])
