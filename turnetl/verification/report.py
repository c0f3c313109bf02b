"""What a verification found."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from turnetl.graph.group_repair import GroupRepair
from turnetl.loose_files import LooseFile
from turnetl.model import GroupId
from turnetl.verification.check import Check


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
        repairable = (Check.INDEX_SURPLUS, Check.INDEX_SEQUENCE)
        return any(finding.check in repairable for finding in self.findings)


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

    @property
    def wrong(self) -> int:
        return sum(group.wrong for group in self.groups) + len(self.loose_files)

    @property
    def is_refused(self) -> bool:
        """Whether the repairs are refused: never, because only what is safe is one."""
        return False

    @property
    def can_repair(self) -> bool:
        """Whether `--fix` may change something."""
        return bool(self.repairs or self.loose_files) or any(
            group.index_is_wrong for group in self.groups
        )

    @property
    def repairs(self) -> Mapping[GroupId, tuple[GroupRepair, ...]]:
        """What can be repaired, by group; none without a repair."""
        return {group.group: group.repairs for group in self.groups if group.repairs}
