"""What one turn changes about the entities that it touches."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import Fact
from turnetl.summaries.active_facts import ActiveFacts
from turnetl.summaries.polarity import is_negative


@dataclass(frozen=True, slots=True)
class NodeDelta:
    """What a turn changes about one entity: the input of the gate, complete once it is resolved."""

    entity: str
    """Uuid."""
    at: datetime
    """The turn's reference time."""
    facts_new: tuple[Fact, ...]
    """Facts about the entity that the group did not hold, or that hold again; each with its
    embedding."""
    facts_invalidated: tuple[Fact, ...]
    """Facts that were active before the turn."""
    contradictions: tuple[str, ...]
    """Uuids of new facts that deny an active fact about the same two entities, or are denied by
    it."""
    active: ActiveFacts
    """After the turn."""
    touched: bool = True
    """Whether the turn is about the entity; if not, a burst of turns about it ended."""


def node_deltas(
    facts: Iterable[Fact],
    facts_before: Iterable[Fact],
    mentions: Iterable[str],
    at: datetime,
    *,
    between: Callable[[str, str], Iterable[Fact]],
    active: Callable[[str], ActiveFacts],
) -> Mapping[str, NodeDelta]:
    """Return what a turn changes about each entity that it mentions or states a fact about.

    Args:
        facts: new, changed and invalidated facts of the turn in their new state.
        facts_before: those of them that the group held, in their previous state.
        mentions: uuids of the entities that the turn mentions.
        at: the turn's reference time.
        between: returns the active facts about two entities before the turn, in either direction.
        active: returns the active facts of an entity after the turn.

    Returns:
        The deltas by uuid, sorted by uuid.
    """
    before = {fact.uuid: fact for fact in facts_before}
    new: dict[str, list[Fact]] = {}
    ended: dict[str, list[Fact]] = {}
    for fact in facts:
        known = before.get(fact.uuid)
        was_active = known is not None and known.invalid_at is None
        if not was_active and fact.invalid_at is None:
            _add(new, fact)
        elif was_active and fact.invalid_at is not None:
            _add(ended, fact)
    return {
        entity: NodeDelta(
            entity,
            at,
            tuple(new.get(entity, ())),
            tuple(ended.get(entity, ())),
            tuple(fact.uuid for fact in new.get(entity, ()) if _contradicts(fact, between)),
            active(entity),
        )
        for entity in sorted({*new, *ended, *mentions})
    }


def _add(facts: dict[str, list[Fact]], fact: Fact) -> None:
    for entity in dict.fromkeys((fact.source, fact.target)):
        facts.setdefault(entity, []).append(fact)


def _contradicts(fact: Fact, between: Callable[[str, str], Iterable[Fact]]) -> bool:
    others = between(fact.source, fact.target)
    same_relation = (other for other in others if other.relation == fact.relation)
    return any(is_negative(other.text) != is_negative(fact.text) for other in same_relation)
