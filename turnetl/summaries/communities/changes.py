"""What a build has to change: the communities of a graph, compared with the clusters of today."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.summaries.communities.clustering import Cluster


@dataclass(frozen=True, slots=True)
class CommunityChanges:
    """The communities of a group that stay, that are missing, and that are out of date."""

    kept: tuple[str, ...]
    """Uuids, sorted: their members are those of a cluster."""
    missing: Mapping[str, Cluster]
    """The members of each community to create, by its uuid, in the order of the clusters."""
    stale: tuple[str, ...]
    """Uuids of communities to remove, sorted: those that another program wrote are among them."""


def community_changes(
    group: GroupId, existing: Mapping[str, Iterable[str]], clusters: Iterable[Cluster]
) -> CommunityChanges:
    """Compare the communities of the graph with the clusters.

    A community is kept if its uuid is that of a cluster and it has all of its members. One that
    lost a member, because its turn was undone, is stale, and so is one with a random uuid, which
    Graphiti's `build_communities` wrote: an entity is never in two communities.

    Args:
        group: of both.
        existing: the members of each community of the graph, by its uuid.
        clusters: those of today.
    """
    wanted = {ids.community_id(group, cluster): cluster for cluster in clusters}
    kept = {
        uuid
        for uuid, members in existing.items()
        if uuid in wanted and sorted(members) == list(wanted[uuid])
    }
    return CommunityChanges(
        kept=tuple(sorted(kept)),
        missing={uuid: members for uuid, members in wanted.items() if uuid not in kept},
        stale=tuple(sorted(existing.keys() - kept)),
    )
