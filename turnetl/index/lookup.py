"""Look-ups in the catalog by id, name and time, and what its turns are mostly about."""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from turnetl.base import ids
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.index.catalog_queries import LAST_CHARACTER, microseconds, time_of
from turnetl.index.conditions import fold
from turnetl.index.port import ENTITIES, FACTS, IndexedFact, Keys, unpack

_WITH_PREFIX = {
    "turn": """
SELECT turn_id, group_id FROM turns WHERE turn_id >= ? AND turn_id < ? ORDER BY turn_id LIMIT ?""",
    # One seek per group: the index on sessions starts with the group.
    "session": """
SELECT session_id, min(group_id) FROM turns
WHERE group_id IN (SELECT group_id FROM groups) AND session_id >= ? AND session_id < ?
GROUP BY session_id ORDER BY session_id LIMIT ?""",
    "entity": """
SELECT uuid, group_id FROM entities WHERE uuid >= ? AND uuid < ? ORDER BY uuid LIMIT ?""",
    "fact": """
SELECT f.uuid, s.group_id FROM facts f JOIN entities s ON s.key = f.source
WHERE f.uuid >= ? AND f.uuid < ? ORDER BY f.uuid LIMIT ?""",
}

_SESSION = """
SELECT key FROM turns
WHERE group_id IN (SELECT group_id FROM groups) AND session_id = ? ORDER BY started_at, turn_id"""

_BY_TIME = """
SELECT key FROM turns WHERE key IN (SELECT value FROM json_each(?)) ORDER BY started_at, turn_id"""

_TURN_KEYS = "SELECT turn_id, key FROM turns WHERE turn_id IN (SELECT value FROM json_each(?))"

_TOUCHED = "SELECT key, touched FROM turns WHERE key IN (SELECT value FROM json_each(?))"

_WITHOUT_FACT = """
SELECT content FROM entities e WHERE e.uuid IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source = e.key)
    AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target = e.key)
ORDER BY e.uuid"""

_NAMED = """
SELECT content FROM entities WHERE key IN (SELECT entity FROM entity_names WHERE folded = ?)
ORDER BY group_id, uuid"""

_GROUP_IDS = "SELECT DISTINCT group_id FROM entities ORDER BY group_id"
_BY_UUID = """
SELECT content FROM entities WHERE uuid IN (SELECT value FROM json_each(?))
ORDER BY group_id, uuid"""

_FILES = """
SELECT e.content FROM entities e JOIN entity_labels l ON l.entity = e.key
WHERE l.folded = 'file' AND e.key IN (
    SELECT entity FROM entity_names WHERE substr('/' || folded, -length('/' || ?1)) = '/' || ?1)
ORDER BY e.name, e.group_id"""

_CONTAINING = """
SELECT DISTINCT n.name FROM entity_names n JOIN entities e ON e.key = n.entity
WHERE instr(n.folded, :text) AND (
    :label IS NULL
    OR e.key IN (SELECT l.entity FROM entity_labels l WHERE l.folded = :label))
ORDER BY length(n.name), n.name LIMIT :limit"""

_TURN_COUNTS = """
SELECT e.uuid, count(DISTINCT ft.turn) FROM entities e
JOIN facts f ON f.key IN (
    SELECT key FROM facts WHERE source = e.key UNION SELECT key FROM facts WHERE target = e.key)
JOIN fact_turns ft ON ft.fact = f.key
WHERE e.uuid IN (SELECT value FROM json_each(?)) GROUP BY e.uuid"""

_FACTS = """
SELECT f.content, s.content, e.content, ft.turn
FROM facts f
JOIN entities s ON s.key = f.source
JOIN entities e ON e.key = f.target
JOIN fact_turns ft ON ft.fact = f.key
JOIN turns t ON t.key = ft.turn
WHERE {} ORDER BY t.started_at, t.turn_id"""
_FACT = _FACTS.format("f.uuid = ?")
_IS_ABOUT = (
    "f.key IN (SELECT key FROM facts WHERE source = (SELECT key FROM entities WHERE uuid = :uuid)"
    " UNION SELECT key FROM facts WHERE target = (SELECT key FROM entities WHERE uuid = :uuid))"
)
_FACTS_ABOUT = _FACTS.format(_IS_ABOUT)

_GROUPS = """
SELECT group_id, count(*), count(DISTINCT session_id), min(started_at), max(started_at)
FROM turns GROUP BY group_id ORDER BY max(started_at) DESC, group_id"""

_OF_SESSIONS = """
FROM turns WHERE :groups IS NULL OR group_id IN (SELECT value FROM json_each(:groups))
GROUP BY group_id, session_id
HAVING (:since IS NULL OR max(started_at) >= :since)
    AND (:until IS NULL OR min(started_at) < :until)"""

# The index on sessions holds all columns: no row with its texts is read. To count them by a second
# pass takes less time than a window function, which keeps all of them.
_SESSIONS = f"""
SELECT session_id, group_id, count(*), min(started_at), max(started_at),
    (SELECT count(*) FROM (SELECT 1 {_OF_SESSIONS}))
{_OF_SESSIONS}
ORDER BY max(started_at) DESC, group_id, session_id LIMIT :limit OFFSET :offset"""  # noqa: S608 - made of a constant


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """A group with at least one turn."""

    group_id: GroupId
    turns: int
    sessions: int
    first: datetime
    """When its first turn started."""
    last: datetime


