"""What the calls of the tools share: what they read, and which turns they select."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from turnetl.base.clock import Clock
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.index.selection import CONDITIONS, Selection
from turnetl.mcp.arguments import (
    BadArguments,
    ListArguments,
    SearchArguments,
    TimelineArguments,
    shown,
)
from turnetl.pipeline.index import OpenIndex, has_turns
from turnetl.pipeline.index_reader import IndexReader
from turnetl.retrieval.items import file_path
from turnetl.views.index import unread_messages

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
