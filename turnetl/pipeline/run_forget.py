"""Forget turns: remove them for good from lake, graph, journal, quarantine and index; prove it.

What only the selected text leads to goes first: runs and quarantine entries that quote it. Then the
list in the lake is written, which is marked as complete last. Every step between may be repeated:
after a kill, the same command completes the removal, or one without a selection.
"""

import logging
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import polars as pl

from turnetl import wiring
from turnetl.base import schema
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.graph_model import CommitRecord, Receipt, TurnRun
from turnetl.base.model import GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.text import plural
from turnetl.episodes.subagents import of_same_turns
from turnetl.graph.migrations import check_not_moved, summarised_groups
from turnetl.graph.mirror.group import folded
from turnetl.graph.open import delete_older_files, embedded_file, rewrite_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.forget import (
    ForgetReport,
    ForgetSelection,
    TurnToForget,
    holds,
    spellings,
    turns_holding,
)
from turnetl.ingestion.merged_entities import (
    MergedEntities,
    MergedEntity,
    read_merged,
    write_merged,
)
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.undo_plan import UndoPlan, plan_undo
from turnetl.ingestion.undo_report import GroupUndo, UndoReport
from turnetl.lake import Lake, set_aside_files
from turnetl.lake.byte_search import FoundText, files_under, holds_any, search_files
from turnetl.lake.forgotten import (
    ForgottenTurns,
    complete_forgotten,
    read_forgotten,
    rewrite_forgotten,
)
from turnetl.parsing.forgetting import (
    delete_stale_episodes,
    keys_of_runs,
    listed_turns,
    remove_forgotten_turns,
    turns_with,
)
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import update_index
from turnetl.pipeline.run_communities import remove_communities
from turnetl.pipeline.run_undo import id_with_prefix, preview_group, undo_in_graph
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

log = logging.getLogger(__name__)

BeforeStep = Callable[[str], None]
"""Called with the name of each step before it."""


async def preview_forget(
    settings: Settings, selection: ForgetSelection, *, cascade: bool = False
) -> ForgetReport:
    """Report what a `forget` would remove. Writes nothing.

    An empty selection completes a removal that was interrupted. With `cascade`, later turns that
    built on the selected ones are undone too, and ingested again.

    Raises:
        BadUsage: nothing is selected, an unknown group, or an id that begins none or several.
        GraphUnusable: also if a migration moves data of these groups.
    """
    if selection.text is not None and not selection.text.strip():
        raise BadUsage("the text to forget is empty")
    lake = wiring.lake(settings)
    forgotten = read_forgotten(lake.files)
    if selection.is_empty and forgotten.is_complete:
        raise BadUsage("say what to forget: --session, --group or --match")
    if wiring.missing_graph(settings) is not None:
        return await _preview(settings, selection, forgotten, None, cascade=cascade)
    async with wiring.store(settings, write=False) as store:
        return await _preview(settings, selection, forgotten, store, cascade=cascade)


