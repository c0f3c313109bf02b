"""`turnetl migrate compare --json`."""

from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.migration.comparison import (
    ComparedSession,
    DataSize,
    FactDates,
    GroupComparison,
    LostFact,
    MigrationComparison,
    ProbeResult,
)


class DataSizeOutput(JsonOutput):
    """How much there is of old or of new data."""

    episodes: Annotated[int, described("Episodes.")]
    entities: Annotated[int, described("Entities.")]
    facts: Annotated[int, described("Facts.")]
    chars: Annotated[int, described("Characters of the texts of the episodes.")]


class FactDatesOutput(JsonOutput):
    """How facts are dated."""

    facts: Annotated[int, described("Facts of the sessions.")]
    undated: Annotated[int, described("Facts without a `valid_at`.")]
    outside: Annotated[
        int,
        described(
            "Facts that are dated more than an hour before or after their session: by the run that "
            "wrote them."
        ),
    ]


class LostFactOutput(JsonOutput):
    """An old fact that no new fact expresses."""

    fact: Annotated[str, described("Uuid of the fact.")]
    text: Annotated[str, described("The fact.")]
    valid_at: Annotated[
        Timestamp | None, described("Since when it holds, as dated; null if it is not.")
    ]
    nearest: Annotated[str, described("The most similar new fact; empty if there is none.")]
    similarity: Annotated[float, described("Of the two texts, from 0 to 1.")]
    shares_entity: Annotated[
        bool, described("Whether that new fact names an entity of the old one; none does if not.")
    ]


class SessionComparisonOutput(JsonOutput):
    """A session in old and new data."""

    session_id: Annotated[
        str | None, described("The session; null for old data whose session is not known.")
    ]
    format: Annotated[str, described("Format of its archives; empty without a turn.")]
    started_at: Annotated[Timestamp | None, described("Start of its first turn; null without one.")]
    old: Annotated[DataSizeOutput, described("Its old data.")]
    new: Annotated[DataSizeOutput, described("Its turns.")]
    lost_facts: Annotated[
        list[LostFactOutput],
        described("Old facts that no new fact expresses, the least similar first."),
    ]
    entities_lost: Annotated[
        list[str], described("Names that neither an entity nor a fact of its turns has, sorted.")
    ]
    entities_gained: Annotated[
        list[str], described("Names of entities that its old data do not have, sorted.")
    ]
    old_dates: Annotated[FactDatesOutput, described("Dates of its old facts.")]
    new_dates: Annotated[FactDatesOutput, described("Dates of the facts of its turns.")]


class ProbeOutput(JsonOutput):
    """A question, and where its session is found."""

    question: Annotated[str, described("What was searched.")]
    sessions: Annotated[list[str], described("The sessions of which one must be found.")]
    old_rank: Annotated[
        int | None,
        described("Its rank among the sessions that the old data return, from 1; null if beyond."),
    ]
    new_rank: Annotated[int | None, described("The same of the turns.")]


class GroupComparisonOutput(JsonOutput):
    """A group and its turns."""

    group: fields.GroupField
    migration_id: Annotated[str, described("Of the migration.")]
    passed: Annotated[bool, described("Whether a cutover needs no --accept.")]
    reasons: Annotated[list[str], described("The thresholds that are not met; empty if all are.")]
    old: Annotated[DataSizeOutput, described("The data that the turns replace.")]
    new: Annotated[DataSizeOutput, described("The turns.")]
    lost_facts: Annotated[int, described("Old facts that no new fact expresses.")]
    expressed: Annotated[
        float, described("Share of the old facts that new facts express; 1 without old facts.")
    ]
    entities_lost: Annotated[
        list[str], described("Names that neither an entity nor a fact has now, sorted.")
    ]
    entities_gained: Annotated[
        list[str], described("Names of entities that the old data do not have, sorted.")
    ]
    old_dates: Annotated[FactDatesOutput, described("Dates of the old facts.")]
    new_dates: Annotated[FactDatesOutput, described("Dates of the new facts.")]
    old_hit_rate: Annotated[
        float | None,
        described("Share of the probes that lead to their session in the old data; null without."),
    ]
    new_hit_rate: Annotated[float | None, described("The same among the turns.")]
    are_probes_generated: Annotated[
        bool, described("Whether the probes are old facts; else they are from --questions.")
    ]
    probes: Annotated[list[ProbeOutput], described("The search probes.")]
    sessions: Annotated[
        list[SessionComparisonOutput],
        described("The sessions by start; old data without a session last."),
    ]


class MigrationComparisonOutput(JsonOutput):
    """Old and new data of the migrations."""

    groups: Annotated[list[GroupComparisonOutput], described("The groups, by name.")]
    fact_similarity: Annotated[
        float,
        described("Cosine from which a new fact that shares an entity expresses an old one."),
    ]
    probe_limit: Annotated[
        int, described("Sessions among which that of a probe must be, to be found.")
    ]
    compared_at: Annotated[Timestamp, described("When they were compared.")]


def migration_comparison_output(report: MigrationComparison) -> MigrationComparisonOutput:
    return MigrationComparisonOutput(
        groups=[_group(group) for group in report.groups],
        fact_similarity=report.fact_similarity,
        probe_limit=report.probe_limit,
        compared_at=timestamp(report.compared_at),
    )


def _group(group: GroupComparison) -> GroupComparisonOutput:
    return GroupComparisonOutput(
        group=group.group,
        migration_id=group.migration_id,
        passed=group.passed,
        reasons=list(group.reasons),
        old=_size(group.old),
        new=_size(group.new),
        lost_facts=group.lost_facts,
        expressed=group.expressed,
        entities_lost=list(group.entities_lost),
        entities_gained=list(group.entities_gained),
        old_dates=_dates(group.old_dates),
        new_dates=_dates(group.new_dates),
        old_hit_rate=group.old_hit_rate,
        new_hit_rate=group.new_hit_rate,
        are_probes_generated=group.are_probes_generated,
        probes=[_probe(probe) for probe in group.probes],
        sessions=[_session(session) for session in group.sessions],
    )


def _session(session: ComparedSession) -> SessionComparisonOutput:
    return SessionComparisonOutput(
        session_id=session.session_id,
        format=session.format,
        started_at=timestamp(session.started_at),
        old=_size(session.old),
        new=_size(session.new),
        lost_facts=[_lost(fact) for fact in session.lost_facts],
        entities_lost=list(session.entities_lost),
        entities_gained=list(session.entities_gained),
        old_dates=_dates(session.old_dates),
        new_dates=_dates(session.new_dates),
    )


def _lost(fact: LostFact) -> LostFactOutput:
    return LostFactOutput(
        fact=fact.uuid,
        text=fact.text,
        valid_at=timestamp(fact.valid_at),
        nearest=fact.nearest,
        similarity=fact.similarity,
        shares_entity=fact.shares_entity,
    )


def _probe(result: ProbeResult) -> ProbeOutput:
    return ProbeOutput(
        question=result.probe.question,
        sessions=list(result.probe.sessions),
        old_rank=result.old_rank,
        new_rank=result.new_rank,
    )


def _size(size: DataSize) -> DataSizeOutput:
    return DataSizeOutput(
        episodes=size.episodes, entities=size.entities, facts=size.facts, chars=size.chars
    )


def _dates(dates: FactDates) -> FactDatesOutput:
    return FactDatesOutput(facts=dates.facts, undated=dates.undated, outside=dates.outside)
