"""The catalog's questions: of each turn for which a model was asked, possibly none.

They belong to a turn with a certain text. They stay when the turn is indexed again.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from turnetl.base import ids
from turnetl.base.model import TurnId
from turnetl.index import catalog_state as sql
from turnetl.index.port import Keys


@dataclass(frozen=True, slots=True)
class StoredQuestions:
    """The questions of a turn."""

    turn_id: TurnId
    digest: str
    """Of the text of the turn; see `text_digest`."""
    questions: tuple[str, ...]
    """Possibly none: a model could think of none."""


class QuestionTable:
    """The table in an open catalog."""

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
