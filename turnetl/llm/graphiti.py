"""Graphiti's client classes over turnetl's ports: a model, an embedder, and placeholders."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NoReturn, cast, get_args

from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client.client import LLMClient, get_extraction_language_instruction
from graphiti_core.llm_client.config import LLMConfig, ModelSize
from graphiti_core.prompts.models import Message
from pydantic import BaseModel
from typing_extensions import override

from turnetl.base.errors import BadTurn, TurnetlError
from turnetl.base.model import Usage, Vector
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, Role, response_schema
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.float_lists import floats
from turnetl.llm.prompt_delimiters import unescape_values
from turnetl.llm.validate import sanitized, strip_invisible


class GraphitiModel(LLMClient):
    """A model as Graphiti calls it, for one turn: counts usage and remembers the first failure.

    The messages are those of Graphiti's client for OpenAI-compatible servers.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(LLMConfig(model=model.name))
        self._model = model
        self.usage = Usage()
        """Usage of all requests so far, including failed ones."""
        self._failure: TurnetlError | None = None
        self._has_ended = False

    def check(self) -> None:
        """Raise the first failure again: Graphiti swallows some and continues without a result."""
        if self._failure is not None:
            raise self._failure

    def end(self) -> Usage:
        """Forget the failure, and remember no later one; return the usage.

        A failure that is kept is in a cycle with the frames that it passed through, and these refer
        to the group in memory.
        """
        self._failure, self._has_ended = None, True
        return self.usage

    @override
    async def generate_response(
        self,
        messages: list[Message],
        response_model: type[BaseModel] | None = None,
        max_tokens: int | None = None,
        model_size: ModelSize = ModelSize.medium,
        group_id: str | None = None,
        prompt_name: str | None = None,
        *,
        attribute_extraction: bool = False,
        model: str | None = None,
    ) -> dict[str, Any]:
        """Return the response as parsed JSON that matches `response_model`."""
        self._apply_attribute_extraction_preamble(messages, attribute_extraction)
        messages[0].content += get_extraction_language_instruction(group_id)
        request = ChatRequest(
            prompt_name=prompt_name or "",
            messages=tuple(
                ChatMessage(_role(message.role), _prompt_text(message.content))
                for message in messages
            ),
            schema=response_schema(response_model) if response_model is not None else None,
            max_tokens=max_tokens or self.max_tokens,
        )
        try:
            return await self._complete(request)
        except TurnetlError as error:
            if not self._has_ended:
                self._failure = self._failure or error
            raise

    @override
    async def _generate_response(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("Graphiti calls generate_response only")

    async def _complete(self, request: ChatRequest) -> dict[str, Any]:
        try:
            response = await self._model.complete(request)
            self.usage += response.usage
            parsed: dict[str, Any] = sanitized(
                unescape_values(validate.parse_object(response.text))
            )
        except BadTurn as error:
            self.usage += error.usage
            raise
        except ValueError as error:
            reason = validate.describe(error)
            raise BadTurn(
                f"model `{self._model.name}` returned an invalid response to "
                f"`{request.prompt_name}`: {reason}",
                problem=f"returned an invalid response: {reason}",
            ) from error
        return parsed


class GraphitiEmbedder(EmbedderClient):
    """An embedder as Graphiti calls it, for one turn: each text is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    def remember(self, text: str, vector: Vector) -> None:
        """Store a vector that is already known."""
        self._known.setdefault(text, vector)

    def known(self, text: str) -> Vector | None:
        return self._known.get(text)

    @override
    async def create(
        self, input_data: str | list[str] | Iterable[int] | Iterable[Iterable[int]]
    ) -> list[float]:
        texts = [input_data] if isinstance(input_data, str) else list(input_data)
        if not texts or not isinstance(texts[0], str):
            raise NotImplementedError("only texts can be embedded")
        return (await self.create_batch([texts[0]]))[0]

    @override
    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(input_data_list) if text not in self._known]
        if new:
            self._known.update(zip(new, await self._embedder.embed(new), strict=True))
        return [floats(self._known[text]) for text in input_data_list]


class NoModel(LLMClient):
    """Graphiti requires a model also for a search, which uses none."""

    def __init__(self) -> None:
        super().__init__(LLMConfig(model="none"))

    @override
    async def _generate_response(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("a search sends no request to a model")


class NoReranker(CrossEncoderClient):
    """Graphiti requires a reranker, which only some of its search recipes use."""

    @override
    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        raise NotImplementedError("only a search recipe with a cross-encoder has a reranker")


@lru_cache(maxsize=200)
def _prompt_text(text: str) -> str:
    """Return a message without invisible characters; a turn ahead and its commit have the same."""
    return strip_invisible(text)


def _role(role: str) -> Role:
    if role not in get_args(Role):
        raise ValueError(f"unknown role `{role}`")
    return cast("Role", role)
