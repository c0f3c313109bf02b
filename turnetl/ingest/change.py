"""What a resolved turn does to its group, seen from the group as it is."""

from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import Group
from turnetl.model import Change, Episode, Fact


def change_of(episode: Episode, resolved: Resolved, group: Group) -> Change:
    """Put together what the turn does, with what was there before and its place in the session."""
    previous, following = group.neighbours(episode)
    entities_before = (group.entity(entity.uuid) for entity in resolved.entities)
    facts_before = (group.fact(fact.uuid) for fact in resolved.facts)
    return Change(
        episode=episode,
        entities=resolved.entities,
        facts=resolved.facts,
        mentions=resolved.mentions,
        entities_before=tuple(entity for entity in entities_before if entity is not None),
        facts_before=tuple(fact for fact in facts_before if fact is not None),
        previous_turn=previous,
        next_turn=following,
        usage=resolved.usage,
    )


def retired(change: Change) -> list[Fact]:
    """Return the facts that were open before and are not any more."""
    were_open = {fact.uuid for fact in change.facts_before if fact.invalid_at is None}
    return [f for f in change.facts if f.uuid in were_open and f.invalid_at is not None]
