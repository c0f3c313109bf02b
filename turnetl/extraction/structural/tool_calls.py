"""Classifies tool calls: one value for the many names that agents give the same kind of tool."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from turnetl.base.edit_outline import NET, EditedPart, outline_of, without_outline
from turnetl.base.model import (
    STEP_ATTRIBUTES,
    AgentCall,
    Attribute,
    SubagentRun,
    ToolCall,
    by_subagent,
)
from turnetl.extraction.structural.findings import FactDraft


class CallKind(StrEnum):
    RUN = "run"
    EDIT = "edit"
    CREATE = "create"
    READ = "read"
    FETCH = "fetch"
    SEARCH = "search"
    MCP = "mcp"
    SKILL = "skill"
    DELEGATE = "delegate"
    OTHER = "other"


WRITE_KINDS = frozenset({CallKind.EDIT, CallKind.CREATE})
FILE_KINDS = frozenset({*WRITE_KINDS, CallKind.READ})


@dataclass(frozen=True, slots=True)
class ClassifiedCall:
    kind: CallKind
    targets: tuple[str, ...]
    """By kind: the command, the paths, the URL, the search query, the MCP server, or the skill."""
    detail: str
    """By kind: the text written to a file, the tool of the MCP server, or the prompt for a page."""
    call: ToolCall
    run: SubagentRun | None = None
    """Of the subagent that made it; None: the agent of the turn made it."""
    changes: tuple[EditedPart, ...] = ()
    """What it changed, by definition. `call.input` is without them."""
    net: tuple[EditedPart, ...] = ()
    """What it and calls before it changed together, from the first `NET` on."""

    @property
    def rejected(self) -> bool:
        """Whether the user or the tool rejected the call, so it was not executed."""
        # Not every archive marks the result of an edit that was turned down as an error.
        may_be = self.call.is_error or self.kind in WRITE_KINDS
        return may_be and bool(_REJECTION.match(self.call.result[:300]))

    @property
    def took_place(self) -> bool:
        """Whether the call neither failed nor was rejected."""
        return not (self.call.is_error or self.rejected)

    @property
    def is_slip(self) -> bool:
        """Whether a failed call says something of the agent's own tools, not of the project."""
        is_own = self.call.name.casefold() in _OWN_TOOLS
        return is_own or _SLIP.match(self.call.result[:600]) is not None


