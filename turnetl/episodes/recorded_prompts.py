"""Prompts of Claude Code's history that a transcript holds too: they are copies of its turns.

The history has no id of a prompt. A prompt is the same if it has the same text, as a prompt or as
what was typed while the agent worked, in the same session or at about the same time; or if it was
sent in the same session within seconds and its text says that the transcript has another: what was
pasted, or the text of a command. What a transcript holds once is the same as one prompt of the
history: the nearest. Others stay turns.
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
_LONGEST = timedelta(days=31)
"""Of a turn in which a prompt without a session is looked up."""
_HOUR = 3_600
_OTHER_TEXT = r"\A/|\[(?:Pasted text|\.\.\.Truncated text|Image) #\d"
"""Of a prompt that the transcript may hold with another text."""


def prompt_columns() -> list[pl.Expr]:
    """Return the columns of `schema.TURNS` from which prompts are compared."""
    texts = pl.concat_list(pl.col("user_text"), pl.col("steering"), pl.col("user_answers"))
    words = pl.element().str.replace_all(r"\s+", " ").str.strip_chars()
    prompts = pl.when(_TRANSCRIPTS | _IS_HISTORY).then(texts.list.eval(words.hash()))
    return [
        prompts.alias("prompts"),
        pl.col("ended_at").alias("prompts_ended_at"),
        pl.col("user_text").str.contains(_OTHER_TEXT).alias("may_differ"),
    ]


def merge_recorded(keys: pl.DataFrame, prompts: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """Give prompts of the history that a transcript holds the id and the session of its turn.

    Args:
        keys: the columns `order.KEYS` of all rows of a group.
        prompts: returns `prompt_columns` of the same rows.
    """
    if not keys.select(_IS_HISTORY.any()).item():
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
        pl.int_ranges(pl.col("prompts").list.len()).alias("place"),
    )
    texts = recorded.explode("prompts", "place")
    pairs = [_same_session(typed, texts), _same_time(typed, texts), _same_moment(typed, recorded)]
    matches = _matches(pl.concat(pairs))
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


def _same_session(typed: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the same text in one session."""
    prompts = typed.with_columns(pl.col("prompts").list.first())
    return _pairs(
        prompts.join(
            texts.with_columns(pl.col("recorded_session").alias("session_id")),
            on=["prompts", "session_id"],
        )
    )


def _same_time(typed: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the same text at about the same time.

    By hour: a year has many prompts with the text "continue".
    """
    # What was typed while the agent worked may be anywhere in the turn.
    last = pl.min_horizontal("to", pl.col("from") + _LONGEST)
    end = pl.when(pl.col("place") == 0).then("from").otherwise(last) + _NEAR
    hours = pl.int_ranges(_hour(pl.col("from") - _NEAR), _hour(end) + 1)
    pairs = typed.with_columns(
        pl.col("prompts").list.first(), _hour(pl.col("started_at")).alias("hour")
    ).join(texts.with_columns(hours.alias("hour")).explode("hour"), on=["prompts", "hour"])
    near = pl.col("started_at").is_between(pl.col("from") - _NEAR, end)
    return _pairs(pairs.filter(near))


def _same_moment(typed: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of prompts of one moment and session whose texts may differ."""
    first = recorded.with_columns(
        pl.col("prompts").list.first(),
        pl.lit(0, pl.Int64).alias("place"),
        pl.col("recorded_session").alias("session_id"),
    )
    pairs = typed.filter("may_differ").drop("prompts").join(first, on="session_id")
    return _pairs(pairs.filter((_distance() <= _SAME_MOMENT).fill_null(value=False)))


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        (pl.col("session_id") == pl.col("recorded_session")).alias("same_session"),
        _distance().alias("distance"),
        "position",
        "recorded_turn",
        "recorded_session",
        "from",
        "prompts",
        "place",
    )


def _matches(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one pair for a prompt of the history: of the same session, then the nearest.

    No two prompts have a pair with the same prompt of a transcript, of which other transcripts may
    hold copies: with its time.
    """
    matched: dict[int, tuple[str, str]] = {}
    taken: set[tuple[object, ...]] = set()
    order = pairs.columns
    ordered = pairs.sort(order, descending=[True] + [False] * (len(order) - 1), nulls_last=True)
    for _, _, position, turn, session, start, text, place in ordered.iter_rows():
        prompt = (start or turn, text, place)
        if position not in matched and prompt not in taken:
            matched[position] = turn, session
            taken.add(prompt)
    rows = [(position, *match) for position, match in matched.items()]
    columns = ("position", "recorded_turn", "recorded_session")
    return pl.DataFrame(rows, {one: pairs.schema[one] for one in columns}, orient="row")


def _hour(time: pl.Expr) -> pl.Expr:
    return time.dt.epoch("s") // _HOUR


def _distance() -> pl.Expr:
    return (pl.col("started_at") - pl.col("from")).abs()
