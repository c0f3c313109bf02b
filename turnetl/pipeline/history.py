"""Timelines, sessions, digests, entities by name, and fixes of errors."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.results import described
from turnetl.base.text import one_line
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.opened_items import IndexAnswer, open_index, read_index
from turnetl.pipeline.search import check_conditions, find_turns, warn_if_cut
from turnetl.retrieval.details import EntityDetails, entity_details
from turnetl.retrieval.digest import Digest, DigestSections
from turnetl.retrieval.digest import digest as digest_of
from turnetl.retrieval.fix import ErrorHistory, ErrorMatcher, find_fixes, without_passing
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.items import find_entity
from turnetl.retrieval.match import Match
from turnetl.retrieval.search import Hits, search
from turnetl.retrieval.sessions import (
    Resumption,
    SessionList,
    find_session,
    list_sessions,
    resumption,
    session_summary,
)
from turnetl.retrieval.turn_summary import Timeline
from turnetl.retrieval.turn_summary import timeline as timeline_of
from turnetl.settings import Settings


async def timeline(
    settings: Settings,
    clock: Clock,
    *,
    selection: Selection,
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[Timeline]:
    """Return the last turns that meet the conditions, oldest first; see `find_timeline`."""
    return await read_index(
        lambda index: find_timeline(index, selection, limit=limit), settings, clock, progress
    )


def find_timeline(
    index: PersistentIndex, selection: Selection, *, limit: int, skip: int = 0
) -> Timeline:
    """Return the timeline of an open index, without the last `skip` turns.

    Raises:
        BadUsage: an unknown group; without a turn, a condition that no turn of the graph meets.
    """
    groups = group_ids(index, selection.groups)
    found = timeline_of(index, replace(selection, groups=groups), limit=limit, skip=skip)
    if not found.turns:
        check_conditions(index, selection)
    return found


async def sessions(
    settings: Settings,
    clock: Clock,
    *,
    selection: Selection,
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[SessionList]:
    """Return the last sessions with a turn that meets the conditions, newest first."""

    def read(index: PersistentIndex) -> SessionList:
        chosen = replace(selection, groups=group_ids(index, selection.groups))
        found = list_sessions(index, chosen, limit=limit)
        if not found.sessions:
            check_conditions(index, selection)
        return found

    return await read_index(read, settings, clock, progress)


async def resume(
    text: str,
    settings: Settings,
    clock: Clock,
    *,
    directory: Path,
    groups: Sequence[str] = (),
    progress: Progress = ignore_progress,
) -> IndexAnswer[Resumption]:
    """Return how the session is continued that an id names, or that a search finds first.

    Raises:
        BadUsage: the id leads to several things, or a search for the words finds no strong match.
    """
    async with open_index(settings, clock, progress) as opened:
        session = find_session(opened.index, text, directory)
        if session is None:
            chosen = Selection(groups=group_ids(opened.index, groups))
            hits = (await find_turns(opened, text, clock, selection=chosen, limit=1)).hits
            if not hits or hits[0].match is not Match.STRONG:
                raise BadUsage(
                    f"no session has the id `{one_line(text, 60)}`, and no turn matches these "
                    "words strongly: `turnetl sessions` lists the last ones"
                )
            session = hits[0].session_id
        found = resumption(
            session_summary(opened.index, session),
            program=shutil.which,
            exists=lambda path: Path(path).exists(),
        )
        return IndexAnswer(found, opened.index.caught_up_at, opened.unread)


async def digest(
    settings: Settings,
    clock: Clock,
    *,
    selection: Selection,
    by: DigestSections,
    progress: Progress = ignore_progress,
) -> IndexAnswer[Digest]:
    """Return what happened in the turns that meet the conditions; a group may be a project name."""

    def read(index: PersistentIndex) -> Digest:
        groups = group_ids(index, selection.groups)
        return digest_of(index, replace(selection, groups=groups), by)

    return await read_index(read, settings, clock, progress)


async def latest_digest(
    settings: Settings,
    clock: Clock,
    *,
    groups: Sequence[str],
    by: DigestSections,
    progress: Progress = ignore_progress,
) -> IndexAnswer[Digest]:
    """Return what happened since yesterday, in UTC; without any turn, in the last week with one."""

    def read(index: PersistentIndex) -> Digest:
        begin = _midnight(clock()) - timedelta(days=1)
        selection = Selection(groups=group_ids(index, groups), since=begin)
        found = digest_of(index, selection, by)
        if found.turns or found.newest is None:
            return found
        last = _midnight(found.newest) - _WEEK + timedelta(days=1)
        return replace(digest_of(index, replace(selection, since=last), by), asked_since=begin)

    return await read_index(read, settings, clock, progress)


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


_WEEK = timedelta(days=7)


async def recent_digest(settings: Settings, clock: Clock, *, days: int = 1) -> IndexAnswer[Digest]:
    """Return what happened, per project, since this many days before today, in UTC."""
    begin = _midnight(clock()) - timedelta(days=days)
    selection, by = Selection(since=begin), DigestSections.PROJECT
    return await digest(settings, clock, selection=selection, by=by)


async def entity(
    name: str,
    settings: Settings,
    clock: Clock,
    *,
    directory: Path,
    label: str | None = None,
    groups: Sequence[str] = (),
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[EntityDetails]:
    """Return an entity with the last turns that state something about it.

    Of several with the name, it is the only one of the directory's project.
    """

    def read(index: PersistentIndex) -> EntityDetails:
        of_groups = group_ids(index, groups)
        found, others = find_entity(index.lookup(), name, label, of_groups, directory)
        return replace(entity_details(index, found, limit=limit), others=others)

    return await read_index(read, settings, clock, progress)


@dataclass(frozen=True, slots=True)
class Fixes:
    """The errors that match a text; if none does strongly, also the turns that a search finds."""

    errors: Annotated[Sequence[ErrorHistory], described("The errors, best match first.")]
    found: Hits = Hits()  # noqa: RUF009 - a frozen value

    @property
    @described("Without an error that matches strongly, the turns that a search finds, best first.")
    def turns(self) -> tuple[SearchHit, ...]:
        return self.found.hits


async def fix(
    text: str,
    settings: Settings,
    clock: Clock,
    *,
    groups: Sequence[str] = (),
    limit: int,
    progress: Progress = ignore_progress,
) -> IndexAnswer[Fixes]:
    """Return the errors that match a text, each with what resolved it, or the turns about it."""
    warn_if_cut(text)
    async with open_index(settings, clock, progress) as opened:
        found = await find_fixes_or_turns(opened, text, groups=groups, limit=limit)
        return IndexAnswer(found, opened.index.caught_up_at, opened.unread)


async def find_fixes_or_turns(
    opened: OpenIndex, text: str, *, groups: Sequence[str] = (), limit: int
) -> Fixes:
    """Return what `fix` returns, from an open index."""
    ids = group_ids(opened.index, groups)
    errors = await find_fixes(opened.index, text, opened.embedder, groups=ids, limit=limit)
    if not text.strip() or any(error.match is Match.STRONG for error in errors):
        return Fixes(errors)
    # Quotes in a message are not phrases of a query, and times in a log select no turns.
    query = (without_passing(text) or text).replace('"', " ")
    chosen = Selection(groups=ids)
    hits = await search(opened.index, query, opened.embedder, selection=chosen, limit=limit)
    if ErrorMatcher(text).is_common:
        weak = tuple(replace(hit, match=Match.WEAK) for hit in hits.hits)
        hits = replace(hits, hits=weak)
    return Fixes(errors, hits)


def group_ids(index: PersistentIndex, names: Sequence[str]) -> tuple[GroupId, ...]:
    """Return the ids of groups that are given by id or by project name."""
    known = [group.group_id for group in index.status().groups]
    return tuple(select_groups(known, names)) if names else ()
