"""Select the turns of a group from its rows, each once, and put them in order.

Reads few columns and no text, so a group may be larger than memory. Most copies share one
`turn_id`, because it derives from the prompt's native id. Two kinds of copies do not: a session
that two formats of one tool contain, and a fork whose tool wrote its parent's history again under
new ids.
"""

from collections.abc import Mapping

import polars as pl

from turnetl.base.model import ClosedBy
from turnetl.formats import PROMPT_HISTORIES

KEYS = (
    *("turn_id", "format", "session_id", "ordinal", "prompt_id", "parent_session_id"),
    *("started_at", "closed", "closed_by", "archive", "first_line", "chars", "content_hash"),
)
"""The columns of `schema.TURNS` that determine identity and order."""
RESOLVED = (
    *("turn_id", "session_id", "parent_session_id", "ordinal", "closed", "closed_by"),
    *("copies", "variants"),
)
"""The columns whose values for a turn depend on all rows of the group."""
_COUNTS = ("copies", "variants")
"""Those that no turns file has."""


def order_turns(keys: pl.DataFrame) -> pl.DataFrame:
    """Return each turn once, oldest first: `row`, `RESOLVED`, `started_at` and `chars`.

    The result does not depend on the order of the rows or of the archives. `keys` are `KEYS` of all
    rows of a group, including copies of turns, and `row`, the number of each row.
    """
    ordered = _in_order(_deduplicated(merge_copies(keys)))
    return ordered.select("row", *RESOLVED, "started_at", "chars")


def unique_turns(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return each turn of `schema.TURNS` once, oldest first, with `copies` and `variants`."""
    numbered = rows.with_row_index("row")
    order = order_turns(numbered.select("row", *KEYS).collect()).drop("started_at", "chars")
    unresolved = numbered.drop([name for name in RESOLVED if name not in _COUNTS])
    joined = order.lazy().join(unresolved, on="row", maintain_order="left")
    return joined.select(*rows.collect_schema().names(), *_COUNTS)


def _deduplicated(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each turn once, from the archive that contains most of it, with `_COUNTS`.

    The turn is closed if an archive that contains as much of it says so.
    """
    duplicated = pl.col("turn_id").is_duplicated()
    none = (pl.lit(0, pl.Int32).alias(name) for name in _COUNTS)
    single = rows.filter(~duplicated).with_columns(*none)
    return pl.concat([single, _best_copies(rows.filter(duplicated))])


def _best_copies(rows: pl.DataFrame) -> pl.DataFrame:
    descending = {
        "turn_id": False,
        "replayed": False,
        "chars": True,
        "maybe_replayed": False,
        "closed": True,
        "content_hash": False,
        "archive": False,
        "first_line": False,
    }
    identical = ["turn_id", "content_hash"]
    ranked = rows.sort([*descending], descending=[*descending.values()])
    is_kept_text = pl.col("content_hash") == pl.col("content_hash").first()
    # The history of prompts has no responses: its rows are copies, although their text differs.
    same = pl.col("archive").filter(is_kept_text | pl.col("replayed")).n_unique()
    archives = pl.col("archive").n_unique()
    return ranked.with_columns(
        (archives - 1).over("turn_id").cast(pl.Int32).alias("copies"),
        (archives - same).over("turn_id").cast(pl.Int32).alias("variants"),
        pl.col("closed").any().over(identical),
        pl.coalesce("closed_by", pl.col("closed_by").drop_nulls().first().over(identical)),
    ).unique("turn_id", keep="first", maintain_order=True)


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the turns oldest first, with `ordinal` renumbered within each session.

    Turns without a time come last, in the order of their archives. A turn is closed if its session
    continues, even in another archive.
    """
    ordered = rows.sort("started_at", "session_id", "ordinal", "turn_id", nulls_last=True)
    numbered = ordered.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int32).over("session_id").alias("ordinal"),
        (pl.len().over("session_id") - 1).alias("last"),
    )
    continues = pl.col("ordinal") < pl.col("last")
    next_prompt = pl.when(continues).then(pl.lit(ClosedBy.NEXT_PROMPT.value))
    return numbered.with_columns(
        pl.coalesce("closed_by", next_prompt).alias("closed_by"), pl.col("closed") | continues
    )


_POSITION = ["format", "session_id", "ordinal", "content_hash"]


def merge_copies(keys: pl.DataFrame) -> pl.DataFrame:
    """Give the copies of a turn one `turn_id`, and the session in which it was first recorded.

    Adds two columns; the times of rows where either is true are less reliable than others:

    - `replayed`: the row belongs to a fork whose tool wrote the turn again, or to the history of
      prompts, which has no responses.
    - `maybe_replayed`: the archive ends in another session, so the row may be a copy.
    """
    replayed = _replayed(keys)
    aliases = _across_formats(keys) | replayed
    originals = {turn: _original(turn, aliases) for turn in aliases}
    merged = _with_maybe_replayed(
        keys.with_columns(
            pl.col("turn_id").is_in(list(replayed)).alias("replayed")
            | pl.col("format").is_in(PROMPT_HISTORIES),
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
