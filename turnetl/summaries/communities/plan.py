"""What a build changes about the communities of a group: those of the graph, and today's clusters.

And the port to what names and summarises communities, with the writer that needs no model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from turnetl.base import ids
from turnetl.base.graph_model import Community
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.base.text import one_line
from turnetl.summaries.communities.clustering import (
    Algorithm,
    Cluster,
    EntityNetwork,
    clusters,
    entity_network,
)
from turnetl.summaries.rule_summary import with_facts


@dataclass(frozen=True, slots=True)
class CommunityInput:
    """What a community that is missing is described from."""

    uuid: str
    members: tuple[Entity, ...]
    """The one that is most closely connected with the others first."""
    facts: tuple[Fact, ...]
    """Valid facts that connect two members, oldest first."""


@dataclass(frozen=True, slots=True)
class CommunityPlan:
    """What a build changes about the communities of one group."""

    group: GroupId
    kept: tuple[str, ...]
    """Uuids of the communities that stay, sorted."""
    missing: tuple[CommunityInput, ...]
    """The communities to write, the largest first."""
    stale: Mapping[str, frozenset[str]]
    """Uuids of the members of each community to remove, by its uuid, sorted by it."""

    def batches(self, size: int) -> Iterator[tuple[tuple[str, ...], Sequence[CommunityInput]]]:
        """Yield uuids to remove with at most `size` communities to write, one transaction each.

        What a stale community shares with a new one is never in both, and it is found until the new
        one is there. One that shares nothing goes in the first batch.
        """
        wanted = {member.uuid for one in self.missing for member in one.members}
        left = dict(self.stale)
        isolated = [uuid for uuid, members in left.items() if not members & wanted]
        for start in range(0, max(len(self.missing), 1), size):
            batch = self.missing[start : start + size]
            members = {member.uuid for one in batch for member in one.members}
            shared = [uuid for uuid, of_stale in left.items() if of_stale & members]
            removed = [*(isolated if start == 0 else ()), *shared]
            for uuid in removed:
                del left[uuid]
            if removed or batch:
                yield tuple(removed), batch


def plan_communities(
    group: GroupId,
    entities: Sequence[Entity],
    facts: Sequence[Fact],
    existing: Iterable[Community],
    algorithm: Algorithm = Algorithm.LEIDEN,
    *,
    resolution: float = 1.0,
    everything: bool = False,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> CommunityPlan:
    """Compare the communities of a group with those that its facts, oldest first, make today.

    Args:
        everything: write the communities again whose members did not change.
    """
    network = entity_network(entities, facts)
    found = clusters(network, algorithm, resolution=resolution, is_out_of_time=is_out_of_time)
    members = {community.uuid: frozenset(community.members) for community in existing}
    changes = community_changes(group, {} if everything else members, found)
    # A community that is written again is replaced, not removed.
    stale = sorted(members.keys() - changes.missing.keys() - set(changes.kept))
    return CommunityPlan(
        group,
        changes.kept,
        _inputs(changes.missing, network, entities, facts),
        {uuid: members[uuid] for uuid in stale},
    )


def _inputs(
    missing: Mapping[str, Cluster],
    network: EntityNetwork,
    entities: Iterable[Entity],
    facts: Iterable[Fact],
) -> tuple[CommunityInput, ...]:
    """Return what the missing communities are described from; every fact is looked at once."""
    community_of = {member: uuid for uuid, cluster in missing.items() for member in cluster}
    by_uuid = {entity.uuid: entity for entity in entities if entity.uuid in community_of}
    weights = dict.fromkeys(by_uuid, 0)
    for (one, other), weight in network.weights.items():
        if community_of.get(one, one) == community_of.get(other, other):
            weights[one] += weight
            weights[other] += weight
    inside: dict[str, list[Fact]] = {uuid: [] for uuid in missing}
    for fact in facts:
        uuid = community_of.get(fact.source)
        if uuid is not None and uuid == community_of.get(fact.target) and fact.invalid_at is None:
            inside[uuid].append(fact)
    return tuple(
        CommunityInput(
            uuid,
            tuple(by_uuid[one] for one in sorted(cluster, key=lambda one: (-weights[one], one))),
            tuple(inside[uuid]),
        )
        for uuid, cluster in missing.items()
    )


@dataclass(frozen=True, slots=True)
class CommunityText:
    """Name and summary of a community; neither is empty."""

    name: str
    summary: str


class CommunityWriter(Protocol):
    """Names and summarises communities."""

    async def describe(self, communities: Sequence[CommunityInput]) -> Sequence[CommunityText]:
        """Return a text for each community, in their order.

        Raises:
            RunStopped: the budget is used up.
            TurnetlError: as the model, unless another request may succeed.
        """


@dataclass(frozen=True, slots=True)
class CommunityChanges:
    """The communities of a group that stay, and those that are missing."""

    kept: tuple[str, ...]
    """Uuids, sorted: their members are those of a cluster."""
    missing: Mapping[str, Cluster]
    """The members of each community to create, by its uuid, in the order of the clusters."""


def community_changes(
    group: GroupId, existing: Mapping[str, Iterable[str]], clusters: Iterable[Cluster]
) -> CommunityChanges:
    """Compare the communities of the graph with the clusters.

    A community is kept if its uuid is that of a cluster and it has all of its members. One that
    lost a member, because its turn was undone, is stale, and so is one with a random uuid, which
    Graphiti's `build_communities` wrote: an entity is never in two communities.
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
    )


_NAMED = 3
"""Members in the name."""
_LISTED = 12
"""Members in the summary."""
_MAX_NAME_CHARS = 60
"""Of a member: that of a decision is a sentence."""


class RuleCommunityWriter(CommunityWriter):
    """Describes communities by rules, which costs nothing."""

    @override
    async def describe(self, communities: Sequence[CommunityInput]) -> Sequence[CommunityText]:
        return [rule_text(community) for community in communities]


def rule_text(community: CommunityInput) -> CommunityText:
    """Return a name and a summary of at most `rule_summary.MAX_CHARS` characters."""
    members = community.members
    names = _names(members, _LISTED)
    others = len(members) - len(names)
    more = f" and {others:,} more" if others else ""
    heading = f"{len(members):,} entities: {', '.join(names)}{more}."
    return CommunityText(", ".join(names[:_NAMED]), with_facts(heading, community.facts))


def _names(members: Sequence[Entity], limit: int) -> list[str]:
    names = (one_line(member.name, _MAX_NAME_CHARS) for member in members)
    return list(dict.fromkeys(names))[:limit]