async def forget(
    settings: Settings,
    preview: ForgetReport,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
    before_step: BeforeStep = lambda _: None,
) -> ForgetReport:
    """Remove what a preview selects, and search for it afterwards.

    No other command uses lake and graph meanwhile. A preview that is refused is returned as it is.
    If the report has errors of groups of the graph, nothing after it was done. After an error, the
    same command continues. `progress` is called after each turn of the graph and each group of
    tables.
    """
    if preview.is_refused:
        return preview
    lake = wiring.lake(settings)
    forgotten = _extended(read_forgotten(lake.files), preview)
    before_step("runs")
    await erase_from_runs(settings, texts_to_find(preview))
    before_step("quarantine")
    quarantined = _release(lake, forgotten, preview)
    before_step("list")
    forgotten = rewrite_forgotten(lake.files, lambda listed: _extended(listed, preview))
    for damaged in preview.damaged_tables:
        lake.files.delete(damaged)
    _forget_in_lake(settings, lake, forgotten, progress, before_step)
    report = replace(preview, is_begun=True, quarantined=quarantined)
    if wiring.missing_graph(settings) is None:
        before_step("graph")
        undone = await undo_in_graph(settings, preview.undo, clock, progress=progress)
        report = replace(report, undo=undone)
        if report.errors:
            return report
        before_step("communities")
        undone_groups = (group.group for group in preview.undo.groups)
        await remove_communities(
            settings, {*_affected(preview.turns, forgotten), *undone_groups}, clock
        )
        before_step("merged entities")
        await _forget_merged(settings, lake, _affected(preview.turns, forgotten))
        before_step("graph file")
        rewrite_graph(settings.graph_url)
    else:
        await _forget_merged(settings, lake, _affected(preview.turns, forgotten))
        delete_older_files(settings.graph_url)
    before_step("journal")
    erased = _erase_responses(settings, preview, clock)
    if wiring.missing_graph(settings) is None and wiring.has_index(settings):
        before_step("index")
        # First without a rebuild, which copies questions also of turns that are gone: they would
        # be removed after that, but SQLite leaves the bytes of removed rows in its file.
        await update_index(settings, clock, progress=progress)
        await update_index(settings, clock, rebuild=True, progress=progress)
    before_step("proof")
    report = await prove_forgotten(settings, replace(report, responses_erased=erased))
    before_step("completion")
    complete_forgotten(lake.files, forgotten, is_complete=report.is_proven)
    return report


async def _forget_merged(settings: Settings, lake: Lake, groups: Collection[GroupId]) -> None:
    """Remove the merges and splits of entities if only forgotten turns had one of the names."""
    known = read_merged(lake.files)
    listed = {one.group_id for one in (*known.merges, *known.kept_apart)} & {*groups}
    held = {group: set[str]() for group in listed}
    if listed and wiring.missing_graph(settings) is None:
        async with wiring.store(settings, write=False) as store:
            for group in listed:
                entities = (await store.load(group)).entities
                held[group] = {folded(name) for entity in entities for name in entity.names}

    def is_held(one: MergedEntity) -> bool:
        names = {folded(one.kept_name), folded(one.merged_name)}
        return one.group_id not in held or names <= held[one.group_id]

    parts = (tuple(filter(is_held, part)) for part in (known.merges, known.kept_apart))
    if (left := MergedEntities(*parts)) != known:
        write_merged(lake.files, left)
        gone = len(known.merges) + len(known.kept_apart) - len(left.merges) - len(left.kept_apart)
        log.warning("%s removed: only forgotten turns had the names", plural(gone, "merge"))


def _erase_responses(settings: Settings, preview: ForgetReport, clock: Clock) -> int:
    is_erased = _erased_responses(preview.selection.text)
    with wiring.journal(settings, clock) as journal:
        erased = journal.erase(is_erased)
    if (responses := wiring.shared_responses(settings)) is not None:
        # Those of this machine are among them, unless they could not be shared.
        erased = max(erased, responses.erase(is_erased))
    return erased


async def _preview(
    settings: Settings,
    selection: ForgetSelection,
    forgotten: ForgottenTurns,
    store: GraphStore | None,
    *,
    cascade: bool,
) -> ForgetReport:
    lake = wiring.lake(settings)
    in_graph = await store.groups() if store is not None else ()
    existing = sorted({*in_graph, *lake.groups()})
    groups = select_groups(existing, selection.groups, shadows=True)
    rows = rows_to_forget(lake, selection, groups, forgotten)
    listed = map(_turn_of_row, rows.iter_rows(named=True))
    turns = {turn.turn_id: turn for turn in listed}
    undone = list[GroupUndo]()
    migrations = await store.migrations() if store is not None else ()
    if store is not None:
        for group in in_graph:
            scope = GraphScope(
                selection, turns.keys(), forgotten, is_selected_group=group in groups
            )
            records = await store.commit_records(group)
            chosen = await select_in_graph(store, records, group, scope, cascade=cascade)
            for receipt in chosen.forgotten:
                turns.setdefault(receipt.turn_id, _turn_of_receipt(receipt))
            if chosen.plan.turns or chosen.plan.dependents:
                undone.append(await preview_group(store, chosen.plan, records))
    sessions = {turn.session_id for turn in turns.values()}
    if selection.session is not None:
        id_with_prefix("session", selection.session, sessions)
    check_not_moved(migrations, [group.group for group in undone])
    if not turns and not undone and forgotten.is_complete and selection.text is None:
        raise BadUsage("no turn in lake or graph meets all of these conditions")
    return ForgetReport(
        selection,
        tuple(sorted(turns.values(), key=lambda turn: (turn.archive, turn.first_line))),
        UndoReport(tuple(undone), cascade),
        samples=unique_pieces(lake, rows),
        keys_of_runs=frozenset(() if rows.is_empty() else keys_of_runs(rows)),
        damaged_tables=tuple(set_aside_files(lake.files, _affected(turns.values(), forgotten))),
        is_resumed=not forgotten.is_complete,
        summarised=tuple(summarised_groups(migrations, sessions)),
    )


