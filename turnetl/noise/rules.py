"""What speaks against a turn. Each rule is a polars expression over `schema.TURNS` of one group.

The frame holds each turn id once, in the order of the episodes table: `first` means the earliest.
The order of `RULES` counts: the first rule that matches names the turn.

A prompt that got work done (a call of a tool, a word of steering, a real answer) is never noise,
whatever its words are; nor is one that says something by itself, only because nobody answered. A
turn that waits for its answer is marked by nothing that speaks of what did not happen.

A changed expression, here or in `shape`, `prompts` and `words`, needs a higher version of the rules
that read it.
"""

import polars as pl

from turnetl.noise import machine_prompts, vocabulary
from turnetl.noise.features import (
    answered_briefly,
    asked,
    brief,
    failed,
    idle,
    said,
    says_little,
    silent,
    waits,
)
from turnetl.noise.rule import NoiseRule

_OFTEN = 5

_same_again = (
    asked.is_not_null()
    & ~pl.struct("session_id", asked.alias("asked"), said.alias("said")).is_first_distinct()
)
_got_further = pl.col("user_text").filter(~(silent | failed)).implode()


def _rule(name: str, version: int, why: str, when: pl.Expr, *, on: bool = True) -> NoiseRule:
    return NoiseRule(name, version, why, when.fill_null(value=False), on=on)


COPY = _rule(
    "copy",
    1,
    "The same turn at the same moment under another id: a resumed or forked session carries it.",
    pl.col("started_at").is_not_null()
    & (pl.col("turn_id") != pl.col("turn_id").first().over("content_hash", "started_at")),
)
REPEAT = _rule(
    "repeat",
    2,
    "Nothing came of it, and the same words stand in another turn: with the same answer in the"
    " session, or with a real one anywhere.",
    (asked != "")
    & ~waits
    & (_same_again | ((silent | failed) & pl.col("user_text").is_in(_got_further))),
)
SUGGESTION = _rule(
    "suggestion",
    2,
    "The harness asks the model what the person may type next.",
    asked.str.contains(machine_prompts.SUGGESTION),
)
TITLE = _rule(
    "title",
    2,
    "The harness asks for a title, a topic or a branch name of a conversation.",
    asked.str.contains(machine_prompts.TITLE) & answered_briefly,
)
WARM_UP = _rule(
    "warm_up",
    1,
    "The harness opens the connection before the person has said anything.",
    asked.str.contains(machine_prompts.WARM_UP),
)
HARNESS = _rule(
    "harness",
    2,
    "A program wrote the prompt: a summary for a list, a compaction, a nudge to go on, a hook.",
    asked.str.contains(machine_prompts.HARNESS),
)
HEARTBEAT = _rule(
    "heartbeat",
    1,
    "A clock woke the agent, and there was nothing to do.",
    said.str.contains(machine_prompts.HEARTBEAT),
)
CLIENT_COMMAND = _rule(
    "client_command",
    1,
    "A command that the client carries out by itself: /clear, /model, /login, exit.",
    brief.str.contains(machine_prompts.CLIENT_COMMAND),
)
PROVIDER_ERROR = _rule(
    "provider_error",
    2,
    "The only answer is an error of the provider: overloaded, out of credit, logged out. A prompt"
    " that says something by itself is kept.",
    failed & says_little,
)
INTERRUPTED = _rule(
    "interrupted",
    2,
    "Taken back before anything happened. A prompt that says something by itself is kept.",
    silent & (pl.col("closed_by") == "interrupted") & says_little,
)
NO_ANSWER = _rule(
    "no_answer",
    2,
    "It is over, and nobody answered. A prompt that says something by itself is kept.",
    silent & pl.col("closed") & says_little,
)
ACKNOWLEDGEMENT = _rule(
    "acknowledgement",
    2,
    "A yes, a thank you, a go on that got no work done.",
    ~waits
    & (
        (
            brief.str.contains(vocabulary.ACKNOWLEDGED)
            & brief.str.contains(vocabulary.SAYS_YES)
            & ~brief.str.contains(vocabulary.ASKS)
        )
        | brief.str.contains(vocabulary.WORDLESS)
    ),
)
GREETING = _rule(
    "greeting",
    1,
    "A hello, a goodbye or a test that got no work done.",
    brief.str.contains(vocabulary.GREETING) & brief.str.contains(vocabulary.SAYS_HELLO),
)

RULES: tuple[NoiseRule, ...] = (
    COPY,
    REPEAT,
    SUGGESTION,
    TITLE,
    WARM_UP,
    HARNESS,
    HEARTBEAT,
    CLIENT_COMMAND,
    PROVIDER_ERROR,
    INTERRUPTED,
    NO_ANSWER,
    ACKNOWLEDGEMENT,
    GREETING,
)
"""In the order in which they name a turn."""

SUBAGENT = _rule(
    "subagent",
    1,
    "An agent's own conversation with another agent: no person said a word in it.",
    pl.col("agent_id").is_not_null(),
    on=False,
)
SCHEDULED = _rule(
    "scheduled",
    1,
    "The same words open five sessions or more: a schedule or a program writes them.",
    (pl.col("ordinal") == 0)
    & (pl.col("user_text").str.strip_chars() != "")
    & (pl.col("session_id").n_unique().over("user_text", "ordinal") >= _OFTEN),
    on=False,
)
TALK = _rule(
    "talk",
    1,
    "Question and answer only: no tool was called.",
    idle & ~waits,
    on=False,
)

ON_DEMAND: tuple[NoiseRule, ...] = (SUBAGENT, SCHEDULED, TALK)
"""These mark only if a person asks for them."""

EMPTY = _rule(
    "empty",
    1,
    "Nothing is left to say once the noise within the turn is gone.",
    pl.col("text") == "",
)
"""Speaks last, of what was rendered: `mark` knows nothing of it. It is always on, for an episode
without a word is none."""
