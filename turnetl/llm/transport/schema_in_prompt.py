"""The form of an answer said in words, for servers that take none, or take it and ignore it."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnetl.errors import BadTurn, ModelBusy
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.transport.http import HttpModel

log = logging.getLogger(__name__)

_SAYS_NO = (
    "response_format",
    "json_schema",
    "response format",
    "json schema",
    "guided_json",
    "grammar",
)
"""What a server's refusal names that does not take a schema."""

_SHOWN = 2
"""Answers that show that a server ignores schemas."""


class SchemaInPromptModel:
    """A model whose server is told the form of the answer as servers are, until that fails.

    It has failed when the server refuses to be given a schema, or when the first answers, two of
    them, are nothing like what was asked for. From then on the form stands in the request, too.
    """

    def __init__(self, model: HttpModel) -> None:
        self._model = model
        self._knows_schemas = False
        """An answer fitted: what does not fit later is a slip."""
        self._unlike = 0
        """Answers so far that were nothing like it. One may be an accident."""
        self._says = False
        self._asks_form = True

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask once.

        Raises:
            ModelBusy: also where the server takes no schema; asked at once again, it is asked in
                words.
            ModelRefused, BadTurn: as the model.
        """
        if request.schema is None:
            return await self._model.complete(request)
        asked = self._asked(request, request.schema)
        try:
            answer = await self._model.complete(asked)
        except (BadTurn, ModelBusy) as error:
            # Some say 500 to it.
            if asked.schema is None or not _says_no(error):
                raise
            self._asks_form, self._says = False, True
            log.warning("model `%s` takes no schema; it is told in words", self.name)
            raise ModelBusy(str(error), retry_after=0) from error
        self._learn(answer, request.schema)
        return answer

    def request_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Return what would be sent now."""
        asked = self._asked(request, request.schema) if request.schema else request
        return self._model.request_body(asked)

    async def close(self) -> None:
        await self._model.close()

    def _asked(self, request: ChatRequest, schema: ResponseSchema) -> ChatRequest:
        if not self._says:
            return request
        return replace(
            request,
            messages=_told(request.messages, schema),
            schema=schema if self._asks_form else None,
        )

    def _learn(self, answer: ChatResponse, schema: ResponseSchema) -> None:
        """Judge by the first answer that fits, or by two that do not."""
        if (
            self._knows_schemas
            or self._says
            or answer.truncated
            or answer.refused
            or not answer.text
        ):
            return
        if _is_like(answer.text, schema):
            self._knows_schemas = True
            return
        self._unlike += 1
        if self._unlike == _SHOWN:
            self._says = True
            log.warning("model `%s` ignores schemas; they are told in words too", self.name)


def _says_no(error: BadTurn | ModelBusy) -> bool:
    said = str(error).lower()
    return any(word in said for word in _SAYS_NO)


def _is_like(text: str, schema: ResponseSchema) -> bool:
    """Whether the answer is an object with one of the fields at least."""
    try:
        return (
            not schema.json.get("properties", {})
            .keys()
            .isdisjoint(validate.parse_object(validate.strip_wrapping(text)))
        )
    except ValueError:
        return False


def _told(messages: tuple[ChatMessage, ...], schema: ResponseSchema) -> tuple[ChatMessage, ...]:
    form = json.dumps(schema.json, ensure_ascii=False)
    words = f"\n\nAnswer with one JSON object of this JSON Schema and nothing else:\n{form}"
    return (*messages[:-1], ChatMessage(messages[-1].role, messages[-1].text + words))
