"""Which rows of several archives are one turn, and whose session it belongs to.

Most copies carry one id from the start, for it is made of the prompt's own. Two kinds do not: a
session that two formats of one tool hold, and a fork whose tool wrote its parent's history anew.
"""

from collections.abc import Mapping

import polars as pl

VERSION = 1
"""Of all that decides which turns are one, and which are over."""

_PLACE = ["format", "session_id", "ordinal", "content_hash"]


def merge_copies(keys: pl.DataFrame) -> pl.DataFrame:
    """Give the copies of a turn one `turn_id`, and the session that it was first said in.

    Adds `replayed`: the row is of a fork whose tool wrote it anew; and `aside`: its archive ends in
    another session, so it may be copied there. The times of such rows are less to be trusted than
    those of others.

    Args:
        keys: `order.KEYS`, in any order.
    """
    replayed = _replayed(keys)
    same = _across_formats(keys) | replayed
    last = {turn: _last(turn, same) for turn in same}
    marked = _with_aside(
        keys.with_columns(
            pl.col("turn_id").is_in(list(replayed)).alias("replayed"),
            pl.col("turn_id").replace(last) if last else pl.col("turn_id"),
        )
    )
    owners = _owners(marked)
    if not owners.height:
        return marked
    return marked.update(owners, on="turn_id", how="left", include_nulls=True)


def _with_aside(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `aside`, of turns that several rows hold."""
    several = rows.filter(pl.col("turn_id").is_duplicated()).select("archive").unique()
    ends_in = pl.col("session_id").sort_by("first_line", "session_id").last()
    ends = rows.join(several, on="archive", how="semi").group_by("archive").agg(ends_in=ends_in)
    joined = rows.join(ends, on="archive", how="left", maintain_order="left")
    aside = (pl.col("session_id") != pl.col("ends_in")).fill_null(value=False)
    return joined.with_columns(aside.alias("aside")).drop("ends_in")


def _across_formats(keys: pl.DataFrame) -> dict[str, str]:
    """Return the prompts that several formats hold in one session, each with the first one's id.

    A prompt's id may stand for several turns (what was typed while a task ran): these are taken in
    their order.
    """
    prompt = ["session_id", "prompt_id"]
    formats = keys.select("session_id", "format").unique()
    several = formats.filter(pl.col("session_id").is_duplicated())
    each = (
        keys.drop_nulls("prompt_id")
        .join(several, on="session_id", how="semi")
        .filter(pl.col("format").n_unique().over(prompt) > 1)
        .group_by("format", *prompt, "turn_id")
        .agg(pl.col("ordinal").min())
        .sort("format", *prompt, "ordinal", "turn_id")
        .with_columns(pl.int_range(pl.len()).over("format", *prompt).alias("place"))
    )
    return _other(
        each.with_columns(pl.col("turn_id").first().over(*prompt, "place").alias("first"))
    )


def _replayed(keys: pl.DataFrame) -> dict[str, str]:
    """Return the turns that a fork begins with and that are its parent's, each with that one's id.

    From the first turn on they stand at the same place and say the same; the first that does not
    is the fork's own, with all that follow.
    """
    forks = keys.drop_nulls("parent_session_id")
    if not forks.height:
        return {}
    named = forks.select(session_id="parent_session_id").unique()
    of_parents = keys.join(named, on="session_id", how="semi")
    parents = of_parents.select(*_PLACE, first="turn_id").unique()
    fork = ["archive", "session_id"]
    pairs = (
        forks.join(
            parents,
            left_on=["format", "parent_session_id", "ordinal", "content_hash"],
            right_on=_PLACE,
        )
        .sort(*fork, "ordinal", "first", "turn_id")
        .unique([*fork, "ordinal"], keep="first", maintain_order=True)
    )
    place = pl.int_range(pl.len()).over(fork)
    return _other(pairs.filter(pl.col("ordinal") == place))


def _other(pairs: pl.DataFrame) -> dict[str, str]:
    """Return the ids that differ from the first one's."""
    return {
        turn: first for turn, first in pairs.select("turn_id", "first").iter_rows() if turn != first
    }


def _last(turn: str, same: Mapping[str, str]) -> str:
    """Follow a fork of a fork to where it began; sessions that are each other's parent end it."""
    seen = {turn}
    while (before := same.get(turn)) is not None and before not in seen:
        seen.add(before)
        turn = before
    return turn


def _owners(keys: pl.DataFrame) -> pl.DataFrame:
    """Return the turns that lie in several sessions, each with the one that is no other's fork."""
    several = (
        keys.select("turn_id", "session_id", "parent_session_id")
        .filter(pl.col("turn_id").is_duplicated())
        .filter(pl.col("session_id").n_unique().over("turn_id") > 1)
        .sort("turn_id", "session_id", "parent_session_id")
    )
    originals = several.join(
        several.select("turn_id", "session_id"),
        left_on=["turn_id", "parent_session_id"],
        right_on=["turn_id", "session_id"],
        how="anti",
        maintain_order="left",
    )
    both = pl.concat([originals, several])
    return both.unique("turn_id", keep="first", maintain_order=True)
