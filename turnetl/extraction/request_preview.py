"""The RequestPreview value. A module without imports of Graphiti, for code that only prints it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from turnetl.base.result_fields import TurnIdField
from turnetl.base.results import described
from turnetl.llm.chat import ChatMessage


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """A request that a run would send to a model."""

    turn_id: TurnIdField
    prompt: Annotated[str, described("Name of the prompt.")]
    model: Annotated[str, described("Provider and model.")]
    messages: Annotated[tuple[ChatMessage, ...], described("The messages, in order.")]
    schema: Annotated[str, described("Name of the schema of the response; empty if it has none.")]
    tokens: Annotated[int, described("Estimated tokens of the messages.")]
    max_tokens: Annotated[int, described("Limit of the tokens of the response.")]
    body: Annotated[
        Mapping[str, Any] | None,
        described("The body of the HTTP request; null if it is not known."),
    ]
    is_cached: Annotated[
        bool, described("Whether the journal holds the response: nothing would be sent.")
    ]
    has_placeholder: Annotated[
        bool, described("Whether a placeholder replaces what an earlier response would name.")
    ]
