"""Redo the stale turns, and be killed at a step: `python -m tests.cli.redo_program STAGE TURNS`."""

import asyncio
import os
import signal
import sys

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import ProgressUpdate
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import load_settings


async def main(stage: str, turns: int) -> None:
    settings, options = load_settings(), RunOptions()

    def kill(step: ProgressUpdate) -> None:
        if (step.stage, step.done) == (stage, turns):
            os.kill(os.getpid(), signal.SIGKILL)

    preview = await pipeline.preview_redo(settings, RedoSelection(stale=True), options, now)
    await pipeline.redo(settings, preview, options, now, progress=kill)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
