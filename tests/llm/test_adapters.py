"""Request bodies and parsed responses where providers differ; without a server."""

from typing import Any

import pytest
from graphiti_core.prompts.extract_edges import EdgeTimestamps, ExtractedEdges
from hypothesis import given
from hypothesis import strategies as st

from turnetl.llm.chat import ChatMessage, ChatRequest, ProviderAdapter, response_schema
from turnetl.llm.providers import schemas
from turnetl.llm.providers.anthropic import AnthropicAdapter
from turnetl.llm.providers.gemini import GeminiAdapter
from turnetl.llm.providers.openai import OpenAiAdapter, OpenAiCompatibleAdapter
from turnetl.llm.providers.schemas import bounded

SHORT, LONG = "You extract facts.", "You extract facts. " * 300
TEXT = '{"edges": []}'


def request(system: str = SHORT) -> ChatRequest:
    messages = (ChatMessage("system", system), ChatMessage("user", "`cart.py` uses `sqlite`."))
    return ChatRequest("extract_edges.edge", messages, response_schema(ExtractedEdges), 16384)


def compatible(model: str) -> OpenAiCompatibleAdapter:
    return OpenAiCompatibleAdapter(model, "http://localhost:8080/v1")


def openai_body(
    message: dict[str, Any], finish_reason: str = "stop", **usage: Any
) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("gpt-4.1-mini", None),
        ("gpt-5-mini", "minimal"),
        ("gpt-5.1", "none"),
        ("gpt-5.4-nano", "none"),
        ("gpt-5.5-pro", None),
        ("gpt-5.2-chat-latest", None),
        ("gpt-5.1-codex", None),
        ("gpt-6-luna", "none"),
        ("gpt-6.2-astra", "low"),
        ("o4-mini", "low"),
        ("a-name-nobody-knows", None),
    ],
)
def test_openai_models_get_their_lowest_effort(model: str, effort: str | None) -> None:
    assert OpenAiAdapter(model).request_body(request()).get("reasoning_effort") == effort


def test_a_configured_effort_is_sent_unchanged() -> None:
    assert (
        OpenAiAdapter("gpt-6-luna", effort="high").request_body(request())["reasoning_effort"]
        == "high"
    )
    assert AnthropicAdapter("claude-sonnet-5", effort="max").request_body(request())[
        "output_config"
    ]["effort"] == ("max")
    reasoning = GeminiAdapter("gemini-3-flash", effort="high").request_body(request())[
        "generationConfig"
    ]
    assert reasoning["thinkingConfig"] == {"thinkingLevel": "high"}


@pytest.mark.parametrize(
    "model", ["gpt-5", "openai/gpt-5.1-mini", "o3", "anthropic/claude-opus-4.8", "claude-sonnet-5"]
)
def test_models_that_reject_a_temperature_get_none(model: str) -> None:
    assert "temperature" not in compatible(model).request_body(request())


@pytest.mark.parametrize("model", ["qwen3:8b", "gpt-oss-120b", "gpt-4.1", "olmo-2"])
def test_other_models_get_temperature_zero(model: str) -> None:
    assert compatible(model).request_body(request())["temperature"] == 0


def test_the_token_limit_has_the_name_that_the_model_supports() -> None:
    assert OpenAiAdapter("gpt-4.1").request_body(request())["max_completion_tokens"] == 16384
    assert compatible("openai/gpt-5-mini").request_body(request())["max_completion_tokens"] == 16384
    assert compatible("qwen3:8b").request_body(request())["max_tokens"] == 16384
    assert "max_tokens" not in OpenAiAdapter("gpt-4.1").request_body(request())


