"""The RequestPreview value. A module without imports of Graphiti, for code that only prints it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnetl.base.model import TurnId
from turnetl.llm.chat import ChatMessage


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """One request as it would be sent now."""

    turn_id: TurnId
    prompt: str
    model: str
    messages: tuple[ChatMessage, ...]
    schema: str
    """Name of the response schema; empty if there is none."""
    tokens: int
    """Estimated tokens of the messages."""
    max_tokens: int
    """Upper limit for the tokens of the response."""
    body: Mapping[str, Any] | None
    """The JSON body for the provider; None if the model does not expose it."""
    is_cached: bool
    """Whether the journal has the response, so that the request would not be sent."""
    has_placeholder: bool
    """Whether it contains a placeholder for entities of a response that is not known yet."""
