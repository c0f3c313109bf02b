"""Schemas inside the prompt, for servers that reject the schema parameter or ignore it."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnetl.base.errors import BadTurn, ModelBusy
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.transport.http import HttpModel

log = logging.getLogger(__name__)

_REJECTIONS = (
    "response_format",
    "json_schema",
    "response format",
    "json schema",
    "guided_json",
    "grammar",
)
"""Words in the error of a server that does not support schemas."""

_EVIDENCE = 2
"""Unrelated responses that prove that a server ignores schemas. One may be an accident."""


class SchemaInPromptModel:
    """A model whose server receives schemas as a parameter until that fails.

    It has failed when the server rejects the parameter, or when the first two responses have none
    of the fields of their schemas. From then on, the prompt contains the schema too.
    """

    def __init__(self, model: HttpModel) -> None:
        self._model = model
        self._supports_schemas = False
        """A response had a field of its schema: a later one without is an accident."""
        self._unrelated = 0
        """Responses so far with no field of their schema."""
        self._in_prompt = False
        self._as_parameter = True

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send the request once.

        Raises:
            ModelBusy: also if the server rejects schemas. An immediate retry puts the schema into
                the prompt.
            ModelUnusable, BadTurn: as the model.
        """
        if request.schema is None:
            return await self._model.complete(request)
        sent = self._prepared(request, request.schema)
        try:
            response = await self._model.complete(sent)
        except (BadTurn, ModelBusy) as error:
            # Some servers return status 500 for it.
            if sent.schema is None or not _is_schema_rejected(error):
                raise
            self._as_parameter, self._in_prompt = False, True
            log.warning("model `%s` rejects schemas; the prompt contains them now", self.name)
            raise ModelBusy(str(error), retry_after=0) from error
        self._learn(response, request.schema)
        return response

    def request_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Return the body that would be sent now."""
        sent = self._prepared(request, request.schema) if request.schema else request
        return self._model.request_body(sent)

    async def close(self) -> None:
        await self._model.close()

    def _prepared(self, request: ChatRequest, schema: ResponseSchema) -> ChatRequest:
        if not self._in_prompt:
            return request
        return replace(
            request,
            messages=_with_schema(request.messages, schema),
            schema=schema if self._as_parameter else None,
        )

    def _learn(self, response: ChatResponse, schema: ResponseSchema) -> None:
        """Decide by the first response that has a field, or by two that have none."""
        if self._supports_schemas or self._in_prompt:
            return
        if response.truncated or response.refused or not response.text:
            return
        if _has_a_field(response.text, schema):
            self._supports_schemas = True
            return
        self._unrelated += 1
        if self._unrelated == _EVIDENCE:
            self._in_prompt = True
            log.warning("model `%s` ignores schemas; the prompt contains them now", self.name)


def _is_schema_rejected(error: BadTurn | ModelBusy) -> bool:
    message = str(error).lower()
    return any(name in message for name in _REJECTIONS)


def _has_a_field(text: str, schema: ResponseSchema) -> bool:
    """Return whether the response is an object with at least one field of the schema."""
    try:
        parsed = validate.parse_object(validate.strip_wrapping(text))
    except ValueError:
        return False
    return not schema.json.get("properties", {}).keys().isdisjoint(parsed)


def _with_schema(
    messages: tuple[ChatMessage, ...], schema: ResponseSchema
) -> tuple[ChatMessage, ...]:
    serialized = json.dumps(schema.json, ensure_ascii=False)
    suffix = f"\n\nAnswer with one JSON object of this JSON Schema and nothing else:\n{serialized}"
    return (*messages[:-1], ChatMessage(messages[-1].role, messages[-1].text + suffix))
