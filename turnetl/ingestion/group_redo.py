"""The redo of one group: what it takes, and the ingest plan of the turns that it repeats."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

import polars as pl

from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.recipe_parts import RecipeParts, recipe_digest
from turnetl.graph.port import GraphStore
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.plan import COLUMNS, ComparedTurn, Scope, committed_turns, plan_turns
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.ingestion.redo_plan import RedoPlan, RedoSelection, plan_redo
from turnetl.ingestion.stale_parts import StalePart, stale_parts
from turnetl.lake import Lake

Recipe = Callable[[GroupId, str], RecipeParts]
"""Returns how turns of a group and kind would be extracted today."""

_NOT_IN_LAKE = "missing from the lake"


@dataclass(frozen=True, slots=True)
class GroupRedoPlan:
    """The turns of a group to undo, and the plan that ingests them again."""

    redo: RedoPlan
    ingest: GroupPlan
    """Commits only turns of the redo. Made as if these were undone already."""
    stale_reasons: Mapping[StaleReason, int]
    """Of the repeated turns."""
    stale_parts: tuple[StalePart, ...]
    """Of the repeated turns."""
    left_out: Mapping[str, int]
    """Turns that are noise today, by rule: they are undone and not ingested again."""
    unrepeatable: Mapping[str, int]
    """Turns that could not be ingested again, by reason; the redo is then refused."""

    @property
    def group(self) -> GroupId:
        return self.ingest.group

    @property
    def used(self) -> Usage:
        """Usage of the turns when they were ingested."""
        receipts = (turn.record.receipt for turn in self.redo.undo.turns)
        return sum((receipt.usage for receipt in receipts), Usage())


async def plan_group_redo(
    plan: GroupPlan,
    lake: Lake,
    store: GraphStore,
    scope: Scope,
    selection: RedoSelection,
    *,
    recipe: Recipe | None,
    context_turns: int,
    exact: bool,
) -> GroupRedoPlan | None:
    """Plan the redo of a group; None if nothing of it is selected. Writes nothing.

    Args:
        plan: of an ingest of the group.
        lake: holds the quarantine.
        store: the graph.
        scope: the one of the plan.
        selection: the turns to redo.
        recipe: None if it is not known.
        context_turns: see `plan_turns`.
        exact: see `plan_redo`.

    Raises:
        GraphBusy: the graph did not respond.
        GraphUnusable: the graph cannot be used as it is.
    """
    rows = plan.rows.select(*COLUMNS, "chars_after").collect()
    receipts = {receipt.turn_id: receipt for receipt in await store.receipts(plan.group)}
    today = cache(partial(recipe, plan.group)) if recipe is not None else None
    digest = (lambda kind: recipe_digest(today(kind))) if today is not None else None
    committed = list(committed_turns(rows, receipts, digest))
    records = await store.commit_records(plan.group)
    redo = plan_redo(plan.group, records, committed, selection, exact=exact)
    if redo is None:
        return None
    again = plan_turns(
        plan.group,
        rows,
        [receipt for turn, receipt in receipts.items() if turn not in redo.turns],
        Quarantine(lake.files, plan.group).turns().difference(redo.turns),
        scope,
        recipe=digest,
        context_turns=context_turns,
    )
    repeated = tuple(turn for turn in again.to_commit if turn in redo.turns)
    states = _States(rows, redo.turns)
    restricted = replace(
        again, to_commit=repeated, context={turn: again.context[turn] for turn in repeated}
    )
    stale = [turn for turn in committed if turn.stale and turn.receipt.turn_id in redo.turns]
    return GroupRedoPlan(
        redo,
        replace(plan, turns=restricted, chars=states.chars(repeated)),
        stale_reasons=_by_reason(stale),
        stale_parts=await _stale_parts(stale, store, today),
        left_out=states.noise(),
        unrepeatable=states.unrepeatable(repeated),
    )


class _States:
    """The rows of the turns that a redo undoes."""

    def __init__(self, rows: pl.DataFrame, turns: Collection[TurnId]) -> None:
        columns = ("turn_id", "noise", "started_at", "closed")
        wanted = rows.filter(pl.col("turn_id").is_in(sorted(turns)))
        self._chars = dict(wanted.select("turn_id", "chars_after").iter_rows())
        self._rows = {TurnId(row[0]): row[1:] for row in wanted.select(columns).iter_rows()}
        self._turns = turns

    def chars(self, turns: Collection[TurnId]) -> int:
        """Return the characters of the episodes of these turns."""
        return sum(self._chars[turn] for turn in turns)

    def noise(self) -> Mapping[str, int]:
        """Count the turns that are noise, by rule."""
        rules = Counter(noise for noise, _, _ in self._rows.values() if noise is not None)
        return dict(sorted(rules.items()))

    def unrepeatable(self, repeated: Collection[TurnId]) -> Mapping[str, int]:
        """Count the turns that are neither noise nor ingested again, by reason."""
        rest = sorted(set(self._turns).difference(repeated))
        reasons = Counter(reason for turn in rest if (reason := self._reason(turn)) is not None)
        return dict(sorted(reasons.items()))

    def _reason(self, turn: TurnId) -> str | None:
        if turn not in self._rows:
            return _NOT_IN_LAKE
        noise, started_at, closed = self._rows[turn]
        if noise is not None:
            return None
        if started_at is None:
            return PendingReason.NO_TIME.value
        return PendingReason.UNKNOWN.value if closed else PendingReason.OPEN.value


def _by_reason(stale: Collection[ComparedTurn]) -> Mapping[StaleReason, int]:
    counts = Counter(turn.stale for turn in stale)
    return {reason: counts[reason] for reason in StaleReason if counts[reason]}


async def _stale_parts(
    stale: Collection[ComparedTurn],
    store: GraphStore,
    today: Callable[[str], RecipeParts] | None,
) -> tuple[StalePart, ...]:
    recipes = Counter(
        (turn.kind, turn.receipt.recipe)
        for turn in stale
        if turn.stale is StaleReason.RECIPE_CHANGED
    )
    if today is None or not recipes:
        return ()
    recorded = await store.recipes({digest for _, digest in recipes})
    return stale_parts(recipes, recorded, today)
