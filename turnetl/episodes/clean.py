"""What no reader needs: colours, reminders of the harness, base64, overwritten lines."""

from collections.abc import Sequence

import polars as pl

_COLOUR = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
_REMINDER = r"(?s)<system-reminder>.*?(?:</system-reminder>|\z)"
_DATA = r"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?[A-Za-z0-9+/]{400,}={0,2}"
_OVERWRITTEN = r"(?m)^[^\n]*\r"
_BAR = r"[█▓▒░▏▎▍▌▋▊▉━─═╌┄┈■□▪▫●○⣿⣀#=*-]{8,}>?"
_BLANK_LINES = r"\n[ \t]*(?:\n[ \t]*)+\n"


def words(text: pl.Expr) -> pl.Expr:
    """Return what a person said, whole: only what no person types is taken out."""
    return (
        text.str.replace_all(_COLOUR, "")
        .str.replace_all(_REMINDER, "")
        .str.replace_all(_DATA, "[base64]")
        .str.replace_all("\r\n", "\n", literal=True)
        .str.strip_chars()
    )


def prose(text: pl.Expr) -> pl.Expr:
    """Return what the agent said, whole, with single blank lines."""
    return words(text).str.replace_all(_BLANK_LINES, "\n\n")


def output(text: pl.Expr) -> pl.Expr:
    """Return what a program wrote, as a terminal shows it in the end."""
    return (
        words(text)
        .str.replace_all(_OVERWRITTEN, "")
        .str.replace_all(_BAR, " ")
        .str.replace_all(r"[ \t]{2,}", " ")
    )


def without(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    """Return a text without what any of these regular expressions (Rust's) matches."""
    for pattern in patterns:
        text = text.str.replace_all(pattern, "")
    return text


def cut(text: pl.Expr, room: int) -> pl.Expr:
    """Return the head of a text, with `...` where something is left out."""
    return pl.when(text.str.len_chars() > room).then(text.str.head(room) + "...").otherwise(text)
