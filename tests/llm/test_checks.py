"""Checks of a model: one request of each kind before a run."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.extraction.canned_model import CannedModel
from tests.printed import printed
from tests.servers.provider import KEY, FakeProvider, Fault
from tests.servers.summary_responses import RESPONDERS
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.base.model import Usage
from turnetl.base.results import plain
from turnetl.extraction.model_checks import reflexion_requests
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.checks import CheckResult, ModelCheck
from turnetl.llm.checks.check import check
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import PROVIDERS, open_model, open_models
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.summaries.refresh_check import refresh_check
from turnetl.views import model as report

PROMPTS = [
    "extract_nodes.extract_message",
    "dedupe_nodes.nodes",
    "extract_edges.edge",
    "dedupe_edges.resolve_edge",
    "extract_edges.extract_timestamps",
    "extract_nodes.extract_message of a long turn",
]


class CodeFile(BaseModel):
    """A file."""

    language: str | None = Field(default=None, description="that it is written in")


def with_stack(model: ChatModel) -> ChatModel:
    meter = Meter(Prices(({"*": Price(input=1, cached_input=1, output=2)},)))
    shared = ModelStack(
        journal=None,
        budget=None,
        retry_policy=RetryPolicy(attempts=2, first_wait=0, max_responses=2),
        limiter=Limiter(Slots(4)),
        meter=meter,
    )
    return wrap(model, shared)


@pytest.fixture
async def model(provider: FakeProvider) -> AsyncIterator[ChatModel]:
    url = provider.base_url("openai-compatible")
    opened = with_stack(open_model("openai-compatible", model="m", base_url=url, api_key=KEY))
    yield opened
    await opened.close()


def problems(results: Sequence[CheckResult]) -> dict[str, str]:
    return {result.prompt_name: result.problem for result in results if not result.passed}


@pytest.mark.parametrize("provider_name", PROVIDERS)
async def test_a_capable_model_passes_all_checks(
    provider: FakeProvider, provider_name: str
) -> None:
    http_model = open_model(
        provider_name, model="m", base_url=provider.base_url(provider_name), api_key=KEY
    )
    results = await check(http_model)
    await http_model.close()
    assert problems(results) == {}
    assert [result.prompt_name for result in results] == PROMPTS
    assert {result.model for result in results} == {f"{provider_name}/m"}
    assert len(provider.requests) == len(PROMPTS)


@pytest.mark.parametrize(
    ("provider_name", "name"),
    [
        ("openai", "gpt-6-luna"),
        ("openai", "gpt-4.1-mini"),
        ("anthropic", "claude-sonnet-5"),
        ("anthropic", "claude-3-5-haiku-latest"),
        ("gemini", "gemini-3-flash"),
        ("openai-compatible", "openai/gpt-5-mini"),
    ],
)
async def test_models_of_every_generation_get_parameters_they_support(
    provider: FakeProvider, provider_name: str, name: str
) -> None:
    http_model = open_model(
        provider_name, model=name, base_url=provider.base_url(provider_name), api_key=KEY
    )
    results = await check(http_model, instructions="Look for whales. " * 300)
    await http_model.close()
    assert problems(results) == {}


async def test_each_result_has_tokens_seconds_and_cost(
    model: ChatModel, provider: FakeProvider
) -> None:
    first, *_ = await check(model)
    assert (first.usage.calls, first.usage.prompt_tokens) == (1, 100)
    assert first.usage.completion_tokens == 10
    assert first.usage.seconds > 0
    assert first.usage.cost == pytest.approx(120e-6)
    assert provider.requests


async def test_types_with_fields_have_a_request_of_their_own(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.responders = {**RESPONDERS, "language": lambda _: {"language": "Python"}}
    results = await check(model, entity_types={"File": CodeFile})
    assert problems(results) == {}
    assert "extract_nodes.extract_attributes" in [result.prompt_name for result in results]
    assert "A file." in provider.requests[0].messages[1][1]


async def test_a_reflexion_pass_is_checked_too(model: ChatModel, provider: FakeProvider) -> None:
    provider.responders = {
        **RESPONDERS,
        "missed_entities": lambda _: {"missed_entities": ["sqlite"]},
        "missed_facts": lambda _: {"missed_facts": []},
    }
    results = await check(model, extra_requests=reflexion_requests())
    assert [result.prompt_name for result in results][-2:] == [
        "reflexion.entities",
        "reflexion.facts",
    ]
    assert problems(results) == {
        "reflexion.facts": "finds no fact, although the only one is missing from the list"
    }


@pytest.mark.parametrize(
    ("summaries", "expected"),
    [
        ([{"number": 1, "summary": "It keeps orders in sqlite."}], ""),
        ([], "returns no summary of `cart.py`"),
        ([{"number": 2, "summary": "A database."}], "the prompt does not contain"),
        ([{"number": 1, "summary": " "}], "an empty summary"),
    ],
)
async def test_the_request_for_summaries_is_checked_too(
    model: ChatModel, provider: FakeProvider, summaries: list[Any], expected: str
) -> None:
    provider.responders = {
        **RESPONDERS,
        "entity_summaries": lambda _: {"entity_summaries": summaries},
    }
    results = await check(model, extra_requests=[refresh_check()])
    assert results[-1].prompt_name == "summaries.refresh"
    assert expected in results[-1].problem
    assert bool(expected) == bool(results[-1].problem)


async def test_the_requests_contain_the_instructions_of_the_run(
    model: ChatModel, provider: FakeProvider
) -> None:
    await check(model, instructions="Look for whales.")
    assert [
        "Look for whales." in received.messages[1][1] for received in provider.requests[:3]
    ] == [
        True,
        False,
        True,
    ]


WRONG_RESPONSES: list[tuple[str, Any, str]] = [
    ("extracted_entities", {"extracted_entities": []}, "`cart.py` and `sqlite`"),
    (
        "extracted_entities",
        {"extracted_entities": [{"name": "cart.py", "entity_type_id": 0}]},
        "does not find `sqlite`",
    ),
    (
        "extracted_entities",
        {
            "extracted_entities": [
                {"name": "cart.py", "entity_type_id": 0},
                {"name": "sqlite", "entity_type_id": 7},
            ]
        },
        "was not offered",
    ),
    (
        "extracted_entities",
        {"extracted_entities": [{"name": "Lockheed Martin", "entity_type_id": 0}]},
        "names `lockheed martin`, which the text does not contain: see `extraction.prompts`",
    ),
    ("edges", {"edges": []}, "finds no fact"),
    (
        "edges",
        {
            "edges": [
                {
                    "source_entity_name": "cart.py",
                    "target_entity_name": "postgres",
                    "relation_type": "USES",
                    "fact": "cart.py uses postgres",
                }
            ]
        },
        "the prompt does not contain",
    ),
    ("entity_resolutions", {"entity_resolutions": []}, "instead of 0 and 1"),
    (
        "entity_resolutions",
        {
            "entity_resolutions": [
                {"id": 0, "name": "cart.py", "duplicate_candidate_id": 9},
                {"id": 1, "name": "sqlite", "duplicate_candidate_id": -1},
            ]
        },
        "a candidate that does not exist",
    ),
    (
        "entity_resolutions",
        {
            "entity_resolutions": [
                {"id": 0, "name": "cart.py", "duplicate_candidate_id": -1},
                {"id": 1, "name": "sqlite", "duplicate_candidate_id": -1},
            ]
        },
        "does not resolve `Cart.py`",
    ),
    (
        "entity_resolutions",
        {
            "entity_resolutions": [
                {"id": 0, "name": "cart.py", "duplicate_candidate_id": 1},
                {"id": 1, "name": "sqlite", "duplicate_candidate_id": 0},
            ]
        },
        "resolves `sqlite` to another entity",
    ),
    (
        "duplicate_facts",
        {"duplicate_facts": [0], "contradicted_facts": [5]},
        "a fact that does not exist",
    ),
    (
        "duplicate_facts",
        {"duplicate_facts": [], "contradicted_facts": []},
        "does not recognise a repeated fact",
    ),
    (
        "duplicate_facts",
        {"duplicate_facts": [0], "contradicted_facts": [1]},
        "nothing contradicts",
    ),
    ("valid_at", {"valid_at": None, "invalid_at": None}, "no valid time"),
    ("valid_at", {"valid_at": "last Tuesday"}, "no valid time"),
]


@pytest.mark.parametrize(("field", "response", "expected"), WRONG_RESPONSES)
async def test_each_wrong_response_has_a_description(
    model: ChatModel, provider: FakeProvider, field: str, response: Any, expected: str
) -> None:
    provider.responders = {**RESPONDERS, field: lambda _: response}
    results = problems(await check(model))
    # Entities are requested for a text of two lines and for a long one.
    assert len(results) == (2 if field == "extracted_entities" else 1)
    assert all(expected in problem for problem in results.values())


async def test_a_server_that_drops_the_start_of_a_long_prompt_is_detected(
    model: ChatModel, provider: FakeProvider
) -> None:
    respond = RESPONDERS["extracted_entities"]
    provider.responders = {
        **RESPONDERS,
        "extracted_entities": lambda prompt: (
            respond(prompt) if len(prompt) < 16_000 else {"extracted_entities": []}
        ),
    }
    assert list(problems(await check(model))) == [PROMPTS[-1]]


@pytest.mark.parametrize("text", ["Sure, here you are: cart.py.", "", "[]", "{"])
async def test_a_model_without_structured_output_fails_every_check(
    model: ChatModel, provider: FakeProvider, text: str
) -> None:
    provider.responses = [text] * 50
    results = await check(model)
    assert set(problems(results)) == set(PROMPTS)
    assert all(
        problem.startswith("returned 2 invalid responses") for problem in problems(results).values()
    )
    assert all(result.usage.calls == 2 for result in results)


async def test_a_schema_violation_is_reported_without_a_stack_too(
    provider: FakeProvider,
) -> None:
    url = provider.base_url("anthropic")
    http_model = open_model("anthropic", model="m", base_url=url, api_key=KEY)
    provider.responses = ['{"other": 1}', "prose"]
    first, second, *_ = await check(http_model)
    await http_model.close()
    assert first.problem.startswith("does not match the schema: extracted_entities")
    assert "not JSON" in second.problem


async def test_a_rejected_request_fails_only_its_own_check(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.faults = [Fault(400, '{"error": {"message": "no such thing"}}')]
    results = problems(await check(model))
    assert list(results) == [PROMPTS[0]]
    assert "no such thing" in results[PROMPTS[0]]


class SlowWithLongTurns(CannedModel):
    """A model that responds to a long prompt after the timeout."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if request.characters > 20_000:
            raise ModelBusy("no response within 120 s", timed_out=True)
        return await super().complete(request)


