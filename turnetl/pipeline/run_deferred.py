"""The summaries that earlier runs deferred, written after an ingest."""

from turnetl.base.clock import Clock
from turnetl.base.model import Usage
from turnetl.ingestion.report import IngestReport
from turnetl.ingestion.summarize_report import SummarizeReport
from turnetl.llm.cost_bounds import amount_of
from turnetl.pipeline.run_summarize import summarize
from turnetl.settings import BudgetSettings, Settings


async def summarize_after(
    ingested: IngestReport, settings: Settings, clock: Clock
) -> SummarizeReport:
    """Write the deferred summaries of the groups of an ingest, with what it left of the budget.

    After an ingest that the budget or the provider stopped nothing is written. A group that was not
    completed is left to the next run.

    Args:
        ingested: the report of the ingest.
        settings: of the ingest.
        clock: returns the current time.

    Returns:
        The report as of `summarize`; without a group if nothing was to be tried.

    Raises:
        BadUsage, GraphBusy, GraphUnusable: as `summarize`.
    """
    is_stopped = any(group.stop_cause is not None for group in ingested.groups)
    groups = [group.group for group in ingested.groups if group.in_graph and group.error is None]
    budget = _rest(settings.budget, sum(ingested.usage_by_prompt.values(), Usage()))
    if ingested.error is not None or is_stopped or budget is None or not groups:
        return SummarizeReport(())
    return await summarize(settings.model_copy(update={"budget": budget}), clock, groups)


def _rest(budget: BudgetSettings, used: Usage) -> BudgetSettings | None:
    """Return what a run leaves of its budget; None if that is nothing."""
    amount = amount_of(used)
    tokens = None if budget.tokens is None else budget.tokens - amount.tokens
    usd = None if budget.usd is None else budget.usd - amount.usd
    if any(limit is not None and limit <= 0 for limit in (tokens, usd)):
        return None
    return BudgetSettings(tokens=None if tokens is None else int(tokens), usd=usd)
