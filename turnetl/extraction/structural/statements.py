"""Facts from what is said in a turn: decisions, rejections, preferences and reported problems.

Each statement is an entity of its own, named by a sentence that is understood alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from turnetl.base.model import Attribute, Episode
from turnetl.base.relations import DECIDED, PREFERS, REJECTED, REPORTED
from turnetl.episode_text import options, prose
from turnetl.episode_text.options import Offer, Reply
from turnetl.extraction.structural import decisions, failures, lexicon
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
from turnetl.extraction.structural.supersession import CHOSEN, SESSION, Choice, choice
from turnetl.extraction.structural.tool_calls import WRITE_KINDS, CallKind, ClassifiedCall
from turnetl.extraction.structural.turn_features import USER, TurnFeatures

_ACTING = TurnEvidence(in_project=True, edited_files=True)
_REPEATED, _REPEATED_BY_AGENT = 0.9, 0.6
"""The share of words that a statement of the turn before has, too, or one of any earlier turn."""
_RANK = 2
"""Of all statements: edits and failures rank below (see `edits`, `runs`)."""
_VERBS = {
    StatementKind.DECISION: (DECIDED, "decided"),
    StatementKind.REJECTION: (REJECTED, "objected"),
    StatementKind.PREFERENCE: (PREFERS, "prefers"),
    StatementKind.REPORT: (REPORTED, "reported"),
}
_INLINE_ERROR = re.compile(r"\b(?:(?:Error|ERROR|error|fatal|panic): ){1,3}([^\n`]{8,160})")
_ASKS = re.compile(
    r"(?:^|[,:;] ?)(?:does|is|are|why|what|how|should|could|would) (?:this|that|it|we|the|you|i)\b",
    re.IGNORECASE,
)
_SUGGESTS = re.compile(
    r"\b(?:can we|could|couldn't|instead|alternatively|do we need|should (?:be|use|we)|overkill"
    r"|too? much|rather)\b",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\bI (?:was|am|'m) (?:more )?(?:wondering|thinking) (?:if|of|about)\b", re.IGNORECASE
)
_REFUSAL = re.compile(
    r"^\W*(?:no|nope|don't|do not|stop|wait|pause)\b[^.:?!,]{0,30}[.:,]? ?", re.IGNORECASE
)
_NO_TOPIC = lexicon.KEYPHRASE_STOP_WORDS | lexicon.DECISION_WORDS
_NOT_NOUN = ("ed", "ing", "ly")
"""Endings of single words that are rarely nouns."""
_BREAK = re.compile(r"[^\w\s-]+")
_REMEMBERED = 64
"""Earlier turns: of several sessions at once."""
_MIN_LAST, _MIN_WORD, _MAX_WORDS, _MAX_TEXT = 3, 4, 3, 20_000
_MAX_STEERING, _MAX_PHRASE, _MAX_PASTED, _FEW_WORDS = 8, 60, 2, 2


def statement_facts(features: TurnFeatures, context: Sequence[Episode]) -> Iterator[FactDraft]:
    """Yield the facts that speakers state in a turn.

    `context` holds the turns of the session before it: a short reply answers the last one.
    """
    turn = features.turn
    evidence = TurnEvidence(bool(turn.cwd), bool(features.edited_files))
    acted = any(call.kind is CallKind.MCP for call in features.calls)
    of_turn = replace(evidence, edited_files=evidence.edited_files or acted)
    offered = options.offer(context[-1].turn.assistant_text) if context else Offer()
    plan = decisions.given_plan(turn.user_text)
    approved = (decisions.approved_plan(one.call) for one in features.calls if not one.rejected)
    of_user: list[Statement] = []
    for accepted in filter(None, (plan, *approved)):
        title, stated = decisions.plan_title(accepted), decisions.of_plan(accepted)
        of_user += [Statement(StatementKind.DECISION, title), *stated]
        yield from _plan_facts(features, title, stated)
    of_plans = len(of_user)
    if not plan:
        items = options.item_replies(turn.user_text.split("\n"), offered)
        yield from _item_facts(features, items)
        replied = Reply() if items else options.reply(turn.user_text, offered)
        yield from _reply_facts(features, offered, replied)
        text = turn.user_text if replied is None else replied.rest
        of_user += decisions.of_user([text], of_turn, offered.basis)
    for answer in turn.user_answers:
        yield from _answer_facts(features, answer, replace(evidence, edited_files=True))
    steering = [text for text in turn.steering if not text.lstrip().startswith("<")]
    of_user += decisions.of_user(steering[:_MAX_STEERING], of_turn, features.prompt_summary)
    said = [_said_by_user(one.turn.user_text) for one in context]
    last = said[-1] if said else ()
    new = (one for one in of_user[of_plans:] if not _is_repeated(one, last, _REPEATED))
    yield from _stated(features, "The user", new)
    names = [key.name for key in features.named]
    names += [file.rpartition("/")[2] for file in features.edited_files]
    of_agent = decisions.of_agent(
        turn.assistant_text, evidence, names, [*of_user, *chain.from_iterable(said)]
    )
    answers = (one.turn.assistant_text for one in context)
    stated = [one for text in answers for one in _said_by_agent(text)]
    new = (one for one in of_agent if not _is_repeated(one, stated, _REPEATED_BY_AGENT))
    yield from _stated(features, "The agent", new)
    reports = decisions.reported(turn.user_text, "" if plan else offered.basis)
    # In a chat, texts about the world also say what is wrong with it.
    yield from _reported(features, reports if evidence.in_project else [])


# Remembered: a turn is the context of several others.
@lru_cache(_REMEMBERED)
def _said_by_user(prompt: str) -> tuple[Statement, ...]:
    return tuple(decisions.of_user([prompt], _ACTING))


@lru_cache(_REMEMBERED)
def _said_by_agent(response: str) -> tuple[Statement, ...]:
    return tuple(decisions.of_agent(response, _ACTING, ()))


def _is_repeated(statement: Statement, said: Iterable[Statement], share: float) -> bool:
    """Return whether earlier turns state the same, with the same choice."""
    text = statement.said or statement.sentence
    return any(
        decisions.restates(text, one, share) and choice(text) == choice(one.said or one.sentence)
        for one in said
    )


def _plan_facts(
    features: TurnFeatures, title: str, statements: Iterable[Statement]
) -> Iterator[FactDraft]:
    text = f"The user accepted the plan: {title}"
    yield from _fact(features, StatementKind.DECISION, f"Plan: {title}", text)
    for statement in statements:
        text = f"The user accepted in the plan “{title}”: {statement.sentence}"
        yield from _fact(features, statement.kind, statement.sentence, text)


def _item_facts(features: TurnFeatures, replies: Iterable[tuple[str, str]]) -> Iterator[FactDraft]:
    """Yield what the user says to each item of a list of the agent."""
    for option, reply in replies:
        said = prose.shorten(prose.plain(reply), 200)
        if any(map(str.isalnum, said)):
            text = f"On \u201c{option}\u201d the user answered: {said}"
            yield from _fact(features, StatementKind.DECISION, f"{option}: {said}", text)


def _reply_facts(
    features: TurnFeatures, offered: Offer, replied: Reply | None
) -> Iterator[FactDraft]:
    if replied is None:
        return
    asked = f"Asked “{offered.question}”, the user" if offered.question else "The user"
    why = (
        f": {prose.shorten(prose.plain(replied.rest), 160)}" if replied.rest.strip(" .!,)") else ""
    )
    for text in replied.chosen:
        over = (
            f" over {' and '.join(f'“{one}”' for one in replied.rejected)}"
            if replied.rejected
            else ""
        )
        stated = f"{asked} chose “{text}”{over}{why}"
        if text == offered.proposal:
            stated = f"The user agreed to what the agent proposed: {text}{why}"
        yield from _fact(features, StatementKind.DECISION, text, stated)
    for text in replied.rejected[:2]:
        favoured = f" in favour of “{replied.chosen[0]}”" if replied.chosen else ""
        stated = f"{asked} rejected “{text}”{favoured}{why}"
        yield from _fact(features, StatementKind.REJECTION, f"Not: {text}", stated, about=text)


def _answer_facts(
    features: TurnFeatures, answer: str, evidence: TurnEvidence
) -> Iterator[FactDraft]:
    """Yield the answers to a form of questions, or what a comment on a stopped call decides."""
    pairs = decisions.answers(answer)
    for question, chosen in pairs:
        text = f"Asked “{question}” the user answered: {chosen}"
        yield from _fact(features, StatementKind.DECISION, f"{question} {chosen}", text)
    if pairs:
        return
    call = _stopped_call(features, answer)
    comment = prose.shorten(decisions.typed(answer), 300)
    topic = _call_topic(features, call)
    asks = "?" in comment or _ASKS.search(comment)
    rejects = (
        topic and len(comment.split()) > _FEW_WORDS and (not asks or _SUGGESTS.search(comment))
    )
    if rejects:
        text = f"The user rejected {topic}: {comment}"
        yield from _fact(features, StatementKind.REJECTION, f"Not {topic}: {comment}", text)
    wanted = _WANTS.search(comment)
    if wanted and topic:
        text = f"The user decided instead of {topic}: {comment[wanted.start() :]}"
        yield from _fact(features, StatementKind.DECISION, comment[wanted.start() :], text)
    stated = decisions.of_user([_REFUSAL.sub("", answer, count=1)], evidence, topic)
    is_new = (one for one in stated if not rejects or one.kind is not StatementKind.REJECTION)
    yield from _stated(features, "The user", is_new)


def _stopped_call(features: TurnFeatures, answer: str) -> ClassifiedCall | None:
    """Return the call that the user stopped with these words."""
    words = answer.strip()[:200]
    calls = (call for call in features.calls if call.rejected and words in call.call.result)
    return next(calls, None)


def _call_topic(features: TurnFeatures, call: ClassifiedCall | None) -> str:
    """Return what a stopped edit would have done, or an empty string for other calls."""
    if call is None or call.kind not in WRITE_KINDS or not call.targets:
        return ""
    added = call.detail.partition("+ ")[2] or call.detail
    code = prose.shorten(added.replace("`", "'"), 100)
    name = features.paths.file(call.targets[0]) or call.targets[0]
    return f"the edit of `{name.rpartition('/')[2]}`" + (f" (`{code}`)" if code else "")


def _reported(features: TurnFeatures, reports: Sequence[Statement]) -> Iterator[FactDraft]:
    """Yield a fact for each problem that the user reports: pasted messages name the first ones."""
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    found = failures.failures_in_prompt(prompt)
    if reports and not found:
        lines = "\n".join(line.strip() for line in prompt.split("\n"))
        found = failures.check_failures(lines, is_error=True)
    pasted = [failure.name for failure in found[:_MAX_PASTED]]
    for index in range(max(len(pasted), len(reports))):
        sentence = reports[index].sentence if index < len(reports) else ""
        message = _INLINE_ERROR.search(sentence)
        name = decisions.name(sentence)
        if message is not None:
            name = failures.stable_name(message.group(1))
        if index < len(pasted):
            name = pasted[index]
            sentence = f"`{name}`" + (f": {sentence}" if sentence else "")
        text, at = f"The user reported: {sentence}", features.turn.started_at
        yield FactDraft(_RANK, USER, REPORTED, EntityKey(ERROR, name), text, at)


def _stated(
    features: TurnFeatures, speaker: str, statements: Iterable[Statement]
) -> Iterator[FactDraft]:
    for one in statements:
        sentence = one.sentence
        text = f"{speaker} {_VERBS[one.kind][1]}: {sentence}"
        yield from _fact(features, one.kind, sentence, text, said=one.said)


def _fact(
    features: TurnFeatures,
    kind: StatementKind,
    sentence: str,
    text: str,
    *,
    about: str = "",
    said: str = "",
) -> Iterator[FactDraft]:
    """Yield the fact of a statement, if it names what it is about."""
    relation, at = _VERBS[kind][0], features.turn.started_at
    name = decisions.name(sentence)
    named = choice(said or sentence)
    if kind is StatementKind.PREFERENCE:
        attributes = {CHOSEN: named.chosen} if named.chosen else {}
        target = EntityKey(PREFERENCE, name)
        yield FactDraft(_RANK, USER, relation, target, text, at, attributes=attributes)
        return
    entity = EntityKey(DECISION, name)
    chosen = named if kind is StatementKind.DECISION else Choice()
    yield from _decision(features, (entity, _VERBS[kind][0]), chosen, text, about or sentence)


def _decision(
    features: TurnFeatures,
    stated: tuple[EntityKey, str],
    named: Choice,
    text: str,
    sentence: str,
) -> Iterator[FactDraft]:
    (entity, relation), at = stated, features.turn.started_at
    target = features.entity_named(named.chosen, sentence) if named.chosen else None
    target = target or _about(features, sentence)
    if target is None:
        return
    attributes: dict[str, Attribute] = {SESSION: features.turn.session_id}
    attributes |= {CHOSEN: target.name} if named.chosen else {}
    yield FactDraft(_RANK, entity, relation, target, text, at, attributes=attributes)
    if named.rejected:
        against = f"`{named.rejected}` was rejected in favour of `{named.chosen}`: {sentence}"
        rejected = features.entity_named(named.rejected, sentence)
        if rejected is not None:
            yield FactDraft(_RANK, entity, REJECTED, rejected, against, at, attributes=attributes)


def _about(features: TurnFeatures, sentence: str) -> EntityKey | None:
    """Return the named thing that a sentence is about, else what the turn edits most.

    Without an edit it is the topic; one of a single word says less than what the turn names.
    """
    for file in (*features.edited_files, *features.other_files):
        if _is_in(file.rpartition("/")[2], sentence):
            return EntityKey(FILE, file)
    edited = (EntityKey(FILE, file) for file in features.edited_files)
    about = next(iter((*features.entities_in(sentence), *edited)), None)
    if about is not None:
        return about
    text = f"{features.turn.user_text} {features.turn.assistant_text}"[:_MAX_TEXT]
    return _topic(sentence, text.replace(sentence, " ", 1).casefold(), features.named)


def _topic(sentence: str, text: str, named: Sequence[EntityKey]) -> EntityKey | None:
    """Return the longest phrase of content words that the text repeats, else what it names.

    Without both it is a phrase of the sentence, or a word that is not generic.
    """
    found = [
        phrase
        for run in _BREAK.split(sentence.casefold())
        for phrase in _phrases(run.split())
        if not phrase.endswith(_NOT_NOUN) and not phrase.partition(" ")[0].endswith(_NOT_NOUN[:1])
        if " " in phrase or (len(phrase) >= _MIN_WORD and phrase not in lexicon.GENERIC_TOPICS)
    ]
    # `disable-cache-warning` is a name, though no sign says of what kind.
    found.sort(key=lambda phrase: (phrase.count("-") > 1, phrase.count(" ")), reverse=True)
    repeated = (one for one in found if f" {one}" in text and (" " in one or "-" in one))
    topic = next(repeated, "")
    if not topic and named:
        return named[0]
    topic = topic or next(iter(found), "")
    return EntityKey(CONCEPT, topic) if topic else None


def _phrases(words: list[str]) -> Iterator[str]:
    for start in range(len(words)):
        for size in range(1, _MAX_WORDS + 1):
            last = words[start + size - 1 : start + size]
            if not last or len(last[0]) < _MIN_LAST or last[0] in _NO_TOPIC:
                break
            yield " ".join(words[start : start + size])


def _is_in(name: str, sentence: str) -> bool:
    pattern = rf"(?<![\w-]){re.escape(name[:_MAX_PHRASE])}(?![\w-])"
    return bool(name) and re.search(pattern, sentence, re.IGNORECASE) is not None
