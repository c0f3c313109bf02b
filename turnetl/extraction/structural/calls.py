"""What a call of the agent's tools was: one small value for the many names agents give them."""

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from turnetl.model import ToolCall


class CallKind(StrEnum):
    RUN = "run"
    EDIT = "edit"
    CREATE = "create"
    READ = "read"
    FETCH = "fetch"
    SEARCH = "search"
    SERVER = "server"
    SKILL = "skill"
    DELEGATE = "delegate"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ClassifiedCall:
    """A tool call, understood."""

    kind: CallKind
    targets: tuple[str, ...]
    """The command, paths, the address, the words searched for, the server, the skill."""
    detail: str
    """What was written into a file, the server's tool, the question put to a page."""
    of: ToolCall

    @property
    def refused(self) -> bool:
        """Whether the call never happened: the person said no, or the tool itself would not."""
        return self.of.is_error and bool(_REFUSED.match(self.of.result[:300]))


_KINDS = {
    CallKind.RUN: "bash shell exec_command run_shell_command local_shell exec run_command terminal",
    CallKind.EDIT: (
        "edit multiedit replace str_replace_editor notebookedit apply_patch patch edit_file"
    ),
    CallKind.CREATE: "write write_file create_file",
    CallKind.READ: "read read_file view view_file read_many_files open_file",
    CallKind.FETCH: "webfetch web_fetch fetch",
    CallKind.SEARCH: "websearch web_search google_web_search web_search_call",
    CallKind.SKILL: "skill",
    CallKind.DELEGATE: "task agent spawn_agent",
}
_BY_NAME = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_KEYS = {
    CallKind.RUN: ("command", "cmd"),
    CallKind.FETCH: ("url",),
    CallKind.SEARCH: ("query",),
    CallKind.SKILL: ("skill", "command"),
    CallKind.DELEGATE: ("description", "prompt"),
}
_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename")
_DETAILS = ("new_string", "content", "newString", "new_source", "prompt", "description")
_SERVER = re.compile(r"^mcp__([\w.-]{1,80}?)__([\w.-]{1,80})$")
_PATCHED = re.compile(r"\*\*\* (Update|Add|Delete) File: ([^\n\\*\"]{1,300}?)(?=\s|\\n|$)")
_REFUSED = re.compile(
    r"\s*(?:The user doesn't want|\[?Request interrupted|The tool use was rejected|<tool_use_error>"
    r"|Permission to use|Claude requested permissions|This command requires approval|User rejected)"
)
_SOLID = re.compile(r"[^\s\x00-\x1f\x7f]")
_LONGEST_JSON = 200_000
_LONGEST_TEXT = 20_000
_CALLS = 400


def read_calls(tools: tuple[ToolCall, ...]) -> list[ClassifiedCall]:
    """Understand a turn's calls, in order; of very many, the first and the last."""
    if len(tools) > _CALLS:
        tools = tools[: _CALLS // 2] + tools[-_CALLS // 2 :]
    return [_without_blanks(_read(call)) for call in tools]


def _without_blanks(call: ClassifiedCall) -> ClassifiedCall:
    return replace(call, targets=tuple(target for target in call.targets if _SOLID.search(target)))


def _read(call: ToolCall) -> ClassifiedCall:
    server = _SERVER.match(call.name)
    if server:
        return ClassifiedCall(CallKind.SERVER, (_readable(server.group(1)),), server.group(2), call)
    kind = _BY_NAME.get(call.name.lower().rpartition(".")[2], CallKind.OTHER)
    if kind is CallKind.OTHER:
        return ClassifiedCall(kind, (), "", call)
    patched = _PATCHED.findall(call.input[:_LONGEST_TEXT]) if "*** " in call.input else []
    if patched:
        return ClassifiedCall(CallKind.EDIT, tuple(path for _, path in patched), "", call)
    return _with_arguments(kind, call)


def _with_arguments(kind: CallKind, call: ToolCall) -> ClassifiedCall:
    arguments = _arguments(call.input)
    keys = _KEYS.get(kind, _PATHS)
    if arguments is None:
        return _without_arguments(kind, call, keys)
    target = next((_text(arguments[key]) for key in keys if arguments.get(key)), "")
    details = [_text(arguments[key]) for key in _DETAILS if arguments.get(key) and key not in keys]
    return ClassifiedCall(
        kind, (target[:_LONGEST_TEXT],) if target else (), "\n".join(details), call
    )


def _without_arguments(kind: CallKind, call: ToolCall, keys: tuple[str, ...]) -> ClassifiedCall:
    if kind in {CallKind.EDIT, CallKind.CREATE, CallKind.READ} and not call.input.startswith("{"):
        path, _, change = call.input[:_LONGEST_TEXT].partition(" :: ")
        return ClassifiedCall(kind, (path,) if path else (), change, call)
    cut_json = call.input.startswith("{") and kind is not CallKind.RUN
    target = _first_quoted(call.input, keys) if cut_json else call.input[:_LONGEST_TEXT]
    return ClassifiedCall(kind, (target,) if target else (), "", call)


def _arguments(text: str) -> dict[str, Any] | None:
    if not text.startswith("{") or len(text) > _LONGEST_JSON:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        # The line may have been cut, or it is a shell group and no JSON at all.
        return None
    return found if isinstance(found, dict) else None


def _first_quoted(text: str, keys: tuple[str, ...]) -> str:
    for key in keys:
        found = re.search(rf'"{key}"\s?:\s?"((?:[^"\\]|\\.){{1,4000}})', text[:_LONGEST_TEXT])
        if found:
            return found.group(1)
    return ""


def _text(value: Any) -> str:
    if isinstance(value, list):
        # `["bash", "-lc", "go test"]`: the last word is what was run.
        shell = len(value) > 1 and value[1] in {"-c", "-lc"}
        return str(value[-1]) if shell else " ".join(str(part) for part in value)
    return value if isinstance(value, str) else ""


def _readable(server: str) -> str:
    return server.removeprefix("plugin_").removeprefix("claude_ai_").replace("_", " ").strip()
