"""Finds the statements of a turn: decisions, preferences, rejections and reported problems.

The wording decides, and each rule prefers to miss a statement over finding a false one. A statement
is understood alone: what `it` or `this` means is added, or the statement is dropped. In a chat,
which has no working directory, only explicit wording in the first person counts: texts about the
world also say "instead of" and "should". Of an agent, only a rule with a named subject counts, in
a turn that edited a file: in other turns it describes, reviews and proposes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from turnetl.base.model import ToolCall
from turnetl.episode_text.prose import (
    RESPONSE_LIMITS,
    clip,
    plain,
    sentences,
    shorten,
)
from turnetl.extraction.structural import decision_cues as cues
from turnetl.extraction.structural import lexicon

_QUESTION_AND_ANSWER = re.compile(r"\"([^\"]{3,600})\"=\"([^\"]{1,1000})\"")
_REASON = re.compile(r"\b(?:because|since|so that|as it|simpler|safer|avoids?)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_GIVEN_PLAN = re.compile(r"^\s*Implement the following plan:\s*", re.IGNORECASE)
_APPROVED_PLAN = re.compile(r"^#* *Approved Plan\b[^\n]*\n", re.MULTILINE)
_PLAN_TITLE = re.compile(r"\s*(?:#{1,3} )?(?:(?:Implementation )?Plan: )?([^\n]{3,200})")
_PLAN_TOOLS = frozenset({"ExitPlanMode", "exit_plan_mode"})
_MIN_LENGTH, _MAX_LENGTH = 12, 320
_MAX_NAME_LENGTH = 110
_MAX_TYPED_LENGTH = 1200
"""Characters that a user types. A longer text was pasted, at least from its middle on."""
_MAX_REVIEW = 2500
_MIN_REPORT, _MAX_REPORTS = 8, 3
_MAX_PLAN_LENGTH = 12_000
_MAX_OF_USER, _MAX_OF_PLAN, _MAX_OF_AGENT = 5, 7, 4
"""Statements of one speaker in one turn."""


class StatementKind(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    REJECTION = "rejection"
    REPORT = "report"


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
    """Understood alone."""
    said: str = ""
    """The part of it that has the wording, if not all."""


def of_user(texts: Iterable[str], evidence: TurnEvidence, context: str = "") -> list[Statement]:
    """Return at most five statements of the user, in prompts and steering.

    `context` is the sentence of the agent that a text without a subject of its own is about.
    """
    found: list[Statement] = []
    for text in texts:
        before = ""
        for clause in _clauses(typed(text)):
            if (
                len(clause) <= _MAX_LENGTH
                and not clause.startswith("(")
                and clause[-1:] not in _COLONS
            ):
                for kind, part in _parts(clause, user_kinds(clause, evidence)):
                    sentence = _alone(_said(part), before, context)
                    if has_subject(sentence):
                        found.append(Statement(kind, sentence, clause))
            before = clause
    return _distinct(found)[:_MAX_OF_USER]


def reported(prompt: str, context: str = "") -> list[Statement]:
    """Return at most three problems that a prompt reports, also by pasting a review."""
    found: list[Statement] = []
    before = ""
    clauses = _clauses(typed(prompt, _MAX_REVIEW))
    is_review = any(cues.REVIEW.search(clause) for clause in clauses)
    for clause in clauses:
        problem = cues.REPORT_TAIL.sub("", without_lead(clause))
        if cues.WHY.search(clause):
            found.append(Statement(StatementKind.REPORT, _joined(before, clause)))
        elif _MIN_REPORT <= len(problem) <= _MAX_LENGTH and _is_reported(problem):
            alone = _alone(problem, before, "" if is_review else context)
            if has_subject(alone):
                found.append(Statement(StatementKind.REPORT, alone, clause))
        before = clause
    if is_review:
        # It begins with the problem.
        first = shorten(clauses[0], _MAX_LENGTH)
        vetoes = (cues.HYPOTHETICAL, cues.QUESTION, cues.OPEN_QUESTION)
        is_about = cues.CODE_NAME.search(first) and not _any_of(vetoes, first)
        found = found[:1] or ([Statement(StatementKind.REPORT, first)] if is_about else [])
    return _distinct(found)[:_MAX_REPORTS]


def _parts(clause: str, kinds: Sequence[StatementKind]) -> Iterator[tuple[StatementKind, str]]:
    """Yield each kind with its part of a clause that rejects one thing and chooses another.

    If the parts are not understood alone, the choice has the whole clause.
    """
    if len(kinds) < _FEW_WORDS:
        yield from ((kind, clause) for kind in kinds)
        return
    parts = cues.CONTRAST_START.split(clause, maxsplit=1)
    if len(parts) == len(kinds) and all(len(content_words(part)) >= _FEW_WORDS for part in parts):
        yield from zip(kinds, parts, strict=True)
    else:
        yield kinds[-1], clause


def has_subject(sentence: str) -> bool:
    """Return whether a sentence names what it is about, by more than a word of every project."""
    words = {word.casefold() for word in cues.CONTENT_WORD.findall(sentence)}
    nouns = words - lexicon.DECISION_WORDS - (lexicon.KEYPHRASE_STOP_WORDS - lexicon.CODE_NOUNS)
    is_named = bool(cues.CODE_NAME.search(sentence)) or not sentence.isascii()
    return is_named or len(nouns) >= _FEW_WORDS or bool(nouns - lexicon.GENERIC_TOPICS)


def of_agent(
    response: str, evidence: TurnEvidence, names: Sequence[str], said: Iterable[Statement] = ()
) -> list[Statement]:
    """Return at most four statements of the agent that repeat none of those `said` by the user.

    It says in the past and the first person that it chose, or, in a turn that edited a file, states
    a rule about one of `names` or a name in backticks.
    """
    known = list(said)
    found: list[Statement] = []
    before = ""
    for sentence in sentences(plain(clip(response, *RESPONSE_LIMITS))):
        if _MIN_LENGTH <= len(sentence) <= _MAX_LENGTH and agent_decides(sentence):
            alone = _alone(cues.AGENT_LEAD.sub("", sentence), before, "")
            if not _is_about(alone, names) and cues.CONDITION.search(alone):
                alone = _joined(before, alone)
            is_choice = evidence.in_project and _any_of((cues.DECIDED, cues.AGENT_ACT), sentence)
            is_rule = evidence.edited_files and _is_about(alone, names)
            if is_rule or (is_choice and has_subject(alone)):
                rejects = cues.AGENT_REJECTED.search(sentence)
                kind = StatementKind.REJECTION if rejects else StatementKind.DECISION
                found.append(Statement(kind, alone, sentence))
        before = sentence
    # What is said last is what came of it.
    found.reverse()
    found.sort(key=lambda one: not _REASON.search(one.sentence))
    new = (
        one
        for one in found
        if one.sentence and not any(restates(one.sentence, other, _RESTATED) for other in known)
    )
    return _distinct(new)[:_MAX_OF_AGENT]


def of_plan(text: str) -> list[Statement]:
    """Return at most seven points of an accepted plan that fix something, each understood alone."""
    found: list[Statement] = []
    before, about, title = "", "", plan_title(text)
    for line in text[:_MAX_PLAN_LENGTH].split("\n"):
        if cues.HEADING.match(line):
            named = cues.CODE_NAME.search(line)
            before, about = "", named[0].strip("`") if named else ""
            continue
        for sentence in sentences(plain(line)):
            point = sentence.rstrip(":")
            if _MIN_LENGTH <= len(point) <= _MAX_LENGTH and plan_decides(sentence):
                alone = _alone(point, before, "")
                if about and alone and not cues.CODE_NAME.search(alone):
                    alone = f"`{about}`: {alone}"
                if has_subject(alone) and title not in sentence:
                    found.append(Statement(StatementKind.DECISION, alone, sentence))
            before = sentence
    return _distinct(found)[:_MAX_OF_PLAN]


def typed(text: str, limit: int = _MAX_TYPED_LENGTH) -> str:
    """Return what a person typed: without quoted, indented and pasted parts, in plain text.

    Of a text longer than the limit, the first third.
    """
    text = cues.SLASH_COMMAND.sub("", text)
    if cues.INSTRUCTIONS.search(text[:200]):
        return ""
    if len(text) >= limit:
        text = text[: limit // 3].rpartition("\n")[0] or text[: limit // 3]
    return plain("\n".join(line for line in text.split("\n") if not cues.PASTED.search(line)))


def answers(answer: str) -> list[tuple[str, str]]:
    """Return (question, answer) pairs of a form; an answer without a word is omitted."""
    pairs = _QUESTION_AND_ANSWER.findall(answer[:8000])[:4]
    with_words = [(question, reply) for question, reply in pairs if _WORD.search(reply)]
    return [(shorten(question, 160), shorten(reply, 200)) for question, reply in with_words]


def asks_back(answer: str) -> bool:
    """Return whether an answer is a question, or leaves the choice to the agent."""
    said = cues.TAG_QUESTION.sub("", answer)
    return bool(cues.QUESTION.search(said) or cues.LEAVES_OPEN.search(said))


def given_plan(prompt: str) -> str:
    """Return the plan that a prompt has carried out, or an empty string."""
    match = _GIVEN_PLAN.match(prompt[:200])
    return prompt[match.end() :] if match else ""


def approved_plan(call: ToolCall) -> str:
    """Return the plan that the user approved when the agent showed it, or an empty string."""
    if call.name not in _PLAN_TOOLS or call.is_error:
        return ""
    shown = _APPROVED_PLAN.search(call.result)
    if shown:
        return call.result[shown.end() :]
    try:
        plan = msgspec.json.decode(call.input).get("plan")
    except (msgspec.DecodeError, AttributeError):
        return ""
    return plan if isinstance(plan, str) else ""


def plan_title(plan: str) -> str:
    match = _PLAN_TITLE.match(plan[:400])
    return shorten(match.group(1).strip("#* "), 120) if match else ""


def name(sentence: str) -> str:
    return shorten(sentence.replace("`", "").rstrip("."), _MAX_NAME_LENGTH)


def without_lead(sentence: str) -> str:
    """Return a sentence without `yes`, `and`, `I think` and the like at its start."""
    words = cues.USER_LEAD.sub("", sentence, count=1)
    return words if " " in words else sentence


def _said(clause: str) -> str:
    """Return what a clause states: `also, can we log it?` without the words around it."""
    return cues.QUESTION_TAIL.sub("", cues.USER_REQUESTED.sub(r"\1", without_lead(clause)))


def user_kinds(clause: str, evidence: TurnEvidence) -> list[StatementKind]:
    """Return what a clause that the user typed states: it may reject one thing for another."""
    clause = cues.QUESTION_TAIL.sub("", cues.TAG_QUESTION.sub("", clause))
    asks = bool(cues.QUESTION.search(clause))
    if _any_of((cues.HEARSAY, cues.NOT_NOW, cues.OPEN_QUESTION), clause):
        return []
    if cues.PREFERRED.search(clause) and not asks:
        return [StatementKind.PREFERENCE]
    if _any_of((cues.DECIDED, cues.DECIDING), clause) and not asks:
        return [StatementKind.DECISION]
    if not evidence.in_project or cues.DESCRIBED.search(clause):
        return []
    return list(_in_project(clause, evidence, asks=asks))


def _in_project(clause: str, evidence: TurnEvidence, *, asks: bool) -> Iterator[StatementKind]:
    if cues.STANDING_ORDER.search(clause) and not asks:
        yield StatementKind.PREFERENCE
        return
    if cues.ONCE.search(clause):
        return
    refusal = cues.REJECTED.search(clause) or cues.USER_REFUSAL.search(clause)
    rule = cues.USER_REQUEST.search(clause)
    if asks:
        # What a question asks for or doubts is decided only if the turn acts on it.
        refusal = cues.USER_DOUBT.search(clause) if evidence.edited_files else None
        rule = rule if evidence.edited_files else None
    elif not cues.USER_FACT.search(clause):
        rule = cues.USER_RULE.search(clause) or rule
    decides = bool(rule) or _any_of((cues.USER_VERDICT, cues.WOULD_RATHER), clause)
    # "Use Redis, not Memcached" decides; "not as a column, but as a table" does both.
    before = clause[rule.start() : refusal.start() + 1].rstrip() if refusal and rule else ""
    if refusal and not before.endswith((",", ";", ".", "\uff0c")):
        yield StatementKind.REJECTION
        decides = decides and bool(cues.CONTRAST_OF_USER.search(clause))
    if decides:
        yield StatementKind.DECISION


def _is_reported(clause: str) -> bool:
    if cues.QUESTION.search(clause) and not cues.ASKS_WHY.search(clause):
        return False
    return bool(cues.REPORTED.search(clause)) and not cues.HYPOTHETICAL.search(clause)


def plan_decides(sentence: str) -> bool:
    words = cues.CODE.sub("`x`", sentence)
    vetoes = (cues.QUESTION, cues.ASIDE, cues.UNDECIDED, cues.WAVERS)
    return bool(cues.PLANNED.search(words)) and not _any_of(vetoes, words)


def agent_decides(sentence: str) -> bool:
    # Without marks at its start.
    words = cues.CODE.sub("`x`", cues.LEAD.sub("", cues.LEAD.sub("", sentence)))
    if _any_of((cues.QUESTION, cues.AGREES), words):
        return False
    if sentence.endswith(_COLONS) or _any_of((cues.ASIDE, cues.HEARSAY, cues.WAVERS), sentence):
        return False
    if _any_of((cues.DECIDED, cues.AGENT_ACT), words):
        return True
    if cues.UNDECIDED.search(words):
        return False
    is_promise = cues.AGENT_PROMISE.search(words) is not None
    if is_promise or cues.STEP.search(words):
        return is_promise
    return _is_rule(words)


def _is_rule(words: str) -> bool:
    if _any_of((cues.AGENT_CHANGE, cues.AGENT_ACCEPTED, cues.AGENT_REASONED), words):
        return True
    is_rule = _any_of((cues.AGENT_RULE, cues.CONTRAST), words)
    return is_rule and not cues.REPORT.search(words)


def content_words(sentence: str) -> frozenset[str]:
    """Return the stems of what a sentence is about, to compare statements."""
    words = (word.casefold() for word in cues.CONTENT_WORD.findall(sentence))
    skipped = lexicon.DECISION_WORDS | lexicon.KEYPHRASE_STOP_WORDS
    return frozenset(cues.ENDING.sub("", word)[:_STEM] for word in words if word not in skipped)


_STEM = 6


def repeats(sentence: str, other: str, share: float = 0.6) -> bool:
    """Return whether two sentences state nearly the same: by the share of words of the shorter."""
    first, second = content_words(sentence), content_words(other)
    shared = len(first & second)
    return first == second or (shared > 1 and shared >= share * min(len(first), len(second)))


def restates(sentence: str, other: Statement, share: float) -> bool:
    """Return whether a sentence says again what was stated, by the share of words as `repeats`."""
    said = other.said or other.sentence
    # An aside says nothing about the rule: "(should never be reached)".
    new, old = (cues.ASIDE_START.split(text, maxsplit=1)[0] for text in (sentence, said))
    if bool(cues.NEGATES.search(new)) != bool(cues.NEGATES.search(old)):
        return False
    if cues.NUMBER.findall(new) != cues.NUMBER.findall(old):
        return False
    return repeats(sentence, other.sentence, share) or repeats(sentence, said, share)


_RESTATED = 0.4
"""The share for an agent that repeats the user in other words."""


def _distinct(statements: Iterable[Statement]) -> list[Statement]:
    """Return each statement once: of those that repeat one another, the one that says more."""
    kept: list[Statement] = []
    for one in statements:
        same = [
            o
            for o in kept
            if o.kind is one.kind
            and (
                repeats(o.sentence, one.sentence)
                or repeats(o.said or o.sentence, one.said or one.sentence)
            )
        ]
        if not same:
            kept.append(one)
        elif same[0].sentence in one.sentence:
            kept[kept.index(same[0])] = one
    return kept


def _clauses(text: str) -> list[str]:
    clauses = (one for sentence in sentences(text) for one in cues.CLAUSE_END.split(sentence))
    pieces = (cues.TURN.split(one) if len(one) > _MAX_LENGTH else [one] for one in clauses)
    return [piece for some in pieces for piece in some if _WORD.search(piece)]


def _alone(clause: str, before: str, context: str) -> str:
    """Return the clause with what its pronouns refer to, or an empty string without that.

    A pronoun may refer to what the clause names before it. The context is what an agent proposed:
    only what refers to one thing is about it.
    """
    words = len(content_words(clause))
    point = cues.POINTS.search(clause)
    named = clause[: point.start()] if point else clause
    is_led = cues.POINTS_FIRST.search(clause) is not None
    needed = _FEW_WORDS if point and not cues.PART_END.search(named) else 1
    if not is_led and len(content_words(named)) >= needed:
        return clause
    bare = _said(before) if cues.ASKED_FOR.search(before) else without_lead(before)
    is_clear = bool(bare) and _alone(bare, "", "") == bare and not cues.QUESTION.search(bare)
    if is_clear and not bare.endswith(_COLONS) and len(content_words(bare)) + words > _FEW_WORDS:
        return _joined(bare, clause) if len(bare) + len(clause) < _MAX_LENGTH else ""
    is_topic = bool(context) and has_subject(context) and _alone(context, "", "") == context
    if is_topic and not cues.POINTS_AT_MANY.search(clause):
        return f"{clause.rstrip('.')} (about “{context}”)"
    return ""


def _joined(before: str, clause: str) -> str:
    separator = "" if before.endswith((".", "!", "?", ";", ",")) else ";"
    return f"{before.rstrip(':')}{separator} {clause}" if before else clause


_COLONS = (":", "\uff1a")
_FEW_WORDS = 2


def _is_about(sentence: str, names: Sequence[str]) -> bool:
    is_named = "`" in sentence or any(name in sentence for name in names)
    return is_named or bool(cues.LABEL.match(sentence))


def _any_of(patterns: Iterable[cues.Cue], sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in patterns)
