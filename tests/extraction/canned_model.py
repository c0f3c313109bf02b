"""A model in this process: answers as the canned provider does, unless a test says otherwise."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.servers.canned_responses import RESPONDERS
from turnetl.llm.chat import ChatRequest, ChatResponse

Say = Callable[[ChatRequest], str | dict[str, Any] | None]


class Canned:
    """Answers at once. Remembers what it was asked, in order."""

    def __init__(self, say: Say | None = None) -> None:
        """`say` may answer in its own words, raise, or leave it with None."""
        self.asked: list[ChatRequest] = []
        self._say = say
        self.holds: dict[str, asyncio.Event] = {}
        """By prompt: answers that wait for their event."""
        self.arrived: dict[str, asyncio.Event] = {}
        """By prompt: set when it was asked."""

    @property
    def name(self) -> str:
        return "canned/canned"

    def prompts(self, name: str) -> list[ChatRequest]:
        return [request for request in self.asked if request.prompt_name == name]

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        self.arrived.setdefault(request.prompt_name, asyncio.Event()).set()
        if request.prompt_name in self.holds:
            await self.holds[request.prompt_name].wait()
        said = self._say(request) if self._say is not None else None
        text = said if isinstance(said, str) else json.dumps(said or _canned(request))
        return ChatResponse(text, prompt_tokens=100, completion_tokens=10, truncated=False)

    async def close(self) -> None:
        """Nothing was opened."""


def shown(request: ChatRequest) -> str:
    """Return all that the request says."""
    return "\n".join(said.text for said in request.messages)


def _canned(request: ChatRequest) -> dict[str, Any]:
    assert request.schema is not None
    fields = request.schema.json["properties"]
    prompt = next(said.text for said in request.messages if said.role == "user")
    return next((answer(prompt) for name, answer in RESPONDERS.items() if name in fields), {})
