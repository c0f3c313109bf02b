"""Which turn is at a line of an archive, read from all receipts: ahead, or at a question."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from turnetl.index.packing import unpack


class _TurnLines(msgspec.Struct):
    """The part of a receipt that says where its turn is."""

    archive: str
    first_line: int
    last_line: int


_LINES = msgspec.json.Decoder(_TurnLines)
_AT_ONCE = 10_000
"""Turns whose receipts are in memory at a time."""


class TurnsByLine:
    """The archive lines of the turns of a catalog. Later turns are added at each question."""

    def __init__(self) -> None:
        self._last_key = 0
        self._by_archive: dict[str, list[tuple[int, int, int]]] = {}

    def find(self, connection: sqlite3.Connection, archive: str, line: int) -> list[int]:
        """Return the keys of the turns that have a line; one may have been removed since.

        Args:
            connection: to the catalog, the same at each call.
            archive: a path as receipts have it, or the end of one; also of a history of prompts.
            line: from 1.
        """
        while self.read_ahead(connection, _AT_ONCE):
            pass
        return [
            key
            for turns in self._of(archive)
            for first, last, key in turns
            if first <= line <= last
        ]

    def read_ahead(self, connection: sqlite3.Connection, limit: int) -> bool:
        """Read the lines of some turns, so that the next question takes less time.

        Args:
            connection: as of `find`.
            limit: of at most this many turns.

        Returns:
            Whether there may be more.
        """
        rows = connection.execute(
            "SELECT key, receipt FROM turns WHERE key > ? ORDER BY key LIMIT ?",
            (self._last_key, limit),
        ).fetchall()
        for key, receipt in rows:
            lines = unpack(receipt, _LINES)
            turns = self._by_archive.setdefault(lines.archive, [])
            turns.append((lines.first_line, lines.last_line, key))
            self._last_key = key
        return len(rows) == limit

    def _of(self, archive: str) -> Iterator[list[tuple[int, int, int]]]:
        if archive in self._by_archive:
            yield self._by_archive[archive]
            return
        is_history = "history" in archive
        for path, turns in self._by_archive.items():
            if path.endswith(f"/{archive}") or (is_history and _is_in_file(path, archive)):
                yield turns


def _is_in_file(path: str, name: str) -> bool:
    """Return whether an archive is a project of the history of prompts with this name.

    The lines of each project are those of the file.
    """
    from turnetl.lake.paths import file_holding  # noqa: PLC0415 - imports polars

    file = str(file_holding(Path(path)))
    return file != path and (file == name or file.endswith(f"/{name}"))
