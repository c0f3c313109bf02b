"""What the calls of the tools share: what they read, and which turns they select."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from turnetl.base.clock import Clock
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.base.time_span import EXAMPLES, TimeSpan, check_between, parse_time_span
from turnetl.index.selection import Selection
from turnetl.mcp.arguments import (
    BadArguments,
    ListArguments,
    SearchArguments,
    TimelineArguments,
    shown,
)
from turnetl.pipeline.index import OpenIndex, has_turns
from turnetl.pipeline.index_reader import IndexReader
from turnetl.report.index import unread_messages
from turnetl.retrieval.items import file_path

T = TypeVar("T")

_EMPTY = (
    "The graph is empty: run `turnetl backfill ARCHIVES`, or check which lake the server reads."
)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools read, and nothing else."""

    reader: IndexReader
    clock: Clock
    directory: Path
    """The one to which a path that starts with a dot is relative."""


async def read_index(
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


def selection(
    context: ToolContext, given: SearchArguments | TimelineArguments, as_of: str = ""
) -> Selection:
    """Return the conditions of a call; its project is not looked up yet.

    Raises:
        BadArguments: a time cannot be read, or none is within all of them.
    """
    since, until = time_limits(context, given)
    known = _end(context, "as_of", as_of)
    _check_end(since, "as_of", known)
    return Selection(
        groups=(GroupId(given.project),) if given.project else (),
        since=since,
        until=until,
        as_of=known,
        session=given.session or None,
        file=file_path(given.file, context.directory) if given.file else None,
        entity=given.entity or None,
    )


def time_limits(
    context: ToolContext, given: SearchArguments | TimelineArguments | ListArguments
) -> tuple[datetime | None, datetime | None]:
    """Return since when and until when, in UTC; None: whenever.

    Raises:
        BadArguments: one of the times cannot be read, or no time lies between them.
    """
    since = _span(context, "since", given.since).start if given.since else None
    until = _end(context, "until", given.until)
    _check_end(since, "until", until)
    return since, until


def _check_end(since: datetime | None, name: str, end: datetime | None) -> None:
    try:
        check_between(since, {f"`{name}`": end}, "`since`")
    except BadUsage as error:
        raise BadArguments(str(error)) from error


def _end(context: ToolContext, name: str, text: str) -> datetime | None:
    return _span(context, name, text).end if text else None


def _span(context: ToolContext, name: str, text: str) -> TimeSpan:
    span = parse_time_span(text, context.clock())
    if span is None:
        raise BadArguments(f"`{name}` is no time: `{shown(text)}`; write it as {EXAMPLES}")
    return span
