"""Reports of a redo: what it repeats and why, what it will take, and what was done."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.reasons import StaleReason
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.ingestion.report import GroupReport
from turnetl.ingestion.stale_parts import StalePart
from turnetl.ingestion.undo_report import UndoneTurn


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The requests that extract the turns of a redo."""

    requests: int = 0
    """To be sent."""
    tokens: int = 0
    """Estimated tokens of their messages."""
    answered: int = 0
    """Requests that the journal answers; they cost nothing."""

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        return RequestCounts(
            self.requests + other.requests,
            self.tokens + other.tokens,
            self.answered + other.answered,
        )


@dataclass(frozen=True, slots=True)
class GroupRedo:
    """The redo of the turns of one group."""

    group: GroupId
    selected: tuple[UndoneTurn, ...] = ()
    """Oldest commit first."""
    later: tuple[UndoneTurn, ...] = ()
    """Turns that were not selected and are repeated because they were committed later; oldest
    commit first."""
    dependents: frozenset[TurnId] = frozenset()
    """Those of `later` that built on selected turns: they may be resolved differently."""
    stale_reasons: Mapping[StaleReason, int] = field(default_factory=dict)
    """Of all these turns."""
    stale_parts: tuple[StalePart, ...] = ()
    """Of all these turns."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Turns that are noise today, by rule: they are undone and not ingested again."""
    extraction: RequestCounts = field(default_factory=RequestCounts)
    used: Usage = field(default_factory=Usage)
    """Usage of these turns when they were ingested."""
    undone: int = 0
    """Turns undone by this call."""
    ingested: GroupReport | None = None
    """What was ingested again; None if nothing was undone."""
    error: str | None = None
    """Why the group is not redone, or what stopped it."""
    exit_code: int = 0

    @property
    def turns(self) -> int:
        """Turns that are undone."""
        return len(self.selected) + len(self.later)

    @property
    def committed(self) -> int:
        """Turns that were ingested again."""
        return self.ingested.committed if self.ingested else 0

    @property
    def quarantined(self) -> int:
        """Turns that were undone and failed."""
        return self.ingested.quarantined if self.ingested else 0

    @property
    def pending(self) -> int:
        """Turns that were undone and not ingested again, which the next ingest takes."""
        return self.ingested.ready if self.ingested else self.undone


@dataclass(frozen=True, slots=True)
class RedoReport:
    """The redo of the selected turns. Nothing was written if `run_id` is None."""

    selection: RedoSelection
    exact: bool
    """Whether turns that were committed out of order are repeated too."""
    groups: tuple[GroupRedo, ...]
    """Groups with selected turns, and those that could not be planned; sorted."""
    ready: int = 0
    """Turns of the selected groups that are not in the graph, and that the next ingest commits."""
    run_id: str | None = None
    usage_by_prompt: Mapping[str, Usage] = field(default_factory=dict)
    """Usage of this run by prompt: every attempt, including the failed ones."""
    journal_hits: int = 0
    """Responses that the journal already held."""
    cost: RunCost | None = None
    estimate: RecordedEstimate | None = None
    """What `turnetl plan --redo` predicted of exactly these turns; None if it did not."""

    @property
    def turns(self) -> int:
        return sum(group.turns for group in self.groups)

    @property
    def extraction(self) -> RequestCounts:
        return sum((group.extraction for group in self.groups), RequestCounts())

    @property
    def used(self) -> Usage:
        """Usage of all turns when they were ingested."""
        return sum((group.used for group in self.groups), Usage())

    @property
    def undone(self) -> int:
        return sum(group.undone for group in self.groups)

    @property
    def committed(self) -> int:
        return sum(group.committed for group in self.groups)

    @property
    def is_refused(self) -> bool:
        """Whether no group can be redone, or nothing is selected."""
        return all(group.error is not None for group in self.groups)
