"""What happened in a turn: columns that are made of those of `schema.TURNS` before rules are asked.

Each is made once, whatever number of rules reads it. Texts are looked at only where nothing was
done, and where they are as short as a rule wants them: elsewhere these columns are null, so that a
regular expression costs what it reads.
"""

from collections.abc import Iterable

import polars as pl

from turnetl.noise.machine_prompts import PROVIDER_ERROR
from turnetl.noise.vocabulary import ACKNOWLEDGEMENT_ONLY, DECISION, WORD

_SHORT_ANSWER = 240
_SHORT_ERROR = 600
_MOST_BYTES = 4
"""Of a character in UTF-8: bytes are counted in no time, characters are not."""
_BRIEF_BYTES = 160
_ENOUGH_WORDS = 8
_ENOUGH_BYTES = 1000

idle = pl.col("noise:idle")
"""No call of a tool, and no word of the person but the prompt. Never null."""
prompt = pl.col("noise:asked")
"""The prompt without blanks around it; null where something was done."""
response = pl.col("noise:said")
"""The answer, likewise."""
unanswered = pl.col("noise:silent")
"""Nothing was done and nothing answered. Never null."""
provider_failed = pl.col("noise:failed")
"""Nothing was done, and the answer is an error of the provider. Never null."""
pending = pl.col("noise:waits")
"""Silent and open: an answer may still come, so the silence says nothing yet. Never null."""
short_response = pl.col("noise:answered_briefly")
"""Nothing was done, and the answer is short or empty. Never null."""
short_prompt = pl.col("noise:brief")
"""A short prompt with a short answer; null elsewhere."""
low_content = pl.col("noise:says_little")
"""A prompt without an answer, or with an error for one, that neither says by itself what somebody
wanted nor decides anything. Never null."""
_unheard = pl.col("noise:unheard")


def add_features(turns: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with these columns behind their own."""
    for stage in _STAGES:
        turns = turns.with_columns(**stage)
    return turns


def source_columns(names: Iterable[str]) -> set[str]:
    """Return the columns of `schema.TURNS` that are read for the columns named, of either kind."""
    left, read = set(names), set[str]()
    while left:
        name = left.pop()
        if name in _MADE:
            left.update(_MADE[name].meta.root_names())
        else:
            read.add(name)
    return read


def _none(column: str) -> pl.Expr:
    return pl.col(column).list.len() == 0


def _within(text: pl.Expr, characters: int) -> pl.Expr:
    """Return the text where it is that short, else null."""
    small = pl.when(text.str.len_bytes() <= _MOST_BYTES * characters).then(text)
    return pl.when(small.str.len_chars() <= characters).then(small)


def _is(what: pl.Expr) -> pl.Expr:
    return what.fill_null(value=False)


_nothing_done = (
    _none("tool_calls") & _none("subagent_prompts") & _none("steering") & _none("user_answers")
)
_decides = _unheard.str.contains(DECISION) & ~_unheard.str.contains(ACKNOWLEDGEMENT_ONLY)
_STAGES: tuple[dict[str, pl.Expr], ...] = (
    {"noise:idle": _is(_nothing_done)},
    {
        "noise:asked": pl.when(idle).then(pl.col("user_text")).str.strip_chars(),
        "noise:said": pl.when(idle).then(pl.col("assistant_text")).str.strip_chars(),
    },
    {
        "noise:silent": _is(response == ""),
        "noise:failed": _is(_within(response, _SHORT_ERROR).str.contains(PROVIDER_ERROR)),
        "noise:answered_briefly": _within(response, _SHORT_ANSWER).is_not_null(),
    },
    {
        "noise:waits": unanswered & ~pl.col("closed"),
        "noise:brief": pl.when(short_response & (prompt.str.len_bytes() <= _BRIEF_BYTES)).then(
            prompt
        ),
        "noise:unheard": pl.when(
            (unanswered | provider_failed) & (prompt.str.len_bytes() <= _ENOUGH_BYTES)
        ).then(prompt),
    },
    {"noise:says_little": _is((_unheard.str.count_matches(WORD) < _ENOUGH_WORDS) & ~_decides)},
)
_MADE = {name: made for stage in _STAGES for name, made in stage.items()}
NAMES = tuple(_MADE)
