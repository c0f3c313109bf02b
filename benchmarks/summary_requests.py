"""Requests and tokens for summaries of real turns: gated, as `add_episode` sends them, one each.

The turns are extracted by the `llm` or the `hybrid` extractor with a model whose responses are
computed from their requests, in memory: up to five entities of a turn, facts that quote it and of
which some end an earlier one, and summaries of 500 characters. `add_episode` is
Graphiti's own function for summaries, applied to the same entities and new facts, with the
summaries that it writes itself and the last three turns of the session, where its default would
send ten turns of the group.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from graphiti_core.utils.maintenance.node_operations import extract_attributes_from_nodes

from tests.builders import receipt
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers import canned_responses, order_sensitive_responses
from tests.servers.summary_responses import described_entities
from turnetl.base.model import Episode, GroupId
from turnetl.base.text import estimate_tokens
from turnetl.episodes import chunking
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.ingestion.commit import MirroredGroup, ResolvedTurn, resolve_turn
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.embedders import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_facts import GroupFacts
from turnetl.summaries.model_summariser import PROMPT, ModelSummariser, refresh_request
from turnetl.summaries.port import SummaryInput

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = 3
_SUMMARY_CHARS = 500
_ENDS_ONE_IN = 10
"""Facts of which one ends an earlier fact."""
_UPSTREAM = "extract_nodes.extract_summaries_batch"


@dataclass
class RequestTotals:
    """Requests for summaries, and their tokens with those of the responses."""

    turns: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, request: ChatRequest, response: str) -> None:
        self.requests[name] += 1
        messages = (message.text for message in request.messages)
        self.tokens[name] += estimate_tokens(*messages, response)


class ComputedModel:
    """A model whose responses follow from their requests; counts those for summaries."""

    name = "computed"

    def __init__(self, totals: RequestTotals) -> None:
        self._totals = totals

    async def complete(self, request: ChatRequest) -> ChatResponse:
        assert request.schema is not None
        fields = request.schema.json["properties"]
        prompt = next(one.text for one in request.messages if one.role == "user")
        answer = next(answer for name, answer in _RESPONDERS.items() if name in fields)
        response = json.dumps(answer(prompt))
        if request.prompt_name == PROMPT:
            self._totals.add("gated", request, response)
        elif request.prompt_name == _UPSTREAM:
            self._totals.add("add_episode", request, response)
        return ChatResponse(response, 0, 0, truncated=False)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


async def count_requests(
    group: GroupId,
    episodes: Sequence[Episode],
    embedder: Embedder,
    totals: RequestTotals,
    *,
    extractor_name: str,
) -> None:
    """Ingest the turns of one group in memory, as one run would, and count its requests."""
    model = ComputedModel(totals)
    extractor = _extractor(model, embedder, extractor_name)
    empty = empty_contents(group)
    mirror = MirrorGroup(empty)
    summaries = SummaryRules(ModelSummariser(model), GateLimits()).of_group(empty)
    upstream, each = _Upstream(model, embedder), _OneForEach(totals)
    sessions: dict[str, list[Episode]] = {}
    ordered = sorted(episodes, key=lambda one: (one.turn.started_at, one.turn_id))
    for number, episode in enumerate(ordered, start=1):
        session = sessions.setdefault(episode.turn.session_id, [])
        context = session[-CONTEXT:]
        extracted = await extractor.extract(episode, context)
        session.append(episode)
        resolved = await resolve_turn(
            extractor,
            embedder,
            episode,
            extracted,
            MirroredGroup(mirror, summaries),
            run_id="",
            now=NOW,
            ends_run=number == len(ordered),
        )
        totals.reasons.update(resolved.summary_reasons)
        mirror.apply(resolved.for_mirror, receipt(episode))
        summaries.apply(resolved.change)
        await upstream.summarise(resolved, context, mirror)
        each.summarise(resolved, mirror)
        totals.turns += 1


class _Upstream:
    """The summaries of `add_episode`, by uuid."""

    def __init__(self, model: ComputedModel, embedder: Embedder) -> None:
        self._texts: dict[str, str] = {}
        self._clients = CheckedClients(
            model, GraphitiEmbedder(embedder), MirrorDriver(), style="graphiti"
        )

    async def summarise(
        self, resolved: ResolvedTurn, context: Sequence[Episode], mirror: MirrorGroup
    ) -> None:
        change = resolved.change
        before = {fact.uuid for fact in change.facts_before}
        nodes = []
        for uuid in change.mentions:
            entity = mirror.entity(uuid)
            assert entity is not None
            text = self._texts.get(uuid, "")
            nodes.append(convert.to_node(replace(entity, summary=text)))
        await extract_attributes_from_nodes(
            self._clients.bundle,
            nodes,
            convert.to_episodic_node(change.episode, change.episode.text),
            [convert.to_episodic_node(turn, turn.text) for turn in context],
            edges=[convert.to_edge(fact) for fact in change.facts if fact.uuid not in before],
        )
        self._clients.check()
        self._texts |= {node.uuid: node.summary for node in nodes}


class _OneForEach:
    """One request for every entity that a turn mentions."""

    def __init__(self, totals: RequestTotals) -> None:
        self._totals = totals
        self._facts = GroupFacts(())

    def summarise(self, resolved: ResolvedTurn, mirror: MirrorGroup) -> None:
        change = resolved.change
        before = {fact.uuid for fact in change.facts_before}
        for fact in change.facts:
            self._facts.put(fact)
        new = frozenset(fact.uuid for fact in change.facts if fact.uuid not in before)
        for uuid in change.mentions:
            entity = mirror.entity(uuid)
            assert entity is not None
            active = self._facts.active_about(uuid)
            given = SummaryInput(
                entity, _summary(entity.name), active, new, (), self._facts.degrees(active, {})
            )
            response = json.dumps(_summaries_of([(1, entity.name)]))
            self._totals.add("each", refresh_request([given]), response)


def _extractor(model: ComputedModel, embedder: Embedder, name: str) -> Extractor[Any]:
    llm = LlmExtractor(
        model, embedder, prompts=fixed_prompt(None), split_text=chunking.split_in_half
    )
    return llm if name == "llm" else HybridExtractor(StructuralExtractor(), llm)


def _duplicates(prompt: str) -> dict[str, Any]:
    """Return the facts that repeat the new one, and sometimes one that it ends."""
    found = canned_responses.RESPONDERS["duplicate_facts"](prompt)
    new = canned_responses.between(prompt, "NEW FACT")
    candidates = re.findall(r"'idx': (\d+)", prompt)
    if hashlib.sha256(new.encode()).digest()[0] % _ENDS_ONE_IN == 0 and candidates:
        ended = next(
            (int(one) for one in candidates if int(one) not in found["duplicate_facts"]), None
        )
        found["contradicted_facts"] += [] if ended is None else [ended]
    return found


def _upstream_summaries(prompt: str) -> dict[str, Any]:
    names = dict.fromkeys(re.findall(r'"name": "((?:[^"\\]|\\.)+)"', prompt))
    texts = [json.loads(f'"{name}"') for name in names]
    return {"summaries": [{"name": name, "summary": _summary(name)} for name in texts]}


def _our_summaries(prompt: str) -> dict[str, Any]:
    return _summaries_of(
        (number, text.splitlines()[0]) for number, text in described_entities(prompt).items()
    )


def _summaries_of(entities: Any) -> dict[str, Any]:
    return {
        "entity_summaries": [
            {"number": number, "summary": _summary(name)} for number, name in entities
        ]
    }


def _summary(name: str) -> str:
    words = f"{name} is what this is about, with what was decided, changed and left open. "
    return (words * (_SUMMARY_CHARS // len(words) + 1))[:_SUMMARY_CHARS]


_RESPONDERS: dict[str, Callable[[str], dict[str, Any]]] = {
    **canned_responses.RESPONDERS,
    **order_sensitive_responses.EXTRACTION_RESPONDERS,
    "duplicate_facts": _duplicates,
    "entity_summaries": _our_summaries,
    "summaries": _upstream_summaries,
}