def _turn_of_row(row: Mapping[str, Any]) -> TurnToForget:
    place = row["archive"], row["first_line"], row["last_line"]
    return TurnToForget(row["group_id"], row["turn_id"], row["session_id"], *place)


def _turn_of_receipt(receipt: Receipt) -> TurnToForget:
    place = receipt.archive, receipt.first_line, receipt.last_line
    return TurnToForget(receipt.group_id, receipt.turn_id, receipt.session_id, *place)


def _affected(turns: Iterable[TurnToForget], forgotten: ForgottenTurns) -> set[GroupId]:
    """Return the groups of the turns, and those of a removal that was interrupted."""
    resumed = () if forgotten.is_complete else forgotten.groups
    return {*resumed, *(turn.group for turn in turns)}


def _extended(forgotten: ForgottenTurns, preview: ForgetReport) -> ForgottenTurns:
    """Return the list with the turns; with the session if it alone was selected."""
    selection = preview.selection
    by_session = selection.session is not None and selection.text is None and not selection.groups
    sessions = {
        turn.session_id
        for turn in preview.turns
        if by_session and turn.session_id.startswith(selection.session or "")
    }
    listed = [(turn.group, turn.turn_id) for turn in preview.turns]
    keys = [(listed[0][0], TurnId(key)) for key in preview.keys_of_runs if listed]
    return forgotten.extended([*listed, *keys], sessions)


def _forget_in_lake(
    settings: Settings,
    lake: Lake,
    forgotten: ForgottenTurns,
    progress: Progress,
    before_step: BeforeStep,
) -> None:
    before_step("turns")
    changed = remove_forgotten_turns(lake, forgotten)
    before_step("episodes")
    groups = delete_stale_episodes(lake, forgotten, changed)
    # What killed runs left may hold the turns too.
    lake.remove_abandoned()
    before_step("filter")
    if remaining := sorted({*groups} & {*lake.groups()}):
        filter_turns(settings, remaining, progress=progress)


def _release(lake: Lake, forgotten: ForgottenTurns, preview: ForgetReport) -> int:
    """Remove the quarantine entries of the turns, and those whose error quotes them."""
    texts, removed = texts_to_find(preview), 0
    for group in sorted({*lake.groups(), *(turn.group for turn in preview.turns)}):
        quarantine = Quarantine(lake.files, group)
        for entry in quarantine.entries():
            turn = TurnId(entry.turn_id)
            if forgotten.includes(turn, None) or holds(entry.error, texts):
                quarantine.release(turn)
                removed += 1
    return removed


def _erased_responses(text: str | None) -> Callable[[bytes], bool]:
    """Return a test of whether a response goes: those that hold the text.

    Without a text all go: no response says to which turn it belongs.
    """
    if text is None:
        return lambda _: True
    texts = spellings(text)

    def is_erased(response: bytes) -> bool:
        decoded = response.decode("utf-8", "replace")
        values: list[object] = [decoded]
        with suppress(msgspec.DecodeError):
            values.append(msgspec.json.decode(decoded))
        return holds(values, texts)

    return is_erased


