"""Decide which rows of several archives are the same turn, and which session owns it.

Most copies share one `turn_id`, because it derives from the prompt's native id. Two kinds of copies
do not: a session that two formats of one tool contain, and a fork whose tool wrote its parent's
history again under new ids.
"""

from collections.abc import Mapping

import polars as pl

from turnetl.formats import PROMPT_HISTORY

_POSITION = ["format", "session_id", "ordinal", "content_hash"]


def merge_copies(keys: pl.DataFrame) -> pl.DataFrame:
    """Give the copies of a turn one `turn_id`, and the session in which it was first recorded.

    Adds two columns; the times of rows where either is true are less reliable than others:

    - `replayed`: the row belongs to a fork whose tool wrote the turn again, or to the history of
      prompts, which has no responses.
    - `maybe_replayed`: the archive ends in another session, so the row may be a copy.

    Args:
        keys: the columns `order.KEYS`, in any order of rows.
    """
    replayed = _replayed(keys)
    aliases = _across_formats(keys) | replayed
    originals = {turn: _original(turn, aliases) for turn in aliases}
    merged = _with_maybe_replayed(
        keys.with_columns(
            pl.col("turn_id").is_in(list(replayed)).alias("replayed")
            | (pl.col("format") == PROMPT_HISTORY),
            pl.col("turn_id").replace(originals) if originals else pl.col("turn_id"),
        )
    )
    owners = _owning_sessions(merged)
    if not owners.height:
        return merged
    return merged.update(owners, on="turn_id", how="left", include_nulls=True)


def _with_maybe_replayed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `maybe_replayed`, of turns that several rows contain."""
    archives = rows.filter(pl.col("turn_id").is_duplicated()).select("archive").unique()
    last_session = pl.col("session_id").sort_by("first_line", "session_id").last()
    last_sessions = (
        rows.join(archives, on="archive", how="semi")
        .group_by("archive")
        .agg(last_session=last_session)
    )
    joined = rows.join(last_sessions, on="archive", how="left", maintain_order="left")
    elsewhere = (pl.col("session_id") != pl.col("last_session")).fill_null(value=False)
    return joined.with_columns(elsewhere.alias("maybe_replayed")).drop("last_session")


def _across_formats(keys: pl.DataFrame) -> dict[str, str]:
    """Map the turn ids of prompts that several formats contain in one session to the first id.

    One prompt id can belong to several turns (prompts typed while a task ran); these are matched
    in their order.
    """
    prompt = ["session_id", "prompt_id"]
    formats = keys.select("session_id", "format").unique()
    several = formats.filter(pl.col("session_id").is_duplicated())
    numbered = (
        keys.drop_nulls("prompt_id")
        .join(several, on="session_id", how="semi")
        .filter(pl.col("format").n_unique().over(prompt) > 1)
        .group_by("format", *prompt, "turn_id")
        .agg(pl.col("ordinal").min())
        .sort("format", *prompt, "ordinal", "turn_id")
        .with_columns(pl.int_range(pl.len()).over("format", *prompt).alias("position"))
    )
    original = pl.col("turn_id").first().over(*prompt, "position").alias("original")
    return _differing(numbered.with_columns(original))


def _replayed(keys: pl.DataFrame) -> dict[str, str]:
    """Map the turn ids of the history that a fork repeats to the ids of the parent's turns.

    A repeated turn has the same position and content as in the parent, from the first turn on; the
    first turn that differs, and all after it, are the fork's own.
    """
    forks = keys.drop_nulls("parent_session_id")
    if not forks.height:
        return {}
    parent_ids = forks.select(session_id="parent_session_id").unique()
    parent_rows = keys.join(parent_ids, on="session_id", how="semi")
    parents = parent_rows.select(*_POSITION, original="turn_id").unique()
    fork = ["archive", "session_id"]
    pairs = (
        forks.join(
            parents,
            left_on=["format", "parent_session_id", "ordinal", "content_hash"],
            right_on=_POSITION,
        )
        .sort(*fork, "ordinal", "original", "turn_id")
        .unique([*fork, "ordinal"], keep="first", maintain_order=True)
    )
    contiguous = pl.col("ordinal") == pl.int_range(pl.len()).over(fork)
    return _differing(pairs.filter(contiguous))


def _differing(pairs: pl.DataFrame) -> dict[str, str]:
    """Map each `turn_id` to its `original`, where they differ."""
    rows = pairs.select("turn_id", "original").iter_rows()
    return {turn: original for turn, original in rows if turn != original}


def _original(turn: str, aliases: Mapping[str, str]) -> str:
    """Follow forks of forks to the first turn; stop at sessions that are each other's parent."""
    visited = {turn}
    while (parent := aliases.get(turn)) is not None and parent not in visited:
        visited.add(parent)
        turn = parent
    return turn


def _owning_sessions(keys: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of several sessions, each with the session that is not a fork of another."""
    several = (
        keys.select("turn_id", "session_id", "parent_session_id")
        .filter(pl.col("turn_id").is_duplicated())
        .filter(pl.col("session_id").n_unique().over("turn_id") > 1)
        .sort("turn_id", "session_id", "parent_session_id")
    )
    roots = several.join(
        several.select("turn_id", "session_id"),
        left_on=["turn_id", "parent_session_id"],
        right_on=["turn_id", "session_id"],
        how="anti",
        maintain_order="left",
    )
    candidates = pl.concat([roots, several])
    return candidates.unique("turn_id", keep="first", maintain_order=True)
