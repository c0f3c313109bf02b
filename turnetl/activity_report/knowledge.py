"""What the facts of the index say: decisions, entities with their history, errors and fixes."""

from collections.abc import Collection, Mapping

from turnetl.activity_report import model
from turnetl.activity_report.model import (
    EntitiesOfLabel,
    EntityHistory,
    ErrorOccurrence,
    Knowledge,
    Listed,
    ReportedError,
    ReportedFact,
)
from turnetl.activity_report.turns import TurnBook
from turnetl.base.model import Fact
from turnetl.base.relations import DECISIONS, FAILED_WITH
from turnetl.base.text import one_line
from turnetl.index.conditions import Selection
from turnetl.index.lookup import LabelledEntities, NewestFacts, Overview, StatedEntity
from turnetl.index.persistent import PersistentIndex
from turnetl.retrieval.fix import Occurrence, error_history


def knowledge(index: PersistentIndex, selection: Selection, book: TurnBook) -> Knowledge:
    """Return what turns of `book` state that meet the conditions, which have ids of groups."""
    overview = index.lookup().overview(index.select(selection))
    counts = overview.counts()
    labels = overview.most_stated(model.ENTITIES)
    errors, error_count = overview.targets([FAILED_WITH], model.ERRORS)
    return Knowledge(
        facts=counts.facts,
        invalid_facts=counts.invalid,
        decisions=_listed(overview.newest(DECISIONS, model.DECISIONS), book),
        labels=Listed(
            tuple(_label(one, overview, book) for one in labels[: model.LABELS]), len(labels)
        ),
        errors=Listed(tuple(_error(one, index, book) for one in errors), error_count),
        open_problems=_listed(
            overview.newest([FAILED_WITH], model.OPEN_PROBLEMS, valid_only=True), book
        ),
    )


def stated_by(
    index: PersistentIndex, turn_ids: Collection[str], book: TurnBook
) -> tuple[Mapping[str, list[ReportedFact]], Mapping[str, int]]:
    """Return the decisions of each turn, and the number of failures that it states."""
    ids = {key: turn for turn, key in index.lookup().turn_keys(turn_ids).items()}
    decisions: dict[str, list[ReportedFact]] = {}
    problems: dict[str, int] = {}
    for key, facts in index.facts(list(ids)).items():
        for fact in (indexed.fact for indexed in facts):
            if fact.relation in DECISIONS:
                decisions.setdefault(ids[key], []).append(reported_fact(fact, book))
            elif fact.relation == FAILED_WITH:
                problems[ids[key]] = problems.get(ids[key], 0) + 1
    return decisions, problems


def reported_fact(fact: Fact, book: TurnBook) -> ReportedFact:
    """Return a fact with the last turns that state it."""
    last = fact.turns[-model.LINEAGE :]
    return ReportedFact(
        text=one_line(fact.text, model.TEXT_CHARS),
        relation=fact.relation,
        valid_at=fact.valid_at,
        invalid_at=fact.invalid_at,
        turns=tuple(book.found(last)),
        further_turns=len(fact.turns) - len(last),
    )


def _listed(found: NewestFacts, book: TurnBook) -> Listed[ReportedFact]:
    return Listed(tuple(reported_fact(fact, book) for fact in found.facts), found.count)


def _label(found: LabelledEntities, overview: Overview, book: TurnBook) -> EntitiesOfLabel:
    histories = (_history(one, overview, book) for one in found.entities)
    return EntitiesOfLabel(found.label, Listed(tuple(histories), found.count))


def _history(stated: StatedEntity, overview: Overview, book: TurnBook) -> EntityHistory:
    entity = stated.entity
    facts = _listed(overview.newest_about(entity.uuid, model.ENTITY_FACTS), book)
    return EntityHistory(one_line(entity.name), entity.group_id, stated.turns, facts)


def _error(stated: StatedEntity, index: PersistentIndex, book: TurnBook) -> ReportedError:
    history = error_history(index, stated.entity)
    found = (_occurrence(one, book) for one in history.occurrences)
    occurrences = tuple(one for one in found if one is not None)
    name = one_line(stated.entity.name, model.TEXT_CHARS)
    return ReportedError(name, stated.entity.group_id, stated.turns, occurrences)


def _occurrence(one: Occurrence, book: TurnBook) -> ErrorOccurrence | None:
    turn = book.find(one.turn.receipt.turn_id)
    if turn is None:
        return None
    resolved = one.resolved_by
    return ErrorOccurrence(
        fact=reported_fact(one.fact, book),
        turn=turn,
        outcome=one.outcome,
        resolved_at=one.resolved_at,
        resolved_by=None if resolved is None else book.find(resolved.receipt.turn_id),
        evidence=tuple(reported_fact(fact, book) for fact in one.evidence[-model.EVIDENCE :]),
        answer=one_line(one.answer, model.TEXT_CHARS),
    )
