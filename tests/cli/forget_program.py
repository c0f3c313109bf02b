"""Forget a session, and be killed before a step: `python -m tests.cli.forget_program STEP`."""

import asyncio
import os
import signal
import sys

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.ingestion.forget_report import ForgetSelection
from turnetl.settings import load_settings

SELECTION = ForgetSelection(session="three")


async def main(killed_before: str) -> None:
    settings = load_settings()

    def before_step(step: str) -> None:
        sys.stdout.write(f"{step}\n")
        sys.stdout.flush()
        if step == killed_before:
            os.kill(os.getpid(), signal.SIGKILL)

    preview = await pipeline.preview_forget(settings, SELECTION, cascade=True)
    report = await pipeline.forget(settings, preview, now, before_step=before_step)
    assert report.is_proven


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