async def prove_forgotten(settings: Settings, report: ForgetReport) -> ForgetReport:
    """Return the report with the places that still hold the text, or a sample of a turn.

    Journal and index are in the lake's folder. Of a lake in an object store all objects are read;
    of a graph on a server only the stored values are searched.

    Raises:
        Fatal: a file cannot be read; the same command searches again.
    """
    texts = texts_to_find(report)
    lake = wiring.lake(settings)
    lake.files.fetch_all(lake.root)
    files = files_under([settings.lake, lake.root, *_graph_files(settings)])
    try:
        in_files = search_files(files, texts)
    except (OSError, sqlite3.Error) as error:
        raise Fatal(
            f"the files cannot be searched for what was removed: {error}; repeat the command"
        ) from error
    found = [*in_files, *await _search_graph(settings, texts)]
    parts = urlsplit(settings.graph_url)
    on_server = embedded_file(settings.graph_url) is None
    return replace(
        report,
        found=tuple(found),
        files_searched=len(files),
        is_proven=not found,
        graph_server=f"{parts.hostname}:{parts.port or ''}".rstrip(":") if on_server else None,
    )


def texts_to_find(report: ForgetReport) -> list[str]:
    """Return the text in its spellings, and the samples of the turns."""
    text = report.selection.text
    return [*(spellings(text) if text is not None else ()), *report.samples]


def _graph_files(settings: Settings) -> Sequence[Path]:
    """Return the files of an embedded graph, with logs and copies beside it."""
    path = embedded_file(settings.graph_url)
    if path is None or not path.parent.is_dir():
        return ()
    return [file for file in path.parent.iterdir() if file.name.startswith(path.name)]


async def _search_graph(settings: Settings, texts: Sequence[str]) -> list[FoundText]:
    """Search the values, also those that another program wrote."""
    if not texts or wiring.missing_graph(settings) is not None:
        return []
    found = []
    async with wiring.store(settings, write=False) as store:
        runs = await store.runs()
        if holds(runs, texts):
            found.append(FoundText("graph", "runs"))
        recipes = {recipe for run in runs for recipe in run.recipes}
        for group in await store.versions():
            contents = await store.load(group)
            recipes |= {receipt.recipe for receipt in contents.receipts}
            values = (
                contents,
                await store.load_subgraphs(group),
                await store.commit_records(group),
            )
            if any(holds(value, texts) for value in values):
                found.append(FoundText("graph", f"group {group}"))
        if holds(await store.recipes(recipes), texts):
            found.append(FoundText("graph", "recipes"))
    return found


MARK = "[forgotten]"
"""Stands for an argument, an archive or an error that held a forgotten text."""


async def erase_from_runs(settings: Settings, texts: Sequence[str]) -> None:
    """Replace the arguments, archives and errors of all runs that hold one of the texts."""
    if not texts or wiring.missing_graph(settings) is not None:
        return
    async with wiring.store(settings, write=True) as store:
        for run in await store.runs():
            erased = without_texts(run, texts)
            if erased != run:
                await store.save_run(erased)


def without_texts(run: TurnRun, texts: Sequence[str]) -> TurnRun:
    """Return the run with `MARK` for each argument, archive and error that holds a text."""

    def erased(value: str) -> str:
        return MARK if holds(value, texts) else value

    return replace(
        run,
        command=tuple(map(erased, run.command)),
        archives=tuple(map(erased, run.archives)),
        error=None if run.error is None else erased(run.error),
    )


_NO_TEXT = ("turn_id", "group_id", "format", "archive", "content_hash", "usage")
"""Columns that hold no text of the turn."""
_SAMPLE = re.compile(r"[A-Za-z0-9 ,.;:()/_-]{24,64}")
"""Written in the same way in JSON."""
_MAX_SAMPLES = 40
_SAMPLES_PER_TEXT = 2


def rows_to_forget(
    lake: Lake,
    selection: ForgetSelection,
    groups: Collection[GroupId],
    forgotten: ForgottenTurns,
) -> pl.DataFrame:
    """Return the rows of the turns files that are selected, or listed and not removed yet."""
    listed = listed_turns(lake, forgotten)
    if selection.is_empty:
        return listed
    selected = turns_with(lake, _condition(selection, groups))
    by_group = {} if selected.is_empty() else selected.partition_by("group_id", as_dict=True)
    more = set[str]()
    for (group,), rows in by_group.items():
        own = {*rows["turn_id"]}
        more |= of_same_turns(lake, group, own) - own
    if more:
        others = turns_with(lake, pl.col("turn_id").is_in(sorted(more)))
        selected = pl.concat([selected, others])
    both = [rows for rows in (listed, selected) if not rows.is_empty()]
    return pl.concat(both).unique(("turn_id", "archive"), keep="any") if both else listed


