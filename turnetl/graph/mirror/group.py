"""A group in memory. It has one writer, so the writer holds it: read once, grown by commits."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from turnetl.model import (
    Change,
    Entity,
    Episode,
    Fact,
    GroupContents,
    GroupId,
    Receipt,
    SessionId,
    TurnId,
)

_Place = tuple[datetime, TurnId]


class Things(Protocol):
    """Entities and facts of one group."""

    group_id: GroupId

    @property
    def entities(self) -> Iterable[Entity]:
        """All entities, in the order of their creation."""

    @property
    def facts(self) -> Iterable[Fact]:
        """All facts, retired ones too, in the order of their creation."""

    def entity(self, uuid: str) -> Entity | None: ...

    def fact(self, uuid: str) -> Fact | None: ...

    def called(self, names: Collection[str]) -> Sequence[Entity]:
        """Return the entities of exactly these names, in the order of their creation."""
        ...


class MirrorGroup:
    """Entities, facts and the order of the committed turns of one group, as the graph holds them.

    Nothing in here asks the database. `apply` is to be called only after the commit succeeded, and
    costs what the change is long, whatever the group holds.
    """

    def __init__(self, contents: GroupContents) -> None:
        self.group_id: GroupId = contents.group_id
        self._entities: dict[str, Entity] = {}
        # Places in the order of creation, and keys, by name: a name never changes.
        self._called: dict[str, list[tuple[int, str]]] = {}
        self._facts: dict[str, Fact] = {}
        # Of how many parts each committed turn is.
        self._committed: dict[TurnId, int] = {}
        # Facts that nothing has ended, by (source, name): a dict, for its order and its deletions.
        self._open: dict[tuple[str, str], dict[str, None]] = {}
        self._sessions: dict[SessionId, list[_Place]] = {}
        self.put(contents.entities, contents.facts)
        for receipt in contents.receipts:
            self._put_turn(receipt)

    @property
    def entities(self) -> Iterable[Entity]:
        """All entities, in the order of their creation."""
        return self._entities.values()

    @property
    def facts(self) -> Iterable[Fact]:
        """All facts, retired ones too, in the order of their creation."""
        return self._facts.values()

    def entity(self, uuid: str) -> Entity | None:
        return self._entities.get(uuid)

    def fact(self, uuid: str) -> Fact | None:
        return self._facts.get(uuid)

    def called(self, names: Collection[str]) -> Sequence[Entity]:
        """Return the entities of exactly these names, in the order of their creation."""
        found = sorted(place for name in set(names) for place in self._called.get(name, ()))
        return [self._entities[uuid] for _, uuid in found]

    def open_facts(self, source: str, name: str) -> Sequence[Fact]:
        """Return the facts of that kind about `source` that nothing has ended yet, oldest first."""
        return [self._facts[uuid] for uuid in self._open.get((source, name), ())]

    def neighbours(self, episode: Episode) -> tuple[TurnId | None, TurnId | None]:
        """Return the committed turns just before and just after the episode in its session.

        By (started_at, turn_id): history may arrive late, and ordinals move when it does.

        Raises:
            ValueError: the episode's turn has no time.
        """
        session = self._sessions.get(episode.turn.session_id, [])
        here = _place(episode.turn.started_at, episode.turn_id)
        at = bisect_left(session, here)
        after = at + 1 if session[at : at + 1] == [here] else at
        previous = session[at - 1][1] if at > 0 else None
        following = session[after][1] if after < len(session) else None
        return previous, following

    def parts_of(self, turn: TurnId) -> int:
        """Return of how many parts a committed turn is.

        Raises:
            KeyError: it is not committed.
        """
        return self._committed[turn]

    def apply(self, change: Change, receipt: Receipt) -> None:
        """Make the committed change part of what is in memory. Repeating it changes nothing."""
        self.put(change.entities, change.facts)
        self._put_turn(receipt)

    def put(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        """Hold these, in the place of those that have the same keys."""
        for entity in entities:
            if entity.uuid not in self._entities:
                place = len(self._entities), entity.uuid
                self._called.setdefault(entity.name, []).append(place)
            self._entities[entity.uuid] = entity
        for fact in facts:
            self._put_fact(fact)

    def _put_fact(self, fact: Fact) -> None:
        before = self._facts.get(fact.uuid)
        self._facts[fact.uuid] = fact
        kind = (fact.source, fact.name)
        if before is not None and (before.source, before.name) != kind:
            self._close(before)
        if fact.invalid_at is None:
            self._open.setdefault(kind, {})[fact.uuid] = None
        else:
            self._close(fact)

    def _close(self, fact: Fact) -> None:
        kind = (fact.source, fact.name)
        still = self._open.get(kind, {})
        still.pop(fact.uuid, None)
        if not still:
            self._open.pop(kind, None)

    def _put_turn(self, receipt: Receipt) -> None:
        if receipt.turn_id not in self._committed:
            place = _place(receipt.started_at, receipt.turn_id)
            insort(self._sessions.setdefault(receipt.session_id, []), place)
        self._committed[receipt.turn_id] = receipt.parts


def _place(started_at: datetime | None, turn: TurnId) -> _Place:
    if started_at is None:
        raise ValueError(f"turn {turn} has no time")
    return started_at, turn
