"""One entity, which may be a file or an error; one fact; and errors with what resolved them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.model import Fact
from turnetl.base.relations import CHANGES, FAILED_WITH, FIXED_BY
from turnetl.base.text import plural
from turnetl.episode_text.retelling import short_paths
from turnetl.html.references import SourceLines
from turnetl.index.lookup import StatedEntity
from turnetl.retrieval.details import EntityDetails, FactDetails
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.items import ERROR_LABEL
from turnetl.retrieval.match import Match
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.references import (
    CutText,
    EntityLink,
    LinkedFact,
    LinkedTurn,
    NamedLink,
    Paging,
    cut,
    entity_link,
    group_link,
    is_file,
    linked_fact,
    listed_turn,
    paging,
    shown_name,
    step_line,
)

PAGE_SIZE = 30


@dataclass(frozen=True, slots=True)
class EntityPage:
    name: str
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    uuid: str
    group: NamedLink
    summary: CutText
    fixes: str | None
    """Address of what resolved it; None if it is no error."""
    timeline: str
    """Address of its turns in the timeline."""
    holds: tuple[LinkedFact, ...]
    """What holds now of what these turns state, without changes."""
    turns: tuple[LinkedTurn, ...]
    """Newest first, each with what it states about the entity, which it at least names."""
    counts: str
    """How many facts are about it, and how many turns name it."""
    others: tuple[NamedLink, ...]
    """To what else in other groups its name leads."""
    paging: Paging


@dataclass(frozen=True, slots=True)
class FactPage:
    fact: LinkedFact
    uuid: str
    group: NamedLink
    source: EntityLink
    target: EntityLink
    step: SourceLines | None
    """Of a subagent, from which it is."""
    turns: tuple[LinkedTurn, ...]
    """That state it, oldest first."""


def entity_page(page: str, form: PageForm, found: EntityDetails) -> EntityPage:
    entity = found.entity
    of_group = ("group", entity.group_id)
    condition = ("file" if is_file(entity) else "entity", entity.name)
    is_error = ERROR_LABEL in entity.labels
    newest = found.turns[::-1]
    stated = {fact.uuid: fact for one in newest for fact in one.facts}
    return EntityPage(
        name=shown_name(entity),
        labels=entity.labels,
        aliases=entity.aliases,
        uuid=entity.uuid,
        group=group_link(entity.group_id),
        summary=cut(entity.summary),
        fixes=forms.link(forms.FIX, [("q", entity.name), of_group]) if is_error else None,
        timeline=forms.link(forms.TIMELINE, [condition, of_group]),
        holds=tuple(linked_fact(fact) for fact in stated.values() if _holds(fact)),
        turns=tuple(listed_turn(one.turn, one.facts) for one in newest),
        counts=f"{plural(found.fact_count, 'fact')}, named in {plural(found.turn_count, 'turn')}",
        others=tuple(
            NamedLink(one.description, forms.item_link(one.item.kind, one.id))
            for one in found.others
        ),
        paging=paging(page, form, size=PAGE_SIZE, shown=len(newest), total=found.turn_count),
    )


def _holds(fact: Fact) -> bool:
    """Return whether it says how things are: a change is of the history, whatever came later."""
    return fact.invalid_at is None and fact.relation not in CHANGES | {FIXED_BY}


def fact_page(found: FactDetails) -> FactPage:
    fact, source, target = found.indexed.fact, found.indexed.source, found.indexed.target
    return FactPage(
        fact=linked_fact(fact),
        uuid=fact.uuid,
        group=group_link(fact.group_id),
        source=entity_link(source),
        target=entity_link(target),
        step=step_line(fact),
        turns=tuple(map(listed_turn, found.turns)),
    )


@dataclass(frozen=True, slots=True)
class ShownOccurrence:
    fact: LinkedFact
    turn: LinkedTurn
    outcome: str
    resolved_at: datetime | None
    """None: no later success is known."""
    resolved_by: LinkedTurn | None
    """The turn of the success; None if it is not known, or the turn of the failure."""
    evidence: tuple[LinkedFact, ...]
    answer: CutText


@dataclass(frozen=True, slots=True)
class ShownError:
    error: EntityLink
    group: NamedLink
    occurrences: tuple[ShownOccurrence, ...]
    """The resolved ones first, newest first."""
    turns: str
    """In how many it occurred."""


@dataclass(frozen=True, slots=True)
class FrequentError:
    """An error or a failed test of a list."""

    error: EntityLink
    group: NamedLink
    turns: str
    """In how many it occurred."""
    is_open: bool
    """Whether no later success is known of a failure."""
    last: datetime | None
    """When it occurred last."""
    statement: str
    """Of the last failure: the test or the command."""
    resolved: str
    """What resolved it; empty: not known."""
    fixes: str
    """Address of its occurrences, and what resolved each."""


def frequent_error(stated: StatedEntity, facts: Sequence[Fact]) -> FrequentError:
    """Return an error with what the last facts about it say, the newest of which is first."""
    entity = stated.entity
    failures = [fact for fact in facts if fact.relation == FAILED_WITH]
    fixed = next((fact.text for fact in facts if fact.relation == FIXED_BY), "")
    last = failures[0] if failures else None
    is_open = any(fact.invalid_at is None for fact in failures)
    return FrequentError(
        error=entity_link(entity),
        group=group_link(entity.group_id),
        turns=plural(stated.turns, "turn"),
        is_open=is_open,
        last=last.valid_at if last else None,
        statement=last.text if last else "",
        resolved="" if is_open else short_paths(fixed),
        fixes=forms.link(forms.FIX, [("q", entity.name), ("group", entity.group_id)]),
    )


@dataclass(frozen=True, slots=True)
class FixPage:
    errors: tuple[ShownError, ...]
    """Best match first."""
    frequent: tuple[FrequentError, ...]
    """Errors of most turns, if none was asked for."""


def fix_page(found: Sequence[ErrorHistory], frequent: Sequence[FrequentError] = ()) -> FixPage:
    return FixPage(tuple(map(_error, found)), tuple(frequent))


def _error(history: ErrorHistory) -> ShownError:
    occurrences = tuple(map(_occurrence, history.occurrences))
    error, turns = history.error, plural(history.count, "turn")
    turns += ", weak match" if history.match is Match.WEAK else ""
    return ShownError(entity_link(error), group_link(error.group_id), occurrences, turns)


def _occurrence(one: Occurrence) -> ShownOccurrence:
    resolved_by = None if one.resolved_by == one.turn else one.resolved_by
    return ShownOccurrence(
        fact=linked_fact(one.fact),
        turn=listed_turn(one.turn),
        outcome=one.outcome,
        resolved_at=one.resolved_at,
        resolved_by=listed_turn(resolved_by) if resolved_by else None,
        evidence=tuple(map(linked_fact, one.evidence)),
        answer=cut(one.answer),
    )
