"""The results of tool calls, as Gemini CLI records them."""

from typing import Any

from turnetl.formats.gemini.rows import Content, GeminiFunctionResponse, GeminiToolCall, parts_of
from turnetl.formats.kit.tool_input import compact_json

FAILED = ("error", "cancelled")


def result_of(call: GeminiToolCall) -> tuple[str, bool]:
    """Return the result of a call, and whether the call failed."""
    parts = parts_of(call.result)
    results = [response_result(response) for response in responses_in(call.result)]
    other_texts = [part.text for part in parts if part.text]
    text = "\n".join([text for text, _ in results] + other_texts)
    failed = call.status in FAILED or any(failed for _, failed in results)
    return text or _displayed(call.result_display), failed


def responses_in(content: Content) -> list[GeminiFunctionResponse]:
    """Return the tool results in a message that the client sends to the model."""
    return [part.function_response for part in parts_of(content) if part.function_response]


def response_result(response: GeminiFunctionResponse) -> tuple[str, bool]:
    """Return a tool's result, and whether it is an error."""
    value = response.response
    if isinstance(value, dict) and value.get("error"):
        return text_of(value["error"]), True
    if isinstance(value, dict) and "output" in value:
        return text_of(value["output"]), False
    return text_of(value), False


def text_of(value: Any) -> str:
    """Return a text unchanged, and other values as compact JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)


def _displayed(display: Any) -> str:
    """Return the result that the user was shown: a text or a change to a file."""
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return str(display["fileDiff"])
    return text_of(display)
