"""The steps of a cutover, a rollback and a finish: each is one transaction, and may be repeated."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnetl.model import GroupId

SESSION = "session"
"""The granularity of an episode that summarises a session, or is data of another program."""


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
class SwitchStep:
    """Give the TurnCommits of a group to another one, with number, id and profile of the group.

    The TurnGroup of the source is deleted, or gets a new id and no turns.
    """

    source: GroupId
    target: GroupId
    deletes_source: bool
    new_creation_id: str = ""
    """Of the source, if it stays."""


@dataclass(frozen=True, slots=True)
class DeleteStep:
    """Delete data of one kind. An entity that an episode or a fact uses goes to the heir."""

    kind: MovedKind
    uuids: tuple[str, ...]
    group: GroupId
    heir: GroupId


@dataclass(frozen=True, slots=True)
class DropTurnsStep:
    """Delete the TurnCommits of a group; runs of which no turn is left are marked as undone."""

    group: GroupId
    now: datetime
    """The current time."""


@dataclass(frozen=True, slots=True)
class DropGroupStep:
    """Delete the TurnGroup of a group without turns, and with it its lease."""

    group: GroupId


MigrationStep = MoveStep | MarkStep | SwitchStep | DeleteStep | DropTurnsStep | DropGroupStep
