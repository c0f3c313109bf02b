"""`turnetl status --json`, and what it shares with `ingest` about a group."""

from typing import Annotated, Any

from turnetl.base.model import Usage
from turnetl.base.result_schema import Timestamp, encoded_type
from turnetl.base.results import JsonOutput, described
from turnetl.graph.migrations import MigrationPhase, MigrationSummary
from turnetl.graph.session_level import SessionLevelCounts
from turnetl.index.report import IndexStatus
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.ingestion.report import GroupReport
from turnetl.ingestion.stale_parts import StalePart
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output
from turnetl.status_report import StatusReport
from turnetl.summaries.reasons import GateReason, refreshed, skipped


class QuarantinedTurnOutput(JsonOutput):
    """A quarantined turn."""

    turn_id: fields.TurnIdField
    error: Annotated[str, described("Why it is quarantined, in one sentence.")]
    archive: Annotated[str, described("Path of the archive that holds it.")]
    first_line: Annotated[int, described("Its first line in the archive, from 1.")]


class StalePartOutput(JsonOutput):
    """A part of recipes that is not as it was when turns were committed."""

    part: Annotated[
        str, described("Name of the part; `recipe` if the parts of the old one are not known.")
    ]
    old: Annotated[str | None, described("Its value in the receipts; null if it had none.")]
    new: Annotated[str | None, described("Its value today; null if it has none.")]
    name: Annotated[str, described("Name of the template today; empty for other parts.")]
    turns: Annotated[int, described("Stale turns; a turn may be counted for several parts.")]


class GroupOutput(JsonOutput):
    """The turns of a group, each counted once: committed, quarantined, pending or noise."""

    group: fields.GroupField
    pending: Annotated[int, described("Turns that are not in the graph yet.")]
    quarantined: Annotated[int, described("Turns that failed; `turnetl retry` tries them again.")]
    uncommitted_reasons: Annotated[
        dict[PendingReason, int],
        described("Pending and quarantined turns by reason.", keys=PendingReason),
    ]
    noise: Annotated[dict[str, int], described("Turns that are noise, by rule.")]
    stale: Annotated[
        int,
        described("Turns in the graph that a run would commit differently today."),
    ]
    stale_reasons: Annotated[
        dict[StaleReason, int], described("Stale turns by reason.", keys=StaleReason)
    ]
    stale_parts: Annotated[
        list[StalePartOutput], described("What changed in the recipes of stale turns.")
    ]
    missing_from_lake: Annotated[
        int, described("Turns in the graph that the lake no longer holds.")
    ]
    superseded_prompts: Annotated[
        list[str],
        described(
            "Of these, the prompts of Claude Code's history whose transcripts the lake holds now: "
            "`turnetl undo --turn ID "
            "--cascade` removes one with the turns that built on it."
        ),
    ]
    turns_with_assumed_time: Annotated[
        int, described("Turns whose time was given with --assume-time.")
    ]
    episodes: Annotated[
        int | None, described("Episodes in the graph; null if the graph did not respond.")
    ]
    entities: Annotated[int | None, described("Entities in the graph; null as `episodes`.")]
    facts: Annotated[int | None, described("Facts in the graph; null as `episodes`.")]
    quarantined_turns: Annotated[list[QuarantinedTurnOutput], described("The quarantined turns.")]
    error: Annotated[str | None, described("Why the group was not completed; null if it was.")]


class ExtractorOutput(JsonOutput):
    """The turns of a group in the graph that one extractor made, with one model."""

    extractor: Annotated[str, described("Name of the extractor.")]
    model: Annotated[
        str | None, described("Model with its provider; null if the extractor uses none.")
    ]
    committed: Annotated[int, described("Turns in the graph.")]


class SessionLevelOutput(JsonOutput):
    """What other programs wrote into a group and no turn states: part of the group's counts."""

    episodes: Annotated[int, described("Episodes without a TurnCommit.")]
    entities: Annotated[int, described("Entities that only these episodes mention.")]
    facts: Annotated[int, described("Facts that only these episodes state.")]


class StatusMigrationOutput(JsonOutput):
    """A migration that is not finished."""

    migration_id: Annotated[str, described("Id of the migration.")]
    phase: Annotated[MigrationPhase, described("How far it is.")]
    started_at: Annotated[Timestamp, described("When its first run began.")]


class StatusGroupOutput(GroupOutput):
    """The status of a group."""

    turns: Annotated[int, described("Turns in the lake or in the graph.")]
    committed: Annotated[int, described("Turns in the graph.")]
    missing_archives: Annotated[
        list[str],
        described("Archives that no longer exist at their path; their turns stay."),
    ]
    retained_turns: Annotated[
        int, described("Turns that their archives held once and no longer hold; they stay.")
    ]
    session_level: Annotated[
        SessionLevelOutput | None,
        described(
            "The part of `episodes`, `entities` and `facts` that other programs wrote and no turn "
            "states; null if there is none, if the graph did not respond, or while a migration "
            "moves data."
        ),
    ]
    migration: Annotated[
        StatusMigrationOutput | None,
        described("The migration of the group that is not finished; null if there is none."),
    ]
    usage: Annotated[UsageOutput, described("Usage of the turns in the graph, over all runs.")]
    summary_refreshed: Annotated[
        dict[GateReason, int],
        described(
            "Decisions of turns in the graph to write a summary, by reason.", keys=GateReason
        ),
    ]
    summary_skipped: Annotated[
        dict[GateReason, int],
        described(
            "Decisions of turns in the graph to keep a summary, by reason.",
            keys=GateReason,
        ),
    ]
    extractors: Annotated[
        list[ExtractorOutput], described("What made the turns in the graph, the latest last.")
    ]


