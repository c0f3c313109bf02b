"""The digest of a turn's content, from which an ingest sees that a stored turn changed."""

from collections.abc import Sequence

import msgspec

from turnetl.base import ids
from turnetl.base.model import Turn
from turnetl.formats.base import RawTurn

_encode = msgspec.json.Encoder().encode


def content_hash(
    turn: RawTurn | Turn, assistant_text: str, calls: Sequence[tuple[str, str, str, bool]]
) -> str:
    """Return a digest of the texts and the tool calls of a turn, redacted and truncated.

    Args:
        turn: has the texts of the user and the prompts of subagents.
        assistant_text: the agent's texts as one.
        calls: name, input, result and `is_error` of each tool call.
    """
    texts = (
        turn.user_text,
        assistant_text,
        turn.steering,
        turn.user_answers,
        turn.subagent_prompts,
    )
    return ids.digest(_encode((texts, calls)))
