"""The status of groups: what the graph holds, and why the other turns are not in it."""

from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import format_cost, plural
from turnetl.graph.migrations import MigrationPhase
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.report import TurnsOfGroup, error_messages, stale_part_line
from turnetl.migration.phases import migration_message, phase_text
from turnetl.report import costs, index, summary_counts
from turnetl.report.layout import add_group_column, caption, indented
from turnetl.status_report import GroupStatus, StatusReport

_LISTED = 3
"""Quarantined turns of a group that a message lists; --json has all."""
_STOPPED = "stopped"
_INGESTED = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)
"""Phases of a migration in which an ingest adds turns to the group."""


def table(report: StatusReport) -> RenderableType:
    """Render a row per group, and below it the turns that are not in the graph, and its cost."""
    if not report.groups:
        return caption(_summary(report))
    view = Table(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    # One column: beside the numbers, a terminal of 80 columns has no room for two.
    add_group_column(view, "group\n  not in the graph, and why")
    for name in ("turns", "committed", "pending", "entities", "facts"):
        view.add_column(name, justify="right", no_wrap=True)
    for group in report.groups:
        counts = (
            f"{group.turns:,}",
            f"{group.committed:,}",
            f"{group.pending:,}",
        )
        _, entities, facts = graph_counts(group)
        lines = uncommitted_lines(group, _archive_lines(group))
        lines += [*_extractor_lines(group), *_cost_lines(group)]
        lines += [*_summary_lines(group), *_session_level_lines(group), *_migration_lines(group)]
        view.add_row(Text(group.group, style="bold"), *counts, entities, facts)
        for line in lines:
            view.add_row(indented(reasons_cell([line]), 2))
    line = index.status_line(report.index, report.index_problem)
    has_cost = report.usage.calls > 0
    cost = [caption(costs.OF_TURNS)] if has_cost else []
    return Group(view, caption(_summary(report)), *cost, caption(line))


def messages(report: StatusReport) -> list[str]:
    """Return sentences about the graph, quarantined turns, turns without a time, and errors."""
    groups = [message for group in report.groups for message in group_messages(group)]
    caught_up_at = report.index.caught_up_at if report.index else None
    unread = index.unread_messages(report.unread, caught_up_at)
    migrations = [migration_message(group.migration) for group in report.groups if group.migration]
    damaged = [damaged_message(report.damaged_tables)] if report.damaged_tables else []
    return unread + damaged + groups + migrations + error_messages(report.groups)


def damaged_message(tables: int) -> str:
    verb = "is" if tables == 1 else "are"
    return (
        f"{plural(tables, 'table')} of the lake {verb} damaged: `turnetl verify` names each, and "
        "says what to do"
    )


def graph_counts(group: TurnsOfGroup) -> list[str]:
    """Return the numbers of episodes, entities and facts as text."""
    counts = (group.counts.episodes, group.counts.entities, group.counts.facts)
    return ["?" if count is None else f"{count:,}" for count in counts]


def uncommitted_lines(group: TurnsOfGroup, archives: Sequence[str] = ()) -> list[str]:
    """Return a line per reason for which turns are not in the graph, and lines about the others.

    Args:
        group: its turns.
        archives: lines about what became of their archives.
    """
    noise = {f"noise: {rule}": count for rule, count in group.noise.items()}
    pending = {reason.value: count for reason, count in group.uncommitted_reasons.items()}
    lines = [f"{count:,} {name}" for name, count in (noise | pending).items()]
    if group.stale:
        lines.append(f"({group.stale:,} stale, not ingested again: {_stale_reasons(group)})")
        lines += map(stale_part_line, group.stale_parts[:_LISTED])
        if (more := len(group.stale_parts) - _LISTED) > 0:
            lines.append(f"({more:,} more changes of recipes; --json lists all)")
    if group.missing_from_lake:
        lines.append(f"({group.missing_from_lake:,} in the graph, missing from the lake)")
    if group.turns_with_assumed_time:
        lines.append(f"(assumed time: {group.turns_with_assumed_time:,})")
    lines += archives
    if group.error:
        lines.append(_STOPPED)
    return lines


def _archive_lines(group: GroupStatus) -> list[str]:
    lines = []
    if group.missing_archives:
        lines.append(f"(missing archives: {len(group.missing_archives):,}; their turns stay)")
    if group.retained_turns:
        lines.append(f"(no longer in their archives: {group.retained_turns:,}; they stay)")
    return lines


def reasons_cell(lines: Sequence[str]) -> Text:
    """Return the cell of `uncommitted_lines` and further lines."""
    styled = (Text(line, style="red" if line == _STOPPED else "") for line in lines)
    return Text("\n").join(styled) if lines else Text("-")


def group_messages(group: TurnsOfGroup) -> list[str]:
    """Return sentences about quarantined turns and turns without a time."""
    entries = [
        f"turn quarantined: {entry.archive}:{entry.first_line}: {entry.error}; "
        "`turnetl retry` tries it again"
        for entry in group.quarantined_turns
    ]
    listed = entries[:_LISTED]
    if len(entries) > _LISTED:
        listed.append(f"and {len(entries) - _LISTED:,} more of `{group.group}`; --json lists all")
    listed += _superseded_prompts(group)
    if group.uncommitted_reasons.get(PendingReason.NO_TIME):
        listed.append(no_time_message(group))
    return listed


def _superseded_prompts(group: TurnsOfGroup) -> list[str]:
    """Return a sentence with the command for each prompt that is in the graph beside its turn."""
    sentences = [
        f"a prompt of Claude Code's history was ingested before its transcript was read, which "
        f"holds it too: `turnetl undo --turn {turn_id} --cascade` removes it with the turns that "
        "built on it, which `turnetl ingest` ingests again; --dry-run shows them"
        for turn_id in group.superseded_prompts[:_LISTED]
    ]
    if (more := len(group.superseded_prompts) - _LISTED) > 0:
        sentences.append(f"and {more:,} more prompts of `{group.group}`; --json lists all")
    return sentences


def no_time_message(group: TurnsOfGroup) -> str:
    """Return how many turns have no time, and how to set one."""
    count = group.uncommitted_reasons[PendingReason.NO_TIME]
    remedy = "with --assume-time, an ISO time or `mtime`"
    if count == 1:
        return f"group `{group.group}`: 1 turn has no time and is pending; set its time {remedy}"
    return (
        f"group `{group.group}`: {count:,} turns have no time and are pending; set their time "
        f"{remedy}"
    )


def _stale_reasons(group: TurnsOfGroup) -> str:
    reasons = group.stale_reasons.items()
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons)