def test_openai_gets_a_strict_schema() -> None:
    schema = OpenAiAdapter("gpt-4.1").request_body(request())["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["additionalProperties"] is False


def test_other_servers_get_the_schema_of_pydantic_with_limits_of_its_lists() -> None:
    schema = compatible("m").request_body(request())["response_format"]["json_schema"]
    expected = bounded(ExtractedEdges.model_json_schema(), 100)
    assert schema == {"name": "ExtractedEdges", "schema": expected}


def test_openais_newest_models_cache_only_long_instructions() -> None:
    short, long = (
        OpenAiAdapter("gpt-6-luna").request_body(request(system)) for system in (SHORT, LONG)
    )
    assert short["prompt_cache_options"] == {"mode": "explicit"}
    assert short["messages"][0]["content"] == SHORT
    assert long["messages"][0]["content"][0]["text"] == LONG
    assert "prompt_cache_breakpoint" in long["messages"][0]["content"][0]
    assert "prompt_cache_options" not in OpenAiAdapter("gpt-4.1").request_body(request(LONG))


@pytest.mark.parametrize(
    ("model", "has_schema"),
    [
        ("claude-3-5-haiku-latest", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-4-10", True),
        ("claude-sonnet-5", True),
        ("claude-fable-5-1", True),
        ("eu.anthropic.claude-sonnet-4-6", True),
        ("another-model", False),
    ],
)
def test_newer_claude_models_get_a_schema_and_older_ones_a_tool(
    model: str, has_schema: bool
) -> None:
    body = AnthropicAdapter(model).request_body(request())
    assert ("format" in body.get("output_config", {})) is has_schema
    assert ("tool_choice" in body) is not has_schema


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-4-6"])
def test_claude_models_without_default_reasoning_get_no_effort(model: str) -> None:
    assert "effort" not in AnthropicAdapter(model).request_body(request())["output_config"]


def test_claude_models_with_default_reasoning_get_low_effort() -> None:
    assert (
        AnthropicAdapter("claude-opus-5-5").request_body(request())["output_config"]["effort"]
        == "low"
    )


def test_claude_caches_long_instructions() -> None:
    assert AnthropicAdapter("claude-sonnet-5").request_body(request())["system"] == SHORT
    [part] = AnthropicAdapter("claude-sonnet-5").request_body(request(LONG))["system"]
    assert part["cache_control"] == {"type": "ephemeral"}


def test_a_base_url_for_anthropic_may_end_with_its_version() -> None:
    for base_url in ("https://x.test", "https://x.test/", "https://x.test/v1"):
        assert AnthropicAdapter("m", base_url).url() == "https://x.test/v1/messages"


@pytest.mark.parametrize(
    ("model", "reasoning", "temperature"),
    [
        ("gemini-2.0-flash", None, 0),
        ("gemini-2.5-flash", {"thinkingBudget": 0}, 0),
        ("gemini-2.5-pro", {"thinkingBudget": 128}, 0),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "low"}, None),
        ("models/gemini-3-flash", {"thinkingLevel": "low"}, None),
        ("gemma-3", None, None),
    ],
)
def test_gemini_models_get_their_lowest_effort(
    model: str, reasoning: object, temperature: object
) -> None:
    config = GeminiAdapter(model).request_body(request())["generationConfig"]
    assert config.get("thinkingConfig") == reasoning
    assert config.get("temperature") == temperature


def test_a_gemini_model_name_may_start_with_models() -> None:
    assert GeminiAdapter("models/gemini-3-flash", "http://x").url() == (
        "http://x/models/gemini-3-flash:generateContent"
    )


@pytest.mark.parametrize(
    "message",
    [
        {"content": TEXT},
        {"content": [{"type": "text", "text": TEXT[:5]}, {"type": "text", "text": TEXT[5:]}]},
        {"content": f"<think>\nWhat do I see? {{}}\n</think>\n\n{TEXT}"},
        {"content": f"<thinking>hm</thinking>{TEXT}"},
        {"content": None, "reasoning_content": TEXT},
        {"content": "", "reasoning": f"\n{TEXT}"},
    ],
)
def test_a_response_is_found_in_every_known_field(message: dict[str, Any]) -> None:
    assert compatible("m").parse_response(openai_body(message)).text == TEXT