_TOOL_NAMES = {
    CallKind.RUN: (
        "bash shell exec_command run_shell_command local_shell exec run_command terminal execute"
        " execute_command run_commands run_terminal_cmd run_terminal_command run_in_terminal"
        " runterminalcommand execute_bash developer__shell powershell"
    ),
    CallKind.EDIT: (
        "edit multiedit replace str_replace_editor notebookedit apply_patch patch edit_file"
        " applypatch replace_in_file apply_diff search_replace replace_string_in_file str_replace"
        " insert_edit_into_file replace_file_content edit_existing_file fs_write"
        " developer__text_editor"
    ),
    CallKind.CREATE: "write write_file create_file write_to_file create create_new_file",
    CallKind.READ: "read read_file view view_file read_many_files open_file readfile fs_read",
    CallKind.FETCH: "webfetch web_fetch fetch",
    CallKind.SEARCH: "websearch web_search google_web_search web_search_call",
    CallKind.SKILL: "skill",
    CallKind.DELEGATE: "task agent spawn_agent",
}
_KIND_BY_NAME = {name: kind for kind, names in _TOOL_NAMES.items() for name in names.split()}
_TARGET_KEYS = {
    CallKind.RUN: ("command", "cmd"),
    CallKind.FETCH: ("url",),
    CallKind.SEARCH: ("query",),
    CallKind.SKILL: ("skill", "command"),
    CallKind.DELEGATE: ("description", "prompt"),
}
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename")
_DETAIL_KEYS = ("new_string", "content", "newString", "new_source", "prompt", "description")
_MCP_TOOL = re.compile(r"^mcp__([\w.-]{1,80}?)__([\w.-]{1,80})$")
_PATCH_HEADER = re.compile(r"\*\*\* (Update|Add|Delete) File: ([^\n\\*\"]{1,300}?)(?=\s|\\n|$)")
_REJECTION = re.compile(
    r"\s*(?:The user doesn't want|\[?Request interrupted|The tool use was rejected|User rejected"
    r"|Permission (?:to use|for this tool use)|This command requires approval|(?:Exit code "
    r"1\d\d\s)?Command timed out|\W{0,3}Operation Cancelled|Tool execution denied|\{\"message\": "
    r"?\"rejected|PreToolUse:|[^\n]{0,80}(?i:(?:aborted|cancell?ed|interrupted|rejected|denied) "
    r"by (?:the )?(?:user|policy)|user (?:has )?(?:denied|rejected|declined)|haven't granted))"
)
_SLIP = re.compile(
    r"(?:</?\w{1,30}>|\W){0,20}(?:error: ?|MCP error )?(?:\w{0,30}InputValidation|invalid "
    r"(?:arguments|parameters|input|tool)|-326\d\d|no such tool|unknown tool|tool \S{1,60} not "
    r"found|not connected|path does not exist|file (?:does not exist|not found|has not been)|no "
    r"such file|EISDIR|ENOENT|missing required|required|[^\n]{0,80}(?:timed out|timeout|permission"
    r"|denied|rejected|abort|cancel|interrupt|not granted|exceeds? (?:the )?max|too large|hook))",
    re.IGNORECASE,
)
"""Of the agent or of the program that runs it, not of the project."""
BACKGROUND_READERS = frozenset({"bashoutput", "taskoutput", "write_stdin", "read_bash"})
"""Tools that read the output of a run in the background."""
_OWN_TOOLS = frozenset(
    {"grep", "glob", "ls", "list_directory", "list_dir", "grep_search", "find", "todowrite"}
    | {"todoread", "update_plan", "exitplanmode", "exit_plan_mode", "askuserquestion", "ask_user"}
    | {"killshell", "slashcommand"}
    | BACKGROUND_READERS
)
"""Tools of the agent that look, plan and ask."""
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f]")
_NO_INPUT = frozenset({"null", "[]", '""', "undefined", "None"})
"""Inputs of calls without arguments, as JSON or as a program prints them."""
_MAX_JSON_LENGTH = 200_000
_MAX_TEXT_LENGTH = 20_000
_MAX_CALLS = 400


def classify_calls(calls: Sequence[AgentCall]) -> list[ClassifiedCall]:
    """Classify calls, in order; of an agent with more than 400 the first and the last 200."""
    if len(calls) > _MAX_CALLS:
        calls = _limited(calls)
    return [
        replace(call, targets=tuple(filter(_VISIBLE.search, call.targets)), run=one.run)
        for one in calls
        for call in [_with_changes(one.call)]
    ]


def _with_changes(call: ToolCall) -> ClassifiedCall:
    changes = tuple(outline_of(call.input))
    if not changes:
        return _classify(call)
    classified = _classify(replace(call, input=without_outline(call.input)))
    if classified.kind not in WRITE_KINDS:
        # An agent's own name for a tool that edits, or a shell command that applies a patch.
        text = classified.call.input
        paths = [path for _, path in _PATCH_HEADER.findall(text)] or [text.partition(" :: ")[0]]
        classified = replace(classified, kind=CallKind.EDIT, targets=tuple(paths))
    own = next((at for at, one in enumerate(changes) if one.kind == NET), len(changes))
    return replace(classified, changes=changes[:own], net=changes[own:])


def by_its_agent(draft: FactDraft, calls: Sequence[ClassifiedCall]) -> FactDraft:
    """Return the fact that calls state; marked, with the first, if subagents made all of them."""
    steps = [step for call in calls if (step := AgentCall(call.call, call.run).step) is not None]
    if not steps or len(steps) < len(calls):
        return draft
    values = (steps[0].subagent, steps[0].archive, steps[0].line)
    first: dict[str, Attribute] = dict(zip(STEP_ATTRIBUTES, values, strict=True))
    mark = by_subagent(step.subagent for step in steps)
    return replace(draft, text=f"{draft.text} ({mark})", attributes={**draft.attributes, **first})


