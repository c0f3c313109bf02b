"""Redo the turns of one group: rehearse them, undo them newest first, and ingest them again.

All under one lease, so that no other run writes to the group in between. A turn is either as
before, pending, or as after; what is pending when a redo is killed is taken by the next ingest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from turnetl.base.errors import BadTurn, GraphUnusable, RunStopped, TurnetlError
from turnetl.base.graph_model import Lease
from turnetl.base.model import TurnId
from turnetl.graph.port import GraphStore
from turnetl.ingestion import candidates
from turnetl.ingestion.group import IngestResources, ingest_group
from turnetl.ingestion.group_redo import GroupRedoPlan
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.rehearsal import Rehearsal
from turnetl.ingestion.report import GroupReport
from turnetl.ingestion.turn_pipeline import run_profile
from turnetl.ingestion.undo import PlannedUndo, UndoProgress, UndoRun

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
    rehearsal: Rehearsal | None,
    progress: RedoProgress,
) -> RedoneGroup:
    """Redo the turns of a plan.

    Args:
        plan: not one that has unrepeatable turns.
        resources: lake, graph, extractor and embedder.
        run: identity and limits of the run.
        rehearsal: sends all requests before anything is undone; None if none are sent.
        progress: called before the first and after each turn of a stage.

    Returns:
        What was done, also if an error stopped it.
    """
    steps = _Steps(plan, resources, run, progress)
    try:
        profile = await run_profile(resources.extractor, resources.embedder, plan.group)
        lease = held_lease(
            resources.store,
            plan.group,
            profile,
            owner=run.owner,
            clock=run.clock,
            ttl=run.lease_ttl,
        )
        async with lease as held:
            await run.on_lease()
            await _check_unchanged(plan, resources.store)
            if rehearsal is not None:
                await steps.rehearse(rehearsal)
            await steps.undo(held)
            return RedoneGroup(steps.undone, await steps.ingest(held))
    except TurnetlError as error:
        return RedoneGroup(steps.undone, error=error)


class _Steps:
    """The steps of the redo of one group."""

    def __init__(
        self,
        plan: GroupRedoPlan,
        resources: IngestResources,
        run: IngestRun,
        progress: RedoProgress,
    ) -> None:
        self._plan = plan
        self._resources = resources
        # The extractor was checked with the plan, when the group had all its turns. The journal has
        # all responses: turns that run ahead would only send what nothing needs.
        self._run = replace(run, extractor_named=True, run_ahead=0)
        self._progress = progress
        self.undone = 0

    async def rehearse(self, rehearsal: Rehearsal) -> None:
        plan = self._plan.ingest
        total = len(plan.turns.to_commit)
        self._progress("extract", 0, total)
        episodes = candidates.load_episodes(
            plan.rows, plan.turns.required, batch_rows=plan.batch_rows
        )
        try:
            await rehearsal.run(
                self._plan.redo.undo,
                plan.turns,
                episodes,
                lambda done: self._progress("extract", done, total),
            )
        except RunStopped as error:
            raise RunStopped(
                f"{error}; nothing of group `{plan.group}` was undone, and the same command "
                "continues with the responses of the journal"
            ) from error
        if rehearsal.failed:
            raise _failed(self._plan, rehearsal.failed)

    async def undo(self, lease: Lease) -> None:
        run, undo = self._run, self._plan.redo.undo
        executor = PlannedUndo(
            self._resources.store,
            lease,
            self._resources.embedder.embed,
            UndoRun(run.owner, run.clock, run.lease_ttl, run.retry_delay),
        )

        def advance(done: UndoProgress) -> None:
            self.undone = done.turns
            self._progress("undo", done.turns, len(undo.turns))

        self._progress("undo", 0, len(undo.turns))
        await executor.run(undo, advance)

    async def ingest(self, lease: Lease) -> GroupReport:
        return await ingest_group(
            self._plan.ingest,
            self._resources,
            self._run,
            lambda done, total: self._progress("ingest", done, total),
            lease=lease,
        )


async def _check_unchanged(plan: GroupRedoPlan, store: GraphStore) -> None:
    """Raise GraphUnusable if turns were committed or undone after the plan was made."""
    planned = [(turn.record.sequence, turn.record.receipt) for turn in plan.redo.undo.turns]
    first = min(sequence for sequence, _ in planned)
    records = await store.commit_records(plan.group)
    present = [(record.sequence, record.receipt) for record in records if record.sequence >= first]
    if sorted(present, key=_sequence) != sorted(planned, key=_sequence):
        raise GraphUnusable(
            f"group `{plan.group}`: another run committed or undid turns meanwhile; nothing of it "
            "was undone, run the redo again"
        )


def _sequence(commit: tuple[int, object]) -> int:
    return commit[0]


def _failed(plan: GroupRedoPlan, failed: dict[TurnId, BadTurn]) -> GraphUnusable:
    """Return the error of turns that the redo would lose."""
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
