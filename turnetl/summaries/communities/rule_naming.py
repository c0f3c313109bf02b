"""Names and summaries of communities without a model: from their members and their facts."""

from collections.abc import Iterable, Mapping, Sequence

from turnetl.model import Entity, Fact
from turnetl.summaries.communities.clustering import Cluster
from turnetl.summaries.communities.network import EntityNetwork
from turnetl.summaries.rule_summary import with_facts

_NAMED = 3
"""Members in the name."""
_LISTED = 12
"""Members in the summary."""
_MAX_NAME_CHARS = 60
"""Of a member: that of a decision is a sentence."""


def by_connection(cluster: Cluster, network: EntityNetwork) -> tuple[str, ...]:
    """Return the uuids of the members, the one that is most closely connected with others first."""
    members = frozenset(cluster)
    weights = dict.fromkeys(cluster, 0)
    for (one, other), weight in network.weights.items():
        if one in members and other in members:
            weights[one] += weight
            weights[other] += weight
    return tuple(sorted(cluster, key=lambda uuid: (-weights[uuid], uuid)))


def rule_name(members: Sequence[Entity]) -> str:
    """Return the names of the first members, which differ.

    Args:
        members: in the order of `by_connection`.
    """
    return ", ".join(_names(members, _NAMED))


def rule_community_summary(members: Sequence[Entity], facts: Iterable[Fact]) -> str:
    """Return a summary of at most `rule_summary.MAX_CHARS` characters.

    Args:
        members: in the order of `by_connection`.
        facts: of the group; those that connect two members are used.
    """
    uuids = {member.uuid for member in members}
    inside = (fact for fact in facts if fact.source in uuids and fact.target in uuids)
    names = _names(members, _LISTED)
    others = len(members) - len(names)
    more = f" and {others:,} more" if others else ""
    return with_facts(f"{len(members):,} entities: {', '.join(names)}{more}.", inside)


def _names(members: Sequence[Entity], limit: int) -> list[str]:
    names: Mapping[str, None] = dict.fromkeys(_short(member.name) for member in members)
    return list(names)[:limit]


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_CHARS else f"{line[: _MAX_NAME_CHARS - 1]}…"
