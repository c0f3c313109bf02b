"""What a run writes with: model, resources, index updates and its record, opened once."""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.graph_model import TurnRun
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.object_url import without_credentials
from turnetl.base.progress import RunCost
from turnetl.ingestion import estimate_record
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.ingestion.ingest_run import IngestRun, RunRecorder
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.index_updates import IndexUpdates
from turnetl.pipeline.run_options import RunOptions, new_ingest_run
from turnetl.redact.port import is_plain
from turnetl.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunScope:
    """Everything that a run has open. With its first lease it records itself in the graph."""

    settings: Settings
    """Those of the run."""
    stack: ModelStack
    resources: IngestResources
    run: IngestRun
    committed: Callable[[], None]
    """Called when turns were committed, or undone: the index, if it follows, is updated soon."""
    ended: Callable[[IngestReport], Awaitable[None]]
    """Records how the run ended. Its report is complete: what fails afterwards is a warning."""

    def cost(self) -> RunCost:
        return self.resources.run_cost(self.stack.used())

    def estimate(self, groups: Sequence[Collection[TurnId]]) -> RecordedEstimate | None:
        """Return the estimate of these turns, by group, if one fits, and keep it for the run."""
        extractor, lake = self.resources.extractor, self.resources.lake.local
        return estimate_record.assign(
            lake, groups, self.run.run_id, extractor=extractor.name, model=extractor.model
        )

    def usage_by_prompt(self) -> Mapping[str, Usage]:
        return self.stack.meter.by_prompt() if self.stack.meter is not None else {}

    def journal_hits(self) -> int:
        return self.stack.journal.hits if self.stack.journal is not None else 0

    def with_usage(self, report: IngestReport) -> IngestReport:
        return replace(
            report,
            usage_by_prompt=self.usage_by_prompt(),
            journal_hits=self.journal_hits(),
            cost=self.cost(),
        )


@asynccontextmanager
async def opened_run(
    settings: Settings,
    options: RunOptions,
    groups: tuple[GroupId, ...],
    clock: Clock,
    *,
    updates_index: bool = True,
) -> AsyncIterator[RunScope]:
    """Open what a run needs, the graph for writing, and close it afterwards.

    A report that is complete is kept, whatever fails at the end: a warning says what failed. The
    settings are those of `settings_for_run`, the groups are sorted.
    """
    index: IndexUpdates | None = None
    async with kept_report() as complete, wiring.model_stack(settings, clock) as stack:
        async with wiring.ingest_resources(settings, stack) as resources:
            run = new_ingest_run(settings, clock)
            if updates_index:
                index = IndexUpdates(settings, clock, resources.store, stack.meter)
            describe = partial(_description, run, groups, resources, settings, options)
            recorder = RunRecorder(
                resources.store,
                describe,
                clock,
                lambda: sum(scope.usage_by_prompt().values(), Usage()),
            )

            async def ended(report: IngestReport) -> None:
                complete()
                await recorder.ended(report)

            committed = index.committed if index is not None else lambda: None
            run = replace(run, on_lease=recorder.started)
            scope = RunScope(settings, stack, resources, run, committed, ended)
            async with nullcontext() if index is None else index.running(), recording(recorder):
                yield scope
        if index is not None:
            await index.finish()


@asynccontextmanager
async def kept_report() -> AsyncIterator[Callable[[], None]]:
    """Give a function to call when the report is complete.

    What fails afterwards, such as closing a graph that no longer responds, is a warning: it does
    not undo what the report states.
    """
    complete = asyncio.Event()
    try:
        yield complete.set
    except Exception as error:
        if not complete.is_set():
            raise
        log.warning("the report is complete, but the end of the run failed: %s", error)
        log.debug("the end of the run failed", exc_info=error)


@asynccontextmanager
async def recording(recorder: RunRecorder) -> AsyncIterator[None]:
    """Record it if the run ends with an exception."""
    try:
        yield
    except Exception as error:
        await recorder.failed(error)
        raise
    except BaseException:
        await recorder.interrupted()
        raise


def _description(
    run: IngestRun,
    groups: tuple[GroupId, ...],
    resources: IngestResources,
    settings: Settings,
    options: RunOptions,
) -> TurnRun:
    """Describe a run that ingests turns of these groups, as it starts."""
    extractor = resources.extractor
    command, archives = _without_secrets(settings, options.command, options.archives)
    recipes = {recipe_digest(extractor.recipe_parts(group)) for group in groups}
    return TurnRun(
        run_id=run.run_id,
        owner=run.owner,
        user=wiring.user_name(),
        host=platform.node(),
        command=command,
        archives=archives,
        groups=groups,
        extractor=extractor.name,
        model=extractor.model,
        recipes=tuple(sorted(recipes)),
        started_at=run.clock(),
    )


def _without_secrets(settings: Settings, *lists: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of arguments without passwords in URLs and without what looks secret."""
    redactor = wiring.redactor(settings)
    shown = [[without_credentials(text) for text in texts] for texts in lists]
    if redactor.redacts_persons or not all(map(is_plain, chain.from_iterable(shown))):
        shown = [redactor.redact(texts).texts for texts in shown]
    return tuple(map(tuple, shown))
