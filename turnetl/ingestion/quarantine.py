"""Turns that failed, each with its error, in the lake: `quarantine/<group>/<turn id>.json`.

A run skips and counts them, and attempts them again only after `turnetl retry`: a turn that a model
cannot process must not be paid for on every run.
"""

import logging
from datetime import datetime
from pathlib import Path

import msgspec

from turnetl.lake import QUARANTINE, replace_file
from turnetl.model import GroupId, TurnId

log = logging.getLogger(__name__)


class QuarantineEntry(msgspec.Struct, frozen=True):
    """A quarantined turn, with the reason."""

    turn_id: str
    error: str
    archive: str
    first_line: int
    run_id: str
    failed_at: datetime


class Quarantine:
    """The quarantined turns of one group."""

    def __init__(self, root: Path, group: GroupId) -> None:
        self._root = root
        self._folder = root / QUARANTINE / group

    def entries(self) -> tuple[QuarantineEntry, ...]:
        """Return the entries, by archive and line, without those that cannot be read."""
        if not self._folder.is_dir():
            return ()
        read = (_read(file) for file in self._folder.glob("*.json"))
        entries = (entry for entry in read if entry is not None)
        return tuple(sorted(entries, key=lambda entry: (entry.archive, entry.first_line)))

    def turns(self) -> frozenset[TurnId]:
        return frozenset(TurnId(entry.turn_id) for entry in self.entries())

    def add(self, entry: QuarantineEntry) -> None:
        """Write the entry atomically."""
        data = msgspec.json.format(msgspec.json.encode(entry))
        replace_file(self._file(TurnId(entry.turn_id)), lambda file: file.write(data), self._root)

    def release(self, turn: TurnId) -> None:
        """Delete the entry of the turn, if there is one."""
        self._file(turn).unlink(missing_ok=True)

    def _file(self, turn: TurnId) -> Path:
        return self._folder / f"{turn}.json"


def _read(file: Path) -> QuarantineEntry | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=QuarantineEntry)
    except (OSError, msgspec.DecodeError):
        log.warning("cannot read quarantine file `%s`; its turn is attempted again", file)
        return None
