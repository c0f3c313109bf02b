"""Values passed between the stages: frozen, compared by content; `--json` prints described fields.

All times are aware and UTC, with microseconds. All texts are redacted: no value in this module
holds a secret.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from operator import itemgetter
from typing import Annotated, NamedTuple, NewType

from turnetl.base.results import described

GroupId = NewType("GroupId", str)
"""Graphiti's `group_id`: lower-case letters, digits and underscores, one token."""
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
"""The uuid of a turn, of its first Episodic node and of its TurnCommit: all three are the same."""
Vector = NewType("Vector", bytes)
"""An embedding: float32, little-endian, of unit length. Bytes, so that values are comparable."""

Attribute = str | int | float | bool

ID_CHARS = 8
"""Characters of an id that name it among a million, but for one in a thousand."""


class ClosedBy(StrEnum):
    """The event that closed a turn."""

    NEXT_PROMPT = "next_prompt"
    SESSION_END = "session_end"
    INACTIVITY = "inactivity"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call with its result."""

    name: str
    input: str
    """The call on one line: the command, the path, or compact JSON."""
    result: str
    """Head and tail of the tool result, and lines about failures from the text between them."""
    is_error: bool
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class SubagentCall(ToolCall):
    """A tool call of a subagent."""

    line: int
    """Its line in the archive of the run."""


@dataclass(frozen=True, slots=True)
class SubagentRun:
    """What a subagent did for a turn, as its own rows say, in the parent's archive or another."""

    agent_id: str
    """Its native id: of the agent, its thread or its session; else derived from its first row."""
    type: str | None
    """The kind of subagent: `Explore`, ..."""
    call_id: str | None
    """Native id of the tool call that started it."""
    started_by: str | None
    """`agent_id` of the subagent that started it; None: the agent of the turn."""
    prompt: str
    answer: str
    """The last text that it wrote; empty: none yet."""
    tool_calls: tuple[SubagentCall, ...]
    model: str | None
    started_at: datetime | None
    ended_at: datetime | None
    input_tokens: int
    """Tokens as those of `Turn`, which does not contain them."""
    output_tokens: int
    cache_write_tokens: int | None
    cache_read_tokens: int | None
    reasoning_tokens: int | None
    archive: str
    """The archive of its rows, in which it has these lines, perhaps with others between them."""
    first_line: int
    last_line: int


class AgentCall(NamedTuple):
    """A tool call of a turn, and which of its agents made it."""

    call: ToolCall
    run: SubagentRun | None = None
    """Of the subagent; None: the agent of the turn made it."""

    @property
    def step(self) -> "SubagentStep | None":
        """Who made it and where it stands, if a subagent made it."""
        if self.run is None or not isinstance(self.call, SubagentCall):
            return None
        return SubagentStep(self.run.type or "", self.run.archive, self.call.line)


@dataclass(frozen=True, slots=True)
class SubagentStep:
    """A tool call of a subagent: part of the turn that started it."""

    subagent: Annotated[str, described("Type of the subagent; empty if unknown.", name="type")]
    archive: Annotated[str, described("The archive of the subagent.")]
    line: Annotated[int, described("Line of the call in it.")]

    @property
    def by(self) -> str:
        """The subagent as texts name it."""
        return by_subagent([self.subagent])


def by_subagent(types: Iterable[str]) -> str:
    """Return who made calls, as texts say it: `by subagent Explore`; the types may be unknown."""
    names = sorted({*types} - {""})
    return f"by subagent {', '.join(names)}".rstrip() if names else "by a subagent"