def _limited(calls: Sequence[AgentCall]) -> Sequence[AgentCall]:
    of_agents: dict[str | None, list[int]] = {}
    for place, one in enumerate(calls):
        of_agents.setdefault(one.run.agent_id if one.run else None, []).append(place)
    half = _MAX_CALLS // 2
    kept = {
        place
        for places in of_agents.values()
        for place in (places if len(places) <= _MAX_CALLS else places[:half] + places[-half:])
    }
    return [one for place, one in enumerate(calls) if place in kept]


def _classify(call: ToolCall) -> ClassifiedCall:
    mcp_tool = _MCP_TOOL.match(call.name)
    if mcp_tool:
        server = _server_name(mcp_tool.group(1))
        return ClassifiedCall(CallKind.MCP, (server,), mcp_tool.group(2), call)
    kind = _KIND_BY_NAME.get(call.name.lower().rpartition(".")[2], CallKind.OTHER)
    if kind is CallKind.OTHER:
        return ClassifiedCall(kind, (), "", call)
    patch_headers = (
        _PATCH_HEADER.findall(call.input[:_MAX_TEXT_LENGTH]) if "*** " in call.input else []
    )
    if patch_headers:
        return ClassifiedCall(CallKind.EDIT, tuple(path for _, path in patch_headers), "", call)
    return _with_arguments(kind, call)


def _with_arguments(kind: CallKind, call: ToolCall) -> ClassifiedCall:
    arguments = _arguments(call.input)
    keys = _TARGET_KEYS.get(kind, _PATH_KEYS)
    if arguments is None:
        return _without_arguments(kind, call, keys)
    target = next((_text(arguments[key]) for key in keys if arguments.get(key)), "")
    details = [
        _text(arguments[key]) for key in _DETAIL_KEYS if arguments.get(key) and key not in keys
    ]
    targets = (target[:_MAX_TEXT_LENGTH],) if target else ()
    return ClassifiedCall(kind, targets, "\n".join(details), call)


def _without_arguments(kind: CallKind, call: ToolCall, keys: tuple[str, ...]) -> ClassifiedCall:
    if call.input.strip() in _NO_INPUT:
        return ClassifiedCall(kind, (), "", call)
    if kind in FILE_KINDS and not call.input.startswith("{"):
        path, _, change = call.input[:_MAX_TEXT_LENGTH].partition(" :: ")
        return ClassifiedCall(kind, (path,) if path else (), change, call)
    is_truncated_json = call.input.startswith("{") and kind is not CallKind.RUN
    target = _first_quoted(call.input, keys) if is_truncated_json else call.input[:_MAX_TEXT_LENGTH]
    return ClassifiedCall(kind, (target,) if target else (), "", call)


def _arguments(text: str) -> dict[str, Any] | None:
    if not text.startswith("{") or len(text) > _MAX_JSON_LENGTH:
        return None
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        # The input may be truncated JSON, or a shell group that only starts like JSON.
        return None
    return arguments if isinstance(arguments, dict) else None


def _first_quoted(text: str, keys: tuple[str, ...]) -> str:
    for key in keys:
        match = re.search(rf'"{key}"\s?:\s?"((?:[^"\\]|\\.){{1,4000}})', text[:_MAX_TEXT_LENGTH])
        if match:
            return match.group(1)
    return ""


def _text(value: Any) -> str:
    if isinstance(value, list):
        # In `["bash", "-lc", "go test"]` the last item is the command.
        is_shell = len(value) > 1 and value[1] in {"-c", "-lc"}
        return str(value[-1]) if is_shell else " ".join(str(part) for part in value)
    return value if isinstance(value, str) else ""


def _server_name(name: str) -> str:
    return name.removeprefix("plugin_").removeprefix("claude_ai_").replace("_", " ").strip()
