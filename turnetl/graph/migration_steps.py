"""The steps of a cutover, a rollback and a finish: each is one transaction, and may be repeated."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnetl.base.model import GroupId

SESSION = "session"
"""The granularity of an episode that summarises a session, or is data of another program: value of
the property `turnetl_granularity`."""


class MovedKind(StrEnum):
    """What is moved together, with the edges that begin at it."""

    COMMUNITIES = "communities"
    """With HAS_MEMBER."""
    SAGAS = "sagas"
    """With HAS_EPISODE."""
    ENTITIES = "entities"
    FACTS = "facts"
    EPISODES = "episodes"
    """With MENTIONS and NEXT_EPISODE."""


@dataclass(frozen=True, slots=True)
class MoveStep:
    """Set the group of data of one kind. What is not in the source group stays."""

    kind: MovedKind
    uuids: tuple[str, ...]
    source: GroupId
    target: GroupId


@dataclass(frozen=True, slots=True)
class MarkStep:
    """Mark episodes of a group with a granularity, which Graphiti does not read; or unmark them."""

    group: GroupId
    uuids: tuple[str, ...]
    """Of episodes that stay; with no granularity, those that are unmarked."""
    granularity: str | None


@dataclass(frozen=True, slots=True)
class MoveCommitsStep:
    """Set the group of TurnCommits. What is not in the source group stays."""

    turns: tuple[str, ...]
    source: GroupId
    target: GroupId


@dataclass(frozen=True, slots=True)
class SwitchStep:
    """Give number, id and profile of a group to another one, which makes its TurnCommits visible.

    The TurnGroup of the source is deleted, unless it has TurnCommits, or gets a new id and no
    turns.
    """

    source: GroupId
    target: GroupId
    deletes_source: bool
    new_creation_id: str = ""
    """Of the source, if it stays."""


@dataclass(frozen=True, slots=True)
class DeleteStep:
    """Delete data of one kind. An entity that something uses goes to the heir.

    That is a fact, a mention or, in Neo4j, a relation of another program to a node outside of the
    group: those that were made after the steps were planned.
    """

    kind: MovedKind
    uuids: tuple[str, ...]
    group: GroupId
    heir: GroupId


@dataclass(frozen=True, slots=True)
class DropTurnsStep:
    """Delete TurnCommits of a group, and mark those of their runs as undone that have no other."""

    group: GroupId
    turns: tuple[str, ...]
    runs: tuple[str, ...]
    """Ids of the runs that committed these turns, sorted."""
    now: datetime
    """The current time."""


@dataclass(frozen=True, slots=True)
class DropGroupStep:
    """Delete the TurnGroup of a group without turns, and with it its lease."""

    group: GroupId


MigrationStep = (
    MoveStep | MarkStep | MoveCommitsStep | SwitchStep | DeleteStep | DropTurnsStep | DropGroupStep
)
