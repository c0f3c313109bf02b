"""What `turnetl summarize` wrote in each group."""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import Usage
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described

ALIKE = 0.9
"""Cosine from which on a kept summary and a new one count as alike."""

LISTED_EDITED = 10
"""Entities with an edited summary that a report names, per group."""


@dataclass(frozen=True, slots=True)
class AuditedSummary:
    """A summary that a turn kept, beside the one that a refresh would write."""

    entity: Annotated[str, described("Name of the entity.")]
    kept: Annotated[str, described("The summary that it has.")]
    new: Annotated[str, described("The summary that a refresh would write; it is stored nowhere.")]
    cosine: Annotated[float, described("Cosine between both texts.")]
    """Of their embeddings."""
    missing_facts: Annotated[int, described("Facts that only the new summary lists.")]


@dataclass(frozen=True, slots=True)
class SummaryAudit:
    """Summaries that turns kept, compared with what a refresh would write."""

    summaries: Annotated[
        tuple[AuditedSummary, ...], described("All of them, the least alike first.")
    ] = ()

    @property
    def audited(self) -> Annotated[int, described("Summaries compared.")]:
        return len(self.summaries)

    @property
    @described(f"Of `audited`, those whose cosine with the new one is at least {ALIKE}.")
    def alike(self) -> int:
        return sum(one.cosine >= ALIKE for one in self.summaries)

    @property
    @described("Mean cosine between both texts; null if none was compared.")
    def mean_cosine(self) -> float | None:
        return fmean(one.cosine for one in self.summaries) if self.summaries else None

    @property
    @described("Facts that only the new summaries list, over all that were compared.")
    def missing_facts(self) -> int:
        return sum(one.missing_facts for one in self.summaries)


@dataclass(frozen=True, slots=True)
class DeferredSummaries:
    """The deferred summaries of a group."""

    group: GroupField
    to_write: Annotated[
        int,
        described(
            "Summaries that were deferred, and that no run has written since; with `--edited` also "
            "those to be written again."
        ),
    ] = 0
    written: Annotated[int, described("Of `to_write`, those that are written.")] = 0
    edited: Annotated[
        tuple[str, ...],
        described("Summaries that were edited by hand and are kept.", counted=True),
    ] = ()
    """The names of their entities, sorted."""
    is_recorded: Annotated[
        bool,
        described(
            "Whether its turns record summaries; false if an earlier version of turnetl wrote "
            "them.",
            name="recorded",
        ),
    ] = True
    estimate: Usage = field(default_factory=Usage)
    """Of a dry run: what the requests use if no response is in the journal."""
    audit: Annotated[
        SummaryAudit | None, described("The audit of its summaries; null without `--audit`.")
    ] = None
    error: Annotated[str | None, described("Error that stopped the group, or null.")] = None
    exit_code: int = ExitCode.DONE

    @property
    @described("The names of the entities of `edited`, sorted, ten at most.")
    def edited_entities(self) -> tuple[str, ...]:
        return self.edited[:LISTED_EDITED]


@dataclass(frozen=True, slots=True)
class SummarizeReport:
    """The deferred summaries of the graph."""

    groups: Annotated[tuple[DeferredSummaries, ...], described("The groups, sorted by name.")]
    is_dry_run: Annotated[bool, described("Whether nothing was to be written.", name="dry_run")] = (
        False
    )
    rewrites_edited: bool = False
    """Whether edited summaries were to be written again, unless no fact is known."""
    model: Annotated[
        str | None, described("Provider and model that writes summaries; null if rules do.")
    ] = None
    usage: Annotated[
        Usage,
        described(
            "Usage of the model without responses from the journal; with `--dry-run` an estimate."
        ),
    ] = field(default_factory=Usage)

    @property
    def to_write(self) -> int:
        """Summaries to write."""
        return sum(group.to_write for group in self.groups)

    @property
    def written(self) -> int:
        """Summaries that were written."""
        return sum(group.written for group in self.groups)
