"""Which rows of a group are its turns, each once, and in what order they stand.

Reads few columns and no text, so that a group may be larger than memory.
"""

import polars as pl

from turnetl.episodes.dedup import merge_copies
from turnetl.model import ClosedBy

KEYS = (
    *("turn_id", "format", "session_id", "ordinal", "prompt_id", "parent_session_id"),
    *("started_at", "closed", "closed_by", "archive", "first_line", "chars", "content_hash"),
)
"""The columns of `schema.TURNS` that decide."""
RESOLVED = (
    "turn_id",
    "session_id",
    "parent_session_id",
    "ordinal",
    "closed",
    "closed_by",
    "copies",
)
"""What the rows of a group decide together, for each of its turns."""


def order_turns(keys: pl.DataFrame) -> pl.DataFrame:
    """Return each turn once, oldest first: `row`, `RESOLVED`, `started_at` and `chars`.

    The same rows give the same turns, in whatever order and from whatever archives they come.

    Args:
        keys: `KEYS` of all rows of a group, copies of a turn among them; and `row`, which is the
            number of each row.
    """
    return _in_order(_once(merge_copies(keys))).select("row", *RESOLVED, "started_at", "chars")


def unique_turns(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return each turn of a group once, oldest first, with `copies`.

    Args:
        rows: the columns of `schema.TURNS`.
    """
    numbered = rows.with_row_index("row")
    order = order_turns(numbered.select("row", *KEYS).collect()).drop("started_at", "chars")
    kept = numbered.drop([name for name in RESOLVED if name != "copies"])
    joined = order.lazy().join(kept, on="row", maintain_order="left")
    return joined.select(*rows.collect_schema().names(), "copies")


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each turn once, as the archive has it that holds most of it, with `copies`.

    It is over if an archive that holds as much says so.
    """
    repeated = pl.col("turn_id").is_duplicated()
    alone = rows.filter(~repeated).with_columns(pl.lit(0, pl.Int32).alias("copies"))
    return pl.concat([alone, _best(rows.filter(repeated))])


def _best(rows: pl.DataFrame) -> pl.DataFrame:
    order = {
        "turn_id": False,
        "replayed": False,
        "chars": True,
        "aside": False,
        "closed": True,
        "content_hash": False,
        "archive": False,
        "first_line": False,
    }
    alike = ["turn_id", "content_hash"]
    best = rows.sort([*order], descending=[*order.values()])
    return best.with_columns(
        (pl.col("archive").n_unique().over("turn_id") - 1).cast(pl.Int32).alias("copies"),
        pl.col("closed").any().over(alike),
        pl.coalesce("closed_by", pl.col("closed_by").drop_nulls().first().over(alike)),
    ).unique("turn_id", keep="first", maintain_order=True)


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the turns oldest first, `ordinal` counted anew within each session.

    Turns without a time come last, in the order that their archives give them. A turn is over when
    its session goes on, also in another archive.
    """
    placed = rows.sort("started_at", "session_id", "ordinal", "turn_id", nulls_last=True)
    counted = placed.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int32).over("session_id").alias("ordinal"),
        (pl.len().over("session_id") - 1).alias("last"),
    )
    goes_on = pl.col("ordinal") < pl.col("last")
    next_prompt = pl.when(goes_on).then(pl.lit(ClosedBy.NEXT_PROMPT.value))
    return counted.with_columns(
        pl.coalesce("closed_by", next_prompt).alias("closed_by"), pl.col("closed") | goes_on
    )
