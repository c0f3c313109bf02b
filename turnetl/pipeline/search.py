"""Search over the graph that the settings name, and queries to try it with."""

import difflib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, TurnetlError
from turnetl.base.model import Usage
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.result_fields import CaughtUpAtField, UnreadField
from turnetl.base.results import INLINED, described
from turnetl.index.conditions import Selection, fold
from turnetl.index.persistent import PersistentIndex
from turnetl.index.port import Condition
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import (
    OpenIndex,
    check_graph,
    current_index,
    log_better_embedder,
    repaired,
    warn_of_empty_graph,
)
from turnetl.retrieval import search as sampling
from turnetl.retrieval.hits import SearchHit, SessionHit
from turnetl.retrieval.items import FILE_LABEL, similar_names
from turnetl.retrieval.match import Match
from turnetl.retrieval.query import used_part
from turnetl.retrieval.search import CombinedHits, Hits, Order, combine_hits, search
from turnetl.settings import Settings

if TYPE_CHECKING:  # these import polars and the clients of models, which a search does without
    from turnetl.llm.chat import ChatModel
    from turnetl.llm.meter import Meter

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search."""

    found: Annotated[CombinedHits, INLINED]
    as_of: Annotated[
        datetime | None,
        described(
            "The end of --as-of: the facts held then, and a later `invalid_at` was not known "
            "yet; null without that option."
        ),
    ]
    caught_up_at: CaughtUpAtField
    unread: UnreadField
    usage: Annotated[
        Usage,
        described(
            "Usage of the model that reranked, without responses from the journal; zero without "
            "--rerank."
        ),
    ]

    @property
    def hits(self) -> Sequence[SearchHit]:
        return self.found.hits

    @property
    def session_hits(self) -> Sequence[SessionHit]:
        """Session-level episodes of whose sessions no turn is a hit."""
        return self.found.session_hits


async def search_turns(
    query: str,
    settings: Settings,
    clock: Clock,
    *,
    selection: Selection = Selection(),  # noqa: B008 - a frozen value
    order: Order = Order.SCORE,
    limit: int = 10,
    nearest: bool = False,
    rerank: bool = False,
    progress: Progress = ignore_progress,
) -> SearchResult:
    """Return the turns that match a query, best first, each with its facts.

    Reads from the graph what the index lacks. Writes nothing but the index. An empty query lists
    the selected turns, newest first.

    Raises:
        BadUsage: an unknown group; `rerank` without a model; without a hit, a condition that no
            turn of the graph meets.
    """
    check_graph(settings)
    warn_if_cut(query)

    async def work() -> SearchResult:
        async with (
            _reranker(settings, clock, is_wanted=rerank) as (model, meter),
            current_index(settings, clock, progress) as opened,
        ):
            found = await find_turns(
                opened,
                query,
                clock,
                selection=selection,
                order=order,
                limit=limit,
                nearest=nearest,
                model=model,
            )
            warn_of_waiting(opened.index)
            is_weak = all(hit.match is Match.WEAK for hit in found.results)
            if query.strip() and is_weak and wiring.is_built_in(settings):
                log_better_embedder(opened.index, "weak_search")
            return SearchResult(
                found,
                selection.as_of,
                opened.index.caught_up_at,
                opened.unread,
                Usage() if meter is None else meter.total,
            )

    return await repaired(settings, work)


async def find_turns(
    opened: OpenIndex,
    query: str,
    clock: Clock,
    *,
    selection: Selection,
    order: Order = Order.SCORE,
    limit: int,
    nearest: bool = False,
    model: "ChatModel | None" = None,
) -> CombinedHits:
    """Return the hits in an open index; `model` reranks them."""
    selected = _with_group_ids(selection, opened)
    search_in = partial(
        search,
        query=query,
        embedder=opened.embedder,
        now=clock(),
        selection=selected,
        order=order,
        limit=limit,
        nearest=nearest,
        thesaurus=wiring.thesaurus(),
    )
    turns, sessions = await search_in(opened.index, model=model), Hits()
    # Session-level episodes have no format, no branch and no tools.
    asks_for_turns = any((selected.format, selected.branch, selected.tool))
    if opened.sessions is not None and not asks_for_turns:
        sessions = await search_in(opened.sessions)
    found = combine_hits(turns, sessions, order=order, limit=limit)
    if not found.results:
        check_conditions(opened.index, selected)
    return found


async def search_sessions(
    query: str, settings: Settings, clock: Clock, *, selection: Selection, limit: int
) -> Sequence[SessionHit]:
    """Return the session-level episodes that match a query, best first."""
    check_graph(settings)
    warn_if_cut(query)

    async def work() -> Sequence[SessionHit]:
        async with current_index(settings, clock) as opened:
            if opened.sessions is None:
                return ()
            selected = _with_group_ids(selection, opened)
            found = await search(
                opened.sessions,
                query,
                opened.embedder,
                now=clock(),
                selection=selected,
                limit=limit,
                thesaurus=wiring.thesaurus(),
            )
            return combine_hits(Hits(), found, order=Order.SCORE, limit=limit).session_hits

    return await repaired(settings, work)


def _with_group_ids(selection: Selection, opened: OpenIndex) -> Selection:
    """Return the selection with ids of groups in place of project names."""
    indexes = [index for index in (opened.index, opened.sessions) if index is not None]
    known = sorted({group.group_id for index in indexes for group in index.groups()})
    if not known and opened.unread is None:
        warn_of_empty_graph()
    chosen = select_groups(known, selection.groups) if selection.groups else ()
    return replace(selection, groups=tuple(chosen))


@asynccontextmanager
async def _reranker(
    settings: Settings, clock: Clock, *, is_wanted: bool
) -> AsyncIterator[tuple["ChatModel | None", "Meter | None"]]:
    if not is_wanted:
        yield None, None
        return
    from turnetl.pipeline.requested_model import requested_model  # noqa: PLC0415 - as above

    async with requested_model(
        settings, clock, purpose="`--rerank` orders hits", alternative="search without it"
    ) as opened:
        yield opened


async def sample_queries(settings: Settings, clock: Clock, *, committed: int) -> Sequence[str]:
    """Return queries that the graph can answer, after its first backfill; else none.

    `committed`: turns that the run committed; it is the first if the graph has no others.
    """
    try:
        async with current_index(settings, clock) as opened:
            if opened.index.status().turns > committed:
                return ()
            return await sampling.sample_queries(opened.index, opened.embedder, wiring.thesaurus())
    except TurnetlError:
        return ()  # The update of the index, just before, has said why it cannot be read.
    except Exception as error:  # noqa: BLE001 - the run is over, and its report must be printed
        log.warning("there are no searches to try: %s", error)
    return ()


_MANY_WAIT = 0.1
"""Share of the turns; fewer are said by `turnetl status` only."""
_MAX_VALUES = 30
"""Values of a condition that a message lists."""


def warn_of_waiting(index: PersistentIndex) -> None:
    if (share := index.waiting_share()) > _MANY_WAIT:
        log.warning(
            "%.0f %% of the turns are compared by the built-in embedder: `turnetl index` continues "
            "to embed them",
            100 * share,
        )


def warn_if_cut(query: str) -> None:
    if (used := len(used_part(query))) < len(query):
        log.warning(
            "only the first %s of the %s characters are compared: put what matters most there",
            f"{used:,}",
            f"{len(query):,}",
        )


def check_conditions(index: PersistentIndex, selection: Selection) -> None:
    """Raise `BadUsage` for a condition that no turn meets; it names similar values or all.

    An empty index has no error.
    """
    if not index.newest(Selection(), limit=1):
        return
    for condition in ("session", "file", "entity", *Condition):
        value = getattr(selection, condition)
        if value is None or index.newest(Selection(**{condition: value}), limit=1):
            continue
        if condition == "session":
            raise BadUsage(
                f"no session has an id that begins with `{value}`; `turnetl show` of a turn prints "
                "its session"
            )
        if isinstance(condition, Condition):
            hint = _known(value, index.values(condition))
            raise BadUsage(f"no turn has the {condition} `{value}`{hint}")
        label = FILE_LABEL if condition == "file" else None
        hint = similar_names(index.lookup(), value, label)
        raise BadUsage(f"no turn has a fact about the {condition} `{value}`; {hint}")


def _known(value: str, known: Sequence[str]) -> str:
    """Return the value that may be meant, else those that there are."""
    folded = {fold(name): name for name in known}
    if nearest := difflib.get_close_matches(fold(value), folded, n=1):
        return f"; did you mean `{folded[nearest[0]]}`?"
    more = ", …" if len(known) > _MAX_VALUES else ""
    return f"; the graph has {', '.join(known[:_MAX_VALUES])}{more}" if known else ""
