"""A change of a file as the archive of a turn has it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class NotRead(StrEnum):
    """Why the edits of a turn could not be read from its archive."""

    MISSING = "missing"
    """The archive is not there."""
    UNREADABLE = "unreadable"
    CHANGED = "changed"
    """The archive no longer has the turn as it was committed."""


@dataclass(frozen=True, slots=True)
class ArchivedEdit:
    """A change of a file as the archive of a turn has it, with its secrets."""

    path: str
    """As the tool call has it."""
    added: tuple[str, ...]
    """All lines that it added."""
    at: datetime | None
