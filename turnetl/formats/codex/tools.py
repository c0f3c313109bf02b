"""Calls of tools in Codex and what came of them, in the many ways that versions write them."""

import re
from typing import Any

import msgspec

from turnetl.formats.base import RawToolCall
from turnetl.formats.codex.rows import Item
from turnetl.formats.kit.tool_input import compact_json, format_input

_NAMED = ("function_call", "custom_tool_call")
_SUBAGENTS = ("spawn_agent",)
_ASKING = "request_user_input"
_DEEP = 8
"""Levels of answers that are looked through."""
_INSIDE = ("output", "content", "text")
_BADLY = ("failed", "declined")
_RAN = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Exit code: (?P<old>-?\d+)\n)?"
    r"(?:Wall time: [^\n]*\n)(?:Process exited with code (?P<new>-?\d+)\n)?"
    r"(?:Original token count: [^\n]*\n)?(?:Total output lines: [^\n]*\n)?Output:\n"
)
"""The lines that Codex puts before what a command wrote."""
_FAILED = re.compile(
    r"(?:aborted\b|exec command rejected|patch rejected|rejected by user|command timed out"
    r"|user (?:rejected|cancelled) |this action was rejected|sandbox denied|failed in sandbox"
    r"|apply_patch verification failed|failed to parse |execution error|exec_command failed"
    r"|write_stdin failed|unsupported call|tool call error|err: |error: "
    r"|request_user_input was cancelled)",
    re.IGNORECASE,
)

_object = msgspec.json.Decoder(dict[str, Any]).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)


def is_call(kind: str) -> bool:
    """Say whether a response item is a call; new kinds of calls come with new versions."""
    return kind.endswith("_call")


def is_outcome(kind: str) -> bool:
    return kind.endswith("_output")


def use(item: Item) -> tuple[RawToolCall, int]:
    """Return a call, and the characters of its input as the archive has them."""
    given = _given(item)
    size = len(given) if isinstance(given, str) else len(compact_json(given))
    tool = RawToolCall(_name(item), _line(given))
    if item.type == "image_generation_call" and item.result:
        tool.result = "[image]"
    return tool, size


def subagent(item: Item) -> str | None:
    """Return the prompt that a call gives to a subagent."""
    arguments = _decoded(item.arguments)
    if item.name not in _SUBAGENTS or not isinstance(arguments, dict):
        return None
    found = (arguments.get(key) for key in ("message", "prompt"))
    return next((prompt for prompt in found if isinstance(prompt, str) and prompt), None)


def outcome(item: Item) -> tuple[str, bool]:
    """Return what came of a call, and whether it failed."""
    if item.type == "tool_search_output":
        return compact_json(item.tools), False
    return _outcome(item.output)


def answer(tool: RawToolCall, item: Item) -> str | None:
    """Return what a person answered to the questions that a call put."""
    replied = _decoded(item.output)
    if tool.name != _ASKING or not isinstance(replied, dict):
        return None
    answers = replied.get("answers")
    said = list(_leaves(answers)) if isinstance(answers, dict) else []
    return "; ".join(said) or None


def ended(tool: RawToolCall, event: Item) -> None:
    """Complete a call by the event that tells of its end."""
    result = event.result if isinstance(event.result, dict) else {}
    done = result.get("Ok", result)
    failed = event.exit_code not in {None, 0} or event.success is False or event.status in _BADLY
    failed = failed or "Err" in result or (isinstance(done, dict) and done.get("isError") is True)
    tool.is_error = tool.is_error or failed
    tool.result = tool.result or event.aggregated_output or _text(result.get("Err")) or ""


def _given(item: Item) -> Any:
    if item.type in _NAMED:
        return item.arguments or item.input
    if item.revised_prompt is not None:
        return item.revised_prompt
    return item.action if item.action is not None else item.arguments


def _name(item: Item) -> str:
    if item.name is not None:
        return item.name
    return (item.type or "").removesuffix("_call")


def _line(given: Any) -> str:
    """Return the call in one line; a search of the web as what was asked for."""
    arguments = _decoded(given)
    if not isinstance(arguments, dict) or "command" in arguments or "cmd" in arguments:
        return format_input(arguments)
    found = (arguments.get(key) for key in ("query", "url"))
    asked = next((text for text in found if isinstance(text, str) and text), None)
    return asked if asked is not None and "type" in arguments else format_input(arguments)


def _decoded(given: Any) -> Any:
    """Return an object that stands as a text; other values as they are."""
    if not isinstance(given, str) or given[:1] != "{":
        return given
    try:
        return _object(given)
    except _UNREADABLE:
        return given


def _outcome(output: Any) -> tuple[str, bool]:
    found = _decoded(output)
    if not isinstance(found, dict) or not _wraps(found, as_text=isinstance(output, str)):
        return _plain(_flat(output))
    metadata = found.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    text, failed = _plain(_flat(next((found[key] for key in _INSIDE if key in found), None)))
    if isinstance(code, int) and code != 0:
        return _ended(text, code), True
    return text, failed or found.get("success") is False or not (code is None or code == 0)


def _wraps(output: dict[str, Any], *, as_text: bool) -> bool:
    """Say whether an object only stands around an outcome; a tool may give an object as well."""
    if as_text:
        return output.keys() == {"output", "metadata"}
    signs = output.keys() & {"metadata", "success", "type"}
    return bool(signs) and any(key in output for key in _INSIDE)


def _plain(text: str) -> tuple[str, bool]:
    """Return what the command wrote, without the lines about it but for how it failed."""
    ran = _RAN.match(text)
    if ran is None:
        return text, _FAILED.match(text) is not None
    code = ran["new"] or ran["old"]
    if code in {None, "0"}:
        return text[ran.end() :], False
    return _ended(text[ran.end() :], code), True


def _ended(text: str, code: int | str) -> str:
    """Return what a command wrote that failed, and how, as other agents write it."""
    return f"Exit code {code}\n{text}".rstrip("\n")


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(text for text in map(_text, value) if text)
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)


def _text(piece: Any) -> str | None:
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, dict):
        return None
    text = piece.get("text")
    return text if isinstance(text, str) else f"[{piece.get('type', 'unknown')}]"


def _leaves(value: Any, depth: int = _DEEP) -> list[str]:
    """Return the texts in a value, in order."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _leaves(one, depth - 1)] if depth else []
