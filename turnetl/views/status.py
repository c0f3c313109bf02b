"""The status of groups: what the graph holds, and why the other turns are not in it."""

from collections import Counter
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


def after_search(command: Callable[..., str]) -> list[tuple[str, str]]:
    """Return the commands for all that was read, each with what it is for."""
    return [
        (command("serve"), "browse all of it in a browser"),
        (command("install"), "let your agents search it"),
    ]


def commands(steps: Sequence[tuple[str, str]]) -> View:
    """Return a line per command, with what it is for."""
    width = max(len(text) for text, _ in steps)
    return [unwrapped((f"  {text:<{width}}", "bold"), f"  {what}") for text, what in steps]


def next_step(read: IndexStatus | None, command: Callable[..., str]) -> View:
    """Return what was read so far, and the commands for what comes next."""
    if read is None or not read.turns:
        steps = [(command("backfill"), "find what your agents archived here, and read it")]
        summary = "Nothing has been read yet."
        rest = f"It shows what it found, and asks first. All commands: {command('--help')}"
    else:
        steps = [
            (f'{command("search")} "why did we …"', "find what was decided, built, fixed"),
            *after_search(command),
        ]
        projects = sum(group.turns > 0 for group in read.groups)
        summary = f"{plural(read.turns, 'turn')} of {plural(projects, 'project')}"
        summary += f", last read {format_minute(read.caught_up_at)}."
        rest = f"{command('backfill')} reads what is new. All commands: {command('--help')}"
    return [summary, "", *commands(steps), "", rest]


def rebuild_step(command: Callable[..., str]) -> View:
    """Return how the search index is made that cannot be read."""
    summary = "Turns have been read, but their search index is missing, damaged or in use."
    rest = f"{command('index --rebuild')} makes it again. All commands: {command('--help')}"
    return [summary, "", rest]


def view(report: StatusReport, *, is_verbose: bool = False) -> View:
    """Return a line per group, the totals, what was spent and what to do next.

    Verbose, each group also has the turns that are not in the graph, and what filled it.
    """
    if not report.groups:
        return [Caption(_summary(report))]
    below = [*_spent(report), index.status_line(report.index, report.index_problem)]
    if is_verbose:
        rows = [row for group in report.groups for row in _rows(group)]
        return [Table(_COLUMNS, rows, Frame.HEAD, padding=1), *below, Caption(_summary(report))]
    groups = report.groups
    from turnetl.views.turns import group_notes  # noqa: PLC0415 - imports the search

    notes = (*_reasons(groups), *group_notes(group.group for group in groups), *_contents(groups))
    return [_glance(groups), *notes, *_also(groups), *below, Caption(_summary(report))]


_SHOWN = 10
"""Groups that have a line; of more, those with something to do first, then the largest."""
_COUNTS: Mapping[str, Callable[[GroupStatus], int]] = {
    "turns": lambda group: group.turns,
    "in graph": lambda group: group.committed,
    "noise": lambda group: sum(group.noise.values()),
    "pending": lambda group: group.pending + group.quarantined,
    "stale": lambda group: group.stale,
}


def _glance(groups: Sequence[GroupStatus]) -> Table:
    """Return a line per group, with the counts that are not 0 in all of them."""
    shown = {
        name: count
        for name, count in _COUNTS.items()
        if name in ("turns", "in graph") or any(map(count, groups))
    }

    def row(name: Node, of: Sequence[GroupStatus]) -> Sequence[Node]:
        return [name, *(f"{sum(map(count, of)):,}" for count in shown.values())]

    ordered = sorted(groups, key=lambda one: (not _has_work(one), -one.turns, one.group))
    fold = _SHOWN if len(ordered) > _SHOWN + 1 else len(ordered)
    rows = [row(line((group.group, "bold")), [group]) for group in ordered[:fold]]
    if rest := ordered[fold:]:
        rows.append(row(f"and {len(rest):,} more groups", rest))
    rows += [[], row("all", groups)]
    widths = (
        len(max(name, str(total), key=len)) for name, total in zip(shown, rows[-1][1:], strict=True)
    )
    numbers = (Column(name, True, False, width) for name, width in zip(shown, widths, strict=True))
    return Table((Column("group"), *numbers), rows, Frame.HEAD, padding=1)


def _has_work(group: GroupStatus) -> bool:
    return bool(group.pending or group.quarantined or group.stale or group.error)


def _contents(groups: Sequence[GroupStatus]) -> View:
    """Return how much the graph holds, if it responded."""
    entities = [group.counts.entities for group in groups]
    facts = [group.counts.facts for group in groups]
    if None in entities or None in facts:
        return []
    counts = sum(filter(None, entities)), sum(filter(None, facts))
    return [f"in the graph: {plural(counts[0], 'entity', 'entities')}, {plural(counts[1], 'fact')}"]


def _reasons(groups: Sequence[GroupStatus]) -> View:
    """Return why turns are pending, over all groups."""
    reasons: Counter[str] = Counter()
    for group in groups:
        reasons.update(in_words(group.uncommitted_reasons))
    return [f"pending: {tally((n, c) for n, c in reasons.most_common())}"] if reasons else []


