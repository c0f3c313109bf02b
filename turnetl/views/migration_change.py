"""A cutover, a rollback or a finish: what it moves or deletes, before and after it was done."""

from collections.abc import Iterator

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.graph.migrations import phase_text, remedy
from turnetl.migration.moves import MigrationChange, MigrationCommand, Moves
from turnetl.views.nodes import (
    Caption,
    Column,
    Node,
    Table,
    View,
    counted,
    limited,
    numbers,
    section,
)

NOT_CONFIRMED = "nothing was changed: confirm it on a terminal, or add --yes"
_KINDS = ("episodes", "entities", "facts", "sagas", "communities")


def preview(report: MigrationChange) -> View:
    new = limited(report.new_episodes, lambda one: f"{one.uuid}  {one.name}")
    listed = section("written since the last run; they stay", new)
    return [*_counts(report), *listed, Caption("nothing was changed yet")]


def result(report: MigrationChange) -> View:
    migration = report.migration
    phase = f"group `{migration.group_id}` is {phase_text(migration.phase)}: {remedy(migration)}"
    return [*_counts(report), Caption(phase)]


def question(report: MigrationChange) -> str:
    group = report.migration.group_id
    match report.command:
        case MigrationCommand.CUTOVER:
            return f"Give the name `{group}` to {plural(report.turn_count, 'turn')}?"
        case MigrationCommand.ROLLBACK:
            deleted = " and delete its turns" if report.discards else ""
            return f"Take the migration of `{group}` back{deleted}?"
        case MigrationCommand.FINISH:
            return f"Delete the old data of `{group}` for good?"


def messages(report: MigrationChange) -> list[str]:
    refused = [report.error] if report.error is not None else [*report.objections]
    new = len(report.new_episodes)
    if new and report.command is MigrationCommand.CUTOVER:
        refused.append(
            f"{plural(new, 'episode')} written since the last run: they stay with group "
            f"`{report.migration.group_id}`; `turnetl migrate run ARCHIVES` replaces them by turns"
        )
    missing = report.migration.turns - report.turn_count
    if missing > 0 and report.command is MigrationCommand.FINISH and not report.is_refused:
        refused.append(
            f"{plural(missing, 'turn')} of the {report.migration.turns:,} that replaced the old "
            f"data of group `{report.migration.group_id}` are no longer in the graph"
        )
    if report.kept_in_lake and not report.is_refused:
        group = report.migration.group_id
        refused.append(
            f"{plural(report.kept_in_lake, 'turn')} of group `{group}` are parsed in the lake and "
            "stay there: the next `turnetl ingest` adds them to the group; to prevent that, move "
            f"the folder `turns/{group}` of the lake away"
        )
    return refused


def exit_code(report: MigrationChange) -> int:
    return report.exit_code or (ExitCode.FAILED if report.is_refused else ExitCode.DONE)


def _counts(report: MigrationChange) -> Iterator[Node]:
    """Yield a table of what is moved, deleted and kept, and below it where that goes.

    A column with names of groups would make it wider than a terminal.
    """
    rows = [row for row in _rows(report) if len(row[1])]
    if rows:
        cells = [
            (name, *counted(len(getattr(moves, kind)) for kind in _KINDS))
            for name, moves, _ in rows
        ]
        yield Table((Column("data"), *numbers(*_KINDS)), cells)
    for name, _, fate in rows:
        yield f"{name}: {fate}"


def _rows(report: MigrationChange) -> Iterator[tuple[str, Moves, str]]:
    """Yield the name of each kind of data, its uuids, and what happens to it."""
    group = report.migration.group_id
    of_old, of_turns = _fates(report)
    yield "old data", report.old, of_old
    yield "turns", report.turns, of_turns
    yield "used by other data", report.kept, f"stays in `{group}`"
    yield "other episodes", Moves(episodes=report.staying), f"stay in `{group}`"


def _fates(report: MigrationChange) -> tuple[str, str]:
    migration, group = report.migration, report.migration.group_id
    match report.command:
        case MigrationCommand.CUTOVER:
            return f"moves to `{migration.sessions_group}`", f"move to `{group}`"
        case MigrationCommand.ROLLBACK:
            turns = "are deleted" if report.discards else f"move to `{migration.turns_group}`"
            return f"moves to `{group}`", turns
        case MigrationCommand.FINISH:
            return "is deleted", "stay"
