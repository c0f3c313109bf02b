"""Repairs of a group that lose nothing: each is one transaction. What needs one, `verify` finds."""

from dataclasses import dataclass
from typing import assert_never

from turnetl.base.model import SessionId, TurnId


@dataclass(frozen=True, slots=True)
class DoubleMention:
    """An episode mentions an entity more than once: one MENTIONS stays."""

    episode: str
    entity: str


@dataclass(frozen=True, slots=True)
class SessionLinks:
    """The links of a session's episodes are not as its commits would have made them.

    What is to be removed is removed first. A link that exists twice is in both lists.
    """

    session_id: SessionId
    saga: str
    """Uuid; created if it does not exist."""
    first: str
    """Uuid of its first episode."""
    last: str
    saga_links_removed: tuple[str, ...] = ()
    """Uuids of episodes."""
    saga_links_created: tuple[str, ...] = ()
    next_links_removed: tuple[tuple[str, str], ...] = ()
    """Pairs of uuids of episodes: from, to."""
    next_links_created: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class UnattachedFact:
    """A fact without any entity at its ends: it is removed, unless it has an end by now."""

    uuid: str


@dataclass(frozen=True, slots=True)
class UnusedEntity:
    """An entity that no episode mentions and no fact connects: removed, unless used by now.

    The record of the turn then says that it did not create the entity.
    """

    uuid: str
    turn_id: TurnId
    """The turn that created it."""


GroupRepair = DoubleMention | SessionLinks | UnattachedFact | UnusedEntity


def repair_sentence(repair: GroupRepair) -> str:
    match repair:
        case DoubleMention(episode, entity):
            return f"keep one mention of entity {entity} by episode {episode}"
        case SessionLinks(session_id=session):
            removed = len(repair.saga_links_removed) + len(repair.next_links_removed)
            created = len(repair.saga_links_created) + len(repair.next_links_created)
            return f"link session {session}: {removed} links removed, {created} created"
        case UnattachedFact(uuid):
            return f"remove fact {uuid}, which has no entities"
        case UnusedEntity(uuid):
            return f"remove entity {uuid}, which nothing uses"
        case _:
            assert_never(repair)
