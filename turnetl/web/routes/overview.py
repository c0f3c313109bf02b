"""The first page: what the index holds, and what happened last."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from turnetl.activity_report.model import Activity
from turnetl.base.model import GroupId
from turnetl.base.text import plural
from turnetl.html.charts import Chart
from turnetl.index.overview import FactCounts, LabelledEntities, NewestFacts, StatedEntity
from turnetl.report_pages.activity_page import activity_chart
from turnetl.retrieval.turn_summary import Timeline
from turnetl.web.routes.references import (
    EntityLink,
    LinkedFact,
    LinkedTurn,
    NamedLink,
    entity_link,
    group_link,
    linked_fact,
    listed_turn,
)

_UNKNOWN = datetime.min.replace(tzinfo=UTC)
_NO_LABEL = "without a label"


@dataclass(frozen=True, slots=True)
class GroupTurns:
    """A group as the index holds it."""

    name: GroupId
    turns: int
    last: datetime | None
    """Start of its newest turn; None without a turn."""


@dataclass(frozen=True, slots=True)
class IndexOverview:
    """What an index holds of some groups."""

    groups: tuple[GroupTurns, ...]
    recent: Timeline
    """The last turns."""
    weeks: Activity | None
    """Turns by week and group; None without a turn."""
    facts: FactCounts
    labels: tuple[LabelledEntities, ...]
    """The labels of most entities, each with the entities of most turns."""
    errors: tuple[StatedEntity, ...]
    """Those of most turns."""
    decisions: NewestFacts


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group, and its turns."""

    link: NamedLink
    """Leads to its timeline."""
    turns: int
    last: datetime | None
    """Start of its newest turn."""


@dataclass(frozen=True, slots=True)
class CountedEntity:
    entity: EntityLink
    group: NamedLink
    turns: str
    """How many state something about it."""


@dataclass(frozen=True, slots=True)
class ListedLabel:
    """The entities with one label."""

    name: str
    entities: tuple[CountedEntity, ...]
    """Those of most turns."""
    count: int
    """All entities with the label."""


@dataclass(frozen=True, slots=True)
class OverviewPage:
    groups: tuple[ListedGroup, ...]
    """Those with the newest turns first."""
    turns: int
    facts: int
    invalid_facts: int
    weeks: Chart | None
    recent: tuple[LinkedTurn, ...]
    """Newest first."""
    decisions: tuple[LinkedFact, ...]
    """Newest first."""
    errors: tuple[CountedEntity, ...]
    labels: tuple[ListedLabel, ...]


def overview_page(found: IndexOverview) -> OverviewPage:
    newest_first = sorted(found.groups, key=lambda one: one.name)
    newest_first.sort(key=lambda one: one.last or _UNKNOWN, reverse=True)
    return OverviewPage(
        groups=tuple(
            ListedGroup(group_link(group.name), group.turns, group.last) for group in newest_first
        ),
        turns=sum(group.turns for group in found.groups),
        facts=found.facts.facts,
        invalid_facts=found.facts.invalid,
        weeks=activity_chart("Turns by week and project", "turns", found.weeks),
        recent=tuple(map(listed_turn, reversed(found.recent.turns))),
        decisions=tuple(map(linked_fact, found.decisions.facts)),
        errors=counted_entities(found.errors),
        labels=tuple(map(_label, found.labels)),
    )


def counted_entities(entities: Iterable[StatedEntity]) -> tuple[CountedEntity, ...]:
    return tuple(
        CountedEntity(
            entity_link(stated.entity),
            group_link(stated.entity.group_id),
            plural(stated.turns, "turn"),
        )
        for stated in entities
    )


def _label(found: LabelledEntities) -> ListedLabel:
    return ListedLabel(found.label or _NO_LABEL, counted_entities(found.entities), found.count)
