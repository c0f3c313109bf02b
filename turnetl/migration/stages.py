"""A migration as one piece of work: plan, run, compare, and on demand the cutover."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, Retryable
from turnetl.base.exit_code import is_failure
from turnetl.base.progress import Progress, ignore_progress
from turnetl.migration.comparison import MigrationComparison
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.migration_report import EstimatedMigration, MigrationRun, exit_code_of
from turnetl.migration.moves import MigrationChange, MigrationCommand
from turnetl.migration.plan import MigrationOptions, plan_estimated_migration
from turnetl.migration.run_comparison import compare_migration
from turnetl.migration.run_migration import run_migration
from turnetl.pipeline.executor import Executor, InProcess
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings


@dataclass(frozen=True, slots=True)
class CutoverOptions:
    """Whether a migration ends with the cutover."""

    cut_over: bool = False
    """False: it ends with the comparison, and the groups stay as they are."""
    accept: bool = False
    """Whether the cutover needs no comparison that passed."""
    questions: Path | None = None
    """A file with search probes; None: they are made of old facts."""

    def __post_init__(self) -> None:
        if self.accept and not self.cut_over:
            raise BadUsage("`accept` applies to a cutover: give `cutover` too, or leave it out")


@dataclass(frozen=True, slots=True)
class MigrationOutcome:
    """The reports of the stages, as far as they were reached."""

    planned: EstimatedMigration
    run: MigrationRun
    comparison: MigrationComparison | None = None
    """None if the run failed."""
    changes: tuple[MigrationChange, ...] = ()
    """The cutovers, by group, also those that were refused."""

    @property
    def has_failed_run(self) -> bool:
        """Whether the user must act before anything is compared."""
        return is_failure(exit_code_of(self.run))


class RunUnfinished(Retryable):
    """A run of a migration with groups that were busy."""

    def __init__(self, report: MigrationRun) -> None:
        busy = [group for group in report.ingested.groups if group.retryable]
        super().__init__("; ".join(f"group `{group.group}`: {group.error}" for group in busy))
        self.report = report


async def migrate(
    archives: Sequence[str],
    settings: Settings,
    migration: MigrationOptions,
    options: RunOptions,
    clock: Clock,
    *,
    cutover: CutoverOptions = CutoverOptions(),
    executor: Executor = InProcess(),  # noqa: B008 - a frozen value
    on_planned: Callable[[EstimatedMigration], Awaitable[None]],
    on_compared: Callable[[MigrationComparison], Awaitable[None]],
    progress: Progress = ignore_progress,
) -> MigrationOutcome:
    """Carry out the stages of a migration; a repetition continues where the last one ended.

    A run that failed is neither compared nor cut over.
    """
    planned = await executor.run_stage(
        "plan",
        lambda: plan_estimated_migration(
            archives, settings, migration, options, clock, progress=progress
        ),
    )
    await on_planned(planned)
    run = await _run(
        executor,
        lambda: run_migration(archives, settings, migration, options, clock, progress=progress),
    )
    outcome = MigrationOutcome(planned, run)
    if outcome.has_failed_run:
        return outcome
    groups = [state.group_id for state in run.migrations]
    compared = await executor.run_stage(
        "compare",
        lambda: compare_migration(
            settings, clock, groups=groups, questions=cutover.questions, progress=progress
        ),
    )
    await on_compared(compared)
    outcome = replace(outcome, comparison=compared)
    if not cutover.cut_over:
        return outcome
    changes = [
        await _cut_over(group, settings, cutover, clock, executor=executor, progress=progress)
        for group in groups
    ]
    return replace(outcome, changes=tuple(changes))


async def _run(executor: Executor, work: Callable[[], Awaitable[MigrationRun]]) -> MigrationRun:
    """Return the report of the last attempt; one that left groups busy may be repeated."""

    async def attempt() -> MigrationRun:
        report = await work()
        if any(group.retryable for group in report.ingested.groups):
            raise RunUnfinished(report)
        return report

    try:
        return await executor.run_stage("run", attempt)
    except RunUnfinished as unfinished:
        return unfinished.report


async def _cut_over(
    group: str,
    settings: Settings,
    cutover: CutoverOptions,
    clock: Clock,
    *,
    executor: Executor,
    progress: Progress,
) -> MigrationChange:
    options = ChangeOptions(MigrationCommand.CUTOVER, group, accept=cutover.accept)
    return await executor.run_stage(
        f"cutover {group}", lambda: execute_change(settings, options, clock, progress=progress)
    )
