"""From rows of a store to values: the same for both stores. Times are timezone-aware already."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, LiteralString, NamedTuple, TypeVar

import msgspec

from turnetl.base import ids, schema
from turnetl.base.batched import grouped
from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    Community,
    EpisodeNode,
    Mention,
    Receipt,
    RunOutcome,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.model import Entity, Fact, GroupId, HeldInvalidation, TurnId, Usage, Vector
from turnetl.graph import graphiti_names
from turnetl.graph.session_level import UNKNOWN_TIME, UnrecordedEpisode

V = TypeVar("V", Entity, Fact)


def in_order(values: Iterable[V]) -> list[V]:
    """Return values in the order of creation, in which they are loaded."""
    return sorted(values, key=attrgetter("created_at", "uuid"))


def entity_of(group: GroupId, row: Mapping[str, Any], vector: Vector | None) -> Entity:
    """Return the entity in a row of properties, any of which may be missing but the uuid."""
    return entity_from_row(_complete(group, row), {}, vector)


def fact_of(group: GroupId, row: Mapping[str, Any], vector: Vector | None) -> Fact:
    """Return the fact in a row of properties, any of which may be missing but the uuids."""
    return fact_from_row({"fact": "", **_complete(group, row)}, {}, vector)


def _complete(group: GroupId, row: Mapping[str, Any]) -> dict[str, Any]:
    present = {name: value for name, value in row.items() if value is not None}
    return {
        "group_id": group,
        "name": "",
        "labels": (),
        "created_at": UNKNOWN_TIME,
        "episodes": (),
        **present,
    }


RUN_TOTALS: LiteralString = """
MATCH (c:TurnCommit)
RETURN c.run_id AS run_id, count(*) AS committed,
       sum(c.entities_new) AS entities_new, sum(c.facts_new) AS facts_new,
       sum(c.facts_invalidated) AS facts_invalidated, sum(c.calls) AS calls,
       sum(c.prompt_tokens) AS prompt_tokens, sum(c.cached_tokens) AS cached_tokens,
       sum(c.completion_tokens) AS completion_tokens, sum(c.seconds) AS seconds,
       sum(coalesce(c.cost, 0.0)) AS cost,
       sum(CASE WHEN c.cost IS NULL THEN 1 ELSE 0 END) AS unpriced
"""


def run_totals(receipts: Iterable[Receipt]) -> dict[str, RunTotals]:
    """Return the totals of each run, by its id, from all receipts."""
    totals: dict[str, RunTotals] = {}
    for receipt in receipts:
        before = totals.get(receipt.run_id, _NOTHING)
        totals[receipt.run_id] = RunTotals(
            committed=before.committed + 1,
            entities_new=before.entities_new + receipt.entities_new,
            facts_new=before.facts_new + receipt.facts_new,
            facts_invalidated=before.facts_invalidated + receipt.facts_invalidated,
            usage=before.usage + receipt.usage,
        )
    return totals


_NOTHING = RunTotals(0, 0, 0, 0, Usage())


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a table by what becomes of their values; thousands of rows are read."""

    plain: tuple[str, ...]
    texts: tuple[str, ...]
    usage: tuple[str, ...]


def _columns(table: schema.Table) -> _Columns:
    usage = frozenset(field.name for field in fields(Usage))
    others = [column for column in table.columns if column.name not in usage]
    return _Columns(
        tuple(column.name for column in others if column.dtype != schema.TEXTS),
        tuple(column.name for column in others if column.dtype == schema.TEXTS),
        tuple(column.name for column in table.columns if column.name in usage),
    )


_RECEIPT, _RUN = _columns(schema.RECEIPTS), _columns(schema.RUNS)


class _Image(msgspec.Struct):
    uuid: str


class _Summarised(msgspec.Struct):
    entity: str


class _BeforeImages(msgspec.Struct):
    """The parts of `to_rows.before_images` that say what a turn created or changed."""

    entities: list[_Image]
    facts: list[_Image]
    entities_new: list[str]
    facts_new: list[str]


BEFORE_IMAGES = msgspec.json.Decoder(_BeforeImages)
_SUMMARIES = msgspec.json.Decoder(list[_Summarised])
_RECIPE_PARTS = msgspec.json.Decoder(dict[str, RecipePart])
FACT_TIMES = ("created_at", "valid_at", "invalid_at", "expired_at", "reference_time")


