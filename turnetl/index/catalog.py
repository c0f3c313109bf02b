"""The catalog of the index: an SQLite database of its turns, entities and facts.

It decides what the index holds: words and vectors of other turns are left over from a killed writer
and ignored. Readers see the last commit, and wait at most while one is written.
"""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnetl.base import ids
from turnetl.base.graph_model import CommittedTurn, Receipt
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.index import catalog_state as sql
from turnetl.index.catalog_queries import Selector, microseconds, time_of
from turnetl.index.catalog_state import CatalogState
from turnetl.index.conditions import fold
from turnetl.index.index_report import IndexedGroup
from turnetl.index.port import (
    ENTITIES,
    FACTS,
    RECEIPTS,
    IndexedFact,
    IndexedTurn,
    Keys,
    pack,
    unpack,
    unpacked_text,
)


class Catalog(CatalogState):
    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.selector = Selector(connection)
        self.questions = QuestionTable(connection)

    def groups(self) -> Sequence[IndexedGroup]:
        return [
            IndexedGroup(GroupId(group), turns, sequence, creation_id)
            for group, turns, sequence, creation_id in self.query(sql.GROUPS)
        ]

    def add_group(self, group: GroupId, creation_id: str) -> None:
        """Record a group of which nothing was read yet, unless it is recorded."""
        self.connection.execute(
            "INSERT OR IGNORE INTO groups VALUES (?, ?, 0)", (group, creation_id)
        )

    def set_sequence(self, group: GroupId, sequence: int) -> None:
        self.connection.execute(
            "UPDATE groups SET sequence = ? WHERE group_id = ?", (sequence, group)
        )

    def remove_group(self, group: GroupId) -> None:
        """Remove the record of a group whose turns are removed."""
        self.connection.execute("DELETE FROM groups WHERE group_id = ?", (group,))

    def turn_keys(self, turns: Collection[TurnId]) -> dict[TurnId, int]:
        rows = self.query(
            "SELECT turn_id, key FROM turns WHERE turn_id IN (SELECT value FROM json_each(?))",
            json.dumps(list(turns)),
        )
        return {TurnId(turn): key for turn, key in rows}

    def keys(self) -> list[int]:
        return [key for (key,) in self.query("SELECT key FROM turns ORDER BY key")]

    def turn_count(self, group: GroupId | None = None) -> int:
        if group is None:
            ((count,),) = self.query("SELECT count(*) FROM turns")
        else:
            ((count,),) = self.query("SELECT count(*) FROM turns WHERE group_id = ?", group)
        return int(count)

    def turn_ids(self, group: GroupId) -> set[TurnId]:
        rows = self.query("SELECT turn_id FROM turns WHERE group_id = ?", group)
        return {TurnId(turn) for (turn,) in rows}

    def session_ids(self) -> list[SessionId]:
        rows = self.query("SELECT DISTINCT session_id FROM turns ORDER BY session_id")
        return [SessionId(session) for (session,) in rows]

    def add_turn(self, key: int, turn: CommittedTurn) -> None:
        """Add a turn that is not in the catalog, with a key that is higher than all others."""
        receipt = turn.receipt
        self.connection.execute(
            sql.ADD_TURN,
            (
                key,
                receipt.turn_id,
                receipt.group_id,
                receipt.session_id,
                microseconds(receipt.started_at),
                receipt.format,
                receipt.git_branch,
                pack(receipt),
                zlib.compress(turn.text.encode("utf-8", "surrogatepass")),
                zlib.compress(msgspec.json.encode((turn.entities, turn.facts))),
            ),
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO turn_tools VALUES (?, ?, ?)",
            [(fold(tool), key, tool) for tool in receipt.tools],
        )

    def touched(self, keys: Collection[int]) -> tuple[set[str], set[str]]:
        """Return the uuids of the entities and facts that turns created or changed."""
        rows = self.query(
            "SELECT touched FROM turns WHERE key IN (SELECT value FROM json_each(?))",
            json.dumps(list(keys)),
        )
        pairs = [msgspec.json.decode(zlib.decompress(packed)) for (packed,) in rows]
        entities = {uuid for of_turn, _ in pairs for uuid in of_turn}
        return entities, {uuid for _, of_turn in pairs for uuid in of_turn}

    def remove_turns(self, keys: Collection[int]) -> None:
        """Remove turns with their links to facts; `put` and `prune` bring the facts up to date."""
        listed = json.dumps(list(keys))
        self.questions.remove(keys)
        self.connection.executemany(
            "INSERT INTO removed_turns VALUES (?, TRUE)", [(key,) for key in keys]
        )
        for table, column in (("fact_turns", "turn"), ("turn_tools", "turn"), ("turns", "key")):
            self.connection.execute(
                f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",  # noqa: S608
                (listed,),
            )

    def put(
        self, entities: Iterable[Entity], facts: Iterable[Fact], turns: Mapping[TurnId, int]
    ) -> None:
        """Add entities and facts or replace them, and link facts to the new turns that state them.

        A fact is left out if the catalog lacks one of its entities.
        """
        for entity in entities:
            self._put_entity(entity)
        for fact in facts:
            self._put_fact(fact, turns)

    def prune(self, entities: Collection[str], facts: Collection[str]) -> None:
        """Remove those facts that no turn states, and those entities that no fact is about."""
        self.connection.execute(sql.FACTS_WITHOUT_TURN, (json.dumps(list(facts)),))
        self.connection.execute(sql.ENTITIES_WITHOUT_FACT, (json.dumps(list(entities)),))

    def turns(self, keys: Collection[int]) -> dict[int, IndexedTurn]:
        return {
            key: IndexedTurn(key, TurnId(turn), time_of(started_at), receipt, text, previous)
            for key, turn, started_at, receipt, text, previous in self.query(
                sql.TURNS, json.dumps(list(keys))
            )
        }

    def texts(self, keys: Collection[int]) -> dict[int, str]:
        rows = self.query(sql.TEXTS, json.dumps(list(keys)))
        return {key: unpacked_text(text) for key, text in rows}

    def next_turns(self, keys: Collection[int], selected: Keys | None) -> list[int]:
        """Return what `PersistentIndex.next_turns` does, ascending."""
        rows = self.query(sql.NEXT_TURNS, json.dumps(list(keys)))
        found = np.array(sorted({key for (key,) in rows if key is not None}), dtype=np.int64)
        following: list[int] = (
            found if selected is None else found[np.isin(found, selected)]
        ).tolist()
        return following

    def session_turns(self, keys: Collection[int]) -> tuple[Keys, NDArray[np.intp]]:
        """Return all turns of the sessions of these, ascending, and a number of each one's session.

        The numbers count from 0.
        """
        rows = sorted(self.query(sql.SESSION_TURNS, json.dumps(list(keys))))
        numbers = {place: number for number, place in enumerate({row[1:] for row in rows})}
        found = np.array([key for key, *_ in rows], dtype=np.int64)
        return found, np.array([numbers[row[1:]] for row in rows], dtype=np.intp)

    def facts(self, keys: Collection[int]) -> Mapping[int, Sequence[IndexedFact]]:
        facts: dict[int, list[IndexedFact]] = {key: [] for key in keys}
        rows = self.query(sql.FACTS, json.dumps(list(keys)))
        # Most facts of a turn are about the same few entities.
        packed = {end for _, _, *ends in rows for end in ends}
        entities = {end: unpack(end, ENTITIES) for end in packed}
        for turn, fact, source, target in rows:
            facts[turn].append(IndexedFact(unpack(fact, FACTS), entities[source], entities[target]))
        for of_turn in facts.values():
            of_turn.sort(key=lambda indexed: (indexed.fact.created_at, indexed.fact.uuid))
        return facts

    def receipts(self, group: GroupId) -> list[Receipt]:
        """Return the receipts of a group, by (started_at, turn_id)."""
        rows = self.query(
            "SELECT receipt FROM turns WHERE group_id = ? ORDER BY started_at, turn_id", group
        )
        return [unpack(receipt, RECEIPTS) for (receipt,) in rows]

    def counts(self, group: GroupId) -> tuple[int, int, int]:
        chunks = sum(receipt.chunks for receipt in self.receipts(group))
        ((entities,),) = self.query("SELECT count(*) FROM entities WHERE group_id = ?", group)
        ((facts,),) = self.query(sql.FACT_COUNT, group)
        return chunks, entities, facts

    def _put_entity(self, entity: Entity) -> None:
        content = pack(replace(entity, embedding=None))
        self.connection.execute(
            sql.ADD_ENTITY,
            (entity.uuid, entity.group_id, entity.name, content),
        )
        ((key,),) = self.query("SELECT key FROM entities WHERE uuid = ?", entity.uuid)
        for table, words in (("entity_labels", entity.labels), ("entity_names", entity.names)):
            self.connection.execute(f"DELETE FROM {table} WHERE entity = ?", (key,))  # noqa: S608
            self.connection.executemany(
                f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)",  # noqa: S608 - of two constants
                [(fold(word), key, word) for word in words],
            )

    def _put_fact(self, fact: Fact, turns: Mapping[TurnId, int]) -> None:
        ends = self.query(
            "SELECT uuid, key FROM entities WHERE uuid IN (?, ?)", fact.source, fact.target
        )
        keys = dict(ends)
        if not keys.keys() >= {fact.source, fact.target}:
            return
        content = pack(replace(fact, embedding=None))
        self.connection.execute(
            sql.ADD_FACT,
            (
                fact.uuid,
                keys[fact.source],
                keys[fact.target],
                fact.relation,
                fold(fact.relation),
                fact.valid_at and microseconds(fact.valid_at),
                fact.invalid_at and microseconds(fact.invalid_at),
                content,
            ),
        )
        ((key,),) = self.query("SELECT key FROM facts WHERE uuid = ?", fact.uuid)
        self.connection.executemany(
            "INSERT OR IGNORE INTO fact_turns VALUES (?, ?)",
            [(turns[turn], key) for turn in fact.turns if turn in turns],
        )


