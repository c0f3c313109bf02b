"""Checks of facts, of what leads to another group, and of vectors."""

from collections.abc import Iterator
from datetime import timedelta

import polars as pl

from turnetl.graph.group_repair import UnattachedFact
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.turn_checks import Examples

_MARGIN = timedelta(days=1)
"""Clocks differ, and a turn may date a fact by its day."""


def fact_checks(state: GroupState) -> Iterator[Examples]:
    facts = state.tables.facts
    yield Check.ACROSS_GROUPS, [*_facts_across(state), *_mentions_across(state)]
    lacks_end = pl.col("source").is_null() | pl.col("target").is_null()
    yield Check.DANGLING_FACTS, _facts(facts.filter(lacks_end))
    created = state.commits["facts_new"].explode().drop_nulls().unique()
    missing = created.filter(~created.is_in(facts["uuid"].implode()))
    yield Check.MISSING_FACTS, [f"fact {uuid}" for uuid in missing]
    yield Check.FACTS_WITHOUT_TURN, _facts(_without_turn(state))
    yield Check.FACTS_IN_FUTURE, _future_facts(state)
    yield from _vector_checks(state)


def fact_repairs(state: GroupState) -> Iterator[UnattachedFact]:
    ends = ("source", "target")
    unattached = state.tables.facts.filter(*(pl.col(end).is_null() for end in ends))
    for uuid in sorted(unattached["uuid"]):
        yield UnattachedFact(uuid)


def _facts_across(state: GroupState) -> list[str]:
    groups = (pl.col(name) for name in ("source_group", "target_group"))
    is_other = pl.any_horizontal((group != state.group).fill_null(value=False) for group in groups)
    return _facts(state.tables.facts.filter(is_other))


def _mentions_across(state: GroupState) -> list[str]:
    other = state.tables.mentions.filter(pl.col("entity_group") != state.group)
    return [
        f"episode {episode} mentions entity {entity} of group `{group}`"
        for episode, entity, group in other.iter_rows()
    ]


def _without_turn(state: GroupState) -> pl.DataFrame:
    """Return facts of turnetl that name an unknown turn or none, and others with unknown ones only.

    A turn is known by its episode or its receipt. Graphiti leaves removed episodes in the lists of
    facts that another episode states too.
    """
    facts = state.tables.facts
    known = pl.concat([state.tables.episodes["uuid"], state.known_commits["turn_id"]]).unique()
    named = facts.select("uuid", turn="turns").explode("turn").drop_nulls()
    named = named.with_columns(is_known=pl.col("turn").is_in(known.implode()))
    counted = named.group_by("uuid").agg(named=pl.len(), unknown=pl.col("is_known").not_().sum())
    is_own = pl.col("uuid").is_in(state.facts_new.implode())
    of_facts = facts.join(counted, on="uuid", how="left")
    nothing_known = pl.col("unknown") == pl.col("named")
    lacks_any = pl.col("named").is_null() | (pl.col("unknown") > 0)
    return of_facts.filter((is_own & lacks_any) | nothing_known.fill_null(value=False))


def _future_facts(state: GroupState) -> list[str]:
    ended = pl.max_horizontal("started_at", pl.coalesce("ended_at", "committed_at"))
    turns = state.known_commits.select("turn_id", ended=ended)
    dated = (
        state.tables.facts.select("uuid", "valid_at", turn="turns")
        .explode("turn")
        .join(turns, left_on="turn", right_on="turn_id")
        .group_by("uuid")
        .agg(pl.col("valid_at").first(), pl.col("ended").max())
        .filter(pl.col("valid_at") > pl.col("ended") + _MARGIN)
    )
    return [
        f"fact {uuid} holds from {valid_at:%Y-%m-%d}, its turn ended {end:%Y-%m-%d}"
        for uuid, valid_at, end in dated.iter_rows()
    ]


def _vector_checks(state: GroupState) -> Iterator[Examples]:
    kinds = (("entity", state.tables.entities), ("fact", state.tables.facts))
    sizes = pl.concat(
        [frame.select("uuid", "dimensions", kind=pl.lit(kind)) for kind, frame in kinds]
    )
    is_missing = pl.col("dimensions").fill_null(0) == 0
    is_wrong = ~is_missing & (pl.col("dimensions") != pl.lit(state.dimensions))
    yield (
        Check.WRONG_DIMENSIONS,
        [
            f"{kind} {uuid}: {dimensions} instead of {state.dimensions} dimensions"
            for uuid, dimensions, kind in sizes.filter(is_wrong.fill_null(value=False)).iter_rows()
        ],
    )
    lacking = sizes.filter(is_missing)
    yield Check.MISSING_VECTORS, [f"{kind} {uuid}" for uuid, _, kind in lacking.iter_rows()]


def _facts(facts: pl.DataFrame) -> list[str]:
    return [f"fact {uuid}" for uuid in facts["uuid"]]
