"""Finds the statements of a turn: decisions, preferences and rejections, each one sentence.

The wording decides. Each rule prefers to miss a statement over finding a false one. In a chat,
which has no working directory, only explicit wording in the first person counts: texts about the
world also say "instead of" and "should". Of an agent, other wording counts only in a turn that
edited a file: in other turns it describes, reviews and proposes. `benchmarks.decisions` measures
the rules.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from turnetl.extraction.structural import decision_cues as cues
from turnetl.extraction.structural.prose import RESPONSE_LIMITS, clip, plain, sentences, shorten

_REASON = re.compile(r"\b(?:because|since|so that|as it|simpler|safer|avoids?)\b", re.IGNORECASE)
_QUESTION_AND_ANSWER = re.compile(r"\"([^\"]{3,600})\"=\"([^\"]{1,1000})\"")
_NO_COMMENT = re.compile(
    r"^\s*(?:\(no (?:response|comment)\)|ok|yes|no|continue|stop|wait)?\s*\.?\s*$", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]")
_ASKS_BACK = re.compile(
    r"(?:^|[,:;] ?)(?:does|is|are|why|what|how|should|can|could|would)"
    r" (?:this|that|it|we|the|you|i)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"^\s*Implement the following plan:\s*(?:#{1,3} )?(?:Plan: )?([^\n]{3,200})", re.IGNORECASE
)
_MIN_LENGTH, _MAX_LENGTH = 12, 320
_MAX_NAME_LENGTH = 90
_MAX_TYPED_LENGTH = 1200
"""Characters that a user types. A longer text was pasted, at least from its middle on."""
_MAX_PLAN_LENGTH = 12_000
_MAX_STATEMENTS = 8
"""Statements of one speaker in one turn."""


class StatementKind(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    REJECTION = "rejection"


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What a turn shows apart from its sentences."""

    in_project: bool
    """It has a working directory."""
    edited_files: bool


@dataclass(frozen=True, slots=True)
class Statement:
    kind: StatementKind
    sentence: str


def of_agent(response: str, evidence: TurnEvidence) -> list[Statement]:
    """Return at most eight statements of the agent, those with a reason first."""
    text = plain(clip(response, *RESPONSE_LIMITS))
    stated = _statements([text], lambda sentence: agent_kind(sentence, evidence))
    return sorted(stated, key=lambda s: not _REASON.search(s.sentence))[:_MAX_STATEMENTS]


