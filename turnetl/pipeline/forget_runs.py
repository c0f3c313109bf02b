"""Remove what was forgotten from the records of runs: arguments and errors may quote it."""

from collections.abc import Sequence
from dataclasses import replace

from turnetl import wiring
from turnetl.base.graph_model import TurnRun
from turnetl.ingestion.forget_text import holds
from turnetl.settings import Settings

MARK = "[forgotten]"
"""Stands for an argument, an archive or an error that held a forgotten text."""


async def erase_from_runs(settings: Settings, texts: Sequence[str]) -> None:
    """Replace the arguments, archives and errors of all runs that hold one of the texts.

    Raises:
        GraphBusy: the graph did not respond, or another process uses it.
        GraphUnusable: it cannot be written.
    """
    if not texts or wiring.missing_graph(settings) is not None:
        return
    async with wiring.store(settings, write=True) as store:
        for run in await store.runs():
            erased = without_texts(run, texts)
            if erased != run:
                await store.save_run(erased)


def without_texts(run: TurnRun, texts: Sequence[str]) -> TurnRun:
    """Return the run with `MARK` for each argument, archive and error that holds a text."""

    def erased(value: str) -> str:
        return MARK if holds(value, texts) else value

    return replace(
        run,
        command=tuple(map(erased, run.command)),
        archives=tuple(map(erased, run.archives)),
        error=None if run.error is None else erased(run.error),
    )
