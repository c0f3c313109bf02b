"""A group as the rows that a graph holds, whether or not they fit together: what `verify` reads.

No text of a turn and no vector is read: 10,000 turns take some tens of megabytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from turnetl.base import schema
from turnetl.graph import to_rows
from turnetl.graph.from_rows import BEFORE_IMAGES, summarised_entities

COMMITS = pl.Schema(
    {
        "turn_id": pl.String(),
        "session_id": pl.String(),
        "chunks": pl.Int64(),
        "content_hash": pl.String(),
        "text_hash": pl.String(),
        "started_at": schema.TIME,
        "ended_at": schema.TIME,
        "committed_at": schema.TIME,
        "sequence": pl.Int64(),
        "entities_new": schema.TEXTS,
        "facts_new": schema.TEXTS,
        "summarised": schema.TEXTS,
    }
)
EPISODES = pl.Schema({"uuid": pl.String(), "source_description": pl.String()})
ENTITIES = pl.Schema(
    {"uuid": pl.String(), "name": pl.String(), "labels": schema.TEXTS, "dimensions": pl.Int64()}
)
FACTS = pl.Schema(
    {
        "uuid": pl.String(),
        "source": pl.String(),
        "source_group": pl.String(),
        "target": pl.String(),
        "target_group": pl.String(),
        "turns": schema.TEXTS,
        "valid_at": schema.TIME,
        "dimensions": pl.Int64(),
    }
)
MENTIONS = pl.Schema({"episode": pl.String(), "entity": pl.String(), "entity_group": pl.String()})
SAGAS = pl.Schema({"uuid": pl.String(), "first": pl.String(), "last": pl.String()})
LINKS = pl.Schema({"source": pl.String(), "target": pl.String()})


@dataclass(frozen=True, slots=True)
class GroupTables:
    """The nodes and relationships of a group, a row each. The order of the rows is undefined.

    A store reads them in the order of the fields, so that a commit during the read leaves nothing
    half read: what a turn of `commits` wrote is in all tables, and a row of another turn refers
    only to rows that are in a later table, or to turns of `commits_after`.
    """

    commits: pl.DataFrame
    """TurnCommits, with the uuids of the entities and facts that each created, and of the entities
    about whose summaries it records something."""
    entities: pl.DataFrame
    """`labels` as stored; `dimensions` of the embedding, null if there is none."""
    facts: pl.DataFrame
    """`source` and `target` are null if that end is not an entity."""
    mentions: pl.DataFrame
    """MENTIONS of the group's episodes."""
    episodes: pl.DataFrame
    sagas: pl.DataFrame
    saga_links: pl.DataFrame
    """HAS_EPISODE: from a saga to an episode of the group."""
    next_links: pl.DataFrame
    """NEXT_EPISODE from an episode of the group."""
    commits_after: pl.DataFrame
    """TurnCommits, read again at the end."""


def commit_columns() -> tuple[str, ...]:
    """Return the properties of a TurnCommit of which `commit_row` makes the columns of `COMMITS`.

    The last three are not of the receipt: the number of the commit, the before-images and what is
    recorded about summaries.
    """
    return (*list(COMMITS)[:-3], to_rows.BEFORE_IMAGES, to_rows.SUMMARIES)


def commit_row(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the columns of `COMMITS` from the properties of `commit_columns`."""
    *columns, images, summaries = row
    new = BEFORE_IMAGES.decode(images)
    return (*columns, new.entities_new, new.facts_new, summarised_entities(summaries))
