"""Decides by its wording whether a sentence states a decision, a preference or a rejection.

Each rule prefers to miss a statement over finding a false one. In a chat, which has no working
directory, only explicit wording in the first person counts: texts about the world also say
"instead of" and "should". Of an agent, other wording counts only in a turn that edited a file: in
other turns it describes, reviews and proposes. `benchmarks.decisions` measures the rules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from turnetl.extraction.structural import decision_cues as cues


class StatementKind(StrEnum):
    """What a sentence states."""

    DECISION = "decision"
    PREFERENCE = "preference"
    REJECTION = "rejection"


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What a turn shows apart from its sentences."""

    in_project: bool
    """The turn has a working directory."""
    edited_files: bool


def of_user(text: str, evidence: TurnEvidence) -> StatementKind | None:
    """Return what a sentence states that the user typed: the first of its clauses that does."""
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


def of_plan(sentence: str) -> StatementKind | None:
    """Return what a sentence of a plan states that the user accepted."""
    words = cues.CODE.sub("`x`", sentence)
    vetoes = (cues.QUESTION, cues.ASIDE, cues.UNDECIDED)
    is_planned = cues.PLANNED.search(words) and not _any_of(vetoes, words)
    return StatementKind.DECISION if is_planned else None


def of_agent(sentence: str, evidence: TurnEvidence) -> StatementKind | None:
    """Return what a sentence of the agent states."""
    words = _without_code(sentence)
    if cues.QUESTION.search(words):
        return None
    is_decision = (
        cues.DECIDED.search(words)
        or (cues.DECIDING.search(words) and not cues.UNDECIDED.search(words))
        or (evidence.in_project and _is_decided_in_project(sentence, words, evidence))
    )
    return StatementKind.DECISION if is_decision else None


def _without_code(sentence: str) -> str:
    """Return the sentence without marks at its start, and with every piece of code as `x`."""
    return cues.CODE.sub("`x`", cues.LEAD.sub("", cues.LEAD.sub("", sentence)))


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
