"""Forget a session in many processes, each killed in the middle of a step.

    python -m tests.cli.forget_kills FILLED FOLDER

Each process forgets in its copy of FILLED, which is FOLDER/STEP. The calls that write are counted:
those of the system, and those of SQLite and Ladybug. A process is killed before the middle one of
its step. Prints each step and the exit code of its process, tab-separated.
The processes are forked, because the imports of one take longer than all that it does.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import ladybug  # noqa: F401 - imported before the forks
import polars as pl  # noqa: F401 - as above

from turnetl.base.clock import now
from turnetl.ingestion.forget import ForgetSelection
from turnetl.pipeline import index, run_forget  # noqa: F401 - as above
from turnetl.settings import Settings

SELECTION = ForgetSelection(session="three")
LAKE = Path(".turnetl/lake")
_OF_SYSTEM = {"replace", "rename", "unlink", "fsync", "rmdir", "mkdir"}
_ONE_CALL = {"proof", "completion"}
"""Steps that write nothing, or one file atomically: no process is killed there."""
_OF_DATABASES = {"execute", "executemany", "query", "commit"}


class WatchedForget:
    """A `forget` whose calls that write are counted by step."""

    def __init__(self, killed_in: str | None = None, call: int = 0) -> None:
        """Count; with a step, kill the process before that call of it, counted from 1."""
        self.calls = Counter[str]()
        self._killed_in, self._call = killed_in, call
        self._step = ""

    def run(self, folder: Path) -> None:
        lake = folder / LAKE
        settings = Settings(lake=lake, graph=f"ladybug://{lake / 'graph.lbug'}")
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        asyncio.run(self._forget(settings))
        sys.setprofile(None)

    async def _forget(self, settings: Settings) -> None:
        preview = await run_forget.preview_forget(settings, SELECTION, cascade=True)
        await run_forget.forget(settings, preview, now, before_step=self._begin)

    def _begin(self, step: str) -> None:
        self._step = step

    def _profile(self, _: Any, event: str, called: Any) -> None:
        if event != "c_call" or not self._step or not _writes(called):
            return
        self.calls[self._step] += 1
        if self._step == self._killed_in and self.calls[self._step] == self._call:
            os.kill(os.getpid(), signal.SIGKILL)


def _writes(called: Any) -> bool:
    name = called.__name__
    return name in _OF_DATABASES or (name in _OF_SYSTEM and called.__module__ == "posix")


def counted(folder: Path) -> dict[str, int]:
    """Forget in another process; return the calls that write, by step."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        watched = WatchedForget()
        watched.run(folder)
        os.write(writing, json.dumps(watched.calls).encode())
        os._exit(0)
    os.close(writing)
    os.wait()
    with os.fdopen(reading) as pipe:
        calls: dict[str, int] = json.loads(pipe.read())
    return calls


def killed(folder: Path, step: str, call: int) -> int:
    """Forget in another process that is killed before a call; return its exit code."""
    if (process := os.fork()) == 0:
        WatchedForget(step, call).run(folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(filled: Path, target: Path) -> None:
    undisturbed = target / "undisturbed"
    shutil.copytree(filled, undisturbed)
    for step, calls in counted(undisturbed).items():
        if step in _ONE_CALL:
            continue
        folder = target / step
        shutil.copytree(filled, folder)
        code = killed(folder, step, calls // 2 + 1)
        sys.stdout.write(f"{step}\t{code}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
