"""The first page: what the index holds, and what happened last."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from turnetl.activity_report.model import Activity
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
class ListedGroup:
    link: NamedLink
    turns: int
    last: datetime | None
    """Start of its newest turn; None without a turn."""


@dataclass(frozen=True, slots=True)
class CountedEntity:
    entity: EntityLink
    group: NamedLink
    turns: str
    """How many state something about it."""


@dataclass(frozen=True, slots=True)
class ListedLabel:
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


def overview_page(
    *,
    groups: Sequence[ListedGroup],
    recent: Timeline,
    weeks: Activity | None,
    facts: FactCounts,
    labels: Iterable[LabelledEntities],
    errors: Iterable[StatedEntity],
    decisions: NewestFacts,
) -> OverviewPage:
    newest_first = sorted(groups, key=lambda one: one.link.text)
    newest_first.sort(key=lambda one: one.last or _UNKNOWN, reverse=True)
    return OverviewPage(
        groups=tuple(newest_first),
        turns=sum(group.turns for group in groups),
        facts=facts.facts,
        invalid_facts=facts.invalid,
        weeks=activity_chart("Turns by week and project", "turns", weeks),
        recent=tuple(map(listed_turn, reversed(recent.turns))),
        decisions=tuple(map(linked_fact, decisions.facts)),
        errors=counted_entities(errors),
        labels=tuple(
            ListedLabel(one.label or _NO_LABEL, counted_entities(one.entities), one.count)
            for one in labels
        ),
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
