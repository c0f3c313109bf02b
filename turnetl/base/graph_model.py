"""Values that a graph store returns: receipts, groups and their contents. Frozen as in `model`.

All times are aware and UTC, with microseconds. All texts are redacted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from turnetl.base.model import (
    Entity,
    Fact,
    GroupId,
    HeldInvalidation,
    SessionId,
    SummaryWrites,
    TurnId,
    Usage,
    Vector,
)
from turnetl.base.result_fields import ArchiveField, FirstLineField, LastLineField, TurnIdField
from turnetl.base.results import described


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof that a turn is in the graph: the TurnCommit node.

    Columns: `schema.RECEIPTS`. The columns of the usage are columns of their own.
    """

    turn_id: TurnIdField
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    format: Annotated[str, described("Format of the archive.")]
    session_id: Annotated[SessionId, described("Id of the session.")]
    ordinal: int
    parent_session_id: str | None
    agent_id: str | None
    run_id: Annotated[str, described("Id of the run that committed it.")]
    content_hash: str
    text_hash: str
    chunks: int
    """Episodes that the turn was committed as."""
    extractor: str
    model: str | None
    """With its provider; None if the extractor uses none."""
    recipe: str
    committed_at: Annotated[datetime, described("Time of its commit.")]
    started_at: Annotated[datetime, described("Time of the prompt.")]
    ended_at: Annotated[datetime | None, described("Time of its last row; null if unknown.")]
    cwd: str | None
    git_branch: Annotated[str | None, described("The git branch; null if unknown.")]
    tools: tuple[str, ...]
    archive: ArchiveField
    first_line: FirstLineField
    last_line: LastLineField
    usage: Usage
    entities_new: int
    facts_new: int
    facts_invalidated: int
    summary_reasons: tuple[str, ...] = ()
    facts_held: int = 0
    """Invalidations that are held for review."""


@dataclass(frozen=True, slots=True)
class CommittedTurn:
    """A committed turn, its episode text, and the uuids that it created or changed, sorted."""

    receipt: Receipt
    sequence: int
    """Number of the commit in its group: from 1, unique, ascending in the order of the commits."""
    text: str
    entities: tuple[str, ...]
    """Also those about whose summaries it records something."""
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What is recorded about a committed turn, with which it can be undone. No text of it."""

    receipt: Receipt
    sequence: int
    """Number of the commit in its group."""
    entities_before: tuple[Entity, ...]
    """The entities that the turn changed, as it found them."""
    facts_before: tuple[Fact, ...]
    """The facts that the turn changed, invalidated or stated again, as it found them."""
    entities_new: tuple[str, ...]
    """Uuids of the entities that the turn created."""
    facts_new: tuple[str, ...]
    """Uuids of the facts that the turn created."""
    mentions: tuple[str, ...]
    """Uuids of the entities that its episodes mention, sorted."""
    endpoints: tuple[str, ...]
    """Uuids of the entities that its new facts connect, sorted; not all of them are mentioned."""
    summaries: str = ""
    """As `Change.summaries`: the only texts."""
    held: tuple[HeldInvalidation, ...] = ()
    """The invalidations that wait for a review."""


@dataclass(frozen=True, slots=True)
class Review:
    """Held invalidations of a group that were answered: written completely or not at all."""

    records: tuple[CommitRecord, ...]
    """Of committed turns, by number, at least one: what they record of facts from now on, and their
    receipts."""
    facts: tuple[Fact, ...] = ()
    """In their new state, each with its embedding; the graph holds them."""


@dataclass(frozen=True, slots=True)
class Reversal:
    """All that has to be done to undo one turn: done completely or not at all."""

    receipt: Receipt
    """Of the turn; names its episodes and its session."""
    entities_removed: tuple[str, ...]
    """Uuids. One that is still in use when the turn is gone is kept."""
    facts_removed: tuple[str, ...]
    """Uuids."""
    entities_restored: tuple[Entity, ...]
    """In the state to restore, each with its embedding."""
    facts_restored: tuple[Fact, ...]
    """In the state to restore, each with its embedding; the graph holds them."""
    summaries: SummaryWrites = field(default_factory=SummaryWrites)
    """Written when entities are removed and restored. Names turns that stay."""
    saga_texts: Mapping[SessionId, str] = field(default_factory=dict)
    """New summaries of sessions that still have turns."""
    ends_run: bool = False
    """Whether no later reversal of the group is of the run that committed the turn."""


@dataclass(frozen=True, slots=True)
class Reverted:
    """A turn was undone."""

    entities_kept: tuple[str, ...]
    """Uuids of those of `entities_removed` that stay: another program's episode or fact uses
    them."""


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """State of a group: the number of its latest commit (0 if none) and of its committed turns."""

    sequence: int
    turns: int
    creation_id: str = ""
    """Tells the group from an earlier one of that name."""


LONGEST_LEASE = timedelta(hours=1)
"""A lease that ends later was written by a clock that was ahead, and counts as expired."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one group until `until`. The fence grows by one with each owner."""

    group_id: GroupId
    owner: str
    until: datetime
    fence: int


@dataclass(frozen=True, slots=True)
class GroupProfile:
    """Embedder and recipe of a group of the graph. Vectors of another embedder cannot be added."""

    embedder: str
    dimensions: int
    recipe: str
    """Digest of extractor, templates, ontology and model: a change makes committed turns stale."""


