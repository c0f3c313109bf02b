"""What models cost: calls, tokens, seconds, US dollars."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from turnetl.model import Usage

UNKNOWN = (
    "the cost is not known, because a model that was asked has no price; its tokens are counted: "
    "give it a price in .graphiti/prices.toml"
)

_NUMBERS = ("calls", "tokens\nin", "cached", "tokens\nout", "seconds", "cost")
_WIDEST = len("extract_timestamps_batch")
"""Of the halves of a prompt's name, each in a line of its own."""


def table(by_prompt: Mapping[str, Usage]) -> Table:
    """A row a prompt, in the order given, and one for all."""
    shown = Table(box=None, padding=(0, 2, 0, 0))  # narrow enough for a terminal
    shown.add_column("prompt", min_width=_WIDEST)
    for name in _NUMBERS:
        shown.add_column(name, justify="right")
    for prompt, usage in by_prompt.items():
        shown.add_row(Text(prompt.replace(".", ".\n") or "-"), *_cells(usage))
    shown.add_row("all", *_cells(total(by_prompt)))
    return shown


def as_json(usage: Usage) -> dict[str, Any]:
    """Return the keys that others script against; `cost` is null where it is not known."""
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": round(usage.seconds, 3),
        "cost": None if usage.cost is None else round(usage.cost, 6),
    }


def total(by_prompt: Mapping[str, Usage]) -> Usage:
    return sum(by_prompt.values(), Usage())


def money(cost: float | None) -> str:
    """Return US dollars as they are shown."""
    if cost is None:
        return "unknown"
    return f"${cost:,.4f}" if 0 < cost < 1 else f"${cost:,.2f}"


def tokens(usage: Usage) -> int:
    """Return the tokens of prompts and answers."""
    return usage.prompt_tokens + usage.completion_tokens


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        f"{usage.calls:,}",
        f"{usage.prompt_tokens:,}",
        f"{usage.cached_tokens:,}",
        f"{usage.completion_tokens:,}",
        f"{usage.seconds:,.1f}",
        money(usage.cost),
    )
