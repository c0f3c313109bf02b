"""What `forget` removes, before and after it was carried out. Texts of turns are not printed."""

from collections.abc import Sequence

from turnetl.base.exit_code import ExitCode
from turnetl.base.object_url import path_text
from turnetl.base.text import plural
from turnetl.ingestion.forget import ForgetReport, TurnToForget
from turnetl.ingestion.ingest_report import error_messages
from turnetl.views import undo as undo_view
from turnetl.views.nodes import Caption, Node, View, limited, section

NOT_CONFIRMED = "nothing was removed: confirm it on a terminal, or add --yes"
_LINES = 20
"""Archives and places that are listed; `--json` has all."""


def preview(report: ForgetReport) -> View:
    graph = undo_view.changes(report.undo) if report.undo.groups else []
    return [
        _scope(report),
        *section(_ARCHIVES, _archives(report)),
        *section(_DAMAGED, _damaged_tables(report)),
        *graph,
        "",
        Caption(_outlook(report)),
    ]


def result(report: ForgetReport) -> View:
    found = limited(report.found, lambda found: f"{found.path}: {found.place}", _LINES)
    return [
        _scope(report),
        _removed(report),
        *section("still found", found),
        *section(_ARCHIVES, _archives(report)),
        *section(_DAMAGED, _damaged_tables(report)),
        "",
        Caption(_proof(report)),
    ]


def question(report: ForgetReport) -> str:
    return f"Remove {plural(len(report.turns), 'turn')} for good?"


def messages(report: ForgetReport) -> list[str]:
    if report.is_refused:
        count = report.undo.dependents
        turns, hold = plural(count, "later turn"), "holds" if count == 1 else "hold"
        reason = (
            f"{turns} built on these turns, or {hold} what was taken from them: nothing is "
            "removed; --cascade undoes later turns too, and the next `turnetl ingest` takes them "
            "again"
        )
        return [reason]
    errors = error_messages(report.undo.groups)
    errors += [
        f"group `{group}`: the session-level data that its migration replaces is of these sessions "
        "too; another program wrote it, and it stays: `turnetl migrate finish` deletes it after "
        "the cutover"
        for group in report.summarised
    ]
    if report.errors:
        errors.append("the removal is not complete: run `turnetl forget` again to continue it")
    if report.found:
        found = plural(len(report.found), "place still holds", "places still hold")
        errors.append(f"{found} what was to be forgotten")
    if report.graph_server:
        errors.append(
            f"the store files, transaction logs and backups of {report.graph_server} are not "
            "searched: only its stored values are"
        )
    return errors


def exit_code(report: ForgetReport) -> int:
    """Return 1 if something was not removed, or was found afterwards."""
    is_done = not report.is_begun or report.is_proven
    return ExitCode.DONE if is_done and not report.is_refused else ExitCode.FAILED


_ARCHIVES = "archives that still hold these turns; turnetl never changes them"
_DAMAGED = "damaged tables that may hold these turns; they are deleted"


def _scope(report: ForgetReport) -> str:
    archives = plural(len(report.lines_by_archive), "archive")
    turns, sessions = plural(len(report.turns), "turn"), plural(report.sessions, "session")
    resumed = "; with those of a removal that was interrupted" if report.is_resumed else ""
    return f"{turns} of {sessions} in {archives}{resumed}"


def _outlook(report: ForgetReport) -> str:
    if report.is_refused:
        return "nothing is removed"
    again = plural(report.undo.dependents, "later turn is", "later turns are")
    pending = f"; {again} pending again" if report.undo.dependents else ""
    return f"forgotten turns are never read again, also if their archives still hold them{pending}"


def _removed(report: ForgetReport) -> str:
    return (
        f"{plural(report.undo.undone, 'turn')} taken out of the graph, "
        f"{plural(report.responses_erased, 'response')} out of the journal, "
        f"{plural(report.quarantined, 'entry', 'entries')} out of the quarantine"
    )


def _proof(report: ForgetReport) -> str:
    searched = f"{plural(report.files_searched, 'file')} searched"
    if report.selection.text is not None:
        searched += " for the text"
    if report.samples:
        searched += f", and for {plural(len(report.samples), 'sample')} of the turns"
    elif report.selection.text is None:
        searched = "no text to search for was left"
    return f"{searched}: {plural(len(report.found), 'place')} found"


def _archives(report: ForgetReport) -> list[Node]:
    return limited(list(report.lines_by_archive.items()), _archive, _LINES)


def _archive(held: tuple[str, Sequence[TurnToForget]]) -> str:
    path, turns = held
    lines = ", ".join(f"{turn.first_line} to {turn.last_line}" for turn in turns[:_LINES])
    rest = ", …" if len(turns) > _LINES else ""
    return f"{path}: lines {lines}{rest}"


def _damaged_tables(report: ForgetReport) -> list[Node]:
    return limited(report.damaged_tables, path_text, _LINES)