@dataclass(frozen=True, slots=True)
class MessageUsage:
    """Tokens of one API message. None: not recorded."""

    message: str
    """Of `ids.message_digest`."""
    model: str | None
    day: date | None
    """In UTC."""
    input_tokens: int
    cache_write_tokens: int | None
    cache_read_tokens: int | None
    output_tokens: int
    reasoning_tokens: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A user prompt and everything the agent did until the next one. Columns: `schema.TURNS`."""

    turn_id: TurnId
    group_id: GroupId
    format: str
    session_id: SessionId
    ordinal: int
    prompt_id: str | None
    parent_session_id: str | None
    agent_id: str | None
    started_at: datetime | None
    ended_at: datetime | None
    user_text: str
    assistant_text: str
    steering: tuple[str, ...]
    user_answers: tuple[str, ...]
    tool_calls: tuple[ToolCall, ...]
    subagent_prompts: tuple[str, ...]
    model: str | None
    cwd: str | None
    git_branch: str | None
    app_version: str | None
    input_tokens: int
    """Without the cache. If `usage` is None, as the agent recorded it: Codex and Gemini CLI with
    what was read from the cache."""
    output_tokens: int
    """With reasoning. If `usage` is None, as the agent recorded it."""
    closed: bool
    closed_by: ClosedBy | None
    archive: str
    first_line: int
    last_line: int
    first_byte: int
    last_byte: int
    chars: int
    redactions: int
    content_hash: str
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Part of `output_tokens`."""
    usage: tuple[MessageUsage, ...] | None = None
    """Of each API message; None: an older turnetl wrote the turn."""
    places: tuple[int, ...] | None = None
    """Characters of `assistant_text` before each of `steering`, then of `user_answers`; None: an
    older turnetl wrote the turn."""
    subagents: tuple[SubagentRun, ...] = ()
    """Those that the turn started, and those that these started, oldest first. Only the episodes
    table has them: stage 2 joins them to their turns."""

    @property
    def agent_calls(self) -> Sequence[AgentCall]:
        """The calls of all its agents in the order of their results.

        A call without a time follows the one before it of the same agent.
        """
        own = [AgentCall(call) for call in self.tool_calls]
        if not self.subagents:
            return own
        timed = [*_timed(own, self.started_at)]
        for run in self.subagents:
            calls = [AgentCall(call, run) for call in run.tool_calls]
            timed += _timed(calls, run.started_at or self.started_at)
        return [call for _, call in sorted(timed, key=itemgetter(0))]


_EARLIEST = datetime.min.replace(tzinfo=UTC)


def _timed(
    calls: Iterable[AgentCall], started_at: datetime | None
) -> Iterator[tuple[datetime, AgentCall]]:
    """Yield the calls of one agent with times that do not run backwards."""
    time = started_at or _EARLIEST
    for one in calls:
        time = max(time, one.call.ended_at or time)
        yield time, one


