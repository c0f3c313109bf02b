"""Read a group of a graph that another process may write meanwhile."""

from turnetl.base.errors import GraphBusy
from turnetl.base.model import GroupId
from turnetl.graph.port import GraphStore
from turnetl.verification.group_state import GroupState

_READS = 3


async def read_group(store: GraphStore, group: GroupId) -> GroupState:
    """Read the group; again if a turn of it was undone meanwhile.

    Raises:
        GraphBusy: turns are being undone.
    """
    profile = await store.profile(group)
    dimensions = profile.dimensions if profile is not None else None
    for _ in range(_READS):
        state = GroupState(group, await store.tables(group), dimensions)
        if not state.undone_meanwhile:
            return state
    raise GraphBusy(
        f"another process is undoing turns of group `{group}`: wait until it ends, then verify it "
        "again"
    )
