"""What a build changed about the communities of each group."""

from dataclasses import dataclass, field

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, Usage


@dataclass(frozen=True, slots=True)
class GroupCommunities:
    """The communities of one group."""

    group: GroupId
    kept: int = 0
    """Communities whose members did not change."""
    to_write: int = 0
    """Communities that are missing, or that another program or other members made."""
    written: int = 0
    """Of `to_write`."""
    to_remove: int = 0
    """Communities that no longer are any."""
    removed: int = 0
    """Of `to_remove`."""
    error: str | None = None
    """Error that stopped the group; None if it was completed, or not begun."""
    exit_code: int = ExitCode.DONE

    @property
    def is_complete(self) -> bool:
        return self.written == self.to_write and self.removed == self.to_remove


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A build of communities."""

    groups: tuple[GroupCommunities, ...]
    """Sorted by group."""
    is_dry_run: bool = False
    """Whether nothing was to be written."""
    model: str | None = None
    """Provider and model that names and summarises; None: rules do."""
    by_rules: int = 0
    """Communities that the model should have described and rules did."""
    usage: Usage = field(default_factory=Usage)
    """Of the model, without responses from the journal; the estimate, if nothing was written."""
    is_out_of_time: bool = False
    """Whether `--max-seconds` ended the build."""

    @property
    def written(self) -> int:
        return sum(group.written for group in self.groups)

    @property
    def missing(self) -> int:
        """Communities that were not written."""
        return sum(group.to_write - group.written for group in self.groups)
