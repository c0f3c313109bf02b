"""A migration: its plan, with what is to be decided, and its run, with what is next."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.graph.migrations import MigrationPhase, phase_text, remedy
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.migration_report import (
    EstimatedMigration,
    GroupMigration,
    MigrationPlan,
    MigrationRun,
)
from turnetl.views import ingest
from turnetl.views import plan as estimates
from turnetl.views.nodes import Caption, Column, Lines, PageOnly, Table, View, counted, numbers

_LISTED = 3
_NOTHING = "the graph holds no session-level data: all episodes are turns"
_CLASSES = tuple(kind.value.replace("_", " ") for kind in EpisodeClass)
_AMOUNTS = ("sessions", "turns", "tokens", "entities", "facts")
_RUN = numbers("phase", "sessions", "turns", "old episodes", "others that stay")


def plan_view(report: EstimatedMigration) -> View:
    """Return a row per group and the estimate of the run; a page has what is to be decided, too."""
    plan, estimate = report.plan, report.estimate
    sentences = [*plan_messages(report)]
    beside = PageOnly([Lines(sentences)] if sentences else [])
    if not plan.groups:
        return [_NOTHING, beside]
    run = [] if estimate is None else estimates.estimate_view(estimate, "turnetl migrate run")
    return [
        # Side by side they are wider than a terminal.
        _counted(plan, _CLASSES, lambda group: [len(group.of_kind(kind)) for kind in EpisodeClass]),
        _counted(
            plan,
            _AMOUNTS,
            lambda one: (len(one.sessions), one.turns, one.tokens, one.entities, one.facts),
        ),
        Caption(
            f"the archives hold {plural(plan.sessions, 'session')}; nothing was written to the "
            "graph"
        ),
        *(["", *run] if run else []),
        beside,
    ]


def plan_exit_code(report: EstimatedMigration) -> ExitCode:
    """Return 1 if no archive could be read, and 4 if the budget ended a pilot."""
    if report.plan.parse_problems and not report.plan.sessions:
        return ExitCode.FAILED
    pilot = None if report.estimate is None else report.estimate.pilot
    return ExitCode.STOPPED if pilot is not None and pilot.stopped else ExitCode.DONE


def _parse_messages(plan: MigrationPlan) -> Iterator[str]:
    """Yield why archives were not read: their sessions count as gone."""
    yield from plan.parse_problems[:_LISTED]
    if (more := len(plan.parse_problems) - _LISTED) > 0:
        archives = plural(more, "more archive was", "more archives were")
        yield f"and {archives} not read; `turnetl parse --dry-run` lists all"


def plan_messages(report: EstimatedMigration, *, written: Path | None = None) -> Iterator[str]:
    """Yield what is to be decided, what would hinder a migration, and what an estimate lacks.

    `written` is the file that has the ambiguous episodes by now; None: they are in none.
    """
    plan, estimate = report.plan, report.estimate
    yield from _parse_messages(plan)
    yield from plan.refused
    for group in plan.groups:
        if sizes := plan.other_dimensions(group):
            given = ", ".join(f"{size:,}" for size in sizes)
            yield (
                f"group `{group.group}` has embeddings of {given} dimensions, and the embedder "
                f"makes {plan.dimensions:,}: a search over both is not possible"
            )
    if ambiguous := len(plan.of_kind(EpisodeClass.AMBIGUOUS)):
        yield f"{plural(ambiguous, 'episode')} ambiguous: {_decide(written)}"
    elif written is not None:
        yield f"no episode is ambiguous: `{written}` has no row to fill in"
    gone = len(plan.of_kind(EpisodeClass.ARCHIVE_GONE))
    if gone and not plan.of_kind(EpisodeClass.MATCHED):
        yield (
            f"no episode is of a session of these archives, and {gone:,} of sessions that they "
            "do not hold: check that these are the right archives"
        )
    if estimate is not None:
        yield from estimates.estimate_messages(estimate)


def _decide(written: Path | None) -> str:
    if written is None:
        return "`--write FILE` lists them, fill in the column `session`, then `--plan FILE`"
    return (
        f"they are in `{written}`: fill in the column `session`, then `turnetl migrate run "
        f"ARCHIVES --plan {shlex.quote(str(written))}`"
    )


def _counted(
    plan: MigrationPlan,
    headers: Sequence[str],
    counts: Callable[[GroupMigration], Sequence[int]],
) -> Table:
    rows = [(group.group, *counted(counts(group))) for group in plan.groups]
    return Table((Column("group"), *numbers(*headers)), rows)


def run_view(report: MigrationRun) -> View:
    if not report.migrations:
        return [Caption("no group was migrated" if report.refused else "nothing to migrate")]
    planned = {group.group: group.turns for group in report.plan.groups}
    rows = []
    for one in report.migrations:
        turns = one.turns or planned[one.group_id]
        counts = (len(one.sessions), turns, len(one.moved), len(one.staying))
        rows.append((one.group_id, phase_text(one.phase), *counted(counts)))
    view = Table((Column("group"), *_RUN), rows)
    if not report.ingested.groups:
        return [view, Caption("nothing was written")]
    return [view, *ingest.view(report.ingested)]


def errors(report: MigrationRun) -> list[str]:
    """Return why the run failed, first what happened to groups; empty if it did not."""
    return ingest.errors(report.ingested) or [*run_messages(report)]


def run_messages(report: MigrationRun) -> Iterator[str]:
    yield from _parse_messages(report.plan)
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
