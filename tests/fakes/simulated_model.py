"""A simulated model and an extractor that sends it the requests of a turn.

Kinds of requests, lengths of prompts and responses, and prices are those that a small model shows
in practice: log-normal lengths, some invalid responses. Everything follows from the prompts, so
that equal requests get equal responses in any run.
"""

import asyncio
import json
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tests.ingestion.fakes import PromptExtractor
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, GroupId, TurnId, Usage
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import GroupView
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse
from turnetl.llm.prices import Price, Prices

MODEL = "simulated/small"
PRICE = Price(input=0.4, cached_input=0.1, output=1.6)
PRICES = Prices(({MODEL: PRICE},))
MAX_TOKENS = 16_384
"""Limit of a response, as Graphiti sends it."""
MAX_CHARS = 9_000
"""Length of the longest turn: longer ones are split into chunks."""
_CHARS_PER_TOKEN = 4
_INVALID = 0.03
"""Share of the responses that are no JSON."""
_PAUSES = 4
"""A response takes up to this many iterations of the event loop."""


@dataclass(frozen=True)
class RequestKind:
    """The requests of one prompt."""

    instructions: int
    """Characters that every request contains."""
    text: float
    """Share of the text of the turn that it contains."""
    tokens: int
    """Median length of its responses, for a turn of median length."""
    sigma: float
    """Standard deviation of the logarithm of that length."""


KINDS = {
    "entities": RequestKind(9_000, 1.0, 250, 0.5),
    "edges": RequestKind(7_000, 1.0, 350, 0.6),
    "resolve_nodes": RequestKind(5_000, 0.5, 200, 0.6),
    "resolve_edge": RequestKind(3_000, 0.0, 60, 0.5),
    "summaries": RequestKind(2_500, 0.5, 300, 0.6),
}
MEDIAN_CHARS = 3_000


def turn_text(key: str, sigma: float = 0.6) -> str:
    """Return the text of a turn; its length is log-normal."""
    chars = random.Random(key).lognormvariate(math.log(MEDIAN_CHARS), sigma)
    return f"{key} ".ljust(int(min(chars, MAX_CHARS)), "x")


@dataclass
class SimulatedModel:
    """Responds with as many tokens as its prompt asks for, and counts what each turn cost."""

    paid: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """US dollars by turn."""
    truncated: int = 0
    requests: int = 0
    name: str = MODEL

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests += 1
        asked = json.loads(request.messages[0].text)
        chance = random.Random(f"{request.messages} {len(request.messages)}")
        for _ in range(chance.randint(1, _PAUSES)):
            await asyncio.sleep(0)
        tokens = min(asked["tokens"], request.max_tokens)
        is_truncated = asked["tokens"] > request.max_tokens
        self.truncated += is_truncated
        is_invalid = chance.random() < _INVALID and len(request.messages) < 5
        response = ChatResponse(
            "Sure!" if is_invalid else "{}",
            request.characters // _CHARS_PER_TOKEN,
            tokens,
            truncated=is_truncated,
        )
        self.paid[asked["turn"]] += PRICE.cost(response.usage)
        return response

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class SimulatedExtractor:
    """Sends the requests of a turn, in the order of the `llm` extractor."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._inner = PromptExtractor()
        self.name = "simulated"
        self.model = model.name

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        return self._inner.recipe_parts(group, kind)

    async def extract(
        self, episode: Episode, context: Sequence[Episode]
    ) -> tuple[str, Usage, "asyncio.Task[Usage]"]:
        found = await self._inner.extract(episode, context)
        used = await self._ask("entities", episode)
        facts = asyncio.create_task(self._ask("edges", episode))
        # A turn that stops before does not await it.
        facts.add_done_callback(lambda done: done.cancelled() or done.exception())
        return found, used, facts

    async def resolve(
        self,
        episode: Episode,
        extracted: tuple[str, Usage, "asyncio.Task[Usage]"],
        group: GroupView,
        *,
        now: datetime,
    ) -> Resolved:
        found, used, facts = extracted
        used += await self._ask("resolve_nodes", episode)
        used += await facts
        edges = 2 + len(episode.text) // 1_500
        asked = (self._ask("resolve_edge", episode, number) for number in range(edges))
        used = sum(await asyncio.gather(*asked), used)
        used += await self._ask("summaries", episode)
        resolved = await self._inner.resolve(episode, found, group, now=now)
        return replace(resolved, usage=used)

    async def close(self) -> None:
        await self._model.close()

    async def _ask(self, name: str, episode: Episode, number: int = 0) -> Usage:
        kind, turn_id = KINDS[name], episode.turn_id
        text = _words(f"{turn_id} {name}", int(kind.text * len(episode.text)))
        asked = {"turn": turn_id, "number": number, "tokens": _tokens(name, episode, number)}
        messages = (
            ChatMessage("user", json.dumps(asked)),
            ChatMessage("system", "x " * (kind.instructions // 2)),
            ChatMessage("user", text),
        )
        response = await self._model.complete(ChatRequest(name, messages, None, MAX_TOKENS))
        return response.usage


def _words(key: str, chars: int) -> str:
    """Return a text that no other prompt contains."""
    return "".join(random.Random(key).choices("abcdefgh ", k=chars))


def _tokens(name: str, episode: Episode, number: int) -> int:
    kind, turn_id = KINDS[name], TurnId(episode.turn_id)
    chance = random.Random(f"{turn_id} {name} {number}")
    scale = math.sqrt(len(episode.text) / MEDIAN_CHARS)
    return int(chance.lognormvariate(math.log(kind.tokens), kind.sigma) * scale) + 1
