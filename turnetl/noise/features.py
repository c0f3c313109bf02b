"""Features of a turn that several rules read: columns derived from those of `schema.TURNS`.

Each is computed once, even if several rules read it. Texts are examined only if the turn has no
activity and the text is short enough for a rule; otherwise these columns are null, so that a
regular expression costs only what it reads.
"""

from collections.abc import Iterable

import polars as pl

from turnetl.noise.machine_prompts import ASIDE_CALL, HISTORY_CALL, PROVIDER_ERROR
from turnetl.noise.vocabulary import ACKNOWLEDGEMENT_ONLY, DECISION, WORD

_SHORT_RESPONSE_CHARS = 240
_ERROR_CHARS = 600
_MAX_CHARACTER_BYTES = 4
"""Maximum UTF-8 bytes of a character. The length of a text in bytes is stored; to count its
characters, the text is read."""
_SHORT_PROMPT_BYTES = 160
_ENOUGH_WORDS = 8
_ENOUGH_BYTES = 1000
_QUESTION_BYTES = 600
"""A longer prompt says something that the history does not have."""

no_activity = pl.col("noise:no_activity")
"""No tool call, and nothing from the user but the prompt. Never null."""
prompt = pl.col("noise:prompt")
"""The prompt without surrounding whitespace; null if the turn has activity."""
response = pl.col("noise:response")
"""The agent's response without surrounding whitespace; null if the turn has activity."""
no_response = pl.col("noise:no_response")
"""No activity, and no response. Never null."""
provider_failed = pl.col("noise:provider_failed")
"""No activity, and the response is an error of the provider. Never null."""
awaits_response = pl.col("noise:awaits_response")
"""No response, and the turn is open: a response may still follow. Never null."""
short_response = pl.col("noise:short_response")
"""No activity, and the response is short or empty. Never null."""
short_prompt = pl.col("noise:short_prompt")
"""A short prompt with a short response; otherwise null."""
low_content = pl.col("noise:low_content")
"""The prompt has no response, or only a provider error, and by itself neither describes a task nor
decides anything. Never null."""
asks_history = pl.col("noise:asks_history")
"""The agent asked turnetl, and did nothing else but find its tools and keep its own list; nothing
from the user but a short prompt. Never null."""
question = pl.col("noise:question")
"""The prompt of a turn that only asks the history; otherwise null."""
_prompt_without_response = pl.col("noise:prompt_without_response")


def add_features(turns: pl.LazyFrame) -> pl.LazyFrame:
    for stage in _STAGES:
        turns = turns.with_columns(**stage)
    return turns


def source_columns(names: Iterable[str]) -> set[str]:
    """Return the columns of `schema.TURNS` that these features and columns depend on."""
    pending_names, sources = set(names), set[str]()
    while pending_names:
        name = pending_names.pop()
        if name in _FEATURES:
            pending_names.update(_FEATURES[name].meta.root_names())
        else:
            sources.add(name)
    return sources


def _is_empty(column: str) -> pl.Expr:
    return pl.col(column).list.len() == 0


def _calls(pattern: str) -> pl.Expr:
    """Return for each tool call whether its name matches."""
    name = pl.element().struct.field("name")
    return pl.col("tool_calls").list.eval(name.str.contains(pattern))


def _at_most(text: pl.Expr, chars: int) -> pl.Expr:
    candidate = pl.when(text.str.len_bytes() <= _MAX_CHARACTER_BYTES * chars).then(text)
    return pl.when(candidate.str.len_chars() <= chars).then(candidate)


def _true(condition: pl.Expr) -> pl.Expr:
    return condition.fill_null(value=False)


_has_only_prompt = _is_empty("subagent_prompts") & _is_empty("steering") & _is_empty("user_answers")
_has_no_activity = _is_empty("tool_calls") & _has_only_prompt
_asks_history = (
    _calls(HISTORY_CALL).list.any()
    & _calls(f"{HISTORY_CALL}|{ASIDE_CALL}").list.all()
    & _has_only_prompt
    & (pl.col("user_text").str.len_bytes() <= _QUESTION_BYTES)
)
_decides = _prompt_without_response.str.contains(DECISION) & ~_prompt_without_response.str.contains(
    ACKNOWLEDGEMENT_ONLY
)
_is_short_prompt = short_response & (prompt.str.len_bytes() <= _SHORT_PROMPT_BYTES)
_is_prompt_without_response = (no_response | provider_failed) & (
    prompt.str.len_bytes() <= _ENOUGH_BYTES
)
_STAGES: tuple[dict[str, pl.Expr], ...] = (
    {"noise:no_activity": _true(_has_no_activity), "noise:asks_history": _true(_asks_history)},
    {
        "noise:prompt": pl.when(no_activity).then(pl.col("user_text")).str.strip_chars(),
        "noise:response": pl.when(no_activity).then(pl.col("assistant_text")).str.strip_chars(),
        "noise:question": pl.when(asks_history).then(pl.col("user_text")).str.strip_chars(),
    },
    {
        "noise:no_response": _true(response == ""),
        "noise:provider_failed": _true(
            _at_most(response, _ERROR_CHARS).str.contains(PROVIDER_ERROR)
        ),
        "noise:short_response": _at_most(response, _SHORT_RESPONSE_CHARS).is_not_null(),
    },
    {
        "noise:awaits_response": no_response & ~pl.col("closed"),
        "noise:short_prompt": pl.when(_is_short_prompt).then(prompt),
        "noise:prompt_without_response": pl.when(_is_prompt_without_response).then(prompt),
    },
    {
        "noise:low_content": _true(
            (_prompt_without_response.str.count_matches(WORD) < _ENOUGH_WORDS) & ~_decides
        )
    },
)
_FEATURES = {name: feature for stage in _STAGES for name, feature in stage.items()}
NAMES = tuple(_FEATURES)
