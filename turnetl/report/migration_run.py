"""The run of a migration: what was ingested, and what is next."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import plural
from turnetl.graph.migrations import MigrationPhase
from turnetl.ingestion.report import StopCause
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.phases import phase_text, remedy
from turnetl.migration.report import MigrationRun
from turnetl.report import ingest
from turnetl.report.layout import add_group_column, caption
from turnetl.report.migration_plan import parse_messages

_HEADERS = ("phase", "sessions", "turns", "old episodes", "others that stay")


def table(report: MigrationRun) -> RenderableType:
    """Render a row per migration; then the table of the ingest."""
    if not report.migrations:
        return caption("no group was migrated" if report.refused else "nothing to migrate")
    view = Table()
    add_group_column(view)
    for header in _HEADERS:
        view.add_column(header, justify="right")
    planned = {group.group: group.turns for group in report.plan.groups}
    for one in report.migrations:
        counts = (
            len(one.sessions),
            one.turns or planned[one.group_id],
            len(one.moved),
            len(one.staying),
        )
        view.add_row(Text(one.group_id), phase_text(one.phase), *(f"{count:,}" for count in counts))
    if not report.ingested.groups:
        return Group(view, caption("nothing was written"))
    return Group(view, ingest.table(report.ingested))


def messages(report: MigrationRun) -> list[str]:
    """Return what was left alone, what failed, and the next command."""
    return list(_messages(report))


def errors(report: MigrationRun) -> list[str]:
    """Return why the run failed, first what happened to groups; empty if it did not."""
    return ingest.errors(report.ingested) or messages(report)


def is_budget_stop(report: MigrationRun) -> bool:
    """Return whether the budget ended the run, and nothing else failed."""
    causes = {group.stop_cause for group in report.ingested.groups if group.error}
    return causes == {StopCause.BUDGET}


def _messages(report: MigrationRun) -> Iterator[str]:
    yield from parse_messages(report.plan)
    for refused in report.refused:
        yield refused.reason
    if not report.plan.groups:
        yield "the graph holds no session-level data; `turnetl migrate plan` shows what it holds"
    yield from ingest.messages(report.ingested)
    for one in report.migrations:
        if report.ingested.groups and one.phase is MigrationPhase.RUNNING:
            yield f"group `{one.group_id}`: turns are missing; {remedy(one)}"
    ambiguous = len(report.plan.of_kind(EpisodeClass.AMBIGUOUS))
    if ambiguous and report.migrations:
        yield (
            f"{plural(ambiguous, 'episode')} ambiguous, so that they stay: `turnetl migrate plan "
            "--write FILE` lists them; fill in the column `session`, then `--plan FILE`"
        )
