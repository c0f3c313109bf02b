"""The plan of a migration: the classes of episodes by group, and what is to be decided."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.estimation.report import Estimate
from turnetl.exit_code import ExitCode
from turnetl.migration.classify import EpisodeClass
from turnetl.migration.report import GroupMigration, MigrationPlan
from turnetl.report import markdown as md
from turnetl.report import plan as estimates
from turnetl.report.layout import add_group_column, caption, plural

_LISTED = 3
_NOTHING = "the graph holds no session-level data: all episodes are turns"
_HEADERS = (
    *("matched", "ambiguous", "archive gone", "foreign"),
    *("sessions", "turns", "tokens", "entities", "facts"),
)


def table(plan: MigrationPlan, estimate: Estimate | None = None) -> RenderableType:
    """Render a row per group, and the estimate of the run."""
    if not plan.groups:
        return Group(_NOTHING)
    view = Table()
    add_group_column(view)
    for header in _HEADERS:
        view.add_column(header, justify="right")
    for group in plan.groups:
        view.add_row(Text(group.group), *(f"{count:,}" for count in _counts(group)))
    archived = plural(plan.sessions, "session")
    parts: list[RenderableType] = [view]
    parts.append(caption(f"the archives hold {archived}; nothing was written to the graph"))
    if estimate is not None:
        parts += [Text(), estimates.estimate_table(estimate, "turnetl migrate run")]
    return Group(*parts)


def markdown(plan: MigrationPlan, estimate: Estimate | None = None) -> str:
    """Return a row per group, the estimate of the run, and what is to be decided."""
    rows = [(group.group, *(f"{count:,}" for count in _counts(group))) for group in plan.groups]
    groups = md.table(("group", *_HEADERS), rows, numbers=len(_HEADERS)) if rows else _NOTHING
    amounts = "" if estimate is None else estimates.totals_markdown(estimate)
    return md.sections(groups, amounts, md.bullets(messages(plan, estimate)))


def exit_code(plan: MigrationPlan, estimate: Estimate | None = None) -> ExitCode:
    """Return 1 if no archive could be read, and 4 if the budget ended a pilot."""
    if plan.parse_problems and not plan.sessions:
        return ExitCode.FAILED
    pilot = None if estimate is None else estimate.pilot
    return ExitCode.STOPPED if pilot is not None and pilot.stopped else ExitCode.DONE


def messages(plan: MigrationPlan, estimate: Estimate | None = None) -> list[str]:
    """Return what is to be decided, what would hinder a migration, and what an estimate lacks."""
    return [*_messages(plan), *([] if estimate is None else estimates.estimate_messages(estimate))]


def _messages(plan: MigrationPlan) -> Iterator[str]:
    yield from plan.parse_problems[:_LISTED]
    if (more := len(plan.parse_problems) - _LISTED) > 0:
        yield f"and {more:,} more archives were not read; `turnetl parse --dry-run` lists all"
    yield from plan.refused
    for group in plan.groups:
        if sizes := plan.other_dimensions(group):
            given = ", ".join(f"{size:,}" for size in sizes)
            yield (
                f"group `{group.group}` has embeddings of {given} dimensions, and the embedder "
                f"makes {plan.dimensions:,}: a search over both is not possible"
            )
    if ambiguous := len(plan.of_kind(EpisodeClass.AMBIGUOUS)):
        yield (
            f"{plural(ambiguous, 'episode')} ambiguous: `--write FILE` lists them, fill in the "
            "column `session`, then `--plan FILE`"
        )
    gone = len(plan.of_kind(EpisodeClass.ARCHIVE_GONE))
    if gone and not plan.of_kind(EpisodeClass.MATCHED):
        yield (
            f"no episode is of a session of these archives, and {gone:,} of sessions that they "
            "do not hold: check that these are the right archives"
        )


def _counts(group: GroupMigration) -> tuple[int, ...]:
    kinds = (len(group.of_kind(kind)) for kind in EpisodeClass)
    return (
        *kinds,
        len(group.sessions),
        group.turns,
        group.tokens,
        group.entities,
        group.facts,
    )