class Recorded(NamedTuple):
    """What a TurnCommit has apart from its receipt."""

    sequence: int
    """Number of the commit."""
    before_images: str
    """JSON, as `to_rows.before_images` makes it."""
    summaries: str
    """As `Change.summaries`."""


def receipt_from_row(row: Mapping[str, Any]) -> Receipt:
    properties = _properties(row, _RECEIPT)
    # A turn that was committed before this was counted has no such property.
    return Receipt(**{**properties, "facts_held": properties["facts_held"] or 0})


def run_from_row(row: Mapping[str, Any]) -> TurnRun:
    properties = _properties(row, _RUN)
    outcome = properties.pop("outcome")
    return TurnRun(**properties, outcome=None if outcome is None else RunOutcome(outcome))


def _properties(row: Mapping[str, Any], columns: _Columns) -> dict[str, Any]:
    properties: dict[str, Any] = {name: row.get(name) for name in columns.plain}
    properties |= {name: tuple(row.get(name) or ()) for name in columns.texts}
    usage: dict[str, Any] = {name: row.get(name) for name in columns.usage}
    return {**properties, "usage": Usage(**usage)}


def run_totals_from_row(row: Mapping[str, Any]) -> RunTotals:
    tokens = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
    counts = ("committed", "entities_new", "facts_new", "facts_invalidated")
    usage = Usage(
        **{name: row[name] for name in tokens},
        seconds=float(row["seconds"]),
        cost=None if row["unpriced"] else float(row["cost"]),
    )
    return RunTotals(**{name: row[name] for name in counts}, usage=usage)


def committed_turn(
    receipt: Receipt, recorded: Recorded, contents: Mapping[str, str]
) -> CommittedTurn:
    """Return the turn of a TurnCommit; `contents`, by uuid, are at least those of its episodes."""
    images = BEFORE_IMAGES.decode(recorded.before_images)
    return CommittedTurn(
        receipt=receipt,
        sequence=recorded.sequence,
        text=turn_texts([receipt], contents)[receipt.turn_id],
        entities=_sorted_uuids(
            images.entities, (*images.entities_new, *summarised_entities(recorded.summaries))
        ),
        facts=_sorted_uuids(images.facts, images.facts_new),
    )


def commit_records(
    commits: Iterable[tuple[Receipt, Recorded]],
    mentions: Iterable[tuple[str, str]],
    fact_ends: Iterable[tuple[str, str, str]],
) -> list[CommitRecord]:
    """Return the records of TurnCommits, by number.

    Args:
        commits: of one group.
        mentions: of the group, as (episode, entity).
        fact_ends: of its facts, as (fact, source, target).
    """
    mentioned = grouped(mentions)
    endpoints = {uuid: (source, target) for uuid, source, target in fact_ends}
    records = (_commit_record(*commit, mentioned, endpoints) for commit in commits)
    return sorted(records, key=attrgetter("sequence"))


def _commit_record(
    receipt: Receipt,
    recorded: Recorded,
    mentioned: Mapping[str, Sequence[str]],
    endpoints: Mapping[str, tuple[str, str]],
) -> CommitRecord:
    images = msgspec.json.decode(recorded.before_images)
    group = {"group_id": receipt.group_id}
    ends = (endpoints.get(uuid, ()) for uuid in images["facts_new"])
    mentions = (mentioned.get(uuid, ()) for uuid in chunk_ids(receipt))
    return CommitRecord(
        receipt=receipt,
        sequence=recorded.sequence,
        entities_before=tuple(
            entity_from_row(_with_times(row) | group, row["attributes"], None)
            for row in images["entities"]
        ),
        facts_before=tuple(
            fact_from_row(_with_times(row) | group, row["attributes"], None)
            for row in images["facts"]
        ),
        entities_new=tuple(images["entities_new"]),
        facts_new=tuple(images["facts_new"]),
        mentions=tuple(sorted({uuid for of_episode in mentions for uuid in of_episode})),
        endpoints=tuple(sorted({uuid for of_fact in ends for uuid in of_fact})),
        summaries=recorded.summaries,
        held=msgspec.convert(images.get("held", ()), tuple[HeldInvalidation, ...]),
    )


def summarised_entities(summaries: str) -> list[str]:
    """Return the uuids of the entities that `Change.summaries` names."""
    return [one.entity for one in _SUMMARIES.decode(summaries)] if summaries else []


def recipe_parts(parts: str) -> RecipeParts:
    return _RECIPE_PARTS.decode(parts)


def chunk_ids(receipt: Receipt) -> list[str]:
    """Return the uuids of the turn's episodes, in order."""
    return [ids.chunk_id(receipt.turn_id, number) for number in range(receipt.chunks)]


