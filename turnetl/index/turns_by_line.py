"""Which turn is at a line of an archive: read from all receipts at the first question."""

import sqlite3
from collections.abc import Iterator

import msgspec

from turnetl.index.packing import unpack


class _TurnLines(msgspec.Struct):
    """The part of a receipt that says where its turn is."""

    archive: str
    first_line: int
    last_line: int


_LINES = msgspec.json.Decoder(_TurnLines)


class TurnsByLine:
    """The archive lines of the turns of a catalog. Later turns are added at each question."""

    def __init__(self) -> None:
        self._last_key = 0
        self._by_archive: dict[str, list[tuple[int, int, int]]] = {}

    def find(self, connection: sqlite3.Connection, archive: str, line: int) -> list[int]:
        """Return the keys of the turns that have a line; one may have been removed since.

        Args:
            connection: to the catalog, the same at each call.
            archive: a path as receipts have it, or the end of one.
            line: from 1.
        """
        self._read(connection)
        return [
            key
            for turns in self._of(archive)
            for first, last, key in turns
            if first <= line <= last
        ]

    def _of(self, archive: str) -> Iterator[list[tuple[int, int, int]]]:
        if archive in self._by_archive:
            yield self._by_archive[archive]
            return
        for path, turns in self._by_archive.items():
            if path.endswith(f"/{archive}"):
                yield turns

    def _read(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT key, receipt FROM turns WHERE key > ? ORDER BY key", (self._last_key,)
        )
        for key, receipt in rows:
            lines = unpack(receipt, _LINES)
            turns = self._by_archive.setdefault(lines.archive, [])
            turns.append((lines.first_line, lines.last_line, key))
            self._last_key = key