@dataclass(frozen=True, slots=True)
class SessionSpan:
    """The turns of a session in a group."""

    session_id: SessionId
    group_id: GroupId
    turns: int
    first: datetime
    """When its first turn started."""
    last: datetime


@dataclass(frozen=True, slots=True)
class ListedSessions:
    sessions: Sequence[SessionSpan]
    """The one with the newest turn first."""
    count: int
    """Of all sessions that meet the conditions; 0 if the page starts after them."""


class ItemKind(StrEnum):
    """What an id names."""

    TURN = "turn"
    SESSION = "session"
    ENTITY = "entity"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class IndexedItem:
    """A turn, session, entity or fact by its id."""

    kind: ItemKind
    id: str
    group_id: GroupId
    """Of a session in several groups, the first one."""


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact with its entities, and the turns that state it."""

    indexed: IndexedFact
    turns: tuple[int, ...]
    """Their keys, oldest turn first."""


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

    def files(self, relations: Collection[str], limit: int) -> list[StatedEntity]:
        """Return the files that facts with these relations are about, most turns first."""
        rows = self._query(FILES, relations=_folded(relations), limit=limit)
        return [StatedEntity(unpack(content, ENTITIES), turns) for content, turns in rows]

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


# In what follows, `keys` is a JSON list of the keys of turns, `relations` one of folded names.
# `+ft.turn` makes SQLite begin with the few facts that are asked for, not with all turns'.
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

FILES = """
WITH ends AS (
    SELECT f.source AS entity, ft.turn FROM facts f JOIN fact_turns ft ON ft.fact = f.key
    WHERE f.folded IN (SELECT value FROM json_each(:relations))
        AND +ft.turn IN (SELECT value FROM json_each(:keys))
    UNION
    SELECT f.target, ft.turn FROM facts f JOIN fact_turns ft ON ft.fact = f.key
    WHERE f.folded IN (SELECT value FROM json_each(:relations))
        AND +ft.turn IN (SELECT value FROM json_each(:keys)))
SELECT e.content, count(*) AS turns FROM ends JOIN entities e ON e.key = ends.entity
WHERE e.key IN (SELECT entity FROM entity_labels WHERE folded = 'file')
GROUP BY e.key ORDER BY turns DESC, e.name, e.uuid LIMIT :limit"""

_NEWEST = """
SELECT f.content, count(*) OVER ()
FROM facts f JOIN fact_turns ft ON ft.fact = f.key JOIN turns t ON t.key = ft.turn
WHERE +ft.turn IN (SELECT value FROM json_each(:keys)) AND {}
GROUP BY f.key ORDER BY max(t.started_at) DESC, f.uuid LIMIT :limit"""
NEWEST = _NEWEST.format("f.folded IN (SELECT value FROM json_each(:relations))")
NEWEST_VALID = _NEWEST.format(
    "f.folded IN (SELECT value FROM json_each(:relations)) AND f.invalid_at IS NULL"
)
NEWEST_ABOUT = _NEWEST.format(_IS_ABOUT)

STARTED = """
SELECT group_id, started_at FROM turns WHERE key IN (SELECT value FROM json_each(:keys))"""

COUNTS = """
SELECT count(DISTINCT ft.fact),
    count(DISTINCT CASE WHEN f.invalid_at IS NOT NULL THEN ft.fact END)
