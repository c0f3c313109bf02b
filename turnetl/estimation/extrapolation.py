"""Usage predicted from a pilot, from history or from prompts alone; speeds and growth of a run."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from statistics import stdev

import polars as pl

from turnetl.base.batched import grouped
from turnetl.base.graph_model import TurnRun
from turnetl.base.ids import is_shadow
from turnetl.base.model import TurnId, Usage
from turnetl.estimation.pilot import ObservedRequest, TurnRequests
from turnetl.estimation.sample import (
    CONFIDENCE,
    MIN_SAMPLE,
    PendingTurn,
    Stratum,
    UsageByPrompt,
    UsageRange,
    merged,
    minimum_usage,
    predict_usage,
    prompts_of,
    scaled,
    stratify,
    student_quantile,
)
from turnetl.graph.port import ReceiptStore
from turnetl.ingestion.estimate_record import Range
from turnetl.lake import Lake
from turnetl.llm.journal.store import JournalStats, JournalTotals
from turnetl.llm.prices import Price


@dataclass(frozen=True, slots=True)
class PromptMeans:
    """Of the requests of one prompt, or of all."""

    requests: int
    ratio: float
    """Tokens of the prompts as the provider counts them, per estimated token."""
    calls: float
    """Attempts per request: the tokens of a prompt count with each."""
    completion_tokens: float
    """Per request."""
    seconds: float
    """Per request."""
    completion_margin: float = 0.0
    """Half the interval of the mean of `completion_tokens`; 0 for earlier runs, of which only the
    mean is known."""


class Calibration:
    """The usage of requests by prompt, learned from responses."""

    def __init__(
        self,
        observed: Iterable[ObservedRequest],
        price: Callable[[str], Price | None],
        earlier: Mapping[str, PromptMeans],
    ) -> None:
        """Learn from the requests that were sent; `earlier`: of prompts of which none was sent."""
        sent = grouped((one.prompt, one) for one in observed if one.usage and one.usage.calls)
        self._price = price
        self._by_prompt = {prompt: _means(requests) for prompt, requests in sent.items()}
        self._all = _means([request for requests in sent.values() for request in requests])
        self._earlier = {
            prompt: replace(means, ratio=self._all.ratio) for prompt, means in earlier.items()
        }

    def usage(self, requests: Iterable[ObservedRequest]) -> UsageByPrompt:
        """Return the usage of requests by prompt: as counted, else as expected."""
        return _summed(
            (one.prompt, one.usage if one.usage is not None else self._expected(one))
            for one in requests
        )

    def seconds(self, prompt: str) -> float:
        return self._of(prompt).seconds

    def completion_margin(self, prompt: str) -> float:
        """Return by how many tokens the mean response to a prompt may differ from the truth."""
        return self._of(prompt).completion_margin

    def _expected(self, request: ObservedRequest) -> Usage:
        means = self._of(request.prompt)
        prompt_tokens = round(request.tokens * means.ratio * means.calls)
        completion_tokens = round(means.completion_tokens)
        usage = Usage(1, prompt_tokens, completion_tokens, None, 0, means.seconds)
        return at_price(usage, self._price(request.prompt))

    def _of(self, prompt: str) -> PromptMeans:
        if (means := self._by_prompt.get(prompt)) is not None:
            return means
        return self._earlier.get(prompt, self._all)


def _means(requests: Sequence[ObservedRequest]) -> PromptMeans:
    total = sum((request.usage for request in requests if request.usage is not None), Usage())
    estimated, count = sum(request.tokens for request in requests), max(len(requests), 1)
    calls = total.calls / count if requests else 1.0
    ratio = total.prompt_tokens / calls / estimated if estimated else 1.0
    return PromptMeans(
        requests=len(requests),
        ratio=ratio,
        calls=calls,
        completion_tokens=total.completion_tokens / count,
        seconds=total.seconds / count,
        completion_margin=_margin(requests),
    )


def _margin(requests: Sequence[ObservedRequest]) -> float:
    """Return half the interval of the mean length of the responses; of one, its length."""
    lengths = [one.usage.completion_tokens for one in requests if one.usage is not None]
    if len(lengths) < MIN_SAMPLE:
        return float(sum(lengths))
    quantile = student_quantile((1 + CONFIDENCE) / 2, len(lengths) - 1)
    return quantile * stdev(lengths) / math.sqrt(len(lengths))


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A turn that was ingested before."""

    chars: int
    """Of its episode, as the lake has it."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class PredictedUsage:
    """What turns will use from now on."""

    total: UsageRange
    by_prompt: Mapping[str, UsageRange]
    by_turn: Mapping[TurnId, Usage]
    """Expected."""
    resolution_prompts: frozenset[str] = frozenset()
    """Prompts that a group sends one turn after the other."""
    seconds_by_prompt: Mapping[str, float] = field(default_factory=dict)
    """Mean latency of a request."""


def from_pilot(
    pending: Sequence[PendingTurn],
    piloted: Sequence[TurnRequests],
    surveyed: Sequence[TurnRequests],
    answered: Sequence[TurnRequests],
    *,
    price: Callable[[str], Price | None],
    earlier: Mapping[str, PromptMeans],
) -> PredictedUsage | None:
    """Predict from the turns of a pilot; None if it saw too few.

    Args:
        surveyed: what the journal answers of the other turns.
        answered: turns that are not pending, as the journal answers all their requests.
    """
    seen = (*answered, *piloted)
    everything = [one for turn in seen for one in turn.requests]
    calibration = Calibration(everything, price, earlier)
    resolved = [turn for turn in seen if turn.is_resolved]
    drawn = {turn.turn_id: turn for turn in piloted if not turn.is_resolved}
    rest = [turn for turn in pending if turn.turn_id not in {one.turn_id for one in resolved}]
    unseen = _unseen(resolved, drawn.values(), calibration)
    full = {turn: _sum(calibration.usage(one.requests), unseen) for turn, one in drawn.items()}
    # The journal has what extracted them.
    known: dict[TurnId, UsageByPrompt] = {
        turn: _sum(calibration.usage(one.resolution), unseen) for turn, one in drawn.items()
    }
    strata = merged(stratify(rest, len(drawn)), drawn.keys()) if rest else ()
    if any(not stratum.is_sampled(drawn.keys()) for stratum in strata):
        return None
    known |= _subtracted(surveyed)
    predicted = _predict(strata, full, known)
    names = {one.prompt for turn in seen for one in turn.resolution} | set(unseen)
    predicted = _with_response_errors(predicted, names, calibration, price)
    latencies = {prompt: calibration.seconds(prompt) for prompt in predicted.by_prompt}
    return replace(predicted, resolution_prompts=frozenset(names), seconds_by_prompt=latencies)


def from_history(
    pending: Sequence[PendingTurn],
    history: Sequence[EarlierTurn],
    surveyed: Sequence[TurnRequests],
    shares: Mapping[str, float],
) -> PredictedUsage | None:
    """Predict from turns that were ingested before; None if there are too few.

    Args:
        surveyed: what the journal answers of the pending turns.
        shares: of each prompt in the usage of the model; their sum is 1, or there are none.
    """
    if len(history) < MIN_SAMPLE:
        return None
    samples = _assigned(stratify(pending, len(history)), history)
    parts = [(stratum.turns, [{"": usage} for usage in drawn]) for stratum, drawn in samples]
    predicted = _predict_parts(parts, _subtracted(surveyed))
    by_prompt = {prompt: predicted.total.scaled(share) for prompt, share in shares.items()}
    return replace(predicted, by_prompt=by_prompt)


def from_prompts(
    pending: Sequence[PendingTurn],
    surveyed: Sequence[TurnRequests],
    *,
    price: Callable[[str], Price | None],
) -> PredictedUsage:
    """Return lower bounds: the prompts that extract the turns, without any response."""
    scale = max(len(pending) / len(surveyed), 1.0) if surveyed else 0.0
    sent = [_prompt_usage(turn.extraction, price) for turn in surveyed]
    known = [{prompt: scaled(used, scale) for prompt, used in usage.items()} for usage in sent]
    by_turn = {
        turn.turn_id: sum(usage.values(), Usage())
        for turn, usage in zip(surveyed, sent, strict=True)
    }
    by_prompt = {prompt: minimum_usage(known, prompt) for prompt in prompts_of(known)}
    return PredictedUsage(minimum_usage(known), by_prompt, by_turn)


def with_lower_ends(usage: PredictedUsage, least: PredictedUsage) -> PredictedUsage:
    """Return the usage with ranges that begin at what is sent in any case.

    For turns that were resolved before: if their extraction gives what it gave then, the journal
    answers the requests that resolve them.
    """
    nothing = minimum_usage(())
    by_prompt = {
        prompt: one.down_to(least.by_prompt.get(prompt, nothing))
        for prompt, one in usage.by_prompt.items()
    }
    return replace(usage, total=usage.total.down_to(least.total), by_prompt=by_prompt)


def answered_usage(turns: Iterable[TurnRequests]) -> tuple[int, Usage]:
    """Return the requests of these turns that the journal answers, and what they cost."""
    usages = [
        request.usage for turn in turns for request in turn.requests if request.usage is not None
    ]
    return len(usages), sum(usages, Usage())


def _with_response_errors(
    predicted: PredictedUsage,
    prompts: Iterable[str],
    calibration: Calibration,
    price: Callable[[str], Price | None],
) -> PredictedUsage:
    """Add the error of the lengths of those responses that the pilot did not request."""
    by_prompt, total = dict(predicted.by_prompt), predicted.total
    for prompt in sorted(set(prompts) & by_prompt.keys()):
        usage, priced = by_prompt[prompt], price(prompt)
        tokens = usage.requests.expected * calibration.completion_margin(prompt)
        cost = priced.cost(Usage(1, 0, round(tokens))) if priced else 0.0
        by_prompt[prompt], total = usage.widened(tokens, cost), total.widened(tokens, cost)
    return replace(predicted, total=total, by_prompt=by_prompt)


def _predict(
    strata: Sequence[Stratum],
    full: Mapping[TurnId, UsageByPrompt],
    known: Mapping[TurnId, UsageByPrompt],
) -> PredictedUsage:
    parts = [
        (
            tuple(turn for turn in stratum.turns if turn.turn_id not in full),
            tuple(full[turn.turn_id] for turn in stratum.turns if turn.turn_id in full),
        )
        for stratum in strata
    ]
    return _predict_parts(parts, known)


def _predict_parts(
    parts: Sequence[tuple[Sequence[PendingTurn], Sequence[UsageByPrompt]]],
    known: Mapping[TurnId, UsageByPrompt],
) -> PredictedUsage:
    """Predict the turns of each part from the usages beside them; add what is known."""
    strata = [(drawn, len(others)) for others, drawn in parts]
    added = list(known.values())
    names = prompts_of([*added, *(usage for _, drawn in parts for usage in drawn)])
    by_turn = {turn: sum(usage.values(), Usage()) for turn, usage in known.items()}
    for others, drawn in parts:
        mean = _mean(drawn)
        for turn in others:
            by_turn[turn.turn_id] = by_turn.get(turn.turn_id, Usage()) + mean
    return PredictedUsage(
        predict_usage(strata, added),
        {prompt: predict_usage(strata, added, prompt) for prompt in names},
        by_turn,
    )


def _assigned(
    strata: Sequence[Stratum], history: Sequence[EarlierTurn]
) -> list[tuple[Stratum, list[Usage]]]:
    """Return each stratum with the earlier turns of its length; strata with too few are joined."""
    found: list[tuple[Stratum, list[Usage]]] = []
    shortest = -1.0
    for number, stratum in enumerate(strata, start=1):
        longest = math.inf if number == len(strata) else stratum.turns[-1].chars
        drawn = [turn.usage for turn in history if shortest < turn.chars <= longest]
        shortest = longest
        if found and min(len(found[-1][1]), len(drawn)) < MIN_SAMPLE:
            before, earlier = found.pop()
            found.append((Stratum((*before.turns, *stratum.turns)), [*earlier, *drawn]))
        else:
            found.append((stratum, drawn))
    return found


def _unseen(
    resolved: Sequence[TurnRequests], drawn: Iterable[TurnRequests], calibration: Calibration
) -> UsageByPrompt:
    """Return the mean usage of prompts that only turns show which the model resolved."""
    simulated = {one.prompt for turn in drawn for one in turn.requests}
    usages = [calibration.usage(turn.requests) for turn in resolved]
    only = [prompt for prompt in prompts_of(usages) if prompt not in simulated]
    return {
        prompt: _mean([{prompt: one.get(prompt, Usage())} for one in usages]) for prompt in only
    }


def _subtracted(surveyed: Iterable[TurnRequests]) -> dict[TurnId, UsageByPrompt]:
    """Return what the journal answers of each turn, as negative usage by prompt."""
    found: dict[TurnId, UsageByPrompt] = {}
    for turn in surveyed:
        usages = _summed(
            (one.prompt, scaled(one.usage, -1)) for one in turn.extraction if one.usage is not None
        )
        if usages:
            found[turn.turn_id] = usages
    return found


def _prompt_usage(
    requests: Iterable[ObservedRequest], price: Callable[[str], Price | None]
) -> UsageByPrompt:
    return _summed(
        (one.prompt, at_price(Usage(1, one.tokens, 0, None), price(one.prompt)))
        for one in requests
        if one.usage is None
    )


def _summed(usages: Iterable[tuple[str, Usage]]) -> UsageByPrompt:
    found: dict[str, Usage] = {}
    for prompt, usage in usages:
        found[prompt] = found.get(prompt, Usage()) + usage
    return found


def _sum(one: UsageByPrompt, other: UsageByPrompt) -> UsageByPrompt:
    names = prompts_of((one, other))
    return {name: one.get(name, Usage()) + other.get(name, Usage()) for name in names}


def _mean(usages: Sequence[UsageByPrompt]) -> Usage:
    totals = [sum(usage.values(), Usage()) for usage in usages]
    return scaled(sum(totals, Usage()), 1 / len(totals)) if totals else Usage()


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
