"""Conditions on the turns of a search. Where case does not matter, see `folding.fold`."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import GroupId


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that a turn must meet, all of them. Every default means: any."""

    groups: tuple[GroupId, ...] = ()
    since: datetime | None = None
    """Started at that time or later."""
    until: datetime | None = None
    """Started before that time."""
    as_of: datetime | None = None
    """Started before that time, too; the conditions on facts are met by facts that held then."""
    session: str | None = None
    """The beginning of a session id."""
    format: str | None = None
    branch: str | None = None
    tool: str | None = None
    """Name of a tool that was called; case does not matter."""
    file: str | None = None
    """The end of the path of a file that a fact of the turn is about. Of an absolute path, the
    file whose path in its project is the longest end of it. Case does not matter."""
    entity: str | None = None
    """Name of an entity that the same fact is about; case does not matter."""
    label: str | None = None
    """Label of an entity that the same fact is about; case does not matter."""
    relation: str | None = None
    """Relation of the same fact; case does not matter."""

    @property
    def selects_facts(self) -> bool:
        """Return whether there are conditions on facts."""
        return any(
            condition is not None
            for condition in (self.file, self.entity, self.label, self.relation)
        )

    @property
    def is_empty(self) -> bool:
        """Return whether every turn meets the conditions."""
        return self == Selection()


def fold(name: str) -> str:
    """Return a name in the form in which names are compared.

    That is Unicode's case folding of the composed text, composed again: `Straße` is `STRASSE`, and
    `é` is `e` with an accent. No language is assumed: `I` is `i`, as in English, and the Turkish
    letters with and without a dot remain letters of their own.
    """
    folded = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", folded)
