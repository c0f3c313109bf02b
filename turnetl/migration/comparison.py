"""What a comparison of old and new data found, per group and session."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import GroupId, SessionId


@dataclass(frozen=True, slots=True)
class DataSize:
    """How much there is of the old or of the new data."""

    episodes: int = 0
    entities: int = 0
    facts: int = 0
    chars: int = 0
    """Of the texts of the episodes."""


@dataclass(frozen=True, slots=True)
class LostFact:
    """A fact of the old data that no new fact expresses."""

    uuid: str
    text: str
    valid_at: datetime | None
    nearest: str
    """The text of the new fact that is most similar; empty if there is none."""
    similarity: float
    """Of the two texts, from 0 to 1."""
    shares_entity: bool
    """Whether the nearest fact names an entity of the old one; none does otherwise."""


@dataclass(frozen=True, slots=True)
class FactDates:
    """How the facts of a session, or of a group, are dated."""

    facts: int = 0
    undated: int = 0
    """Without a `valid_at`."""
    outside: int = 0
    """Dated more than an hour before or after the session: by the run that wrote them."""

    def __add__(self, other: "FactDates") -> "FactDates":
        return FactDates(
            self.facts + other.facts, self.undated + other.undated, self.outside + other.outside
        )


@dataclass(frozen=True, slots=True)
class ComparedSession:
    """A session in the old and in the new data."""

    session_id: SessionId | None
    """None for the old facts whose session is not known."""
    format: str
    started_at: datetime | None
    old: DataSize
    new: DataSize
    lost_facts: tuple[LostFact, ...]
    """That no new fact expresses, the least similar first."""
    entities_lost: tuple[str, ...]
    """Names in the old data that neither an entity nor a fact of the session has now, sorted."""
    entities_gained: tuple[str, ...]
    """Names of new entities that the old data do not have, sorted."""
    old_dates: FactDates
    new_dates: FactDates


@dataclass(frozen=True, slots=True)
class SearchProbe:
    """A question whose answer is in some sessions."""

    question: str
    sessions: tuple[SessionId, ...]
    """Sorted; one of them must be found."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Where the old and the new data have the right session of a probe."""

    probe: SearchProbe
    old_rank: int | None
    """Among the sessions that the old data returned, from 1; None if it is not among them."""
    new_rank: int | None
    """The same of the new data."""


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The old data of a group beside its turns in the shadow group."""

    group: GroupId
    migration_id: str
    sessions: tuple[ComparedSession, ...]
    """By start; the facts without a session last."""
    old: DataSize
    new: DataSize
    entities_lost: tuple[str, ...]
    entities_gained: tuple[str, ...]
    """Of the group: an entity that another session has is neither lost nor gained."""
    probes: tuple[ProbeResult, ...]
    are_probes_generated: bool
    """Whether the probes are old facts; else the user wrote them."""
    reasons: tuple[str, ...] = ()
    """Thresholds that are not met; empty if the turns may replace the old data."""

    @property
    def lost_facts(self) -> int:
        return sum(len(session.lost_facts) for session in self.sessions)

    @property
    def expressed(self) -> float:
        """Return the share of the old facts that new facts express; 1 without old facts."""
        return 1 - self.lost_facts / self.old.facts if self.old.facts else 1.0

    @property
    def old_dates(self) -> FactDates:
        return sum((session.old_dates for session in self.sessions), FactDates())

    @property
    def new_dates(self) -> FactDates:
        return sum((session.new_dates for session in self.sessions), FactDates())

    @property
    def old_hit_rate(self) -> float | None:
        """Return the share of the probes that lead to the right session; None without probes."""
        return hit_rate([one.old_rank for one in self.probes])

    @property
    def new_hit_rate(self) -> float | None:
        return hit_rate([one.new_rank for one in self.probes])

    @property
    def passed(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class MigrationComparison:
    """The comparison of all groups that are migrated."""

    groups: tuple[GroupComparison, ...]
    """By name."""
    fact_similarity: float
    """Cosine from which a new fact that shares an entity expresses an old one."""
    probe_limit: int
    """Results of a search in which a probe's session is looked for."""
    compared_at: datetime


def hit_rate(ranks: Sequence[int | None]) -> float | None:
    """Return the share of the ranks that are not None; None without ranks."""
    return sum(rank is not None for rank in ranks) / len(ranks) if ranks else None
