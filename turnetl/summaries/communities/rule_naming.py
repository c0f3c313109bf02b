"""Names and summaries of communities without a model: from their members and their facts."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from turnetl.base.model import Entity, Fact
from turnetl.summaries.communities.plan import CommunityInput, CommunityText, CommunityWriter
from turnetl.summaries.rule_summary import with_facts

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
    """Return the name and the summary of a community."""
    return CommunityText(
        rule_name(community.members), rule_community_summary(community.members, community.facts)
    )


def rule_name(members: Sequence[Entity]) -> str:
    """Return the names of the first members, which differ.

    Args:
        members: as of a `CommunityInput`.
    """
    return ", ".join(_names(members, _NAMED))


def rule_community_summary(members: Sequence[Entity], facts: Iterable[Fact]) -> str:
    """Return a summary of at most `rule_summary.MAX_CHARS` characters.

    Args:
        members: as of a `CommunityInput`.
        facts: that connect two members.
    """
    names = _names(members, _LISTED)
    others = len(members) - len(names)
    more = f" and {others:,} more" if others else ""
    return with_facts(f"{len(members):,} entities: {', '.join(names)}{more}.", facts)


def _names(members: Sequence[Entity], limit: int) -> list[str]:
    names: Mapping[str, None] = dict.fromkeys(_short(member.name) for member in members)
    return list(names)[:limit]


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_CHARS else f"{line[: _MAX_NAME_CHARS - 1]}…"
