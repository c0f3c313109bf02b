"""Links of a page to turns, entities, facts and lines of archives, and its place in a list."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from turnetl.base.graph_model import Receipt
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.episode_text.retelling import once
from turnetl.html.references import SourceLines, TurnReference, group_note, shown_path
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.items import FILE_LABEL, AmbiguousItem
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.web import forms
from turnetl.web.forms import PageForm, link


@dataclass(frozen=True, slots=True)
class Paging:
    """The place of a page in its list."""

    first: int
    """Number of the first item that is shown, from 1; 0 if none is."""
    last: int
    total: int | None
    """Items of the whole list; None: unknown."""
    previous: str | None
    """Address of the page before it."""
    next: str | None


def paging(
    page: str,
    form: PageForm,
    *,
    size: int,
    shown: int,
    total: int | None = None,
    more: bool = False,
) -> Paging:
    """Return the place of a page with a name of `forms` in its list.

    Args:
        size: items of a full page.
        shown: items that this one shows.
        total: items of the whole list; None: unknown.
        more: of an unknown total: whether there are items after those that are shown.
    """
    skipped = (form.page - 1) * size
    has_next = more if total is None else skipped + size < total
    return Paging(
        first=skipped + 1 if shown else 0,
        last=skipped + shown if shown else 0,
        total=total,
        previous=link(page, form.pairs(page=form.page - 1)) if form.page > 1 else None,
        next=link(page, form.pairs(page=form.page + 1)) if has_next else None,
    )


MAX_CHARS = 50_000
_SHOWN_CHARS = 1_000
"""Of a prompt or an answer that are not folded."""


@dataclass(frozen=True, slots=True)
class NamedLink:
    text: str
    href: str
    note: str = ""
    """What the name means, if it does not say so itself."""


@dataclass(frozen=True, slots=True)
class EntityLink:
    name: str
    labels: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True)
class LinkedFact:
    """A fact with its dates and its page."""

    text: str
    relation: str
    valid_at: datetime | None
    invalid_at: datetime | None
    """None: it still holds."""
    href: str | None
    """None: the fact has no page, because the index does not name it."""
    ended_by: str = ""
    """Turn and text of what ended it."""
    later_turn_says: str = ""


@dataclass(frozen=True, slots=True)
class LinkedTurn:
    turn: TurnReference
    outcome: str
    """In a line."""
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
    return CutText(text[:limit], max(0, len(text) - limit))


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A long text: the part to read first, and the rest."""

    shown: str
    folded: CutText
    """Empty if all of it is shown."""


def folded_text(text: str, *, shows_end: bool = False) -> FoldedText:
    """Return a text of which only its beginning, or its end, is shown first, in whole paragraphs.

    An agent says at the end of its answer what came of it.
    """
    if len(text) <= _SHOWN_CHARS:
        return FoldedText(text, CutText("", 0))
    if shows_end:
        found = text.find("\n\n", len(text) - _SHOWN_CHARS)
        split = found if found >= 0 else len(text) - _SHOWN_CHARS
        return FoldedText(text[split:].strip("\n"), cut(text[:split].rstrip()))
    found = text.rfind("\n", _SHOWN_CHARS // 2, _SHOWN_CHARS)
    split = found if found >= 0 else _SHOWN_CHARS
    return FoldedText(text[:split].rstrip(), cut(text[split:].strip("\n")))


def turn_reference(turn: Receipt | SearchHit, intent: str) -> TurnReference:
    return TurnReference(
        turn_id=turn.turn_id,
        title=intent,
        started_at=turn.started_at,
        href=forms.item_link(forms.TURN, turn.turn_id),
        source=archive_lines(turn),
    )


def archive_lines(turn: Receipt | SearchHit) -> SourceLines:
    page = forms.item_link(forms.LINES, turn.turn_id)
    return SourceLines(turn.archive, turn.first_line, turn.last_line, page)


def step_line(fact: Fact) -> SourceLines | None:
    """Return the line of the step of a subagent from which a fact is, if it is from one."""
    if fact.step is None:
        return None
    page = forms.item_link(forms.LINES, fact.uuid)
    return SourceLines(fact.step.archive, fact.step.line, fact.step.line, page)


def listed_turn(turn: TurnSummary, facts: Iterable[Fact] = ()) -> LinkedTurn:
    group = turn.receipt.group_id
    return LinkedTurn(
        turn=turn_reference(turn.receipt, turn.intent),
        outcome=turn.outcome,
        group=group_link(group),
        files=file_links(turn.files, group),
        facts=tuple(linked_fact(fact) for fact in facts),
    )


def group_link(group: GroupId) -> NamedLink:
    return NamedLink(group, forms.link(forms.PROJECT, [("group", group)]), group_note(group))


def file_links(paths: Iterable[str], group: GroupId) -> tuple[NamedLink, ...]:
    return tuple(NamedLink(shown_path(path), forms.file_link(path, group)) for path in paths)


def entity_link(entity: Entity) -> EntityLink:
    return EntityLink(shown_name(entity), entity.labels, forms.item_link(forms.ENTITY, entity.uuid))


def shown_name(entity: Entity) -> str:
    """Return the name of an entity; of a file, its path relative to the home folder."""
    return shown_path(entity.name) if is_file(entity) else entity.name


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact of a list: what it says in few words, and the turn that states it."""

    text: str
    href: str
    at: datetime | None
    group: NamedLink


def told_facts(facts: Iterable[Fact], limit: int) -> tuple[ToldFact, ...]:
    """Return the first facts that a reader understands alone, each once, in their order."""
    return tuple(
        ToldFact(
            text=text,
            href=forms.item_link(forms.TURN, fact.turns[-1])
            if fact.turns
            else forms.item_link(forms.FACT, fact.uuid),
            at=fact.valid_at or fact.reference_time,
            group=group_link(fact.group_id),
        )
        for fact, text in islice(once(facts), limit)
    )


def linked_fact(fact: Fact) -> LinkedFact:
    return LinkedFact(
        text=fact.text,
        relation=fact.relation,
        valid_at=fact.valid_at,
        invalid_at=fact.invalid_at,
        href=forms.item_link(forms.FACT, fact.uuid),
        ended_by=fact.ended_by,
        later_turn_says=fact.later_turn_says,
    )


def distinct(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    return tuple({entity.uuid: entity for entity in entities}.values())


def is_file(entity: Entity) -> bool:
    return FILE_LABEL in entity.labels


@dataclass(frozen=True, slots=True)
class ChoicesPage:
    text: str
    items: tuple[NamedLink, ...]
    has_more: bool
    """Whether it leads to more than these."""


def choices_page(found: AmbiguousItem) -> ChoicesPage:
    items = tuple(
        NamedLink(one.description, forms.item_link(one.item.kind, one.item.id))
        for one in found.matching
    )
    return ChoicesPage(found.text, items, found.has_more)
