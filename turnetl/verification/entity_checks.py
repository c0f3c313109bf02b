"""Checks of entities and of what mentions them."""

from collections.abc import Iterator

import polars as pl

from turnetl.base.model import TurnId
from turnetl.graph import graphiti_names
from turnetl.graph.group_repair import DoubleMention, UnusedEntity
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.turn_checks import Examples


def entity_checks(state: GroupState) -> Iterator[Examples]:
    yield (
        Check.DOUBLE_MENTIONS,
        [
            f"episode {episode} mentions entity {entity} {count} times"
            for episode, entity, count in _double_mentions(state).iter_rows()
        ],
    )
    yield Check.MISSING_ENTITIES, [f"entity {uuid}" for uuid in _missing(state)]
    yield Check.SUMMARISED_ENTITIES, [f"entity {uuid}" for uuid in _missing_summarised(state)]
    yield Check.UNUSED_ENTITIES, _named(_unused(state))
    yield Check.DUPLICATE_NAMES, _duplicate_names(state.tables.entities)


def entity_repairs(state: GroupState) -> Iterator[DoubleMention | UnusedEntity]:
    for episode, entity, _ in _double_mentions(state).iter_rows():
        yield DoubleMention(episode, entity)
    created = state.known_commits.select("turn_id", uuid="entities_new").explode("uuid")
    unused = created.join(_unused(state), on="uuid", how="semi").sort("uuid", "turn_id")
    for turn, uuid in unused.iter_rows():
        yield UnusedEntity(uuid, TurnId(turn))


def _double_mentions(state: GroupState) -> pl.DataFrame:
    """Return `episode`, `entity`, `len`, sorted. Two nodes with one id are another finding."""
    own = state.own_episodes.group_by("uuid").len("nodes").filter(pl.col("nodes") == 1)
    mentions = state.tables.mentions.join(own, left_on="episode", right_on="uuid", how="semi")
    counts = mentions.group_by("episode", "entity").len()
    return counts.filter(pl.col("len") > 1).sort("episode", "entity")


def _missing(state: GroupState) -> list[str]:
    created = state.commits["entities_new"].explode().drop_nulls().unique()
    held = state.tables.entities["uuid"].implode()
    return created.filter(~created.is_in(held)).to_list()


def _missing_summarised(state: GroupState) -> list[str]:
    """Return the missing entities of records, without those that are missing already."""
    commits = state.commits
    recorded = commits["summarised"].explode().drop_nulls().unique().sort()
    known = pl.concat([state.tables.entities["uuid"], commits["entities_new"].explode()])
    return recorded.filter(~recorded.is_in(known.drop_nulls().implode())).to_list()


def _unused(state: GroupState) -> pl.DataFrame:
    """Return the unused entities that a turn created, without those of a turn without episodes."""
    facts, lacking = state.tables.facts, state.incomplete_turns.select("turn_id")
    used = pl.concat([state.tables.mentions["entity"], facts["source"], facts["target"]])
    excused = state.known_commits.join(lacking, on="turn_id", how="semi")["entities_new"].explode()
    return state.tables.entities.filter(
        pl.col("uuid").is_in(state.entities_new.implode()),
        ~pl.col("uuid").is_in(used.drop_nulls().unique().implode()),
        ~pl.col("uuid").is_in(excused.drop_nulls().implode()),
    )


def _duplicate_names(entities: pl.DataFrame) -> list[str]:
    """Return every entity but the first of those with its name and labels, by uuid."""
    own_labels = pl.col("labels").list.set_difference([graphiti_names.BASE_LABEL])
    labelled = entities.sort("uuid").with_columns(
        key=own_labels.list.unique().list.sort().list.join("\x1f")
    )
    first = pl.col("uuid").first().over("name", "key")
    repeated = labelled.filter(pl.col("uuid") != first).sort("name", "uuid")
    return _named(repeated)


def _named(entities: pl.DataFrame) -> list[str]:
    return [f"entity {uuid} `{name}`" for uuid, name in entities.select("uuid", "name").iter_rows()]
