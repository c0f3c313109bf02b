"""What an export wrote."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from turnetl.base.result_fields import GroupField
from turnetl.base.results import described


class ExportFormat(StrEnum):
    """What an export is written as."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    PARQUET = "parquet"
    COMPACT = "compact"
    """Parquet for other programs: each turn once, few files."""
    GRAPHML = "graphml"
    CYPHER = "cypher"
    ATIF = "atif"


HOLDS_NOISE = frozenset({ExportFormat.JSONL, ExportFormat.PARQUET, ExportFormat.COMPACT})
"""Formats of all turns; the others leave out noise."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote."""

    format: Annotated[ExportFormat, described("The format.")]
    output: Annotated[Path, described("Path of the file or the folder.")]
    turns: Annotated[int, described("Turns in the export.")]
    sessions: Annotated[int, described("Their sessions.")]
    entities: Annotated[int, described("Entities in the export.")]
    facts: Annotated[int, described("Facts in the export.")]
    noise: Annotated[
        int,
        described("Selected turns that are noise; `jsonl`, `parquet` and `compact` hold them."),
    ]
    redactions: Annotated[int, described("Redactions of what the lake or the graph still had.")]
    redacts_persons: bool
    """Whether personal data was redacted, not only secrets."""
    files: Annotated[int, described("Files of the export.")]
    bytes: Annotated[int, described("Their size.")]
    changed: Annotated[int, described("Files that were written: they were missing or different.")]
    removed: Annotated[int, described("Files of an earlier export that were removed.")]
    only_in_graph: Annotated[
        int, described("Selected turns that only the graph holds: they are left out.")
    ] = 0
    subagents_left_out: Annotated[
        int,
        described(
            "Subagents whose tokens `parquet` leaves out: it is not known whether a selected turn "
            "started them."
        ),
    ] = 0
    unread: Annotated[
        str | None,
        described("Why entities and facts are missing or old; null: they are those of the graph."),
    ] = None


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
    """A turns file of the other lake."""

    archive: Annotated[
        str, described("The archive of its turns, after the name of the machine and a colon.")
    ]
    group: GroupField
    outcome: Annotated[ImportOutcome, described("`damaged`: it cannot be read and was left out.")]
    turns: Annotated[int, described("Turns of the archive that the lake holds now.")]
    added: Annotated[int, described("How many more that are than before.")]
    problem: Annotated[str | None, described("Why it was left out; null if it was not.")] = None
    redactions: Annotated[int, described("Redactions of what the other lake still had.")] = 0
    """Or an earlier import."""
    forgotten: Annotated[
        int, described("Turns that were left out, because this lake has forgotten them.")
    ] = 0


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import added to the lake, or would add."""

    source: Annotated[Path, described("Folder of the other lake.")]
    machine: Annotated[str, described("Name of the other machine.")]
    files: Annotated[tuple[ImportedFile, ...], described("The turns files, by path.")]
    foreign: Annotated[int, described("Files that turnetl did not write; they are ignored.")]
    dry_run: Annotated[bool, described("Whether nothing was written.")]
    redacts_persons: bool = False
    """Whether personal data was redacted, not only secrets."""

    @property
    @described("Turns added, with those that other archives of the lake hold too.")
    def added(self) -> int:
        return sum(max(file.added, 0) for file in self.files)

    @property
    @described("Turns that were left out, because this lake has forgotten them.")
    def forgotten(self) -> int:
        return sum(file.forgotten for file in self.files)

    @property
    @described("Turns files by outcome.", keys=ImportOutcome)
    def outcomes(self) -> dict[ImportOutcome, int]:
        found = [file.outcome for file in self.files]
        return {outcome: found.count(outcome) for outcome in ImportOutcome}

    @property
    def changes_tables(self) -> bool:
        """Whether turns files of the lake are new or changed."""
        changed = (ImportOutcome.NEW, ImportOutcome.CHANGED)
        return any(file.outcome in changed for file in self.files)

    @property
    def damaged(self) -> tuple[ImportedFile, ...]:
        """Files that could not be read."""
        return tuple(file for file in self.files if file.outcome is ImportOutcome.DAMAGED)
