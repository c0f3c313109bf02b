"""Faults at the nth point of this process, injected by the library `fault_points.c`.

The library must be loaded before Python starts: `environment` names it for a child process.
"""

import asyncio
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from enum import IntEnum
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("fault_points.c")
_COMPILER = shutil.which("cc")
MISSING = "the points of a process are counted on Linux, with a C compiler `cc`"
AVAILABLE = sys.platform == "linux" and _COMPILER is not None
_LIBRARY = "TEST_FAULT_POINTS"
"""The environment variable that names the library."""


class Action(IntEnum):
    """What happens at the point; the numbers are those of the library."""

    COUNT = 1
    """Nothing."""
    KILL = 2
    """SIGKILL, after a change."""
    TEAR = 3
    """SIGKILL, after the first half of a write to a file."""
    FULL = 4
    """The disk is full from this point on."""
    CUT = 5
    """The connection is closed, and the call fails; other points pass."""
    STOP = 6
    """SIGSTOP, until the process gets SIGCONT."""
    STEP = 7
    """SIGSTOP after each change."""
    STEP_TEAR = 8
    """SIGSTOP after the first half of each write to a file."""
    TRACE = 9
    """Nothing; the log has also reads at a place of a file, and offset and size of such calls."""


def build(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    library = folder / "fault_points.so"
    command = [str(_COMPILER), "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def environment(library: Path) -> dict[str, str]:
    """Return what a child process needs in its environment to load the library."""
    return {"LD_PRELOAD": str(library), _LIBRARY: str(library)}


class FaultPoints:
    """The points of this process."""

    def __init__(self) -> None:
        """Use the library that was loaded with this process."""
        path = os.environ[_LIBRARY]  # noqa: TID251 - the tests' own
        self._library = ctypes.CDLL(path)

    def arm(
        self, action: Action, folder: Path, point: int = 0, *, excluded: str = "", log: int = -1
    ) -> None:
        """Count from now on.

        Args:
            action: what happens.
            folder: files elsewhere do not count.
            point: where it happens, from 1; of `KILL` the number of the change, or 0 for the first
                point; of `TEAR` the number of the write.
            excluded: `/index`: files of the folder that do not count either, by the beginning of
                their path.
            log: the descriptor of a file that gets a line for each point; -1: none.
        """
        names = str(folder).encode(), excluded.encode()
        self._library.fault_arm(int(action), *names, ctypes.c_long(point), log)

    def disarm(self) -> None:
        self._library.fault_disarm()

    def point(self, name: bytes) -> None:
        """Count a point that is no system call."""
        self._library.fault_point(name)

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a coroutine; each suspension and each resumption of a task is a point."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.set_task_factory(
                lambda loop, coroutine, **named: asyncio.Task(
                    CountedCoroutine(coroutine, self.point), loop=loop, **named
                )
            )
            await loop.create_task(_awaited(work()))

        asyncio.run(main())


async def _awaited(work: Awaitable[None]) -> None:
    await work


class CountedCoroutine(Coroutine[Any, Any, Any]):
    """A coroutine that counts its suspensions and resumptions."""

    def __init__(self, inner: Any, count: Callable[[bytes], None]) -> None:
        self._inner: Coroutine[Any, Any, Any] = inner
        self._count = count

    def send(self, value: Any) -> Any:
        self._count(b"resumption")
        awaited = self._inner.send(value)
        self._count(b"suspension")
        return awaited

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()
