"""Redo the turns of one group: rehearse them, undo them newest first, and ingest them again.

All under one lease, so that no other run writes to the group in between. A turn is either as
before, pending, or as after; what is pending when a redo is killed is taken by the next ingest.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import itemgetter

import polars as pl

from turnetl.base.errors import BadTurn, GraphUnusable, RunStopped, TurnetlError
from turnetl.base.graph_model import GroupContents, Lease
from turnetl.base.ids import recipe_digest
from turnetl.base.model import Episode, GroupId, TurnId, Usage
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import PrefetchedTurn, TurnAdmission, prefetch_turns, with_context
from turnetl.ingestion.commit import (
    MAX_CONSECUTIVE_FAILURES,
    MirroredGroup,
    extract_turn,
    resolve_turn,
    with_embeddings,
)
from turnetl.ingestion.group import (
    GroupPlan,
    IngestResources,
    Recipe,
    changed_parts,
    ingest_group,
)
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import (
    COLUMNS,
    Scope,
    TurnPlan,
    committed_turns,
    plan_turns,
    stale_counts,
)
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.reasons import PendingReason, StalePart, StaleReason
from turnetl.ingestion.redo_report import RedoPlan, RedoSelection, plan_redo
from turnetl.ingestion.turn_pipeline import run_profile
from turnetl.ingestion.undo import PlannedUndo, UndoProgress
from turnetl.ingestion.undo_plan import UndoPlan
from turnetl.ingestion.undo_report import UndoState
from turnetl.lake import Lake
from turnetl.llm.costs import charged_to
from turnetl.llm.embedders import Embedder
from turnetl.summaries.records import RecordedSummaries

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
    """Plan the redo of a group in the scope of its plan; None if nothing of it is selected."""
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
    undone = (turn for turn in committed if turn.receipt.turn_id in redo.turns)
    stale_reasons, stale_recipes = stale_counts(undone)
    return GroupRedoPlan(
        redo,
        replace(plan, turns=restricted, chars=states.chars(repeated)),
        stale_reasons=stale_reasons,
        stale_parts=await changed_parts(stale_recipes, store, today),
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
        return sum(self._chars[turn] for turn in turns)

    def noise(self) -> Mapping[str, int]:
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


RedoProgress = Callable[[str, int, int], None]
"""Called with the stage (extract, undo, ingest), turns done and turns to do."""

_LISTED = 3
"""Failed turns that an error names."""


@dataclass(frozen=True, slots=True)
class RedoneGroup:
    """What a redo did of a group."""

    undone: int = 0
    ingested: GroupReport | None = None
    """None if nothing was undone."""
    error: TurnetlError | None = None
    """What stopped it before the ingest; the report has an error of the ingest."""


async def redo_group(
    plan: GroupRedoPlan,
    resources: IngestResources,
    run: IngestRun,
    admission: TurnAdmission,
    progress: RedoProgress,
) -> RedoneGroup:
    """Redo the turns of a plan that has no unrepeatable ones.

    Returns what was done, also if an error stopped it. `admission` has the budget of the run, and
    is used for rehearsals only.
    """
    # The extractor was checked with the plan, when the group had all its turns. The journal has all
    # responses: turns that run ahead would only send what nothing needs.
    run = replace(run, extractor_named=True, run_ahead=0)
    steps = _Steps(plan, resources, run, progress)
    try:
        profile = await run_profile(resources.extractor, resources.embedder, plan.group)
        async with held_lease(resources.store, plan.group, profile, run) as held:
            await run.on_lease()
            await _check_unchanged(plan, resources.store)
            if resources.extractor.model is not None:
                await steps.rehearse(admission)
            await steps.undo(held)
            return RedoneGroup(steps.undone, await steps.ingest(held))
    except TurnetlError as error:
        return RedoneGroup(steps.undone, error=error)


@dataclass(eq=False)
class _Steps:
    """The steps of the redo of one group."""

    plan: GroupRedoPlan
    resources: IngestResources
    run: IngestRun
    progress: RedoProgress
    undone: int = 0

    async def rehearse(self, admission: TurnAdmission) -> None:
        rehearsal = Rehearsal(self.resources, self.run, admission)
        plan = self.plan.ingest
        total = len(plan.turns.to_commit)
        self.progress("extract", 0, total)
        try:
            await rehearsal.rehearse(
                self.plan.redo.undo,
                plan.turns,
                plan.episodes(),
                lambda done: self.progress("extract", done, total),
            )
        except RunStopped as error:
            raise RunStopped(
                f"{error}; nothing of group `{plan.group}` was undone, and the same command "
                "continues with the responses of the journal"
            ) from error
        if rehearsal.failed:
            raise _failed(self.plan, rehearsal.failed)

    async def undo(self, lease: Lease) -> None:
        undo = self.plan.redo.undo
        store, embed = self.resources.store, self.resources.embedder.embed
        executor = PlannedUndo(store, lease, embed, self.run)

        def advance(done: UndoProgress) -> None:
            self.undone = done.turns
            self.progress("undo", done.turns, len(undo.turns))

        self.progress("undo", 0, len(undo.turns))
        await executor.undo(undo, advance)

    async def ingest(self, lease: Lease) -> GroupReport:
        return await ingest_group(
            self.plan.ingest,
            self.resources,
            self.run,
            lambda done, total: self.progress("ingest", done, total),
            lease=lease,
        )


async def _check_unchanged(plan: GroupRedoPlan, store: GraphStore) -> None:
    """Raise GraphUnusable if turns were committed or undone after the plan was made."""
    planned = [(turn.record.sequence, turn.record.receipt) for turn in plan.redo.undo.turns]
    first = min(sequence for sequence, _ in planned)
    records = await store.commit_records(plan.group)
    present = [(record.sequence, record.receipt) for record in records if record.sequence >= first]
    if sorted(present, key=itemgetter(0)) != sorted(planned, key=itemgetter(0)):
        raise GraphUnusable(
            f"group `{plan.group}`: another run committed or undid turns meanwhile; nothing of it "
            "was undone, run the redo again"
        )


def _failed(plan: GroupRedoPlan, failed: dict[TurnId, BadTurn]) -> GraphUnusable:
    receipts = {turn.record.receipt.turn_id: turn.record.receipt for turn in plan.redo.undo.turns}
    lines = [
        f"{receipts[turn].archive}:{receipts[turn].first_line}: {error}"
        for turn, error in list(failed.items())[:_LISTED]
    ]
    more = f"; and {len(failed) - _LISTED:,} more" if len(failed) > _LISTED else ""
    return GraphUnusable(
        f"group `{plan.group}`: {len(failed):,} of the turns cannot be ingested again, so that "
        f"nothing of it was undone: {'; '.join(lines)}{more}; correct the cause, or take these "
        "turns out with `turnetl undo --turn ID --cascade`"
    )


@dataclass(eq=False)
class Rehearsal:
    """The turns of a redo extracted and resolved in memory, before anything is undone.

    All requests are sent then, and the journal has the responses: what follows sends none, so that
    neither a model that fails nor a budget that is used up leaves a group half repeated.
    """

    resources: IngestResources
    """With a model whose responses the journal keeps; the store is only read."""
    run: IngestRun
    admission: TurnAdmission
    """With the budget of the run, and used for rehearsals only."""
    failed: dict[TurnId, BadTurn] = field(default_factory=dict, init=False)
    """Turns that cannot be ingested, which a fresh ingest would quarantine. After several in a row
    the rest is not tried: their cause is not the content of a turn."""

    async def rehearse(
        self,
        undo: UndoPlan,
        plan: TurnPlan,
        episodes: Iterable[Episode],
        progress: Callable[[int], None],
    ) -> None:
        """Extract and resolve the turns of a plan, in order, as they will be after the undo."""
        extractor = self.resources.extractor
        contents = await self.resources.store.load(plan.group)
        recipe = recipe_digest(extractor.recipe_parts(plan.group))
        earlier = (one.usage for one in contents.receipts if one.recipe == recipe)
        self.admission.costs.learn_earlier(earlier)
        undone = await undone_contents(contents, undo, self.resources.embedder)
        group = MirroredGroup.of(undone, self.resources.summaries)
        turns = prefetch_turns(
            with_context(episodes, plan.context),
            partial(extract_turn, extractor),
            limit=self.run.prefetch,
            admission=self.admission,
        )
        done = failures = 0
        async with aclosing(turns) as prefetched:
            async for turn in prefetched:
                ends_run = done + 1 == len(plan.context)
                is_resolved = await self._resolve(turn, group, ends_run=ends_run)
                failures = 0 if is_resolved else failures + 1
                if failures == MAX_CONSECUTIVE_FAILURES:
                    return
                done += 1
                progress(done)
        if group.summaries is not None:
            await group.summaries.rehearse_deferred()

    async def _resolve(self, turn: PrefetchedTurn, group: MirroredGroup, *, ends_run: bool) -> bool:
        """Resolve the turn and apply it to the group; return whether it can be ingested."""
        with turn.admitted, charged_to(turn.admitted.account):
            try:
                resolved = await resolve_turn(
                    self.resources.extractor,
                    self.resources.embedder,
                    turn.episode,
                    await turn.extraction,
                    group,
                    run_id=self.run.run_id,
                    now=self.run.clock(),
                    ends_run=ends_run,
                )
            except BadTurn as error:
                self.failed[turn.episode.turn_id] = error
            else:
                turn.admitted.commit(resolved.change.usage)
                group.apply(resolved)
        self.admission.costs.finish(len(turn.episode.text))
        return turn.episode.turn_id not in self.failed


async def undone_contents(
    contents: GroupContents, undo: UndoPlan, embedder: Embedder
) -> GroupContents:
    """Return a group as an undo would leave it, with all embeddings. Writes nothing."""
    summaries = RecordedSummaries(contents.summaries)
    state = UndoState(contents.entities, contents.facts, summaries)
    for turn in undo.turns:
        state.undo(turn)
    entities, facts = await with_embeddings(
        tuple(state.entities.values()), tuple(state.facts.values()), embedder.embed
    )
    undone = {turn.record.receipt.turn_id for turn in undo.turns}
    receipts = (one for one in contents.receipts if one.turn_id not in undone)
    return replace(
        contents,
        entities=entities,
        facts=facts,
        receipts=tuple(receipts),
        summaries=summaries.records,
    )
