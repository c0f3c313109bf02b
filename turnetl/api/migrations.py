"""The public functions that plan a migration of session-level data and compare its two sides."""

from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath

from turnetl.api.arguments import Path, archive_paths, group_ids
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.estimation.workloads import PilotOptions
from turnetl.migration import run_comparison
from turnetl.migration.comparison import MigrationComparison
from turnetl.migration.migration_report import EstimatedMigration
from turnetl.migration.plan import MigrationOptions, plan_estimated_migration
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings, load_settings


async def plan_migration(
    archives: Path | Iterable[Path],
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    plan_file: Path | None = None,
    pilot: int | None = None,
    seed: int = 0,
    format_name: str | None = None,
    progress: Progress = ignore_progress,
) -> EstimatedMigration:
    """Find which session each episode of another program summarises, and what a run takes.

    Writes nothing to the graph.

    Args:
        archives: files, folders or globs, also as URLs of an object store, one or several.
        settings: everything that is configured; None: as the command line would load it. Their
            budget limits the pilot.
        options: of the run: which groups, and how turns are extracted.
        plan_file: a file in which a person settled ambiguous episodes; None: there is none.
        pilot: extract this many turns now, for an estimate with a range, and pay for it; None: send
            no request.
        seed: equal seeds draw equal turns for the pilot.
        format_name: the format of all archives; None: each is detected by its content.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or arguments that are not valid, or a pilot without a journal.
        ModelUnusable, ModelBusy: the model did not respond to the pilot.
        GraphBusy, GraphUnusable: the graph cannot be read.
    """
    of_run = options or RunOptions()
    file = None if plan_file is None else FilePath(plan_file)
    return await plan_estimated_migration(
        archive_paths(archives),
        settings or load_settings(),
        MigrationOptions(of_run.groups, format_name, file),
        of_run,
        now,
        pilot=None if pilot is None else PilotOptions(pilot, seed),
        progress=progress,
    )


async def compare_migration(
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    questions: Path | None = None,
    progress: Progress = ignore_progress,
) -> MigrationComparison:
    """Compare the old data of each migration with its turns. Writes nothing but the verdicts.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: only the migrations of these groups; all if empty.
        questions: a file with search probes, a table separated by tabs with the columns `question`
            and `session`; None: they are made of old facts.
        progress: called after each probe.

    Raises:
        BadUsage: there is no migration, a named group has none, it is being moved at the moment,
            or the file of questions is not valid.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be written.
    """
    return await run_comparison.compare_migration(
        settings or load_settings(),
        now,
        groups=group_ids(groups),
        questions=None if questions is None else FilePath(questions),
        progress=progress,
    )
