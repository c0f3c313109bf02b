"""What the graph holds of each run: by a query, or from receipts that a store keeps as JSON."""

from collections.abc import Iterable
from typing import LiteralString

from turnetl.base.graph_model import Receipt, RunTotals
from turnetl.base.model import Usage

RUN_TOTALS: LiteralString = """
MATCH (c:TurnCommit)
RETURN c.run_id AS run_id, count(*) AS committed,
       sum(c.entities_new) AS entities_new, sum(c.facts_new) AS facts_new,
       sum(c.facts_invalidated) AS facts_invalidated, sum(c.calls) AS calls,
       sum(c.prompt_tokens) AS prompt_tokens, sum(c.cached_tokens) AS cached_tokens,
       sum(c.completion_tokens) AS completion_tokens, sum(c.seconds) AS seconds,
       sum(coalesce(c.cost, 0.0)) AS cost,
       sum(CASE WHEN c.cost IS NULL THEN 1 ELSE 0 END) AS unpriced
"""


def run_totals(receipts: Iterable[Receipt]) -> dict[str, RunTotals]:
    """Return the totals of each run, by its id."""
    totals: dict[str, RunTotals] = {}
    for receipt in receipts:
        before = totals.get(receipt.run_id, _NOTHING)
        totals[receipt.run_id] = RunTotals(
            committed=before.committed + 1,
            entities_new=before.entities_new + receipt.entities_new,
            facts_new=before.facts_new + receipt.facts_new,
            facts_invalidated=before.facts_invalidated + receipt.facts_invalidated,
            usage=before.usage + receipt.usage,
        )
    return totals


_NOTHING = RunTotals(0, 0, 0, 0, Usage())
