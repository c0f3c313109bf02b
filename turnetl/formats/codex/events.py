"""What Codex's events say of a turn."""

from collections.abc import Callable

from turnetl.formats.base import SourceSpan
from turnetl.formats.codex import authorship
from turnetl.formats.codex.assistant_text import EVENT
from turnetl.formats.codex.conversation import Conversation
from turnetl.formats.codex.rows import Item, Row, shows_image, texts
from turnetl.formats.codex.sessions import instant
from turnetl.model import ClosedBy
from turnetl.skip_reasons import SkipReason

Taker = Callable[[Conversation, Row, Item, SourceSpan], SkipReason | None]


def user_message(talk: Conversation, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
    """Take a prompt; what the program itself said is none."""
    text = event.message or ""
    if reason := authorship.machine(text, event.kind):
        return reason
    return talk.prompt(row, text, place, image=bool(event.images or event.local_images))


def user_item(talk: Conversation, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
    """Take a prompt as the newest versions write it."""
    content = event.item.content if event.item is not None else None
    text = "\n\n".join(texts(content))
    if reason := authorship.machine(text):
        return reason
    return talk.prompt(row, text, place, image=shows_image(content), turn_id=event.turn_id)


def _agent_message(
    talk: Conversation, row: Row, event: Item, place: SourceSpan
) -> SkipReason | None:
    return talk.answer(row, event.message or "", EVENT, place)


def _item_completed(
    talk: Conversation, row: Row, event: Item, place: SourceSpan
) -> SkipReason | None:
    item = event.item or Item()
    if item.type == "AgentMessage":
        return talk.answer(row, "\n\n".join(texts(item.content)), EVENT, place)
    if item.type == "Plan" and item.text:
        return talk.beside(row, item.text, place)
    return talk.call_ended(row, item, place)


def _reviewed(talk: Conversation, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
    review = event.review_output
    found = [] if review is None else review.findings or []
    explained = "" if review is None else review.overall_explanation or ""
    parts = [explained, *(str(one.get("body") or one.get("title") or "") for one in found)]
    taken = [talk.beside(row, part, place) for part in parts if part.strip()]
    return taken[0] if taken else SkipReason.EVENT


def _began(talk: Conversation, _row: Row, event: Item, _place: SourceSpan) -> SkipReason | None:
    talk.task.begin(event.turn_id)
    if talk.fresh is not None:
        talk.name(talk.task.turn_id)
    return SkipReason.TASK


def _ended(talk: Conversation, row: Row, event: Item, place: SourceSpan) -> SkipReason | None:
    talk.task.end()
    turn = talk.turn
    if turn is None:
        return SkipReason.PREAMBLE
    aborted = event.type == "turn_aborted" and event.reason != "review_ended"
    failed = aborted or event.error is not None
    turn.closed_by = ClosedBy.INTERRUPTED if failed else ClosedBy.SESSION_END
    talk.touch(row, place)
    turn.ended_at = talk.time(row) or instant(event.completed_at) or turn.ended_at
    return None


def _tokens(talk: Conversation, _row: Row, event: Item, _place: SourceSpan) -> SkipReason | None:
    """Count a request once: its report comes again whenever the limits change."""
    last = event.info.last_token_usage if event.info is not None else None
    total = event.info.total_token_usage if event.info is not None else None
    if last is None or talk.billed_already(total):
        return SkipReason.TOKEN_USAGE
    return talk.bill(None, last)


EVENTS: dict[str, Taker] = {
    "user_message": user_message,
    "agent_message": _agent_message,
    "item_completed": _item_completed,
    "exited_review_mode": _reviewed,
    "task_started": _began,
    "turn_started": _began,
    "task_complete": _ended,
    "turn_complete": _ended,
    "turn_aborted": _ended,
    "exec_command_end": Conversation.call_ended,
    "mcp_tool_call_end": Conversation.call_ended,
    "patch_apply_end": Conversation.call_ended,
    "token_count": _tokens,
}
