"""Turns with instructions are sent with Graphiti's rules, in fewer and cheaper tokens."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.extraction_dump import respond
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.canned_responses import between
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import GroupId
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.clients import prompts_of
from turnetl.extraction.llm.fact_batches import FactResolution, FactResolutions, fact_numbers
from turnetl.extraction.model_checks import fact_questions_check
from turnetl.extraction.ontology import CODING
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.llm.graphiti import GraphitiModel
from turnetl.llm.prompt_delimiters import without_sections

INSTRUCTIONS = "Look for what broke."
COMPACT = (
    ("extract_nodes", "extract_message"),
    ("extract_edges", "edge"),
    ("dedupe_nodes", "nodes"),
    ("dedupe_edges", "resolve_edge"),
)
ENTITIES, EDGES, DEDUPE, RESOLVE = (
    *("extract_nodes.extract_message", "extract_edges.edge", "dedupe_nodes.nodes"),
    "dedupe_edges.resolve_edges",
)
EARLIER = "what was said before"
CONTEXT = {
    "episode_content": "what is said now",
    "previous_episodes": [{"content": EARLIER, "timestamp": None}],
    "custom_extraction_instructions": (
        "Rules.\n<ENTITIES>\nof a template\n</ENTITIES>\n<NEW FACT>\ntoo\n</NEW FACT>"
    ),
    "entity_types": [{"entity_type_id": 0}],
    "edge_types": [{"fact_type_name": "USES"}],
    "strict_edge_types": False,
    "reference_time": "2026-03-01",
    "nodes": [{"name": "cart.py"}],
    "extracted_nodes": [{"id": 0, "name": "cart.py"}],
    "existing_nodes": [{"candidate_id": 0, "name": "Cart.py"}],
    "existing_edges": [{"idx": 0, "fact": "a"}],
    "edge_invalidation_candidates": [{"idx": 1, "fact": "b"}],
    "new_edge": "c",
}


async def ingested(instructions: str | None) -> tuple[CannedModel, MirrorGroup]:
    """Ingest the sample turns with a model whose responses depend on every candidate."""
    model, group = CannedModel(respond), sample_turns.empty_group()
    # Without signatures, which turns without instructions leave to Graphiti.
    unsigned = replace(CODING, signatures={})
    prompts = fixed_prompt(instructions)
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=prompts, ontology=unsigned)
    repeated = sample_turns.episodes(sample_turns.TURN_TEXTS * 2)[6:]
    turns = [*sample_turns.episodes(), *repeated]
    await sample_turns.ingest(extractor, turns, group, ToyEmbedder())
    return model, group


def lines(texts: Iterable[str]) -> Counter[str]:
    return Counter(line for text in texts for line in text.splitlines() if line.strip())


@pytest.mark.parametrize(("prompt_group", "name"), COMPACT)
def test_a_compact_prompt_says_all_that_graphitis_prompt_says(prompt_group: str, name: str) -> None:
    theirs, ours = (
        getattr(getattr(library, prompt_group), name)(CONTEXT)
        for library in (prompts_of("graphiti"), prompts_of("compact"))
    )
    theirs, ours = (
        lines((prompt.system.content, prompt.user.content)) for prompt in (theirs, ours)
    )
    added = ours - theirs
    if name == "nodes":
        assert (theirs - ours).total() == 1
        assert added.pop("[]") == 1
    else:
        assert not theirs - ours
    assert [line for line in added if "next message" in line] == [*added]
    assert added.total() == 1


def test_only_the_sections_of_a_turn_are_moved() -> None:
    prompt = prompts_of("compact").extract_edges.edge(CONTEXT)
    assert {"of a template", "too"} <= {*prompt.system.content.splitlines()}
    assert "USES" in prompt.system.content
    assert between(prompt.user.content, "CURRENT_MESSAGE") == "what is said now"
    assert EARLIER not in prompt.system.content


@pytest.mark.parametrize("prompt", [ENTITIES, EDGES, RESOLVE])
async def test_all_turns_share_the_beginning_of_a_prompt(prompt: str) -> None:
    model, _ = await ingested(INSTRUCTIONS)
    requests = model.prompts(prompt)
    assert len(requests) > 1
    (system,) = {request.messages[0].text for request in requests}
    assert INSTRUCTIONS in system or prompt == RESOLVE


async def test_entities_are_resolved_without_earlier_turns() -> None:
    model, _ = await ingested(INSTRUCTIONS)
    for request in model.prompts(DEDUPE):
        assert json.loads(between(request_text(request), "PREVIOUS MESSAGES")) == []
    assert any(
        between(request_text(one), "PREVIOUS_MESSAGES") != "[]" for one in model.prompts(EDGES)
    )


async def test_the_graph_is_that_of_graphitis_own_prompts() -> None:
    (compact, ours), (plain, theirs) = await ingested(INSTRUCTIONS), await ingested(None)
    assert list(ours.entities) == list(theirs.entities)
    assert list(ours.facts) == list(theirs.facts)
    assert any(fact.invalid_at for fact in ours.facts)
    assert sum(map(len, map(request_text, compact.requests))) < 0.92 * sum(
        map(len, map(request_text, plain.requests))
    )


class DelayedAtRandom(CannedModel):
    """Responds after a number of rounds of the event loop that depends on the request."""

    def __init__(self, order: int) -> None:
        super().__init__()
        self._order = order

    async def complete(self, request: ChatRequest) -> ChatResponse:
        chance = random.Random(f"{self._order} {request_text(request)}")
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        return await super().complete(request)


@pytest.mark.parametrize("order", range(3))
async def test_a_turn_with_many_facts_sends_the_same_requests_in_any_order_of_responses(
    order: int,
) -> None:
    model, group = DelayedAtRandom(order), sample_turns.empty_group()
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(INSTRUCTIONS))
    texts = [
        " ".join(f"`cart.py` {verb} `part {number}`." for number in range(40))
        for verb in ("uses", "needs")
    ]
    await sample_turns.ingest(extractor, sample_turns.episodes(texts), group, ToyEmbedder())
    assert [len(fact_numbers(request)) for request in model.prompts(RESOLVE)] == [8] * 5


async def test_without_instructions_graphitis_own_prompts_are_sent() -> None:
    model, _ = await ingested(None)
    assert not model.prompts(RESOLVE)
    assert all("next message" not in request_text(request) for request in model.requests)


def test_only_turns_with_instructions_have_the_version_of_the_compact_prompts() -> None:
    versions = [
        LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(instructions))
        .recipe_parts(GroupId("shop"))["model rules"]
        .value
        for instructions in (None, INSTRUCTIONS)
    ]
    assert ["compact" in version for version in versions] == [False, True]


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([(11, [], []), (22, [0], [])], ""),
        ([(11, [], [])], "answers the questions [11] instead of 11 and 22"),
        ([(11, [0], []), (22, [0], [])], "does not answer each question by its own lists"),
        ([(11, [], [0]), (22, [0], [])], "invalidates a fact that nothing contradicts"),
    ],
)
async def test_a_check_shows_whether_a_model_can_answer_several_questions(
    answers: list[tuple[int, list[int], list[int]]], problem: str
) -> None:
    resolutions = [
        FactResolution(id=number, duplicate_facts=repeated, contradicted_facts=contradicted)
        for number, repeated, contradicted in answers
    ]
    model = CannedModel(lambda _: FactResolutions(fact_resolutions=resolutions).model_dump())
    assert await fact_questions_check("compact").run(GraphitiModel(model)) == problem


_PIECES = ("\n", "<A>\n", "\n</A>", "<A>", "</A>", "<B>\n", "\n</B>", "text", " ")
_SECTION = re.compile(r"\n*<(A|B)>\n.*?\n</\1>\n*", re.DOTALL)


@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=20))
def test_the_first_section_of_each_name_is_taken_out_with_the_line_breaks_around_it(
    pieces: list[str],
) -> None:
    text, expected = "".join(pieces), dict[str, str]()

    def take_out(found: re.Match[str]) -> str:
        if found[1] in expected:
            return found[0]
        expected[found[1]] = found[0].strip("\n")
        return "\n\n"

    rest = _SECTION.sub(take_out, text).strip()
    assert without_sections(text, ("A", "B")) == (rest, expected)
