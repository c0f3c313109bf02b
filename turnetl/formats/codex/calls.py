"""The tool calls of a rollout, each once, although Codex may write one in several rows.

A call of the model is a response item; another item holds its result, and a completed item or an
event its end. In code mode the model calls one tool, `exec`, with a script that calls the others.
Completed items show what these did, under other ids, and the script's output repeats what it
printed of their results. Other clients write completed items only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from turnetl.formats.codex import rows
from turnetl.formats.codex.rows import CodexItem
from turnetl.formats.kit.row_decoder import decode_text
from turnetl.formats.kit.tool_input import added_lines, format_input
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.port import RawToolCall, RawTurn

_SCRIPT_TOOL = "exec"
_WAIT_TOOL = "wait"
"""Its output is the rest of that of a script that still runs."""
_SCRIPT_NAME = "exec_script"
"""The name of a script beside the calls that it made: its text is no command and no patch."""
_STATE = re.compile(
    r"\s*Script (?P<state>completed|failed|errored|running|terminated)\b[^\n]*(?:\n|$)"
    r"(?:Wall time[^\n]*(?:\n|$))?(?:Output:)?\s*"
)
"""The lines that Codex puts before a script's output."""
_RUNNING = "running"
_FAILURES = {"failed", "errored", "terminated"}
_NO_NEWS = re.compile(
    r"Success\b.*|[AMD] \S+|\W*\d+ \w+ truncated\W*|Exit code:? \d+|null|undefined|\W*"
)
"""A line of a script's output that says nothing beside the results of its calls."""
_OBJECT = re.compile(r"^\{(?:.*\}$|\n(?:[ \t].*\n)*\}$)", re.MULTILINE)
"""A JSON object on one line, or one with its keys indented."""
_RECENT = 100
"""Calls among which that of an item is."""


@dataclass(slots=True)
class _Script:
    """A call of `exec`, or one that waits for its script, and the calls that the script made."""

    call: RawToolCall
    turn: RawTurn
    input_chars: int
    calls: list[RawToolCall] = field(default_factory=list)

    def end(self, text: str, *, failed: bool) -> bool:
        """Read the script's output; return whether the script says more than its calls do."""
        state = _STATE.match(text)
        text = text[state.end() :] if state is not None else text
        failed = failed or (state is not None and state["state"] in _FAILURES)
        call = self.call
        if not self.calls:
            # What a script does that still runs is in items to come.
            is_running = state is not None and state["state"] == _RUNNING
            call.name = _SCRIPT_NAME if is_running else call.name
            call.result, call.is_error = text, call.is_error or failed
            return True
        text = _without_results(text, self.calls)
        if len(self.calls) == 1 and not self.calls[0].result and not failed:
            self.calls[0].result, text = text, ""
        call.name = _SCRIPT_NAME if call.name == _SCRIPT_TOOL else call.name
        call.result, call.is_error = text, failed
        return failed or bool(text)


