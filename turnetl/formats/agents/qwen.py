"""Sessions of Qwen Code: `projects/<slug>/chats/<id>.jsonl`, rows like Claude Code's with parts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects, text_of
from turnetl.formats.kit.times import parse_time
from turnetl.formats.kit.tool_input import error_text
from turnetl.formats.kit.usage import QwenUsage


class QwenRow(msgspec.Struct, rename="camel"):
    """A row. `system_payload` may hold what the user typed, without what was added to it."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    model: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    message: dict[str, Any] = {}
    usage_metadata: dict[str, Any] = {}
    system_payload: dict[str, Any] = {}


_SKIPPED = {
    "chat_compression": SkipReason.COMPACTION,
    "slash_command": SkipReason.LOCAL_COMMAND,
    "custom_title": SkipReason.SUMMARY,
    "file_history_snapshot": SkipReason.SNAPSHOT,
    "rewind": SkipReason.REWIND,
    "notification": SkipReason.NOTIFICATION,
    "background_task_completed": SkipReason.NOTIFICATION,
    "cron": SkipReason.AUTO_PROMPT,
    "goal_state": SkipReason.GOAL,
    "goal_runtime": SkipReason.GOAL,
    "agent_launch_prompt": SkipReason.SUBTASK,
}
_FILES = "--- Content from referenced files ---"
"""Before the content of files that a prompt names."""


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row names a session, and its message has parts."""
    return (
        isinstance(row.get("sessionId"), str)
        and row.get("type") in ("user", "assistant", "tool_result")
        and isinstance(at(row.get("message"), "parts"), list)
    )


def _read(talk: Conversation, row: QwenRow) -> SkipReason | None:
    talk.time = parse_time(row.timestamp)
    talk.describe(row.session_id, row.cwd, row.git_branch, row.version)
    if row.is_sidechain or row.agent_id:
        usage = row.usage_metadata
        return talk.sidechain(
            lambda run: _read_row(run, row), row.agent_id, row.uuid, QwenUsage, usage, row.model
        )
    return _read_row(talk, row)


def _read_row(talk: Conversation, row: QwenRow) -> SkipReason | None:
    talk.describe(model=row.model)
    parts = objects(row.message.get("parts"))
    match row.type:
        case "user":
            return _read_user(talk, row, parts)
        case "assistant":
            reason = _read_answer(talk, parts)
            talk.usage(row.uuid, QwenUsage, row.usage_metadata)
            return reason
        case "tool_result":
            return first_of(_result(talk, at(part, "functionResponse")) for part in parts)
        case _:
            return _SKIPPED.get(str(row.subtype), SkipReason.SYSTEM)


def _read_user(talk: Conversation, row: QwenRow, parts: list[dict[str, Any]]) -> SkipReason | None:
    if (skipped := _SKIPPED.get(str(row.subtype))) is not None:
        return skipped
    if row.subtype == "mid_turn_user_message":
        return talk.steer(_typed(row, parts))
    return talk.prompt(_typed(row, parts), row.uuid)


def _typed(row: QwenRow, parts: list[dict[str, Any]]) -> str:
    """Return what the user typed: Qwen Code adds the content of files, and what hooks say."""
    if typed := text_of(row.system_payload.get("displayText")):
        return typed
    texts = filter(None, (text_of(part.get("text")) for part in parts))
    typed = "\n\n".join(texts).partition(_FILES)[0].strip()
    return typed or ("[image]" if any("inlineData" in part for part in parts) else "")


def _read_answer(talk: Conversation, parts: list[dict[str, Any]]) -> SkipReason | None:
    texts = [part.get("text") for part in parts if part.get("thought") is not True]
    calls = [call for part in parts if (call := at(part, "functionCall"))]
    reasons = [
        talk.answer(*texts),
        *(talk.call(at(call, "name"), at(call, "args"), at(call, "id")) for call in calls),
    ]
    is_reasoning = parts and len(texts) < len(parts) and not any(map(text_of, texts))
    return first_of([SkipReason.REASONING, *reasons] if is_reasoning else reasons)


def _result(talk: Conversation, result: object) -> SkipReason | None:
    response = at(result, "response")
    error = at(response, "error")
    output = error_text(error) if error else at(response, "output") or response
    return talk.result(at(result, "id"), output, is_error=bool(error))


QWEN_CODE = LineReader(QwenRow, (("sessionId", "type", "message"),), _is_row, _read)
