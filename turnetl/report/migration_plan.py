"""The plan of a migration: the classes of episodes by group, and what is to be decided."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.estimation.report import Estimate
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.report import GroupMigration, MigrationPlan
from turnetl.report import layout as md
from turnetl.report import plan as estimates
from turnetl.report.layout import add_group_column, caption

_LISTED = 3
_NOTHING = "the graph holds no session-level data: all episodes are turns"
_CLASSES = tuple(kind.value.replace("_", " ") for kind in EpisodeClass)
_AMOUNTS = ("sessions", "turns", "tokens", "entities", "facts")


def table(plan: MigrationPlan, estimate: Estimate | None = None) -> RenderableType:
    """Render a row per group, and the estimate of the run."""
    if not plan.groups:
        return Group(_NOTHING)
    archived = plural(plan.sessions, "session")
    # Side by side they are wider than a terminal.
    parts: list[RenderableType] = [
        _counted(plan, _CLASSES, _classes),
        _counted(plan, _AMOUNTS, _amounts),
    ]
    parts.append(caption(f"the archives hold {archived}; nothing was written to the graph"))
    if estimate is not None:
        parts += [Text(), estimates.estimate_table(estimate, "turnetl migrate run")]
    return Group(*parts)


def markdown(plan: MigrationPlan, estimate: Estimate | None = None) -> str:
    """Return a row per group, the estimate of the run, and what is to be decided."""
    headers = (*_CLASSES, *_AMOUNTS)
    rows = [(one.group, *_texts((*_classes(one), *_amounts(one)))) for one in plan.groups]
    groups = md.table(("group", *headers), rows, numbers=len(headers)) if rows else _NOTHING
    amounts = "" if estimate is None else estimates.totals_markdown(estimate)
    return md.sections(groups, amounts, md.bullets(messages(plan, estimate)))


def exit_code(plan: MigrationPlan, estimate: Estimate | None = None) -> ExitCode:
    """Return 1 if no archive could be read, and 4 if the budget ended a pilot."""
    if plan.parse_problems and not plan.sessions:
        return ExitCode.FAILED
    pilot = None if estimate is None else estimate.pilot
    return ExitCode.STOPPED if pilot is not None and pilot.stopped else ExitCode.DONE


def messages(
    plan: MigrationPlan, estimate: Estimate | None = None, *, written: Path | None = None
) -> list[str]:
    """Return what is to be decided, what would hinder a migration, and what an estimate lacks.

    Args:
        plan: the plan.
        estimate: of its run; None if there is none.
        written: the file that has the ambiguous episodes by now; None: they are in none.
    """
    missing = [] if estimate is None else estimates.estimate_messages(estimate)
    return [*_messages(plan, written), *missing]


def parse_messages(plan: MigrationPlan) -> Iterator[str]:
    """Yield why archives were not read: their sessions count as gone."""
    yield from plan.parse_problems[:_LISTED]
    if (more := len(plan.parse_problems) - _LISTED) > 0:
        archives = plural(more, "more archive was", "more archives were")
        yield f"and {archives} not read; `turnetl parse --dry-run` lists all"


def _messages(plan: MigrationPlan, written: Path | None) -> Iterator[str]:
    yield from parse_messages(plan)
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


def _decide(written: Path | None) -> str:
    """Return how a person settles the ambiguous episodes."""
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
    """Return a table with a row of counts per group."""
    view = Table()
    add_group_column(view)
    for header in headers:
        view.add_column(header, justify="right")
    for group in plan.groups:
        view.add_row(Text(group.group), *_texts(counts(group)))
    return view


def _texts(counts: Iterable[int]) -> Iterator[str]:
    return (f"{count:,}" for count in counts)


def _classes(group: GroupMigration) -> tuple[int, ...]:
    """Return the number of episodes of each class."""
    return tuple(len(group.of_kind(kind)) for kind in EpisodeClass)


def _amounts(group: GroupMigration) -> tuple[int, ...]:
    return (len(group.sessions), group.turns, group.tokens, group.entities, group.facts)