@pytest.mark.parametrize(
    "message", [{"content": None}, {"reasoning_content": "Let me see."}, {"content": 3}, {}]
)
def test_reasoning_is_not_a_response(message: dict[str, Any]) -> None:
    assert compatible("m").parse_response(openai_body(message)).text == ""


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"content": 1}, {"candidates": [{}]}])
@pytest.mark.parametrize(
    "adapter", [OpenAiAdapter("m"), AnthropicAdapter("m"), GeminiAdapter("m"), compatible("m")]
)
def test_a_response_without_content_is_empty(
    adapter: ProviderAdapter, body: dict[str, Any]
) -> None:
    response = adapter.parse_response(body)
    assert (response.text, response.prompt_tokens, response.truncated, response.refused) == (
        "",
        0,
        False,
        False,
    )


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda children: st.lists(children, max_size=2) | st.dictionaries(st.just("text"), children),
    max_leaves=4,
)
"""A value for every field that an adapter reads."""
MESSAGE = dict.fromkeys(("content", "refusal", "reasoning_content"), ANY_JSON)
CHOICE = {"message": ANY_JSON | st.fixed_dictionaries(MESSAGE), "finish_reason": ANY_JSON}
PARTS = ANY_JSON | st.fixed_dictionaries({"parts": ANY_JSON})
CANDIDATE = {"content": PARTS, "finishReason": ANY_JSON}
BODIES = st.fixed_dictionaries(
    {
        "choices": ANY_JSON | st.lists(st.fixed_dictionaries(CHOICE), max_size=2),
        "candidates": ANY_JSON | st.lists(st.fixed_dictionaries(CANDIDATE), max_size=2),
        "content": ANY_JSON,
        "stop_reason": ANY_JSON,
        "promptFeedback": ANY_JSON,
        "usage": st.fixed_dictionaries({"prompt_tokens": ANY_JSON, "total_tokens": ANY_JSON}),
        "usageMetadata": st.fixed_dictionaries({"thoughtsTokenCount": ANY_JSON}),
    }
)


@pytest.mark.parametrize("adapter", [OpenAiAdapter("m"), AnthropicAdapter("m"), GeminiAdapter("m")])
@given(body=BODIES)
def test_any_body_is_parsed_without_an_exception(
    adapter: ProviderAdapter, body: dict[str, Any]
) -> None:
    response = adapter.parse_response(body)
    assert isinstance(response.text, str)
    assert isinstance(
        response.prompt_tokens + response.completion_tokens + response.cached_tokens, int
    )


@pytest.mark.parametrize("tokens", [-7, "7", True, 10**30, float("nan"), float("inf"), None, [7]])
def test_an_impossible_token_count_is_zero(tokens: object) -> None:
    response = compatible("m").parse_response(
        openai_body({}, prompt_tokens=tokens, completion_tokens=tokens, total_tokens=tokens)
    )
    assert (response.prompt_tokens, response.completion_tokens) == (0, 0)


def test_token_counts_may_be_floats() -> None:
    response = compatible("m").parse_response(
        openai_body({}, prompt_tokens=7.0, completion_tokens=3.0)
    )
    assert (response.prompt_tokens, response.completion_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("adapter", "path"),
    [
        (OpenAiCompatibleAdapter("m", "https://x.test/v1/?api-version=1"), "/v1/chat/completions"),
        (
            GeminiAdapter("m", "https://x.test/v1beta/?api-version=1"),
            "/v1beta/models/m:generateContent",
        ),
        (AnthropicAdapter("m", "https://x.test/v1/?api-version=1"), "/v1/messages"),
    ],
)
def test_the_query_of_a_base_url_stays_at_the_end(adapter: ProviderAdapter, path: str) -> None:
    assert adapter.url() == f"https://x.test{path}?api-version=1"


def test_reasoning_tokens_are_counted() -> None:
    adapter = compatible("m")
    included = openai_body({}, prompt_tokens=100, completion_tokens=30, total_tokens=130)
    added = openai_body({}, prompt_tokens=100, completion_tokens=10, total_tokens=130)
    assert (
        adapter.parse_response(included).completion_tokens
        == adapter.parse_response(added).completion_tokens
        == 30
    )
    reasoning_body = {"usageMetadata": {"candidatesTokenCount": 7, "thoughtsTokenCount": 3}}
    assert GeminiAdapter("m").parse_response(reasoning_body).completion_tokens == 10


@pytest.mark.parametrize("adapter", [OpenAiAdapter("m"), AnthropicAdapter("m"), GeminiAdapter("m")])
def test_missing_cache_counts_are_zero(adapter: ProviderAdapter) -> None:
    usage = {"prompt_tokens": 9, "input_tokens": 9, "promptTokenCount": 9}
    response = adapter.parse_response({"usage": usage, "usageMetadata": usage})
    assert (response.prompt_tokens, response.cached_tokens) == (9, 0)


