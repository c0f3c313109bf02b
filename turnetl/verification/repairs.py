"""What of a group can be repaired without a loss, and how a user is told."""

from typing import assert_never

from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.verification.entity_checks import entity_repairs
from turnetl.verification.fact_checks import fact_repairs
from turnetl.verification.group_state import GroupState
from turnetl.verification.session_checks import session_repairs


def group_repairs(state: GroupState) -> tuple[GroupRepair, ...]:
    """Return the repairs of a group; none if it has no profile, so that it cannot be leased."""
    if state.dimensions is None:
        return ()
    return (*session_repairs(state), *entity_repairs(state), *fact_repairs(state))


def repair_sentence(repair: GroupRepair) -> str:
    """Return what the repair does."""
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
