"""What an export wrote."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from turnetl.base.model import GroupId


class ExportFormat(StrEnum):
    """What an export is written as."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    PARQUET = "parquet"
    GRAPHML = "graphml"
    CYPHER = "cypher"


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    format: ExportFormat
    output: Path
    """The file or the folder."""
    turns: int
    sessions: int
    entities: int
    facts: int
    noise: int
    """Selected turns that are noise, which Markdown, GraphML and Cypher leave out."""
    redactions: int
    """Redactions of what the lake or the graph still had."""
    redacts_persons: bool
    """Whether personal data was redacted, not only secrets."""
    files: int
    bytes: int
    changed: int
    """Files that were written, because they were missing or different."""
    removed: int
    """Files of an earlier export that were removed."""
    only_in_graph: int = 0
    """Selected turns that the graph holds and the lake does not: they are left out."""
    subagents_left_out: int = 0
    """Subagents whose tokens Parquet leaves out: it is not known whether a selected turn started
    them."""
    unread: str | None = None
    """Why entities and facts are missing or old; None: they are those of the graph."""


class ImportOutcome(StrEnum):
    """What was done with a turns file of another lake."""

    NEW = "new"
    CHANGED = "changed"
    """The lake held an earlier version of it."""
    UNCHANGED = "unchanged"
    DAMAGED = "damaged"
    """It cannot be read, or turnetl did not write it so; it was left out."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A turns file of another lake."""

    archive: str
    """The archive of its turns, after the name of the machine and a colon."""
    group: GroupId
    outcome: ImportOutcome
    turns: int
    """Turns of the archive that the lake holds now."""
    added: int
    """How many more that are than before."""
    problem: str | None = None
    """Why it was left out."""
    redactions: int = 0
    """Redactions of what the other lake, or an earlier import, still had."""
    forgotten: int = 0
    """Turns that were left out, because this lake has forgotten them."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    source: Path
    machine: str
    files: tuple[ImportedFile, ...]
    """By path in the other lake."""
    foreign: int
    """Files in its folder of turns that turnetl did not write; they are ignored."""
    dry_run: bool
    redacts_persons: bool = False
    """Whether personal data was redacted, not only secrets."""

    @property
    def added(self) -> int:
        """Turns that were added, with those that other archives of the lake hold too."""
        return sum(max(file.added, 0) for file in self.files)

    @property
    def forgotten(self) -> int:
        """Turns that were left out, because the lake has forgotten them."""
        return sum(file.forgotten for file in self.files)

    @property
    def changes_tables(self) -> bool:
        """Whether turns files of the lake are new or changed."""
        changed = (ImportOutcome.NEW, ImportOutcome.CHANGED)
        return any(file.outcome in changed for file in self.files)

    @property
    def damaged(self) -> tuple[ImportedFile, ...]:
        return tuple(file for file in self.files if file.outcome is ImportOutcome.DAMAGED)
