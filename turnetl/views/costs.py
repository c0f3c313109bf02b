"""The cost of models: requests, tokens, seconds, US dollars; as estimated, and as it was."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from turnetl.base.model import Usage
from turnetl.base.text import format_cost, plural
from turnetl.ingestion.estimate_record import Range, RecordedEstimate
from turnetl.views.nodes import Column, Frame, Table, View, counted, numbers

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

_COLUMNS = numbers("calls", "tokens\nin", "cached", "tokens\nout", "seconds", "cost")
_WIDEST_NAME = len("extract_timestamps_batch")
"""The longest half of a prompt's name; each half has its own line."""
_MINUTE, _HOUR = 60, 3600


def view(usage_by_prompt: Mapping[str, Usage]) -> View:
    """Return a row per prompt, in the order given, and one for all; nothing without a prompt."""
    if not usage_by_prompt:
        return []
    prompt = Column("prompt", min_width=_WIDEST_NAME, breaks=".")
    rows = {**usage_by_prompt, "all": total(usage_by_prompt)}
    cells = [(name or "-", *_usage_cells(usage)) for name, usage in rows.items()]
    return [Table((prompt, *_COLUMNS), cells, Frame.NONE)]


def total(usage_by_prompt: Mapping[str, Usage]) -> Usage:
    return sum(usage_by_prompt.values(), Usage())


def used(usage: Usage) -> str:
    """Return requests, tokens and cost as text."""
    requests = plural(usage.calls, "request")
    return f"{requests}, {usage.tokens:,} tokens, cost {format_cost(usage.cost)}"


def cached_share(usage: Usage) -> float:
    """Return the share of the prompt tokens that the provider took from its own cache."""
    return usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0


def _usage_cells(usage: Usage) -> tuple[str, ...]:
    tokens_in, *others = amount_cells(usage)
    return (f"{usage.calls:,}", tokens_in, f"{usage.cached_tokens:,}", *others)


def amount_cells(usage: Usage) -> tuple[str, ...]:
    """Return tokens in, tokens out, seconds and cost."""
    tokens = counted((usage.prompt_tokens, usage.completion_tokens))
    return (*tokens, f"{usage.seconds:,.1f}", format_cost(usage.cost))


def comparison(estimate: RecordedEstimate, usage: Usage, seconds: float | None = None) -> View:
    """Return an empty line and what was estimated beside what was used, if there is anything."""
    rows: list[Sequence[str]] = []
    if estimate.requests.expected or usage.calls:
        cost = format_cost(usage.cost)
        rows += [
            ("requests", *range_cells(estimate.requests), f"{usage.calls:,}"),
            ("tokens", *range_cells(estimate.tokens), f"{usage.tokens:,}"),
            ("cost", *range_cells(estimate.cost, format_cost), cost),
        ]
    if seconds is not None and estimate.seconds is not None:
        rows.append(("time", *range_cells(estimate.seconds, format_time), format_time(seconds)))
    return ["", amounts("estimate and actual", rows, "actual")] if rows else []


def compared(estimate: RecordedEstimate | None, usage_by_prompt: Mapping[str, Usage]) -> View:
    """Return the comparison with the usage of a run; nothing if it was not estimated."""
    if estimate is None:
        return []
    from turnetl.llm.meter import EMBEDDINGS  # noqa: PLC0415 - a run without new turns needs none

    usages = [usage for prompt, usage in usage_by_prompt.items() if prompt != EMBEDDINGS]
    return comparison(estimate, sum(usages, Usage()))


def amounts(title: str, rows: Sequence[Sequence[str]], *more: str) -> Table:
    columns = (Column(title), *numbers("expected", "from", "to", *more))
    return Table(columns, rows, Frame.NONE)


def range_cells(
    amount: Range | None, text: Callable[[float], str] = "{:,.0f}".format
) -> tuple[str, str, str]:
    """Return the expected value and the ends of its interval; of a lower bound, only that."""
    if amount is None:
        return ("unknown", "", "")
    if amount.high is None:
        return ("", f"at least {text(amount.low)}", "unknown")
    return text(amount.expected), text(amount.low), text(amount.high)


def format_time(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:,.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:,.0f} min"
    return str(timedelta(minutes=round(seconds / _MINUTE)))[:-3] + " h"
