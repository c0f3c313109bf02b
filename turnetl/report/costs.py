"""The cost of models: requests, tokens, seconds, US dollars."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from turnetl.base.model import Usage
from turnetl.base.text import format_cost
from turnetl.report import layout as md

UNKNOWN = (
    "the cost is unknown because a model that was used has no price; its tokens are counted: "
    "add its price to ~/.graphiti/prices.toml"
)

OF_TURNS = (
    "cost: of the turns in the graph; `turnetl runs` has that of all requests of a run, "
    "`turnetl journal stats` that of the stored responses"
)
OF_RUNS = (
    "cost: of all requests of a run, also for turns that failed or were undone since; "
    "`turnetl status` has that of the turns in the graph"
)
OF_RESPONSES = (
    "cost: of the responses that are stored, also of pilots, comparisons and questions, and "
    "without those that were pruned; `turnetl runs` has that of each run"
)
"""What a total of a cost holds: three commands print three, and none of them is wrong."""

_COLUMNS = ("calls", "tokens\nin", "cached", "tokens\nout", "seconds", "cost")
_WIDEST_NAME = len("extract_timestamps_batch")
"""The longest half of a prompt's name; each half has its own line."""


def table(usage_by_prompt: Mapping[str, Usage]) -> Table:
    """Render a row per prompt, in the order given, and one for all."""
    view = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    view.add_column("prompt", min_width=_WIDEST_NAME)
    for name in _COLUMNS:
        view.add_column(name, justify="right")
    for prompt, usage in usage_by_prompt.items():
        view.add_row(Text(prompt.replace(".", ".\n") or "-"), *_cells(usage))
    view.add_row("all", *_cells(total(usage_by_prompt)))
    return view


def markdown(usage_by_prompt: Mapping[str, Usage]) -> str:
    """Return the same table as Markdown; empty if no model was used."""
    if not usage_by_prompt:
        return ""
    headers = ("prompt", *(column.replace("\n", " ") for column in _COLUMNS))
    rows = {**usage_by_prompt, "all": total(usage_by_prompt)}
    cells = ((name or "-", *_cells(usage)) for name, usage in rows.items())
    return md.table(headers, cells, numbers=len(_COLUMNS))


def total(usage_by_prompt: Mapping[str, Usage]) -> Usage:
    return sum(usage_by_prompt.values(), Usage())


def cached_share(usage: Usage) -> float:
    """Return the share of the prompt tokens that the provider took from its own cache."""
    return usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        f"{usage.calls:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.cached_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:,.1f}",
        format_cost(usage.cost),
    )
