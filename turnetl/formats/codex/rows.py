"""The rows of a Codex rollout, with only the fields that are used.

An item is in the envelope `{timestamp, type, payload}`, or is a line of its own in versions before
September 2025. Types vary. A field of another type counts as missing.
"""

import re
from typing import Any

import msgspec

from turnetl.formats.kit.json_archives import SourceSpan
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_text
from turnetl.formats.kit.tool_input import as_text, compact_json, error_text, format_input
from turnetl.formats.kit.usage import OpenAIUsage
from turnetl.formats.port import RawToolCall


class CodexPart(msgspec.Struct):
    """One part of a message: input_text, output_text, input_image ..."""

    type: str | None = None
    text: str | None = None
    name: str | None = None
    """Of a skill or of what is mentioned."""


class CodexTokenInfo(msgspec.Struct):
    total_token_usage: OpenAIUsage | None = None
    last_token_usage: OpenAIUsage | None = None


class CodexGit(msgspec.Struct):
    branch: str | None = None


class CodexReview(msgspec.Struct):
    overall_explanation: str | None = None
    findings: list[dict[str, Any]] | None = None


class CodexItem(msgspec.Struct):
    """A payload. Each type has only a few of these fields."""

    type: str | None = None
    id: str | None = None
    # Messages.
    role: str | None = None
    content: str | list[str | CodexPart] | None = None
    message: str | None = None
    text: str | None = None
    kind: str | None = None
    images: Any = None
    local_images: Any = None
    internal_chat_message_metadata_passthrough: Any = None
    # Tool calls and results.
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    revised_prompt: str | None = None
    call_id: str | None = None
    output: Any = None
    tools: Any = None
    server: str | None = None
    tool: str | None = None
    invocation: Any = None
    command: Any = None
    changes: Any = None
    query: str | None = None
    path: str | None = None
    prompt: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    content_items: Any = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    success: bool | None = None
    status: Any = None
    result: Any = None
    # Sessions and tasks.
    timestamp: str | None = None
    instructions: Any = None
    cwd: str | None = None
    git: CodexGit | None = None
    cli_version: str | None = None
    model: str | None = None
    source: Any = None
    thread_source: Any = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    new_thread_id: str | None = None
    """Of the subagent that a call started."""
    turn_id: str | None = None
    started_at: Any = None
    completed_at: Any = None
    reason: str | None = None
    error: Any = None
    info: CodexTokenInfo | None = None
    response_id: str | None = None
    usage: OpenAIUsage | None = None
    review_output: CodexReview | None = None
    item: "CodexItem | None" = None


class CodexRow(CodexItem):
    """A line: an envelope, or an item without one."""

    ordinal: int | None = None
    payload: CodexItem | None = None


ROWS = RowDecoder(CodexRow, Envelope(own=(("timestamp", "type", "payload"),)))


class CodexEntry(msgspec.Struct, gc=False):
    """A row with its item, which is its payload or the row itself, and its span."""

    row: CodexRow
    item: CodexItem
    span: SourceSpan


def texts(content: str | list[str | CodexPart] | None) -> list[str]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    parts = (part if isinstance(part, str) else part.text for part in content)
    return [text for text in parts if text]


def has_image(content: str | list[str | CodexPart] | None) -> bool:
    parts = content if isinstance(content, list) else []
    kinds = (part.type or "" for part in parts if isinstance(part, CodexPart))
    return any("image" in kind for kind in kinds)


def mentions(content: str | list[str | CodexPart] | None) -> str:
    """Return the skills and the other things that a message names besides its texts."""
    parts = content if isinstance(content, list) else []
    names = (part.name for part in parts if isinstance(part, CodexPart) and part.name)
    return " ".join(f"${name}" for name in names)


_FUNCTION_CALLS = ("function_call", "custom_tool_call")
_SUBAGENTS = ("spawn_agent",)
_USER_INPUT = "request_user_input"
_MAX_DEPTH = 8
"""Levels of nested answers that are searched."""
_RESULT_KEYS = ("output", "content", "text")
_DECLINED = "declined"
_FAILURES = ("failed", _DECLINED)
_REJECTED = "User rejected the call."
_COMMAND_HEADER = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Exit code: (?P<old>-?\d+)\n)?"
    r"(?:Wall time: [^\n]*\n)(?:Process exited with code (?P<new>-?\d+)\n)?"
    r"(?:Original token count: [^\n]*\n)?(?:Total output lines: [^\n]*\n)?Output:\n"
)
"""The lines that Codex puts before a command's output."""
_FAILED = re.compile(
    r"(?:aborted\b|exec command rejected|patch rejected|rejected by user|command timed out"
    r"|user (?:rejected|cancelled) |this action was rejected|sandbox denied|failed in sandbox"
    r"|apply_patch verification failed|failed to parse |execution error|exec_command failed"
    r"|write_stdin failed|unsupported call|tool call error|err: |error: "
    r"|request_user_input was cancelled)",
    re.IGNORECASE,
)


def is_call(kind: str) -> bool:
    """Return whether a response item is a call. New versions add types of calls."""
    return kind.endswith("_call")


def is_result(kind: str) -> bool:
    return kind.endswith("_output")


def tool_call(item: CodexItem) -> tuple[RawToolCall, int]:
    """Return a call, and the characters of its input as the archive records them."""
    arguments = _input(item)
    encoded = arguments if isinstance(arguments, str) else compact_json(arguments)
    value = decoded_json(arguments)
    name = item.name if item.name is not None else (item.type or "").removesuffix("_call")
    call = RawToolCall(name, _format(value), arguments=value)
    if item.type == "image_generation_call" and item.result:
        call.result = "[image]"
    return call, len(encoded)


