"""The sections of the settings: their defaults and what they reject."""

from pathlib import Path
from typing import get_args

import pytest

from turnetl.base.errors import BadUsage
from turnetl.cli.options import ExtractorOption
from turnetl.extraction.config import ExtractionConfig, GroupConfig
from turnetl.llm.embedders import EMBEDDERS
from turnetl.llm.providers.registry import PROVIDERS
from turnetl.settings import (
    BudgetSettings,
    ExtractorName,
    ModelSettings,
    NoiseSettings,
    Settings,
    model_intent,
    read_settings,
)
from turnetl.settings.sections import EmbedderName, Provider


def test_the_settings_know_the_providers_the_embedders_and_the_extractors() -> None:
    assert get_args(Provider) == (*PROVIDERS, "none")
    assert get_args(EmbedderName) == EMBEDDERS
    offered, _ = get_args(get_args(ExtractorOption)[0])
    assert offered == ExtractorName


def settings(**environment: str) -> Settings:
    variables = {f"TURNETL_{name}": value for name, value in environment.items()}
    return read_settings(variables, config=None, home=Path("/nowhere"), arguments={}).settings


def test_by_default_nothing_is_limited_and_responses_are_stored() -> None:
    defaults = settings()
    assert (defaults.llm.requests_per_minute, defaults.llm.tokens_per_minute) == (None, None)
    assert (defaults.budget.tokens, defaults.budget.usd) == (None, None)
    assert (defaults.embedder.provider, defaults.journal) == ("local", True)
    assert (defaults.prefetch, defaults.invalidation_alert) == (16, 10)


def test_an_invalid_value_is_rejected_with_the_name_of_its_variable(
    subtests: pytest.Subtests,
) -> None:
    for variable, value in [
        ("LLM__REQUESTS_PER_MINUTE", "0"),
        ("LLM__TOKENS_PER_MINUTE", "many"),
        ("LLM__TIMEOUT_SECONDS", "nan"),
        ("LLM__TIMEOUT_SECONDS", "0"),
        ("LLM__BASE_URL", "localhost:11434"),
        ("LLM__MODELS", "dedupe_nodes"),
        ("LLM__MODELS", "=small"),
        ("BUDGET__TOKENS", "-1"),
        ("BUDGET__TOKENS", "5usd"),
        ("BUDGET__USD", "0"),
        ("BUDGET__USD", "200k tokens"),
        ("BUDGET__USD", "inf"),
        ("EMBEDDER__PROVIDER", "other"),
        ("EMBEDDER__DIMENSIONS", "0"),
        ("INVALIDATION_ALERT", "-1"),
        ("JOURNAL", "perhaps"),
        ("PREFETCH", "0"),
        ("JOBS", "0"),
        ("CLOSE_AFTER_MINUTES", "-1"),
        ("CLOSE_AFTER_MINUTES", "nan"),
        ("CLOSE_AFTER_MINUTES", "inf"),
        ("CLOSE_AFTER_MINUTES", "1e12"),
    ]:
        with (
            subtests.test(variable=variable),
            pytest.raises(BadUsage, match=f"`TURNETL_{variable}`"),
        ):
            settings(**{variable: value})


def test_models_of_prompts_are_set_together_or_one_by_one() -> None:
    together = settings(LLM__MODELS="dedupe_nodes=small, extract_edges.extract_timestamps=tiny,")
    assert together.llm.models == {
        "dedupe_nodes": "small",
        "extract_edges.extract_timestamps": "tiny",
    }
    assert settings(LLM__MODELS__DEDUPE_NODES="small").llm.models == {"dedupe_nodes": "small"}


def test_an_embedder_behind_a_url_needs_a_model_and_a_server_or_a_key() -> None:
    with pytest.raises(BadUsage, match=r"`embedder\.model`"):
        settings(EMBEDDER__PROVIDER="openai-compatible", EMBEDDER__BASE_URL="http://x/v1")
    embedder = {"EMBEDDER__PROVIDER": "openai-compatible", "EMBEDDER__MODEL": "small"}
    with pytest.raises(BadUsage, match=r"`embedder\.base_url`"):
        settings(**embedder)
    assert settings(**embedder, EMBEDDER__API_KEY="a").embedder.base_url is None


def test_budgets_are_numbers_or_amounts() -> None:
    budget = settings(BUDGET__TOKENS="200k", BUDGET__USD="5usd").budget
    assert (budget.tokens, budget.usd) == (200_000, 5.0)
    assert settings(BUDGET__TOKENS="200000").budget.tokens == 200_000
    assert settings(BUDGET__USD="none").budget.usd is None


