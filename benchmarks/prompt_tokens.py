"""Prompt tokens per turn by prompt and part, beside Graphiti's `add_episode`. Needs no server.

    python -m benchmarks.prompt_tokens [--turns 77] [--responders MODULE] [--archives FOLDER]

The turns of `benchmarks.session` go through the functions of `add_episode` and through turnetl's
pipeline, both over a group in memory, with a model in this process that responds as the provider of
`benchmarks.throughput`. With the responders of the default both must store the same facts; others
may depend on what only one of them sends, as the types of entities. Tokens are estimated from
characters, four per token, those of response schemas included. The parts of a prompt:

- fixed: the same in every request of the prompt, with the template, the ontology and the schema
- earlier: earlier turns
- turn: the text of the turn
- asked: the entities or facts that the request is about
- known: entities and facts of the group, among which the model looks for them

`shared` is the beginning that all requests of the prompt have in common, if it has the 1,024 tokens
that a provider caches.
"""

import argparse
import asyncio
import importlib
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks import session
from benchmarks.add_episode import AddEpisode
from benchmarks.cost import at_most
from benchmarks.session import CHARACTERS_PER_TOKEN
from tests.servers.canned_responses import Responders
from tests.servers.fact_questions import with_fact_questions
from turnetl.base.model import Episode
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.port import Extractor
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.ingestion.commit import MirroredGroup, resolve_turn
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import ModelSummariser

RESPONDERS = "benchmarks.responders"
MAX_RATIO = 0.4
"""Prompt tokens relative to those of `add_episode`."""
MIN_CACHED = 1_024
"""Tokens: providers cache no shorter beginning."""
PARTS = ("fixed", "earlier", "turn", "asked", "known")
_PART_OF_SECTION = {
    **dict.fromkeys(("PREVIOUS MESSAGES", "EARLIER TEXTS", "MESSAGES"), "earlier"),
    **dict.fromkeys(("CURRENT MESSAGE", "TEXT"), "turn"),
    **dict.fromkeys(("ENTITIES", "NEW FACT", "FACT", "REFERENCE TIME", "ENTITY"), "asked"),
    **dict.fromkeys(
        ("EXISTING ENTITIES", "EXISTING FACTS", "FACT INVALIDATION CANDIDATES"), "known"
    ),
}
"""Part by section of a prompt; texts are escaped, so that no text looks like a section."""
_SECTION = re.compile(r"<([A-Z][A-Z_ ]+)>\n(.*?)\n</\1>", re.DOTALL)


