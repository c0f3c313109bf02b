"""Undo committed turns: plan it and say what it changes, then carry it out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import CommitRecord, GroupProfile, Receipt
from turnetl.base.model import GroupId, TurnId, Vector
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.text import one_line
from turnetl.episode_text.passages import prompt_title
from turnetl.graph.port import GraphStore
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.ingestion.undo import UndoProgress, diff_undo, undo_turns
from turnetl.ingestion.undo_plan import UndoPlan, UndoSelection, plan_undo, select_turns
from turnetl.ingestion.undo_report import GroupUndo, UndoneTurn, UndoReport
from turnetl.pipeline.each_group import Keep, each_group
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import update_existing_index
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import Settings

_TEXTS = 200
"""Turns whose texts are in memory together."""


async def preview_undo(
    settings: Settings, selection: UndoSelection, *, cascade: bool = False
) -> UndoReport:
    """Report what an undo would change, with `cascade` also of the turns that built on these."""
    if selection.is_empty:
        raise BadUsage(
            "say what to undo: the id of a run, or --group, --session, --turn or --since"
        )
    check_graph(settings)
    async with wiring.store(settings, write=False) as store:
        # Those of the lake may have a quarantine.
        existing = sorted({*await store.groups(), *wiring.lake(settings).groups()})
        groups = select_groups(existing, selection.groups, shadows=selection.names_turns)
        records = {group: await store.commit_records(group) for group in groups}
        entries = _quarantined(settings, groups, selection)
        receipts = [record.receipt for of_group in records.values() for record in of_group]
        await _check_run(store, receipts, entries, selection.run)
        check_ids(selection, receipts)
        plans = [
            plan_undo(group, of_group, select_turns(of_group, selection), cascade=cascade)
            for group, of_group in records.items()
        ]
        previews = [
            await preview_group(store, plan, records[plan.group], entries[plan.group])
            for plan in plans
            if plan.turns or entries[plan.group]
        ]
    if not previews:
        raise BadUsage("no turn in the graph meets all of these conditions")
    return UndoReport(tuple(previews), cascade)


async def undo(
    settings: Settings,
    preview: UndoReport,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> UndoReport:
    """Undo the turns of a preview, and bring the search index up to date if there is one."""
    report = await undo_in_graph(settings, preview, clock, progress=progress)
    if not report.is_refused:
        await update_existing_index(settings, clock, progress)
    return report


async def undo_in_graph(
    settings: Settings, preview: UndoReport, clock: Clock, *, progress: Progress
) -> UndoReport:
    """Undo the turns of a preview, newest first, one transaction per turn.

    A preview that is refused is returned as it is. A group that is not finished has an error.
    """
    if preview.is_refused:
        return preview
    run = new_ingest_run(settings, clock)
    async with wiring.store(settings, write=True) as store:

        async def undo_group(preview: GroupUndo, keep: Keep[GroupUndo]) -> GroupUndo:
            def advance(done: UndoProgress) -> None:
                keep(_done(preview, done))
                progress(ProgressUpdate("undo", preview.group, done.turns, len(preview.turns)))

            undone = preview
            if turns := [turn.receipt.turn_id for turn in preview.turns]:
                embed = partial(_embed, settings)
                undone = _done(
                    preview,
                    await undo_turns(
                        store, preview.group, turns, embed=embed, run=run, progress=advance
                    ),
                )
                keep(undone)
            quarantine = Quarantine(wiring.lake(settings).files, preview.group)
            for entry in preview.quarantined:
                quarantine.release(TurnId(entry.turn_id))
            return undone

        groups = await each_group(preview.groups, undo_group)
    return replace(preview, groups=tuple(groups))


def _done(preview: GroupUndo, done: UndoProgress) -> GroupUndo:
    return replace(
        preview,
        undone=done.undone,
        already_undone=done.already_undone,
        entities_kept=done.entities_kept,
    )


async def _embed(
    settings: Settings, profile: GroupProfile, texts: Sequence[str]
) -> Sequence[Vector]:
    async with wiring.group_embedder(settings, profile, "again to undo") as embedder:
        return await embedder.embed(texts)


def _quarantined(
    settings: Settings, groups: Iterable[GroupId], selection: UndoSelection
) -> Mapping[GroupId, tuple[QuarantineEntry, ...]]:
    """Return the entries of the selected run. An entry does not name its session."""
    if selection.run is None or selection.session is not None:
        return dict.fromkeys(groups, ())
    files = wiring.lake(settings).files
    return {
        group: tuple(
            entry
            for entry in Quarantine(files, group).entries()
            if entry.run_id.startswith(selection.run)
            and entry.turn_id.startswith(selection.turn or "")
            and (selection.since is None or entry.failed_at >= selection.since)
        )
        for group in groups
    }


async def _check_run(
    store: GraphStore,
    receipts: Sequence[Receipt],
    entries: Mapping[GroupId, Sequence[QuarantineEntry]],
    given: str | None,
) -> None:
    """Raise BadUsage if the beginning of an id of runs begins none with turns, or several."""
    quarantined = {entry.run_id for of_group in entries.values() for entry in of_group}
    committed = {receipt.run_id for receipt in receipts}
    if given is None or id_with_prefix("run", given, quarantined | committed) is not None:
        return
    recorded = [run for run in await store.runs() if run.run_id.startswith(given)]
    if len(recorded) != 1:
        raise BadUsage(f"there is no run `{given}`; `turnetl runs` lists the runs")
    [run] = recorded
    undone = (
        f"was undone at {run.undone_at:%Y-%m-%d %H:%M} UTC" if run.undone_at else "has no turns"
    )
    index = (
        "; if that command was stopped, `turnetl index` brings the search index up to date"
        if run.undone_at
        else ""
    )
    raise BadUsage(f"run `{run.run_id}` {undone}: nothing of it is left to undo{index}")


def check_ids(selection: UndoSelection | RedoSelection, receipts: Iterable[Receipt]) -> None:
    """Raise BadUsage if the beginning of an id of committed turns begins none, or several."""
    ids = [(one.session_id, one.turn_id) for one in receipts]
    for noun, given, known in (
        ("session", selection.session, {session for session, _ in ids}),
        ("turn", selection.turn, {turn for _, turn in ids}),
    ):
        if given is not None and id_with_prefix(noun, given, known) is None:
            raise BadUsage(
                f"the graph holds no {noun} `{given}`: check the id; what was undone already is "
                "not in the graph"
            )


async def preview_group(
    store: GraphStore,
    plan: UndoPlan,
    records: Sequence[CommitRecord],
    entries: tuple[QuarantineEntry, ...] = (),
) -> GroupUndo:
    """Return what a plan takes and changes, with quarantine entries that go with it."""
    listed = [*(turn.record.receipt for turn in plan.turns), *plan.dependents]
    prompts = await prompts_of(store, plan.group, listed, records)
    return GroupUndo(
        group=plan.group,
        turns=with_prompts((turn.record.receipt for turn in plan.turns), prompts),
        dependents=with_prompts(plan.dependents, prompts),
        diff=await diff_undo(store, plan),
        quarantined=entries,
    )


def with_prompts(
    receipts: Iterable[Receipt], prompts: Mapping[TurnId, str]
) -> tuple[UndoneTurn, ...]:
    return tuple(UndoneTurn(one, prompts.get(one.turn_id, "")) for one in receipts)


async def prompts_of(
    store: GraphStore, group: GroupId, turns: Sequence[Receipt], records: Sequence[CommitRecord]
) -> dict[TurnId, str]:
    """Return the first line of what the user wrote, by turn."""
    wanted = {receipt.turn_id for receipt in turns}
    numbers = [record.sequence for record in records if record.receipt.turn_id in wanted]
    prompts: dict[TurnId, str] = {}
    after = min(numbers, default=1) - 1
    while len(prompts) < len(wanted):
        commits = await store.commits(group, after, _TEXTS)
        if not commits:
            break
        after = commits[-1].sequence
        prompts |= {
            commit.receipt.turn_id: one_line(prompt_title(commit.text))
            for commit in commits
            if commit.receipt.turn_id in wanted
        }
    return prompts


def id_with_prefix(noun: str, prefix: str, ids: Iterable[str]) -> str | None:
    """Return the id with the prefix; None if there is none; raises `BadUsage` for several."""
    matching = sorted({one for one in ids if one.startswith(prefix)})
    if len(matching) > 1:
        raise BadUsage(
            f"`{prefix}` begins the ids of {len(matching)} {noun}s, such as `{matching[0]}` "
            f"and `{matching[1]}`: give more of the id"
        )
    return matching[0] if matching else None