@dataclass(slots=True)
class CodexCalls:
    """Adds calls to turns and completes them."""

    builder: TurnBuilder
    _items: dict[str, RawToolCall] = field(default_factory=dict)
    """Calls of the current turn that an item is about, by the item's id."""
    _unclaimed: list[RawToolCall] = field(default_factory=list)
    """Those among them that the model's own row may follow."""
    _scripts: dict[str, _Script] = field(default_factory=dict)
    """Scripts that run, by the id of their call."""
    _last_item: tuple[int, RawToolCall] | None = None
    """The call that an item added last, and the item's line."""

    def add(self, turn: RawTurn, item: CodexItem) -> None:
        """Add a call of the model, unless an item about it precedes it."""
        call, size = rows.tool_call(item)
        key = item.call_id or item.id
        for place, known in enumerate(self._unclaimed):
            if same_action(call, known):
                del self._unclaimed[place]
                if key is not None:
                    self.builder.calls[key] = known
                return
        self.builder.add_call(turn, call, size, key)
        if rows.starts_subagent(item):
            prompt, kind = rows.started_subagent(item)
            self.builder.add_start(turn, prompt, key, kind)
        if item.type == "custom_tool_call" and call.name == _SCRIPT_TOOL:
            self._scripts[key or ""] = _Script(call, turn, size)
        elif call.name == _WAIT_TOOL and self._items:
            self._scripts[key or ""] = _Script(call, turn, size, [*self._items.values()])

    def add_result(self, turn: RawTurn | None, item: CodexItem, time: datetime | None) -> None:
        """Add a result to its call, and the user's answers in it to the turn."""
        call = self._call(item)
        if call is None:
            return
        text, failed = rows.tool_result(item)
        call.ended_at = time
        if item.call_id in self.builder.starts:
            self.builder.link(turn, item.call_id, rows.started_thread(item))
        script = self._scripts.pop(item.call_id or "", None)
        if script is not None:
            self._end_script(script, text, failed=failed)
            return
        call.result = text
        call.is_error = call.is_error or failed
        self.builder.add_answer(turn, rows.user_answer(call, item))

    def complete(self, item: CodexItem) -> bool:
        """Complete the call that an event or an item names; return whether there is one."""
        call = self._call(item)
        if call is not None:
            rows.complete_result(call, item)
        return call is not None

    @property
    def in_script(self) -> bool:
        """Whether a script runs: then events may be about calls that no other row has."""
        return bool(self._scripts)

    def add_item(self, turn: RawTurn, item: CodexItem, line: int, time: datetime | None) -> bool:
        """Add the call that an item is about, unless the turn has it.

        Returns whether it is about a call, and does not repeat the item before it.
        """
        read = _READERS.get(item.type or "")
        new = read(item) if read is not None else None
        if new is None:
            return False
        key = item.id or item.call_id or f"line {line}"
        known = self._items.get(key) or self._own_call(turn, new)
        if known is not None:
            self._items[key] = known
            (rows.complete_result if known.result else rows.complete_item)(known, item)
            return True
        rows.complete_item(new, item)
        if self._last_item == (line - 1, new):
            return False
        self._last_item = line, msgspec.structs.replace(new)
        new.ended_at = time
        self.builder.add_call(turn, new, len(new.input))
        if (item.tool or "").startswith("spawn"):
            self.builder.add_start(turn, item.prompt, key)
        self._items[key] = new
        if not self._scripts:
            self._unclaimed.append(new)
        for script in self._scripts.values():
            script.calls.append(new)
        return True

    def begin_turn(self) -> None:
        """Forget what concerns a turn only. A script may still run, if the prompt steers it."""
        self._items.clear()
        self._unclaimed.clear()

    def end_task(self) -> None:
        """End the scripts whose output is missing."""
        for script in self._scripts.values():
            if script.calls:
                self._end_script(script, "", failed=False)
        self._scripts.clear()

    def _call(self, item: CodexItem) -> RawToolCall | None:
        return self.builder.calls.get(item.call_id or item.id or "")

    def _own_call(self, turn: RawTurn, new: RawToolCall) -> RawToolCall | None:
        """Return the model's call that an item is about, if no item was about it yet."""
        known = {id(call) for call in self._items.values()}
        calls = (call for call in turn.tool_calls[-_RECENT:] if id(call) not in known)
        return next((call for call in calls if same_action(call, new)), None)

    def _end_script(self, script: _Script, text: str, *, failed: bool) -> None:
        """Read a script's output, and drop the call of the script if its calls say it all."""
        if script.end(text, failed=failed):
            return
        calls = script.turn.tool_calls
        place = next((at for at, call in enumerate(calls) if call is script.call), None)
        if place is not None:
            del calls[place]
            script.turn.input_chars -= script.input_chars
            self.builder.counts.tool_calls -= 1


def _without_results(text: str, calls: list[RawToolCall]) -> str:
    """Return the lines of a script's output that are in no result of its calls."""
    known = {line.strip() for call in calls for line in call.result.split("\n")}
    text = _OBJECT.sub(_printed, text)
    lines = text.split("\n")
    new = [line for line in lines if line.strip() not in known and not _NO_NEWS.fullmatch(line)]
    return "\n".join(new).strip()


def _printed(printed: re.Match[str]) -> str:
    """Return the output in the JSON of a command's result, as a script prints it."""
    value = decode_text(printed[0], None)
    output = value.get("output", value.get("stdout")) if isinstance(value, dict) else None
    return output if isinstance(output, str) else printed[0]


_SHELLS = frozenset(
    {"exec_command", "shell", "local_shell", "shell_command", "container.exec", "unified_exec"}
)
_EDITS = {"add": "Add", "create": "Add", "delete": "Delete", "remove": "Delete"}
_NOT_WORD = re.compile(r"[^\w.-]+")


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
    return _call("__".join(["mcp", *words]), rows.decoded_json(arguments))


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
    return _call(name, rows.decoded_json(arguments) if arguments is not None else {})


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
    "DynamicToolCall": lambda item: (
        _call(item.tool, rows.decoded_json(item.arguments)) if item.tool else None
    ),
    "CollabAgentToolCall": lambda item: (
        _call(item.tool, {"message": item.prompt}) if item.tool else None
    ),
    "Extension": _extension,
}
