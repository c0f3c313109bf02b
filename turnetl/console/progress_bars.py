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

from turnetl.base.control_characters import displayed_name
from turnetl.base.progress import ProgressUpdate, RunCost
from turnetl.console import terminal


class ProgressBars:
    """Shows a bar for each stage or group, from its first step on."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[cost]}", markup=False),
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
                displayed_name(f"{step.stage:<8}{step.name}"), total=step.total, cost=""
            )
        self._progress.update(self._tasks[key], completed=step.done, total=step.total)
        if step.cost is not None:
            self._show_cost(self._tasks[key], cost_text(step.cost))

    def _show_cost(self, latest: TaskID, cost: str) -> None:
        """Show the cost of the run on the bar that advanced last."""
        for task in self._tasks.values():
            self._progress.update(task, cost=cost if task == latest else "")


def cost_text(cost: RunCost) -> str:
    """Return the cost so far, the expected one and the budget; empty if nothing was used."""
    if not cost.tokens and cost.expected_tokens is None:
        return ""
    is_priced = cost.usd is not None and cost.budget_tokens is None
    if is_priced and (cost.usd or cost.expected_usd or cost.budget_usd):
        parts = _dollars(cost.usd), _dollars(cost.expected_usd), _dollars(cost.budget_usd)
    else:
        parts = _tokens(cost.tokens), _tokens(cost.expected_tokens), _tokens(cost.budget_tokens)
    used, expected, budget = parts
    unit = "" if used.startswith("$") else " tokens"
    of_expected = f" of ~{expected}" if expected else ""
    of_budget = f", budget {budget}" if budget else ""
    return f"{used}{of_expected}{unit}{of_budget}"


def _dollars(usd: float | None) -> str:
    if usd is None:
        return ""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.3f}"


def _tokens(tokens: int | None) -> str:
    return "" if tokens is None else f"{tokens:,}"
