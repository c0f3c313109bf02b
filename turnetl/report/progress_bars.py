"""Progress bars for a terminal, one a stage or group, on standard error."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from turnetl.progress import ProgressUpdate


class ProgressBars:
    """Shows steps as they come."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._tasks: dict[tuple[str, str], int] = {}

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

    def step(self, step: ProgressUpdate) -> None:
        """Move the bar of the step's stage, or start it."""
        key = (step.stage, step.name)
        if key not in self._tasks:
            self._tasks[key] = self._progress.add_task(
                f"{step.stage:<8}{step.name}", total=step.total
            )
        self._progress.update(self._tasks[key], completed=step.done, total=step.total)  # type: ignore[arg-type]  # rich's TaskID is an int
