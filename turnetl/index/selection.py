"""Conditions on turns: what a search looks at."""

from dataclasses import dataclass
from datetime import datetime

from turnetl.model import GroupId


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that a turn must meet, all of them. Every default means: any."""

    groups: tuple[GroupId, ...] = ()
    since: datetime | None = None
    """Started at that time or later."""
    until: datetime | None = None
    """Started before that time."""
    session: str | None = None
    """The beginning of a session id."""
    format: str | None = None
    branch: str | None = None
    tool: str | None = None
    """Name of a tool that was called; case does not matter."""
    file: str | None = None
    """The end of the path of a file that a fact of the turn is about."""
    entity: str | None = None
    """Name of an entity that a fact of the turn is about; case does not matter."""
    label: str | None = None
    """Label of such an entity."""
    relation: str | None = None
    """Relation of a fact of the turn."""

    @property
    def is_empty(self) -> bool:
        """Return whether every turn meets the conditions."""
        return self == Selection()
