"""Claims on requests: of several processes with one journal, one sends a request.

A claim is a row with an owner and an expiry. It is deleted when its request has a response or has
failed; that of a process that ended or no longer renews it is taken over.
"""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta

from turnetl.llm.journal.file import transaction

TTL = timedelta(seconds=60)
"""Lifetime of a claim without renewal."""
_SELECT = "SELECT owner, until FROM claims WHERE key = ?"
_REPLACE = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)"
_RENEW = "UPDATE claims SET until = ? WHERE key = ? AND owner = ?"
_RELEASE = "DELETE FROM claims WHERE key = ? AND owner = ?"
_RELEASE_ALL = "DELETE FROM claims WHERE owner = ?"


class Claims:
    """The claims of one process. Each method is one transaction; SQLite's exceptions pass."""

    def __init__(
        self, owner: str, clock: Callable[[], datetime], is_dead: Callable[[str], bool]
    ) -> None:
        """Claim nothing yet.

        Args:
            owner: this process; unique.
            clock: the time now.
            is_dead: called with the owner of a claim; True if its process is known to have ended.
        """
        self._owner = owner
        self._clock = clock
        self._is_dead = is_dead

    def take(self, connection: sqlite3.Connection, key: str) -> bool:
        """Claim a request; return False if another process that is not dead has claimed it."""
        # Without a transaction first: a process that waits must not lock the others out.
        if self._is_taken(connection, key):
            return False
        with transaction(connection):
            if self._is_taken(connection, key):
                return False
            connection.execute(_REPLACE, (key, self._owner, self._until()))
        return True

    def renew(self, connection: sqlite3.Connection, key: str) -> None:
        connection.execute(_RENEW, (self._until(), key, self._owner))

    def release(self, connection: sqlite3.Connection, key: str) -> None:
        connection.execute(_RELEASE, (key, self._owner))

    def release_all(self, connection: sqlite3.Connection) -> None:
        connection.execute(_RELEASE_ALL, (self._owner,))

    def _is_taken(self, connection: sqlite3.Connection, key: str) -> bool:
        row = connection.execute(_SELECT, (key,)).fetchone()
        if row is None:
            return False
        owner, until = row
        is_running = until > self._clock().timestamp() and not self._is_dead(owner)
        return owner != self._owner and is_running

    def _until(self) -> float:
        return (self._clock() + TTL).timestamp()
