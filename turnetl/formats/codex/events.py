"""The handlers of Codex's events."""

from collections.abc import Callable

from turnetl.formats.base import SourceSpan
from turnetl.formats.codex import authorship
from turnetl.formats.codex.assistant_text import TextSource
from turnetl.formats.codex.conversation import CodexConversation
from turnetl.formats.codex.rows import CodexItem, CodexRow, has_image, texts
from turnetl.formats.codex.sessions import parse_epoch
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

Handler = Callable[[CodexConversation, CodexRow, CodexItem, SourceSpan], SkipReason | None]


def handle_user_message(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    """Open a turn at a prompt; skip text that the client wrote."""
    text = event.message or ""
    if reason := authorship.skip_reason(text, event.kind):
        return reason
    image = bool(event.images or event.local_images)
    return conversation.open_turn(row, text, span, has_image=image)


def handle_user_item(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    """Open a turn at a prompt in the form of the newest versions."""
    content = event.item.content if event.item is not None else None
    text = "\n\n".join(texts(content))
    if reason := authorship.skip_reason(text):
        return reason
    image, turn_id = has_image(content), event.turn_id
    return conversation.open_turn(row, text, span, has_image=image, turn_id=turn_id)


def _agent_message(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    return conversation.add_text(row, event.message or "", TextSource.EVENT, span)


def _item_completed(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    item = event.item or CodexItem()
    if item.type == "AgentMessage":
        text = "\n\n".join(texts(item.content))
        return conversation.add_text(row, text, TextSource.EVENT, span)
    if item.type == "Plan" and item.text:
        return conversation.add_supplement(row, item.text, span)
    return conversation.complete_call(row, item, span)


def _review_ended(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    review = event.review_output
    findings = [] if review is None else review.findings or []
    explanation = "" if review is None else review.overall_explanation or ""
    parts = [explanation, *(str(each.get("body") or each.get("title") or "") for each in findings)]
    reasons = [conversation.add_supplement(row, part, span) for part in parts if part.strip()]
    return reasons[0] if reasons else SkipReason.EVENT


def _task_started(
    conversation: CodexConversation, _row: CodexRow, event: CodexItem, _span: SourceSpan
) -> SkipReason | None:
    conversation.task.start(event.turn_id)
    if conversation.has_new_turn:
        conversation.identify(conversation.task.turn_id)
    return SkipReason.TASK


def _task_ended(
    conversation: CodexConversation, row: CodexRow, event: CodexItem, span: SourceSpan
) -> SkipReason | None:
    conversation.task.end()
    turn = conversation.turn
    if turn is None:
        return SkipReason.PREAMBLE
    aborted = event.type == "turn_aborted" and event.reason != "review_ended"
    failed = aborted or event.error is not None
    turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
    conversation.extend(row, span)
    turn.ended_at = conversation.time(row) or parse_epoch(event.completed_at) or turn.ended_at
    return None


def _token_count(
    conversation: CodexConversation, _row: CodexRow, event: CodexItem, _span: SourceSpan
) -> SkipReason | None:
    """Add the usage of a request once: the event is repeated whenever the rate limits change."""
    last = event.info.last_token_usage if event.info is not None else None
    total = event.info.total_token_usage if event.info is not None else None
    if last is None or conversation.is_known_total(total):
        return SkipReason.TOKEN_USAGE
    return conversation.add_usage(None, last)


EVENTS: dict[str, Handler] = {
    "user_message": handle_user_message,
    "agent_message": _agent_message,
    "item_completed": _item_completed,
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
