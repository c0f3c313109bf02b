"""Builds previews of the requests that the extraction of a turn would send, without sending them.

A request that depends on a response is exact only if the journal has that response; otherwise it
contains a placeholder and says so. The requests that resolve a turn against its group depend on
the turns before it; they are not part of a preview.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from typing_extensions import override

from turnetl.base.errors import TooLong
from turnetl.base.model import Episode, TurnId, Vector
from turnetl.extraction.llm import LlmExtractor, fact_batches
from turnetl.extraction.port import RequestPreview
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse, ModelWrapper, model_for
from turnetl.llm.embedders import Embedder
from turnetl.llm.journal import Journal, request_key
from turnetl.llm.vectors import pack

PLACEHOLDER = "(entities of the first response)"
"""Placeholder for entities that only a response could name."""

_PLACEHOLDERS: Mapping[str, Any] = {
    "extracted_entities": [{"name": PLACEHOLDER, "entity_type_id": 0, "episode_indices": [0]}]
}


_EMPTY: Mapping[str, Any] = {
    "array": [],
    "boolean": False,
    "integer": 0,
    "number": 0,
    "object": {},
    "string": "",
}
"""By type of JSON Schema."""


@runtime_checkable
class _HasBody(Protocol):
    def request_body(self, request: ChatRequest) -> Mapping[str, Any]: ...


async def preview_requests(
    episode: Episode,
    context: Sequence[Episode],
    make_extractor: Callable[[ChatModel, Embedder], LlmExtractor],
    model: ChatModel,
    *,
    journal: Journal | None,
    estimate: Callable[[str], int],
    parameters: str = "",
    known: Sequence[str] | None = None,
) -> tuple[RequestPreview, ...]:
    """Return the requests that the extraction of the turn would send, in order. Sends none.

    The context is the earlier turns, oldest first. `make_extractor` makes the extractor of a run
    with the model and embedder it is given; `known` are the facts that the rules of a hybrid run
    state. `model` has no wrappers, and receives no request.
    """
    recording = _RecordingModel(model, journal, parameters)
    extractor = make_extractor(recording, _FixedEmbedder())
    extracted = await extractor.extract(episode, context, known)
    for chunk in extracted.chunks:
        await chunk.facts
    previews = []
    for request, is_cached in recording.requests:
        text = "\n".join(message.text for message in request.messages)
        request_model = model_for(model, request.prompt_name)
        previews.append(
            _preview(episode.turn_id, request, request_model, is_cached, estimate(text))
        )
    return tuple(previews)


def placeholder_response(request: ChatRequest) -> str:
    """Return a response without content, from which further requests follow."""
    if request.prompt_name == fact_batches.PROMPT:
        return fact_batches.no_other_fact(request)
    fields = request.schema.json.get("properties", {}) if request.schema else {}
    return json.dumps(
        {name: _PLACEHOLDERS.get(name, _empty(field)) for name, field in fields.items()}
    )


def _empty(field: Mapping[str, Any]) -> Any:
    types = [field.get("type"), *(one.get("type") for one in field.get("anyOf", ()))]
    return None if "null" in types else _EMPTY.get(field.get("type", "array"))


def _preview(
    turn_id: TurnId, request: ChatRequest, model: ChatModel, is_cached: bool, tokens: int
) -> RequestPreview:
    return RequestPreview(
        turn_id=turn_id,
        prompt=request.prompt_name,
        model=model.name,
        messages=request.messages,
        schema=request.schema.name if request.schema else "",
        tokens=tokens,
        max_tokens=request.max_tokens,
        body=model.request_body(request) if isinstance(model, _HasBody) else None,
        is_cached=is_cached,
        has_placeholder=any(PLACEHOLDER in message.text for message in request.messages),
    )


class SilentModel(ModelWrapper):
    """A model that sends nothing: the journal responds, else a placeholder without content."""

    def __init__(self, model: ChatModel, journal: Journal | None, parameters: str) -> None:
        """Wrap a model that receives no request; `parameters`: as in the keys of the journal."""
        super().__init__(model)
        self._journal = journal
        self._parameters = parameters

    async def complete(self, request: ChatRequest) -> ChatResponse:
        known = await self.known(request)
        if known is not None and known.truncated:
            raise TooLong(f"the response to `{request.prompt_name}` was truncated", known.usage)
        return known or ChatResponse(placeholder_response(request), 0, 0, truncated=False)

    async def known(self, request: ChatRequest) -> ChatResponse | None:
        """Return the response that the journal has."""
        if self._journal is None:
            return None
        name = model_for(self._model, request.prompt_name).name
        return await self._journal.get_async(request_key(name, request, self._parameters))

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class _RecordingModel(SilentModel):
    def __init__(self, model: ChatModel, journal: Journal | None, parameters: str) -> None:
        super().__init__(model, journal, parameters)
        self.requests: list[tuple[ChatRequest, bool]] = []
        """Each request, and whether the journal has its response."""

    @override
    async def known(self, request: ChatRequest) -> ChatResponse | None:
        index = len(self.requests)
        self.requests.append((request, False))
        known = await super().known(request)
        self.requests[index] = (request, known is not None)
        return known


class _FixedEmbedder:
    """Returns the same vector for every text: no group may hold it, and a preview stores none."""

    name = "none"
    dimensions = 1

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [pack([1.0])] * len(texts)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
