"""Compare summaries that turns kept with the ones that a refresh would write."""

from collections.abc import Mapping, Sequence

import numpy as np

from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Vector
from turnetl.ingestion.summarize_report import AuditedSummary, SummaryAudit
from turnetl.ingestion.undo import EmbedTexts
from turnetl.llm.vectors import unpack
from turnetl.summaries.group_facts import GroupFacts
from turnetl.summaries.port import Summariser, SummaryInput
from turnetl.summaries.records import EntityRecord, EntitySummary, decode, replay


async def audit_summaries(
    kept: Sequence[SummaryInput], summariser: Summariser, embed: EmbedTexts
) -> SummaryAudit:
    """Compare kept summaries with new ones, by vectors of length 1. Writes nothing."""
    fresh = (await summariser.summarise(kept)).all().texts
    pairs = [
        (one.entity.name, one.entity.summary, fresh[one.entity.uuid])
        for one in kept
        if one.entity.uuid in fresh
    ]
    if not pairs:
        return SummaryAudit()
    vectors = await embed([*(old for _, old, _ in pairs), *(new for *_, new in pairs)])
    cosines = map(_cosine, vectors[: len(pairs)], vectors[len(pairs) :])
    audited = [
        AuditedSummary(name, old, new, cosine, missing_facts(old, new))
        for (name, old, new), cosine in zip(pairs, cosines, strict=True)
    ]
    return SummaryAudit(tuple(sorted(audited, key=lambda one: (one.cosine, one.entity))))


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(unpack(one), unpack(other)))


def kept_summaries(contents: GroupContents, limit: int) -> tuple[SummaryInput, ...]:
    """Return what new summaries of a sample of entities would be made of, sorted by uuid.

    The latest turn about each of them kept its summary and did not defer it, and nobody edited it.
    Uuids are digests, so that those that sort first are a sample.
    """
    latest = _latest_decisions(contents)
    summaries = replay(contents.summaries.values())
    sample = [
        entity
        for entity in sorted(contents.entities, key=lambda one: one.uuid)
        if entity.summary
        and _is_kept(latest.get(entity.uuid))
        and entity.summary == summaries[entity.uuid].shown
    ][:limit]
    facts = GroupFacts(contents.facts)
    return tuple(_input(entity, summaries[entity.uuid], facts) for entity in sample)


def missing_facts(kept: str, fresh: str) -> int:
    """Return how many lines about facts only the new summary has.

    The first line is none of them: it is a heading, the oldest fact, which both have, or what a
    model wrote.
    """
    return len(set(fresh.splitlines()[1:]) - set(kept.splitlines()))


def _input(entity: Entity, summary: EntitySummary, facts: GroupFacts) -> SummaryInput:
    active = facts.active_about(entity.uuid)
    new = frozenset(summary.state.pending)
    return SummaryInput(entity, summary.text, active, new, (), facts.degrees(active, {}))


def _latest_decisions(contents: GroupContents) -> Mapping[str, EntityRecord]:
    return {
        record.entity: record
        for of_turn in contents.summaries.values()
        for record in decode(of_turn)
        if record.flushed is None
    }


def _is_kept(record: EntityRecord | None) -> bool:
    return record is not None and record.refresh is None and not record.deferred