@dataclass(frozen=True, slots=True)
class Episode:
    """A turn with its noise mark and its rendered text. Columns: `schema.EPISODES`."""

    turn: Turn
    noise: str | None
    """The name of the rule that marks the turn as noise, or None if the turn is kept."""
    copies: int
    """Number of other archives that hold the same turn."""
    variants: int | None
    """Number of those that hold it with another text; None: an older turnetl wrote the table."""
    text: str
    """The episode body, as it is sent."""
    chunks: tuple[str, ...]
    """`text` in chunks that fit into one prompt each, mostly one. Each becomes an Episodic node."""
    chars_before: int
    """Characters of the turn, and of the runs of its subagents, as in the archives."""
    chars_after: int
    """Characters of `text`."""
    tokens: int
    """Estimated tokens of `text`."""
    text_hash: str
    """Digest of `chunks`. A committed turn is stale if it changes."""
    kind: str
    """The main content of the turn: one of `episodes.kinds.KINDS`."""

    @property
    def turn_id(self) -> TurnId:
        return self.turn.turn_id


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a group: Graphiti's Entity node."""

    uuid: Annotated[str, described("Id of the entity.", name="entity_id")]
    group_id: Annotated[GroupId, described("Id of its group.", name="group")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[
        tuple[str, ...], described("Its labels, sorted, without Graphiti's own `Entity`.")
    ]
    summary: Annotated[str, described("Its summary; empty if it has none.")]
    created_at: datetime
    """When the graph got it."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """By the names of the ontology."""
    embedding: Vector | None = None
    """Embedding of the name."""

    @property
    @described("The beginning of the entity's id, which commands accept.")
    def id(self) -> str:
        return self.uuid[:ID_CHARS]

    @property
    @described("Its other names, sorted: spellings, and what was merged into it.")
    def aliases(self) -> tuple[str, ...]:
        return tuple(filter(None, str(self.attributes.get(ALIASES, "")).split("\n")))

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, then its aliases."""
        return (self.name, *self.aliases)


ALIASES = "aliases"
"""Attribute of an entity: its other names, one a line."""
MAX_ALIASES = 16
"""Of an entity; the first ones in order are kept."""


def with_aliases(entity: Entity, names: Iterable[str]) -> Entity:
    """Return the entity with these names among its aliases; itself if it has all of them."""
    named = {" ".join(name.split()) for name in names} - {entity.name, ""}
    aliases = sorted({*entity.aliases, *named})[:MAX_ALIASES]
    if tuple(aliases) == entity.aliases:
        return entity
    return replace(entity, attributes={**entity.attributes, ALIASES: "\n".join(aliases)})


DESCRIPTION = "described_as"
"""Attribute of an entity: what it is and where, without a sentence of a text."""


_PLACE = re.compile(r"[A-Z]\w*(?P<file>(?: used)? in `[^`]*`)?")
"""A description that says no more than where a thing is."""
_FIRST_NAMED = re.compile(r": first named \d{4}-.*", re.DOTALL)
"""Ends descriptions of earlier versions."""


def description(entity: Entity) -> str:
    """Return what a summary begins with, above what facts say; empty for a label alone."""
    text = _FIRST_NAMED.sub("", str(entity.attributes.get(DESCRIPTION, "")))
    place = _PLACE.fullmatch(text)
    return f"{text}." if text and (not place or place["file"]) else ""


ENDED_BY, LATER = "ended_by", "later_turn_says"
"""Attributes that retrieval adds to a fact that it shows; no graph holds them."""
STEP_ATTRIBUTES = ("subagent", "subagent_archive", "subagent_line")
"""Attributes of a fact that say from which `SubagentStep` it is."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about two entities: Graphiti's RELATES_TO edge."""

    uuid: Annotated[str, described("Id of the fact.", name="fact_id")]
    group_id: GroupId
    """Id of its group."""
    source: str
    """Uuid of an entity."""
    target: str
    """Uuid of an entity."""
    relation: Annotated[str, described("Its relation.")]
    """In capitals: `CHANGED`, `FAILED_WITH`. Graphiti's property `name`."""
    text: Annotated[str, described("The fact as a sentence.")]
    turns: tuple[TurnId, ...]
    """The turns that state the fact, oldest first: Graphiti's `episodes`."""
    created_at: datetime
    """When the graph got it."""
    valid_at: Annotated[
        datetime | None, described("Time from which the fact holds; null if unknown.")
    ]
    invalid_at: Annotated[
        datetime | None,
        described("Time at which the fact was invalidated; null if it still holds."),
    ] = None
    expired_at: datetime | None = None
    """When it became known that it no longer holds; None: it holds."""
    reference_time: datetime | None = None
    """Reference time of its episode; None if unknown."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """By the names of the ontology."""
    embedding: Vector | None = None
    """Embedding of the text."""

    @property
    @described(
        "The first step of a subagent from which the fact is; null: of none.",
        name="subagent_step",
    )
    def step(self) -> SubagentStep | None:
        by, archive, line = (self.attributes.get(name) for name in STEP_ATTRIBUTES)
        if not isinstance(archive, str) or not isinstance(line, int):
            return None
        return SubagentStep(str(by or ""), archive, line)

    @property
    @described("Turn and text of what ended the fact; empty: it holds, or nothing is known.")
    def ended_by(self) -> str:
        return str(self.attributes.get(ENDED_BY, ""))

    @property
    @described("Turn and text of a later decision about the same thing; empty: none is known.")
    def later_turn_says(self) -> str:
        return str(self.attributes.get(LATER, ""))

    @property
    @described("The beginning of the fact's id, which commands accept.")
    def id(self) -> str:
        return self.uuid[:ID_CHARS]


class MessageCounts(NamedTuple):
    """The tokens of one API message."""

    message: str
    """Of `ids.message_digest`."""
    input: int
    cache_write: int | None
    cache_read: int | None
    output: int
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class SubagentUsage:
    """Tokens in no turn, of one model and UTC day: of a subagent, or before the first prompt."""

    subagent: str
    """Digest of the ids of its session and of itself. Empty: the session's own agent."""
    model: str | None
    started_at: datetime | None
    """Time of the first message; None if the archive has no times."""
    input_tokens: int
    """Without the cache, as in `Turn`."""
    output_tokens: int
    session: str = ""
    """Digest of the id of the session that started it; empty: the archive does not say."""
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    reasoning_tokens: int | None = None
    messages: tuple[MessageCounts, ...] = ()
    """Its API messages, sorted; the sums above are theirs. Empty: recorded before these were."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of models, their tokens and their cost; all zero without a model."""

    calls: Annotated[int, described("Calls: attempts of requests, including failed ones.")] = 0
    prompt_tokens: Annotated[int, described("Tokens of the requests.")] = 0
    completion_tokens: Annotated[int, described("Tokens of the responses.")] = 0
    cost: Annotated[
        float | None, described("US dollars; null if a model without a price was used.", digits=6)
    ] = 0.0
    cached_tokens: Annotated[
        int, described("Prompt tokens that the provider took from its own cache.")
    ] = 0
    seconds: Annotated[float, described("Time spent waiting for responses.", digits=3)] = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and responses."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum. The cost is unknown if either cost is."""
        is_known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if is_known else None,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class HeldInvalidation:
    """An invalidation of a fact that a turn found, and that is not made: it is held for review."""

    fact: str
    """Uuid of the fact. Its text is not kept here: it may be forgotten with its own turn."""
    invalid_at: datetime
    expired_at: datetime | None
    """The value that the fact would have."""
    by: str = ""
    """Uuid of the fact of the turn that contradicts it; empty: unknown."""


@dataclass(frozen=True, slots=True)
class Change:
    """All changes of one turn to its group: committed completely or not at all."""

    episode: Episode
    entities: tuple[Entity, ...]
    """New and changed entities in their new state, each with its embedding."""
    facts: tuple[Fact, ...]
    """New, changed and invalidated facts in their new state, each with its embedding."""
    mentions: tuple[str, ...]
    """Uuids of the entities that the turn mentions, sorted: one MENTIONS edge each, from the first
    chunk of the turn unless `mentioned_in` names other chunks."""
    entities_before: tuple[Entity, ...]
    """The changed entities in their previous state."""
    facts_before: tuple[Fact, ...]
    """The changed and invalidated facts in their previous state."""
    previous_turn: TurnId | None
    """The committed turn before this one in its session, for NEXT_EPISODE."""
    next_turn: TurnId | None
    """The committed turn after this one, if this one arrived late."""
    usage: Usage
    previous_chunks: int = 1
    """Number of chunks of the previous turn: its last chunk precedes this turn's first chunk."""
    mentioned_in: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The chunks that mention an entity, ascending, from 0, by the entity's uuid."""
    summaries: str = ""
    """What the turn records about summaries, from `summaries.records.encode`; empty: nothing."""
    summary_texts: Mapping[str, str] = field(default_factory=dict)
    """New summaries of entities that are not among `entities`, by uuid."""
    saga_texts: Mapping[SessionId, str] = field(default_factory=dict)
    """New summaries of sessions: Graphiti's sagas."""
    held: tuple[HeldInvalidation, ...] = ()
    """Recorded with the turn and not made."""


@dataclass(frozen=True, slots=True)
class SummaryWrites:
    """Summaries that are written apart from a turn, with what the turns record about them."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """By uuid of the entity. One that the graph does not hold is ignored."""
    records: Mapping[TurnId, str] = field(default_factory=dict)
    """What committed turns record from now on."""
    usages: Mapping[TurnId, Usage] = field(default_factory=dict)
    """Of turns in `records`, what their receipts hold from now on."""


class NotRead(StrEnum):
    """Why the edits of a turn could not be read from its archive."""

    MISSING = "missing"
    """The archive is not there."""
    UNREADABLE = "unreadable"
    CHANGED = "changed"
    """The archive no longer has the turn as it was committed."""


@dataclass(frozen=True, slots=True)
class ArchivedEdit:
    """A change of a file as the archive of a turn has it, with its secrets."""

    path: str
    """As the tool call has it."""
    added: tuple[str, ...]
    """All lines that it added."""
    at: datetime | None


@dataclass(frozen=True, slots=True)
class TurnEdits:
    """The edits of a turn and of its subagents, as far as their archives can be read."""

    edits: tuple[ArchivedEdit, ...]
    not_read: Mapping[str | None, NotRead]
    """Why those of subagents with this archive are missing; None: those of the agent itself."""
