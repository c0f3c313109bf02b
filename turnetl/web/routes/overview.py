"""The first page and the page of a project: what happened last, what holds, and what is open."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.text import plural
from turnetl.html.charts import Chart
from turnetl.index.lookup import StatedEntity
from turnetl.web.routes.references import (
    EntityLink,
    LinkedTurn,
    NamedLink,
    ToldFact,
    entity_link,
    group_link,
)


@dataclass(frozen=True, slots=True)
class ListedGroup:
    link: NamedLink
    turns: int
    last: datetime | None
    """Start of its newest turn; None without a turn."""
    share: float
    """Its turns, in percent of those of the largest group."""


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
class ToldList:
    """Facts of one kind, newest first."""

    title: str
    facts: tuple[ToldFact, ...]
    more: str
    """Address of the turns that state such facts."""
    empty: str
    """What an empty list says."""


@dataclass(frozen=True, slots=True)
class OverviewPeriod:
    """What happened in a time."""

    title: str
    turns: str
    """How many it has."""
    lists: tuple[ToldList, ...]
    """Decisions, what was built and fixed, and open problems."""


@dataclass(frozen=True, slots=True)
class OverviewPage:
    periods: tuple[OverviewPeriod, ...]
    """The newest first; without a decision, a result or a problem: none."""
    groups: tuple[ListedGroup, ...]
    """Those with the newest turns first."""
    turns: int
    facts: int
    invalid_facts: int
    days: Chart | None
    recent: tuple[LinkedTurn, ...]
    """Newest first."""
    errors: tuple[CountedEntity, ...]
    labels: tuple[ListedLabel, ...]


@dataclass(frozen=True, slots=True)
class ListedSession:
    link: NamedLink
    """Named by the intent of its first turn."""
    turns: str
    """How many it has in the project."""
    last: datetime


@dataclass(frozen=True, slots=True)
class ProjectPage:
    group: NamedLink
    folder: str
    """In which its newest turn worked, relative to the home folder; empty: unknown."""
    turns: str
    sessions: str
    first: datetime
    last: datetime
    lists: tuple[ToldList, ...]
    days: Chart | None
    recent: tuple[ListedSession, ...]
    """Newest first."""
    files: tuple[CountedEntity, ...]
    """That most turns changed."""
    timeline: str
    errors: str
    search: str
    """Addresses of its turns, its errors, and of a search in it."""


def counted_entities(entities: Iterable[StatedEntity]) -> tuple[CountedEntity, ...]:
    return tuple(
        CountedEntity(
            entity_link(stated.entity),
            group_link(stated.entity.group_id),
            plural(stated.turns, "turn"),
        )
        for stated in entities
    )
