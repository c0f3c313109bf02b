"""The structural extractor: no key, no network, the same facts from the same turn every time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache

from turnetl import ids
from turnetl.extraction.port import Resolved
from turnetl.extraction.structural import command_results, lexicon, statements, tool_use
from turnetl.extraction.structural.findings import (
    CONCEPT,
    FILE,
    CommandSuccess,
    EntityKey,
    FactDraft,
    TurnFindings,
)
from turnetl.extraction.structural.turn_context import NOBODY, TurnContext, turn_context
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import Entity, Episode, Fact, GroupId

_VERSION = "structural 2"
"""Goes up with every change of a rule that changes what comes out."""
_THINGS = 40
_SAID = 40
_LOOSE_THINGS = 12
"""Things of a turn that no sentence is about: files it only read."""


class StructuralExtractor:
    """Says what the archive says by structure. See `turnetl.extraction.port.Extractor`."""

    def recipe(self, group: GroupId, kind: str = "") -> str:  # noqa: ARG002 - for all the same
        return _recipe()

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> TurnFindings:
        """Return what the turn says, at most 40 things and 40 sentences, most telling first."""
        return read(episode, context)

    async def resolve(
        self, episode: Episode, extracted: TurnFindings, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        """Give things and sentences their keys; end the failures that a success is the end of.

        Looks up only what the turn speaks of: the group's size does not matter.
        """
        keys = {thing: _key(episode.turn.group_id, thing) for thing in extracted.things}
        entities = (_entity(episode, thing, keys[thing], group, now) for thing in extracted.things)
        new = {
            fact.uuid: fact
            for said in extracted.said
            for fact in [_fact(episode, said, keys, now)]
            if group.fact(fact.uuid) is None
        }
        ended = _ended(episode, extracted.successes, group, now)
        return Resolved(
            entities=tuple(entity for entity in entities if entity is not None),
            facts=(*new.values(), *ended),
            mentions=tuple(sorted(key for thing, key in keys.items() if thing != NOBODY)),
        )

    async def close(self) -> None:
        """Do nothing: nothing was opened."""


@cache
def _recipe() -> str:
    rules = [name for name in sorted(vars(lexicon)) if name.isupper()]
    listed = (word for name in rules for word in (name, *sorted(getattr(lexicon, name))))
    return ids.digest(_VERSION, str(_THINGS), str(_SAID), *listed)


def read(episode: Episode, context: Sequence[Episode]) -> TurnFindings:
    """Read one turn, bounded."""
    seen = turn_context(episode.turn)
    run, successes = command_results.command_findings(seen)
    said = _bounded([*_spoken(seen, context), *run])
    spoken_of = [thing for one in said for thing in (one.source, one.target)]
    things = dict.fromkeys(spoken_of)
    for thing in _loose(seen):
        if len(things) < _THINGS:
            things.setdefault(thing)
    return TurnFindings(_united(things, spoken_of), tuple(said), tuple(dict.fromkeys(successes)))


def _spoken(seen: TurnContext, context: Sequence[Episode]) -> Iterator[FactDraft]:
    yield from statements.asked(seen, context)
    yield from statements.answered(seen)
    yield from statements.decided(seen)
    yield from tool_use.written(seen)
    yield from statements.explained(seen)
    yield from tool_use.used(seen)


def _bounded(said: Iterable[FactDraft]) -> list[FactDraft]:
    """Keep each sentence once, the most telling, as long as there is room for what it is about."""
    kept: list[FactDraft] = []
    things: set[EntityKey] = set()
    first = {one.key: one for one in reversed(list(said))}
    for one in sorted(first.values(), key=lambda one: (one.rank, one.text)):
        both = things | {one.source, one.target}
        if one.source != one.target and len(both) <= _THINGS and len(kept) < _SAID:
            things = both
            kept.append(one)
    return kept


def _loose(seen: TurnContext) -> list[EntityKey]:
    files = [EntityKey(FILE, file) for file in seen.seen]
    return [*seen.concepts, *files][:_LOOSE_THINGS]


def _united(things: Iterable[EntityKey], spoken_of: Iterable[EntityKey]) -> tuple[EntityKey, ...]:
    second = {thing: thing.second_label for thing in spoken_of if thing.second_label}
    return tuple(replace(thing, second_label=second.get(thing, "")) for thing in things)


def _key(group: GroupId, thing: EntityKey) -> str:
    return ids.entity_id(group, thing.label, thing.name)


def _entity(
    episode: Episode, thing: EntityKey, uuid: str, group: MirrorGroup, now: datetime
) -> Entity | None:
    """Return the entity if it is new or has a label more than before; else None."""
    labels = {thing.label} | ({thing.second_label} if thing.second_label else set())
    known = group.entity(uuid)
    if known is None:
        name = thing.name
        return Entity(uuid, episode.turn.group_id, name, tuple(sorted(labels)), "", now)
    if labels <= set(known.labels):
        return None
    return replace(known, labels=tuple(sorted(labels | set(known.labels))))


def _fact(episode: Episode, said: FactDraft, keys: Mapping[EntityKey, str], now: datetime) -> Fact:
    turn = episode.turn
    source, target = keys[said.source], keys[said.target]
    return Fact(
        uuid=ids.fact_id(turn.turn_id, source, said.name, target, said.text),
        group_id=turn.group_id,
        source=source,
        target=target,
        name=said.name,
        text=said.text,
        turns=(turn.turn_id,),
        created_at=now,
        valid_at=said.at or turn.started_at,
        invalid_at=said.until,
        expired_at=now if said.until else None,
        reference_time=turn.started_at,
        attributes=said.attributes,
    )


def _ended(
    episode: Episode, successes: Iterable[CommandSuccess], group: MirrorGroup, now: datetime
) -> list[Fact]:
    """Return the open failures of earlier turns that a success of this one is the end of."""
    ended: dict[str, Fact] = {}
    for success in successes:
        command = _key(episode.turn.group_id, success.command)
        for fact in group.valid_facts(command, "FAILED_WITH"):
            if fact.uuid not in ended and _is_over(fact, success, group):
                ended[fact.uuid] = replace(fact, invalid_at=success.at, expired_at=now)
    return list(ended.values())


def _is_over(fact: Fact, success: CommandSuccess, group: MirrorGroup) -> bool:
    # History may arrive late: what failed afterwards is not mended by it.
    if fact.valid_at is not None and fact.valid_at > success.at:
        return False
    target = group.entity(fact.target)
    test = target.name if target is not None and CONCEPT in target.labels else ""
    return command_results.covers(success.line, str(fact.attributes.get("line", "")), test)
