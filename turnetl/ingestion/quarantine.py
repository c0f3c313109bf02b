"""Turns that failed, each with its error, in the lake: `quarantine/<group>/<turn id>.json`.

A run skips and counts them, and attempts them again only after `turnetl retry`: a turn that a model
cannot process must not be paid for on every run.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from turnetl.base.errors import BadTurn
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.base.private_files import read_whole
from turnetl.base.result_fields import TurnIdField
from turnetl.base.results import described
from turnetl.lake import QUARANTINE, LakeFiles

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A quarantined turn."""

    turn_id: TurnIdField
    error: Annotated[str, described("Why it is quarantined, in one sentence.")]
    archive: Annotated[str, described("Path of the archive that holds it.")]
    first_line: Annotated[int, described("Its first line in the archive, from 1.")]
    run_id: str
    failed_at: datetime


def entry_of(episode: Episode, error: BadTurn, *, run_id: str, now: datetime) -> QuarantineEntry:
    turn = episode.turn
    return QuarantineEntry(
        turn_id=turn.turn_id,
        error=str(error),
        archive=turn.archive,
        first_line=turn.first_line,
        run_id=run_id,
        failed_at=now,
    )


class Quarantine:
    """The quarantined turns of one group."""

    def __init__(self, files: LakeFiles, group: GroupId) -> None:
        self._files = files
        self._folder = files.root / QUARANTINE / group

    def entries(self) -> tuple[QuarantineEntry, ...]:
        """Return the entries, by archive and line, without those that cannot be read."""
        names = [name for name in self._files.names(self._folder) if name.endswith(".json")]
        paths = [self._folder / name for name in names]
        self._files.fetch(paths)
        read = (_read(path, self._files.name(path)) for path in paths)
        entries = (entry for entry in read if entry is not None)
        return tuple(sorted(entries, key=lambda entry: (entry.archive, entry.first_line)))

    def turns(self) -> frozenset[TurnId]:
        return frozenset(TurnId(entry.turn_id) for entry in self.entries())

    def add(self, entry: QuarantineEntry) -> None:
        data = msgspec.json.format(msgspec.json.encode(entry))
        self._files.replace(self._file(TurnId(entry.turn_id)), lambda file: file.write(data))

    def release(self, turn: TurnId) -> None:
        self._files.delete(self._file(turn))

    def _file(self, turn: TurnId) -> Path:
        return self._folder / f"{turn}.json"


def _read(file: Path, name: str) -> QuarantineEntry | None:
    try:
        return msgspec.json.decode(read_whole(file), type=QuarantineEntry)
    except (OSError, msgspec.DecodeError):
        log.warning("cannot read quarantine file `%s`; its turn is attempted again", name)
        return None
