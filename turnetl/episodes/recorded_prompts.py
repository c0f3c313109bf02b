"""Prompts of Claude Code's history that a transcript holds too: they are copies of its turns.

The history has no id of a prompt. A prompt is the same if it has the same text, as a prompt or as
what was typed while the agent worked, in the same session or at about the same time; or if it was
sent in the same session within seconds, because the history may lack what was pasted.
"""

from collections.abc import Callable
from datetime import timedelta

import polars as pl

from turnetl.formats import PROMPT_HISTORY

_TRANSCRIPTS = pl.col("format").is_in(["claude_code", "claude_web"])
_IS_HISTORY = pl.col("format") == PROMPT_HISTORY
_NEAR = timedelta(minutes=5)
"""Between a prompt in the history and in a transcript of a session of another name."""
_SAME_MOMENT = timedelta(seconds=2)


def has_history(keys: pl.DataFrame) -> bool:
    """Return whether any row is of the history of prompts."""
    return bool(keys.select(_IS_HISTORY.any()).item())


def prompt_columns() -> list[pl.Expr]:
    """Return the columns of `schema.TURNS` from which prompts are compared."""
    texts = pl.concat_list(pl.col("user_text"), pl.col("steering"), pl.col("user_answers"))
    words = pl.element().str.replace_all(r"\s+", " ").str.strip_chars()
    prompts = pl.when(_TRANSCRIPTS | _IS_HISTORY).then(texts.list.eval(words.hash()))
    return [prompts.alias("prompts"), pl.col("ended_at").alias("prompts_ended_at")]


def merge_recorded(keys: pl.DataFrame, prompts: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Give prompts of the history that a transcript holds the id and the session of its turn.

    Args:
        keys: the columns `order.KEYS` of all rows of a group.
        prompts: returns `prompt_columns` of the same rows.
    """
    if not has_history(keys):
        return keys
    names = ("turn_id", "session_id", "format", "started_at")
    rows = pl.concat([keys.select(*names).with_row_index("position"), prompts()], how="horizontal")
    typed = rows.filter(_IS_HISTORY)
    recorded = rows.filter(_TRANSCRIPTS).select(
        pl.col("turn_id").alias("recorded_turn"),
        pl.col("session_id").alias("recorded_session"),
        pl.col("started_at").alias("from"),
        pl.coalesce("prompts_ended_at", "started_at").alias("to"),
        "prompts",
    )
    matches = _best(pl.concat([_same_texts(typed, recorded), _same_moments(typed, recorded)]))
    return (
        keys.with_row_index("position")
        .join(matches, on="position", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("recorded_turn", "turn_id").alias("turn_id"),
            pl.coalesce("recorded_session", "session_id").alias("session_id"),
            pl.when(pl.col("recorded_turn").is_null())
            .then("parent_session_id")
            .alias("parent_session_id"),
        )
        .select(keys.columns)
    )


def _same_texts(typed: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the same text in one session, or at about the same time."""
    pairs = (
        typed.select("position", "session_id", "started_at", pl.col("prompts").list.first())
        .join(recorded.explode("prompts"), on="prompts")
        .with_columns(_is_same_session().alias("same_session"))
    )
    began = pl.col("started_at") >= pl.col("from") - _NEAR
    is_near = (began & (pl.col("started_at") <= pl.col("to") + _NEAR)).fill_null(value=False)
    return _pairs(pairs.filter(pl.col("same_session") | is_near))


def _same_moments(typed: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of prompts that were sent in one session within seconds."""
    pairs = typed.select("position", "session_id", "started_at").join(
        recorded, left_on="session_id", right_on="recorded_session", coalesce=False
    )
    is_same = (_distance() <= _SAME_MOMENT).fill_null(value=False)
    return _pairs(pairs.filter(is_same).with_columns(pl.lit(value=True).alias("same_session")))


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "position",
        "recorded_turn",
        "recorded_session",
        "same_session",
        _distance().alias("distance"),
    )


def _best(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one pair for each prompt of the history: of the same session, then the nearest."""
    order = ("position", "same_session", "distance", "recorded_turn", "recorded_session")
    descending = (False, True, False, False, False)
    return (
        pairs.sort(order, descending=descending, nulls_last=True)
        .unique("position", keep="first", maintain_order=True)
        .select("position", "recorded_turn", "recorded_session")
    )


def _is_same_session() -> pl.Expr:
    return pl.col("session_id") == pl.col("recorded_session")


def _distance() -> pl.Expr:
    return (pl.col("started_at") - pl.col("from")).abs()
