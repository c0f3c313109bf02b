"""Audit of the summaries that turns kept: each with what a new one would be made of.

Pure; the same group gives the same sample.
"""

from collections.abc import Mapping

from turnetl.graph_model import GroupContents
from turnetl.model import Fact
from turnetl.summaries.records import EntityRecord, decode, replay
from turnetl.summaries.summary_input import SummaryInput


def kept_summaries(contents: GroupContents, limit: int) -> tuple[SummaryInput, ...]:
    """Return what new summaries of a sample of entities would be made of, sorted by uuid.

    The latest turn about each of them kept its summary and did not defer it, and nobody edited it.

    Args:
        contents: the group as the graph holds it.
        limit: entities at most. Uuids are digests, so that those that sort first are a sample.
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
    facts = _active_facts(contents, {entity.uuid for entity in sample})
    return tuple(
        SummaryInput(
            entity,
            summaries[entity.uuid].text,
            tuple(facts[entity.uuid]),
            frozenset(),
            (),
        )
        for entity in sample
    )


def missing_facts(kept: str, fresh: str) -> int:
    """Return how many lines about facts only the new summary has; its first line is a heading."""
    return len(set(fresh.splitlines()[1:]) - set(kept.splitlines()))


def _latest_decisions(contents: GroupContents) -> Mapping[str, EntityRecord]:
    """Return what the latest turn about each entity recorded, by its uuid."""
    return {
        record.entity: record
        for of_turn in contents.summaries.values()
        for record in decode(of_turn)
        if record.flushed is None
    }


def _is_kept(record: EntityRecord | None) -> bool:
    return record is not None and record.refresh is None and not record.deferred


def _active_facts(contents: GroupContents, uuids: set[str]) -> Mapping[str, list[Fact]]:
    """Return the active facts about each of these entities, oldest first."""
    found: dict[str, list[Fact]] = {uuid: [] for uuid in uuids}
    for fact in contents.facts:
        for uuid in {fact.source, fact.target} & uuids:
            if fact.invalid_at is None:
                found[uuid].append(fact)
    return found
