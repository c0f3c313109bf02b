"""An estimate of what turns take, and the plan of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from turnetl.base.model import GroupId, Usage
from turnetl.estimation.usage_range import UsageRange
from turnetl.ingestion.estimate_record import EstimateMethod, Range
from turnetl.ingestion.reasons import PendingReason
from turnetl.migration.report import MigrationPlan
from turnetl.parsing import ParseReport

Work = Literal["ingest", "backfill", "redo"]


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """The turns of one group."""

    group: GroupId
    turns: int
    chars: int
    """Of their episodes."""
    chunks: int
    """Episodes as which they are ingested."""
    text_tokens: int
    """Estimated tokens of their episodes."""
    requests: float = 0.0
    """Expected."""
    tokens: float = 0.0
    """Expected, of prompts and responses."""
    cost: float | None = 0.0
    """Expected, in US dollars; None if a price is unknown."""


@dataclass(frozen=True, slots=True)
class PilotSummary:
    """What a pilot did."""

    asked: int
    """Turns."""
    turns: int
    """Turns that it extracted."""
    failed: int
    """Of these, turns that cannot be ingested."""
    usage_by_prompt: Mapping[str, Usage]
    """What it paid."""
    stopped: str | None
    """Why it ended early."""

    @property
    def usage(self) -> Usage:
        return sum(self.usage_by_prompt.values(), Usage())


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the turns will take from now on: what the journal answers is not part of it."""

    method: EstimateMethod
    extractor: str
    model: str | None
    groups: tuple[GroupEstimate, ...]
    total: UsageRange
    by_prompt: Mapping[str, UsageRange]
    """Sorted by name. The ends of the ranges do not add up to those of the total."""
    basis: int
    """Turns from which it was computed."""
    answered_turns: int
    """Turns whose requests the journal answers, all of them."""
    answered: Usage
    """What the responses cost that the journal has for the turns, whenever they were paid for."""
    answered_requests: int
    seconds: Range | None
    """Wall time; None if nothing is known of the latency."""
    disk: Mapping[str, Range]
    """Bytes by what grows: graph, index, journal. A graph on a server is not part of it."""
    pilot: PilotSummary | None
    missing_prices: tuple[str, ...]
    """Sentences that say how to add a price."""

    @property
    def turns(self) -> int:
        return sum(group.turns for group in self.groups)


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The result of `turnetl plan`."""

    work: Work
    """The command that would ingest the turns."""
    estimate: Estimate
    errors: tuple[str, ...] = ()
    """Groups that are not part of the estimate, and why."""
    pending: Mapping[PendingReason, int] = field(default_factory=dict)
    """Turns that the run would leave out, by reason."""
    parsed: ParseReport | None = None
    """What a backfill would read; None if there are no archives."""
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class EstimatedMigration:
    """The plan of a migration, and what its run takes."""

    plan: MigrationPlan
    estimate: Estimate | None
    """None if no group has a turn to ingest."""
