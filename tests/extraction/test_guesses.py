"""Guesses of how entities and facts are resolved, on the prompts that Graphiti writes."""

import json

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.llm import LlmExtractor, fact_batches
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.llm import retry
from turnetl.llm.chat import ChatMessage, ChatRequest

ENTITIES, FACTS = "dedupe_nodes.nodes", "dedupe_edges.resolve_edge"
GUESSES = ResolutionGuesses()


async def requests_of(prompt: str) -> list[ChatRequest]:
    """Return the requests with one prompt that the sample turns send."""
    model = CannedModel()
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None))
    group = sample_turns.empty_group()
    await sample_turns.ingest(extractor, sample_turns.episodes(), group, ToyEmbedder())
    return model.prompts(prompt)


@pytest.mark.parametrize("prompt", [ENTITIES, FACTS])
async def test_every_guess_is_a_valid_response(prompt: str) -> None:
    requests = await requests_of(prompt)
    assert requests
    for request in requests:
        guess = GUESSES.guess(request)
        assert guess is not None
        retry.check_response(guess, request.schema)
        assert GUESSES.agrees(request, guess, f"```json\n{guess}\n```")


def of_entities(new: list[str], existing: list[str]) -> ChatRequest:
    entities = [{"id": number, "name": name} for number, name in enumerate(new)]
    known = [{"candidate_id": number, "name": name} for number, name in enumerate(existing)]
    text = f"<ENTITIES>\n{json.dumps(entities)}\n</ENTITIES>\n"
    text += f"<EXISTING ENTITIES>\n{json.dumps(known)}\n</EXISTING ENTITIES>"
    return ChatRequest(ENTITIES, (ChatMessage("user", text),), None, 100)


def test_an_entity_is_the_candidate_of_its_name_or_new() -> None:
    guess = GUESSES.guess(of_entities(["Cart  Store", "tax"], ["Tax rules", "cart store", "Tax"]))
    assert guess is not None
    found = json.loads(guess)["entity_resolutions"]
    assert [(one["id"], one["duplicate_candidate_id"]) for one in found] == [(0, 1), (1, 2)]
    new = GUESSES.guess(of_entities(["invoice"], ["Tax"]))
    assert new is not None
    assert json.loads(new)["entity_resolutions"][0]["duplicate_candidate_id"] == -1


def test_a_response_agrees_if_it_has_the_same_effect() -> None:
    request = of_entities(["cart", "tax"], ["cart"])
    guess = GUESSES.guess(request)
    assert guess is not None

    def response(*candidates: int) -> str:
        resolutions = [
            {"id": number, "name": "any", "duplicate_candidate_id": candidate}
            for number, candidate in enumerate(candidates)
        ]
        return json.dumps({"entity_resolutions": resolutions[::-1]})

    assert GUESSES.agrees(request, guess, response(0, -1))
    assert GUESSES.agrees(request, guess, response(0, -7))
    assert not GUESSES.agrees(request, guess, response(0, 0))
    assert not GUESSES.agrees(request, guess, "no JSON")
    assert not GUESSES.agrees(request, guess, '{"entity_resolutions": [{"id": 0}]}')


def test_a_fact_that_is_known_or_contradicts_another_shows_a_wrong_guess() -> None:
    request = ChatRequest(FACTS, (ChatMessage("user", "any"),), None, 100)
    guess = GUESSES.guess(request)
    assert guess is not None
    for duplicates, contradicted, agrees in (([], [], True), ([1], [], False), ([], [2], False)):
        text = json.dumps({"duplicate_facts": duplicates, "contradicted_facts": contradicted})
        assert GUESSES.agrees(request, guess, text) is agrees


@pytest.mark.parametrize(
    ("count", "ids", "agrees"),
    [
        (1, [0], True),
        (1, [1], True),
        (1, [0, 1], True),
        (2, [22, 11], True),
        (2, [11, 11, 22], True),
        (2, [11], False),
        (2, [1, 2], False),
        (2, [11, 22, 33], False),
    ],
)
def test_a_guess_about_several_facts_is_right_if_each_fact_gets_the_same_response(
    count: int, ids: list[int], *, agrees: bool
) -> None:
    question = ChatRequest(FACTS, (ChatMessage("user", "rules"), ChatMessage("user", "a")), None, 9)
    request = fact_batches.combined_request([question] * count)
    guess = GUESSES.guess(request)
    assert guess is not None
    no_other: dict[str, list[int]] = {"duplicate_facts": [], "contradicted_facts": []}
    text = json.dumps({"fact_resolutions": [{"id": one, **no_other} for one in ids]})
    assert GUESSES.agrees(request, guess, text) is agrees


@pytest.mark.parametrize("text", ["", "<ENTITIES>\n[\n</ENTITIES>", "<ENTITIES>\n[1]\n</ENTITIES>"])
def test_another_prompt_has_no_guess(text: str) -> None:
    assert GUESSES.guess(ChatRequest(ENTITIES, (ChatMessage("user", text),), None, 100)) is None
    assert GUESSES.guess(ChatRequest("another", (ChatMessage("user", text),), None, 100)) is None
