"""A model in this process: answers as the canned provider does, unless a test says otherwise."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from tests.servers.answers import ANSWERS
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
        return [question for question in self.asked if question.prompt == name]

    async def answer(self, question: ChatRequest) -> ChatResponse:
        self.asked.append(question)
        self.arrived.setdefault(question.prompt, asyncio.Event()).set()
        if question.prompt in self.holds:
            await self.holds[question.prompt].wait()
        said = self._say(question) if self._say is not None else None
        text = said if isinstance(said, str) else json.dumps(said or _canned(question))
        return ChatResponse(text, prompt_tokens=100, completion_tokens=10, cut=False)

    async def close(self) -> None:
        """Nothing was opened."""


def shown(question: ChatRequest) -> str:
    """Return all that the question says."""
    return "\n".join(said.text for said in question.messages)


def _canned(question: ChatRequest) -> dict[str, Any]:
    assert question.schema is not None
    fields = question.schema.json["properties"]
    prompt = next(said.text for said in question.messages if said.role == "user")
    return next((answer(prompt) for name, answer in ANSWERS.items() if name in fields), {})