def starts_subagent(item: CodexItem) -> bool:
    return item.name in _SUBAGENTS


def started_subagent(item: CodexItem) -> tuple[str | None, object]:
    """Return the prompt and the type of the subagent that a call starts."""
    arguments = decoded_json(item.arguments)
    arguments = arguments if isinstance(arguments, dict) else {}
    prompts = (arguments.get(key) for key in ("message", "prompt"))
    prompt = next((prompt for prompt in prompts if isinstance(prompt, str) and prompt), None)
    return prompt, arguments.get("agent_type")


def started_thread(item: CodexItem) -> str | None:
    """Return the thread of the subagent that a call started, of its result or the event after."""
    output = decoded_json(item.output)
    named = output.get("agent_id") if isinstance(output, dict) else None
    return item.new_thread_id or (named if isinstance(named, str) else None)


def tool_result(item: CodexItem) -> tuple[str, bool]:
    if item.type == "tool_search_output":
        return compact_json(item.tools), False
    return _result(item.output)


def user_answer(call: RawToolCall, item: CodexItem) -> str | None:
    """Return the user's answers to the questions of a call, or None if there are none."""
    output = decoded_json(item.output) if call.name == _USER_INPUT else None
    if not isinstance(output, dict):
        return None
    answers = output.get("answers")
    texts = _nested_texts(answers) if isinstance(answers, dict) else []
    return "; ".join(texts) or None


def complete_result(call: RawToolCall, event: CodexItem) -> None:
    result = event.result if isinstance(event.result, dict) else {}
    value = result.get("Ok", result)
    failed = event.exit_code not in {None, 0} or event.success is False or event.status in _FAILURES
    failed = failed or "Err" in result or (isinstance(value, dict) and value.get("isError") is True)
    call.is_error = call.is_error or failed
    call.result = call.result or event.aggregated_output or _part_text(result.get("Err")) or ""


def complete_item(call: RawToolCall, item: CodexItem) -> None:
    """Complete a call that stands only in an item: its result is that of the item."""
    complete_result(call, item)
    if not call.result:
        outputs = (item.stdout, item.stderr, error_text(item.error), _value_text(item))
        call.result = "\n".join(text.rstrip("\n") for text in outputs if text)
    if item.exit_code not in {None, 0}:
        call.result = _with_exit_code(call.result, item.exit_code or 0)
    call.is_error = call.is_error or bool(error_text(item.error))
    if item.status == _DECLINED:
        call.result = f"{_REJECTED}\n{call.result}".rstrip("\n")


def _value_text(item: CodexItem) -> str:
    value = item.result.get("Ok", item.result) if isinstance(item.result, dict) else item.result
    if value is None:
        value = item.output if item.output is not None else item.content_items
    parts = value.get("content") if isinstance(value, dict) else None
    if not parts and isinstance(value, dict):
        parts = value.get("structuredContent")
    return _joined_text(parts if parts is not None else value)


def _input(item: CodexItem) -> Any:
    if item.type in _FUNCTION_CALLS:
        return item.arguments or item.input
    if item.revised_prompt is not None:
        return item.revised_prompt
    return item.action if item.action is not None else item.arguments


def _format(arguments: Any) -> str:
    """Return a call's input as one text; for a web search its query."""
    if not isinstance(arguments, dict) or "command" in arguments or "cmd" in arguments:
        return format_input(arguments)
    values = (arguments.get(key) for key in ("query", "url"))
    query = next((text for text in values if isinstance(text, str) and text), None)
    return query if query is not None and "type" in arguments else format_input(arguments)


def decoded_json(value: Any) -> Any:
    """Return an object that is encoded as text; other values unchanged."""
    if not isinstance(value, str) or value[:1] != "{":
        return value
    return decode_text(value, value)


def _result(output: Any) -> tuple[str, bool]:
    wrapper = decoded_json(output)
    if not isinstance(wrapper, dict) or not _is_wrapper(wrapper, as_text=isinstance(output, str)):
        return _without_header(_joined_text(output))
    metadata = wrapper.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    result = next((wrapper[key] for key in _RESULT_KEYS if key in wrapper), None)
    text, failed = _without_header(_joined_text(result))
    if isinstance(code, int) and code != 0:
        return _with_exit_code(text, code), True
    return text, failed or wrapper.get("success") is False or not (code is None or code == 0)


def _is_wrapper(output: dict[str, Any], *, as_text: bool) -> bool:
    """Return whether an object only wraps a result. A tool's own result may be an object, too."""
    if as_text:
        return output.keys() == {"output", "metadata"}
    markers = output.keys() & {"metadata", "success", "type"}
    return bool(markers) and any(key in output for key in _RESULT_KEYS)


def _without_header(text: str) -> tuple[str, bool]:
    """Return a command's output without the lines about it, but with a non-zero exit code."""
    header = _COMMAND_HEADER.match(text)
    if header is None:
        return text, _FAILED.match(text) is not None
    code = header["new"] or header["old"]
    if code in {None, "0"}:
        return text[header.end() :], False
    return _with_exit_code(text[header.end() :], code), True


def _with_exit_code(text: str, code: int | str) -> str:
    """Return a failed command's output after its exit code, in the form of other agents."""
    return f"Exit code {code}\n{text}".rstrip("\n")


def _joined_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(text for text in map(_part_text, value) if text)
    return as_text(value)


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'unknown')}]"


def _nested_texts(value: Any, depth: int = _MAX_DEPTH) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for value in nested for text in _nested_texts(value, depth - 1)] if depth else []
