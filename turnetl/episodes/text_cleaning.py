"""What no reader needs: colours, reminders of the harness, base64, overwritten lines."""

from collections.abc import Sequence

import polars as pl

_COLOUR = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_REMINDER = r"(?s)<system-reminder>.*?</system-reminder>"
_REMINDER_CUT_OFF = r"(?s)<system-reminder>.*"
_DATA = r"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?[A-Za-z0-9+/]{400,}={0,2}"
_BLOB = r"[A-Za-z0-9+/]{400}"
_OVERWRITTEN = r"(?m)^[^\n]*\r"
_BARS = "█▓▒░▏▎▍▌▋▊▉━─═╌┄┈■□▪▫●○⣿⣀#=*-"
_BAR = rf"[{_BARS}]{{8,}}>?"
_SIGNS = ["\x1b", "\r", "<system-reminder>"]
_HIDDEN = [*_SIGNS, *(sign * 8 for sign in _BARS)]
"""Texts without any of these, and of calls without the first three, hold nothing but base64 that
is to be taken out."""
_SIGNED = "Co-Authored-By: "
_SIGNATURE = r"(?:🤖 Generated with \S+ \S+ +)?Co-Authored-By: [^<\n]{0,60}<[^>\n]*> ?"
"""What an agent writes below each of its commits."""
SEARCHED_CHARS = 50_000
"""Characters of a text, from its beginning, in which a person's patterns are looked for. Matches
that each look ahead to the end cost the square of it: seconds here, days over fifty megabytes."""
_BOLD = r"(?m)(^|[ \t|>])\*\*([^*\s/][^*\n]*[^*\s(,])\*\*"
"""Words between signs; no powers, patterns of paths or arguments by name."""
_BLANK_LINES = r"\n[ \t]*(?:\n[ \t]*)+\n"


def clean_user_text(text: pl.Expr) -> pl.Expr:
    """Return what a person said, whole: only what no person types is taken out."""
    return (
        text.str.replace_all(_COLOUR, "")
        .str.replace_all(_REMINDER, "")
        .str.replace_all(_DATA, "[base64]")
        .str.replace_all("\r\n", "\n", literal=True)
        .str.strip_chars()
    )


def clean_messages(texts: pl.Series) -> pl.Series:
    """Return `clean_user_text` of each text; one look finds the few that are not so already."""
    text = pl.col(texts.name)
    odd = text.str.contains_any(_SIGNS) | text.str.contains(_BLOB)
    return apply_where(texts.to_frame(), odd, text.str.strip_chars(), clean_user_text(text))[
        texts.name
    ]


def clean_prose(text: pl.Expr) -> pl.Expr:
    """Return the cleaned text of an agent, with single blank lines and no signs for bold words."""
    return text.str.replace_all(_BOLD, "$1$2").str.replace_all(_BLANK_LINES, "\n\n")


def clean_output(text: pl.Expr) -> pl.Expr:
    """Return what a program wrote, as a terminal shows it in the end."""
    written = (
        clean_user_text(text).str.replace(_REMINDER_CUT_OFF, "").str.replace_all(_OVERWRITTEN, "")
    )
    return written.str.replace_all(_BAR, " ").str.strip_chars()


def clean_results(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `text` as a terminal shows it in the end.

    Few outcomes hold anything that a terminal hides: one look finds them, for each pattern costs
    what it reads.
    """
    text = pl.col("text")
    odd = text.str.contains_any(_HIDDEN) | text.str.contains(_BLOB)
    return apply_where(texts, odd, text.str.strip_chars(), clean_output(text))


def clean_inputs(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `input` without what only a terminal or the harness reads."""
    call = pl.col("input")
    odd = call.str.contains_any([*_SIGNS, _SIGNED]) | call.str.contains(_BLOB)
    return apply_where(calls, odd, call, clean_user_text(call).str.replace_all(_SIGNATURE, ""))


def apply_where(
    rows: pl.DataFrame, odd: pl.Expr, plain: pl.Expr, otherwise: pl.Expr
) -> pl.DataFrame:
    """Return the rows in their order, `otherwise` worked out for the odd ones only."""
    asked = rows.with_row_index("at").with_columns(odd.alias("odd"))
    if not asked["odd"].any():
        return rows.with_columns(plain)
    same = asked.filter(~pl.col("odd")).with_columns(plain)
    other = asked.filter("odd").with_columns(otherwise)
    return pl.concat([same, other]).sort("at").drop("at", "odd")


def remove_patterns(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """Return a text without what any of these regular expressions (Rust's) matches."""
    if not patterns:
        return text
    read = text.str.head(SEARCHED_CHARS)
    for pattern in patterns:
        read = read.str.replace_all(pattern, "")
    return read + text.str.slice(SEARCHED_CHARS)
