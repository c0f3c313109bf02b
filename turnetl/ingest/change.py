"""What a resolved turn does to its group, seen from the group as it is."""

from collections.abc import Iterator, Mapping

from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import Change, Entity, Episode, Fact


def change_of(episode: Episode, resolved: Resolved, group: MirrorGroup) -> Change:
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
        previous_parts=group.parts_of(previous) if previous else 1,
        mentioned_in=dict(_said_in(episode, resolved, group)) if len(episode.parts) > 1 else {},
    )


def invalidated(change: Change) -> list[Fact]:
    """Return the facts that were open before and are not any more."""
    were_open = {fact.uuid for fact in change.facts_before if fact.invalid_at is None}
    return [f for f in change.facts if f.uuid in were_open and f.invalid_at is not None]


def summed(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of both, by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}


def _said_in(
    episode: Episode, resolved: Resolved, group: MirrorGroup
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield for each thing the parts that speak of it: as was found out, or those that name it."""
    new = {entity.uuid: entity for entity in resolved.entities}
    said = [part.casefold() for part in episode.parts]
    for uuid in resolved.mentions:
        known = resolved.mentioned_in.get(uuid)
        thing = new.get(uuid) or group.entity(uuid)
        yield uuid, known or _naming(thing, said) or (0,)


def _naming(thing: Entity | None, said: list[str]) -> tuple[int, ...]:
    name = thing.name.casefold() if thing else ""
    return tuple(place for place, part in enumerate(said) if name and name in part)
