"""The tool calls that completed items and events are about."""

import re
from collections.abc import Callable
from typing import Any

from turnetl.formats.base import RawToolCall
from turnetl.formats.codex import tools
from turnetl.formats.codex.rows import CodexItem
from turnetl.formats.kit.tool_input import added_lines, format_input

_SHELLS = frozenset(
    {"exec_command", "shell", "local_shell", "shell_command", "container.exec", "unified_exec"}
)
_EDITS = {"add": "Add", "create": "Add", "delete": "Delete", "remove": "Delete"}
_NOT_WORD = re.compile(r"[^\w.-]+")


def item_call(item: CodexItem) -> RawToolCall | None:
    """Return the call that a completed item or an event is about; None if it is about none.

    Its result is not set yet: see `tools.complete_item`.
    """
    read = _READERS.get(item.type or "")
    return read(item) if read is not None else None


def same_action(call: RawToolCall, other: RawToolCall) -> bool:
    """Return whether the call of an item is one that the model itself made."""
    if other.name == "exec_command":
        return call.name in _SHELLS and call.input.strip() == other.input.strip()
    if other.name == "apply_patch":
        return call.name in {*_SHELLS, "apply_patch"} and _same_files(call, other)
    names = {other.name, other.name.rpartition("__")[2]}
    return call.name in names and (call.input == other.input or call.arguments == other.arguments)


def _call(name: str, arguments: Any) -> RawToolCall:
    text = "" if arguments is None else format_input(arguments)
    return RawToolCall(name, text, arguments=arguments)


def _mcp_call(item: CodexItem) -> RawToolCall | None:
    named = item.invocation if isinstance(item.invocation, dict) else {}
    server, tool = item.server or named.get("server"), item.tool or named.get("tool")
    if not server and not tool:
        return None
    arguments = item.arguments if item.arguments is not None else named.get("arguments")
    words = (_NOT_WORD.sub("_", str(word)) for word in (server, tool) if word)
    return _call("__".join(["mcp", *words]), tools.decoded(arguments))


def _web_search(item: CodexItem) -> RawToolCall:
    action = item.action if isinstance(item.action, dict) else {}
    queries = action.get("queries")
    several = "; ".join(map(str, queries)) if isinstance(queries, list) else ""
    found = (action.get("query"), item.query, several, action.get("url"), action.get("pattern"))
    query = next((text for text in found if isinstance(text, str) and text), "")
    return RawToolCall("web_search", query, arguments=item.action)


def _extension(item: CodexItem) -> RawToolCall | None:
    """Return the call of an extension: a web search, or another tool that it names."""
    if item.query or item.action is not None:
        return _web_search(item)
    name = item.tool or item.name or item.kind
    arguments = next((one for one in (item.arguments, item.input) if one is not None), None)
    has_result = item.result is not None or item.output is not None or item.error is not None
    if not name or (arguments is None and not has_result):
        return None
    return _call(name, tools.decoded(arguments) if arguments is not None else {})


def _patch(changes: Any) -> str:
    """Return the changes of files as a patch in the form in which agents write them."""
    if isinstance(changes, list):
        changes = {str(one.get("path")): one for one in changes if isinstance(one, dict)}
    files = changes.items() if isinstance(changes, dict) else ()
    if not files:
        return ""
    return "\n".join(
        [
            "*** Begin Patch",
            *(line for path, change in files for line in _file_patch(path, change)),
            "*** End Patch",
        ]
    )


def _file_patch(path: str, change: Any) -> list[str]:
    """Return the lines of a patch about one file. A file that was moved has a new path."""
    fields = change if isinstance(change, dict) else {}
    kind = fields.get("type") or fields.get("kind")
    if isinstance(kind, dict):
        fields, kind = fields | kind, kind.get("type")
    old_forms = {name: fields[name] for name in ("add", "delete", "update") if name in fields}
    if kind is None and old_forms:
        kind, inner = next(iter(old_forms.items()))
        fields = inner if isinstance(inner, dict) else {}
    operation = _EDITS.get(str(kind), "Update")
    new = fields.get("move_path")
    if operation == "Delete":
        return [f"*** Delete File: {path}"]
    moved = isinstance(new, str) and new and new != path
    before = [f"*** Delete File: {path}"] if moved else []
    header = f"*** {operation} File: {new if moved else path}"
    return [*before, header, *_changed(fields, is_new=operation == "Add")]


def _changed(fields: dict[str, Any], *, is_new: bool) -> list[str]:
    """Return the changed lines of a file with their signs."""
    found = (fields.get(key) for key in ("unified_diff", "diff", "content"))
    text = next((one for one in found if isinstance(one, str)), "")
    lines = text.split("\n")
    if is_new and not text.startswith(("@@", "--- ", "diff ")):
        return [f"+{line}" for line in lines if line]
    return [
        line for line in lines if line[:1] in {"+", "-"} and not line.startswith(("+++ ", "--- "))
    ]


def _same_files(call: RawToolCall, other: RawToolCall) -> bool:
    """Return whether two patches change the same files; one may have relative paths."""
    first, second = (
        sorted(path for path, _ in added_lines(one.arguments)) for one in (call, other)
    )
    if not first or len(first) != len(second):
        return False
    pairs = (sorted((f"/{a}", f"/{b}"), key=len) for a, b in zip(first, second, strict=True))
    return all(longer.endswith(shorter) for shorter, longer in pairs)


def _command(item: CodexItem) -> RawToolCall | None:
    """Return a command of the agent; the user may run some, too."""
    is_users = isinstance(item.source, str) and item.source.startswith("user")
    if is_users or (item.command is None and item.exit_code is None):
        return None
    return _call("exec_command", {"command": item.command})


def _dynamic_call(item: CodexItem) -> RawToolCall | None:
    return _call(item.tool, tools.decoded(item.arguments)) if item.tool else None


def _subagent_call(item: CodexItem) -> RawToolCall | None:
    return _call(item.tool, {"message": item.prompt}) if item.tool else None


def _file_change(item: CodexItem) -> RawToolCall:
    return _call("apply_patch", _patch(item.changes))


def _image(item: CodexItem) -> RawToolCall:
    return RawToolCall("image_generation", item.revised_prompt or "", "[image]")


_READERS: dict[str, Callable[[CodexItem], RawToolCall | None]] = {
    "CommandExecution": _command,
    "exec_command_end": _command,
    "FileChange": _file_change,
    "patch_apply_end": _file_change,
    "McpToolCall": _mcp_call,
    "mcp_tool_call_end": _mcp_call,
    "WebSearch": _web_search,
    "ImageGeneration": _image,
    "ImageView": lambda item: _call("view_image", {"path": item.path}),
    "DynamicToolCall": _dynamic_call,
    "CollabAgentToolCall": _subagent_call,
    "Extension": _extension,
}
