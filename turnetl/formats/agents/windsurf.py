"""Transcripts of Windsurf's hook: `transcripts/<id>.jsonl`, one step on each line.

A step has what a tool was given and what it returned. There are no times, and no session is named.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import first_of, path_of_uri


class WindsurfStep(msgspec.Struct):
    """A step; what it says is under the name of its type."""

    type: str = ""
    status: str | None = None
    user_input: dict[str, Any] = {}
    planner_response: dict[str, Any] = {}
    run_command: dict[str, Any] = {}
    code_action: dict[str, Any] = {}
    view_file: dict[str, Any] = {}
    list_directory: dict[str, Any] = {}
    find: dict[str, Any] = {}
    grep_search: dict[str, Any] = {}
    mcp_tool: dict[str, Any] = {}


_TOOLS = (
    *("run_command", "code_action", "view_file", "list_directory", "find", "grep_search"),
    "mcp_tool",
)
_OUTPUTS = ("output", "content", "exit_code", "user_rejected", "total_results")
_ARGUMENTS = {"original_content": "old_string", "new_content": "new_string"}
"""Windsurf's names of what a change replaces, and those of other agents."""


def _is_step(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a step of the user or the planner."""
    kind = row.get("type")
    is_known = kind in ("user_input", "planner_response")
    return is_known and row.keys() == {"type", "status", kind}


def _read(talk: Conversation, step: WindsurfStep) -> SkipReason | None:
    match step.type:
        case "user_input":
            return talk.prompt(step.user_input.get("user_response"))
        case "planner_response":
            return talk.answer(step.planner_response.get("response"))
        case kind if kind in _TOOLS:
            return _read_tool(talk, kind, getattr(step, kind), step.status)
        case _:
            return SkipReason.EVENT


def _read_tool(
    talk: Conversation, kind: str, step: dict[str, Any], status: str | None
) -> SkipReason | None:
    talk.describe(cwd=step.get("cwd"))
    arguments = {
        _ARGUMENTS.get(name, name): _path(value)
        for name, value in step.items()
        if name not in _OUTPUTS
    }
    key = f"{talk.span.start}"
    called = talk.call(kind, arguments, key)
    failed = step.get("exit_code") not in (None, 0) or step.get("user_rejected") is True
    output = step.get("output", step.get("content"))
    is_error = failed or str(status).lower() == "error"
    return first_of([called, talk.result(key, output, is_error=is_error)])


def _path(value: object) -> object:
    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    return path_of_uri(value)


WINDSURF = LineReader(WindsurfStep, (("type", "status"),), _is_step, _read)
