"""The parts of a report. All texts are redacted; all times are aware and UTC."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from turnetl.base.model import Usage
from turnetl.base.results import described

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The first items of a list, and how many it has."""

    items: tuple[T, ...] = ()
    total: int = 0


def listed(items: Sequence[T], limit: int) -> Listed[T]:
    """Return the first `limit` items, and how many there are in all."""
    return Listed(tuple(items[:limit]), len(items))


@dataclass(frozen=True, slots=True)
class ReportedTurn:
    """A turn and where it is."""

    turn_id: str
    group: str
    session_id: str
    title: str
    """What the user wrote, on one line; empty if nothing."""
    started_at: datetime | None
    archive: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ReportedFact:
    text: str
    relation: str
    valid_at: datetime | None
    invalid_at: datetime | None
    turns: tuple[ReportedTurn, ...]
    """The last turns that state it, oldest first."""
    further_turns: int


@dataclass(frozen=True, slots=True)
class WeekCount:
    week: str
    """ISO week: `2026-W07`."""
    turns: int
    sessions: int


@dataclass(frozen=True, slots=True)
class ProjectContents:
    """The turns of a group."""

    group: str
    formats: tuple[str, ...]
    sessions: int
    turns: int
    noise: int
    in_graph: int
    first: datetime | None
    last: datetime | None
    weeks: Listed[WeekCount]
    """Newest first."""


@dataclass(frozen=True, slots=True)
class ChartSeries:
    name: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """Numbers over time: one value of each series for each label."""

    labels: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    omitted: int
    """What the values before the first label add up to."""


@dataclass(frozen=True, slots=True)
class Contents:
    turns: int
    sessions: int
    noise: int
    in_graph: int
    without_time: int
    """Turns whose archive has no time; a range of time leaves them out."""
    missing_from_lake: int
    """Turns that only the graph holds: their tokens and noise are not known."""
    first: datetime | None
    last: datetime | None
    projects: Listed[ProjectContents]
    """Most turns first."""
    by_week: Activity | None
    """Turns by project; None without a time."""
    by_month: Activity | None
    """The same, if `by_week` leaves out the first weeks; else None."""


@dataclass(frozen=True, slots=True)
class TimelineTurn:
    turn: ReportedTurn
    decisions: tuple[ReportedFact, ...]
    problems: int
    """Failures that the turn states."""