def _also(groups: Sequence[GroupStatus]) -> View:
    """Return in one line what else is known of the groups; verbose, each has its own lines."""
    counts = {
        "missing archives": sum(len(group.missing_archives) for group in groups),
        "turns no longer in their archives": sum(group.retained_turns for group in groups),
        "assumed time": sum(group.turns_with_assumed_time for group in groups),
        "missing from the lake": sum(group.missing_from_lake for group in groups),
        "subagent archives without their session": sum(one.unjoined_archives for one in groups),
        "groups with data of other programs": sum(bool(one.session_level) for one in groups),
        "migrations": sum(group.migration is not None for group in groups),
    }
    found = ", ".join(f"{name}: {count:,}" for name, count in counts.items() if count)
    return [f"{found} (--verbose: which)"] if found else []


def _spent(report: StatusReport) -> View:
    """Return what models cost in all, and its parts; nothing if none was used."""
    in_graph, spent = report.usage, report.spent or report.usage
    if not (spent.calls or in_graph.calls):
        return []
    if spent.tokens <= in_graph.tokens:
        return [f"spent: {costs.used(in_graph)}, all for the turns in the graph"]
    parts = f"{format_cost(in_graph.cost)} for the turns in the graph"
    rest = "the rest for turns that failed or were undone, pilots and questions"
    return [f"spent: {costs.used(spent)}: {parts}, {rest}"]


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


def messages(report: StatusReport, *, is_verbose: bool = True) -> list[str]:
    """Return a sentence about each problem; those of all groups in one unless it is verbose."""
    groups = (
        [message for group in report.groups for message in group_messages(group)]
        if is_verbose
        else messages_of_all(report.groups)
    )
    caught_up_at = report.index.caught_up_at if report.index else None
    unread = index.unread_messages(report.unread, caught_up_at)
    migrations = [migration_message(group.migration) for group in report.groups if group.migration]
    damaged = [damaged_message(report.damaged_tables)] if report.damaged_tables else []
    return unread + damaged + groups + migrations + error_messages(report.groups)


def messages_of_all(groups: Sequence[TurnsOfGroup]) -> list[str]:
    """Return the sentences about one group as they are, else one about each kind of problem."""
    affected = [group for group in groups if group_messages(group)]
    if len(affected) <= 1:
        return [message for group in affected for message in group_messages(group)]
    sentences = []
    for count, what, remedy in (
        (sum(one.quarantined for one in affected), "failed", "`turnetl retry` tries them again"),
        (
            sum(one.stale for one in affected),
            "would look different today",
            "`turnetl redo --stale` ingests them again, `--dry-run` shows what changes and costs",
        ),
        (
            sum(one.uncommitted_reasons.get(PendingReason.NO_TIME, 0) for one in affected),
            "without a time",
            "`turnetl ingest --assume-time mtime` takes that of the file",
        ),
        (
            sum(len(one.superseded_prompts) for one in affected),
            "of Claude Code's history beside their transcripts",
            "`turnetl undo` removes them",
        ),
    ):
        if count:
            sentences.append(
                f"{plural(count, 'turn')} {what}: {remedy}; `turnetl status --verbose` names them"
            )
    return [*sentences, *(text for one in affected for text in held_messages(one))]


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
    pending = in_words(group.uncommitted_reasons)
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


def in_words(reasons: Mapping[PendingReason, int]) -> dict[str, int]:
    return {reason.replace("_", " "): count for reason, count in reasons.items()}


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
    listed += [*_superseded_prompts(group), *held_messages(group)]
    if group.uncommitted_reasons.get(PendingReason.NO_TIME):
        listed.append(no_time_message(group))
    if group.stale:
        stale = plural(group.stale, "turn is stale", "turns are stale")
        remedy = f"`turnetl redo --stale --group {group.group}` ingests what is not noise again"
        listed.append(f"group `{group.group}`: {stale}; {remedy}, `--dry-run` shows what changes")
    return listed


def held_messages(group: TurnsOfGroup) -> list[str]:
    """Return what is held for review, in a sentence; nothing if nothing is."""
    if not group.facts_held:
        return []
    facts = plural(group.facts_held, "fact")
    are = "is" if group.facts_held == 1 else "are"
    what = f"{facts} that a model would have ended {are} held for review"
    return [f"group `{group.group}`: {what}; `turnetl review` lists them"]


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
        return "no turns yet: run `turnetl backfill`"
    if ready := sum(group.ready for group in report.groups if _is_ingested(group)):
        return f"next: {plural(ready, 'turn is', 'turns are')} ready for `turnetl ingest`"
    if unfiltered := _unfiltered(report):
        return f"next: {plural(unfiltered, 'turn')} to filter: run `turnetl filter`"
    if failed := sum(group.quarantined for group in report.groups):
        return f"next: `turnetl retry` for {plural(failed, 'quarantined turn')}"
    if report.pending:
        return "nothing to ingest now: pending turns wait for the reasons above"
    return "next: nothing is pending; `turnetl backfill` reads what is new"
