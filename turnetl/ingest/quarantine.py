"""Turns that failed, each with its reason, in the lake: `quarantine/<group>/<turn id>.json`.

They are passed over, counted, and tried again only when a person says `turnetl retry`: a turn that
a model cannot read must not be paid for on every run.
"""

import logging
from datetime import datetime
from pathlib import Path

import msgspec

from turnetl.model import GroupId, TurnId

log = logging.getLogger(__name__)


class QuarantineEntry(msgspec.Struct, frozen=True):
    """Why a turn is not in the graph."""

    turn_id: str
    reason: str
    archive: str
    first_line: int
    run_id: str
    failed_at: datetime


class Quarantine:
    """The quarantined turns of one group."""

    def __init__(self, root: Path, group: GroupId) -> None:
        self._folder = root / "quarantine" / group

    def entries(self) -> tuple[QuarantineEntry, ...]:
        """Return what waits, by archive and line. An entry that cannot be read does not wait."""
        if not self._folder.is_dir():
            return ()
        read = (_entry(file) for file in (self._folder.glob("*.json")))
        there = (entry for entry in read if entry is not None)
        return tuple(sorted(there, key=lambda entry: (entry.archive, entry.first_line)))

    def turns(self) -> frozenset[TurnId]:
        return frozenset(TurnId(entry.turn_id) for entry in self.entries())

    def add(self, entry: QuarantineEntry) -> None:
        """Write the entry, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{entry.turn_id}"
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(entry)))
        unfinished.replace(self._file(TurnId(entry.turn_id)))

    def release(self, turn: TurnId) -> None:
        """Let the turn go. Does nothing if it is not there."""
        self._file(turn).unlink(missing_ok=True)

    def _file(self, turn: TurnId) -> Path:
        return self._folder / f"{turn}.json"


def _entry(file: Path) -> QuarantineEntry | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=QuarantineEntry)
    except (OSError, msgspec.DecodeError):
        log.warning("quarantine file `%s` cannot be read: its turn is tried again", file)
        return None
