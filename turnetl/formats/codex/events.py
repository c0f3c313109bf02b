"""The handlers of Codex's events."""

from collections.abc import Callable

from turnetl.base.model import ClosedBy
from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.codex import authorship
from turnetl.formats.codex.conversation import CodexConversation
from turnetl.formats.codex.rows import CodexEntry, CodexItem, has_image, mentions, texts
from turnetl.formats.codex.sessions import parse_epoch

Handler = Callable[[CodexConversation, CodexEntry], SkipReason | None]


def _user_message(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    """Open a turn at a prompt; skip text that the client wrote."""
    event = entry.item
    text = event.message or ""
    if reason := authorship.skip_reason(text, event.kind):
        return reason
    image = bool(event.images or event.local_images)
    return conversation.add_prompt(entry, "event", text, has_image=image, turn_id=event.turn_id)


def _user_item(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    """Open a turn at a prompt in the form of the newest versions."""
    event, item = entry.item, entry.item.item or CodexItem()
    text = "\n\n".join(texts(item.content)) or mentions(item.content)
    if reason := authorship.skip_reason(text):
        return reason
    image = has_image(item.content)
    return conversation.add_prompt(entry, "item", text, has_image=image, turn_id=event.turn_id)


def _agent_message(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    return conversation.add_text(entry, entry.item.message or "", "event")


def _item_completed(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    item = entry.item.item or CodexItem()
    match item.type:
        case "UserMessage":
            return _user_item(conversation, entry)
        case "AgentMessage":
            return conversation.add_text(entry, "\n\n".join(texts(item.content)), "completed")
        case "Plan" if item.text:
            return conversation.add_supplement(entry, item.text)
        case "Reasoning":
            return SkipReason.REASONING
        case "ContextCompaction":
            return SkipReason.COMPACTION
    return conversation.complete_call(CodexEntry(entry.row, item, entry.span), is_item=True)


def _review_started(conversation: CodexConversation, _: CodexEntry) -> SkipReason | None:
    conversation.task.in_review = True
    return SkipReason.EVENT


def _review_ended(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.task.in_review = False
    review = entry.item.review_output
    findings = [] if review is None else review.findings or []
    explanation = "" if review is None else review.overall_explanation or ""
    parts = [explanation, *(str(item.get("body") or item.get("title") or "") for item in findings)]
    reasons = [conversation.add_supplement(entry, part) for part in parts if part.strip()]
    return reasons[0] if reasons else SkipReason.EVENT


def _task_started(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.start_task(entry.item.turn_id)
    return SkipReason.TASK


def _task_ended(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    conversation.end_task()
    turn, event = conversation.turn, entry.item
    if turn is None:
        return SkipReason.PREAMBLE
    aborted = event.type == "turn_aborted" and event.reason != "review_ended"
    failed = aborted or event.error is not None
    turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
    conversation.extend(entry)
    completed = parse_epoch(event.completed_at)
    turn.ended_at = conversation.time(entry.row) or completed or turn.ended_at
    return None


def _token_count(conversation: CodexConversation, entry: CodexEntry) -> SkipReason | None:
    return conversation.add_usage(entry)


EVENTS: dict[str, Handler] = {
    "user_message": _user_message,
    "agent_message": _agent_message,
    "item_completed": _item_completed,
    "entered_review_mode": _review_started,
    "exited_review_mode": _review_ended,
    "task_started": _task_started,
    "turn_started": _task_started,
    "task_complete": _task_ended,
    "turn_complete": _task_ended,
    "turn_aborted": _task_ended,
    "exec_command_end": CodexConversation.complete_call,
    "mcp_tool_call_end": CodexConversation.complete_call,
    "patch_apply_end": CodexConversation.complete_call,
    "token_count": _token_count,
}
_NO_RESPONSES = frozenset({"user_message", "task_started", "turn_started", "token_count"})
"""The events above that do not show that the agent responded to the prompt before them."""


def is_response(event: CodexItem) -> bool:
    """Return whether an event shows that the agent responded to the prompt before it."""
    if event.type == "item_completed":
        return event.item is not None and event.item.type != "UserMessage"
    return event.type in EVENTS and event.type not in _NO_RESPONSES