@dataclass
class PromptCounts:
    """Requests of one pipeline, and their characters."""

    requests: Counter[str] = field(default_factory=Counter)
    """By name of the prompt."""
    characters: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By name of the prompt and part."""
    prefixes: dict[str, str] = field(default_factory=dict)
    """By name of the prompt: the beginning that all its requests share."""

    def add(self, request: ChatRequest) -> None:
        """Count a request."""
        name, prompt = request.prompt_name, "".join(one.text for one in request.messages)
        parts = Counter[str]()
        for match in _SECTION.finditer(prompt):
            parts[_PART_OF_SECTION.get(match[1].replace("_", " "), "fixed")] += len(match[2])
        schema = len(json.dumps(request.schema.json)) if request.schema else 0
        parts["fixed"] = len(prompt) + schema - sum(parts[part] for part in PARTS[1:])
        self.requests[name] += 1
        self.characters += Counter({(name, part): size for part, size in parts.items()})
        earlier = self.prefixes.get(name, prompt)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(prompt, earlier, strict=False))
        self.prefixes[name] = prompt[: sum(1 for _ in same)]

    @property
    def tokens(self) -> float:
        """Tokens of all prompts."""
        return self.characters.total() / CHARACTERS_PER_TOKEN

    def shared_tokens(self, name: str) -> float:
        """Return the tokens of the shared beginnings of a prompt, if they can be cached."""
        tokens = len(self.prefixes[name]) / CHARACTERS_PER_TOKEN
        return self.requests[name] * tokens if tokens >= MIN_CACHED else 0.0

    def lines(self, turns: int) -> Iterator[str]:
        """Yield a table: tokens per turn."""
        yield f"    {'':33}" + "".join(
            f"{title:>9}" for title in ("calls", *PARTS, "all", "shared")
        )
        sums = [0.0] * (len(PARTS) + 1)
        for name, calls in sorted(self.requests.items()):
            characters = [self.characters[name, part] for part in PARTS]
            tokens = [*(one / CHARACTERS_PER_TOKEN for one in characters), self.shared_tokens(name)]
            sums = [one + other for one, other in zip(sums, tokens, strict=True)]
            yield _line(name, calls, tokens, turns)
        yield _line("all", self.requests.total(), sums, turns)


def _line(name: str, calls: int, tokens: Sequence[float], turns: int) -> str:
    *parts, shared = (one / turns for one in tokens)
    cells = "".join(f"{one:9,.0f}" for one in (*parts, sum(parts), shared))
    return f"    {name:33}{calls / turns:9.2f}{cells}"


class CountedModel:
    """A model whose responses are computed from its requests, which it counts."""

    name = "canned"

    def __init__(self, responders: Responders) -> None:
        self._responders = with_fact_questions(responders)
        self.counts = PromptCounts()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        assert request.schema is not None
        self.counts.add(request)
        fields = request.schema.json["properties"]
        respond = next(one for name, one in self._responders.items() if name in fields)
        text = json.dumps(respond("\n".join(one.text for one in request.messages)))
        return ChatResponse(text, 0, 0, truncated=False)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


Facts = frozenset[tuple[str, str, str]]
"""Names of source and target, and the sentence."""


async def ingest(
    extractor: Extractor[Any], turns: Sequence[Episode], summarised_by: ChatModel | None = None
) -> Facts:
    """Ingest the turns of one group in memory, one after the other; return the facts."""
    contents = empty_contents(session.TURNETL)
    group, embedder, context = MirrorGroup(contents), WordLlamaEmbedder(), session.context(turns)
    by_id = {turn.turn_id: turn for turn in turns}
    summaries = None
    if summarised_by is not None:
        rules = SummaryRules(ModelSummariser(summarised_by), GateLimits())
        summaries = rules.of_group(contents)
    for number, turn in enumerate(turns, start=1):
        extracted = await extractor.extract(turn, [by_id[one] for one in context[turn.turn_id]])
        resolved = await resolve_turn(
            extractor,
            embedder,
            turn,
            extracted,
            MirroredGroup(group, summaries),
            run_id="",
            now=session.ingest_run().clock(),
            ends_run=number == len(turns),
        )
        group.apply(resolved.for_mirror, resolved.receipt)
        if summaries is not None:
            summaries.apply(resolved.change)
    await extractor.close()
    names = {entity.uuid: entity.name for entity in group.entities}
    return frozenset((names[one.source], one.text, names[one.target]) for one in group.facts)


async def main(arguments: argparse.Namespace) -> None:
    logging.disable(logging.ERROR)
    turns = session.first_turns(arguments.archives, arguments.turns)
    responders = importlib.import_module(arguments.responders).RESPONDERS
    upstream, own = CountedModel(responders), CountedModel(responders)
    expected = await ingest(AddEpisode(upstream, WordLlamaEmbedder()), turns)
    extractor = LlmExtractor(own, WordLlamaEmbedder(), prompts=session.prompts(), ontology=CODING)
    facts = await ingest(extractor, turns, own)
    print(f"{len(turns)} turns of `{arguments.archives.name}`; prompt tokens per turn")
    for name, counts in (("add_episode", upstream.counts), ("turnetl", own.counts)):
        print(f"  {name}", *counts.lines(len(turns)), sep="\n")
    print(f"  identical facts: {facts == expected} ({len(facts)})")
    ratio = own.counts.tokens / upstream.counts.tokens
    passed = at_most("of the prompt tokens of add_episode", ratio, MAX_RATIO)
    is_comparable = arguments.responders == RESPONDERS
    sys.exit(not (passed and (facts == expected or not is_comparable)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=77)
    parser.add_argument("--responders", default=RESPONDERS)
    parser.add_argument("--archives", type=Path, default=session.ARCHIVES)
    asyncio.run(main(parser.parse_args()))
