"""What another program wrote into the group: it is counted, and nothing of it is wrong."""

from collections.abc import Iterator

import polars as pl

from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.turn_checks import Examples


def foreign_checks(state: GroupState) -> Iterator[Examples]:
    own = state.own_episodes.select("uuid").unique()
    episodes = state.tables.episodes.join(own, on="uuid", how="anti")["uuid"]
    facts = _facts(state, own["uuid"])
    entities = _entities(state, own["uuid"], facts)
    found = (("episode", episodes), ("entity", entities), ("fact", facts))
    yield Check.FOREIGN, [f"{kind} {uuid}" for kind, uuids in found for uuid in uuids]


def _facts(state: GroupState, own_episodes: pl.Series) -> pl.Series:
    """Return the facts that no turn created and that name no episode of a turn."""
    named = state.tables.facts.select("uuid", turn="turns").explode("turn")
    own = named.filter(pl.col("turn").is_in(own_episodes.implode()))["uuid"]
    return state.tables.facts.filter(
        ~pl.col("uuid").is_in(pl.concat([own, state.facts_new]).implode())
    )["uuid"]


def _entities(state: GroupState, own_episodes: pl.Series, foreign_facts: pl.Series) -> pl.Series:
    """Return the entities that no turn created and nothing of a turn uses."""
    is_foreign = pl.col("uuid").is_in(foreign_facts.implode())
    facts = state.tables.facts.filter(~is_foreign)
    mentions = state.tables.mentions.filter(pl.col("episode").is_in(own_episodes.implode()))
    used = pl.concat([mentions["entity"], facts["source"], facts["target"], state.entities_new])
    is_used = pl.col("uuid").is_in(used.drop_nulls().unique().implode())
    return state.tables.entities.filter(~is_used)["uuid"]
