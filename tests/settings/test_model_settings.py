"""Settings of models, embedders and budgets."""

import pytest

from turnetl.errors import BadUsage
from turnetl.settings import Settings, read_settings, units


def settings(**environment: str) -> Settings:
    named = {f"TURNETL_{name}": value for name, value in environment.items()}
    return read_settings(named, config=None, folders=(), arguments={})


def test_without_anything_said_nothing_is_limited_and_answers_are_kept() -> None:
    said = settings()
    assert (said.llm.requests_per_minute, said.llm.tokens_per_minute) == (None, None)
    assert (said.budget.tokens, said.budget.money) == (None, None)
    assert (said.embedder.provider, said.journal) == ("local", True)
    assert (said.prefetch, said.invalidation_alert) == (16, 10)


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        ("LLM__REQUESTS_PER_MINUTE", "0"),
        ("LLM__TOKENS_PER_MINUTE", "many"),
        ("LLM__TIMEOUT_SECONDS", "nan"),
        ("LLM__TIMEOUT_SECONDS", "0"),
        ("LLM__BASE_URL", "localhost:11434"),
        ("LLM__MODELS", "dedupe_nodes"),
        ("LLM__MODELS", "=small"),
        ("BUDGET__TOKENS", "-1"),
        ("BUDGET__TOKENS", "5usd"),
        ("BUDGET__MONEY", "0"),
        ("BUDGET__MONEY", "200k tokens"),
        ("BUDGET__MONEY", "inf"),
        ("EMBEDDER__PROVIDER", "other"),
        ("EMBEDDER__DIMENSIONS", "0"),
        ("INVALIDATION_ALERT", "-1"),
        ("JOURNAL", "perhaps"),
        ("AHEAD", "0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_the_name_of_its_variable(
    variable: str, wrong: str
) -> None:
    with pytest.raises(BadUsage, match=f"`TURNETL_{variable}`"):
        settings(**{variable: wrong})


def test_models_of_some_prompts_are_said_together_or_one_by_one() -> None:
    together = settings(LLM__MODELS="dedupe_nodes=small, extract_edges.extract_timestamps=tiny,")
    assert together.llm.models == {
        "dedupe_nodes": "small",
        "extract_edges.extract_timestamps": "tiny",
    }
    assert settings(LLM__MODELS__DEDUPE_NODES="small").llm.models == {"dedupe_nodes": "small"}


def test_a_name_that_is_set_as_a_whole_and_in_parts_is_refused() -> None:
    with pytest.raises(BadUsage, match="both `TURNETL_LLM__MODELS` and `TURNETL_LLM__MODELS__B`"):
        settings(LLM__MODELS="a=small", LLM__MODELS__B="tiny")


def test_an_embedder_behind_a_url_needs_all_that_it_is_asked_with() -> None:
    with pytest.raises(BadUsage, match=r"`embedder\.model`"):
        settings(EMBEDDER__PROVIDER="openai-compatible", EMBEDDER__BASE_URL="http://x/v1")
    named = {"EMBEDDER__PROVIDER": "openai-compatible", "EMBEDDER__MODEL": "small"}
    with pytest.raises(BadUsage, match=r"`embedder\.base_url`"):
        settings(**named)
    assert settings(**named, EMBEDDER__API_KEY="a").embedder.base_url is None


def test_what_a_section_is_told_wrong_is_said_of_the_setting_and_of_no_type() -> None:
    with pytest.raises(BadUsage, match=r"setting `llm\.base_url` \(environment"):
        settings(LLM__BASE_URL="x")
    with pytest.raises(
        BadUsage, match=r"unknown setting `budget\.cents`.*known are budget\.tokens"
    ):
        settings(BUDGET__CENTS="5")


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("5usd", {"money": 5.0}),
        ("$5", {"money": 5.0}),
        ("$ 2.50", {"money": 2.5}),
        ("2.50", {"money": 2.5}),
        (".5", {"money": 0.5}),
        ("20 dollars", {"money": 20.0}),
        ("200k tokens", {"tokens": 200_000}),
        ("200k", {"tokens": 200_000}),
        ("1.5M tokens", {"tokens": 1_500_000}),
        ("1.5m-tokens", {"tokens": 1_500_000}),
        ("200,000 tokens", {"tokens": 200_000}),
        ("none", {"money": None, "tokens": None}),
    ],
)
def test_a_budget_is_said_as_people_say_it(said: str, means: dict[str, float | None]) -> None:
    assert units.parse_budget([said]) == means


def test_a_budget_of_each_kind_holds_both() -> None:
    assert units.parse_budget(["5usd", "1m"]) == {"money": 5.0, "tokens": 1_000_000}


@pytest.mark.parametrize(
    "said",
    [["5 eur"], ["five"], ["-5"], ["0"], ["$5k"], ["5usd tokens"], ["1", "2"], ["200000"], [""]],
)
def test_a_budget_that_could_be_misunderstood_is_refused(said: list[str]) -> None:
    with pytest.raises(BadUsage):
        units.parse_budget(said)


def test_settings_take_amounts_as_numbers_and_as_words() -> None:
    said = settings(BUDGET__TOKENS="200k", BUDGET__MONEY="5usd").budget
    assert (said.tokens, said.money) == (200_000, 5.0)
    assert settings(BUDGET__TOKENS="200000").budget.tokens == 200_000
    assert settings(BUDGET__MONEY="none").budget.money is None