def test_without_a_graph_it_is_a_file_in_the_lake() -> None:
    assert settings(LAKE="/x/lake").graph_url == "ladybug:///x/lake/graph.lbug"


def test_the_extractor_is_structural_unless_a_provider_is_set() -> None:
    assert settings().extractor_name == "structural"
    assert settings(LLM__PROVIDER="openai").extractor_name == "llm"
    assert settings(LLM__PROVIDER="openai", EXTRACTOR="hybrid").extractor_name == "hybrid"


def test_close_after_minutes_may_be_a_fraction() -> None:
    assert settings(CLOSE_AFTER_MINUTES="0.5").close_after_minutes == 0.5


def test_jobs_are_one_per_core_by_default() -> None:
    assert (settings().jobs, settings(JOBS="3").jobs) == (None, 3)


def test_paths_may_begin_with_a_tilde() -> None:
    assert settings(GROUP_MAP="~/groups.toml").group_map == Path.home() / "groups.toml"
    assert settings(LAKE="~/lake").lake == Path.home() / "lake"
    rules = settings(NOISE__RULES="~/noise.toml").noise
    assert rules.rules == Path.home() / "noise.toml"
    merged = rules.merged((), (), Path("~/other.toml"))
    assert merged.rules == Path.home() / "other.toml"


def test_rules_of_one_run_win_over_those_of_the_settings() -> None:
    before = settings(NOISE__DISABLE="copy,repeat", NOISE__ENABLE="x").noise
    merged = before.merged(("x",), ("copy",), None)
    assert (merged.disable, merged.enable) == (("repeat", "x"), ("copy",))
    assert before.merged((), (), None) == before


def test_names_of_rules_must_be_texts() -> None:
    assert NoiseSettings.model_validate({"disable": ["repeat,copy"]}).disable == ("repeat", "copy")
    with pytest.raises(ValueError, match="disable"):
        NoiseSettings.model_validate({"disable": [7]})


@pytest.mark.parametrize(("value", "redacts"), [("1", True), ("true", True), ("0", False)])
def test_pii_is_redacted_on_request(value: str, redacts: bool) -> None:
    assert settings().redact_pii is False
    assert settings(REDACT_PII=value).redact_pii is redacts


def test_an_embedder_is_named_with_its_model_or_the_model_apart() -> None:
    together = settings(EMBEDDER__PROVIDER="fastembed:BAAI/bge-small-en-v1.5").embedder
    apart = settings(EMBEDDER__PROVIDER="fastembed", EMBEDDER__MODEL="BAAI/bge-small-en-v1.5")
    assert (together.provider, together.model) == ("fastembed", "BAAI/bge-small-en-v1.5")
    assert together == apart.embedder
    assert settings(EMBEDDER__PROVIDER="minilm").embedder.model is None
    folder = settings(EMBEDDER__PROVIDER="~/models/small").embedder
    assert (folder.provider, folder.model) == ("fastembed", "~/models/small")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"EMBEDDER__PROVIDER": "fastembed"}, "needs `embedder.model` too"),
        ({"EMBEDDER__PROVIDER": "fastembed:"}, "needs `embedder.model` too"),
        (
            {"EMBEDDER__PROVIDER": "fastembed:a/b", "EMBEDDER__MODEL": "c"},
            "`fastembed:a/b` and `embedder.model` name two models",
        ),
        (
            {"EMBEDDER__PROVIDER": "fastembed:a/b", "EMBEDDER__DIMENSIONS": "8"},
            "`fastembed` has the dimensions of its model",
        ),
    ],
)
def test_fastembed_needs_one_model(values: dict[str, str], message: str) -> None:
    with pytest.raises(BadUsage, match=message):
        settings(**values)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(llm=ModelSettings(concurrency=2, requests_per_minute=5, timeout_seconds=9)),
        Settings(extraction=ExtractionConfig(preprocessing_prompt=None, ontology=None)),
        Settings(extraction=ExtractionConfig(groups={"shop": GroupConfig(reflexion=0)})),
    ],
)
def test_defaults_limits_and_what_is_switched_off_are_not_meant_for_a_model(
    settings: Settings,
) -> None:
    assert model_intent(settings) == ()


def test_settings_that_are_meant_for_a_model_are_named() -> None:
    settings = Settings(
        llm=ModelSettings(model="canned", models={"small": "tiny"}),
        budget=BudgetSettings(tokens=5),
        extraction=ExtractionConfig(
            groups={"shop": GroupConfig(reflexion=1, kinds={})}, ontology="mine.toml"
        ),
    )
    assert model_intent(settings) == (
        *("budget.tokens", "llm.model", "llm.models"),
        *("extraction.reflexion", "extraction.ontology"),
    )
