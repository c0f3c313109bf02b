"""Finds the statements of a turn: decisions, preferences and rejections, each one sentence."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from turnetl.extraction.structural import decision_rules
from turnetl.extraction.structural.decision_rules import StatementKind, TurnEvidence
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


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states a decision, a preference or a rejection."""

    kind: StatementKind
    sentence: str


def of_agent(response: str, evidence: TurnEvidence) -> list[Statement]:
    """Return at most eight statements of the agent, those with a reason first."""
    text = plain(clip(response, *RESPONSE_LIMITS))
    stated = _statements([text], lambda sentence: decision_rules.of_agent(sentence, evidence))
    return sorted(stated, key=lambda s: not _REASON.search(s.sentence))[:_MAX_STATEMENTS]


def of_user(texts: Iterable[str], evidence: TurnEvidence) -> list[Statement]:
    """Return at most eight statements of the user, in prompts and steering."""
    typed = (
        plain(text if len(text) < _MAX_TYPED_LENGTH else text[: _MAX_TYPED_LENGTH // 3])
        for text in texts
    )
    stated = _statements(typed, lambda sentence: decision_rules.of_user(sentence, evidence))
    return list(stated)[:_MAX_STATEMENTS]


def of_plan(prompt: str) -> list[Statement]:
    """Return at most eight decisions of a plan that the user accepted."""
    return list(_statements([plain(prompt[:_MAX_PLAN_LENGTH])], decision_rules.of_plan))[
        :_MAX_STATEMENTS
    ]


def _statements(
    texts: Iterable[str], kind_of: Callable[[str], StatementKind | None]
) -> Iterator[Statement]:
    """Yield the statements of plain texts, in order, each once."""
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
    """Return the name of a decision: its sentence, shortened."""
    return shorten(sentence.replace("`", "").rstrip("."), _MAX_NAME_LENGTH)
