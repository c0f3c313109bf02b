"""Facts from the texts of a turn: prompt, response, explanations, and statements.

Each statement is an entity of its own, a Decision or a Preference, named by its sentence.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from turnetl.base.model import ClosedBy, Episode
from turnetl.extraction.structural import choices, decisions, failures, prose
from turnetl.extraction.structural.decisions import Statement, StatementKind, TurnEvidence
from turnetl.extraction.structural.findings import (
    CONCEPT,
    DECISION,
    ERROR,
    FILE,
    PREFERENCE,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.turn_features import TurnFeatures

# Ranks of facts, the lower the more informative. A turn with too many facts keeps the prompt, the
# response and the decisions; edits and failures rank between these and explanations (see
# `command_results`).
_PROMPT_RANK = 0
_RESPONSE_RANK = 1
_STEERING_RANK = 2
_EXPLANATION_RANK = 7
_CONTINUATION_RANK = 8
_DESCRIPTION_RANK = 9
_DELEGATION_RANK = 10
_CAUSE = re.compile(
    r"\b(?:because|root cause|caused by|turns out|due to|this happens|that's why|which means"
    r"|the (?:[\w-]{1,20} )?(?:problem|issue|bug|reason|cause|culprit|fix|key)"
    r"(?: \S{1,30}){0,5}? (?:is|was|are)"
    r"|so that|fails? when|fixed (?:by|the|it|a|in)|was missing|never (?:called|set|used|reached)"
    r"|doesn't (?:work|support|exist|have))\b",
    re.IGNORECASE,
)
_SHORT_PROMPT = 40
"""Characters: a shorter prompt means little without the question that it answers."""
_MAX_EXPLANATIONS, _MAX_STEERING, _MAX_DELEGATIONS = 6, 4, 3
_MAX_SENTENCE_LENGTH = 300


def prompt_facts(features: TurnFeatures, context: Sequence[Episode]) -> Iterator[FactDraft]:
    """Yield facts for the prompt, steering, tasks of subagents and errors that the user reports."""
    subject, other, at = features.subject, features.counterpart, features.turn.started_at
    if features.prompt_summary:
        question, interruption = _answered_question(features, context), _interruption(features)
        text = f"The user asked: {features.prompt_summary}{question}{interruption}"
        yield FactDraft(_PROMPT_RANK, subject, "ASKED", other, text, at)
    for more in prose.prompt_pieces(features.turn.user_text)[1:]:
        text = f"The user continued: {more}"
        yield FactDraft(_CONTINUATION_RANK, subject, "ASKED", other, text, at)
    for steering in _steering(features):
        text = f"While the agent worked, the user said: {steering}"
        yield FactDraft(_STEERING_RANK, subject, "STEERED", other, text, at)
    for subagent_prompt in features.turn.subagent_prompts[:_MAX_DELEGATIONS]:
        task = prose.shorten(prose.prompt_summary(subagent_prompt), 220)
        if task:
            text = f"A subagent was asked: {task}"
            yield FactDraft(_DELEGATION_RANK, subject, "DELEGATED", other, text, at)
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    for failure in failures.failures_in_prompt(prompt):
        error = EntityKey(ERROR, failure.name)
        text = f"The user reported `{failure.name}`"
        yield FactDraft(_STEERING_RANK, error, "REPORTED", subject, text, at)


def _steering(features: TurnFeatures) -> Iterator[str]:
    """Yield steering, and answers to the agent that ask a question back instead of deciding."""
    for text in (
        *_typed_by_user(features.turn.steering)[:_MAX_STEERING],
        *features.turn.user_answers[:_MAX_STEERING],
    ):
        summary = prose.prompt_summary(text)
        if summary and (text in features.turn.steering or decisions.is_question(text)):
            yield summary


def _typed_by_user(steering: Sequence[str]) -> list[str]:
    """Return steering without what the tool wrote."""
    return [text for text in steering if not text.lstrip().startswith("<")]


def _answered_question(features: TurnFeatures, context: Sequence[Episode]) -> str:
    if len(features.prompt_summary) >= _SHORT_PROMPT or not context:
        return ""
    question = prose.last_question(context[-1].turn.assistant_text)
    return f" (to the question: {prose.shorten(question, 180)})" if question else ""


def _interruption(features: TurnFeatures) -> str:
    is_interrupted = features.turn.closed_by is ClosedBy.INTERRUPTED
    return " (interrupted before it was done)" if is_interrupted else ""


def response_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    at = features.turn.ended_at or features.turn.started_at
    for index, piece in enumerate(prose.conclusion(features.turn.assistant_text)):
        rank, verb = (_CONTINUATION_RANK, "continued") if index else (_RESPONSE_RANK, "answered")
        text = f"The agent {verb}: {piece}"
        yield FactDraft(rank, features.subject, "ANSWERED", features.counterpart, text, at)


def explanation_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield sentences that state a cause, then one sentence for each other concept and file."""
    at, used = features.turn.ended_at or features.turn.started_at, set[str]()
    causes = [sentence for sentence in features.sentences if _CAUSE.search(sentence)]
    for sentence in causes[:_MAX_EXPLANATIONS]:
        used.add(sentence)
        source = features.entity_in(sentence, features.project)
        target = features.entity_in(sentence, source)
        text = prose.shorten(sentence, _MAX_SENTENCE_LENGTH)
        yield FactDraft(_EXPLANATION_RANK, source, "EXPLAINED", target, text, at)
    for entity in (*features.named, *(EntityKey(FILE, file) for file in features.other_files)):
        name = entity.name.rpartition("/")[2] if entity.label != CONCEPT else entity.name
        sentence = next((s for s in features.sentences if name in s and s not in used), "")
        if sentence:
            used.add(sentence)
            target = features.entity_in(sentence, entity)
            text = prose.shorten(sentence, _MAX_SENTENCE_LENGTH)
            yield FactDraft(_DESCRIPTION_RANK, entity, "DESCRIBED", target, text, at)


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
    steering = _typed_by_user(turn.steering)
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
