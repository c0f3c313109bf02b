"""Facts from the texts of a turn: prompt, response, decisions, explanations."""

import re
from collections.abc import Iterator, Sequence

from turnetl.extraction.structural import decisions, failures, prose
from turnetl.extraction.structural.findings import (
    CONCEPT,
    DECISION,
    ERROR,
    FILE,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.turn_context import USER, TurnContext
from turnetl.model import ClosedBy, Episode

# Ranks of facts, the lower the more informative. A turn with too many facts keeps the prompt, the
# response and the decisions; edits and failures rank between these and explanations (see `tool_use`
# and `command_results`).
_PROMPT_RANK = 0
_RESPONSE_RANK = 1
_DECISION_RANK = 2
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


def prompt_facts(turn: TurnContext, context: Sequence[Episode]) -> Iterator[FactDraft]:
    """Yield facts for the prompt, steering, tasks of subagents and errors that the user reports."""
    project, subject, at = turn.project, turn.subject, turn.turn.started_at
    if turn.prompt_summary:
        question, ending = _answered_question(turn, context), _interruption(turn)
        text = f"The user asked: {turn.prompt_summary}{question}{ending}"
        yield FactDraft(_PROMPT_RANK, project, "ASKED", subject, text, at)
    for more in prose.prompt_pieces(turn.turn.user_text)[1:]:
        text = f"The user went on: {more}"
        yield FactDraft(_CONTINUATION_RANK, project, "ASKED", subject, text, at)
    for steering in _steering(turn):
        text = f"While the agent worked, the user said: {steering}"
        yield FactDraft(_STEERING_RANK, project, "STEERED", subject, text, at)
    for prompt in turn.turn.subagent_prompts[:_MAX_DELEGATIONS]:
        task = prose.shorten(prose.prompt_summary(prompt), 220)
        if task:
            text = f"A subagent was asked: {task}"
            yield FactDraft(_DELEGATION_RANK, project, "DELEGATED", subject, text, at)
    for failure in failures.reported(prose.clip(turn.turn.user_text, *prose.PROMPT_LIMITS)):
        error = EntityKey(ERROR, failure.name)
        text = f"The user reported `{failure.name}`"
        yield FactDraft(_STEERING_RANK, error, "REPORTED", subject, text, at)


def _steering(turn: TurnContext) -> Iterator[str]:
    """Yield steering, and answers to the agent that ask a question back instead of deciding."""
    for text in (
        *_typed_by_user(turn.turn.steering)[:_MAX_STEERING],
        *turn.turn.user_answers[:_MAX_STEERING],
    ):
        summary = prose.prompt_summary(text)
        if summary and (text in turn.turn.steering or decisions.is_question(text)):
            yield summary


def _answered_question(turn: TurnContext, context: Sequence[Episode]) -> str:
    if len(turn.prompt_summary) >= _SHORT_PROMPT or not context:
        return ""
    question = prose.last_question(context[-1].turn.assistant_text)
    return f" (to the question: {prose.shorten(question, 180)})" if question else ""


def _interruption(turn: TurnContext) -> str:
    is_interrupted = turn.turn.closed_by is ClosedBy.INTERRUPTED
    return " (interrupted before it was done)" if is_interrupted else ""


def response_facts(turn: TurnContext) -> Iterator[FactDraft]:
    """Yield the conclusion of the response."""
    at = turn.turn.ended_at or turn.turn.started_at
    for index, piece in enumerate(prose.conclusion(turn.turn.assistant_text)):
        rank, verb = (_CONTINUATION_RANK, "went on") if index else (_RESPONSE_RANK, "answered")
        text = f"The agent {verb}: {piece}"
        yield FactDraft(rank, turn.project, "ANSWERED", turn.subject, text, at)


def decision_facts(turn: TurnContext) -> Iterator[FactDraft]:
    """Yield the decisions of the turn, each an entity of its own."""
    plan = decisions.plan(turn.turn.user_text)
    if plan:
        yield _decision(turn, f"Plan: {plan}", f"The user accepted the plan: {plan}", plan)
    for answer in turn.turn.user_answers:
        for question, reply in decisions.answers(answer):
            name = f"{question} {reply}" if question else reply
            text = f"Asked “{question}” the user answered: {reply}" if question else ""
            yield _decision(turn, name, text or f"The user stopped a step and said: {reply}", name)
    if not plan:
        texts = (turn.turn.user_text, *_typed_by_user(turn.turn.steering))
        for sentence in decisions.of_user(texts):
            yield _decision(turn, sentence, f"The user decided: {sentence}", sentence)
    for sentence in decisions.of_agent(turn.turn.assistant_text):
        yield _decision(turn, sentence, f"The agent decided: {sentence}", sentence)


def _typed_by_user(steering: Sequence[str]) -> list[str]:
    return [text for text in steering if not text.lstrip().startswith("<")]


def _decision(turn: TurnContext, name: str, text: str, sentence: str) -> FactDraft:
    decision = EntityKey(DECISION, decisions.name(name))
    target = turn.entity_in(sentence, decision)
    return FactDraft(_DECISION_RANK, decision, "DECIDED", target, text, turn.turn.started_at)


def explanation_facts(turn: TurnContext) -> Iterator[FactDraft]:
    """Yield sentences that state a cause, then one sentence for each other concept and file."""
    at, used = turn.turn.ended_at or turn.turn.started_at, set[str]()
    causes = [sentence for sentence in turn.sentences if _CAUSE.search(sentence)]
    for sentence in causes[:_MAX_EXPLANATIONS]:
        used.add(sentence)
        source = turn.entity_in(sentence, turn.project)
        target = turn.entity_in(sentence, source)
        if source == USER:
            source, target = target, source
        text = prose.shorten(sentence, _MAX_SENTENCE_LENGTH)
        yield FactDraft(_EXPLANATION_RANK, source, "EXPLAINED", target, text, at)
    for entity in (*turn.concepts, *(EntityKey(FILE, file) for file in turn.other_files)):
        name = entity.name.rpartition("/")[2] if entity.label != CONCEPT else entity.name
        sentence = next((s for s in turn.sentences if name in s and s not in used), "")
        if sentence:
            used.add(sentence)
            target = turn.entity_in(sentence, entity)
            text = prose.shorten(sentence, _MAX_SENTENCE_LENGTH)
            yield FactDraft(_DESCRIPTION_RANK, entity, "DESCRIBED", target, text, at)
