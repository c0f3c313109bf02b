"""The five tools: from arguments to an answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from turnetl.base.clock import Clock
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.text import plural
from turnetl.index.conditions import CONDITIONS, Selection
from turnetl.index.lookup import ListedSessions
from turnetl.index.persistent import PersistentIndex
from turnetl.mcp.answer import Answer
from turnetl.mcp.arguments import (
    BadArguments,
    FixArguments,
    ListArguments,
    OpenArguments,
    SearchArguments,
    TimelineArguments,
    ToolRunner,
    shown,
)
from turnetl.mcp.entries import (
    error_entries,
    group_entry,
    hit_entry,
    parts,
    session_entry,
    turn_entry,
)
from turnetl.pipeline.history import find_fixes_or_turns, find_timeline, group_ids
from turnetl.pipeline.index import OpenIndex, has_turns
from turnetl.pipeline.index_reader import IndexReader
from turnetl.pipeline.opened_items import open_item, with_lake_text
from turnetl.pipeline.search import find_turns
from turnetl.retrieval.details import Details, EntityDetails
from turnetl.retrieval.items import file_path
from turnetl.retrieval.query import used_part
from turnetl.retrieval.turn_summary import Timeline, titles
from turnetl.views.index import unread_messages
from turnetl.views.search_hits import match_message, nearest_lack

T = TypeVar("T")

_ENTITY_TURNS = 200
"""Turns of an entity after the first ones of a page that are read."""
_PAGE = 50
"""Projects or sessions on a page of `list`."""
_MAX_HITS = 300
"""Hits of a search through which pages lead."""

_EMPTY = "The graph is empty: run `turnetl backfill`, or check which lake the server reads."


@dataclass(frozen=True, slots=True)
class ToolContext:
    reader: IndexReader
    clock: Clock
    directory: Path
    """The one to which a path that starts with a dot is relative."""


async def search(context: ToolContext, given: SearchArguments) -> Answer:
    chosen = _selection(context, given)
    if not given.query.strip() and chosen.is_empty:
        raise BadArguments("`search` needs a `query`, or a condition such as `since`")
    last = given.offset + given.limit
    if last > _MAX_HITS:
        raise BadArguments(f"pages end at {_MAX_HITS} hits: use other words or more conditions")

    found, notes = await _read_index(
        context,
        lambda index: find_turns(
            index, given.query, context.clock, selection=chosen, limit=last + 1
        ),
    )
    hits = found.results
    page = hits[given.offset : last]
    heading = f"{plural(len(page), 'hit')}, best first." if page else "No hits on this page."
    if message := match_message(found) or nearest_lack(found):
        notes.append(f"Note: {message}.")
    if not hits:
        heading = (
            "No turn is close to the query. Try other words or fewer conditions."
            if found.distant or given.query.strip()
            else "No turn meets all conditions. Leave one of them out."
        )
    if (used := len(used_part(given.query))) < len(given.query):
        notes.append(f"Only the first {used:,} characters of the query were compared.")
    return Answer(
        heading,
        [hit_entry(given.offset + n, hit, chosen.as_of) for n, hit in enumerate(page, 1)],
        offset=given.offset,
        has_more=len(hits) > last,
        notes=notes,
    )


async def open_(context: ToolContext, given: OpenArguments) -> Answer:
    limit = given.offset + _ENTITY_TURNS

    async def read(index: OpenIndex) -> Details:
        settings = context.reader.settings
        found = open_item(index.index, given.id, context.directory, settings, limit=limit)
        return with_lake_text(found, settings)

    found, notes = await _read_index(context, read)
    found_parts = list(parts(found))
    has_more = isinstance(found, EntityDetails) and len(found.turns) < found.turn_count
    return Answer(
        f"One {found.kind}, in {'more than ' if has_more else ''}"
        f"{plural(len(found_parts), 'part')}.",
        found_parts[given.offset :],
        offset=given.offset,
        count=None if has_more else len(found_parts),
        has_more=has_more,
        notes=notes,
    )


async def timeline(context: ToolContext, given: TimelineArguments) -> Answer:
    """Return turns in the order of time: the last ones, or with an offset those before them."""
    chosen = _selection(context, given)

    async def read(index: OpenIndex) -> Timeline:
        return find_timeline(index.index, chosen, limit=given.limit, skip=given.offset)

    found, notes = await _read_index(context, read)
    return Answer(
        f"{plural(found.count, 'turn')} in all, newest first.",
        [turn_entry(turn) for turn in reversed(found.turns)],
        offset=given.offset,
        count=found.count,
        has_more=found.count > given.offset + given.limit,
        notes=notes,
    )


async def fix(context: ToolContext, given: FixArguments) -> Answer:
    if not given.error.strip():
        raise BadArguments("`fix` needs the message of an error, or a part of it")
    groups = [given.project] if given.project else []
    found, notes = await _read_index(
        context,
        lambda index: find_fixes_or_turns(index, given.error, groups=groups, limit=given.limit),
    )
    entries = [entry for error in found.errors for entry in error_entries(error)]
    heading = f"{plural(len(found.errors), 'matching error')}, best first."
    turns = [hit_entry(rank, hit, None) for rank, hit in enumerate(found.turns, 1)]
    if turns or not entries:
        heading = f"No error in the graph matches{' well' if entries else ''}."
        heading += " `search` finds these turns:" if turns else " `search` finds no turn either."
        entries = [*turns, *entries]
    return Answer(
        heading,
        entries[given.offset :],
        offset=given.offset,
        count=len(entries),
        notes=notes,
    )


async def list_(context: ToolContext, given: ListArguments) -> Answer:
    conditions = _selection(context, given)
    since, until = conditions.since, conditions.until

    async def projects(index: OpenIndex) -> tuple[int, list[str]]:
        chosen = _groups(index.index, given.project)
        spans = [
            span
            for span in index.index.lookup().group_spans()
            if (not chosen or span.group_id in chosen)
            and (since is None or span.last >= since)
            and (until is None or span.first < until)
        ]
        page = spans[given.offset : given.offset + _PAGE]
        return len(spans), [group_entry(span) for span in page]

    async def sessions(index: OpenIndex) -> tuple[int, list[str]]:
        page = index.index.lookup().session_spans(
            _groups(index.index, given.project),
            since=since,
            until=until,
            limit=_PAGE,
            offset=given.offset,
        )
        return page.count, _session_entries(index.index, page)

    listing = projects if given.what == "projects" else sessions
    (count, entries), notes = await _read_index(context, listing)
    return Answer(
        f"{plural(count, given.what.removesuffix('s'))}, newest first.",
        entries,
        offset=given.offset,
        count=count,
        has_more=given.offset + len(entries) < count,
        notes=notes,
    )


_TOOLS: Mapping[str, Callable[[ToolContext, Any], Awaitable[Answer]]] = {
    "search": search,
    "open": open_,
    "timeline": timeline,
    "fix": fix,
    "list": list_,
}


def tool_runner(context: ToolContext) -> ToolRunner:
    async def run(tool: str, given: Any) -> Answer:
        return await _TOOLS[tool](context, given)

    return run


def _groups(index: PersistentIndex, project: str) -> tuple[GroupId, ...]:
    return group_ids(index, [project]) if project else ()


def _session_entries(index: PersistentIndex, page: ListedSessions) -> list[str]:
    lookup = index.lookup()
    keys = [key for one in page.sessions for key in lookup.session(one.session_id)[:1]]
    turns = index.turns(keys).values()
    named = titles(index, turns)
    first = {turn.receipt.session_id: named[turn.key].intent for turn in turns}
    return [session_entry(one, first.get(one.session_id, "")) for one in page.sessions]


async def _read_index(
    context: ToolContext, work: Callable[[OpenIndex], Awaitable[T]]
) -> tuple[T, list[str]]:
    """Return what is read from the index, and what the answer may lack."""

    async def noted(index: OpenIndex) -> tuple[T, bool]:
        return await work(index), has_turns(index.index)

    found = await context.reader.read(noted)
    value, is_filled = found.value
    notes = unread_messages(found.unread, found.caught_up_at)
    if not (is_filled or notes):
        notes.append(_EMPTY)
    return value, [f"Note: {displayed_text(note)}" for note in notes]


def _selection(
    context: ToolContext, given: SearchArguments | TimelineArguments | ListArguments
) -> Selection:
    """Return the conditions of a call; its project is not looked up yet."""
    texts = {name: getattr(given, name, "") for name in CONDITIONS}
    if texts["file"]:
        texts["file"] = file_path(texts["file"], context.directory)
    groups = (GroupId(given.project),) if given.project else ()
    try:
        return Selection(groups).stated(texts, context.clock(), "`{}`".format, shown)
    except BadUsage as error:
        raise BadArguments(str(error)) from error
