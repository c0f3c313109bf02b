"""What `turnetl summarize` wrote in each group."""

from dataclasses import dataclass, field
from statistics import fmean

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, Usage

ALIKE = 0.9
"""Cosine from which on a kept summary and a new one count as alike."""

LISTED_EDITED = 10
"""Entities with an edited summary that a report names, per group."""


@dataclass(frozen=True, slots=True)
class AuditedSummary:
    """A summary that a turn kept, beside the one that a refresh would write."""

    entity: str
    """Its name."""
    kept: str
    new: str
    cosine: float
    """Between the embeddings of both texts."""
    missing_facts: int
    """Facts that only the new summary lists."""


@dataclass(frozen=True, slots=True)
class SummaryAudit:
    """Summaries that turns kept, compared with what a refresh would write."""

    summaries: tuple[AuditedSummary, ...] = ()
    """The least alike first."""

    @property
    def audited(self) -> int:
        """Summaries compared."""
        return len(self.summaries)

    @property
    def alike(self) -> int:
        """Of `audited`, those whose cosine with the new one is at least `ALIKE`."""
        return sum(one.cosine >= ALIKE for one in self.summaries)

    @property
    def mean_cosine(self) -> float | None:
        """None if none was compared."""
        return fmean(one.cosine for one in self.summaries) if self.summaries else None

    @property
    def missing_facts(self) -> int:
        """Facts that only the new summaries list, over all that were compared."""
        return sum(one.missing_facts for one in self.summaries)


@dataclass(frozen=True, slots=True)
class DeferredSummaries:
    """The deferred summaries of one group."""

    group: GroupId
    to_write: int = 0
    """Summaries that were deferred and not written since, and edited ones to be written again."""
    written: int = 0
    """Of `to_write`."""
    edited: tuple[str, ...] = ()
    """Names of the entities whose summary was edited by hand and is kept, sorted."""
    is_recorded: bool = True
    """Whether its turns record summaries; False if an earlier version of turnetl wrote them."""
    estimate: Usage = field(default_factory=Usage)
    """Of a dry run: what the requests use if no response is in the journal."""
    audit: SummaryAudit | None = None
    """None if none was asked for."""
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
    rewrites_edited: bool = False
    """Whether edited summaries were to be written again, unless no fact is known."""
    model: str | None = None
    """Provider and model that writes summaries; None: rules do."""
    usage: Usage = field(default_factory=Usage)
    """Of the model, without responses from the journal; of a dry run the estimate."""

    @property
    def to_write(self) -> int:
        return sum(group.to_write for group in self.groups)

    @property
    def written(self) -> int:
        return sum(group.written for group in self.groups)
