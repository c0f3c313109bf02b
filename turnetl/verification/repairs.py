"""What of a group can be repaired without a loss, and how a user is told."""

from turnetl.graph.group_repair import (
    GroupRepair,
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
