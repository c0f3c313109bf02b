"""What a model used before, at the prices of now, and how many bytes an ingest adds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl

from turnetl.base.graph_model import TurnRun
from turnetl.base.ids import is_shadow
from turnetl.base.model import Usage
from turnetl.estimation.extrapolation import EarlierTurn, PromptMeans
from turnetl.estimation.pilot import ObservedRequest, TurnRequests
from turnetl.estimation.usage_range import scaled
from turnetl.graph.port import ReceiptStore
from turnetl.ingestion.estimate_record import Range
from turnetl.lake import Lake
from turnetl.llm.journal.store import JournalStats, JournalTotals
from turnetl.llm.prices import Price

_OTHER_WORK = ("communities.", "evaluate.", "index.", "search.")
"""Beginnings of prompts that no ingest sends."""
_MIN_TURNS = 5
"""Turns of a run from which its speed says something."""


async def earlier_turns(
    lake: Lake, store: ReceiptStore, *, extractor: str, model: str, price: Price | None
) -> list[EarlierTurn]:
    """Return the turns of all groups that this extractor and this model made, with their usage.

    Turns that the lake no longer holds have no known length and are left out. Costs are those of
    the price, which is that of now.
    """
    found: list[EarlierTurn] = []
    for group in await store.groups():
        if is_shadow(group):
            continue
        receipts = [
            receipt
            for receipt in await store.receipts(group)
            if (receipt.extractor, receipt.model) == (extractor, model) and receipt.usage.calls
        ]
        if receipts:
            with lake.reading_episodes(group):
                rows = lake.scan_episodes(group).select("turn_id", "chars_after").collect()
            chars = dict(
                rows.filter(pl.col("turn_id").is_in([one.turn_id for one in receipts])).iter_rows()
            )
            found += (
                EarlierTurn(chars[receipt.turn_id], at_price(receipt.usage, price))
                for receipt in receipts
                if receipt.turn_id in chars
            )
    return found


def prompt_means(stats: JournalStats, model_of: Callable[[str], str]) -> Mapping[str, PromptMeans]:
    return {
        prompt: PromptMeans(
            requests=totals.entries,
            ratio=1.0,
            calls=totals.usage.calls / totals.entries,
            completion_tokens=totals.usage.completion_tokens / totals.entries,
            seconds=totals.usage.seconds / totals.entries,
        )
        for prompt, totals in _of_model(stats, model_of).items()
    }


def prompt_shares(stats: JournalStats, model_of: Callable[[str], str]) -> Mapping[str, float]:
    """Return the share of each prompt in the tokens of a model, sorted by name."""
    usages = {prompt: totals.usage for prompt, totals in _of_model(stats, model_of).items()}
    tokens = {name: one.tokens for name, one in usages.items()}
    total = sum(tokens.values())
    return {name: count / total for name, count in sorted(tokens.items())} if total else {}


def speeds(runs: Iterable[TurnRun], extractor: str, model: str | None) -> list[float]:
    """Return turns per second of the complete runs of an extractor and a model."""
    found = []
    for run in runs:
        is_alike = (run.extractor, run.model) == (extractor, model)
        if is_alike and run.ended_at is not None and run.committed >= _MIN_TURNS:
            seconds = (run.ended_at - run.started_at) / timedelta(seconds=1)
            found.append(run.committed / max(seconds, 0.001))
    return found


def _of_model(stats: JournalStats, model_of: Callable[[str], str]) -> dict[str, JournalTotals]:
    return {
        prompt: totals
        for (model, prompt), totals in stats.by_model_and_prompt.items()
        if totals.entries and model == model_of(prompt) and not prompt.startswith(_OTHER_WORK)
    }


def at_price(usage: Usage, price: Price | None) -> Usage:
    """Return the usage of requests of one model, equally long, with the cost at this price."""
    if not usage.calls:
        return usage
    if price is None:
        return replace(usage, cost=None)
    # A tier is chosen by the prompt of one request.
    one = scaled(usage, 1 / usage.calls)
    return replace(usage, cost=price.cost(one) * usage.calls)


def at_prices(
    turns: Iterable[TurnRequests], price: Callable[[str], Price | None]
) -> list[TurnRequests]:
    """Return the turns with the costs of their requests at the prices of now."""

    def priced(requests: Iterable[ObservedRequest]) -> tuple[ObservedRequest, ...]:
        return tuple(
            one if one.usage is None else replace(one, usage=at_price(one.usage, price(one.prompt)))
            for one in requests
        )

    return [
        replace(turn, extraction=priced(turn.extraction), resolution=priced(turn.resolution))
        for turn in turns
    ]


_MIN_MEASURED_TURNS = 50
"""Turns from which the size of a file says what a turn takes: a file has a size without any."""
_SPREAD = 2.0
_GRAPH_BYTES = Range(15_000, 60_000, 200_000)
_INDEX_BYTES = Range(3_000, 12_000, 40_000)
"""Of a turn, in a graph and an index that are new."""
_JOURNAL_ROW_BYTES, _TOKEN_BYTES = 400, 4


def disk_growth(
    turns: int,
    committed: int,
    *,
    graph: Path | None,
    index: Path,
    requests: Range,
    completion_tokens: Range,
) -> Mapping[str, Range]:
    """Return by how many bytes each part of the data will grow.

    Args:
        committed: turns that graph and index hold now.
        graph: the file of an embedded graph; None: the graph is on a server, and is left out.
        completion_tokens: of the responses to `requests`.
    """
    journal = requests * _JOURNAL_ROW_BYTES + completion_tokens * _TOKEN_BYTES
    parts = {
        **({"graph": _per_turn(graph, committed, _GRAPH_BYTES) * turns} if graph else {}),
        "index": _per_turn(index, committed, _INDEX_BYTES) * turns,
        "journal": journal,
    }
    return {name: round(part, 0) for name, part in parts.items() if part.expected}


def _per_turn(path: Path, committed: int, otherwise: Range) -> Range:
    if committed < _MIN_MEASURED_TURNS:
        return otherwise
    mean = _size(path) / committed
    return Range(mean / _SPREAD, mean, mean * _SPREAD) if mean else otherwise


def _size(path: Path) -> int:
    """Return the bytes of a file or of the files of a folder; 0 if there is none."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
