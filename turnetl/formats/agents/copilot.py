"""Sessions of GitHub Copilot CLI: `session-state/<id>/events.jsonl`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.times import parse_time


class CopilotEvent(msgspec.Struct, rename="camel"):
    """An event. `agent_id` is the subagent that it is of."""

    type: str = ""
    timestamp: str | None = None
    id: str | None = None
    agent_id: str | None = None
    data: dict[str, Any] = {}


_KINDS = ("session.start", "session.resume", "user.message", "assistant.message", "tool.execution_")
_SKIPPED = {
    "system.message": SkipReason.SYSTEM,
    "assistant.reasoning": SkipReason.REASONING,
    "session.error": SkipReason.ERROR,
    "session.warning": SkipReason.WARNING,
    "session.info": SkipReason.INFO,
    "session.compaction_start": SkipReason.COMPACTION,
    "session.compaction_complete": SkipReason.COMPACTION,
    "hook.start": SkipReason.HOOK,
    "hook.end": SkipReason.HOOK,
    "skill.invoked": SkipReason.SKILL,
    "tool.execution_start": SkipReason.PROGRESS,
    "tool.execution_partial_result": SkipReason.PROGRESS,
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an event with data, an id and that of its parent."""
    is_event = {"data", "id", "parentId", "timestamp"} <= row.keys()
    return is_event and str(row.get("type")).startswith(_KINDS)


def _read(talk: Conversation, event: CopilotEvent) -> SkipReason | None:
    talk.time = parse_time(event.timestamp)
    if event.agent_id or event.data.get("parentToolCallId"):
        agent = event.agent_id or event.data.get("parentToolCallId")
        return talk.sidechain(lambda run: _read_event(run, event), agent)
    return _read_event(talk, event)


def _read_event(talk: Conversation, event: CopilotEvent) -> SkipReason | None:
    match event.type:
        case "session.start" | "session.resume" | "session.context_changed":
            return _read_session(talk, event.data)
        case "session.model_change":
            return talk.describe(model=event.data.get("newModel"))
        case "user.message" | "assistant.message":
            return _read_message(talk, event, event.data)
        case "tool.execution_complete":
            return _read_result(talk, event.data)
        case kind:
            return talk.interrupt() if kind == "abort" else _SKIPPED.get(kind, SkipReason.EVENT)


def _read_session(talk: Conversation, data: dict[str, Any]) -> SkipReason:
    context = data.get("context", data)
    talk.describe(data.get("sessionId"), at(context, "cwd"), at(context, "branch"))
    return talk.describe(version=data.get("copilotVersion"), model=data.get("selectedModel"))


def _read_message(
    talk: Conversation, event: CopilotEvent, data: dict[str, Any]
) -> SkipReason | None:
    if event.type == "assistant.message":
        calls = [
            talk.call(call.get("name"), call.get("arguments"), call.get("toolCallId"))
            for call in objects(data.get("toolRequests"))
        ]
        return first_of([talk.answer(data.get("content")), *calls])
    # A skill, for example, writes messages of the user that the user does not see.
    if data.get("source") not in (None, "", "user"):
        return SkipReason.SYNTHETIC
    return talk.prompt(data.get("content") or _attached(data), event.id)


def _attached(data: dict[str, Any]) -> str:
    """Return what stands for a prompt without a text."""
    attachments = objects(data.get("attachments"))
    return " ".join(f"[{one.get('displayName') or one.get('type')}]" for one in attachments)


def _read_result(talk: Conversation, data: dict[str, Any]) -> SkipReason | None:
    talk.describe(model=data.get("model"))
    result, error = data.get("result"), data.get("error")
    failed = data.get("success") is False or at(result, "result_type") == "failure"
    texts = (at(result, "content"), at(result, "text_result_for_llm"), at(error, "message"))
    output = next((text for text in texts if text), error or result)
    return talk.result(data.get("toolCallId"), output, is_error=failed)


COPILOT_CLI = LineReader(CopilotEvent, (("type", "data", "timestamp"),), _is_row, _read)
