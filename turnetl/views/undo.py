"""An undo: what it takes and what it changes, before and after it was carried out."""

from operator import attrgetter

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import ID_CHARS, Entity, Fact
from turnetl.base.text import format_minute, plural
from turnetl.ingestion.ingest_report import error_messages
from turnetl.ingestion.undo_report import GroupUndo, Restored, UndoneTurn, UndoReport, ValueChange
from turnetl.retrieval.turn_summary import short_id
from turnetl.views.nodes import (
    Caption,
    Column,
    Line,
    Table,
    View,
    counted,
    limited,
    line,
    numbers,
    section,
)
from turnetl.views.turns import NO_PROMPT

NOT_CONFIRMED = "nothing was undone: confirm it on a terminal, or add --yes"
_VALUE_CHARS = 60

_COLUMNS = (
    Column("group"),
    *numbers("turns", "undone", "entities removed", "entities restored"),
    *numbers("facts removed", "facts restored", "quarantined"),
)


def preview(report: UndoReport) -> View:
    return [*changes(report), "", Caption(_outlook(report))]


def changes(report: UndoReport) -> View:
    """Return counts per group, then turns, dependents, and what is removed and restored."""
    return [_table(report), *(node for group in report.groups for node in _sections(group))]


def result(report: UndoReport) -> View:
    return [_table(report), Caption(_next(report))]


def turn_line(turn: UndoneTurn) -> Line:
    receipt = turn.receipt
    return line(
        (format_minute(receipt.started_at), "cyan"),
        "  ",
        (receipt.turn_id[:ID_CHARS], "bold"),
        f"  session {short_id(receipt.session_id)}  {turn.prompt or NO_PROMPT}",
    )


def question(report: UndoReport) -> str:
    return f"Undo {plural(report.turns, 'turn')}?"


def messages(report: UndoReport) -> list[str]:
    if report.is_refused:
        count = plural(report.dependents, "later turn")
        return [f"{count} built on these turns: nothing is undone; --cascade undoes them too"]
    errors = error_messages(report.groups)
    kept = sum(len(group.entities_kept) for group in report.groups)
    if kept:
        stay, them = plural(kept, "entity stays", "entities stay"), "it" if kept == 1 else "them"
        errors.append(f"{stay}: another program uses {them}")
    return errors


def exit_code(report: UndoReport) -> int:
    codes = (group.exit_code for group in report.groups if group.exit_code)
    return ExitCode.FAILED if report.is_refused else next(codes, ExitCode.DONE)


def _table(report: UndoReport) -> Table:
    rows = []
    for group in report.groups:
        diff = group.diff
        counts = (
            *(len(group.turns), group.undone),
            *(len(diff.entities_removed), len(diff.entities_restored)),
            *(len(diff.facts_removed), len(diff.facts_restored), len(group.quarantined)),
        )
        rows.append((group.group, *counted(counts)))
    return Table(_COLUMNS, rows)


def _sections(group: GroupUndo) -> View:
    diff, name = group.diff, group.group
    dependents = f"{name}: later turns that built on them"
    return [
        *section(f"{name}: turns", limited(group.turns, turn_line)),
        *section(dependents, limited(group.dependents, turn_line)),
        *section(f"{name}: entities removed", limited(diff.entities_removed, _entity)),
        *section(f"{name}: entities restored", limited(diff.entities_restored, _restored)),
        *section(f"{name}: facts removed", limited(diff.facts_removed, attrgetter("text"))),
        *section(f"{name}: facts restored", limited(diff.facts_restored, _restored)),
    ]


def _outlook(report: UndoReport) -> str:
    if report.is_refused:
        return "nothing is undone"
    return "undone turns would be pending again, for the next `turnetl ingest`"


def _next(report: UndoReport) -> str:
    if report.is_refused:
        return "nothing is undone"
    again = "undone turns are pending again: the next `turnetl ingest` takes them"
    return f"{plural(report.undone, 'turn')} undone; {again}" if report.undone else again


def _entity(entity: Entity) -> str:
    return f"{entity.name}  ({', '.join(entity.labels)})"


def _restored(pair: Restored[Entity] | Restored[Fact]) -> Line:
    now = pair.now
    name = now.name if isinstance(now, Entity) else now.text
    changes = "; ".join(map(_change, pair.changes))
    return line(name, (f"  {changes}", "dim"))


def _change(change: ValueChange) -> str:
    return f"{change.field}: {_short(change.now)} → {_short(change.restored)}"


def _short(value: str | None) -> str:
    if not value:
        return "none"
    return value if len(value) <= _VALUE_CHARS else f"{value[: _VALUE_CHARS - 1]}…"
