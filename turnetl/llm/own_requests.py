"""Requests of turnetl's own prompts: how they are built, what they use, and how a text is read."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from turnetl.base.errors import BadTurn
from turnetl.base.model import Usage
from turnetl.base.text import estimate_tokens
from turnetl.llm import retry
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.prices import Price
from turnetl.llm.prompt_delimiters import unescape_text
from turnetl.llm.retry import strip_invisible

ResponseT = TypeVar("ResponseT", bound=BaseModel)


def own_request(
    name: str, instructions: str, prompt: str, response: type[BaseModel], max_tokens: int
) -> ChatRequest:
    return ChatRequest(
        name,
        (ChatMessage("system", instructions), ChatMessage("user", strip_invisible(prompt))),
        response_schema(response),
        max_tokens,
    )


async def complete_as(
    model: ChatModel, request: ChatRequest, response_type: type[ResponseT]
) -> tuple[ResponseT, Usage]:
    """Return the response to a request, and its usage; BadTurn: it does not match its schema."""
    response = await model.complete(request)
    try:
        return response_type(**retry.parse_object(response.text)), response.usage
    except ValueError as error:
        raise BadTurn(
            f"model `{model.name}` returned an invalid response to `{request.prompt_name}`: "
            f"{retry.describe_invalid(error)}",
            response.usage,
        ) from error


def response_line(text: str) -> str:
    """Return a text of a response on one line."""
    return " ".join(unescape_text(strip_invisible(text)).split())


def estimated_usage(requests: Iterable[tuple[ChatRequest, int]], price: Price | None) -> Usage:
    """Return the usage of requests, each with the tokens of its response; no cost if no price."""
    total = Usage()
    for request, response_tokens in requests:
        tokens = estimate_tokens(*(message.text for message in request.messages))
        usage = Usage(1, tokens, response_tokens)
        total += replace(usage, cost=None if price is None else price.cost(usage))
    return total