def _extractor_lines(group: GroupStatus) -> list[str]:
    """Return what the group was filled with; if that was several, with their numbers of turns."""
    uses = group.extractor_uses
    names = [f"{use.extractor} {use.model}" if use.model else use.extractor for use in uses]
    if len(uses) > 1:
        names = [f"{use.turns:,} {name}" for use, name in zip(uses, names, strict=True)]
    return [f"(filled with: {', '.join(names)})"] if names else []


def _session_level_lines(group: GroupStatus) -> list[str]:
    """Return how much of the group is of other programs: part of the entities and facts."""
    found = group.session_level
    if found is None:
        return []
    entities = plural(found.entities, "entity", "entities")
    episodes, facts = plural(found.episodes, "episode"), plural(found.facts, "fact")
    return [f"(session level, without turns: {episodes}, {entities}, {facts})"]


def _migration_lines(group: GroupStatus) -> list[str]:
    found = group.migration
    return [f"(migration {found.migration_id}: {phase_text(found.phase)})"] if found else []


def _cost_lines(group: GroupStatus) -> list[str]:
    usage = group.total_usage
    return [f"(cost: {format_cost(usage.cost)}, {usage.tokens:,} tokens)"] if usage.calls else []


def _summary_lines(group: GroupStatus) -> list[str]:
    return [f"(summaries: {summary_counts.line(group.summaries)})"] if group.summaries else []


def _unfiltered(report: StatusReport) -> int:
    reasons = (group.pending_reasons for group in report.groups)
    return sum(of_group.get(PendingReason.UNFILTERED, 0) for of_group in reasons)


def _is_ingested(group: GroupStatus) -> bool:
    """Return whether no migration keeps the group from an ingest."""
    return group.migration is None or group.migration.phase in _INGESTED


def _summary(report: StatusReport) -> str:
    if not report.groups:
        return "no turns yet: run `turnetl backfill ARCHIVES`"
    if ready := sum(group.ready for group in report.groups if _is_ingested(group)):
        return f"{plural(ready, 'turn is', 'turns are')} ready for `turnetl ingest`"
    if unfiltered := _unfiltered(report):
        return f"{plural(unfiltered, 'turn')} to filter: run `turnetl filter`"
    if report.pending:
        return "Nothing to ingest. Pending turns and reasons are listed above."
    return "nothing is pending"
