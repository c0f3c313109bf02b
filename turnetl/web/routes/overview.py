"""The first page: what the index holds, and what happened last."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.text import plural
from turnetl.html.charts import Chart
from turnetl.index.lookup import StatedEntity
from turnetl.web.routes.references import (
    EntityLink,
    LinkedFact,
    LinkedTurn,
    NamedLink,
    entity_link,
    group_link,
)


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


def counted_entities(entities: Iterable[StatedEntity]) -> tuple[CountedEntity, ...]:
    return tuple(
        CountedEntity(
            entity_link(stated.entity),
            group_link(stated.entity.group_id),
            plural(stated.turns, "turn"),
        )
        for stated in entities
    )
