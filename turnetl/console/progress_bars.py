"""Progress bars on standard error, one per stage or group."""

from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from turnetl.console import terminal
from turnetl.progress import ProgressUpdate


class ProgressBars:
    """Shows a bar for each stage or group, from its first step on."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=terminal.rich_console(stderr=True),
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def advance(self, step: ProgressUpdate) -> None:
        """Advance the bar of the step's stage, or start it."""
        key = (step.stage, step.name)
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(
                f"{step.stage:<8}{step.name}", total=step.total
            )
        self._progress.update(self._tasks[key], completed=step.done, total=step.total)
