"""A turn as the messages that a person would keep: `user: ...`, `assistant: ...`, `tools: ...`."""

from collections.abc import Sequence

import polars as pl

from turnetl.episodes import code_blocks, text_cleaning, tool_calls
from turnetl.model import ClosedBy

VERSION = 6
"""Of all that decides a text; higher with every change of what it calls."""

_STOPPED = "\n\nuser: [Request interrupted by user]"
"""What agents write where a person stops them."""


def render_turns(turns: pl.DataFrame, patterns: Sequence[str] = ()) -> pl.Series:
    """Return `text`, one a row: prompt, answer, steering, answers in results, calls of tools.

    The person's own words stand whole; messages are parted by a blank line.

    Args:
        turns: rows with the columns of `schema.TURNS`; each is rendered by itself.
        patterns: regular expressions (Rust's): what they match of the agent's words, of calls and
            of what came of them is left out.
    """
    agent = turns.with_columns(
        text_cleaning.remove_patterns(pl.col("assistant_text"), patterns), _here()
    )
    with_calls = agent.with_columns(
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
    said = messages.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
    whole = with_calls.select(said.alias("text"), "closed_by")
    return whole.select(pl.when(_stopped()).then(pl.col("text") + _STOPPED).otherwise("text"))[
        "text"
    ]


def _stopped() -> pl.Expr:
    """Say whether the person stopped the turn; nothing is told of one that has no text."""
    return (pl.col("closed_by") == ClosedBy.INTERRUPTED) & (pl.col("text") != "")


def _here() -> pl.Expr:
    """Return `here`, the folder that the turn stands in, or nothing.

    One at the root is no project: its name is needed to tell where a file lies.
    """
    folder = pl.col("cwd").fill_null("").str.strip_chars_end("/")
    return pl.when(folder.str.contains("./")).then(folder).otherwise(pl.lit("")).alias("here")


def _message(speaker: str, text: pl.Expr) -> pl.Expr:
    return pl.when(text == "").then(pl.lit("")).otherwise(f"{speaker}: " + text)


def _messages(speaker: str, column: str) -> pl.Expr:
    said = pl.col(column).list.eval(_message(speaker, text_cleaning.clean_user_text(pl.element())))
    return said.list.eval(pl.element().filter(pl.element() != "")).list.join("\n\n")
