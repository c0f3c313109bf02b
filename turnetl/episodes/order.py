"""Select the turns of a group from its rows, each once, and put them in order.

Reads few columns and no text, so a group may be larger than memory.
"""

import polars as pl

from turnetl.base.model import ClosedBy
from turnetl.episodes.dedup import merge_copies

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

    The result does not depend on the order of the rows or of the archives.

    Args:
        keys: `KEYS` of all rows of a group, including copies of turns; and `row`, the number of
            each row.
    """
    ordered = _in_order(_deduplicated(merge_copies(keys)))
    return ordered.select("row", *RESOLVED, "started_at", "chars")


def unique_turns(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return each turn of a group once, oldest first, with `copies` and `variants`.

    Args:
        rows: the columns of `schema.TURNS`.
    """
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