@pytest.mark.parametrize(
    ("adapter", "usage"),
    [
        (
            OpenAiAdapter("m"),
            {"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}}},
        ),
        (compatible("m"), {"usage": {"prompt_tokens": 100, "prompt_cache_hit_tokens": 40}}),
        (
            AnthropicAdapter("m"),
            {
                "usage": {
                    "input_tokens": 50,
                    "cache_creation_input_tokens": 10,
                    "cache_read_input_tokens": 40,
                }
            },
        ),
        (
            GeminiAdapter("m"),
            {"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 40}},
        ),
    ],
)
def test_cached_tokens_are_part_of_the_prompt(
    adapter: ProviderAdapter, usage: dict[str, Any]
) -> None:
    response = adapter.parse_response(usage)
    assert (response.prompt_tokens, response.cached_tokens) == (100, 40)


@pytest.mark.parametrize(
    ("adapter", "usage"),
    [
        (
            OpenAiAdapter("m"),
            {"prompt_tokens": 100, "prompt_tokens_details": {"cache_write_tokens": 30}},
        ),
        (AnthropicAdapter("m"), {"input_tokens": 70, "cache_creation_input_tokens": 30}),
    ],
)
def test_tokens_written_to_a_cache_are_part_of_the_prompt(
    adapter: ProviderAdapter, usage: dict[str, Any]
) -> None:
    response = adapter.parse_response({"usage": usage})
    assert (response.prompt_tokens, response.cache_write_tokens) == (100, 30)


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (OpenAiAdapter("m"), openai_body({"content": None, "refusal": "I cannot."})),
        (OpenAiAdapter("m"), openai_body({"content": None}, "content_filter")),
        (compatible("anthropic/claude"), openai_body({"content": ""}, "refusal")),
        (AnthropicAdapter("m"), {"content": [], "stop_reason": "refusal"}),
        (GeminiAdapter("m"), {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
        (GeminiAdapter("m"), {"candidates": [{"finishReason": "SAFETY"}]}),
        (GeminiAdapter("m"), {"candidates": [{"finishReason": "RECITATION"}]}),
    ],
)
def test_a_refusal_is_detected(adapter: ProviderAdapter, body: dict[str, Any]) -> None:
    assert adapter.parse_response(body).refused


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (OpenAiAdapter("m"), openai_body({"content": "{"}, "length")),
        (AnthropicAdapter("m"), {"stop_reason": "max_tokens"}),
        (AnthropicAdapter("m"), {"stop_reason": "model_context_window_exceeded"}),
        (GeminiAdapter("m"), {"candidates": [{"finishReason": "MAX_TOKENS"}]}),
    ],
)
def test_a_truncated_response_is_detected(adapter: ProviderAdapter, body: dict[str, Any]) -> None:
    assert adapter.parse_response(body).truncated


def test_thinking_blocks_of_claude_are_skipped() -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": TEXT}]
    assert AnthropicAdapter("m").parse_response({"content": content}).text == TEXT


@pytest.mark.parametrize("tool_input", [{"edges": []}, TEXT])
def test_the_input_of_a_tool_call_is_the_response(tool_input: object) -> None:
    content = [{"type": "text", "text": "Here."}, {"type": "tool_use", "input": tool_input}]
    assert AnthropicAdapter("m").parse_response({"content": content}).text == TEXT


def test_a_request_without_a_schema_is_valid() -> None:
    plain = ChatRequest("p", (ChatMessage("user", "hello"),), None, 100)
    assert compatible("m").request_body(plain)["response_format"] == {"type": "json_object"}
    assert "tools" not in AnthropicAdapter("m").request_body(plain)
    assert "system" not in AnthropicAdapter("m").request_body(plain)
    assert "systemInstruction" not in GeminiAdapter("m").request_body(plain)
    assert "responseSchema" not in GeminiAdapter("m").request_body(plain)["generationConfig"]


def test_graphitis_schemas_are_within_anthropics_limits() -> None:
    """The limits per schema: 24 optional and 16 union values. Here all values are required."""
    for model in (ExtractedEdges, EdgeTimestamps):
        schema = schemas.anthropic(response_schema(model).json)
        assert str(schema).count("anyOf") <= 16
        assert "'default'" not in str(schema)
