"""The text that a user wrote in a row, and whether a user wrote the row at all."""

from turnetl.formats.claude import machine_text
from turnetl.formats.claude.rows import ClaudeAttachment, ClaudeBlock, ClaudeRow, MessageOrigin

_QUEUED = "queued_command"
_TYPED = (None, "prompt")
_BY_USER = (None, "human", "sdk")
_PLACEHOLDERS = ("image", "document")


def text_of(blocks: list[ClaudeBlock]) -> str:
    """Return a message's text, or a placeholder if it has only an image or a document, or "".

    What the user typed may follow notifications; only a text without any is one of these.
    """
    texts = (machine_text.without_context(block.text) for block in blocks if block.text)
    text = "\n\n".join(text for text in texts if text.strip()).strip()
    text = machine_text.without_notifications(text)
    return text or next((f"[{block.type}]" for block in blocks if block.type in _PLACEHOLDERS), "")


def is_by_machine(row: ClaudeRow) -> bool:
    """Return whether the row says that no user wrote it."""
    return _is_machine(row.origin) or row.turn_origin not in _BY_USER


def is_typed(attachment: ClaudeAttachment) -> bool:
    """Return whether an attachment holds text that the user typed while the agent worked."""
    typed = attachment.type == _QUEUED and attachment.command_mode in _TYPED
    return typed and not attachment.is_meta and not _is_machine(attachment.origin)


def _is_machine(origin: MessageOrigin | None) -> bool:
    return origin is not None and origin.kind not in (None, "human")
