"""Decides by its wording whether a sentence states a decision, a preference or a rejection.

Each rule prefers to miss a statement over finding a false one. In a chat, which has no working
directory, only explicit wording in the first person counts: texts about the world also say
"instead of" and "should". Of an agent, other wording counts only in a turn that edited a file: in
other turns it describes, reviews and proposes. `benchmarks.decisions` measures the rules.
"""

import re
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


def of_user(sentence: str, evidence: TurnEvidence) -> StatementKind | None:
    """Return what a sentence states that the user typed."""
    asks = bool(cues.QUESTION.search(sentence))
    if cues.PREFERRED.search(sentence) and not asks:
        return StatementKind.PREFERENCE
    if cues.DECIDED.search(sentence) and not asks:
        return StatementKind.DECISION
    if not evidence.in_project:
        return None
    if cues.USER_VERDICT.search(sentence):
        return StatementKind.DECISION
    return None if cues.ASIDE.search(sentence) else _of_user_in_project(sentence, asks=asks)


def _of_user_in_project(sentence: str, *, asks: bool) -> StatementKind | None:
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
    vetoes = (cues.QUESTION, cues.ASIDE, cues.UNDECIDED)
    is_planned = cues.PLANNED.search(sentence) and not _any_of(vetoes, sentence)
    return StatementKind.DECISION if is_planned else None


def of_agent(sentence: str, evidence: TurnEvidence) -> StatementKind | None:
    """Return what a sentence of the agent states."""
    if _any_of((cues.QUESTION, cues.ASIDE), sentence):
        return None
    sentence = cues.CODE.sub("`x`", cues.LEAD.sub("", cues.LEAD.sub("", sentence)))
    if cues.UNDECIDED.search(sentence):
        return None
    is_decision = cues.DECIDED.search(sentence) or (
        evidence.in_project and _is_decided_in_project(sentence, evidence)
    )
    return StatementKind.DECISION if is_decision else None


def _is_decided_in_project(sentence: str, evidence: TurnEvidence) -> bool:
    if cues.AGENT_PROMISE.search(sentence):
        return True
    if cues.STEP.search(sentence):
        return False
    if _any_of((cues.AGENT_CHANGE, cues.AGENT_ACCEPTED), sentence):
        return True
    return evidence.edited_files and _is_decided_by_edit(sentence)


def _is_decided_by_edit(sentence: str) -> bool:
    is_rule = _any_of((cues.AGENT_RULE, cues.CONTRAST), sentence)
    return bool(cues.AGENT_REASONED.search(sentence)) or (
        is_rule and not cues.REPORT.search(sentence)
    )


def _any_of(patterns: Iterable[re.Pattern[str]], sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in patterns)
