"""A migration: its plan, its run, the two sides compared, and what is moved at the end."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.graph.migrations import MigrationPhase, phase_text, remedy
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.comparison import FactDates, GroupComparison, MigrationComparison
from turnetl.migration.migration_report import (
    EstimatedMigration,
    GroupMigration,
    MigrationPlan,
    MigrationRun,
)
from turnetl.views import ingest
from turnetl.views import plan as estimates
from turnetl.views.nodes import (
    Caption,
    Column,
    Lines,
    PageOnly,
    Table,
    View,
    counted,
    limited,
    numbers,
)

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


_LITTLE = 0.005
_LISTED_FACTS = 5
"""Lost facts that are printed; `--json` and `--html` have all."""


def comparison_view(report: MigrationComparison) -> View:
    """Return a table of two columns per group, its verdict, and the first lost facts."""
    return [node for group in report.groups for node in _compared_group(group, report)]


def comparison_exit_code(report: MigrationComparison) -> int:
    return ExitCode.DONE if all(group.passed for group in report.groups) else ExitCode.FOUND


def percent(share: float | None) -> str:
    """Return a share as text; `-` if there is none. Only all is 100 %, and only none is 0 %."""
    if share is None:
        return "-"
    if 0 < share < _LITTLE:
        return "<1 %"
    return ">99 %" if 1 - _LITTLE < share < 1 else f"{100 * share:.0f} %"


def comparison_rows(group: GroupComparison, probe_limit: int) -> list[tuple[str, str, str]]:
    """Return the rows of the comparison of a group: name, old value, new value."""
    old, new = group.old, group.new
    old_first, new_first = _first_rates(group)
    return [
        ("episodes", f"{old.episodes:,}", f"{new.episodes:,}"),
        ("entities", f"{old.entities:,}", f"{new.entities:,}"),
        ("facts", f"{old.facts:,}", f"{new.facts:,}"),
        ("characters of text", f"{old.chars:,}", f"{new.chars:,}"),
        ("facts dated by the event", _dated_facts(group.old_dates), _dated_facts(group.new_dates)),
        (
            f"probes with the session in the first {probe_limit}",
            percent(group.old_hit_rate),
            percent(group.new_hit_rate),
        ),
        ("probes with the session first", percent(old_first), percent(new_first)),
    ]


def _dated_facts(dates: FactDates) -> str:
    good = dates.facts - dates.undated - dates.outside
    return percent(good / dates.facts if dates.facts else None)


def _first_rates(group: GroupComparison) -> tuple[float | None, float | None]:
    count = len(group.probes)
    if not count:
        return None, None
    old = sum(probe.old_rank == 1 for probe in group.probes)
    return old / count, sum(probe.new_rank == 1 for probe in group.probes) / count


def _compared_group(group: GroupComparison, report: MigrationComparison) -> View:
    columns = (Column(), *numbers("session level", "turns"))
    lost = [fact for session in group.sessions for fact in session.lost_facts]
    verdict = Lines(group.reasons) if group.reasons else "The turns may replace the old data."
    return [
        Table(columns, comparison_rows(group, report.probe_limit), title=group.group),
        PageOnly([verdict]),
        Caption(comparison_summary(group)),
        *([Lines(limited(lost, lambda fact: f"lost: {fact.text}", _LISTED_FACTS))] if lost else []),
    ]


def comparison_summary(group: GroupComparison) -> str:
    facts = plural(group.old.facts, "old fact")
    return (
        f"new facts express {percent(group.expressed)} of {facts}; "
        f"{plural(len(group.entities_lost), 'entity', 'entities')} lost, "
        f"{len(group.entities_gained):,} gained; {plural(len(group.probes), 'probe')}"
    )


def comparison_messages(report: MigrationComparison) -> Iterator[str]:
    for group in report.groups:
        for reason in group.reasons:
            yield f"group `{group.group}`: {reason}"
        if group.reasons:
            yield (
                f"group `{group.group}`: `turnetl migrate cutover` refuses this without --accept; "
                "--html FILE shows what is lost"
            )