@dataclass(frozen=True, slots=True)
class GroupContents:
    """A group as the graph holds it. Entities and facts are in created_at order, then by uuid."""

    group_id: GroupId
    profile: GroupProfile | None
    """None if nothing was ever written to the group."""
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    receipts: tuple[Receipt, ...]
    """Receipts, sorted by (started_at, turn_id)."""
    texts: Mapping[TurnId, str]
    """The episode texts."""
    summaries: Mapping[TurnId, str] = field(default_factory=dict)
    """`Change.summaries` of each turn, in the order of the commits."""


@dataclass(frozen=True, slots=True)
class EpisodeNode:
    """A chunk of a turn as the graph holds it: Graphiti's Episodic node."""

    uuid: Annotated[str, described("Uuid of the episode.")]
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    name: Annotated[str, described("Name of the episode.")]
    text: Annotated[str, described("The text of the episode.")]
    """Graphiti's property `content`."""
    source: str
    source_description: str
    created_at: datetime
    valid_at: datetime


@dataclass(frozen=True, slots=True)
class Mention:
    """An episode that mentions an entity: Graphiti's MENTIONS edge."""

    episode: str
    """Uuid of an EpisodeNode."""
    entity: str
    """Uuid of an entity."""


@dataclass(frozen=True, slots=True)
class Community:
    """A cluster of entities: Graphiti's Community node with its HAS_MEMBER edges."""

    uuid: Annotated[str, described("Uuid of the community.")]
    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    name: Annotated[str, described("Name of the community.")]
    summary: Annotated[str, described("Summary of the community.")]
    created_at: datetime
    embedding: Vector | None = None
    """Of the name. Not loaded: a graph does not say which embedder made the stored one."""
    members: tuple[str, ...] = ()
    """Uuids of its entities, sorted."""


@dataclass(frozen=True, slots=True)
class CommunityBatch:
    """Communities of a group that one transaction writes."""

    removed: tuple[str, ...]
    """Uuids. One that the group does not hold is ignored."""
    written: tuple[Community, ...]
    """Each with its embedding and its members. One that exists is replaced with its members."""


@dataclass(frozen=True, slots=True)
class Subgraphs:
    """The episodic and the community subgraph of a group: what `GroupContents` omits.

    Episodes and communities are in created_at order, then by uuid.
    """

    episodes: tuple[EpisodeNode, ...]
    mentions: tuple[Mention, ...]
    """Sorted by (episode, entity)."""
    communities: tuple[Community, ...]


class RunOutcome(StrEnum):
    """How a run ended. One that was killed has none."""

    DONE = "done"
    """Everything was done; turns may have been quarantined."""
    STOPPED = "stopped"
    """By its budget or after failures in a row; the next run continues."""
    INTERRUPTED = "interrupted"
    """By a signal."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TurnRun:
    """A run that wrote to the graph: the TurnRun node. Columns: `schema.RUNS`.

    The columns of the usage are columns of their own. Counts are those at the end of the run.
    """

    run_id: Annotated[str, described("Id of the run.")]
    owner: str
    """Owner of its leases, which names its process."""
    user: Annotated[str, described("Who started it.")]
    host: Annotated[str, described("Where it ran.")]
    command: Annotated[
        tuple[str, ...],
        described("Program and arguments, without secrets; empty for a call from Python."),
    ]
    archives: Annotated[
        tuple[str, ...], described("Archives as they were given; empty if none were read.")
    ]
    groups: Annotated[tuple[GroupId, ...], described("Groups with turns to ingest, sorted.")]
    extractor: Annotated[str, described("Extractor that made its turns.")]
    model: Annotated[
        str | None, described("Model with its provider; null if the extractor uses none.")
    ]
    recipes: Annotated[tuple[str, ...], described("Recipes of its groups, sorted.")]
    started_at: Annotated[datetime, described("Time of its first lease.")]
    ended_at: Annotated[datetime | None, described("Its end; null if none was recorded.")] = None
    """None while it runs, and if it was killed."""
    outcome: RunOutcome | None = None
    """None while it runs, and if it was killed."""
    error: Annotated[str | None, described("Its first error; null if there was none.")] = None
    committed: Annotated[int, described("Turns that it committed.")] = 0
    quarantined: Annotated[int, described("Turns that failed.")] = 0
    discarded: Annotated[int, described("Extracted entities and facts that were useless.")] = 0
    entities_new: Annotated[int, described("Entities that it created.")] = 0
    facts_new: Annotated[int, described("Facts that it created.")] = 0
    facts_invalidated: Annotated[int, described("Facts that it invalidated.")] = 0
    summary_reasons: tuple[str, ...] = ()
    usage: Annotated[Usage, described("All its requests, also those behind no committed turn.")] = (
        field(default_factory=Usage)
    )
    undone_at: Annotated[
        datetime | None, described("When its last turn was undone; null if it was not.")
    ] = None


@dataclass(frozen=True, slots=True)
class RunTotals:
    """What the graph holds of one run now: sums over its receipts."""

    committed: int
    """Turns."""
    entities_new: int
    facts_new: int
    facts_invalidated: int
    usage: Usage
