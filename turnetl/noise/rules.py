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
    idle,
    low_content,
    pending,
    prompt,
    provider_failed,
    response,
    short_prompt,
    short_response,
    unanswered,
)
from turnetl.noise.rule import NoiseRule

_OFTEN = 5

_same_again = (
    prompt.is_not_null()
    & ~pl.struct("session_id", prompt.alias("asked"), response.alias("said")).is_first_distinct()
)
_got_further = pl.col("user_text").filter(~(unanswered | provider_failed)).implode()


def _rule(name: str, version: int, why: str, when: pl.Expr, *, on: bool = True) -> NoiseRule:
    return NoiseRule(name, version, why, when.fill_null(value=False), on_by_default=on)


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
    (prompt != "")
    & ~pending
    & (_same_again | ((unanswered | provider_failed) & pl.col("user_text").is_in(_got_further))),
)
SUGGESTION = _rule(
    "suggestion",
    2,
    "The harness asks the model what the person may type next.",
    prompt.str.contains(machine_prompts.SUGGESTION),
)
TITLE = _rule(
    "title",
    2,
    "The harness asks for a title, a topic or a branch name of a conversation.",
    prompt.str.contains(machine_prompts.TITLE) & short_response,
)
WARM_UP = _rule(
    "warm_up",
    1,
    "The harness opens the connection before the person has said anything.",
    prompt.str.contains(machine_prompts.WARM_UP),
)
HARNESS = _rule(
    "harness",
    2,
    "A program wrote the prompt: a summary for a list, a compaction, a nudge to go on, a hook.",
    prompt.str.contains(machine_prompts.HARNESS),
)
HEARTBEAT = _rule(
    "heartbeat",
    1,
    "A clock woke the agent, and there was nothing to do.",
    response.str.contains(machine_prompts.HEARTBEAT),
)
CLIENT_COMMAND = _rule(
    "client_command",
    1,
    "A command that the client carries out by itself: /clear, /model, /login, exit.",
    short_prompt.str.contains(machine_prompts.CLIENT_COMMAND),
)
PROVIDER_ERROR = _rule(
    "provider_error",
    2,
    "The only answer is an error of the provider: overloaded, out of credit, logged out. A prompt"
    " that says something by itself is kept.",
    provider_failed & low_content,
)
INTERRUPTED = _rule(
    "interrupted",
    2,
    "Taken back before anything happened. A prompt that says something by itself is kept.",
    unanswered & (pl.col("closed_by") == "interrupted") & low_content,
)
NO_ANSWER = _rule(
    "no_answer",
    2,
    "It is over, and nobody answered. A prompt that says something by itself is kept.",
    unanswered & pl.col("closed") & low_content,
)
ACKNOWLEDGEMENT = _rule(
    "acknowledgement",
    2,
    "A yes, a thank you, a go on that got no work done.",
    ~pending
    & (
        (
            short_prompt.str.contains(vocabulary.ACKNOWLEDGEMENT_ONLY)
            & short_prompt.str.contains(vocabulary.AFFIRMATION)
            & ~short_prompt.str.contains(vocabulary.QUESTION_MARK)
        )
        | short_prompt.str.contains(vocabulary.NO_LETTERS)
    ),
)
GREETING = _rule(
    "greeting",
    1,
    "A hello, a goodbye or a test that got no work done.",
    short_prompt.str.contains(vocabulary.GREETING_ONLY)
    & short_prompt.str.contains(vocabulary.GREETING_PHRASE),
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
    idle & ~pending,
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