@dataclass(frozen=True, slots=True)
class StoredQuestions:
    """The questions of a turn."""

    turn_id: TurnId
    digest: str
    """Of the text of the turn; see `text_digest`."""
    questions: tuple[str, ...]
    """Possibly none: a model could think of none."""


class QuestionTable:
    """The questions of each turn for which a model was asked, possibly none.

    They belong to a turn with a certain text, and stay when it is indexed again.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def replace(self, turns: Collection[TurnId], stored: Iterable[StoredQuestions]) -> None:
        self._connection.execute(
            "DELETE FROM questions WHERE turn_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(turns)),),
        )
        self.put(stored)

    def put(self, stored: Iterable[StoredQuestions]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO questions VALUES (?, ?, ?)",
            [(one.turn_id, one.digest, json.dumps(one.questions)) for one in stored],
        )

    def all(self) -> Sequence[StoredQuestions]:
        rows = self._connection.execute("SELECT * FROM questions ORDER BY turn_id").fetchall()
        return [_stored(*row) for row in rows]

    def of_turns(self, turns: Collection[TurnId]) -> dict[TurnId, StoredQuestions]:
        rows = self._connection.execute(
            "SELECT * FROM questions WHERE turn_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(turns)),),
        ).fetchall()
        return {TurnId(row[0]): _stored(*row) for row in rows}

    def remove(self, keys: Collection[int]) -> None:
        """Remove the questions of turns with these keys, which the catalog still holds."""
        self._connection.execute(sql.REMOVE_QUESTIONS, (json.dumps(list(keys)),))

    def prune(self) -> None:
        """Remove the questions of turns that the catalog does not hold."""
        self._connection.execute(sql.QUESTIONS_WITHOUT_TURN)

    def missing(self) -> Keys:
        """Return the turns without an entry, ascending."""
        rows = self._connection.execute(sql.WITHOUT_QUESTIONS).fetchall()
        return np.array([key for (key,) in rows], dtype=np.int64)

    def count(self) -> int:
        """Return how many turns of the catalog have an entry."""
        ((count,),) = self._connection.execute(sql.QUESTIONED_TURNS).fetchall()
        return int(count)


def text_digest(text: str) -> str:
    return ids.digest(text)


def _stored(turn_id: str, digest: str, content: str) -> StoredQuestions:
    return StoredQuestions(TurnId(turn_id), digest, tuple(json.loads(content)))
