"""What the turns of an index are mostly about: counts and the newest facts, each list bounded.

Parameters of the statements: `keys`, a JSON list of the keys of turns; `relations`, one of folded
names. `+ft.turn` makes SQLite begin with the few facts that are asked for, not with all turns'.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.index.catalog_queries import time_of
from turnetl.index.conditions import fold
from turnetl.index.port import ENTITIES, FACTS, Keys, unpack


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
        ((facts, invalid),) = self._query(COUNTS)
        return FactCounts(facts, invalid)

    def started(self) -> list[tuple[GroupId, datetime]]:
        return [(GroupId(group), time_of(started)) for group, started in self._query(STARTED)]

    def most_stated(self, limit: int) -> list[LabelledEntities]:
        """Return at most `limit` entities of each label, the label of most entities first."""
        found: dict[tuple[str, int], list[StatedEntity]] = {}
        for label, count, content, turns in self._query(MOST_STATED, limit=limit):
            stated = StatedEntity(unpack(content, ENTITIES), turns)
            found.setdefault((label, count), []).append(stated)
        return [
            LabelledEntities(label, tuple(all_), count) for (label, count), all_ in found.items()
        ]

    def targets(self, relations: Collection[str], limit: int) -> tuple[list[StatedEntity], int]:
        """Return what facts with these relations lead to, most turns first, and how many."""
        rows = self._query(TARGETS, relations=_folded(relations), limit=limit)
        stated = [StatedEntity(unpack(content, ENTITIES), turns) for content, turns, _ in rows]
        return stated, rows[0][-1] if rows else 0

    def newest(
        self, relations: Collection[str], limit: int, *, valid_only: bool = False
    ) -> NewestFacts:
        """Return the facts with these relations, the one stated last first."""
        statement = NEWEST_VALID if valid_only else NEWEST
        return _newest(self._query(statement, relations=_folded(relations), limit=limit))

    def newest_about(self, uuid: str, limit: int) -> NewestFacts:
        return _newest(self._query(NEWEST_ABOUT, uuid=uuid, limit=limit))

    def _query(self, statement: str, **parameters: Any) -> list[Any]:
        return self._connection.execute(statement, {"keys": self._keys, **parameters}).fetchall()


def _newest(rows: Iterable[tuple[bytes, int]]) -> NewestFacts:
    found = [(unpack(content, FACTS), count) for content, count in rows]
    return NewestFacts(tuple(fact for fact, _ in found), found[0][1] if found else 0)


def _folded(relations: Collection[str]) -> str:
    return json.dumps([fold(relation) for relation in relations])


# Labels have no index by entity, so that they are read once, each beside its entity's count.
MOST_STATED = """
WITH stated AS MATERIALIZED (
    SELECT ft.turn, f.source, f.target FROM fact_turns ft JOIN facts f ON f.key = ft.fact
    WHERE ft.turn IN (SELECT value FROM json_each(:keys))),
ends AS (SELECT turn, source AS entity FROM stated UNION SELECT turn, target FROM stated),
counted AS MATERIALIZED (SELECT entity, count(*) AS turns FROM ends GROUP BY entity),
labelled AS (
    SELECT l.folded, l.label, c.entity, c.turns
    FROM entity_labels l CROSS JOIN counted c ON c.entity = l.entity
    UNION ALL
    SELECT NULL, '', entity, turns FROM counted
    WHERE entity NOT IN (SELECT entity FROM entity_labels)),
ranked AS (
    SELECT l.label, l.entity, l.turns,
        row_number() OVER (
            PARTITION BY l.folded ORDER BY l.turns DESC, e.name, e.uuid) AS place,
        count(*) OVER (PARTITION BY l.folded) AS entities
    FROM labelled l JOIN entities e ON e.key = l.entity)
SELECT r.label, r.entities, e.content, r.turns
FROM ranked r JOIN entities e ON e.key = r.entity WHERE r.place <= :limit
ORDER BY r.entities DESC, r.label, r.place"""

TARGETS = """
SELECT e.content, count(DISTINCT ft.turn) AS turns, count(*) OVER ()
FROM facts f JOIN fact_turns ft ON ft.fact = f.key JOIN turns t ON t.key = ft.turn
JOIN entities e ON e.key = f.target
WHERE f.folded IN (SELECT value FROM json_each(:relations))
    AND +ft.turn IN (SELECT value FROM json_each(:keys))
GROUP BY e.key ORDER BY turns DESC, max(t.started_at) DESC, e.uuid LIMIT :limit"""

_NEWEST = """
SELECT f.content, count(*) OVER ()
FROM facts f JOIN fact_turns ft ON ft.fact = f.key JOIN turns t ON t.key = ft.turn
WHERE +ft.turn IN (SELECT value FROM json_each(:keys)) AND {}
GROUP BY f.key ORDER BY max(t.started_at) DESC, f.uuid LIMIT :limit"""
NEWEST = _NEWEST.format("f.folded IN (SELECT value FROM json_each(:relations))")
NEWEST_VALID = _NEWEST.format(
    "f.folded IN (SELECT value FROM json_each(:relations)) AND f.invalid_at IS NULL"
)
NEWEST_ABOUT = _NEWEST.format(
    "f.key IN (SELECT key FROM facts WHERE source = (SELECT key FROM entities WHERE uuid = :uuid)"
    " UNION SELECT key FROM facts WHERE target = (SELECT key FROM entities WHERE uuid = :uuid))"
)

STARTED = """
SELECT group_id, started_at FROM turns WHERE key IN (SELECT value FROM json_each(:keys))"""

COUNTS = """
SELECT count(DISTINCT ft.fact),
    count(DISTINCT CASE WHEN f.invalid_at IS NOT NULL THEN ft.fact END)
FROM fact_turns ft JOIN facts f ON f.key = ft.fact
WHERE ft.turn IN (SELECT value FROM json_each(:keys))"""
