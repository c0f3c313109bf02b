"""Errors that match a text, and what resolved each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.text import plural
from turnetl.index.overview import StatedEntity
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.web.forms import PageForm
from turnetl.web.routes.overview import CountedEntity, counted_entities
from turnetl.web.routes.references import (
    CutText,
    EntityLink,
    LinkedFact,
    LinkedTurn,
    NamedLink,
    cut,
    entity_link,
    group_link,
    linked_fact,
    listed_turn,
)


@dataclass(frozen=True, slots=True)
class ShownOccurrence:
    fact: LinkedFact
    turn: LinkedTurn
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
class FixPage:
    form: PageForm
    errors: tuple[ShownError, ...]
    """Best match first."""
    frequent: tuple[CountedEntity, ...]
    """Errors of most turns, if none was asked for."""


def fix_page(
    form: PageForm, found: Sequence[ErrorHistory], frequent: Sequence[StatedEntity] = ()
) -> FixPage:
    return FixPage(form, tuple(map(_error, found)), counted_entities(frequent))


def _error(history: ErrorHistory) -> ShownError:
    occurrences = tuple(map(_occurrence, history.occurrences))
    error, turns = history.error, plural(history.count, "turn")
    return ShownError(entity_link(error), group_link(error.group_id), occurrences, turns)


def _occurrence(one: Occurrence) -> ShownOccurrence:
    resolved_by = None if one.resolved_by == one.turn else one.resolved_by
    return ShownOccurrence(
        fact=linked_fact(one.fact),
        turn=listed_turn(one.turn),
        resolved_at=one.resolved_at,
        resolved_by=listed_turn(resolved_by) if resolved_by else None,
        evidence=tuple(map(linked_fact, one.evidence)),
        answer=cut(one.answer),
    )
