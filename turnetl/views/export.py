"""What an export wrote, and what an import added."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from turnetl.base.clock import encoded_time
from turnetl.base.exit_code import ExitCode
from turnetl.base.text import one_line, plural, size
from turnetl.transfer.transfer_report import HOLDS_NOISE, ExportFormat, ExportReport, ImportReport
from turnetl.views.nodes import Caption, Column, Table, View

if TYPE_CHECKING:
    from turnetl.transfer.sql import SqlResult

_NUMERIC = ("BIGINT", "DECIMAL", "DOUBLE", "FLOAT", "HUGEINT", "INTEGER", "UBIGINT", "SMALLINT")
"""How the types of numbers begin, as DuckDB writes them."""
_FORMATS = {ExportFormat.COMPACT: "few large Parquet files"}
_CELL = 60
"""Characters of a value that a table shows."""


def view(report: ExportReport) -> View:
    counts = (
        plural(report.turns, "turn"),
        plural(report.sessions, "session"),
        plural(report.entities, "entity", "entities"),
        plural(report.facts, "fact"),
    )
    return [
        f"{', '.join(counts)} exported as {_FORMATS.get(report.format, report.format)}",
        f"{_files(report)} in {report.output}",
    ]


def messages(report: ExportReport) -> list[str]:
    found = [report.unread] if report.unread else []
    if report.only_in_graph:
        found.append(
            f"{plural(report.only_in_graph, 'turn')} left out that only the graph holds: "
            "`turnetl backfill` of the archives, or `turnetl import` of another lake, adds them to "
            "this lake; `turnetl search` and `turnetl show` find them in the graph"
        )
    elif not report.turns:
        found.append("no turn of the lake meets these conditions")
    if report.noise and report.format not in HOLDS_NOISE:
        found.append(
            f"{plural(report.noise, 'turn')} of noise left out; JSONL and Parquet hold them"
        )
    if report.subagents_left_out:
        found.append(
            f"tokens of {plural(report.subagents_left_out, 'subagent')} left out: it is not known "
            "whether a selected turn started them; an export without conditions has them"
        )
    if report.redactions:
        option = " --redact-pii" if report.redacts_persons else ""
        found.append(
            f"{_redactions(report.redactions, persons=report.redacts_persons)} that the lake still "
            f"had: `turnetl backfill{option}` of the archives redacts them there too"
        )
    return found


def _redactions(number: int, *, persons: bool) -> str:
    if persons:
        return f"{plural(number, 'redaction')} of secrets and personal data"
    return f"{plural(number, 'secret')} redacted"


def _files(report: ExportReport) -> str:
    files = f"{plural(report.files, 'file')}, {size(report.bytes)}"
    if not report.changed and not report.removed:
        return f"{files}, all unchanged,"
    removed = f", {report.removed:,} removed" if report.removed else ""
    return f"{files}, {report.changed:,} written{removed},"


def import_view(report: ImportReport) -> View:
    counts = Counter(file.outcome for file in report.files)
    outcomes = ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in counts)
    verb = "would be added" if report.dry_run else "added"
    groups = {file.group for file in report.files if file.added > 0}
    to_groups = f" to {plural(len(groups), 'group')}" if groups else ""
    lines = [
        f"{plural(report.added, 'turn')} of `{report.machine}` {verb}{to_groups}",
        f"{plural(len(report.files), 'archive')}: {outcomes}",
    ]
    if report.changes_tables and not report.dry_run:
        lines.append("run `turnetl filter`, then `turnetl ingest`")
    return lines


def import_messages(report: ImportReport) -> list[str]:
    found = [f"left out: {file.problem}" for file in report.damaged]
    if report.foreign:
        files = plural(report.foreign, "file")
        found.append(f"{files} in `{report.source}` ignored: turnetl did not write them")
    if report.forgotten:
        found.append(
            f"{plural(report.forgotten, 'turn')} left out, because this lake has forgotten them: "
            "see `turnetl forget`"
        )
    redactions = sum(file.redactions for file in report.files)
    if redactions:
        what = _redactions(redactions, persons=report.redacts_persons)
        found.append(f"{what} that the other lake still had")
    return found


def import_exit_code(report: ImportReport) -> ExitCode:
    return ExitCode.FAILED if report.damaged else ExitCode.DONE


def sql_rows(result: "SqlResult", limit: int) -> View:
    """Return the first rows of a query's result as a table, and how many more there are."""
    columns = [Column(one.name, is_number=one.type.startswith(_NUMERIC)) for one in result.columns]
    rows = [[_cell(one) for one in row.values()] for row in result.rows[:limit]]
    more = len(result.rows) - len(rows)
    rest = f", the first {len(rows):,} shown: --limit or --output has the rest" if more else ""
    found = Caption(f"{plural(len(result.rows), 'row')}{rest}")
    return [Table(columns, rows), found] if columns else [found]


def sql_file(rows: int, path: Path) -> str:
    return f"{plural(rows, 'row')} in {path}"


def _cell(value: object) -> str:
    """Return a value of a row on one line of at most `_CELL` characters."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return encoded_time(value)[:19]
        case float():
            return f"{value:,.6g}"
        case int():
            return f"{value:,}"
        case _:
            return one_line(str(value), _CELL)
