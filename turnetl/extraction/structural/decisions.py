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
_RECOMMENDED = re.compile(r" *\((?:recommended|default)\)$", re.IGNORECASE)
_UNANSWERED = re.compile(
    r"\(?(?:no option|unanswered|no answer|skip(?:ped)?\b|cancel)", re.IGNORECASE
)
_MAX_QUESTION, _MAX_REPLY = 160, 200
_REASON = re.compile(r"\b(?:because|since|so that|as it|simpler|safer|avoids?)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_GIVEN_PLAN = re.compile(r"^\s*Implement the following plan:\s*", re.IGNORECASE)
_APPROVED_PLAN = re.compile(r"^#* *Approved Plan\b[^\n]*\n", re.MULTILINE)
_PLAN_TITLE = re.compile(r"\s*(?:#{1,3} )?(?:(?:Implementation )?Plan: )?([^\n]{3,200})")
_PLAN_TOOLS = frozenset({"ExitPlanMode", "exit_plan_mode"})
_MIN_LENGTH, MAX_LENGTH = 12, 320
_MAX_NAME_LENGTH = 110
_MAX_TYPED_LENGTH = 1200
"""Characters that a user types. A longer text was pasted, at least from its middle on."""
_MAX_PLAN_LENGTH = 12_000
_MAX_OF_USER, _MAX_OF_PLAN, _MAX_OF_AGENT = 5, 7, 4
"""Statements of one speaker in one turn."""
_SPECIFIC_NAME = re.compile(
    r"`[^`\s]{2,80}`|(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.[a-z]\w{0,4}(?![\w/.-])|(?<!\w)--[a-z][\w-]+"
    r"|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\b[a-zA-Z]+_\w+\b|(?<!\w)#\d+\b|\b[A-Z]{2,}-\d+\b"
)
"""What names one thing of a project, whatever else a text says."""
_STATUS = cues.cue(r"^(?:ready|done|let me|now let|all (?:tests|done|green)|i'll)\b")
"""Begins a sentence of the agent that names no topic."""
_COMPOUND = cues.cue(r"(?<![\w-])[a-z]{3,}(?:-[a-z]{3,})+(?![\w-])")
_EMPHASIS = re.compile(r"(?<![\w*])(?:\*|_)(\w[^*_\n]{0,60}\w|\w)(?:\*|_)(?![\w*])")
_THEN = re.compile(r",? then[.!]*$", re.IGNORECASE)
_PICTURE = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d\u2642\u2640]+")
_DANGLING = re.compile(
    r"[,;]? (?:because(?: of)?|since|e\.g\.|i\.e\.|for example|such as|like(?: this)?|as follows"
    r"|the following|namely|including|with|and|or|but|so|to|that)[:.,\s]*$",
    re.IGNORECASE,
)
"""The end of a sentence that introduces a list or code."""
_SLASH_COMMAND = re.compile(r"^\s*/[a-z][\w:-]{1,60}\s+")
_INSTRUCTIONS = re.compile(r"^\s*(?:<|You are (?:an?|the)\b|# |---\n|\[\{)")
"""How texts begin that a program or a file gives as a prompt."""
_PASTED = re.compile(
    r"^(?: {2,}|\t|>)|^\s*at \S+ ?\(|^\d{4}-\d\d-\d\d[T ]\d|^\[?\d\d:\d\d|^(?:INFO|DEBUG|WARN"
    r"|ERROR)\b|^[$\u276f➜] |^[+-]{1,3} ?\S+.*[;{}]$|^\S+\.\w{1,5}:\d+"
)
_PLANNED = cues.cue(
    r"^(?:change|replace|switch|consolidate|invert|convert|default|rename|disable|enable|drop"
    r"|treat|pass|write all|use|store|keep|remove)\b.{3,120}\b(?:to|single|fixed|instead|all|only"
    r"|for|when|with|as|from)\b",
    r"\bno longer [a-z]{3,}",
    r"\b(?:should|must)(?:n't| not| never| always| only| no longer| still)? (?!work|pass|see|be "
    r"able)[a-z]{2,}",
    r"\bbut (?:keep|leave) (?:it|the)\b|^leave it\b",
    r"\b(?:instead of|rather than|by default|defaults to)\b",
)
_HEADING = re.compile(r"\s*(?:#{1,6} |\*\*[^*]{2,120}\*\*:?\s*$)")


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


