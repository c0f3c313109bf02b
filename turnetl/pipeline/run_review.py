"""Review the invalidations of facts that were held: list them, make them, or drop them."""

from collections.abc import Sequence
from dataclasses import replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupProfile, Lease, Receipt
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.ingestion.review import Answer, GroupReview, ReviewReport, held_turn, review_of
from turnetl.pipeline.each_group import Keep, each_group, under_lease
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import update_existing_index
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.pipeline.run_undo import id_with_prefix, prompts_of, with_prompts
from turnetl.settings import Settings


async def preview_review(
    settings: Settings,
    answer: Answer | None = None,
    turn: str | None = None,
    facts: Sequence[str] = (),
    *,
    groups: Sequence[str] = (),
) -> ReviewReport:
    """Return the held invalidations. Writes nothing.

    Args:
        answer: what is to be done with them; None: they are listed.
        turn: only of the turn whose id begins so.
        facts: only of facts whose ids begin so.

    Raises:
        BadUsage: an unknown group; an id is empty; no turn of the graph, or several, begin so.
    """
    check_graph(settings)
    if turn == "" or "" in facts:
        raise BadUsage("an id is empty: `turnetl review` lists the ids of turns and facts")
    async with wiring.store(settings, write=False) as store:
        names = select_groups(await store.groups(), groups)
        receipts = {group: await store.receipts(group) for group in names}
        ids = {one.turn_id for of_group in receipts.values() for one in of_group}
        if turn is not None and id_with_prefix("turn", turn, ids) is None:
            raise BadUsage(
                f"the graph holds no turn `{turn}`; `turnetl review` lists those to review"
            )
        holding = {
            group: [one for one in found if one.facts_held and one.turn_id.startswith(turn or "")]
            for group, found in receipts.items()
        }
        found = [
            await _review_of(store, group, of_group, facts)
            for group, of_group in holding.items()
            if of_group
        ]
    return ReviewReport(tuple(one for one in found if one.turns), answer)


async def review(
    settings: Settings,
    preview: ReviewReport,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> ReviewReport:
    """Answer what a preview lists, one transaction per group, and update an existing index.

    What was answered meanwhile is skipped. A group that is not finished has an error.
    """
    answer = preview.answer
    if answer is None:
        return preview
    run = new_ingest_run(settings, clock)
    async with wiring.store(settings, write=True) as store:

        async def answered(
            group: GroupReview, _keep: Keep[GroupReview], lease: Lease, _profile: GroupProfile
        ) -> GroupReview:
            held = {turn.receipt.turn_id: {one.fact for one in turn.held} for turn in group.turns}
            facts = await store.facts(group.group, set().union(*held.values()))
            records = await store.commit_records(group.group)
            change, count = review_of(records, held, facts, answer)
            if change is not None:
                await run.repeat(
                    lambda: store.write_review(lease, change, now=run.clock(), ttl=run.lease_ttl)
                )
            return replace(group, answered=count)

        done = await each_group(
            preview.groups, under_lease(store, run, answered), stage="review", progress=progress
        )
    await update_existing_index(settings, clock, progress)
    return replace(preview, groups=tuple(done))


async def _review_of(
    store: GraphStore, group: GroupId, receipts: Sequence[Receipt], facts: Sequence[str]
) -> GroupReview:
    records = await store.commit_records(group, [one.turn_id for one in receipts])
    prompts = await prompts_of(store, group, receipts, records)
    uuids = {uuid for record in records for one in record.held for uuid in (one.fact, one.by)}
    present = {fact.uuid: fact for fact in await store.facts(group, uuids)}
    listed = zip(with_prompts((one.receipt for one in records), prompts), records, strict=True)
    turns = (
        held_turn(
            turn,
            (one for one in record.held if not facts or one.fact.startswith(tuple(facts))),
            present,
        )
        for turn, record in listed
    )
    return GroupReview(group, tuple(turn for turn in turns if turn.held))
