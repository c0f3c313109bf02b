"""Reports of a redo: what it repeats and why, what it will take, and what was done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from turnetl.base.model import TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import StaleReason
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.ingestion.report import GroupReport, RunUsage
from turnetl.ingestion.stale_parts import StalePart
from turnetl.ingestion.undo_report import UndoneTurn


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The requests that extract the turns; those that resolve them depend on the responses."""

    requests: Annotated[int, described("Requests to send.")] = 0
    tokens: Annotated[int, described("Estimated tokens of these requests.")] = 0
    answered: Annotated[int, described("Requests that the journal answers; they cost nothing.")] = 0

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        return RequestCounts(
            self.requests + other.requests,
            self.tokens + other.tokens,
            self.answered + other.answered,
        )


_UndoneField = Annotated[int, described("Turns undone by this command.")]
_CommittedField = Annotated[int, described("Turns ingested again by this command.")]


@dataclass(frozen=True, slots=True)
class GroupRedo:
    """The redo of the turns of one group."""

    group: GroupField
    selected: Annotated[
        tuple[UndoneTurn, ...],
        described("The selected turns, oldest commit first.", name="turns"),
    ] = ()
    later: Annotated[
        tuple[UndoneTurn, ...],
        described("Turns that were committed later and are repeated too, oldest commit first."),
    ] = ()
    dependents: Annotated[
        tuple[TurnId, ...],
        described("Ids of those later turns that built on selected ones, sorted."),
    ] = ()
    """They may be resolved differently."""
    stale_reasons: Annotated[
        Mapping[StaleReason, int],
        described("Stale ones of all these turns.", keys=StaleReason),
    ] = field(default_factory=dict)
    stale_parts: Annotated[
        tuple[StalePart, ...], described("What changed in the recipes of these turns.")
    ] = ()
    left_out: Annotated[
        Mapping[str, int],
        described(
            "Turns that are noise today, by rule: they are not ingested again.", name="noise"
        ),
    ] = field(default_factory=dict)
    extraction: Annotated[RequestCounts, described("Requests that extract the turns.")] = field(
        default_factory=RequestCounts
    )
    used: Annotated[Usage, described("Usage of these turns when they were ingested.")] = field(
        default_factory=Usage
    )
    undone: _UndoneField = 0
    ingested: GroupReport | None = None
    """What was ingested again; None if nothing was undone."""
    error: Annotated[
        str | None,
        described("Why the group is not redone, or what stopped it; null if nothing."),
    ] = None
    exit_code: int = 0

    @property
    def turns(self) -> int:
        """Turns that are undone."""
        return len(self.selected) + len(self.later)

    @property
    def committed(self) -> _CommittedField:
        return self.ingested.committed if self.ingested else 0

    @property
    def quarantined_turns(
        self,
    ) -> Annotated[tuple[QuarantineEntry, ...], described("Turns that were undone and failed.")]:
        return self.ingested.quarantined_turns if self.ingested else ()

    @property
    def pending(
        self,
    ) -> Annotated[
        int,
        described("Turns that were undone and not ingested again; the next ingest takes them."),
    ]:
        return self.ingested.ready if self.ingested else self.undone


@dataclass(frozen=True, slots=True)
class RedoReport:
    """What a redo repeats; `undone` says whether it was carried out."""

    selection: RedoSelection
    exact: bool
    """Whether turns that were committed out of order are repeated too."""
    groups: Annotated[tuple[GroupRedo, ...], described("The groups, sorted by name.")]
    """Those with selected turns, and those that could not be planned."""
    ready: Annotated[
        int,
        described("Turns that were not in the graph before, and that an ingest would commit."),
    ] = 0
    run_id: Annotated[str | None, described("Id of the run; null if it wrote nothing.")] = None
    usage_by_prompt: Mapping[str, Usage] = field(default_factory=dict)
    journal_hits: int = 0
    cost: RunCost | None = None
    estimate: Annotated[
        RecordedEstimate | None,
        described("What `turnetl plan --redo` predicted of these turns; null if it did not."),
    ] = None

    @property
    def turns(self) -> Annotated[int, described("Turns to repeat.")]:
        return sum(group.turns for group in self.groups)

    @property
    def extraction(
        self,
    ) -> Annotated[RequestCounts, described("Requests that extract all turns.")]:
        return sum((group.extraction for group in self.groups), RequestCounts())

    @property
    def used(
        self,
    ) -> Annotated[Usage, described("Usage of all turns when they were ingested.")]:
        return sum((group.used for group in self.groups), Usage())

    @property
    def undone(self) -> _UndoneField:
        return sum(group.undone for group in self.groups)

    @property
    def committed(self) -> _CommittedField:
        return sum(group.committed for group in self.groups)

    @property
    def usage(self) -> Annotated[RunUsage, described("Usage of this run.")]:
        return RunUsage(self.usage_by_prompt, self.journal_hits, self.cost or RunCost(0, None))

    @property
    def is_refused(self) -> bool:
        """Whether no group can be redone, or nothing is selected."""
        return all(group.error is not None for group in self.groups)
