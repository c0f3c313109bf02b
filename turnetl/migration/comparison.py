"""What a comparison of old and new data found, and whether the turns may replace the old data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec

from turnetl.base import ids
from turnetl.base.graph_model import Receipt
from turnetl.base.model import SessionId
from turnetl.base.result_fields import GroupField
from turnetl.base.results import INLINED, described
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.session_level import SessionLevelData


@dataclass(frozen=True, slots=True)
class CompareVerdict:
    """The result of `migrate compare` for one migration."""

    digest: str
    """`state_digest` of what was compared."""
    compared_at: datetime
    reasons: tuple[str, ...]
    """The thresholds that were not met, each as a sentence; empty if all were."""


def state_digest(old: SessionLevelData, new: Iterable[Receipt]) -> str:
    """Return a digest of the old data of a group and the receipts of its shadow group."""
    episodes = (ids.digest(one.uuid, one.name, one.text) for one in old.episodes)
    facts = (
        ids.digest(one.uuid, one.text, str(one.valid_at), str(one.invalid_at), *one.turns)
        for one in old.facts
    )
    turns = (ids.digest(one.turn_id, one.content_hash, one.recipe) for one in new)
    parts = (ids.digest(*episodes), ids.digest(*facts), ids.digest(*sorted(turns)))
    return ids.digest(*parts)


def encoded_verdict(verdict: CompareVerdict) -> str:
    return msgspec.json.encode(verdict).decode()


def recorded_verdict(migration: TurnMigration) -> CompareVerdict | None:
    """Return the last verdict; None if there was none, or it is not readable."""
    try:
        return msgspec.json.decode(migration.verdict, type=CompareVerdict)
    except msgspec.MsgspecError:
        return None


def cutover_refusal(migration: TurnMigration, digest: str) -> str | None:
    """Return why a cutover needs `--accept`, with what to do. `digest`: `state_digest` of now."""
    group, verdict = migration.group_id, recorded_verdict(migration)
    compare = f"run `turnetl migrate compare --group {group}`"
    accept = "or cut over with --accept"
    if verdict is None:
        return f"group `{group}`: old and new data were not compared: {compare}, {accept}"
    if verdict.digest != digest:
        return (
            f"group `{group}`: old or new data changed since they were compared at "
            f"{verdict.compared_at:%Y-%m-%d %H:%M}: {compare} again, {accept}"
        )
    if verdict.reasons:
        reasons = "; ".join(verdict.reasons)
        return (
            f"group `{group}`: {reasons}; {compare} with `--html FILE` to see what is lost, "
            f"{accept}"
        )
    return None


@dataclass(frozen=True, slots=True)
class DataSize:
    """How much there is of old or of new data."""

    episodes: Annotated[int, described("Episodes.")] = 0
    entities: Annotated[int, described("Entities.")] = 0
    facts: Annotated[int, described("Facts.")] = 0
    chars: Annotated[int, described("Characters of the texts of the episodes.")] = 0


@dataclass(frozen=True, slots=True)
class LostFact:
    """An old fact that no new fact expresses."""

    uuid: Annotated[str, described("Uuid of the fact.", name="fact")]
    text: Annotated[str, described("The fact.")]
    valid_at: Annotated[
        datetime | None, described("Since when it holds, as dated; null if it is not.")
    ]
    nearest: Annotated[str, described("The most similar new fact; empty if there is none.")]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]
    shares_entity: Annotated[
        bool, described("Whether that new fact names an entity of the old one; none does if not.")
    ]


@dataclass(frozen=True, slots=True)
class FactDates:
    """How facts are dated."""

    facts: Annotated[int, described("Facts of the sessions.")] = 0
    undated: Annotated[int, described("Facts without a `valid_at`.")] = 0
    outside: Annotated[
        int,
        described(
            "Facts that are dated more than an hour before or after their session: by the run that "
            "wrote them."
        ),
    ] = 0

    def __add__(self, other: "FactDates") -> "FactDates":
        return FactDates(
            self.facts + other.facts, self.undated + other.undated, self.outside + other.outside
        )


@dataclass(frozen=True, slots=True)
class ComparedSession:
    """A session in old and new data."""

    session_id: Annotated[
        SessionId | None,
        described("The session; null for old data whose session is not known."),
    ]
    format: Annotated[str, described("Format of its archives; empty without a turn.")]
    started_at: Annotated[datetime | None, described("Start of its first turn; null without one.")]
    old: Annotated[DataSize, described("Its old data.")]
    new: Annotated[DataSize, described("Its turns.")]
    lost_facts: Annotated[
        tuple[LostFact, ...],
        described("Old facts that no new fact expresses, the least similar first."),
    ]
    entities_lost: Annotated[
        tuple[str, ...],
        described("Names that neither an entity nor a fact of its turns has, sorted."),
    ]
    entities_gained: Annotated[
        tuple[str, ...], described("Names of entities that its old data do not have, sorted.")
    ]
    old_dates: Annotated[FactDates, described("Dates of its old facts.")]
    new_dates: Annotated[FactDates, described("Dates of the facts of its turns.")]


@dataclass(frozen=True, slots=True)
class SearchProbe:
    """A question whose answer is in some sessions."""

    question: Annotated[str, described("What was searched.")]
    sessions: Annotated[
        tuple[SessionId, ...], described("The sessions of which one must be found.")
    ]
    """Sorted."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """A question, and where its session is found."""

    probe: Annotated[SearchProbe, INLINED]
    old_rank: Annotated[
        int | None,
        described("Its rank among the sessions that the old data return, from 1; null if beyond."),
    ]
    new_rank: Annotated[int | None, described("The same of the turns.")]


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """A group and its turns."""

    group: GroupField
    migration_id: Annotated[str, described("Of the migration.")]
    sessions: Annotated[
        tuple[ComparedSession, ...],
        described("The sessions by start; old data without a session last."),
    ]
    old: Annotated[DataSize, described("The data that the turns replace.")]
    new: Annotated[DataSize, described("The turns.")]
    entities_lost: Annotated[
        tuple[str, ...], described("Names that neither an entity nor a fact has now, sorted.")
    ]
    entities_gained: Annotated[
        tuple[str, ...], described("Names of entities that the old data do not have, sorted.")
    ]
    """An entity that another session has is neither lost nor gained."""
    probes: Annotated[tuple[ProbeResult, ...], described("The search probes.")]
    are_probes_generated: Annotated[
        bool, described("Whether the probes are old facts; else they are from --questions.")
    ]
    reasons: Annotated[
        tuple[str, ...], described("The thresholds that are not met; empty if all are.")
    ] = ()

    @property
    def lost_facts(self) -> Annotated[int, described("Old facts that no new fact expresses.")]:
        return sum(len(session.lost_facts) for session in self.sessions)

    @property
    @described("Share of the old facts that new facts express; 1 without old facts.")
    def expressed(self) -> float:
        return 1 - self.lost_facts / self.old.facts if self.old.facts else 1.0

    @property
    def old_dates(self) -> Annotated[FactDates, described("Dates of the old facts.")]:
        return sum((session.old_dates for session in self.sessions), FactDates())

    @property
    def new_dates(self) -> Annotated[FactDates, described("Dates of the new facts.")]:
        return sum((session.new_dates for session in self.sessions), FactDates())

    @property
    @described("Share of the probes that lead to their session in the old data; null without.")
    def old_hit_rate(self) -> float | None:
        return hit_rate([one.old_rank for one in self.probes])

    @property
    def new_hit_rate(self) -> Annotated[float | None, described("The same among the turns.")]:
        return hit_rate([one.new_rank for one in self.probes])

    @property
    def passed(self) -> Annotated[bool, described("Whether a cutover needs no --accept.")]:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class MigrationComparison:
    """Old and new data of the migrations."""

    groups: Annotated[tuple[GroupComparison, ...], described("The groups, by name.")]
    fact_similarity: Annotated[
        float,
        described("Cosine from which a new fact that shares an entity expresses an old one."),
    ]
    probe_limit: Annotated[
        int, described("Sessions among which that of a probe must be, to be found.")
    ]
    compared_at: Annotated[datetime, described("When they were compared.")]


def hit_rate(ranks: Sequence[int | None]) -> float | None:
    return sum(rank is not None for rank in ranks) / len(ranks) if ranks else None
