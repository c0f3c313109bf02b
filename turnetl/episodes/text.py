"""Render a turn as episode text: `user: ...`, `assistant: ...`, `tools: ...`."""

from collections.abc import Sequence

import polars as pl

from turnetl.base.model import ClosedBy
from turnetl.episodes import code_blocks, text_cleaning, tool_calls

_INTERRUPTED = "\n\nuser: [Request interrupted by user]"
"""What coding agents write where the user interrupts them."""


def render_turns(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `text`, one per row: prompt, response, steering, user answers and tool calls.

    What the user typed is complete. A blank line separates messages.

    Args:
        turns: rows with the columns of `schema.TURNS`; each is rendered independently.
        patterns: regular expressions (Rust syntax). What they match is removed from the agent's
            text, from tool calls and from their results.
    """
    unmatched = text_cleaning.remove_patterns(pl.col("assistant_text"), patterns)
    agent = turns.with_columns(unmatched, _cwd())
    cleaned = agent.with_columns(
        text_cleaning.clean_messages(agent["user_text"]),
        text_cleaning.clean_messages(code_blocks.condense_code_blocks(agent)),
        tool_calls.call_lines(agent, patterns),
    )
    messages = pl.concat_list(
        _message("user", pl.col("user_text")),
        _message("assistant", text_cleaning.clean_prose(pl.col("assistant_text"))),
        _messages("user", "steering"),
        _messages("user", "user_answers"),
        pl.col("calls").list.eval("tools: " + pl.element()).list.join("\n"),
    )
    text = messages.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
    rows = cleaned.select(text.alias("text"), "closed_by")
    ended = pl.when(_is_interrupted()).then(pl.col("text") + _INTERRUPTED).otherwise("text")
    return rows.select(ended)["text"]


def _is_interrupted() -> pl.Expr:
    """Return whether the user interrupted the turn; false for a turn without text."""
    return (pl.col("closed_by") == ClosedBy.INTERRUPTED) & (pl.col("text") != "")


def _cwd() -> pl.Expr:
    """Return `cwd`: the turn's working directory without a final slash, or an empty string.

    A directory at the root is not a project: paths keep its name, because they need it.
    """
    cwd = pl.col("cwd").fill_null("").str.strip_chars_end("/")
    return pl.when(cwd.str.contains("./")).then(cwd).otherwise(pl.lit("")).alias("cwd")


def _message(speaker: str, text: pl.Expr) -> pl.Expr:
    return pl.when(text == "").then(pl.lit("")).otherwise(f"{speaker}: " + text)


def _messages(speaker: str, column: str) -> pl.Expr:
    texts = pl.col(column).list.eval(_message(speaker, text_cleaning.clean_user_text(pl.element())))
    return texts.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
