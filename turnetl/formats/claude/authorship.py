"""What a person said in a row, and whether it was a person."""

from turnetl.formats.claude import machine_text
from turnetl.formats.claude.rows import Attachment, Block, Origin, Row

_QUEUED = "queued_command"
_TYPED = (None, "prompt")
_BY_PERSON = (None, "human", "sdk")
_SHOWN = ("image", "document")


def text_of(blocks: list[Block]) -> str:
    """Return the words of a message, a note if it only shows something, or nothing."""
    texts = (machine_text.without_context(block.text) for block in blocks if block.text)
    text = "\n\n".join(text for text in texts if text.strip()).strip()
    return text or next((f"[{one.type}]" for one in blocks if one.type in _SHOWN), "")


def is_by_machine(row: Row) -> bool:
    """Say whether a row comes from something else than a person, as far as it is said."""
    return _is_machine(row.origin) or row.turn_origin not in _BY_PERSON


def is_typed(given: Attachment) -> bool:
    """Say whether an attachment holds what a person typed while the agent worked."""
    typed = given.type == _QUEUED and given.command_mode in _TYPED
    return typed and not given.is_meta and not _is_machine(given.origin)


def _is_machine(origin: Origin | None) -> bool:
    return origin is not None and origin.kind not in (None, "human")