@dataclass(frozen=True, slots=True)
class TimelineSession:
    session_id: str
    group: str
    turns: tuple[TimelineTurn, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class TimelineDay:
    day: date
    sessions: tuple[TimelineSession, ...]


@dataclass(frozen=True, slots=True)
class ReportTimeline:
    """The last turns that are not noise, the newest day first."""

    days: tuple[TimelineDay, ...]
    shown: int
    total: int


@dataclass(frozen=True, slots=True)
class EntityHistory:
    name: str
    group: str
    turns: int
    """That state something about it."""
    facts: Listed[ReportedFact]
    """Newest first."""


@dataclass(frozen=True, slots=True)
class EntitiesOfLabel:
    label: str
    entities: Listed[EntityHistory]
    """Those that most turns are about."""


@dataclass(frozen=True, slots=True)
class ErrorOccurrence:
    fact: ReportedFact
    turn: ReportedTurn
    outcome: str
    resolved_at: datetime | None
    resolved_by: ReportedTurn | None
    evidence: tuple[ReportedFact, ...]
    """What changed in between, and what fixed it."""
    answer: str
    """What the agent wrote at the end; empty if nothing."""


@dataclass(frozen=True, slots=True)
class ReportedError:
    name: str
    group: str
    turns: int
    """In which it occurred."""
    occurrences: tuple[ErrorOccurrence, ...]
    """The last ones, the resolved ones first."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the facts of the turns say."""

    facts: int
    invalid_facts: int
    decisions: Listed[ReportedFact]
    """Newest first."""
    labels: Listed[EntitiesOfLabel]
    """The label of most entities first."""
    errors: Listed[ReportedError]
    """Most turns first."""
    open_problems: Listed[ReportedFact]
    """Failures after which no success is known, newest first."""


@dataclass(frozen=True, slots=True)
class NoiseOfRule:
    rule: str
    description: str
    turns: int
    examples: tuple[ReportedTurn, ...]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens that the agents used, as their archives record them."""

    name: str
    turns: int
    input_tokens: Annotated[int, described("Tokens of prompts without the cache.", name="input")]
    output_tokens: Annotated[int, described("Tokens of responses, with reasoning.", name="output")]
    cache_write_tokens: Annotated[
        int | None,
        described(
            "Tokens written to the cache; null if no archive records them.", name="cache_write"
        ),
    ] = None
    cache_read_tokens: Annotated[
        int | None,
        described(
            "Tokens read from the cache; null if no archive records them.", name="cache_read"
        ),
    ] = None
    reasoning_tokens: Annotated[
        int | None,
        described("Those of reasoning; null if no archive records them.", name="reasoning"),
    ] = None
    subagent_tokens: Annotated[
        int, described("Those of subagents, part of `total`.", name="of_subagents")
    ] = 0

    @property
    @described("Input, cache write, cache read and output.", name="total")
    def tokens(self) -> int:
        cache = (self.cache_write_tokens or 0) + (self.cache_read_tokens or 0)
        return self.input_tokens + cache + self.output_tokens


@dataclass(frozen=True, slots=True)
class AgentUsage:
    total: TokenCount
    by_model: Listed[TokenCount]
    """Most tokens first; turns without a model are `unknown`."""
    by_project: Listed[TokenCount]
    by_format: tuple[TokenCount, ...]
    by_day: Activity | None
    """Tokens by model; None without a time."""
    by_month: Activity | None = None
    """As `by_day`; None if that has all days."""
    older_turns: int = 0
    """Turns that an older turnetl parsed: their cache is not known, but in the input of Codex and
    Gemini CLI, which includes what was read from it."""


@dataclass(frozen=True, slots=True)
class NamedUsage:
    name: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ReportedRun:
    run_id: str
    started_at: datetime
    state: str
    committed: int
    quarantined: int
    model: str | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What turnetl itself paid for models."""

    by_prompt: tuple[NamedUsage, ...]
    """Of the responses in the journal of the lake, each counted once, whatever the groups."""
    saved: float | None
    """US dollars that responses of the journal saved; None if a price is unknown."""
    by_group: tuple[NamedUsage, ...]
    """Of the turns in the graph; groups without a request are left out."""
    runs: Listed[ReportedRun]
    """Newest first."""


@dataclass(frozen=True, slots=True)
class QuarantinedTurn:
    turn: ReportedTurn
    error: str
    failed_at: datetime


@dataclass(frozen=True, slots=True)
class TurnsOfReason:
    reason: str
    sentence: str
    """What it means and what to do."""
    turns: Listed[ReportedTurn]


@dataclass(frozen=True, slots=True)
class PendingTurns:
    """The turns that are not in the graph, or are in it in another form than today's."""

    quarantined: Listed[QuarantinedTurn]
    gaps: tuple[TurnsOfReason, ...]
    stale: tuple[TurnsOfReason, ...]
    stale_parts: tuple[str, ...]
    """Which part of a recipe changed, with the number of turns."""
    missing_archives: Listed[str]
    messages: tuple[str, ...]
    """Sentences about groups that stopped."""


PROJECTS = 40
PROJECT_WEEKS = 26
CHART_WEEKS = 104
CHART_MONTHS = 120
CHART_DAYS = 90
SERIES = 5
"""Projects or models of a chart with a colour of their own; the others are one more series."""
TIMELINE_TURNS = 250
DECISIONS = 100
OPEN_PROBLEMS = 50
ERRORS = 25
LABELS = 8
ENTITIES = 8
"""Of each label."""
ENTITY_FACTS = 5
EVIDENCE = 4
MODELS = 30
NOISE_EXAMPLES = 3
QUARANTINED = 50
TURNS_OF_REASON = 30
RUNS = 20
LINEAGE = 2
"""Turns of a fact."""
ARCHIVES = 30
PROMPT_CHARS = 400
"""Of a prompt that are read for its title."""
SHORT_PROMPT_BYTES = 160
"""Of a prompt whose title may need the prompt before it."""
TEXT_CHARS = 600
"""Of a fact or an answer."""


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
    def is_selection(self) -> bool:
        """Whether it is about a part of the turns."""
        return bool(self.since or self.until or self.groups)


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
