"""Models that record which requests a piece of work sends, and with which usage.

The record of a request is that of its context, as with accounts: a request that Graphiti sends
belongs to the turn for which it is sent, though Graphiti does not know the turn.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from turnetl.base.errors import BadTurn, TooLong
from turnetl.base.model import Usage
from turnetl.extraction.preview_builder import model_for, placeholder_response
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal import Journal, request_key


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request of a turn."""

    prompt: str
    """Name of the prompt."""
    tokens: int
    """Estimated tokens of its messages."""
    usage: Usage | None
    """Of its response, whenever it was paid for; None if it was not sent."""


Record = list[ObservedRequest]
"""The requests of one piece of work, in the order of their responses."""

_record: ContextVar[Record | None] = ContextVar("record", default=None)


@contextmanager
def recording_to(record: Record) -> Iterator[None]:
    """Add the requests of this context, and of tasks started in it, to a record."""
    token = _record.set(record)
    try:
        yield
    finally:
        _record.reset(token)


class ObservedModel:
    """A model that sends its requests, and records them."""

    def __init__(self, model: ChatModel, estimate: Callable[[str], int]) -> None:
        """Record the requests to a model with its wrappers.

        Args:
            model: receives the requests.
            estimate: estimates the tokens of a text.
        """
        self._model = model
        self._estimate = estimate

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            response = await self._model.complete(request)
        except BadTurn as error:
            _observe(request, self._estimate, error.usage)
            raise
        _observe(request, self._estimate, response.usage)
        return response

    async def close(self) -> None:
        await self._model.close()


class SilentModel:
    """A model that sends nothing: the journal responds, else a placeholder without content."""

    def __init__(
        self,
        model: ChatModel,
        journal: Journal | None,
        parameters: str,
        estimate: Callable[[str], int],
    ) -> None:
        """Simulate a model.

        Args:
            model: of which only the names are used.
            journal: the responses that are known; None if there are none.
            parameters: of every request, as the journal's keys have them.
            estimate: estimates the tokens of a text.
        """
        self._model = model
        self._journal = journal
        self._parameters = parameters
        self._estimate = estimate

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        known = await self._known(request)
        _observe(request, self._estimate, None if known is None else known.usage)
        if known is not None and known.truncated:
            raise TooLong(f"the response to `{request.prompt_name}` was truncated", known.usage)
        return known or ChatResponse(placeholder_response(request), 0, 0, truncated=False)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def _known(self, request: ChatRequest) -> ChatResponse | None:
        if self._journal is None:
            return None
        name = model_for(self._model, request.prompt_name).name
        return await self._journal.get_async(request_key(name, request, self._parameters))


def _observe(request: ChatRequest, estimate: Callable[[str], int], usage: Usage | None) -> None:
    record = _record.get()
    if record is not None:
        text = "\n".join(message.text for message in request.messages)
        record.append(ObservedRequest(request.prompt_name, estimate(text), usage))
