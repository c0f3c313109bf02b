"""The plan of a run: the turns it would ingest, and what they are expected to take."""

from collections.abc import Iterator, Sequence

from turnetl.base.text import format_cost, plural
from turnetl.estimation.plan_report import Estimate, GroupEstimate, PilotSummary, PlanReport
from turnetl.estimation.sample import CONFIDENCE
from turnetl.ingestion.estimate_record import EstimateMethod
from turnetl.views import costs
from turnetl.views import parse as parse_view
from turnetl.views.nodes import Caption, Column, Frame, Table, View, counted, numbers, tally

_SHOWN = 8
"""Groups that have a row, of many, or groups and prompts."""
_SENT = (EstimateMethod.PILOT, EstimateMethod.HISTORY, EstimateMethod.BOUNDS)
"""Methods of runs that send requests."""


def view(report: PlanReport, *, is_verbose: bool = True) -> View:
    if not report.estimate.groups:
        return [Caption(_nothing(report))]
    return estimate_view(report.estimate, f"turnetl {report.work}", is_verbose=is_verbose)


def estimate_view(estimate: Estimate, command: str, *, is_verbose: bool = True) -> View:
    """Return an estimate of at least one group for the command that would ingest the turns.

    Unless it is verbose, of many groups only the largest have a row, and prompts if all fit.
    """
    rows = len(estimate.groups) + len(estimate.by_prompt)
    has_prompts = estimate.by_prompt and (is_verbose or rows <= _SHOWN)
    prompts: View = ["", _prompts(estimate)] if has_prompts else []
    totals = costs.amounts("all groups", [*_total_rows(estimate)])
    groups = _groups(estimate, len(estimate.groups) if is_verbose else _SHOWN)
    return [groups, *prompts, "", totals, Caption(_origin(estimate, command))]


def messages(report: PlanReport) -> list[str]:
    estimate = report.estimate
    sentences = [] if report.parsed is None else parse_view.messages(report.parsed)
    sentences += report.errors
    if report.pending:
        left_out = tally(report.pending.items())
        sentences.append(f"pending turns that the run would leave out: {left_out}")
    return sentences + estimate_messages(estimate)


def estimate_messages(estimate: Estimate) -> list[str]:
    sentences: list[str] = []
    if estimate.answered_requests:
        saved = format_cost(estimate.answered.cost)
        sentences.append(
            f"the journal answers {plural(estimate.answered_requests, 'request')} of these turns, "
            f"which cost {saved} when they were paid; they are not part of the estimate"
        )
    if estimate.pilot is not None:
        sentences += _pilot(estimate.pilot, estimate.turns)
    if estimate.method in _SENT:
        sentences += estimate.missing_prices
    if estimate.method is EstimateMethod.BOUNDS:
        sentences.append(
            "all amounts are lower bounds: they hold the prompts that extract the turns, no "
            "response and no request that resolves them; add --pilot 20 for an estimate"
        )
    return sentences


def _groups(estimate: Estimate, most: int) -> Table:
    """Return a row per group; of more than `most` the largest, and a row for the others."""
    groups = estimate.groups
    if len(groups) > most:
        groups = tuple(sorted(groups, key=lambda one: (-one.turns, one.group)))
    rows = [_row(group.group, [group]) for group in groups[:most]]
    if rest := groups[most:]:
        rows.append(_row(f"{len(rest):,} more (--verbose)", rest))
    amounts = numbers("turns", "chunks", "characters", "requests", "tokens", "cost")
    return Table((Column("group"), *amounts), rows, Frame.NONE)


def _row(name: str, groups: Sequence[GroupEstimate]) -> Sequence[str]:
    known = [group.cost for group in groups if group.cost is not None]
    amounts = [
        sum(amounts)
        for amounts in zip(
            *((one.turns, one.chunks, one.chars, one.requests, one.tokens) for one in groups),
            strict=True,
        )
    ]
    cost = sum(known) if len(known) == len(groups) else None
    return [name, *counted(amounts), format_cost(cost)]


def _prompts(estimate: Estimate) -> Table:
    rows = []
    for prompt, usage in estimate.by_prompt.items():
        amounts = (usage.requests, usage.prompt_tokens, usage.completion_tokens)
        cost = format_cost(None if usage.cost is None else usage.cost.expected)
        rows.append((prompt, *(f"{amount.expected:,.0f}" for amount in amounts), cost))
    headers = numbers("requests", "tokens in", "tokens out", "cost")
    return Table((Column("prompt"), *headers), rows, Frame.NONE)


def _total_rows(estimate: Estimate) -> Iterator[Sequence[str]]:
    if estimate.method in _SENT:
        yield "requests", *costs.range_cells(estimate.total.requests)
        yield "tokens", *costs.range_cells(estimate.total.tokens)
        yield "cost", *costs.range_cells(estimate.total.cost, format_cost)
    else:
        yield "requests", "0", "0", "0"
    yield "time", *costs.range_cells(estimate.seconds, costs.format_time)
    for name, size in estimate.disk.items():
        yield f"disk: {name}", *costs.range_cells(size, lambda bytes_: f"{bytes_ / 1e6:,.1f} MB")


def _origin(estimate: Estimate, command: str) -> str:
    turns, range_ = plural(estimate.basis, "turn"), f"{CONFIDENCE:.0%} interval"
    origin = {
        EstimateMethod.PILOT: f"from a pilot of {turns}, with its {range_}",
        EstimateMethod.HISTORY: f"from {turns} that this model extracted before, with its {range_}",
        EstimateMethod.BOUNDS: "from the prompts alone: lower bounds",
        EstimateMethod.JOURNAL: "the journal answers every request",
        EstimateMethod.NO_MODEL: "the extractor sends no request",
    }[estimate.method]
    turns = plural(estimate.turns, "turn")
    return f"{turns} for `{command}`: {origin}"


def _pilot(pilot: PilotSummary, turns: int) -> list[str]:
    usage, sentences = pilot.usage, []
    sentences.append(
        f"the pilot of {plural(pilot.turns, 'turn')} sent {plural(usage.calls, 'request')} with "
        f"{usage.tokens:,} tokens, cost: {format_cost(usage.cost)}; the run "
        "finds their responses in the journal"
    )
    if pilot.asked > turns:
        sentences.append(f"the pilot has all {plural(turns, 'pending turn')}: there are no more")
    if pilot.failed:
        sentences.append(
            f"{plural(pilot.failed, 'turn')} of the pilot cannot be ingested; a run would "
            "quarantine such turns"
        )
    if pilot.stopped:
        sentences.append(f"the pilot ended early: {pilot.stopped}")
    return sentences


def _nothing(report: PlanReport) -> str:
    if report.errors:
        return "nothing can be estimated"
    if report.work == "redo":
        return "no turn is selected: there is nothing to redo"
    return f"nothing to ingest: `turnetl {report.work}` would send no request"
