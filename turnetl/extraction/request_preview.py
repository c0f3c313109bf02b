"""A request as it would be sent: a value, so that who only prints it need not make it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.llm.chat import ChatMessage
from turnetl.model import TurnId


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """One request, as it would be sent now."""

    turn_id: TurnId
    prompt: str
    model: str
    messages: tuple[ChatMessage, ...]
    schema: str
    """The name of the answer's form; empty if it has none."""
    tokens: int
    """Of the messages, estimated."""
    max_tokens: int
    """Of the answer, at most."""
    body: Mapping[str, Any] | None
    """As the provider gets it, if it is known how that is written."""
    is_known: bool
    """The journal holds its answer: it would not be sent."""
    has_stand_in: bool
    """It names what an earlier answer would have named."""
