"""The public function that estimates a run."""

from collections.abc import Iterable

from turnetl.api.arguments import Path, archive_paths
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.progress import Progress, ignore_progress
from turnetl.estimation import run_plan
from turnetl.estimation.plan_report import PlanReport
from turnetl.estimation.workloads import PilotOptions
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings, load_settings


async def plan(
    archives: Path | Iterable[Path] = (),
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    pilot: int | None = None,
    seed: int = 0,
    redo: bool = False,
    stale: bool = False,
    session: str | None = None,
    kind: str | None = None,
    exact: bool = False,
    format_name: str | None = None,
    progress: Progress = ignore_progress,
) -> PlanReport:
    """Estimate requests, cost, time and disk of a run. Writes nothing to the graph.

    Args:
        archives: files, folders or globs of a backfill, also as URLs of an object store, one or
            several; none: of the next ingest.
        settings: everything that is configured; None: as the command line would load it. Their
            budget limits the pilot.
        options: which turns, and how they are extracted.
        pilot: extract this many turns now, for an estimate with a range, and pay for it; None: send
            no request.
        seed: equal seeds draw equal turns for the pilot.
        redo: estimate a redo of committed turns; groups and times are those of the options.
        stale: as of `redo`.
        session: as of `redo`.
        kind: as of `redo`.
        exact: as of `redo`.
        format_name: the format of all archives; None: each is detected by its content.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or arguments that are not valid, or a pilot without a journal.
        ModelUnusable, ModelBusy: the model did not respond to the pilot.
        GraphBusy, GraphUnusable: the graph cannot be read.
    """
    of_run = options or RunOptions()
    selection = None
    if redo:
        times = of_run.since, of_run.until
        selection = RedoSelection(stale, of_run.groups, session, None, kind, *times)
    elif stale or session or kind or exact:
        raise BadUsage("`stale`, `session`, `kind` and `exact` need `redo=True`")
    return await run_plan.plan(
        settings or load_settings(),
        of_run,
        now,
        archives=archive_paths(archives),
        format_name=format_name,
        redo=selection,
        exact=exact,
        pilot=None if pilot is None else PilotOptions(pilot, seed),
        progress=progress,
    )
