"""A redo: which turns it repeats and why, and what it takes; before and after it was done."""

from collections.abc import Iterator

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import ID_CHARS
from turnetl.base.text import format_cost, listed, plural
from turnetl.ingestion.duplicate_entities import CROWD, Duplicate, NamedEntity
from turnetl.ingestion.ingest_report import error_messages, stale_part_line
from turnetl.ingestion.redo_report import GroupRedo, RedoReport, RequestCounts
from turnetl.ingestion.undo_report import UndoneTurn
from turnetl.pipeline.run_merge import DuplicateReport
from turnetl.views import costs, status
from turnetl.views.nodes import (
    Caption,
    Column,
    Line,
    Lines,
    Node,
    Table,
    View,
    counted,
    limited,
    line,
    numbers,
    section,
)
from turnetl.views.undo import turn_line

NOT_CONFIRMED = "nothing was redone: confirm it on a terminal, or add --yes"

_MOST_GROUPS = 5

_COLUMNS = (
    Column("group"),
    *numbers("selected", "later", "noise now", "requests", "from journal", "undone", "ingested"),
)


def preview(report: RedoReport) -> View:
    if not report.groups:
        return [Caption(_nothing(report))]
    sections = [node for group in report.groups for node in _sections(group)]
    return [_table(report), *sections, "", Caption(_expected(report))]


def result(report: RedoReport) -> View:
    if not report.groups:
        return [Caption(_nothing(report))]
    return [
        _table(report),
        Caption(_outcome(report)),
        *costs.view(report.usage_by_prompt),
        *costs.compared(report.estimate, report.usage_by_prompt),
    ]


def duplicates(report: DuplicateReport) -> View:
    """Return the pairs of entities that may be one, and the redo with which they were merged."""
    done = result(report.redo) if report.redo is not None else []
    captions = [Caption(text) for text in (_merged(report), _crowded(report)) if text]
    return [*limited(report.duplicates, _duplicate), *done, *captions]


def _duplicate(pair: Duplicate) -> Node:
    cosine = "" if pair.similarity is None else f", cosine {pair.similarity:.2f}"
    joined = ", but a fact joins them" if pair.joined else ""
    apart = ", but a person split them" if pair.kept_apart else ""
    names = line(
        (f"{pair.certainty:.2f}  ", "cyan"),
        (pair.kept.name, "bold"),
        " is ",
        (pair.merged.name, "bold"),
        (f"  {pair.form}{cosine}{joined}{apart}  {pair.group_id}", "dim"),
    )
    named = [_named(entity) for entity in (pair.kept, pair.merged)]
    shared = [f"both: {text}" for text in pair.shared_facts]
    return Lines([names, Lines([*named, *shared], indent=6)])


def _named(entity: NamedEntity) -> Line:
    turns = ", ".join(f"{turn.archive}:{turn.first_line}" for turn in entity.first_turns)
    labels = ", ".join(entity.labels) or "entity"
    return line(
        f"{labels} {entity.id[:ID_CHARS]}, {plural(entity.turns, 'turn')}: {turns or 'no turn'}"
    )


def _merged(report: DuplicateReport) -> str:
    if not report.duplicates:
        return "No two entities look like one."
    pairs = plural(len(report.duplicates), "pair")
    certain = (
        f"{pairs}, {len(report.certain):,} of them certain (from {report.certain_from:.2f} on)"
    )
    if report.redo is None:
        return f"{certain}: `--yes` merges these, `turnetl entity merge ID ID` any other."
    merged = f"{certain}: {plural(report.merged, 'entity is', 'entities are')} part of another now"
    if not report.unmerged:
        return f"{merged}."
    groups = listed([f"`{group}`" for group in report.unmerged], _MOST_GROUPS)
    return f"{merged}; not merged, or not completely: what is certain in {groups}."


def _crowded(report: DuplicateReport) -> str:
    if not report.crowded_names:
        return ""
    names = plural(report.crowded_names, "name is", "names are")
    return f"{names} shared by more than {CROWD} entities of a group: they are not compared."


