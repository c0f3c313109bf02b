"""What a run records of itself in the graph: who, what and how it ended."""

import platform
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from turnetl import wiring
from turnetl.base.graph_model import TurnRun
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId, Usage
from turnetl.base.object_url import without_credentials
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.run_recorder import RunRecorder
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings


def run_recorder(
    run: IngestRun,
    groups: tuple[GroupId, ...],
    resources: IngestResources,
    *,
    settings: Settings,
    options: RunOptions,
    stack: ModelStack,
) -> RunRecorder:
    """Return the recorder of a run that ingests turns of these groups, which are sorted."""

    def describe() -> TurnRun:
        extractor = resources.extractor
        command, archives = _without_secrets(settings, options.command, options.archives)
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
            recipes=tuple(
                sorted({recipe_digest(extractor.recipe_parts(group)) for group in groups})
            ),
            started_at=run.clock(),
        )

    def usage() -> Usage:
        return sum(stack.meter.by_prompt().values(), Usage()) if stack.meter else Usage()

    return RunRecorder(resources.store, describe, run.clock, usage)


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


def _without_secrets(settings: Settings, *lists: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of arguments without passwords in URLs and without what looks secret."""
    redactor = wiring.redactor(settings)
    without_passwords = ([without_credentials(text) for text in texts] for texts in lists)
    return tuple(tuple(redactor.redact(texts).texts) for texts in without_passwords)
