"""Features of a turn that several rules read: columns derived from those of `schema.TURNS`.

Each is computed once, however many rules read it. Texts are examined only where the turn is idle
and the text is short enough for a rule; elsewhere these columns are null, so that a regular
expression costs only what it reads.
"""

from collections.abc import Iterable

import polars as pl

from turnetl.noise.machine_prompts import PROVIDER_ERROR
from turnetl.noise.vocabulary import ACKNOWLEDGEMENT_ONLY, DECISION, WORD

_SHORT_ANSWER_CHARS = 240
_ERROR_CHARS = 600
_MAX_CHARACTER_BYTES = 4
"""Of a character in UTF-8. The length in bytes is stored; counting characters reads the text."""
_SHORT_PROMPT_BYTES = 160
_ENOUGH_WORDS = 8
_ENOUGH_BYTES = 1000

idle = pl.col("noise:idle")
"""No tool call, and nothing from the user but the prompt. Never null."""
prompt = pl.col("noise:prompt")
"""The prompt without surrounding whitespace; null unless idle."""
answer = pl.col("noise:answer")
"""The agent's answer, likewise."""
unanswered = pl.col("noise:unanswered")
"""Idle, and without an answer. Never null."""
provider_failed = pl.col("noise:provider_failed")
"""Idle, and the answer is an error of the provider. Never null."""
pending = pl.col("noise:pending")
"""Unanswered and open: an answer may still come. Never null."""
short_answer = pl.col("noise:short_answer")
"""Idle, and the answer is short or empty. Never null."""
short_prompt = pl.col("noise:short_prompt")
"""A short prompt with a short answer; null elsewhere."""
low_content = pl.col("noise:low_content")
"""The prompt has no answer, or only a provider error, and by itself neither describes a task nor
decides anything. Never null."""
_unanswered_prompt = pl.col("noise:unanswered_prompt")


def add_features(turns: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with these columns appended."""
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


def _at_most(text: pl.Expr, chars: int) -> pl.Expr:
    """Return the text if it has at most that many characters, otherwise null."""
    candidate = pl.when(text.str.len_bytes() <= _MAX_CHARACTER_BYTES * chars).then(text)
    return pl.when(candidate.str.len_chars() <= chars).then(candidate)


def _true(condition: pl.Expr) -> pl.Expr:
    """Return the condition with false for null."""
    return condition.fill_null(value=False)


_nothing_done = (
    _is_empty("tool_calls")
    & _is_empty("subagent_prompts")
    & _is_empty("steering")
    & _is_empty("user_answers")
)
_decides = _unanswered_prompt.str.contains(DECISION) & ~_unanswered_prompt.str.contains(
    ACKNOWLEDGEMENT_ONLY
)
_is_short_prompt = short_answer & (prompt.str.len_bytes() <= _SHORT_PROMPT_BYTES)
_is_unanswered_prompt = (unanswered | provider_failed) & (prompt.str.len_bytes() <= _ENOUGH_BYTES)
_STAGES: tuple[dict[str, pl.Expr], ...] = (
    {"noise:idle": _true(_nothing_done)},
    {
        "noise:prompt": pl.when(idle).then(pl.col("user_text")).str.strip_chars(),
        "noise:answer": pl.when(idle).then(pl.col("assistant_text")).str.strip_chars(),
    },
    {
        "noise:unanswered": _true(answer == ""),
        "noise:provider_failed": _true(_at_most(answer, _ERROR_CHARS).str.contains(PROVIDER_ERROR)),
        "noise:short_answer": _at_most(answer, _SHORT_ANSWER_CHARS).is_not_null(),
    },
    {
        "noise:pending": unanswered & ~pl.col("closed"),
        "noise:short_prompt": pl.when(_is_short_prompt).then(prompt),
        "noise:unanswered_prompt": pl.when(_is_unanswered_prompt).then(prompt),
    },
    {
        "noise:low_content": _true(
            (_unanswered_prompt.str.count_matches(WORD) < _ENOUGH_WORDS) & ~_decides
        )
    },
)
_FEATURES = {name: feature for stage in _STAGES for name, feature in stage.items()}
NAMES = tuple(_FEATURES)
