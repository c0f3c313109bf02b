"""What came of a tool's call, as Gemini CLI records it."""

from typing import Any

from turnetl.formats.gemini.rows import Content, Response, ToolCall, parts_of
from turnetl.formats.kit.tool_input import compact_json

FAILED = ("error", "cancelled")


def outcome_of(call: ToolCall) -> tuple[str, bool]:
    """Return what came of a call, and whether it failed."""
    parts = parts_of(call.result)
    responses = [part.function_response for part in parts if part.function_response is not None]
    answered = [response_text(response) for response in responses]
    beside = [part.text for part in parts if part.text]
    text = "\n".join([text for text, _ in answered] + beside)
    failed = call.status in FAILED or any(failed for _, failed in answered)
    return text or _shown(call.result_display), failed


def responses_in(content: Content) -> list[Response]:
    """Return the outcomes that a message of the client carries back to the model."""
    return [part.function_response for part in parts_of(content) if part.function_response]


def response_text(response: Response) -> tuple[str, bool]:
    """Return what a tool answered, and whether it says that it failed."""
    given = response.response
    if isinstance(given, dict) and given.get("error"):
        return _text(given["error"]), True
    if isinstance(given, dict) and "output" in given:
        return _text(given["output"]), False
    return _text(given), False


def _shown(display: Any) -> str:
    """Return what the person was shown, be it a text or a change to a file."""
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return str(display["fileDiff"])
    return _text(display)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)
