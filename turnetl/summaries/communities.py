"""Communities: entities that valid facts connect closely, as clusters with a name and a summary.

What a build changes about those of a group, and the port to what names and summarises them. All but
that port is pure: the same entities and valid facts give the same communities with the same uuids,
in whichever order they are loaded.

Clusters are found by Leiden, or by label propagation, in which every entity takes the label that
its neighbours have most. Graphiti's own version changes all labels at the same time and may
alternate between two states forever. Here one label changes at a time, and only if that makes the
connections within the communities heavier, so that it ends.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Protocol, assert_never

from typing_extensions import override

from turnetl.base import ids
from turnetl.base.batched import grouped
from turnetl.base.errors import BadUsage, RunStopped
from turnetl.base.graph_model import Community
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.base.relations import DECISIONS
from turnetl.base.text import listed, one_line, plural
from turnetl.episode_text.intents import fit
from turnetl.episode_text.retelling import importance, is_slip, is_told, once
from turnetl.summaries.rule_summary import story

_SCALE = 1_000_000
"""Weights are integers, so that sums do not depend on their order."""

Pair = tuple[str, str]
"""Uuids of two different entities, the smaller one first."""


@dataclass(frozen=True, slots=True)
class EntityNetwork:
    """Entities that at least one valid fact connects with another one."""

    entities: tuple[str, ...]
    """Uuids, sorted."""
    weights: Mapping[Pair, int]
    """How closely two entities are connected, by pair, sorted; positive."""

    def neighbours(self) -> dict[str, dict[str, int]]:
        """Return the weights by entity and neighbour, both sorted."""
        found: dict[str, dict[str, int]] = {uuid: {} for uuid in self.entities}
        for (one, other), weight in self.weights.items():
            found[one][other] = weight
            found[other][one] = weight
        return {uuid: dict(sorted(of_entity.items())) for uuid, of_entity in found.items()}


def entity_network(entities: Iterable[Entity], facts: Iterable[Fact]) -> EntityNetwork:
    """Return the network of a group.

    What no longer holds, what connects an entity with itself, a failed call of the agent's own
    tools, and what names the user or an entity which is not given, connects nothing. Further facts
    about the same two entities count less and less, and the weight of a pair is divided by the
    square root of the product of their degrees: a command that is connected with everything would
    merge all communities into one.
    """
    known = {entity.uuid for entity in entities if "User" not in entity.labels}
    counts = Counter(
        (min(fact.source, fact.target), max(fact.source, fact.target))
        for fact in facts
        if fact.invalid_at is None
        and fact.source != fact.target
        and fact.source in known
        and fact.target in known
        and not is_slip(fact)
    )
    degrees = Counter(uuid for pair in counts for uuid in pair)
    weights = {
        (one, other): _weight(counts[one, other], degrees[one] * degrees[other])
        for one, other in sorted(counts)
    }
    return EntityNetwork(tuple(sorted(degrees)), weights)


def _weight(facts: int, degrees: int) -> int:
    return max(1, round(_SCALE * (1 + math.log(facts)) / math.sqrt(degrees)))


Cluster = tuple[str, ...]
"""Uuids of its entities, sorted; two at least."""

_LIBRARY = "graspologic_native"
_SEED = 1
_ITERATIONS = 2
_MIN_MEMBERS, _THEME_FACTS, _THEME_TURNS = 2, 3, 2
_OUT_OF_TIME = (
    "the time was up before the communities were found, and none was changed: give `--max-seconds` "
    "more, or use `leiden`"
)
_INSTALL = (
    "the algorithm `leiden` is not installed: run `pip install 'turnetl[communities]'`, or use "
    "`label-propagation`"
)


class Algorithm(StrEnum):
    """How communities are found."""

    LEIDEN = "leiden"
    LABEL_PROPAGATION = "label-propagation"


def check_clustering(algorithm: Algorithm, resolution: float) -> None:
    """Raise BadUsage if the resolution is not positive, or Leiden is not installed."""
    if not (resolution > 0 and math.isfinite(resolution)):
        raise BadUsage(f"the resolution of communities must be positive, not {resolution:g}")
    if algorithm is Algorithm.LEIDEN and find_spec(_LIBRARY) is None:
        raise BadUsage(_INSTALL)


def clusters(
    network: EntityNetwork,
    algorithm: Algorithm = Algorithm.LEIDEN,
    *,
    resolution: float = 1.0,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> tuple[Cluster, ...]:
    """Return the clusters, the largest first, then in the order of their uuids.

    No entity is in two of them. The same network gives the same clusters.

    Args:
        resolution: positive; a higher one makes Leiden find more and smaller clusters. Label
            propagation has none.
        is_out_of_time: whether to give up. Leiden is not interrupted: it takes 0.03 s for 5,000
            entities.

    Raises:
        RunStopped: the time was up before the labels had settled.
    """
    check_clustering(algorithm, resolution)
    if not network.entities:
        return ()
    labels: Mapping[str, object]
    match algorithm:
        case Algorithm.LEIDEN:
            labels = _leiden(network, resolution)
        case Algorithm.LABEL_PROPAGATION:
            labels = propagate_labels(network, check=lambda: _check_time(is_out_of_time))
        case _:
            assert_never(algorithm)
    return _members(labels)


def _check_time(is_out_of_time: Callable[[], bool]) -> None:
    if is_out_of_time():
        raise RunStopped(_OUT_OF_TIME)


def _leiden(network: EntityNetwork, resolution: float) -> Mapping[str, int]:
    from graspologic_native import leiden  # noqa: PLC0415 - an extra of the package

    # The result depends on the order of the edges and on the seed: both are fixed.
    edges = [(one, other, float(weight)) for (one, other), weight in network.weights.items()]
    _, labels = leiden(edges, resolution=resolution, seed=_SEED, iterations=_ITERATIONS)
    found: Mapping[str, int] = labels
    return found


def _members(labels: Mapping[str, object]) -> tuple[Cluster, ...]:
    found = grouped((labels[uuid], uuid) for uuid in sorted(labels))
    large = (tuple(members) for members in found.values() if len(members) >= _MIN_MEMBERS)
    return tuple(sorted(large, key=lambda members: (-len(members), members)))


MAX_ROUNDS = 100
"""After which the labels are taken as they are. Real groups need fewer than ten."""

CHECKED = 1_000
"""Entities that are visited between two checks."""


def propagate_labels(
    network: EntityNetwork,
    *,
    max_rounds: int = MAX_ROUNDS,
    check: Callable[[], None] = lambda: None,
) -> Mapping[str, str]:
    """Return the label of each entity: the uuid of one that had it first.

    Args:
        max_rounds: in each of which every entity is visited once, in the order of the uuids.
        check: called at least once per `CHECKED` entities; what it raises ends the propagation.
    """
    neighbours = network.neighbours()
    labels = {uuid: uuid for uuid in network.entities}
    for _ in range(max_rounds):
        changed = False
        for place, uuid in enumerate(network.entities):
            if place % CHECKED == 0:
                check()
            label = _heaviest(neighbours[uuid], labels, labels[uuid])
            changed |= label != labels[uuid]
            labels[uuid] = label
        if not changed:
            break
    return labels


def _heaviest(neighbours: Mapping[str, int], labels: Mapping[str, str], own: str) -> str:
    """Return the label with the greatest weight: of several its own, or else the smallest."""
    weights: dict[str, int] = {}
    for neighbour, weight in neighbours.items():
        weights[labels[neighbour]] = weights.get(labels[neighbour], 0) + weight
    return min(weights, key=lambda label: (-weights[label], label != own, label))


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
    found = with_theme(
        clusters(network, algorithm, resolution=resolution, is_out_of_time=is_out_of_time), facts
    )
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


def with_theme(found: Sequence[Cluster], facts: Iterable[Fact]) -> list[Cluster]:
    """Return the clusters of which several facts of several turns tell.

    That one file changes one thing, or a decision and its subject, is no more than its fact says.
    """
    community_of = {uuid: place for place, members in enumerate(found) for uuid in members}
    texts: list[set[str]] = [set() for _ in found]
    turns: list[set[str]] = [set() for _ in found]
    for fact in facts:
        place = community_of.get(fact.source)
        is_inside = place is not None and place == community_of.get(fact.target)
        if place is not None and is_inside and fact.invalid_at is None and is_told(fact):
            texts[place].add(fact.text)
            turns[place].update(fact.turns)
    return [
        cluster
        for cluster, told, of_turns in zip(found, texts, turns, strict=True)
        if len(cluster) > _MIN_MEMBERS
        and len(told) >= _THEME_FACTS
        and len(of_turns) >= _THEME_TURNS
    ]


def _inputs(
    missing: Mapping[str, Cluster],
    network: EntityNetwork,
    entities: Iterable[Entity],
    facts: Iterable[Fact],
) -> tuple[CommunityInput, ...]:
    """Return the entities and facts from which the missing communities are described.

    Reads `facts` once, for all communities together.
    """
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


_LISTED = 4
"""Members of a kind that a summary names."""
_MAX_NAME_CHARS, _MAX_ABOUT_CHARS = 60, 80
"""Of a member: that of a decision is a sentence."""
_SAID = frozenset({"decision", "preference"})
"""Kinds of members whose names are sentences."""
_TITLE = re.compile(
    r"(?:The user accepted the plan|(?:Commit|Pull request) `[^`]{1,100}`): "
    r"(?:[a-z]{1,12}(?:\([^)]{1,40}\))?!?: )?(.+)"
)


class RuleCommunityWriter(CommunityWriter):
    """Describes communities by rules, which costs nothing."""

    @override
    async def describe(self, communities: Sequence[CommunityInput]) -> Sequence[CommunityText]:
        return [rule_text(community) for community in communities]


def rule_text(community: CommunityInput) -> CommunityText:
    """Return a name and a summary of at most `rule_summary.MAX_CHARS` characters.

    The name is the title of the latest pull request, commit or plan, with the member that is most
    closely connected with the others; without one that member, with a decision or other members.
    The summary tells what was decided, built and fixed, what is open, and which the members are.
    """
    kinds = grouped((_kind(member), _name(member)) for member in community.members)
    parts = (_listed(kind, list(dict.fromkeys(names))) for kind, names in kinds.items())
    members = f"{plural(len(community.members), 'entity', 'entities')}: {'; '.join(parts)}."
    return CommunityText(_title(community), story(community.facts, after=members))


def _title(community: CommunityInput) -> str:
    things = [one for one in community.members if _kind(one) not in _SAID]
    named = list(dict.fromkeys(map(_name, things or community.members)))
    facts = sorted(community.facts, key=lambda fact: (fact.valid_at or fact.created_at, fact.uuid))
    titles = (_TITLE.match(" ".join(fact.text.split())) for fact in reversed(facts))
    about = next((fit(found[1], _MAX_ABOUT_CHARS) for found in titles if found), "")
    if about:
        return f"{about} ({named[0]})"
    decided = (one for one in reversed(facts) if one.relation in DECISIONS)
    said = (text for _, text in once(sorted(decided, key=importance)))
    about = fit(next(said, ""), _MAX_ABOUT_CHARS)
    about = about or ", ".join(named[1:3])
    return f"{named[0]}: {about}" if about else named[0]


def _kind(member: Entity) -> str:
    label = next(iter(member.labels), "entity")
    return label if label.isupper() else label.lower()


def _name(member: Entity) -> str:
    name = one_line(member.name, _MAX_NAME_CHARS)
    return name.rpartition("/")[2] or name if "File" in member.labels else name


def _listed(kind: str, names: Sequence[str]) -> str:
    """Return how many members of a kind there are, and the first of them."""
    if kind in _SAID:
        return plural(len(names), kind)
    return f"{kind if len(names) == 1 else f'{kind}s'} {listed(names, _LISTED)}"