def question(report: RedoReport) -> str:
    groups = [group for group in report.groups if group.error is None]
    turns, used = plural(sum(group.turns for group in groups), "turn"), report.used
    cost = f", which cost {format_cost(used.cost)} when they were ingested" if used.cost else ""
    return f"Redo {turns}{cost}?"


def messages(report: RedoReport) -> list[str]:
    sentences = []
    for group in report.groups:
        sentences += status.group_messages(group.ingested) if group.ingested else []
        sentences += error_messages([group])
        if group.pending:
            sentences.append(
                f"group `{group.group}`: {plural(group.pending, 'turn')} undone and not ingested "
                "again yet: the next `turnetl ingest` takes them"
            )
    if report.groups and report.ready:
        # Nothing records which of them a killed redo undid.
        turns = plural(report.ready, "other turn is", "other turns are")
        sentences.append(
            f"{turns} pending, new or undone by an interrupted redo: run `turnetl ingest`"
        )
    return sentences


def exit_code(report: RedoReport) -> int:
    """Return the exit code: failures win over a stop, which wins over quarantined turns."""
    codes = {group.exit_code for group in report.groups} - {ExitCode.DONE}
    if codes:
        return min(codes)
    failed = any(group.quarantined_turns for group in report.groups)
    return ExitCode.FOUND if failed else ExitCode.DONE


def _table(report: RedoReport) -> Table:
    rows = []
    for group in report.groups:
        counts = (
            *(len(group.selected), len(group.later), sum(group.left_out.values())),
            *(group.extraction.requests, group.extraction.answered),
            *(group.undone, group.committed),
        )
        rows.append((group.group, *counted(counts)))
    return Table(_COLUMNS, rows)


def _sections(group: GroupRedo) -> View:
    name = group.group
    later = f"{name}: later turns, which are repeated too (* built on selected ones)"
    return [
        *section(f"{name}: what made them stale", _reasons(group)),
        *section(f"{name}: turns", limited(group.selected, turn_line)),
        *section(later, limited(group.later, lambda turn: _later(turn, group))),
    ]


def _reasons(group: GroupRedo) -> Iterator[str]:
    for reason, count in group.stale_reasons.items():
        yield f"{plural(count, 'turn')}: {reason.replace('_', ' ')}"
    yield from map(stale_part_line, group.stale_parts)
    for rule, count in group.left_out.items():
        yield f"{plural(count, 'turn')} not ingested again: noise, {rule}"


def _later(turn: UndoneTurn, group: GroupRedo) -> Line:
    is_dependent = turn.receipt.turn_id in group.dependents
    return line("* " if is_dependent else "  ", *turn_line(turn).parts)


def _expected(report: RedoReport) -> str:
    extraction, used = report.extraction, report.used
    parts = [f"this redo repeats {plural(report.turns, 'turn')}"]
    if extraction != RequestCounts():
        parts.append(
            f"{plural(extraction.requests, 'request')} to extract them, about "
            f"{extraction.tokens:,} tokens ({extraction.answered:,} more answered by the journal)"
        )
    if used.calls:
        parts.append(
            f"when they were ingested, all their requests were {used.calls:,} with "
            f"{used.tokens:,} tokens, cost: {format_cost(used.cost)}"
        )
    return "; ".join(parts)


def _outcome(report: RedoReport) -> str:
    usage = costs.total(report.usage_by_prompt)
    parts = [f"{plural(report.undone, 'turn')} undone, {report.committed:,} ingested again"]
    if usage.calls or report.journal_hits:
        parts.append(
            f"{plural(usage.calls, 'call')}, {plural(usage.tokens, 'token')}, "
            f"{plural(report.journal_hits, 'response')} from the journal, "
            f"cost: {format_cost(usage.cost)}"
        )
    return "; ".join(parts)


def _nothing(report: RedoReport) -> str:
    if report.selection.turns is not None:
        return "this is one entity already: there is nothing to merge"
    ready = f"; {plural(report.ready, 'turn')} ready for `turnetl ingest`" if report.ready else ""
    return f"nothing is stale: there is nothing to redo{ready}"
