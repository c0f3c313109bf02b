"""The very requests that reading a turn would send, without sending them.

What follows an answer can be shown only if the answer is known: out of the journal, else a stand-in
takes its place and says so. What matches a turn against its group hangs on the turns before it, and
is not shown.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from turnetl.errors import TooLong
from turnetl.extraction.llm import Extracted
from turnetl.extraction.port import Extractor
from turnetl.extraction.request_preview import RequestPreview
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.journal import Journal, request_key
from turnetl.llm.routing import PromptRouter
from turnetl.llm.vectors import pack
from turnetl.model import Episode, Vector

STAND_IN = "(what the first answer names)"
"""Stands for things that no model was asked for yet."""

_STAND_INS: Mapping[str, Any] = {
    "extracted_entities": [{"name": STAND_IN, "entity_type_id": 0, "episode_indices": [0]}]
}


@runtime_checkable
class _Written(Protocol):
    def request_body(self, request: ChatRequest) -> Mapping[str, Any]: ...


async def requests(
    episode: Episode,
    context: Sequence[Episode],
    read: Callable[[ChatModel, Embedder], Extractor[Extracted]],
    asked: ChatModel,
    *,
    journal: Journal | None,
    estimate: Callable[[str], int],
    parameters: str = "",
) -> tuple[RequestPreview, ...]:
    """Return what would be sent to read the turn, in order. Asks no model.

    Args:
        episode: the turn.
        context: the turns before it, oldest first.
        read: makes the extractor of a run, with a model and an embedder that are none.
        asked: the model of a run, bare; it is not asked.
        journal: what was answered already.
        estimate: tokens of a text.
        parameters: what the model is told in every call, beside the request.
    """
    overheard = _Overheard(asked, journal, parameters)
    extractor = read(overheard, _NoEmbedder())
    extracted = await extractor.extract(episode, context)
    for part in extracted.parts:
        await part.said
    return tuple(
        RequestPreview(
            turn_id=episode.turn_id,
            prompt=request.prompt_name,
            model=_one(asked, request).name,
            messages=request.messages,
            schema=request.schema.name if request.schema else "",
            tokens=estimate("\n".join(said.text for said in request.messages)),
            max_tokens=request.max_tokens,
            body=_body(_one(asked, request), request),
            is_known=known,
            has_stand_in=any(STAND_IN in said.text for said in request.messages),
        )
        for request, known in overheard.heard
    )


class _Overheard:
    """Stands where the model would be asked."""

    def __init__(self, asked: ChatModel, journal: Journal | None, parameters: str) -> None:
        self._asked = asked
        self._parameters = parameters
        self._journal = journal
        self.heard: list[tuple[ChatRequest, bool]] = []
        """Requests, and whether their answers are known."""

    @property
    def name(self) -> str:
        return self._asked.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        place = len(self.heard)
        self.heard.append((request, False))
        found = await self._found(request)
        self.heard[place] = (request, found is not None)
        if found is not None and found.truncated:
            raise TooLong(f"the answer to `{request.prompt_name}` was cut")
        return found or ChatResponse(_stand_in(request), 0, 0, truncated=False)

    async def close(self) -> None:
        """Nothing was opened."""

    async def _found(self, request: ChatRequest) -> ChatResponse | None:
        if self._journal is None:
            return None
        name = _one(self._asked, request).name
        return await self._journal.found(request_key(name, request, self._parameters))


class _NoEmbedder:
    """Nothing that is made here is kept."""

    name = "none"
    dimensions = 1

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [pack([1.0])] * len(texts)

    async def close(self) -> None:
        """Nothing was opened."""


def _one(asked: ChatModel, request: ChatRequest) -> ChatModel:
    return asked.of(request.prompt_name) if isinstance(asked, PromptRouter) else asked


def _body(asked: ChatModel, request: ChatRequest) -> Mapping[str, Any] | None:
    return asked.request_body(request) if isinstance(asked, _Written) else None


def _stand_in(request: ChatRequest) -> str:
    fields = request.schema.json.get("properties", {}) if request.schema else {}
    return json.dumps({name: _STAND_INS.get(name, []) for name in fields})
