"""The built-in noise rules: polars expressions over `schema.TURNS` of one group.

The frame contains each turn id once, in the order of the episodes table: `first` means earliest.
The order of `RULES` is their precedence: the first rule that matches gives a turn its rule name.

A prompt that got work done (a tool call, steering, a real response) is never noise, regardless of
its words, unless all that was done is to ask turnetl itself. A prompt that describes a task or
decides something is not noise merely because it has no response. Rules about a missing response do
not mark a turn that still awaits its response.

The features that several rules read are columns, each computed once. Texts are examined only if the
turn has no activity and the text is short enough for a rule; otherwise these columns are null, so
that a regular expression costs only what it reads.

A change of a condition, here or in `machine_prompts` and `vocabulary`, needs a higher version of
the rules that read it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl

from turnetl.base import ids, schema
from turnetl.base.results import INLINED, described
from turnetl.noise import machine_prompts, vocabulary


@dataclass(frozen=True, eq=False)
class NoiseRule:
    """One kind of noise. A changed condition needs a higher version, which rebuilds the tables."""

    name: Annotated[str, described("Name of the rule.", name="rule")]
    version: int
    description: Annotated[str, described("What the rule marks and why, in one sentence.")]
    condition: pl.Expr
    """Whether the rule marks a turn; null counts as no. Reads `schema.TURNS` and features."""
    enabled_by_default: bool = True
    """False: the rule marks turns only on request."""
    definition: str = ""
    """The content of a user's own rule, as text; it replaces the version in `recipe`. Empty for
    built-in rules."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "condition", self.condition.fill_null(value=False))

    @property
    @described("Version of the rule; of a rule of your own a digest.", name="version")
    def revision(self) -> str:
        return ids.digest(self.definition)[:12] if self.definition else str(self.version)

    @property
    @described("Whether it is a rule of your own.", name="user_defined")
    def is_own(self) -> bool:
        return bool(self.definition)

    @property
    def recipe(self) -> str:
        """Everything that determines what the rule marks, as one word."""
        return f"{self.name}/{self.revision}"


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A noise rule."""

    rule: Annotated[NoiseRule, INLINED]
    active: Annotated[bool, described("Whether it marks turns.")]


@dataclass(frozen=True, slots=True)
class RulesReport:
    """All noise rules."""

    rules: Annotated[
        tuple[ListedRule, ...],
        described("The rules, in the order in which the first match names a turn."),
    ]


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

HAS_SUBAGENTS = "has_subagents"
"""The column that says whether subagents worked for a turn, which rows of `schema.TURNS` lack."""
no_activity = pl.col("noise:no_activity")
"""No tool call, no subagent, and nothing from the user but the prompt. Never null."""
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
_unanswered = pl.col("noise:prompt_without_response")


def add_features(turns: pl.LazyFrame) -> pl.LazyFrame:
    if HAS_SUBAGENTS not in turns.collect_schema():
        turns = turns.with_columns(pl.lit(value=False).alias(HAS_SUBAGENTS))
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


_has_only_prompt = (
    ~pl.col(HAS_SUBAGENTS)
    & _is_empty("subagent_prompts")
    & _is_empty("steering")
    & _is_empty("user_answers")
)
_has_no_activity = _is_empty("tool_calls") & _has_only_prompt
_asks_history = (
    _calls(machine_prompts.HISTORY_CALL).list.any()
    & _calls(f"{machine_prompts.HISTORY_CALL}|{machine_prompts.ASIDE_CALL}").list.all()
    & _has_only_prompt
    & (pl.col("user_text").str.len_bytes() <= _QUESTION_BYTES)
)
_decides = _unanswered.str.contains(vocabulary.DECISION) & ~_unanswered.str.contains(
    vocabulary.ACKNOWLEDGEMENT_ONLY
)
_is_short_prompt = short_response & (prompt.str.len_bytes() <= _SHORT_PROMPT_BYTES)
_is_prompt_without_response = (no_response | provider_failed) & (
    prompt.str.len_bytes() <= _ENOUGH_BYTES
)
_is_interrupted = no_response & (pl.col("closed_by") == "interrupted")
_next_prompt = pl.col("user_text").shift(-1).over("session_id")
_words_of, _words_after = (
    pl.when(_is_interrupted).then(text).str.to_lowercase().str.extract_all(r"\w+").list.unique()
    for text in (pl.col("user_text"), _next_prompt)
)
# Of equal prompts, `repeat` keeps one.
_is_reworded = (_next_prompt.str.strip_chars() != pl.col("user_text").str.strip_chars()) & (
    3 * _words_after.list.set_intersection(_words_of).list.len() >= 2 * _words_of.list.len()
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
            _at_most(response, _ERROR_CHARS).str.contains(machine_prompts.PROVIDER_ERROR)
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
            (_unanswered.str.count_matches(vocabulary.WORD) < _ENOUGH_WORDS) & ~_decides
        )
    },
)
_FEATURES = {name: feature for stage in _STAGES for name, feature in stage.items()}
FEATURE_NAMES = tuple(_FEATURES)

_MIN_SESSIONS = 5

_repeated_in_session = (
    prompt.is_not_null()
    & ~pl.struct(
        "session_id", prompt.alias("prompt"), response.alias("response")
    ).is_first_distinct()
)
_prompts_with_response = pl.col("user_text").filter(~(no_response | provider_failed)).implode()


COPY = NoiseRule(
    "copy",
    1,
    "A copy of another turn under a different id, with the same content and time: a resumed or"
    " forked session repeats it.",
    pl.col("started_at").is_not_null()
    & (pl.col("turn_id") != pl.col("turn_id").first().over("content_hash", "started_at")),
)
REPEAT = NoiseRule(
    "repeat",
    2,
    "A prompt without effect that another turn repeats: with the same response in the same session,"
    " or with a real response anywhere.",
    (prompt != "")
    & ~awaits_response
    & (
        _repeated_in_session
        | ((no_response | provider_failed) & pl.col("user_text").is_in(_prompts_with_response))
    ),
)
SUGGESTION = NoiseRule(
    "suggestion",
    2,
    "The agent's client asks the model what the user may type next.",
    prompt.str.contains(machine_prompts.SUGGESTION),
)
TITLE = NoiseRule(
    "title",
    2,
    "The agent's client asks the model for a title, a topic or a branch name of a conversation.",
    prompt.str.contains(machine_prompts.TITLE) & short_response,
)
WARM_UP = NoiseRule(
    "warm_up",
    1,
    "The agent's client opens the connection before the user has typed anything.",
    prompt.str.contains(machine_prompts.WARM_UP),
)
HARNESS = NoiseRule(
    "harness",
    2,
    "A program wrote the prompt: a summary for a list, a compaction, a request to continue, a"
    " hook.",
    prompt.str.contains(machine_prompts.HARNESS),
)
HEARTBEAT = NoiseRule(
    "heartbeat",
    1,
    "A timer woke the agent, and there was nothing to do.",
    response.str.contains(machine_prompts.HEARTBEAT),
)
CLIENT_COMMAND = NoiseRule(
    "client_command",
    1,
    "A command that the client executes itself: /clear, /model, /login, exit.",
    short_prompt.str.contains(machine_prompts.CLIENT_COMMAND),
)
PROVIDER_ERROR = NoiseRule(
    "provider_error",
    2,
    "The only response is an error of the provider: overloaded, out of credit, logged out. A prompt"
    " that describes a task or decides something is kept.",
    provider_failed & low_content,
)
INTERRUPTED = NoiseRule(
    "interrupted",
    3,
    "The user interrupted the turn before anything happened. A prompt that describes a task or"
    " decides something is kept, unless the next one of its session says it in other words.",
    _is_interrupted & (low_content | _is_reworded),
)
NO_RESPONSE = NoiseRule(
    "no_response",
    3,
    "The turn is closed and has no response. A prompt that describes a task or decides something is"
    " kept.",
    no_response & pl.col("closed") & low_content,
)
ACKNOWLEDGEMENT = NoiseRule(
    "acknowledgement",
    2,
    "A yes, a thank you or a go on that got no work done.",
    ~awaits_response
    & (
        (
            short_prompt.str.contains(vocabulary.ACKNOWLEDGEMENT_ONLY)
            & short_prompt.str.contains(vocabulary.AFFIRMATION)
            & ~short_prompt.str.contains(vocabulary.QUESTION_MARK)
        )
        | short_prompt.str.contains(vocabulary.NO_LETTERS)
    ),
)
GREETING = NoiseRule(
    "greeting",
    1,
    "A hello, a goodbye or a test that got no work done.",
    short_prompt.str.contains(vocabulary.GREETING_ONLY)
    & short_prompt.str.contains(vocabulary.GREETING_PHRASE),
)
HISTORY_QUERY = NoiseRule(
    "history_query",
    1,
    "The agent only asked turnetl what happened before: the graph has the turns that answer. A"
    " prompt that is long or decides something is kept.",
    asks_history & ~question.str.contains(vocabulary.DECISION),
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
    NO_RESPONSE,
    ACKNOWLEDGEMENT,
    GREETING,
    HISTORY_QUERY,
)
"""The rules that are enabled by default, by precedence."""

SUBAGENT = NoiseRule(
    "subagent",
    1,
    "A conversation between two agents: the user typed nothing in it.",
    pl.col("agent_id").is_not_null(),
    enabled_by_default=False,
)
SCHEDULED = NoiseRule(
    "scheduled",
    1,
    "Five or more sessions begin with the same prompt: a schedule or a program writes it.",
    (pl.col("ordinal") == 0)
    & (pl.col("user_text").str.strip_chars() != "")
    & (pl.col("session_id").n_unique().over("user_text", "ordinal") >= _MIN_SESSIONS),
    enabled_by_default=False,
)
NO_TOOL_CALLS = NoiseRule(
    "no_tool_calls",
    2,
    "Only a prompt and a response: no tool was called.",
    no_activity & ~awaits_response,
    enabled_by_default=False,
)

ON_DEMAND: tuple[NoiseRule, ...] = (SUBAGENT, SCHEDULED, NO_TOOL_CALLS)
"""The rules that are disabled by default: they mark turns only on request."""

EMPTY = NoiseRule(
    "empty",
    2,
    "The rendered text is empty: the turn contains nothing but noise or marks of redactions.",
    pl.col("text") == "",
)
"""Has the lowest precedence and reads the rendered text, so `mark` does not evaluate it. It is
always enabled: an episode without text cannot be ingested."""


def mark(turns: pl.LazyFrame, rules: Sequence[NoiseRule] = RULES) -> pl.LazyFrame:
    """Return all rows, in their order, with `noise`: the first rule that matches, or null.

    Args:
        turns: rows of one group with at least the columns of `required_columns`, each turn once, in
            the order of the episodes table; and `HAS_SUBAGENTS`, unless no turn has subagents.
    """
    names = [pl.when(rule.condition).then(pl.lit(rule.name)) for rule in rules]
    noise = pl.coalesce(*names, pl.lit(None, pl.String)).alias("noise")
    return add_features(turns).with_columns(noise).drop(*FEATURE_NAMES, HAS_SUBAGENTS)


def recipes(rules: Sequence[NoiseRule] = RULES) -> tuple[str, ...]:
    return tuple(rule.recipe for rule in rules)


def required_columns(rules: Sequence[NoiseRule] = RULES) -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that `mark` reads, in the table's order.

    Built-in rules read only the names in `tool_calls`, and the number of entries in other lists.
    """
    names = {name for rule in rules for name in rule.condition.meta.root_names()}
    sources = source_columns([*names, *FEATURE_NAMES])
    return tuple(name for name in schema.TURNS.polars.names() if name in sources)
