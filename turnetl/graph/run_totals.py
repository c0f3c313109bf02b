"""The query for what the graph holds of each run, the same for both stores."""

from typing import LiteralString

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
