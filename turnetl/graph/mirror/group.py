"""A group in memory. It has one writer, which reads the group once and applies its own commits."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import Change, Entity, Episode, Fact, GroupId, SessionId, TurnId
from turnetl.graph.from_rows import in_order

_SessionPosition = tuple[datetime, TurnId]
LOOKED_UP = ("session", "branch")
"""Attributes by whose value valid facts are found."""
FILE_LABEL = "File"


class GroupView(Protocol):
    """Entities and facts of one group."""

    group_id: GroupId

    @property
    def entities(self) -> Iterable[Entity]:
        """All entities, in order of creation."""

    @property
    def facts(self) -> Iterable[Fact]:
        """All facts, including invalidated ones, in order of creation."""

    def entity(self, uuid: str) -> Entity | None: ...

    def fact(self, uuid: str) -> Fact | None: ...

    def entities_named(self, names: Collection[str]) -> Sequence[Entity]:
        """Return the entities with exactly these names, in order of creation."""

    def entities_like(self, name: str) -> Sequence[Entity]:
        """Return the entities whose name differs in case and spaces only, in order of creation."""

    def files_named(self, base: str) -> Sequence[Entity]:
        """Return the files whose name has this last part, in any case, in order of creation."""

    def valid_facts(self, source: str, relation: str) -> Sequence[Fact]:
        """Return the facts of that relation from `source` that are still valid, oldest first."""

    def valid_facts_to(self, target: str, relation: str) -> Sequence[Fact]:
        """Return the facts of that relation to `target` that are still valid, oldest first."""

    def valid_facts_with(self, name: str, value: str) -> Sequence[Fact]:
        """Return the facts with that attribute, of `LOOKED_UP`, that are still valid."""


class MirrorGroup:
    """Entities, facts and the order of the committed turns of one group, as the graph holds them.

    It never queries the database. Call `apply` only after a commit succeeded; its cost depends on
    the size of the change, not on the size of the group.
    """

    def __init__(self, contents: GroupContents) -> None:
        self.group_id: GroupId = contents.group_id
        self._entities: dict[str, Entity] = {}
        # Order of creation and uuid, by name: a name never changes.
        self._by_name: dict[str, list[tuple[int, str]]] = {}
        # Uuids in order of creation, by the name without case and spaces.
        self._by_folded_name: dict[str, list[str]] = {}
        # Of files, by the last part of their names.
        self._by_file_name: dict[str, dict[str, None]] = {}
        self._facts: dict[str, Fact] = {}
        self._chunks: dict[TurnId, int] = {}
        # Facts without an end, by (source, relation) and by (target, relation): dicts, for their
        # order and their deletions.
        self._valid: dict[tuple[str, str], dict[str, None]] = {}
        self._valid_to: dict[tuple[str, str], dict[str, None]] = {}
        self._valid_with: dict[tuple[str, str], dict[str, None]] = {}
        self._sessions: dict[SessionId, list[_SessionPosition]] = {}
        self.put(contents.entities, contents.facts)
        for receipt in contents.receipts:
            self._put_turn(receipt)

    @property
    def entities(self) -> Iterable[Entity]:
        return self._entities.values()

    @property
    def facts(self) -> Iterable[Fact]:
        return self._facts.values()

    def entity(self, uuid: str) -> Entity | None:
        return self._entities.get(uuid)

    def fact(self, uuid: str) -> Fact | None:
        return self._facts.get(uuid)

    def entities_named(self, names: Collection[str]) -> Sequence[Entity]:
        found = sorted(entry for name in set(names) for entry in self._by_name.get(name, ()))
        return [self._entities[uuid] for _, uuid in found]

    def entities_like(self, name: str) -> Sequence[Entity]:
        return [self._entities[uuid] for uuid in self._by_folded_name.get(folded(name), ())]

    def files_named(self, base: str) -> Sequence[Entity]:
        return [self._entities[uuid] for uuid in self._by_file_name.get(folded(base), ())]

    def valid_facts(self, source: str, relation: str) -> Sequence[Fact]:
        return [self._facts[uuid] for uuid in self._valid.get((source, relation), ())]

    def valid_facts_to(self, target: str, relation: str) -> Sequence[Fact]:
        return [self._facts[uuid] for uuid in self._valid_to.get((target, relation), ())]

    def valid_facts_with(self, name: str, value: str) -> Sequence[Fact]:
        return [self._facts[uuid] for uuid in self._valid_with.get((name, value), ())]

    def neighbours(self, episode: Episode) -> tuple[TurnId | None, TurnId | None]:
        """Return the committed turns just before and just after the episode in its session.

        By (started_at, turn_id): history may arrive late, and ordinals change when it does.
        """
        session = self._sessions.get(episode.turn.session_id, [])
        position = _position(episode.turn.started_at, episode.turn_id)
        before = bisect_left(session, position)
        after = before + 1 if session[before : before + 1] == [position] else before
        previous = session[before - 1][1] if before > 0 else None
        following = session[after][1] if after < len(session) else None
        return previous, following

    def chunks_of(self, turn: TurnId) -> int:
        """Return the number of chunks of a turn; KeyError if it is not committed."""
        return self._chunks[turn]

    def apply(self, change: Change, receipt: Receipt) -> None:
        """Apply a committed change. Idempotent.

        What is new gets the order in which a later run loads it: of candidates that fit equally
        well, both show the model the same ones, in the same order.
        """
        self.put(in_order(change.entities), in_order(change.facts))
        texts = change.summary_texts.items()
        self.put([replace(self._entities[uuid], summary=text) for uuid, text in texts], ())
        self._put_turn(receipt)

    def put(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        """Add entities and facts, or replace those with the same uuids."""
        for entity in entities:
            if entity.uuid not in self._entities:
                entry = len(self._entities), entity.uuid
                self._by_name.setdefault(entity.name, []).append(entry)
                self._by_folded_name.setdefault(folded(entity.name), []).append(entity.uuid)
            self._entities[entity.uuid] = entity
            if FILE_LABEL in entity.labels:
                base = folded(entity.name.rpartition("/")[2])
                self._by_file_name.setdefault(base, {})[entity.uuid] = None
        for fact in facts:
            self._put_fact(fact)

    def _put_fact(self, fact: Fact) -> None:
        before = self._facts.get(fact.uuid)
        self._facts[fact.uuid] = fact
        if before is not None and _valid_keys(before) != _valid_keys(fact):
            self._remove_valid(before)
        if fact.invalid_at is not None:
            self._remove_valid(fact)
            return
        by_source, by_target, *by_attribute = _valid_keys(fact)
        self._valid.setdefault(by_source, {})[fact.uuid] = None
        self._valid_to.setdefault(by_target, {})[fact.uuid] = None
        for key in by_attribute:
            self._valid_with.setdefault(key, {})[fact.uuid] = None

    def _remove_valid(self, fact: Fact) -> None:
        by_source, by_target, *by_attribute = _valid_keys(fact)
        _remove(self._valid, by_source, fact.uuid)
        _remove(self._valid_to, by_target, fact.uuid)
        for key in by_attribute:
            _remove(self._valid_with, key, fact.uuid)

    def _put_turn(self, receipt: Receipt) -> None:
        if receipt.turn_id not in self._chunks:
            position = _position(receipt.started_at, receipt.turn_id)
            insort(self._sessions.setdefault(receipt.session_id, []), position)
        self._chunks[receipt.turn_id] = receipt.chunks


def empty_contents(group_id: GroupId) -> GroupContents:
    """Return the contents of a group to which nothing was ever written."""
    return GroupContents(group_id, None, (), (), (), {})


def _position(started_at: datetime | None, turn: TurnId) -> _SessionPosition:
    if started_at is None:
        raise ValueError(f"turn {turn} has no time")
    return started_at, turn


def folded(text: str) -> str:
    """Return a name or sentence without letter case and runs of spaces."""
    return " ".join(text.lower().split())


def _valid_keys(fact: Fact) -> tuple[tuple[str, str], ...]:
    named = ((name, fact.attributes.get(name)) for name in LOOKED_UP)
    return (
        (fact.source, fact.relation),
        (fact.target, fact.relation),
        *((name, value) for name, value in named if isinstance(value, str)),
    )


def _remove(index: dict[tuple[str, str], dict[str, None]], key: tuple[str, str], uuid: str) -> None:
    valid = index.get(key, {})
    valid.pop(uuid, None)
    if not valid:
        index.pop(key, None)
