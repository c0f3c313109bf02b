"""What is exported: turns with their facts and the entities of these."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from turnetl.base.batched import grouped
from turnetl.base.model import Entity, Fact, GroupId, SessionId, Turn, TurnId


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """A turn of the lake."""

    turn: Turn
    noise: str | None
    """The rule that marks it as noise; None: it is kept."""
    copies: int
    """Number of other archives that hold it."""


@dataclass(frozen=True)
class ExportedSession:
    """The turns of a session, in order; at least one."""

    group_id: GroupId
    session_id: SessionId
    turns: tuple[ExportedTurn, ...]


@dataclass(frozen=True)
class ExportContent:
    """The selected turns, what they state, and the entities of that."""

    turns: Sequence[ExportedTurn]
    """By group, session and ordinal."""
    entities: Sequence[Entity] = ()
    """Those of the facts, and of the turns without a fact; by group and name, no embeddings."""
    facts: Sequence[Fact] = ()
    """The facts that the turns state, by group and time; without embeddings."""
    mentioned: Mapping[TurnId, Sequence[str]] = field(default_factory=dict)
    """The uuids of entities that a turn names and no fact is about."""

    @cached_property
    def sessions(self) -> tuple[ExportedSession, ...]:
        """The sessions, by group and time of their first turns."""
        found = (
            ExportedSession(group, session, tuple(turns))
            for (group, session), turns in groupby(self.turns, key=_session_key)
        )
        return tuple(sorted(found, key=_begin))

    @cached_property
    def facts_by_turn(self) -> Mapping[TurnId, Sequence[Fact]]:
        return grouped((turn, fact) for fact in self.facts for turn in fact.turns)

    @cached_property
    def facts_by_entity(self) -> Mapping[str, Sequence[Fact]]:
        return grouped(
            (uuid, fact)
            for fact in self.facts
            for uuid in dict.fromkeys((fact.source, fact.target))
        )

    @cached_property
    def mentioned_in(self) -> Mapping[str, Sequence[TurnId]]:
        """The turns that name each entity that no fact is about."""
        return grouped((uuid, turn) for turn, uuids in self.mentioned.items() for uuid in uuids)

    @cached_property
    def entity_by_uuid(self) -> Mapping[str, Entity]:
        return {entity.uuid: entity for entity in self.entities}

    def mentions(self) -> Iterator[tuple[TurnId, str]]:
        """Yield each turn with the uuid of each entity that it names."""
        for exported in self.turns:
            facts = self.facts_by_turn.get(exported.turn.turn_id, ())
            ends = dict.fromkeys(uuid for fact in facts for uuid in (fact.source, fact.target))
            others = self.mentioned.get(exported.turn.turn_id, ())
            yield from ((exported.turn.turn_id, uuid) for uuid in (*ends, *others))

    def of_turns(self, turn_ids: AbstractSet[str]) -> "ExportContent":
        """Return the content without what none of these turns states or names."""
        facts = [fact for fact in self.facts if not turn_ids.isdisjoint(fact.turns)]
        mentioned = {turn: uuids for turn, uuids in self.mentioned.items() if turn in turn_ids}
        used = {uuid for fact in facts for uuid in (fact.source, fact.target)}
        used.update(*mentioned.values())
        return ExportContent(
            [one for one in self.turns if one.turn.turn_id in turn_ids],
            [entity for entity in self.entities if entity.uuid in used],
            facts,
            mentioned,
        )

    def without_noise(self) -> "ExportContent":
        kept = [exported for exported in self.turns if exported.noise is None]
        return replace(self, turns=kept)


def ordered(content: ExportContent) -> ExportContent:
    return replace(
        content,
        turns=sorted(
            content.turns,
            key=lambda one: (*_session_key(one), one.turn.ordinal, one.turn.turn_id),
        ),
        entities=sorted(content.entities, key=lambda one: (one.group_id, one.name, one.uuid)),
        facts=sorted(
            content.facts, key=lambda one: (one.group_id, one.valid_at or one.created_at, one.uuid)
        ),
    )


def _session_key(exported: ExportedTurn) -> tuple[GroupId, SessionId]:
    return exported.turn.group_id, exported.turn.session_id


def _begin(session: ExportedSession) -> tuple[str, str, str]:
    times = [one.turn.started_at for one in session.turns if one.turn.started_at is not None]
    # Sessions without a time come last.
    return session.group_id, min(times).isoformat() if times else "~", session.session_id
