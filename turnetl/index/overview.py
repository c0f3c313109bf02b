"""What the turns of an index are mostly about: counts and the newest facts, each list bounded."""

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.index import overview_sql as sql
from turnetl.index.folding import fold
from turnetl.index.packing import unpack
from turnetl.index.port import Keys
from turnetl.index.selecting import time_of

_ENTITIES = msgspec.json.Decoder(Entity)
_FACTS = msgspec.json.Decoder(Fact)


@dataclass(frozen=True, slots=True)
class StatedEntity:
    """An entity, and how many turns state a fact about it."""

    entity: Entity
    turns: int


@dataclass(frozen=True, slots=True)
class LabelledEntities:
    """The entities with one label, those that most turns state something about."""

    label: str
    """Empty: without a label."""
    entities: tuple[StatedEntity, ...]
    """Most turns first."""
    count: int
    """All entities with the label."""


@dataclass(frozen=True, slots=True)
class NewestFacts:
    facts: tuple[Fact, ...]
    """Newest statement first."""
    count: int
    """All facts that meet the conditions."""


@dataclass(frozen=True, slots=True)
class FactCounts:
    facts: int
    invalid: int
    """Of these, the facts that no longer hold."""


class Overview:
    """Counts over the turns with some keys. An unknown key counts as none."""

    def __init__(self, connection: sqlite3.Connection, keys: Keys) -> None:
        self._connection = connection
        self._keys = json.dumps(keys.tolist())

    def counts(self) -> FactCounts:
        """Return how many facts the turns state."""
        ((facts, invalid),) = self._query(sql.COUNTS)
        return FactCounts(facts, invalid)

    def started(self) -> list[tuple[GroupId, datetime]]:
        """Return the group and the start of each turn, in no order."""
        return [(GroupId(group), time_of(started)) for group, started in self._query(sql.STARTED)]

    def most_stated(self, limit: int) -> list[LabelledEntities]:
        """Return the entities by label, the label of most entities first.

        Args:
            limit: at most this many entities of each label.
        """
        found: dict[tuple[str, int], list[StatedEntity]] = {}
        for label, count, content, turns in self._query(sql.MOST_STATED, limit=limit):
            stated = StatedEntity(unpack(content, _ENTITIES), turns)
            found.setdefault((label, count), []).append(stated)
        return [
            LabelledEntities(label, tuple(all_), count) for (label, count), all_ in found.items()
        ]

    def targets(self, relations: Collection[str], limit: int) -> tuple[list[StatedEntity], int]:
        """Return what facts with these relations lead to, most turns first, and how many there are.

        Args:
            relations: names of relations, in any case.
            limit: at most this many entities.
        """
        rows = self._query(sql.TARGETS, relations=_folded(relations), limit=limit)
        stated = [StatedEntity(unpack(content, _ENTITIES), turns) for content, turns, _ in rows]
        return stated, rows[0][-1] if rows else 0

    def newest(
        self, relations: Collection[str], limit: int, *, valid_only: bool = False
    ) -> NewestFacts:
        """Return the facts with these relations, the one stated last first.

        Args:
            relations: names of relations, in any case.
            limit: at most this many facts.
            valid_only: only facts that still hold.
        """
        statement = sql.NEWEST_VALID if valid_only else sql.NEWEST
        return _newest(self._query(statement, relations=_folded(relations), limit=limit))

    def newest_about(self, uuid: str, limit: int) -> NewestFacts:
        """Return at most this many facts about an entity, the one stated last first."""
        return _newest(self._query(sql.NEWEST_ABOUT, uuid=uuid, limit=limit))

    def _query(self, statement: str, **parameters: Any) -> list[Any]:
        return self._connection.execute(statement, {"keys": self._keys, **parameters}).fetchall()


def _newest(rows: Iterable[tuple[bytes, int]]) -> NewestFacts:
    found = [(unpack(content, _FACTS), count) for content, count in rows]
    return NewestFacts(tuple(fact for fact, _ in found), found[0][1] if found else 0)


def _folded(relations: Collection[str]) -> str:
    return json.dumps([fold(relation) for relation in relations])
