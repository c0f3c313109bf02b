"""The rows of a Codex rollout: only the fields that are used.

An item stands in the envelope `{timestamp, type, payload}`, or bare on its line as the versions
before September 2025 wrote it. Types vary; a field of another type than these counts as missing.
"""

from typing import Annotated, Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder

_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Part(msgspec.Struct):
    """One piece of a message: input_text, output_text, input_image ..."""

    type: str | None = None
    text: str | None = None


class Usage(msgspec.Struct):
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None


class Info(msgspec.Struct):
    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class Git(msgspec.Struct):
    branch: str | None = None


class Review(msgspec.Struct):
    overall_explanation: str | None = None
    findings: list[dict[str, Any]] | None = None


class Item(msgspec.Struct):
    """A payload. Each kind fills only a few of these."""

    type: str | None = None
    id: str | None = None
    # What was said, and by whom.
    role: str | None = None
    content: str | list[str | Part] | None = None
    message: str | None = None
    text: str | None = None
    kind: str | None = None
    images: Any = None
    local_images: Any = None
    # Calls and what came of them.
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    revised_prompt: str | None = None
    call_id: str | None = None
    output: Any = None
    tools: Any = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    success: bool | None = None
    status: Any = None
    result: Any = None
    # The session and its tasks.
    timestamp: str | None = None
    instructions: Any = None
    cwd: str | None = None
    git: Git | None = None
    cli_version: str | None = None
    model: str | None = None
    source: Any = None
    thread_source: Any = None
    forked_from_id: str | None = None
    turn_id: str | None = None
    started_at: Any = None
    completed_at: Any = None
    reason: str | None = None
    error: Any = None
    info: Info | None = None
    response_id: str | None = None
    usage: Usage | None = None
    review_output: Review | None = None
    item: "Item | None" = None


class Row(Item):
    """A line: an envelope, or a bare item."""

    payload: Item | None = None
    record_type: str | None = None


ROWS = RowDecoder(Row)


def texts(content: str | list[str | Part] | None) -> list[str]:
    """Return the texts of a message, in order."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    pieces = (piece if isinstance(piece, str) else piece.text for piece in content)
    return [text for text in pieces if text]


def shows_image(content: str | list[str | Part] | None) -> bool:
    """Say whether a message holds an image."""
    parts = content if isinstance(content, list) else []
    kinds = (part.type or "" for part in parts if isinstance(part, Part))
    return any("image" in kind for kind in kinds)
