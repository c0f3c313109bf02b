"""What `turnetl summarize` wrote in each group."""

from dataclasses import dataclass

from turnetl.exit_code import ExitCode
from turnetl.model import GroupId


@dataclass(frozen=True, slots=True)
class DeferredSummaries:
    """The deferred summaries of one group."""

    group: GroupId
    to_write: int = 0
    """Summaries that were deferred and not written since."""
    written: int = 0
    """Of `to_write`."""
    is_recorded: bool = True
    """Whether its turns record summaries; False if a model wrote them with the turns."""
    error: str | None = None
    """Error that stopped the group; None if it was completed."""
    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class SummarizeReport:
    """The deferred summaries of all selected groups."""

    groups: tuple[DeferredSummaries, ...]
    """Sorted by group."""
    is_dry_run: bool = False
    """Whether nothing was to be written."""

    @property
    def to_write(self) -> int:
        return sum(group.to_write for group in self.groups)

    @property
    def written(self) -> int:
        return sum(group.written for group in self.groups)