_ACTS = (cues.DECIDED, cues.AGENT_ACT, cues.AGENT_REJECTED)
ABOUT = " (about "
"""Before the topic that is added to a statement."""
_SHORT, _MAX_TOPIC = 5, 160
"""Words of a statement that needs a topic, at most, and characters of the topic."""


def of_user(texts: Iterable[str], evidence: TurnEvidence, context: str = "") -> list[Statement]:
    """Return at most five statements of the user, in prompts and steering.

    `context` is the sentence of the agent that a text without a subject of its own is about.
    """
    found: list[Statement] = []
    for text in texts:
        before, named = "", ""
        for clause in clauses_of(typed(text)):
            if _may_state(clause):
                for kind, part in _parts(clause, user_kinds(clause, evidence)):
                    sentence = cleaned(understood(_said(part), before, context))
                    is_preference = kind is StatementKind.PREFERENCE
                    if not is_preference:
                        sentence = with_topic(sentence, (named, context))
                    elif cues.REMINDS.search(clause) and context and sentence:
                        sentence = f"{sentence}{ABOUT}\u201c{cleaned(context)}\u201d)"
                    # A preference may be about words of every project: "write the tests first".
                    if has_subject(sentence) or (is_preference and content_words(sentence)):
                        found.append(Statement(kind, sentence, clause))
            before = clause
            named = clause if _SPECIFIC_NAME.search(clause) else named
    return distinct(found)[:_MAX_OF_USER]


def _may_state(clause: str) -> bool:
    return len(clause) <= MAX_LENGTH and not clause.startswith("(") and clause[-1:] not in _COLONS


def cleaned(sentence: str) -> str:
    """Return a sentence without pictures, and without the end that introduces what follows it.

    A bracket without its other half is left out.
    """
    sentence = _EMPHASIS.sub(r"\1", _PICTURE.sub("", sentence)).strip()
    opened = sentence.count("(") - sentence.count(")")
    if opened < 0:
        sentence = sentence[::-1].replace(")", "", -opened)[::-1]
    elif opened and (start := sentence.rindex("(")) > _MIN_LENGTH:
        sentence = sentence[:start]
    return _DANGLING.sub("", sentence).rstrip(" ,;:\uff1a")


def with_topic(sentence: str, topics: Iterable[str]) -> str:
    """Return a short statement that names nothing with the first topic that says what it is about.

    That is one with a specific name, or with two words of the statement.
    """
    words = content_words(sentence)
    is_named = any_of((_SPECIFIC_NAME, _COMPOUND), sentence)
    if len(words) > _SHORT or ABOUT in sentence or is_named:
        return sentence
    for topic in map(cleaned, topics):
        shared = words & content_words(topic)
        is_about = _SPECIFIC_NAME.search(topic) or len(shared) >= _FEW_WORDS
        if topic and is_about and topic not in sentence and not _STATUS.search(topic):
            return f"{sentence.rstrip('.')}{ABOUT}\u201c{shorten(topic, _MAX_TOPIC)}\u201d)"
    return sentence


def without_topic(text: str) -> str:
    """Return a statement without the topic that `with_topic` or `understood` added."""
    said, about, _ = text.partition(ABOUT)
    return said if about else text


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
        if _MIN_LENGTH <= len(sentence) <= MAX_LENGTH and agent_decides(sentence):
            alone = understood(cues.AGENT_LEAD.sub("", sentence), before, "")
            if not _is_about(alone, names) and cues.CONDITION.search(alone):
                alone = joined(before, alone)
            alone = cleaned(alone)
            is_choice = evidence.in_project and any_of(_ACTS, sentence)
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
    return distinct(new)[:_MAX_OF_AGENT]


