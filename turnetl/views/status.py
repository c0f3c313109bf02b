"""The status of groups: what the graph holds, and why the other turns are not in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from turnetl.base.text import format_cost, format_minute, plural
from turnetl.graph.migrations import MigrationPhase, migration_message, phase_text
from turnetl.index.index_report import IndexStatus
from turnetl.ingestion.ingest_report import TurnsOfGroup, error_messages, stale_part_line
from turnetl.ingestion.reasons import PendingReason
from turnetl.status_report import GroupStatus, StatusReport
from turnetl.summaries.reasons import GateReason, refreshed, skipped
from turnetl.views import costs, index
from turnetl.views.nodes import (
    Caption,
    Column,
    Frame,
    Lines,
    Node,
    Table,
    View,
    counted,
    line,
    tally,
    unwrapped,
)

_LISTED = 3
"""Quarantined turns of a group that a message lists; --json has all."""
_STOPPED = "stopped"
_INGESTED = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)
"""Phases of a migration in which an ingest adds turns to the group."""

# One column: beside the numbers, a terminal of 80 columns has no room for two.
_COLUMNS = (
    Column("group\n  not in the graph, and why"),
    *(
        Column(name, is_number=True, is_wrapped=False)
        for name in ("turns", "committed", "pending", "entities", "facts")
    ),
)


def next_step(read: IndexStatus | None, command: Callable[..., str], *, has_install: bool) -> View:
    """Return what was read so far, and the commands for what comes next."""
    if read is None or not read.turns:
        steps = [(command("backfill"), "find what your agents archived here, and read it")]
        summary = "Nothing is read yet."
        rest = f"It shows what it found, and asks first. All commands: {command('--help')}"
    else:
        steps = [
            (f'{command("search")} "why did we …"', "find what was decided, built, fixed"),
            (command("serve"), "browse all of it in a browser"),
            *([(command("install"), "let your agents search it")] if has_install else []),
        ]
        projects = sum(group.turns > 0 for group in read.groups)
        summary = f"{plural(read.turns, 'turn')} of {plural(projects, 'project')}"
        summary += f", last read {format_minute(read.caught_up_at)}."
        rest = f"{command('backfill')} reads what is new. All commands: {command('--help')}"
    width = max(len(text) for text, _ in steps)
    lines = [unwrapped((f"  {text:<{width}}", "bold"), f"  {what}") for text, what in steps]
    return [summary, "", *lines, "", rest]


def view(report: StatusReport) -> View:
    """Return a row per group, and below it the turns that are not in the graph, and its cost."""
    if not report.groups:
        return [Caption(_summary(report))]
    rows = [row for group in report.groups for row in _rows(group)]
    cost = [Caption(costs.OF_TURNS)] if report.usage.calls else []
    index_line = Caption(index.status_line(report.index, report.index_problem))
    table = Table(_COLUMNS, rows, Frame.HEAD, padding=1)
    return [table, Caption(_summary(report)), *cost, index_line]


def _rows(group: GroupStatus) -> Iterator[Sequence[Node]]:
    counts = counted((group.turns, group.committed, group.pending))
    yield line((group.group, "bold")), *counts, *graph_counts(group)[1:]
    for text in (*uncommitted_lines(group, [*_archive_lines(group)]), *_other_lines(group)):
        yield (Lines([_reason(text)], indent=2),)


def _archive_lines(group: GroupStatus) -> Iterator[str]:
    if group.missing_archives:
        yield f"(missing archives: {len(group.missing_archives):,}; their turns stay)"
    if group.retained_turns:
        yield f"(no longer in their archives: {group.retained_turns:,}; they stay)"


def _other_lines(group: GroupStatus) -> Iterator[str]:
    """Yield what the group was filled with and what that cost, and which other data it has."""
    uses = group.extractor_uses
    names = [f"{use.extractor} {use.model}" if use.model else use.extractor for use in uses]
    if len(uses) > 1:
        names = [f"{use.turns:,} {name}" for use, name in zip(uses, names, strict=True)]
    if names:
        yield f"(filled with: {', '.join(names)})"
    if (usage := group.total_usage).calls:
        yield f"(cost: {format_cost(usage.cost)}, {usage.tokens:,} tokens)"
    if group.summaries:
        yield f"(summaries: {summaries_line(group.summaries)})"
    if (found := group.session_level) is not None:
        entities = plural(found.entities, "entity", "entities")
        episodes, facts = plural(found.episodes, "episode"), plural(found.facts, "fact")
        yield f"(session level, without turns: {episodes}, {entities}, {facts})"
    if group.migration:
        phase = phase_text(group.migration.phase)
        yield f"(migration {group.migration.migration_id}: {phase})"


def messages(report: StatusReport) -> list[str]:
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
    counts = (group.counts.episodes, group.counts.entities, group.counts.facts)
    return ["?" if count is None else f"{count:,}" for count in counts]


def uncommitted_lines(group: TurnsOfGroup, archives: Sequence[str] = ()) -> list[str]:
    """Return a line per reason for which turns are not in the graph, and lines about the others."""
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
    if apart := group.unjoined_archives:
        sessions = "session is" if apart == 1 else "sessions are"
        lines.append(f"({plural(apart, 'subagent archive')} whose {sessions} not here)")
    if group.error:
        lines.append(_STOPPED)
    return lines


def reasons_cell(lines: Sequence[str]) -> Node:
    return Lines([_reason(text) for text in lines]) if lines else "-"


def _reason(text: str) -> Node:
    return line((text, "red")) if text == _STOPPED else text


def summaries_line(counts: Mapping[GateReason, int]) -> str:
    outcomes = (("written", refreshed(counts)), ("kept", skipped(counts)))
    return "; ".join(
        f"{sum(found.values()):,} {name}" + (f" ({tally(found.items())})" if found else "")
        for name, found in outcomes
    )


def summaries(groups: Sequence[TurnsOfGroup]) -> View:
    """Return the decisions about summaries, a row per group that has any."""
    rows = [
        (group.group, *(tally(found(counts).items()) or "0" for found in (refreshed, skipped)))
        for group in groups
        if (counts := group.summaries)
    ]
    headers = ("group", "summary_refreshed", "summary_skipped")
    return [Table([*map(Column, headers)], rows)] if rows else []


def group_messages(group: TurnsOfGroup) -> list[str]:
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
    if group.stale:
        stale = plural(group.stale, "turn is stale", "turns are stale")
        remedy = f"`turnetl redo --stale --group {group.group}` ingests what is not noise again"
        listed.append(f"group `{group.group}`: {stale}; {remedy}, `--dry-run` shows what changes")
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
    count = group.uncommitted_reasons[PendingReason.NO_TIME]
    what = "1 turn has" if count == 1 else f"{count:,} turns have"
    whose = ("its", "its file") if count == 1 else ("their", "their files")
    return (
        f"group `{group.group}`: {what} no time and {'is' if count == 1 else 'are'} pending; set "
        f"{whose[0]} time with `--assume-time mtime`, that of {whose[1]}, or with an ISO time"
    )


def _stale_reasons(group: TurnsOfGroup) -> str:
    reasons = group.stale_reasons.items()
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons)


def _unfiltered(report: StatusReport) -> int:
    reasons = (group.pending_reasons for group in report.groups)
    return sum(of_group.get(PendingReason.UNFILTERED, 0) for of_group in reasons)


def _is_ingested(group: GroupStatus) -> bool:
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
