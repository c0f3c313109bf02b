"""What a build changed about the communities of each group."""

from dataclasses import dataclass, field
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Usage
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class GroupCommunities:
    """The communities of one group."""

    group: GroupField
    kept: Annotated[int, described("Communities whose members did not change.")] = 0
    to_write: Annotated[
        int, described("Communities that were missing, or had other members or another writer.")
    ] = 0
    written: Annotated[int, described("Of `to_write`, those that are written.")] = 0
    to_remove: Annotated[int, described("Communities that no longer are any.")] = 0
    removed: Annotated[int, described("Of `to_remove`, those that are removed.")] = 0
    error: Annotated[str | None, described("Error that stopped the group, or null.")] = None
    """None also if the group was not begun."""
    exit_code: int = ExitCode.DONE

    @property
    def is_complete(self) -> bool:
        return self.written == self.to_write and self.removed == self.to_remove


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A build of communities."""

    groups: Annotated[tuple[GroupCommunities, ...], described("The groups, sorted by name.")]
    is_dry_run: Annotated[bool, described("Whether nothing was to be written.", name="dry_run")] = (
        False
    )
    model: Annotated[
        str | None, described("Provider and model that names and summarises; null if rules do.")
    ] = None
    by_rules: Annotated[
        int, described("Communities that the model should have described and rules did.")
    ] = 0
    usage: Annotated[
        Usage,
        described("Usage of the model without responses from the journal; estimated if `dry_run`."),
    ] = field(default_factory=Usage)
    is_out_of_time: Annotated[
        bool, described("Whether `--max-seconds` ended the build.", name="out_of_time")
    ] = False

    @property
    def written(self) -> int:
        return sum(group.written for group in self.groups)

    @property
    def missing(self) -> int:
        """Communities that were not written."""
        return sum(group.to_write - group.written for group in self.groups)
