"""What a verification found."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from turnetl.base.loose_files import LooseFile
from turnetl.base.model import GroupId
from turnetl.graph.group_repair import GroupRepair
from turnetl.verification.check import Check
from turnetl.verification.file_problem import FileProblem


@dataclass(frozen=True, slots=True)
class Finding:
    """All that one check found in a group."""

    check: Check
    count: int
    examples: tuple[str, ...]
    """The first ones, sorted: ids with what is needed to find them."""


@dataclass(frozen=True, slots=True)
class GroupVerification:
    """The state of a group."""

    group: GroupId
    turns: int
    """Committed turns."""
    findings: tuple[Finding, ...]
    """In the order of `Check`; none that found nothing."""
    repairs: tuple[GroupRepair, ...] = ()
    """What can be repaired without a loss."""
    committed_meanwhile: int = 0
    """Turns that another process committed while the group was read: they are not verified."""
    lake_problem: str | None = None
    """Why the group was not compared with the lake; None if it was."""
    migration: str | None = None
    """Why an interrupted migration explains what is found, and what to do; None if none does."""

    @property
    def wrong(self) -> int:
        """How much is wrong, without what is only worth knowing."""
        return sum(finding.count for finding in self.findings if finding.check.is_wrong)

    @property
    def index_is_wrong(self) -> bool:
        """Whether a catch-up of the search index may repair something."""
        repairable = (Check.INDEX_MISSING, Check.INDEX_SURPLUS, Check.INDEX_SEQUENCE)
        return any(finding.check in repairable for finding in self.findings)


_MENDED = (Check.DAMAGED_INDEX, Check.CHANGED_GRAPH, Check.UNRECORDED_GRAPH)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of `turnetl verify`."""

    groups: tuple[GroupVerification, ...]
    """Sorted by group."""
    index: Path | None
    """The folder of the search index; None if there is none that can be read."""
    index_problem: str | None = None
    """Why the index was not verified; None if it was, or if there is none."""
    repaired: int = 0
    """Repairs that `--fix` made."""
    loose_files: tuple[LooseFile, ...] = ()
    """Files and folders with too many rights, sorted by path."""
    permissions: Finding | None = None
    """The finding about them; None if there are none."""
    file_problems: tuple[FileProblem, ...] = ()
    """Files of the lake and the graph that are not as they were written."""
    files: tuple[Finding, ...] = ()
    """The findings about them."""
    tables: int = 0
    """Tables of the lake that were read completely and are as they were written."""
    table_bytes: int = 0
    graph_problem: str | None = None
    """Why the graph was not verified; None if it was."""

    @property
    def wrong(self) -> int:
        files = sum(finding.count for finding in self.files if finding.check.is_wrong)
        return sum(group.wrong for group in self.groups) + len(self.loose_files) + files

    @property
    def mended_files(self) -> tuple[FileProblem, ...]:
        """The files that `--fix` sets aside, makes again or accepts."""
        return tuple(one for one in self.file_problems if one.is_kept or one.check in _MENDED)

    @property
    def is_refused(self) -> bool:
        """Whether the repairs are refused: never, because only what is safe is one."""
        return False

    @property
    def can_repair(self) -> bool:
        """Whether `--fix` may change something."""
        return bool(self.repairs or self.loose_files or self.mended_files) or any(
            group.index_is_wrong for group in self.groups
        )

    @property
    def repairs(self) -> Mapping[GroupId, tuple[GroupRepair, ...]]:
        """What can be repaired, by group; none without a repair."""
        return {group.group: group.repairs for group in self.groups if group.repairs}
