"""What a turn's people and agents said: asked, answered, decided, explained."""

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
from turnetl.extraction.structural.turn_context import NOBODY, TurnContext
from turnetl.model import ClosedBy, Episode

# Ranks of sentences, the lower the more telling: a turn that says too much keeps what was wanted,
# what came of it and what was chosen; between these and what was explained stand edits and
# failures (see `work` and `runs`).
_ASKED = 0
_ANSWERED = 1
_DECIDED = 2
_STEERED = 2
_EXPLAINED = 7
_MORE = 8
_DESCRIBED = 9
_DELEGATED = 10
_CAUSE = re.compile(
    r"\b(?:because|root cause|caused by|turns out|due to|this happens|that's why|which means"
    r"|the (?:[\w-]{1,20} )?(?:problem|issue|bug|reason|cause|culprit|fix|key)"
    r"(?: \S{1,30}){0,5}? (?:is|was|are)"
    r"|so that|fails? when|fixed (?:by|the|it|a|in)|was missing|never (?:called|set|used|reached)"
    r"|doesn't (?:work|support|exist|have))\b",
    re.IGNORECASE,
)
_BARE = 40
"""A prompt shorter than this says little without the question it answers."""
_MOST_EXPLAINED, _MOST_STEERED, _MOST_DELEGATED = 6, 4, 3
_SENTENCE = 300


def asked(scene: TurnContext, context: Sequence[Episode]) -> Iterator[FactDraft]:
    """Yield what the person wanted: one sentence for the prompt, one for each word in passing."""
    turn, at = scene.turn, scene.turn.started_at
    if scene.gist:
        text = f"The user asked: {scene.gist}{_question(scene, context)}{_unfinished(scene)}"
        yield FactDraft(_ASKED, scene.hub, "ASKED", scene.subject, text, at)
    for more in prose.gists(turn.user_text)[1:]:
        text = f"The user went on: {more}"
        yield FactDraft(_MORE, scene.hub, "ASKED", scene.subject, text, at)
    for words in _in_passing(scene):
        text = f"While the agent worked, the user said: {words}"
        yield FactDraft(_STEERED, scene.hub, "STEERED", scene.subject, text, at)
    for prompt in turn.subagent_prompts[:_MOST_DELEGATED]:
        task = prose.shorten(prose.gist(prompt), 220)
        if task:
            text = f"A subagent was asked: {task}"
            yield FactDraft(_DELEGATED, scene.hub, "DELEGATED", scene.subject, text, at)
    for failure in failures.reported(prose.clip(turn.user_text, *prose.ASKED)):
        text = f"The user reported `{failure.name}`"
        yield FactDraft(
            _STEERED, EntityKey(ERROR, failure.name), "REPORTED", scene.subject, text, at
        )


def _in_passing(scene: TurnContext) -> Iterator[str]:
    """Yield steering, and what was said instead of a yes when it asks rather than decides."""
    for words in (
        *_typed(scene.turn.steering)[:_MOST_STEERED],
        *scene.turn.user_answers[:_MOST_STEERED],
    ):
        said = prose.gist(words)
        if said and (words in scene.turn.steering or decisions.is_question(words)):
            yield said


def _question(scene: TurnContext, context: Sequence[Episode]) -> str:
    if len(scene.gist) >= _BARE or not context:
        return ""
    question = prose.last_question(context[-1].turn.assistant_text)
    return f" (to the question: {prose.shorten(question, 180)})" if question else ""


def _unfinished(scene: TurnContext) -> str:
    stopped = scene.turn.closed_by is ClosedBy.INTERRUPTED
    return " (interrupted before it was done)" if stopped else ""


def answered(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield what the answer came to."""
    at = scene.turn.ended_at or scene.turn.started_at
    for place, words in enumerate(prose.conclusion(scene.turn.assistant_text)):
        rank, how = (_MORE, "went on") if place else (_ANSWERED, "answered")
        text = f"The agent {how}: {words}"
        yield FactDraft(rank, scene.hub, "ANSWERED", scene.subject, text, at)


def decided(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield the choices that were stated, each a thing of its own."""
    turn = scene.turn
    plan = decisions.plan(turn.user_text)
    if plan:
        yield _decision(scene, f"Plan: {plan}", f"The user accepted the plan: {plan}", plan)
    for answer in turn.user_answers:
        for question, said in decisions.answered(answer):
            name = f"{question} {said}" if question else said
            text = f"Asked “{question}” the user answered: {said}" if question else ""
            yield _decision(scene, name, text or f"The user stopped a step and said: {said}", name)
    if not plan:
        for sentence in decisions.of_person((turn.user_text, *_typed(turn.steering))):
            yield _decision(scene, sentence, f"The user decided: {sentence}", sentence)
    for sentence in decisions.of_agent(turn.assistant_text):
        yield _decision(scene, sentence, f"The agent decided: {sentence}", sentence)


def _typed(steering: Sequence[str]) -> list[str]:
    return [words for words in steering if not words.lstrip().startswith("<")]


def _decision(scene: TurnContext, name: str, text: str, sentence: str) -> FactDraft:
    decision = EntityKey(DECISION, decisions.name(name))
    about = scene.spoken_of(sentence, decision)
    return FactDraft(_DECIDED, decision, "DECIDED", about, text, scene.turn.started_at)


def explained(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield the sentences that say why, then for each concept and file the first that names it."""
    at, taken = scene.turn.ended_at or scene.turn.started_at, set[str]()
    why = [sentence for sentence in scene.told if _CAUSE.search(sentence)]
    for sentence in why[:_MOST_EXPLAINED]:
        taken.add(sentence)
        source = scene.spoken_of(sentence, scene.hub)
        target = scene.spoken_of(sentence, source)
        if source == NOBODY:
            source, target = target, source
        text = prose.shorten(sentence, _SENTENCE)
        yield FactDraft(_EXPLAINED, source, "EXPLAINED", target, text, at)
    for thing in (*scene.concepts, *(EntityKey(FILE, file) for file in scene.seen)):
        needle = thing.name.rpartition("/")[2] if thing.label != CONCEPT else thing.name
        found = next((s for s in scene.told if needle in s and s not in taken), "")
        if found:
            taken.add(found)
            target = scene.spoken_of(found, thing)
            text = prose.shorten(found, _SENTENCE)
            yield FactDraft(_DESCRIBED, thing, "DESCRIBED", target, text, at)
