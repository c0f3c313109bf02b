"""The plan of a run: the turns it would ingest, and what they are expected to take."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.base.text import format_cost, plural
from turnetl.estimation.report import Estimate, PilotSummary, PlanReport
from turnetl.estimation.usage_range import CONFIDENCE
from turnetl.ingestion.estimate_record import EstimateMethod
from turnetl.report import estimates
from turnetl.report import layout as md
from turnetl.report import parse as parse_view
from turnetl.report.layout import add_group_column, caption

_SENT = (EstimateMethod.PILOT, EstimateMethod.HISTORY, EstimateMethod.BOUNDS)
"""Methods of runs that send requests."""


def table(report: PlanReport) -> RenderableType:
    """Render a row per group, a row per prompt, and the totals with their intervals."""
    if not report.estimate.groups:
        return caption(_nothing(report))
    command = f"turnetl {report.work}"
    return estimate_table(report.estimate, command)


def estimate_table(estimate: Estimate, command: str) -> RenderableType:
    """Render an estimate of at least one group.

    Args:
        estimate: to render.
        command: that would ingest the turns.
    """
    parts: list[RenderableType] = [_groups(estimate)]
    if estimate.by_prompt:
        parts += [Text(), _prompts(estimate)]
    parts += [Text(), _totals(estimate), caption(_origin(estimate, command))]
    return Group(*parts)


def totals_markdown(estimate: Estimate) -> str:
    """Return the totals with their intervals as Markdown."""
    return md.table(("all groups", "expected", "from", "to"), _total_rows(estimate), numbers=3)


def messages(report: PlanReport) -> list[str]:
    """Return what the user should know about the estimate, one sentence each."""
    estimate = report.estimate
    sentences = [] if report.parsed is None else parse_view.messages(report.parsed)
    sentences += report.errors
    if report.pending:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.pending.items())
        sentences.append(f"pending turns that the run would leave out: {reasons}")
    return sentences + estimate_messages(estimate)


def estimate_messages(estimate: Estimate) -> list[str]:
    """Return what an estimate does not say in its table, one sentence each."""
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


def _groups(estimate: Estimate) -> Table:
    view = Table(box=None, padding=(0, 2, 0, 0))
    add_group_column(view)
    for name in ("turns", "chunks", "characters", "requests", "tokens", "cost"):
        view.add_column(name, justify="right")
    for group in estimate.groups:
        view.add_row(
            Text(group.group),
            *(f"{count:,}" for count in (group.turns, group.chunks, group.chars)),
            *(f"{amount:,.0f}" for amount in (group.requests, group.tokens)),
            format_cost(group.cost),
        )
    return view


def _prompts(estimate: Estimate) -> Table:
    view = Table(box=None, padding=(0, 2, 0, 0))
    view.add_column("prompt", overflow="fold")
    for name in ("requests", "tokens in", "tokens out", "cost"):
        view.add_column(name, justify="right")
    for prompt, usage in estimate.by_prompt.items():
        amounts = (usage.requests, usage.prompt_tokens, usage.completion_tokens)
        cost = None if usage.cost is None else usage.cost.expected
        view.add_row(
            Text(prompt),
            *(f"{amount.expected:,.0f}" for amount in amounts),
            format_cost(cost),
        )
    return view


def _totals(estimate: Estimate) -> Table:
    view = estimates.amount_table("all groups")
    for row in _total_rows(estimate):
        view.add_row(*row)
    return view


def _total_rows(estimate: Estimate) -> Iterator[Sequence[str]]:
    if estimate.method in _SENT:
        yield "requests", *estimates.count_cells(estimate.total.requests)
        yield "tokens", *estimates.count_cells(estimate.total.tokens)
        yield "cost", *estimates.cost_cells(estimate.total.cost)
    else:
        yield "requests", "0", "0", "0"
    yield "time", *estimates.time_cells(estimate.seconds)
    for name, size in estimate.disk.items():
        yield f"disk: {name}", *estimates.size_cells(size)


def _origin(estimate: Estimate, command: str) -> str:
    """Return for which command the estimate is, and what it was made from."""
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
