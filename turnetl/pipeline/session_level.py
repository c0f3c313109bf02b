"""Session-level data of a graph: kept in an index of their own, and searched beside turns."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial

from turnetl import wiring
from turnetl.base.graph_model import CommittedTurn
from turnetl.base.ids import is_shadow
from turnetl.base.model import SessionId
from turnetl.base.text import plural
from turnetl.episode_text.passages import split_passages
from turnetl.graph.migrations import MigrationPhase, MigrationSummary
from turnetl.graph.port import GraphStore
from turnetl.graph.session_ids import named_sessions
from turnetl.graph.session_level import UnrecordedEpisode
from turnetl.index.persistent import PersistentIndex
from turnetl.index.selection import Selection
from turnetl.llm.embedders.port import Embedder
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_OF_TURNS = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)
"""Phases of a migration in which the group belongs to its turns."""


async def follow_session_level(
    index: PersistentIndex,
    embedder: Embedder,
    store: GraphStore,
    settings: Settings,
    migrations: Sequence[MigrationSummary],
) -> None:
    """Bring the index of session-level data up to date; nothing is made if the graph has none.

    Args:
        index: of the turns, which is up to date.
        migrations: of the graph.
    """
    state = await _state(store, migrations)
    if state == index.content_state:
        return
    moving = {one.group_id for one in migrations if one.phase.moves_data}
    groups = await store.session_level_groups()
    has_data = any(not is_shadow(group) and group not in moving for group in groups)
    sessions = wiring.session_index(settings, embedder, create=has_data)
    if sessions is not None:
        known = index.session_ids()

        def names(episodes: Sequence[UnrecordedEpisode]) -> Mapping[str, SessionId]:
            return named_sessions(known, episodes)

        with closing(sessions):
            announce = partial(_announce, embedder, settings)
            await sessions.follow(store, embedder, names, announce, moving)
    # The state before: what is written meanwhile is read the next time.
    index.mark_content(state)


async def forget_replaced_data(
    index: PersistentIndex,
    embedder: Embedder,
    store: GraphStore,
    settings: Settings,
    migrations: Sequence[MigrationSummary],
) -> None:
    """Forget the old data of groups that belong to their turns now, before these are indexed.

    A search during the update then finds a part of the turns, and never old data beside them.
    """
    replaced = {one.group_id for one in migrations if one.phase in _OF_TURNS}
    if not replaced or await _state(store, migrations) == index.content_state:
        return
    sessions = wiring.session_index(settings, embedder)
    if sessions is not None:
        with closing(sessions):
            await sessions.forget_moved(store, replaced)


async def _state(store: GraphStore, migrations: Sequence[MigrationSummary]) -> str:
    """Return a text that changes with the session-level data: a cutover changes no count."""
    phases = (f"{one.migration_id}:{one.phase.value}" for one in migrations)
    return " ".join((await store.content_state(), *phases))


def session_selection(selection: Selection) -> Selection | None:
    """Return the conditions on turns for session-level data; None if no episode can meet them.

    Episodes have no format, no branch and no tools.
    """
    if any((selection.format, selection.branch, selection.tool)):
        return None
    return selection


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
