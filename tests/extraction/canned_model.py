"""A model without HTTP: responds as the canned provider does, unless a test overrides it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.servers.fact_questions import with_fact_questions
from tests.servers.summary_responses import RESPONDERS
from turnetl.llm.chat import ChatRequest, ChatResponse

ResponseRule = Callable[[ChatRequest], str | dict[str, Any] | None]


class CannedModel:
    """Responds immediately and records the requests in order."""

    def __init__(self, respond: ResponseRule | None = None) -> None:
        """Use `respond` for the response text; the canned response if it returns None."""
        self.requests: list[ChatRequest] = []
        self._respond = respond
        self.blocked: dict[str, asyncio.Event] = {}
        """By prompt: the response waits until the event is set."""
        self.received: dict[str, asyncio.Event] = {}
        """By prompt: set when the first request arrives."""

    @property
    def name(self) -> str:
        return "canned/canned"

    def prompts(self, name: str) -> list[ChatRequest]:
        return [request for request in self.requests if request.prompt_name == name]

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        self.received.setdefault(request.prompt_name, asyncio.Event()).set()
        if request.prompt_name in self.blocked:
            await self.blocked[request.prompt_name].wait()
        response = self._respond(request) if self._respond is not None else None
        text = response if isinstance(response, str) else json.dumps(response or _canned(request))
        return ChatResponse(text, prompt_tokens=100, completion_tokens=10, truncated=False)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


def request_text(request: ChatRequest) -> str:
    """Return the text of all messages of a request."""
    return "\n".join(message.text for message in request.messages)


def _canned(request: ChatRequest) -> dict[str, Any]:
    assert request.schema is not None
    fields = request.schema.json["properties"]
    prompt, responders = request_text(request), with_fact_questions(RESPONDERS)
    return next((answer(prompt) for name, answer in responders.items() if name in fields), {})
