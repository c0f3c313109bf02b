"""Compact Parquet: few files for DuckDB, polars, Spark and Iceberg, each turn once.

turns/year=2026/turns.parquet   entities.parquet   facts.parquet
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import polars as pl

from turnetl.base import schema
from turnetl.transfer.content import ExportContent, ExportedTurn
from turnetl.transfer.file_formats import turn_row
from turnetl.transfer.parquet import ENTITY_COLUMNS, FACT_COLUMNS, encoded, frame

IS_FIRST_COPY = pl.col("turn_id") == pl.col("turn_id").sort_by(
    "chars", "group_id", "turn_id", descending=[True, False, False]
).first().over(
    "format",
    pl.coalesce("prompt_id", "content_hash"),
    pl.coalesce(pl.col("started_at").cast(pl.String), "session_id"),
)
"""Whether a row of `schema.EPISODES` is no copy: in copies of a session in several groups, the same
prompts stand at the same times. The longest one is kept."""
COLUMNS = (*(column.name for column in schema.TURN_COLUMNS), "subagents", "noise", "copies")
"""Columns of `turns.parquet`, after which comes `year`."""
_COMPARED = (
    *("turn_id", "group_id", "format", "prompt_id"),
    *("content_hash", "started_at", "session_id", "chars"),
)
"""The columns that `IS_FIRST_COPY` reads."""
_NO_YEAR = "__HIVE_DEFAULT_PARTITION__"


def first_copies(turns: Iterable[ExportedTurn]) -> AbstractSet[str]:
    """Return the ids of the turns that are no copies."""
    found = [one.turn for one in turns]
    columns = {name: [getattr(turn, name) for turn in found] for name in _COMPARED}
    types = {name: schema.EPISODES.polars[name] for name in _COMPARED}
    rows = pl.DataFrame(columns, schema=types)
    return set(rows.filter(IS_FIRST_COPY)["turn_id"])


def without_copies(content: ExportContent, turn_ids: AbstractSet[str]) -> ExportContent:
    """Return what these turns state, as if there were no other turns."""
    kept = content.of_turns(turn_ids)
    facts = [
        replace(fact, turns=tuple(turn for turn in fact.turns if turn in turn_ids))
        for fact in kept.facts
    ]
    return replace(kept, facts=facts)


def to_compact(content: ExportContent) -> Mapping[str, bytes]:
    """Return the turns by year of their prompts, with the entities and facts."""
    types = schema.EPISODES.polars
    rows = pl.DataFrame(
        [turn_row(one) for one in content.turns], schema={name: types[name] for name in COLUMNS}
    )
    turns = rows.with_columns(year=pl.col("started_at").dt.year())
    by_year = turns.sort("year", "group_id", "started_at", maintain_order=True).partition_by(
        "year", as_dict=True
    )
    files = {
        f"turns/year={_NO_YEAR if year is None else year}/turns.parquet": encoded(of_year)
        for (year,), of_year in by_year.items()
    }
    return files | {
        "entities.parquet": encoded(frame(content.entities, ENTITY_COLUMNS)),
        "facts.parquet": encoded(frame(content.facts, FACT_COLUMNS)),
    }
