"""The options of a run, and the decisions that follow from them: format, group, parse again."""

from dataclasses import dataclass, field
from pathlib import Path

from turnetl import formats
from turnetl.base.model import GroupId
from turnetl.formats import Format
from turnetl.formats.kit.counts import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake, absolute_path_text
from turnetl.lake.forgotten import NOTHING, ForgottenTurns
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import is_redacted, shown_path
from turnetl.parsing.grouping import Grouping
from turnetl.parsing.parse_report import ArchiveReport, Outcome
from turnetl.parsing.prompt_history import PromptHistories
from turnetl.parsing.sources import ParseLimits
from turnetl.redact import Redactor


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The options for all archives of a run. Worker processes receive a copy."""

    lake: Lake
    redactor: Redactor
    redactor_version: str
    grouping: Grouping
    explicit_format: str | None
    """The name of the format that the user named for all archives."""
    limits: ParseLimits
    dry_run: bool
    reread: bool = False
    """Whether unchanged archives are opened too."""
    files: ArchiveFiles = LOCAL
    histories: PromptHistories = field(default_factory=PromptHistories)
    """Reads archives in histories of prompts; each process has its own."""
    forgotten: ForgottenTurns = NOTHING
    """Turns that reach no table."""

    def gives_same_turns(self, metadata: ArchiveMetadata, path: Path) -> bool:
        """Return whether the same bytes give the turns of the stored file, in the same group."""
        group, _ = self.group_of_stored(metadata, path)
        return self._reads_the_same(metadata) and group == metadata.group

    def gives_same_metadata(self, metadata: ArchiveMetadata, path: Path) -> bool:
        """Return whether `gives_same_turns` holds and the user's explicit choices are the same."""
        group = (metadata.group, metadata.group_is_explicit)
        format_is_explicit = self.explicit_format_for(metadata) is not None
        return (
            self._reads_the_same(metadata)
            and self.group_of_stored(metadata, path) == group
            and format_is_explicit == metadata.format_is_explicit
        )

    def group_for(
        self, previous: ArchiveMetadata | None, cwd: str | None, format_name: str, archive: str
    ) -> tuple[GroupId, bool]:
        """Return an archive's group, and whether the user named it, perhaps in an earlier run."""
        explicit = self.grouping.explicit_group(cwd, format_name, archive)
        if explicit is None and previous is not None and previous.group_is_explicit:
            return previous.group, True
        group = explicit or self.grouping.group(cwd, format_name, archive)
        return group, explicit is not None

    def explicit_format_for(self, previous: ArchiveMetadata | None) -> str | None:
        """Return the format that the user named for an archive, in this or an earlier run."""
        if self.explicit_format is not None:
            return self.explicit_format
        return previous.format if previous is not None and previous.format_is_explicit else None

    def detect_format(self, data: bytes, previous: ArchiveMetadata | None) -> Format | None:
        """Return the format that the user named, else the one that the data has."""
        name = self.explicit_format_for(previous)
        explicit = formats.by_name(name) if name is not None and data.strip() else None
        return explicit or formats.sniff(data)

    def _reads_the_same(self, metadata: ArchiveMetadata) -> bool:
        known = formats.by_name(metadata.format)
        versions = (known.version if known is not None else None, self.redactor_version)
        return (
            self.explicit_format in (None, metadata.format)
            and (metadata.reader_version, metadata.redactor_version) == versions
            and not metadata.is_older
        )

    def group_of_stored(self, metadata: ArchiveMetadata, path: Path) -> tuple[GroupId, bool]:
        """Return `group_for` an archive with a turns file, which may have its path redacted."""
        archive = _path_in_full(metadata, path)
        return self.group_for(metadata, metadata.cwd, metadata.format, archive)

    def report(self, metadata: ArchiveMetadata, path: Path, outcome: Outcome) -> ArchiveReport:
        """Return the report on an archive with this turns file."""
        archive = _path_in_full(metadata, path)
        return ArchiveReport(
            archive=shown_path(path, metadata.archive),
            outcome=outcome,
            format=metadata.format,
            group=metadata.group,
            counts=ParseCounts.from_mapping(metadata.counts),
            cwd=metadata.cwd,
            retained_turns=metadata.retained_turns,
            group_is_intended=self.grouping.is_intentional(metadata.cwd, metadata.format, archive),
        )


def _path_in_full(metadata: ArchiveMetadata, path: Path) -> str:
    return absolute_path_text(path) if is_redacted(metadata.archive) else metadata.archive
