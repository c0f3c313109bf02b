"""The tools as clients see them. What runs them takes seconds to import, a handshake must not."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from turnetl.mcp.answer import Answer
from turnetl.mcp.arguments import (
    FixArguments,
    ListArguments,
    OpenArguments,
    SearchArguments,
    TimelineArguments,
)

ToolRunner = Callable[[str, Any], Awaitable[Answer]]
"""Runs the tool of this name with its arguments."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool of the server."""

    name: str
    description: str
    arguments: type[Any]


TOOLS = (
    ToolDefinition(
        "search",
        "Search past coding-agent sessions: what was asked, decided, tried, changed. Returns turns "
        "with dated facts and their lineage (turn id, archive:lines).",
        SearchArguments,
    ),
    ToolDefinition(
        "open",
        "Read one turn (prompt, answer, facts, steps), session, entity, file or fact in full, in "
        "pages.",
        OpenArguments,
    ),
    ToolDefinition(
        "timeline",
        "List what happened, newest first: turns of a project, time, session, file or entity.",
        TimelineArguments,
    ),
    ToolDefinition(
        "fix", "Find where an error occurred before and what resolved it.", FixArguments
    ),
    ToolDefinition(
        "list", "List projects or sessions with their times, newest first.", ListArguments
    ),
)