def turn_texts(receipts: Iterable[Receipt], contents: Mapping[str, str]) -> dict[TurnId, str]:
    """Return the text of each turn, joined from the contents of its episodes by uuid."""
    return {
        receipt.turn_id: "\n\n".join(contents.get(uuid, "") for uuid in chunk_ids(receipt))
        for receipt in receipts
    }


def entity_from_row(
    row: Mapping[str, Any], attributes: Mapping[str, Any], vector: Vector | None
) -> Entity:
    """Return the entity in a row of Graphiti's properties; `attributes` may hold these too."""
    return Entity(
        uuid=row["uuid"],
        group_id=GroupId(row["group_id"]),
        name=row["name"],
        labels=graphiti_names.without_base_label(row["labels"] or ()),
        summary=row.get("summary") or "",
        created_at=row["created_at"],
        attributes=graphiti_names.plain_attributes(attributes, graphiti_names.ENTITY_PROPERTIES),
        embedding=vector,
    )


def fact_from_row(
    row: Mapping[str, Any], attributes: Mapping[str, Any], vector: Vector | None
) -> Fact:
    """Return the fact in a row of Graphiti's properties; as `entity_from_row`."""
    return Fact(
        uuid=row["uuid"],
        group_id=GroupId(row["group_id"]),
        source=row["source_node_uuid"],
        target=row["target_node_uuid"],
        relation=row["name"],
        text=row["fact"],
        turns=tuple(TurnId(turn) for turn in row.get("episodes") or ()),
        created_at=row["created_at"],
        valid_at=row.get("valid_at"),
        invalid_at=row.get("invalid_at"),
        expired_at=row.get("expired_at"),
        reference_time=row.get("reference_time"),
        attributes=graphiti_names.plain_attributes(attributes, graphiti_names.FACT_PROPERTIES),
        embedding=vector,
    )


def subgraphs_from_rows(
    episodes: Iterable[Mapping[str, Any]],
    mentions: Iterable[tuple[str, str]],
    communities: tuple[Community, ...],
) -> Subgraphs:
    """Return the subgraphs in rows of Graphiti's properties, and pairs (episode, entity)."""
    nodes = (
        EpisodeNode(**_episode_properties(row), group_id=GroupId(row["group_id"]))
        for row in episodes
    )
    return Subgraphs(
        episodes=tuple(sorted(nodes, key=attrgetter("created_at", "uuid"))),
        mentions=tuple(Mention(episode, entity) for episode, entity in sorted(mentions)),
        communities=communities,
    )


def communities_from_rows(
    rows: Iterable[Mapping[str, Any]], members: Iterable[tuple[str, str]]
) -> tuple[Community, ...]:
    """Return the communities in rows of Graphiti's properties, by (created_at, uuid).

    `members` are pairs of uuids: community, entity.
    """
    uuids = grouped(members)
    nodes = (
        Community(
            uuid=row["uuid"],
            group_id=GroupId(row["group_id"]),
            name=row.get("name") or "",
            summary=row.get("summary") or "",
            created_at=row["created_at"],
            members=tuple(sorted(set(uuids.get(row["uuid"], ())))),
        )
        for row in rows
    )
    return tuple(sorted(nodes, key=attrgetter("created_at", "uuid")))


def unrecorded_episode(
    group: GroupId,
    row: Mapping[str, Any],
    mentions: Mapping[str, int],
    facts: Mapping[str, int],
) -> UnrecordedEpisode:
    """Return the episode in a row of Graphiti's properties, with the counts of each uuid."""
    return UnrecordedEpisode(
        **_episode_properties(row),
        group_id=group,
        entities=mentions.get(row["uuid"], 0),
        facts=facts.get(row["uuid"], 0),
    )


def _episode_properties(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "uuid": row["uuid"],
        "name": row.get("name") or "",
        "text": row.get("content") or "",
        "source": row.get("source") or "",
        "source_description": row.get("source_description") or "",
        "created_at": row["created_at"],
        "valid_at": row["valid_at"],
    }


def _with_times(image: Mapping[str, Any]) -> dict[str, Any]:
    """Return the before-image with its times, which are texts in JSON."""
    given = {name: image[name] for name in FACT_TIMES if image.get(name) is not None}
    return {**image, **{name: datetime.fromisoformat(time) for name, time in given.items()}}


def _sorted_uuids(changed: Iterable[_Image], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*(image.uuid for image in changed), *new}))
