"""Estimated amounts as text, and beside the actual ones."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.model import Usage
from turnetl.base.text import format_cost
from turnetl.ingestion.estimate_record import Range, RecordedEstimate

_MINUTE, _HOUR = 60, 3600
UNKNOWN = "unknown"


def comparison(
    estimate: RecordedEstimate, usage: Usage, seconds: float | None = None
) -> Table | None:
    """Render what was estimated beside what was used; None if there is nothing to compare.

    Args:
        estimate: of the turns of the run.
        usage: of the run, without embeddings.
        seconds: wall time of the run; None: it is not compared.
    """
    rows: list[Sequence[str]] = []
    if estimate.requests.expected or usage.calls:
        cost = format_cost(usage.cost)
        rows += [
            ("requests", *count_cells(estimate.requests), f"{usage.calls:,}"),
            ("tokens", *count_cells(estimate.tokens), f"{usage.tokens:,}"),
            ("cost", *cost_cells(estimate.cost), cost),
        ]
    if seconds is not None and estimate.seconds is not None:
        rows.append(("time", *time_cells(estimate.seconds), format_time(seconds)))
    if not rows:
        return None
    view = amount_table("estimate and actual", "actual")
    for row in rows:
        view.add_row(*row)
    return view


def compared(
    estimate: RecordedEstimate, usage_by_prompt: Mapping[str, Usage]
) -> list[RenderableType]:
    """Return the comparison with the usage of a run, below an empty line."""
    from turnetl.llm.meter import EMBEDDINGS  # noqa: PLC0415 - a run without new turns needs none

    used = [usage for prompt, usage in usage_by_prompt.items() if prompt != EMBEDDINGS]
    view = comparison(estimate, sum(used, Usage()))
    return [] if view is None else [Text(), view]


def amount_table(title: str, *more: str) -> Table:
    """Return a table of amounts, each with its expected value and its interval."""
    view = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    view.add_column(title)
    for name in ("expected", "from", "to", *more):
        view.add_column(name, justify="right")
    return view


def count_cells(amount: Range) -> tuple[str, str, str]:
    """Return the expected count and the ends of its interval."""
    return _cells([f"{value:,.0f}" for value in _values(amount)], amount)


def cost_cells(amount: Range | None) -> tuple[str, str, str]:
    if amount is None:
        return (UNKNOWN, "", "")
    return _cells([format_cost(value) for value in _values(amount)], amount)


def time_cells(amount: Range | None) -> tuple[str, str, str]:
    if amount is None:
        return (UNKNOWN, "", "")
    return _cells([format_time(value) for value in _values(amount)], amount)


def size_cells(amount: Range) -> tuple[str, str, str]:
    """Return bytes as megabytes."""
    return _cells([f"{value / 1e6:,.1f} MB" for value in _values(amount)], amount)


def format_time(seconds: float) -> str:
    """Return seconds as text, exact enough for an estimate."""
    if seconds < _MINUTE:
        return f"{seconds:,.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:,.0f} min"
    return str(timedelta(minutes=round(seconds / _MINUTE)))[:-3] + " h"


def _values(amount: Range) -> list[float]:
    return [amount.expected, amount.low, *([] if amount.high is None else [amount.high])]


def _cells(texts: list[str], amount: Range) -> tuple[str, str, str]:
    """Return the texts of a row; of a lower bound, only that."""
    if amount.high is None:
        return ("", f"at least {texts[1]}", UNKNOWN)
    return (texts[0], texts[1], texts[2])