def of_plan(text: str) -> list[Statement]:
    """Return at most seven points of an accepted plan that fix something, each understood alone."""
    found: list[Statement] = []
    before, about, title = "", "", plan_title(text)
    for line in text[:_MAX_PLAN_LENGTH].split("\n"):
        if _HEADING.match(line):
            named = cues.CODE_NAME.search(line)
            before, about = "", named[0].strip("`") if named else ""
            continue
        for sentence in sentences(plain(line)):
            point = sentence.rstrip(":")
            if _MIN_LENGTH <= len(point) <= MAX_LENGTH and plan_decides(sentence):
                alone = cleaned(understood(point, before, ""))
                if about and alone and not cues.CODE_NAME.search(alone):
                    alone = f"`{about}`: {alone}"
                if has_subject(alone) and title not in sentence:
                    found.append(Statement(StatementKind.DECISION, alone, sentence))
            before = sentence
    return distinct(found)[:_MAX_OF_PLAN]


def typed(text: str, limit: int = _MAX_TYPED_LENGTH) -> str:
    """Return what a person typed: without quoted, indented and pasted parts, in plain text.

    Of a text longer than the limit, the first third.
    """
    text = _SLASH_COMMAND.sub("", text)
    if _INSTRUCTIONS.search(text[:200]):
        return ""
    if len(text) >= limit:
        text = text[: limit // 3].rpartition("\n")[0] or text[: limit // 3]
    return plain("\n".join(line for line in text.split("\n") if not _PASTED.search(line)))


def answers(answer: str) -> list[tuple[str, str]]:
    """Return (question, answer) pairs of a form; an answer without a word is omitted."""
    pairs = _QUESTION_AND_ANSWER.findall(answer[:8000])[:4]
    given = [(question, _RECOMMENDED.sub("", reply)) for question, reply in pairs]
    return [
        (shorten(question, _MAX_QUESTION), shorten(reply, _MAX_REPLY))
        for question, reply in given
        if _WORD.search(reply) and not _UNANSWERED.match(reply)
    ]


def other_options(calls: Iterable[ToolCall], question: str, chosen: str) -> list[str]:
    """Return at most three options of a form that an answer turns down, by their labels."""
    for call in calls:
        if '"questions"' not in call.input[:200]:
            continue
        try:
            form = msgspec.json.decode(call.input, type=_Form)
        except msgspec.DecodeError:
            continue
        for asked in form.questions:
            labels = [_RECOMMENDED.sub("", one.label) for one in asked.options]
            if shorten(asked.question, _MAX_QUESTION) == question and chosen in labels:
                return [label for label in labels if label not in ("", chosen)][:3]
    return []


class _Option(msgspec.Struct):
    label: str = ""


class _Question(msgspec.Struct):
    question: str = ""
    options: list[_Option] = []


class _Form(msgspec.Struct):
    """The input of a tool that asks the user."""

    questions: list[_Question] = []


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
    said = cues.QUESTION_TAIL.sub("", cues.USER_REQUESTED.sub(r"\1", without_lead(clause)))
    return _THEN.sub("", said)


def user_kinds(clause: str, evidence: TurnEvidence) -> list[StatementKind]:
    """Return what a clause that the user typed states: it may reject one thing for another."""
    clause = cues.QUESTION_TAIL.sub("", cues.TAG_QUESTION.sub("", clause))
    asks = bool(cues.QUESTION.search(clause))
    if any_of((cues.HEARSAY, cues.NOT_NOW, cues.OPEN_QUESTION), clause):
        return []
    if cues.PREFERRED.search(clause) and not asks:
        return [StatementKind.PREFERENCE]
    if any_of((cues.DECIDED, cues.DECIDING), clause) and not asks:
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
    decides = bool(rule) or any_of((cues.USER_VERDICT, cues.WOULD_RATHER), clause)
    # "Use Redis, not Memcached" decides; "not as a column, but as a table" does both.
    before = clause[rule.start() : refusal.start() + 1].rstrip() if refusal and rule else ""
    if refusal and not before.endswith((",", ";", ".", "\uff0c")):
        yield StatementKind.REJECTION
        decides = decides and bool(cues.CONTRAST_OF_USER.search(clause))
    if decides:
        yield StatementKind.DECISION


def plan_decides(sentence: str) -> bool:
    words = cues.CODE.sub("`x`", sentence)
    vetoes = (cues.QUESTION, cues.ASIDE, cues.UNDECIDED, cues.WAVERS)
    return bool(_PLANNED.search(words)) and not any_of(vetoes, words)


def agent_decides(sentence: str) -> bool:
    # Without marks at its start.
    words = cues.CODE.sub("`x`", cues.LEAD.sub("", cues.LEAD.sub("", sentence)))
    if any_of((cues.QUESTION, cues.AGREES), words):
        return False
    if sentence.endswith(_COLONS) or any_of((cues.HEARSAY, cues.WAVERS), sentence):
        return False
    is_act = any_of(_ACTS, words)
    # A reason may name tests: "because the tests would become flaky".
    stated = _REASON.split(sentence, maxsplit=1)[0] if is_act else sentence
    if is_act or cues.ASIDE.search(stated):
        return is_act and not cues.ASIDE.search(stated)
    if cues.UNDECIDED.search(words):
        return False
    is_promise = cues.AGENT_PROMISE.search(words) is not None
    if is_promise or cues.STEP.search(words):
        return is_promise
    return _is_rule(words)


def _is_rule(words: str) -> bool:
    if any_of((cues.AGENT_CHANGE, cues.AGENT_ACCEPTED, cues.AGENT_REASONED), words):
        return True
    is_rule = any_of((cues.AGENT_RULE, cues.CONTRAST), words)
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
    sentence, stated = without_topic(sentence), without_topic(other.sentence)
    new, old = (cues.ASIDE_START.split(text, maxsplit=1)[0] for text in (sentence, said))
    if bool(cues.NEGATES.search(new)) != bool(cues.NEGATES.search(old)):
        return False
    if cues.NUMBER.findall(new) != cues.NUMBER.findall(old):
        return False
    return repeats(sentence, stated, share) or repeats(sentence, said, share)


_RESTATED = 0.4
"""The share for an agent that repeats the user in other words."""


def distinct(statements: Iterable[Statement]) -> list[Statement]:
    """Return each statement once: of those that repeat one another, the one that says more."""
    kept: list[Statement] = []
    for one in statements:
        same = next((other for other in kept if _is_same(other, one)), None)
        if same is None:
            kept.append(one)
        elif without_topic(same.sentence) in one.sentence:
            kept[kept.index(same)] = one
    return kept


def _is_same(one: Statement, other: Statement) -> bool:
    first, second = without_topic(one.sentence), without_topic(other.sentence)
    return one.kind is other.kind and (
        repeats(first, second) or repeats(one.said or first, other.said or second)
    )


def clauses_of(text: str) -> list[str]:
    clauses = (one for sentence in sentences(text) for one in cues.CLAUSE_END.split(sentence))
    pieces = (cues.TURN.split(one) if len(one) > MAX_LENGTH else [one] for one in clauses)
    return [piece for some in pieces for piece in some if _WORD.search(piece)]


def understood(clause: str, before: str, context: str) -> str:
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
    is_clear = bool(bare) and understood(bare, "", "") == bare and not cues.QUESTION.search(bare)
    if is_clear and not bare.endswith(_COLONS) and len(content_words(bare)) + words > _FEW_WORDS:
        return joined(bare, clause) if len(bare) + len(clause) < MAX_LENGTH else ""
    is_topic = bool(context) and has_subject(context) and understood(context, "", "") == context
    if is_topic and not cues.POINTS_AT_MANY.search(clause):
        return f"{clause.rstrip('.')}{ABOUT}“{context}”)"
    return ""


def joined(before: str, clause: str) -> str:
    separator = "" if before.endswith((".", "!", "?", ";", ",")) else ";"
    return f"{before.rstrip(':')}{separator} {clause}" if before else clause


_COLONS = (":", "\uff1a")
_FEW_WORDS = 2


def _is_about(sentence: str, names: Sequence[str]) -> bool:
    is_named = "`" in sentence or any(name in sentence for name in names)
    return is_named or bool(cues.LABEL.match(sentence))


def any_of(patterns: Iterable[cues.Cue | re.Pattern[str]], sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in patterns)
