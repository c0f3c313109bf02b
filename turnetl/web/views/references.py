"""Links of a page to turns, entities, facts and lines of archives."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.html.references import SourceLines, TurnReference
from turnetl.index.port import IndexedFact
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.items import FILE_LABEL
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.web import links

MAX_CHARS = 50_000
"""Characters of a text that a page shows."""


@dataclass(frozen=True, slots=True)
class NamedLink:
    """A text that leads to a page."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class EntityLink:
    """An entity, and its page."""

    name: str
    labels: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True)
class LinkedFact:
    """A fact with its dates, its page, and the entities that it is about."""

    text: str
    relation: str
    valid_at: datetime | None
    invalid_at: datetime | None
    """None: it still holds."""
    href: str | None
    """None: the fact has no page, because the index does not name it."""
    entities: tuple[EntityLink, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkedTurn:
    """A turn as an item of a list."""

    turn: TurnReference
    group: NamedLink
    files: tuple[NamedLink, ...] = ()
    """That it changed."""
    facts: tuple[LinkedFact, ...] = ()


@dataclass(frozen=True, slots=True)
class CutText:
    """The beginning of a text."""

    text: str
    hidden: int
    """Characters that are left out."""


def cut(text: str, limit: int = MAX_CHARS) -> CutText:
    """Return as much of a text as a page shows."""
    return CutText(text[:limit], max(0, len(text) - limit))


def turn_reference(turn: TurnSummary) -> TurnReference:
    """Return the link to the page of a turn."""
    receipt = turn.receipt
    source = archive_lines(receipt.turn_id, receipt.archive, receipt.first_line, receipt.last_line)
    return TurnReference(
        turn_id=receipt.turn_id,
        title=turn.prompt,
        started_at=receipt.started_at,
        href=links.turn_link(receipt.turn_id),
        source=source,
    )


def hit_reference(hit: SearchHit) -> TurnReference:
    """Return the link to the page of a hit's turn."""
    return TurnReference(
        turn_id=hit.turn_id,
        title=hit.prompt,
        started_at=hit.started_at,
        href=links.turn_link(hit.turn_id),
        source=archive_lines(hit.turn_id, hit.archive, hit.first_line, hit.last_line),
    )


def archive_lines(turn_id: str, archive: str, first_line: int, last_line: int) -> SourceLines:
    """Return where a turn is in its archive, with the page that shows these lines."""
    return SourceLines(archive, first_line, last_line, links.lines_link(turn_id))


def listed_turn(turn: TurnSummary, facts: Iterable[Fact] = ()) -> LinkedTurn:
    """Return a turn of a list, with what it states."""
    group = turn.receipt.group_id
    return LinkedTurn(
        turn=turn_reference(turn),
        group=group_link(group),
        files=file_links(turn.files, group),
        facts=tuple(linked_fact(fact) for fact in facts),
    )


def group_link(group: GroupId) -> NamedLink:
    """Return the link to the turns of a group."""
    return NamedLink(group, links.link(links.TIMELINE, [("group", group)]))


def file_links(paths: Iterable[str], group: GroupId) -> tuple[NamedLink, ...]:
    """Return the links to the pages of files."""
    return tuple(NamedLink(path, links.file_link(path, group)) for path in paths)


def entity_link(entity: Entity) -> EntityLink:
    """Return the link to the page of an entity."""
    return EntityLink(entity.name, entity.labels, links.entity_link(entity.uuid))


def linked_fact(fact: Fact, entities: Iterable[Entity] = ()) -> LinkedFact:
    """Return a fact with its page."""
    return LinkedFact(
        text=fact.text,
        relation=fact.relation,
        valid_at=fact.valid_at,
        invalid_at=fact.invalid_at,
        href=links.fact_link(fact.uuid),
        entities=tuple(map(entity_link, entities)),
    )


def linked_facts(facts: Iterable[IndexedFact]) -> tuple[LinkedFact, ...]:
    """Return facts, each with both of its entities."""
    return tuple(
        linked_fact(indexed.fact, distinct((indexed.source, indexed.target))) for indexed in facts
    )


def distinct(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """Return the entities, each once, in their order."""
    return tuple({entity.uuid: entity for entity in entities}.values())


def is_file(entity: Entity) -> bool:
    """Return whether an entity is a file."""
    return FILE_LABEL in entity.labels