@dataclass(frozen=True, slots=True)
class GroupSelection:
    """The turns of a group of the graph."""

    forgotten: tuple[Receipt, ...]
    plan: UndoPlan
    """Undoes these, and those that built on them or hold the text in what a model wrote."""


@dataclass(frozen=True, slots=True)
class GraphScope:
    selection: ForgetSelection
    in_lake: Collection[TurnId]
    """Turns that are taken from the lake."""
    listed: ForgottenTurns
    """The list of the lake: what an interrupted removal left."""
    is_selected_group: bool
    """Whether the selection takes turns of the group."""

    def takes(self, receipt: Receipt, own: Collection[TurnId] | None) -> bool:
        """Return whether a turn is forgotten; `own` hold the text, and are None without one."""
        if receipt.turn_id in self.in_lake or self.listed.includes(
            receipt.turn_id, receipt.session_id
        ):
            return True
        return (
            self.is_selected_group
            and not self.selection.is_empty
            and receipt.session_id.startswith(self.selection.session or "")
            and (own is None or receipt.turn_id in own)
        )


async def select_in_graph(
    store: GraphStore,
    records: Sequence[CommitRecord],
    group: GroupId,
    scope: GraphScope,
    *,
    cascade: bool,
) -> GroupSelection:
    """Return what a `forget` takes from a group of the graph, of which `records` are all turns."""
    own, left = None, set[TurnId]()
    if scope.selection.text is not None and scope.is_selected_group:
        contents = await store.load(group)
        own, left = turns_holding(contents, records, spellings(scope.selection.text))
    receipts = tuple(record.receipt for record in records if scope.takes(record.receipt, own))
    chosen = {receipt.turn_id for receipt in receipts}
    left -= chosen
    plan = plan_undo(group, records, chosen | left, cascade=cascade)
    holders = [record.receipt for record in reversed(records) if record.receipt.turn_id in left]
    return GroupSelection(receipts, replace(plan, dependents=(*plan.dependents, *holders)))


def unique_pieces(lake: Lake, rows: pl.DataFrame) -> tuple[str, ...]:
    """Return pieces of the turns' texts that no other turn of the lake holds."""
    if rows.is_empty():
        return ()
    candidates = _candidates(rows)
    if not candidates:
        return ()
    others = turns_with(
        lake, _any_text(candidates) & ~pl.col("turn_id").is_in(rows["turn_id"].unique().implode())
    )
    if others.is_empty():
        return candidates
    return tuple(text for text in candidates if others.filter(_any_text([text])).is_empty())


def _candidates(rows: pl.DataFrame) -> tuple[str, ...]:
    step = max(1, rows.height * 2 * _SAMPLES_PER_TEXT // _MAX_SAMPLES)
    found: dict[str, None] = {}
    for row in rows.gather_every(step).iter_rows(named=True):
        for text in (row["user_text"], row["assistant_text"]):
            longest = sorted(_SAMPLE.findall(text or ""), key=len, reverse=True)
            found |= dict.fromkeys(piece.strip() for piece in longest[:_SAMPLES_PER_TEXT])
    return tuple(sorted(found))


def _condition(selection: ForgetSelection, groups: Collection[GroupId]) -> pl.Expr:
    conditions = [pl.col("group_id").is_in(sorted(groups))]
    if selection.session is not None:
        conditions.append(pl.col("session_id").str.starts_with(selection.session))
    if selection.text is not None:
        conditions.append(_any_text(spellings(selection.text)))
    return pl.all_horizontal(conditions)


def _any_text(texts: Sequence[str]) -> pl.Expr:
    columns = [
        holds_any(name, dtype, texts)
        for name, dtype in schema.TURNS.polars.items()
        if name not in _NO_TEXT
    ]
    return reduce(or_, columns)