FROM fact_turns ft JOIN facts f ON f.key = ft.fact
WHERE ft.turn IN (SELECT value FROM json_each(:keys))"""


class Lookup:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def with_prefix(self, prefix: str, limit: int) -> list[IndexedItem]:
        """Return the items whose id starts with these characters, at most `limit` of each kind.

        Ids of turns, entities and facts are in lower case; case matters in those of sessions.
        """
        items = []
        for kind in ItemKind:
            start = prefix if kind is ItemKind.SESSION else prefix.lower()
            rows = self._query(_WITH_PREFIX[kind], start, start + LAST_CHARACTER, limit)
            items += [IndexedItem(kind, found, GroupId(group)) for found, group in rows]
        return items

    def turn_key(self, turn_id: str) -> int | None:
        rows = self._query("SELECT key FROM turns WHERE turn_id = ?", turn_id)
        return rows[0][0] if rows else None

    def turn_ids(self, keys: Collection[int]) -> set[TurnId]:
        query = "SELECT turn_id FROM turns WHERE key IN (SELECT value FROM json_each(?))"
        return {TurnId(turn) for (turn,) in self._query(query, json.dumps(list(keys)))}

    def turn_keys(self, turn_ids: Collection[str]) -> dict[str, int]:
        """Return the keys of those turns that the index holds, by id, in no order."""
        return dict(self._query(_TURN_KEYS, json.dumps(list(turn_ids))))

    def session(self, session_id: str) -> list[int]:
        """Return the keys of the session's turns, oldest first."""
        return [key for (key,) in self._query(_SESSION, session_id)]

    def by_time(self, keys: Collection[int]) -> list[int]:
        """Return these turns, oldest first; an unknown key is left out."""
        return [key for (key,) in self._query(_BY_TIME, json.dumps(list(keys)))]

    def entity(self, uuid: str) -> Entity | None:
        """Return the entity without its embedding; None if the index does not hold it."""
        found = self._entities("SELECT content FROM entities WHERE uuid = ?", uuid)
        return found[0] if found else None

    def entities_named(self, name: str) -> list[Entity]:
        """Return the entities with this name or alias, whatever its case, by group."""
        return self._entities(_NAMED, fold(name))

    def entities_spelled(self, name: str) -> list[Entity]:
        """Return the entities that the structural extractor finds under another spelling."""
        groups = (GroupId(group) for (group,) in self._query(_GROUP_IDS))
        return self._entities(_BY_UUID, json.dumps(ids.spelled_ids(groups, name)))

    def files_ending_with(self, path: str) -> list[Entity]:
        """Return the files whose path is this one or ends with it, in any case, by path."""
        return self._entities(_FILES, fold(path.strip("/")))

    def names_containing(self, text: str, label: str | None, limit: int) -> list[str]:
        """Return distinct names and aliases that contain a text, in any case, shortest first."""
        folded = None if label is None else fold(label)
        parameters = {"text": fold(text), "label": folded, "limit": limit}
        return [name for (name,) in self._connection.execute(_CONTAINING, parameters)]

    def fact(self, uuid: str) -> StatedFact | None:
        found = _stated_facts(self._query(_FACT, uuid))
        return found[0] if found else None

    def facts_about(self, uuid: str) -> list[StatedFact]:
        """Return the facts about an entity, in the order of the first turn that states each."""
        return _stated_facts(self._connection.execute(_FACTS_ABOUT, {"uuid": uuid}))

    def turn_counts(self, uuids: Collection[str]) -> dict[str, int]:
        """Return how many turns state a fact about each of these entities, by id; none: absent."""
        return dict(self._query(_TURN_COUNTS, json.dumps(list(uuids))))

    def group_spans(self) -> list[GroupSpan]:
        return [
            GroupSpan(GroupId(group), turns, sessions, time_of(first), time_of(last))
            for group, turns, sessions, first, last in self._query(_GROUPS)
        ]

    def session_spans(
        self,
        groups: Collection[GroupId] = (),
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int,
        offset: int = 0,
    ) -> ListedSessions:
        """Return a page of the sessions with turns in a time, the newest turn's first."""
        parameters = {
            "groups": json.dumps(list(groups)) if groups else None,
            "since": None if since is None else microseconds(since),
            "until": None if until is None else microseconds(until),
            "limit": limit,
            "offset": offset,
        }
        rows = self._connection.execute(_SESSIONS, parameters).fetchall()
        spans = [
            SessionSpan(SessionId(session), GroupId(group), turns, time_of(first), time_of(last))
            for session, group, turns, first, last, _ in rows
        ]
        return ListedSessions(spans, rows[0][-1] if rows else 0)

    def changed_facts(self, keys: Collection[int]) -> dict[int, frozenset[str]]:
        """Return the uuids of the facts that each of these turns created or changed."""
        rows = self._query(_TOUCHED, json.dumps(list(keys)))
        return {
            key: frozenset(msgspec.json.decode(zlib.decompress(touched))[1])
            for key, touched in rows
        }

    def entities_without_fact(self, keys: Collection[int]) -> dict[int, list[Entity]]:
        """Return what each of these turns created or changed and no fact of any turn is about."""
        rows = self._query(_TOUCHED, json.dumps(list(keys)))
        touched = {key: msgspec.json.decode(zlib.decompress(uuids))[0] for key, uuids in rows}
        all_uuids = sorted({uuid for uuids in touched.values() for uuid in uuids})
        entities = self._entities(_WITHOUT_FACT, json.dumps(all_uuids))
        found = {entity.uuid: entity for entity in entities}
        return {
            key: [found[uuid] for uuid in sorted(uuids) if uuid in found]
            for key, uuids in touched.items()
        }

    def overview(self, keys: Keys) -> Overview:
        return Overview(self._connection, keys)

    def _entities(self, query: str, *parameters: str) -> list[Entity]:
        return [unpack(content, ENTITIES) for (content,) in self._query(query, *parameters)]

    def _query(self, query: str, *parameters: Any) -> list[Any]:
        return self._connection.execute(query, parameters).fetchall()


def _stated_facts(rows: Iterable[tuple[bytes, bytes, bytes, int]]) -> list[StatedFact]:
    """Return a fact per distinct content; a fact that several turns state is in several rows."""
    turns: dict[tuple[bytes, bytes, bytes], list[int]] = {}
    for *contents, turn in rows:
        turns.setdefault((contents[0], contents[1], contents[2]), []).append(turn)
    return [
        StatedFact(
            IndexedFact(unpack(fact, FACTS), unpack(source, ENTITIES), unpack(target, ENTITIES)),
            tuple(keys),
        )
        for (fact, source, target), keys in turns.items()
    ]
