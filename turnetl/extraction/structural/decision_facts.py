"""Facts from the statements of a turn: decisions, preferences and rejections.

Each statement is an entity of its own, a Decision or a Preference, named by its sentence.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from turnetl.extraction.structural import choices, decisions
from turnetl.extraction.structural.decisions import Statement, StatementKind, TurnEvidence
from turnetl.extraction.structural.findings import DECISION, PREFERENCE, EntityKey, FactDraft
from turnetl.extraction.structural.statements import typed_by_user
from turnetl.extraction.structural.turn_features import TurnFeatures

CHOSEN = "chosen"
"""The attribute of a fact with the name of the entity that its decision chooses."""

_STATEMENT_RANK, _ALTERNATIVE_RANK = 2, 3
_REFUSAL = re.compile(r"^\W*(?:no\b|nope\b|don't\b|do not\b|stop\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Form:
    label: str
    relation: str
    verb: str


_FORMS = {
    StatementKind.DECISION: _Form(DECISION, "DECIDED", "decided"),
    StatementKind.PREFERENCE: _Form(PREFERENCE, "PREFERS", "prefers"),
    StatementKind.REJECTION: _Form(DECISION, "REJECTED", "rejected"),
}


def decision_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    turn = features.turn
    evidence = TurnEvidence(bool(turn.cwd), bool(features.edited_files))
    plan = decisions.plan(turn.user_text)
    if plan:
        title = Statement(StatementKind.DECISION, plan)
        yield from _facts(features, title, f"The user accepted the plan: {plan}", f"Plan: {plan}")
        yield from _stated(features, "The accepted plan", decisions.of_plan(turn.user_text))
    else:
        yield from _stated(features, "The user", decisions.of_user([turn.user_text], evidence))
    for answer in turn.user_answers:
        yield from _answer_facts(features, answer, evidence)
    steering = typed_by_user(turn.steering)
    yield from _stated(features, "The user", decisions.of_user(steering, evidence))
    yield from _stated(features, "The agent", decisions.of_agent(turn.assistant_text, evidence))


def _answer_facts(
    features: TurnFeatures, answer: str, evidence: TurnEvidence
) -> Iterator[FactDraft]:
    for question, reply in decisions.answers(answer):
        refused = not question and _REFUSAL.match(reply)
        kind = StatementKind.REJECTION if refused else StatementKind.DECISION
        name = f"{question} {reply}" if question else reply
        text = f"The user stopped a step and said: {reply}"
        if question:
            text = f"Asked “{question}” the user answered: {reply}"
        yield from _facts(features, Statement(kind, name), text, name)
    if decisions.is_question(answer):
        yield from _stated(features, "The user", decisions.of_user([answer], evidence))


def _stated(
    features: TurnFeatures, speaker: str, statements: Iterable[Statement]
) -> Iterator[FactDraft]:
    for statement in statements:
        text = f"{speaker} {_FORMS[statement.kind].verb}: {statement.sentence}"
        yield from _facts(features, statement, text, statement.sentence)


def _facts(
    features: TurnFeatures, statement: Statement, text: str, name: str
) -> Iterator[FactDraft]:
    """Yield the fact of a statement, and one for the alternative that it rejects by name."""
    form, at = _FORMS[statement.kind], features.turn.started_at
    entity = EntityKey(form.label, decisions.name(name))
    choice = choices.choice(statement.sentence)
    is_choice = choice.chosen and statement.kind is not StatementKind.REJECTION
    target = (
        features.entity_named(choice.chosen)
        if is_choice
        else features.entity_in(statement.sentence, entity)
    )
    attributes = {CHOSEN: target.name} if is_choice else {}
    yield FactDraft(_STATEMENT_RANK, entity, form.relation, target, text, at, attributes=attributes)
    if is_choice and choice.rejected:
        rejected = features.entity_named(choice.rejected)
        against = f"`{choice.rejected}` was rejected in favour of `{choice.chosen}`: "
        yield FactDraft(
            _ALTERNATIVE_RANK,
            entity,
            "REJECTED",
            rejected,
            f"{against}{statement.sentence}",
            at,
            attributes=attributes,
        )
