"""The first page: what the index holds, and what happened last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from turnetl.model import GroupId
from turnetl.retrieval.timeline import Timeline
from turnetl.web.views.references import LinkedTurn, NamedLink, group_link, listed_turn

_UNKNOWN = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GroupTurns:
    """A group as the index holds it."""

    name: GroupId
    turns: int
    last: datetime | None
    """Start of its newest turn; None without a turn."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group, and its turns."""

    link: NamedLink
    """Leads to its timeline."""
    turns: int
    last: datetime | None
    """Start of its newest turn."""


@dataclass(frozen=True, slots=True)
class OverviewPage:
    groups: tuple[ListedGroup, ...]
    """Those with the newest turns first."""
    turns: int
    recent: tuple[LinkedTurn, ...]
    """Newest first."""


def overview_page(groups: Sequence[GroupTurns], recent: Timeline) -> OverviewPage:
    """Return what the first page shows.

    Args:
        groups: those that are shown.
        recent: the last turns of all of them.
    """
    newest_first = sorted(groups, key=lambda one: one.name)
    newest_first.sort(key=lambda one: one.last or _UNKNOWN, reverse=True)
    return OverviewPage(
        groups=tuple(map(_listed, newest_first)),
        turns=sum(group.turns for group in groups),
        recent=tuple(map(listed_turn, reversed(recent.turns))),
    )


def _listed(group: GroupTurns) -> ListedGroup:
    return ListedGroup(group_link(group.name), group.turns, group.last)