def of_user(texts: Iterable[str], evidence: TurnEvidence) -> list[Statement]:
    """Return at most eight statements of the user, in prompts and steering."""
    typed = (
        plain(text if len(text) < _MAX_TYPED_LENGTH else text[: _MAX_TYPED_LENGTH // 3])
        for text in texts
    )
    stated = _statements(typed, lambda sentence: user_kind(sentence, evidence))
    return list(stated)[:_MAX_STATEMENTS]


def of_plan(prompt: str) -> list[Statement]:
    """Return at most eight decisions of a plan that the user accepted."""
    return list(_statements([plain(prompt[:_MAX_PLAN_LENGTH])], plan_kind))[:_MAX_STATEMENTS]


def _statements(
    texts: Iterable[str], kind_of: Callable[[str], StatementKind | None]
) -> Iterator[Statement]:
    for sentence in dict.fromkeys(sentence for text in texts for sentence in sentences(text)):
        if _MIN_LENGTH <= len(sentence) <= _MAX_LENGTH:
            kind = kind_of(sentence)
            if kind is not None:
                yield Statement(kind, sentence)


def answers(answer: str) -> list[tuple[str, str]]:
    """Return (question, answer) pairs; a comment on a rejected call has an empty question.

    An answer without a word decides nothing and is omitted.
    """
    pairs = _QUESTION_AND_ANSWER.findall(answer[:8000])
    if pairs:
        with_words = [(question, reply) for question, reply in pairs[:4] if _WORD.search(reply)]
        return [(shorten(question, 160), shorten(reply, 200)) for question, reply in with_words]
    comment = shorten(plain(answer[:4000]), 300)
    is_empty = not _WORD.search(comment) or _NO_COMMENT.match(comment)
    return [] if is_empty or is_question(comment) else [("", comment)]


def is_question(answer: str) -> bool:
    """Whether a comment on a rejected call asks a question: then nothing is decided yet."""
    asks = "?" in answer[:4000] or _ASKS_BACK.search(answer[:200])
    return bool(asks) and not _QUESTION_AND_ANSWER.search(answer[:8000])


def plan(prompt: str) -> str:
    """Return the title of the plan that the user accepted, or an empty string."""
    match = _PLAN.match(prompt[:600])
    return shorten(match.group(1).strip("#* "), 120) if match else ""


def name(sentence: str) -> str:
    return shorten(sentence.replace("`", "").rstrip("."), _MAX_NAME_LENGTH)


def user_kind(text: str, evidence: TurnEvidence) -> StatementKind | None:
    """Return what a sentence that the user typed states: the first of its clauses that does."""
    kinds = (_of_user(clause, evidence) for clause in cues.CLAUSE_END.split(text))
    return next(filter(None, kinds), None)


def _of_user(sentence: str, evidence: TurnEvidence) -> StatementKind | None:
    asks = bool(cues.QUESTION.search(sentence))
    if cues.PREFERRED.search(sentence) and not asks:
        return StatementKind.PREFERENCE
    if _any_of((cues.DECIDED, cues.DECIDING), sentence) and not asks:
        return StatementKind.DECISION
    return _of_user_in_project(sentence, asks=asks) if evidence.in_project else None


def _of_user_in_project(sentence: str, *, asks: bool) -> StatementKind | None:
    if cues.STANDING_ORDER.search(sentence) and not asks:
        return StatementKind.PREFERENCE
    if cues.USER_VERDICT.search(sentence):
        return StatementKind.DECISION
    return None if cues.ASIDE.search(sentence) else _of_user_about_work(sentence, asks=asks)


def _of_user_about_work(sentence: str, *, asks: bool) -> StatementKind | None:
    if cues.USER_REQUEST.search(sentence):
        return StatementKind.DECISION
    if asks:
        return None
    if cues.REJECTED.search(sentence):
        return StatementKind.REJECTION
    is_rule = cues.USER_RULE.search(sentence) and not cues.USER_FACT.search(sentence)
    return StatementKind.DECISION if is_rule else None


def plan_kind(sentence: str) -> StatementKind | None:
    words = cues.CODE.sub("`x`", sentence)
    vetoes = (cues.QUESTION, cues.ASIDE, cues.UNDECIDED)
    is_planned = cues.PLANNED.search(words) and not _any_of(vetoes, words)
    return StatementKind.DECISION if is_planned else None


def agent_kind(sentence: str, evidence: TurnEvidence) -> StatementKind | None:
    # Without marks at its start.
    words = cues.CODE.sub("`x`", cues.LEAD.sub("", cues.LEAD.sub("", sentence)))
    if cues.QUESTION.search(words):
        return None
    is_decision = (
        cues.DECIDED.search(words)
        or (cues.DECIDING.search(words) and not cues.UNDECIDED.search(words))
        or (evidence.in_project and _is_decided_in_project(sentence, words, evidence))
    )
    return StatementKind.DECISION if is_decision else None


def _is_decided_in_project(sentence: str, words: str, evidence: TurnEvidence) -> bool:
    if cues.AGENT_ACT.search(words):
        return True
    if cues.UNDECIDED.search(words) or cues.ASIDE.search(sentence):
        return False
    if cues.AGENT_PROMISE.search(words):
        return True
    if cues.STEP.search(words):
        return False
    if _any_of((cues.AGENT_CHANGE, cues.AGENT_ACCEPTED), words):
        return True
    return evidence.edited_files and _is_decided_by_edit(words)


def _is_decided_by_edit(sentence: str) -> bool:
    is_rule = _any_of((cues.AGENT_RULE, cues.CONTRAST), sentence)
    return bool(cues.AGENT_REASONED.search(sentence)) or (
        is_rule and not cues.REPORT.search(sentence)
    )


def _any_of(patterns: Iterable[cues.Cue], sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in patterns)