class StatusOutput(JsonOutput):
    """The status of all groups in the lake or in the graph."""

    committed: Annotated[int, described("Turns in the graph.")]
    quarantined: Annotated[int, described("Turns that failed; `turnetl retry` tries them again.")]
    pending: Annotated[int, described("Turns that are not in the graph yet.")]
    turns_with_assumed_time: Annotated[
        int, described("Turns whose time was given with --assume-time.")
    ]
    usage: Annotated[UsageOutput, described("Usage of the turns in the graph, over all runs.")]
    groups: Annotated[list[StatusGroupOutput], described("The groups, sorted by name.")]
    index: Annotated[
        encoded_type(IndexStatus) | None,  # type: ignore[valid-type]
        described("The search index; null if there is none to read."),
    ]
    index_problem: Annotated[
        str | None,
        described(
            "Why a search would not use the index as it is, and what to do; null if it would."
        ),
    ]
    damaged_tables: Annotated[
        int,
        described("Damaged tables of the lake; `turnetl verify` reads all tables, and names them."),
    ]
    unread: Annotated[
        str | None,
        described("Why the graph was not read: the report is of the index; null if it was."),
    ]


def status_output(report: StatusReport) -> StatusOutput:
    groups = [_status_group(group) for group in report.groups]
    usage = sum((group.usage or Usage() for group in report.groups), Usage())
    return StatusOutput(
        committed=sum(group.committed for group in groups),
        quarantined=report.quarantined,
        pending=report.pending,
        turns_with_assumed_time=sum(group.turns_with_assumed_time for group in groups),
        usage=usage_output(usage),
        groups=groups,
        index=report.index,
        index_problem=report.index_problem,
        damaged_tables=report.damaged_tables,
        unread=report.unread,
    )


def _status_group(report: GroupReport) -> StatusGroupOutput:
    return StatusGroupOutput(
        **group_values(report),
        turns=report.turns + report.missing_from_lake,
        committed=report.in_graph + report.missing_from_lake,
        missing_archives=list(report.missing_archives),
        retained_turns=report.retained_turns,
        session_level=_session_level(report.session_level),
        migration=_migration(report.migration),
        usage=usage_output(report.usage or Usage()),
        summary_refreshed=refreshed(report.summaries or {}),
        summary_skipped=skipped(report.summaries or {}),
        extractors=[
            ExtractorOutput(extractor=use.extractor, model=use.model, committed=use.turns)
            for use in report.extractor_uses
        ],
    )


def _session_level(counts: SessionLevelCounts | None) -> SessionLevelOutput | None:
    if counts is None or not counts.episodes:
        return None
    return SessionLevelOutput(
        episodes=counts.episodes, entities=counts.entities, facts=counts.facts
    )


def _migration(summary: MigrationSummary | None) -> StatusMigrationOutput | None:
    if summary is None:
        return None
    return StatusMigrationOutput(
        migration_id=summary.migration_id,
        phase=summary.phase,
        started_at=timestamp(summary.started_at),
    )


def group_values(report: GroupReport) -> dict[str, Any]:
    """Return the values of `GroupOutput`, for the objects that extend it."""
    counts = report.counts
    return {
        "group": report.group,
        "pending": report.pending,
        "quarantined": report.quarantined,
        "uncommitted_reasons": report.uncommitted_reasons,
        "noise": dict(report.noise or {}),
        "stale": report.stale,
        "stale_reasons": dict(report.stale_reasons or {}),
        "stale_parts": [stale_part_output(part) for part in report.stale_parts],
        "missing_from_lake": report.missing_from_lake,
        "superseded_prompts": list(report.superseded_prompts),
        "turns_with_assumed_time": report.turns_with_assumed_time,
        "episodes": counts and counts.episodes,
        "entities": counts and counts.entities,
        "facts": counts and counts.facts,
        "quarantined_turns": [quarantined_turn_output(entry) for entry in report.quarantined_turns],
        "error": report.error,
    }


def quarantined_turn_output(entry: QuarantineEntry) -> QuarantinedTurnOutput:
    return QuarantinedTurnOutput(
        turn_id=entry.turn_id,
        error=entry.error,
        archive=entry.archive,
        first_line=entry.first_line,
    )


def stale_part_output(stale: StalePart) -> StalePartOutput:
    named = stale.new or stale.old
    return StalePartOutput(
        part=stale.part,
        old=stale.old.value if stale.old else None,
        new=stale.new.value if stale.new else None,
        name=named.name if named else "",
        turns=stale.turns,
    )
