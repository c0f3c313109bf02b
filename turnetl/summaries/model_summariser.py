"""The summariser that asks a model, for entities whose facts are too long to be their summary."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnetl.base.errors import BadTurn, Skip, TooLong, TurnetlError
from turnetl.base.model import Usage
from turnetl.llm import validate
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import estimate_tokens
from turnetl.llm.prices import Price
from turnetl.summaries.fact_list import fact_list
from turnetl.summaries.port import Summarised
from turnetl.summaries.refresh_prompt import (
    PROMPT,
    in_requests,
    refresh_request,
    refreshed_texts,
)
from turnetl.summaries.rule_summary import MAX_CHARS
from turnetl.summaries.summary_input import SummaryInput

log = logging.getLogger(__name__)

MAX_UNASKED = 2 * MAX_CHARS
"""Characters of a summary that is made of facts, without a request: Graphiti's limit too."""
_USUAL_TOKENS = 150
"""Of a summary in a response, for the estimate."""


class ModelSummariser:
    """`Summariser` that sends a request for entities with many facts, several in one.

    A request that fails, and an empty or missing summary, leave the summary as it is.
    """

    def __init__(
        self,
        model: ChatModel,
        price: Price | None = None,
        *,
        max_unasked: int = MAX_UNASKED,
    ) -> None:
        """Use a model.

        Args:
            model: with its stack, which limits the number of concurrent requests.
            price: of the model, for estimates; None if it is unknown.
            max_unasked: characters of a summary that is made of facts, without a request.
        """
        self._max_unasked = max_unasked
        self._model = model
        self._price = price

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        texts, to_ask = self._without_request(inputs)
        # Every request is awaited, even if one fails: it is paid for, and its summaries count.
        found = await asyncio.gather(*map(self._ask, in_requests(to_ask)))
        joined = _joined(Summarised(texts), *found)
        return replace(joined, texts=dict(sorted(joined.texts.items())))

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:
        total = Usage()
        for part in in_requests(self._without_request(inputs)[1]):
            messages = refresh_request(part).messages
            tokens = estimate_tokens(*(message.text for message in messages))
            usage = Usage(1, tokens, _USUAL_TOKENS * len(part))
            total += replace(usage, cost=None if self._price is None else self._price.cost(usage))
        return total

    async def _ask(self, inputs: Sequence[SummaryInput]) -> Summarised:
        """Return the summaries that the model writes; of a request that is too long in halves."""
        try:
            response = await self._model.complete(refresh_request(inputs))
        except TooLong as error:
            if len(inputs) == 1:
                return _failed(error)
            middle, failed = len(inputs) // 2, Summarised({}, error.usage)
            halves = [await self._ask(half) for half in (inputs[:middle], inputs[middle:])]
            return _joined(failed, *halves)
        except Skip as error:
            return _failed(error)
        except TurnetlError as error:
            return Summarised({}, error=error)
        try:
            return Summarised(refreshed_texts(inputs, response), response.usage)
        except ValueError as error:
            reason = validate.describe(error)
            message = f"model `{self._model.name}` returned an invalid response to `{PROMPT}`"
            return _failed(BadTurn(f"{message}: {reason}", response.usage))

    def _without_request(
        self,
        inputs: Sequence[SummaryInput],
    ) -> tuple[dict[str, str], Sequence[SummaryInput]]:
        """Return the summaries that need no request, by uuid, and the entities that need one."""
        texts: dict[str, str] = {}
        to_ask = []
        for given in inputs:
            text = fact_list(given, self._max_unasked)
            if text is None:
                to_ask.append(given)
            elif text:
                texts[given.entity.uuid] = text
        return texts, to_ask


def _joined(*parts: Summarised) -> Summarised:
    texts: Mapping[str, str] = {uuid: text for part in parts for uuid, text in part.texts.items()}
    error = next((part.error for part in parts if part.error is not None), None)
    return Summarised(texts, sum((part.usage for part in parts), Usage()), error)


def _failed(error: Skip) -> Summarised:
    log.warning("summaries stay as they are: %s", error)
    return Summarised({}, error.usage if isinstance(error, BadTurn) else Usage())
