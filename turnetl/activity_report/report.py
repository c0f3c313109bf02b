"""A whole report, what it is about, and the file with it."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from turnetl.activity_report.model import (
    AgentUsage,
    Contents,
    Knowledge,
    NoiseOfRule,
    OwnCost,
    PendingTurns,
    ReportTimeline,
    TokenCount,
)
from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class ReportScope:
    """What a report is about."""

    lake: str
    graph: str
    groups: tuple[str, ...]
    """Ids; all groups if empty."""
    since: datetime | None
    until: datetime | None
    made_at: datetime
    redacts_persons: bool

    @property
    def is_ranged(self) -> bool:
        """Whether it is about the turns of a time."""
        return self.since is not None or self.until is not None

    @property
    def is_selection(self) -> bool:
        """Whether it is about a part of the turns."""
        return self.is_ranged or bool(self.groups)


@dataclass(frozen=True, slots=True)
class ActivityReport:
    """What a report shows. A part that could not be read is None, and `missing` says why."""

    scope: ReportScope
    missing: tuple[str, ...]
    """Sentences: what is not in the report, and what to do."""
    contents: Contents
    timeline: ReportTimeline
    knowledge: Knowledge | None
    noise: tuple[NoiseOfRule, ...]
    """The rule of most turns first."""
    usage: AgentUsage
    own_cost: OwnCost
    pending: PendingTurns


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report that was written."""

    path: Annotated[Path, described("The file.")]
    bytes: Annotated[int, described("Its size.")]
    turns: Annotated[int, described("Turns that it is about.")]
    """In the groups and in the range of time of the report."""
    sessions: Annotated[int, described("Their sessions.")]
    projects: Annotated[int, described("Their groups.")]
    tokens: Annotated[TokenCount, described("What the agents used.")]
    missing: Annotated[
        tuple[str, ...], described("Sentences: what is not in the report, and what to do.")
    ]