async def test_a_prompt_that_takes_too_long_fails_only_its_own_check() -> None:
    steps: list[tuple[int, int]] = []
    results = await check(SlowWithLongTurns(), on_result=lambda *step: steps.append(step))
    assert problems(results) == {PROMPTS[-1]: "did not respond in time: see `llm.timeout_seconds`"}
    assert steps == [(done, len(PROMPTS)) for done in range(len(PROMPTS) + 1)]


async def test_a_wrong_key_stops_at_the_first_request(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.faults = [Fault(401)]
    with pytest.raises(ModelUnusable, match="API key"):
        await check(model)
    assert len(provider.requests) == 1


async def test_each_request_goes_to_the_model_of_its_prompt(provider: FakeProvider) -> None:
    opened = open_models(
        "openai",
        model="big",
        models={"small": "little"},
        base_url=provider.base_url("openai"),
        api_key=KEY,
        wrapper=with_stack,
    )
    results = {result.prompt_name: result.model for result in await check(opened)}
    await opened.close()
    assert results["extract_nodes.extract_message"] == "openai/big"
    assert results["dedupe_edges.resolve_edge"] == "openai/little"
    assert [received.body["model"] for received in provider.requests].count("little") == 2


PASSED = CheckResult("extract_edges.edge", "openai/m", "", Usage(1, 1_200, 30, 0.0012, 0, 1.25))
FAILED = CheckResult(
    "dedupe_nodes.nodes", "openai/m", "is [wrong]", Usage(2, 2_000, 60, None, 0, 2)
)
BOTH = ModelCheck((PASSED, FAILED))


def rendered(*results: CheckResult) -> str:
    return printed(report.check_view(ModelCheck(results)), 140)


def test_the_report_shows_models_problems_and_cost() -> None:
    assert "`openai/m` can complete every prompt of a run; the check cost $0.0012" in rendered(
        PASSED
    )
    text = rendered(PASSED, FAILED)
    assert "can complete 1 of 2" in text
    assert "is [wrong]" in text
    assert "unknown" in text
    assert "1,200" in text


def test_the_json_adds_up() -> None:
    output = plain(BOTH)
    assert output["passed"] is False
    assert output["usage"]["prompt_tokens"] == 3_200
    assert output["usage"]["cost"] is None
    assert [result["problem"] for result in output["checks"]] == [None, "is [wrong]"]
    assert output["models"] == ["openai/m"]


def test_a_failed_check_sets_the_exit_code() -> None:
    assert (report.check_exit_code(ModelCheck((PASSED,))), report.check_exit_code(BOTH)) == (0, 1)
    assert report.check_messages(BOTH) == ["`dedupe_nodes.nodes`: is [wrong]"]
