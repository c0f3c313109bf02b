"""The values that travel between stages: frozen, compared by content, importing nothing of ours.

All times are aware and UTC, with microseconds. All texts are redacted already: nothing in this
module ever holds a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

GroupId = NewType("GroupId", str)
"""Graphiti's `group_id`: lower-case letters, digits and underscores, one token."""
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
"""The uuid of a turn, of its first Episodic node and of its TurnCommit: one and the same."""
Vector = NewType("Vector", bytes)
"""An embedding: float32, little-endian, of unit length. Bytes, so that values stay comparable."""

Attribute = str | int | float | bool


class ClosedBy(StrEnum):
    """Why a turn is over."""

    NEXT_PROMPT = "next_prompt"
    SESSION_END = "session_end"
    QUIET = "quiet"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, in one line, with what came of it."""

    name: str
    input: str
    """The call as one line: the command, the path, or compact JSON."""
    result: str
    """Head and tail of what the tool gave back, and from between them lines about failures."""
    is_error: bool
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A human prompt and all that the agent did until the next one. Columns: `schema.TURNS`."""

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
    output_tokens: int
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


@dataclass(frozen=True, slots=True)
class Episode:
    """A turn, marked and rendered. Columns: `schema.EPISODES`."""

    turn: Turn
    noise: str | None
    """The name of the rule that speaks against the turn, or None if it is kept."""
    copies: int
    """How many other archives hold this very turn too."""
    text: str
    """The episode body as it will be sent."""
    parts: tuple[str, ...]
    """`text` in pieces that fit one prompt each, one for almost every turn: its Episodic nodes."""
    chars_before: int
    chars_after: int
    tokens: int
    text_hash: str
    """Digest of what will be sent: another one makes a committed turn stale."""
    kind: str
    """What the turn is mostly made of: a word of `episodes.classify.KINDS`."""

    @property
    def turn_id(self) -> TurnId:
        return self.turn.turn_id


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of the group: Graphiti's Entity node."""

    uuid: str
    group_id: GroupId
    name: str
    labels: tuple[str, ...]
    """Sorted, without Graphiti's own `Entity`."""
    summary: str
    created_at: datetime
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    embedding: Vector | None = None
    """Of the name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence about two entities: Graphiti's RELATES_TO edge."""

    uuid: str
    group_id: GroupId
    source: str
    target: str
    name: str
    """The kind of the relation, in capitals: `MODIFIED`, `FAILED_WITH`."""
    text: str
    """The sentence."""
    turns: tuple[TurnId, ...]
    """The turns that say so, oldest first: Graphiti's `episodes`."""
    created_at: datetime
    valid_at: datetime | None
    invalid_at: datetime | None = None
    expired_at: datetime | None = None
    reference_time: datetime | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    embedding: Vector | None = None
    """Of the sentence."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn cost. Zero everywhere for what was done without a model."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where no price is known."""
    cached_tokens: int = 0
    """Of the prompt tokens, those that the provider had read before."""
    seconds: float = 0.0
    """Waited for answers."""

    def __add__(self, other: "Usage") -> "Usage":
        """Return both together. What is known and what is not make a cost that is not known."""
        known = self.cost is not None and other.cost is not None
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Change:
    """All that one turn does to its group: committed as a whole or not at all."""

    episode: Episode
    entities: tuple[Entity, ...]
    """New and changed ones, as they shall be, each with its embedding."""
    facts: tuple[Fact, ...]
    """New, changed and retired ones, as they shall be, each with its embedding."""
    mentions: tuple[str, ...]
    """Uuids of the entities the turn speaks of, sorted: one MENTIONS edge each, from the first part
    of the turn if `said_in` does not say otherwise."""
    entities_before: tuple[Entity, ...]
    """The changed entities as they were."""
    facts_before: tuple[Fact, ...]
    """The changed and retired facts as they were."""
    previous_turn: TurnId | None
    """The committed turn before this one in its session, for NEXT_EPISODE."""
    next_turn: TurnId | None
    """The committed turn after it, when history arrived late."""
    usage: Usage
    previous_parts: int = 1
    """Of how many parts the previous turn is: the last one is followed by this turn's first."""
    mentioned_in: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The parts that speak of an entity, ascending, from 0, by its uuid."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof that a turn is in the graph: the TurnCommit node. Columns: `schema.RECEIPTS`."""

    turn_id: TurnId
    group_id: GroupId
    session_id: SessionId
    ordinal: int
    run_id: str
    content_hash: str
    text_hash: str
    """Of what was sent."""
    parts: int
    """Episodes that the turn is in the graph."""
    recipe: str
    committed_at: datetime
    started_at: datetime
    ended_at: datetime | None
    archive: str
    first_line: int
    last_line: int
    usage: Usage
    nodes_new: int
    edges_new: int
    edges_invalidated: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one group, until `until`. The fence grows by one with each owner."""

    group_id: GroupId
    owner: str
    until: datetime
    fence: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What a group's graph was made with; another embedder cannot be mixed in."""

    embedder: str
    dimensions: int
    recipe: str
    """Digest of extractor, templates, ontology and model: a change makes committed turns stale."""


@dataclass(frozen=True, slots=True)
class GroupContents:
    """A group as the graph holds it. Entities and facts in created_at order, then by uuid."""

    group_id: GroupId
    profile: Profile | None
    """None if nothing was ever written to the group."""
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    receipts: tuple[Receipt, ...]
    """By (started_at, turn_id)."""
    texts: Mapping[TurnId, str]
    """The episode bodies."""
