"""Remove terminal colours, client reminders, base64 and overwritten lines from texts."""

from collections.abc import Sequence

import polars as pl

_COLOUR = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_REMINDER = r"(?s)<system-reminder>.*?</system-reminder>"
_TRUNCATED_REMINDER = r"(?s)<system-reminder>.*"
_BASE64 = r"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?[A-Za-z0-9+/]{400,}={0,2}"
_BLOB = r"[A-Za-z0-9+/]{400}"
_OVERWRITTEN = r"(?m)^[^\n]*\r"
_BAR_CHARACTERS = "█▓▒░▏▎▍▌▋▊▉━─═╌┄┈■□▪▫●○⣿⣀#=*-"
_BAR = rf"[{_BAR_CHARACTERS}]{{8,}}>?"
_CONTROL_MARKERS = ["\x1b", "\r", "<system-reminder>"]
_RESULT_MARKERS = [*_CONTROL_MARKERS, *(character * 8 for character in _BAR_CHARACTERS)]
"""A tool result without any of these contains nothing to remove but base64; so does a prompt, a
response or a tool input without `_CONTROL_MARKERS`."""
_SIGNED = "Co-Authored-By: "
_SIGNATURE = r"(?:🤖 Generated with \S+ \S+ +)?Co-Authored-By: [^<\n]{0,60}<[^>\n]*> ?"
"""The signature that a coding agent appends to commit messages."""
SEARCHED_CHARS = 50_000
"""Characters of a text, from its start, that the user's patterns search. A pattern whose every
match looks ahead to the end of the text costs the square of this: seconds here, days for 50 MB."""
_BOLD = r"(?m)(^|[ \t|>])\*\*([^*\s/][^*\n]*[^*\s(,])\*\*"
"""Bold text in Markdown; not powers, glob patterns or keyword arguments."""
_BLANK_LINES = r"\n[ \t]*(?:\n[ \t]*)+\n"


def clean_user_text(text: pl.Expr) -> pl.Expr:
    """Return the user's text without text that the client inserted."""
    return (
        text.str.replace_all(_COLOUR, "")
        .str.replace_all(_REMINDER, "")
        .str.replace_all(_BASE64, "[base64]")
        .str.replace_all("\r\n", "\n", literal=True)
        .str.strip_chars()
    )


def clean_messages(texts: pl.Series) -> pl.Series:
    """Return `clean_user_text` of each text; a single scan selects the few that need it."""
    text = pl.col(texts.name)
    affected = text.str.contains_any(_CONTROL_MARKERS) | text.str.contains(_BLOB)
    cleaned = apply_where(texts.to_frame(), affected, clean_user_text(text), text.str.strip_chars())
    return cleaned[texts.name]


def clean_prose(text: pl.Expr) -> pl.Expr:
    """Return an agent's text with single blank lines and without bold markers."""
    return text.str.replace_all(_BOLD, "$1$2").str.replace_all(_BLANK_LINES, "\n\n")


def clean_output(text: pl.Expr) -> pl.Expr:
    """Return the output of a program as a terminal finally displays it."""
    closed = clean_user_text(text).str.replace(_TRUNCATED_REMINDER, "")
    return closed.str.replace_all(_OVERWRITTEN, "").str.replace_all(_BAR, " ").str.strip_chars()


def clean_results(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `clean_output` of `text`.

    A single scan selects the few texts that need it, because the cost of each pattern is what it
    reads.
    """
    text = pl.col("text")
    affected = text.str.contains_any(_RESULT_MARKERS) | text.str.contains(_BLOB)
    return apply_where(texts, affected, clean_output(text), text.str.strip_chars())


def clean_inputs(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `input` without terminal escapes and client reminders."""
    call = pl.col("input")
    affected = call.str.contains_any([*_CONTROL_MARKERS, _SIGNED]) | call.str.contains(_BLOB)
    return apply_where(calls, affected, clean_user_text(call).str.replace_all(_SIGNATURE, ""), call)


def apply_where(
    rows: pl.DataFrame, condition: pl.Expr, matching: pl.Expr, others: pl.Expr
) -> pl.DataFrame:
    """Return the rows in their order; each expression is evaluated for its own rows only.

    Args:
        rows: the rows.
        condition: a Boolean expression, never null.
        matching: replaces its column where the condition is true.
        others: replaces the same column where the condition is false.
    """
    marked = rows.with_row_index("position").with_columns(condition.alias("matching"))
    if not marked["matching"].any():
        return rows.with_columns(others)
    unmatched = marked.filter(~pl.col("matching")).with_columns(others)
    matched = marked.filter("matching").with_columns(matching)
    return pl.concat([unmatched, matched]).sort("position").drop("position", "matching")


def remove_patterns(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """Return the text with all matches of these regular expressions (Rust syntax) removed.

    They search the first `SEARCHED_CHARS` characters.
    """
    if not patterns:
        return text
    searched = text.str.head(SEARCHED_CHARS)
    for pattern in patterns:
        searched = searched.str.replace_all(pattern, "")
    return searched + text.str.slice(SEARCHED_CHARS)
