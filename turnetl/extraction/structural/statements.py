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
from turnetl.extraction.structural import decision_cues as cues
from turnetl.extraction.structural import decisions, lexicon, problems
from turnetl.extraction.structural.decisions import Statement, StatementKind, TurnEvidence
from turnetl.extraction.structural.edits import TEST_FILE
from turnetl.extraction.structural.findings import (
    CONCEPT,
    DECISION,
    FILE,
    PREFERENCE,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.reports import reported_facts
from turnetl.extraction.structural.supersession import (
    CHOSEN,
    INSTEAD,
    SESSION,
    Choice,
    choice,
    excludes,
)
from turnetl.extraction.structural.tool_calls import WRITE_KINDS, CallKind, ClassifiedCall
from turnetl.extraction.structural.turn_features import TurnFeatures

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
_ASKS = re.compile(
    r"(?:^|[,:;] ?)(?:does|is|are|why|what|how|should|could|would) (?:this|that|it|we|the|you|i)\b",
    re.IGNORECASE,
)
_SUGGESTS = re.compile(
    r"\b(?:can we|could|couldn't|instead|alternatively|do we need|should (?:be|use|we)|overkill"
    r"|too? much|rather)\b",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"^\W*(?:no|nope|don't|do not|stop|wait|pause)\b[^.:?!,]{0,30}[.:,]? ?", re.IGNORECASE
)
_BREAK = re.compile(r"[^\w\s./+#'-]+|[.'-]+(?=\s|$)|(?<=\s)['-]+")
_QUOTED = re.compile(r"`([^`\s]{2,60})`")
_LETTER = re.compile(r"^[^\W\d_].*[^\W\d_]")
_LABELLED = re.compile(r"([A-Z][\w-]{2,20}(?: [\w-]{2,20}){1,2}): (?=\S)")
_NOT_NOUN = ("ed", "ly")
"""Endings of words that are rarely nouns."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z][\w.+#/-]+")
_UNSPACED_NOUN = re.compile(
    r"[\u30a0-\u30ff]{2,12}|(?:(?!我们|应该|必须|不要|默认|以后|改用|使用)[\u4e00-\u9fff]"
    r"(?<![的在把用将里都和或是这那我你请不]))"
    r"{2,8}"
)
_CODE_COMMENT = re.compile(r"(?://|# |/\*|<!--|-- )")
_CODE_END = re.compile(r"\s+(?=//|# |/\*)|(?<=[;{}])\s+|\n")
_MAX_CODE = 100
_REMEMBERED = 64
"""Earlier turns: of several sessions at once."""
_MAX_STEERING, _MAX_PHRASE, _FEW_WORDS = 8, 60, 2
_MIN_WORD, _MAX_WORDS, _MAX_EDITED = 3, 3, 3


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
        stated = decisions.of_plan(accepted)
        of_user += stated
        yield from _plan_facts(features, decisions.plan_title(accepted), stated)
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
    if context and cues.TAKES_BACK.match(turn.user_text):
        yield from _taken_back(features, context[-1])
    names = [key.name for key in features.named]
    names += [file.rpartition("/")[2] for file in features.edited_files]
    of_agent = decisions.of_agent(
        turn.assistant_text, evidence, names, [*of_user, *chain.from_iterable(said)]
    )
    answers = (one.turn.assistant_text for one in context)
    stated = [one for text in answers for one in _said_by_agent(text)]
    new = (one for one in of_agent if not _is_repeated(one, stated, _REPEATED_BY_AGENT))
    yield from _stated(features, "The agent", new)
    reports = problems.reported(turn.user_text, "" if plan else offered.basis)
    # The first sentence of a plan says what is wrong, the others why.
    reports = reports[:1] if plan else reports
    # In a chat, texts about the world also say what is wrong with it.
    yield from reported_facts(features, reports if evidence.in_project else [])


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
    return not cues.CORRECTS.search(text) and any(
        decisions.restates(text, one, share) and not _differs(text, one.said or one.sentence, share)
        for one in said
    )


def _differs(text: str, said: str, share: float) -> bool:
    """Return whether a statement in nearly the same words chooses or names something else."""
    names = {*_QUOTED.findall(text)} - {*_QUOTED.findall(said)}
    more = decisions.content_words(text) - decisions.content_words(said)
    # An agent says the same in more words.
    adds = share == _REPEATED and len(more) >= _FEW_WORDS
    return adds or bool(names) or choice(text) != choice(said) or excludes(text, said)


def _taken_back(features: TurnFeatures, before: Episode) -> Iterator[FactDraft]:
    """Yield the rejection of what the turn before decided: the user asks to undo it."""
    said = (*_said_by_user(before.turn.user_text), *_said_by_agent(before.turn.assistant_text))
    for one in said:
        if one.kind is StatementKind.DECISION:
            text = f"The user took back: {one.sentence}"
            name, about = f"Not: {one.sentence}", one.sentence
            yield from _fact(features, StatementKind.REJECTION, name, text, about=about)


def _plan_facts(
    features: TurnFeatures, title: str, statements: Iterable[Statement]
) -> Iterator[FactDraft]:
    for statement in statements:
        text = f"The user accepted in the plan “{title}”: {statement.sentence}"
        yield from _fact(features, statement.kind, statement.sentence, text)


def _item_facts(features: TurnFeatures, replies: Iterable[tuple[str, str]]) -> Iterator[FactDraft]:
    """Yield what the user says to each item of a list of the agent."""
    for option, reply in replies:
        said = prose.shorten(prose.plain(reply), 200)
        if not any(map(str.isalnum, said)) or decisions.asks_back(said):
            continue
        text = f"On \u201c{option}\u201d the user answered: {said}"
        kind = StatementKind.REJECTION if options.refuses(said) else StatementKind.DECISION
        yield from _fact(features, kind, f"{option}: {said}", text)


def _reply_facts(
    features: TurnFeatures, offered: Offer, replied: Reply | None
) -> Iterator[FactDraft]:
    if replied is None:
        return
    asked = f"Asked “{offered.question}”, the user" if offered.question else "The user"
    why = (
        f": {prose.shorten(prose.plain(rest), 160)}"
        if (rest := replied.rest.strip(" .!,;:)"))
        else ""
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
        if decisions.asks_back(chosen) or cues.NEXT_STEP.search(question):
            continue
        text = f"Asked “{question}” the user answered: {chosen}"
        if others := decisions.other_options(
            (one.call for one in features.calls), question, chosen
        ):
            over = " and ".join(f"“{one}”" for one in others)
            text = f"Asked “{question}”, the user chose “{chosen}” over {over}"
        yield from _fact(features, StatementKind.DECISION, f"{question} {chosen}", text)
    if pairs:
        return
    call = _stopped_call(features, answer)
    comment = prose.shorten(decisions.typed(answer), 300)
    topic = _stopped_edit(features, call, comment)
    asks = "?" in comment or _ASKS.search(comment)
    rejects = (
        topic and len(comment.split()) > _FEW_WORDS and (not asks or _SUGGESTS.search(comment))
    )
    if rejects:
        text = f"The user rejected {topic}: {comment}"
        yield from _fact(features, StatementKind.REJECTION, f"Not {topic}: {comment}", text)
    stated = decisions.of_user([_REFUSAL.sub("", answer, count=1)], evidence, topic)
    is_new = (one for one in stated if not rejects or one.kind is not StatementKind.REJECTION)
    yield from _stated(features, "The user", is_new)


def _stopped_call(features: TurnFeatures, answer: str) -> ClassifiedCall | None:
    """Return the call that the user stopped with these words."""
    words = answer.strip()[:200]
    calls = (call for call in features.calls if call.rejected and words in call.call.result)
    return next(calls, None)


def _stopped_edit(features: TurnFeatures, call: ClassifiedCall | None, comment: str) -> str:
    """Return what a stopped edit would have changed; empty for other calls.

    Of its code it has the statement that shares most words with the comment.
    """
    if call is None or call.kind not in WRITE_KINDS or not call.targets:
        return ""
    added = call.detail.partition("+ ")[2] or call.detail
    words = decisions.content_words(comment)
    pieces = [one for one in _CODE_END.split(added) if not _CODE_COMMENT.match(one)]
    best = max(pieces, key=lambda one: len(words & decisions.content_words(one)), default="")
    shown = prose.shorten(best.replace("`", "'"), _MAX_CODE)
    name = features.paths.file(call.targets[0]) or call.targets[0]
    return f"the edit of `{name.rpartition('/')[2]}`" + (f" (`{shown}`)" if shown else "")


def _stated(
    features: TurnFeatures, speaker: str, statements: Iterable[Statement]
) -> Iterator[FactDraft]:
    for one in statements:
        sentence = one.sentence
        is_correction = one.kind is StatementKind.DECISION and cues.CORRECTS.search(one.said)
        verb = INSTEAD if is_correction and speaker == "The user" else _VERBS[one.kind][1]
        if one.kind is StatementKind.REJECTION and speaker != "The user":
            verb = "rejected"
        text = f"{speaker} {verb}: {sentence}"
        yield from _fact(features, one.kind, sentence, text, said=one.said, is_resolved=False)


def _fact(
    features: TurnFeatures,
    kind: StatementKind,
    sentence: str,
    text: str,
    *,
    about: str = "",
    said: str = "",
    is_resolved: bool = True,
) -> Iterator[FactDraft]:
    """Yield the fact of a statement, if it names what it is about."""
    attributes: dict[str, Attribute]
    relation, at = _VERBS[kind][0], features.turn.started_at
    name = decisions.name(sentence)
    named = choice(said or sentence)
    if kind is StatementKind.PREFERENCE:
        attributes = {CHOSEN: named.chosen} if named.chosen else {}
        preference = EntityKey(PREFERENCE, name)
        yield FactDraft(_RANK, features.user, relation, preference, text, at, attributes=attributes)
        return
    chosen = named if kind is StatementKind.DECISION else Choice()
    about = about or sentence
    target = features.entity_named(chosen.chosen, about) if chosen.chosen else None
    target = target or _about(features, about, is_resolved=is_resolved)
    if target is None:
        return
    attributes = {SESSION: features.turn.session_id}
    attributes |= {CHOSEN: target.name} if chosen.chosen else {}
    source = EntityKey(DECISION, name)
    yield FactDraft(_RANK, source, relation, target, text, at, attributes=attributes)
    if chosen.rejected and (other := features.entity_named(chosen.rejected, about)) is not None:
        against = f"`{chosen.rejected}` was rejected in favour of `{chosen.chosen}`: {sentence}"
        yield FactDraft(_RANK, source, REJECTED, other, against, at, attributes=attributes)


def _about(features: TurnFeatures, sentence: str, *, is_resolved: bool) -> EntityKey | None:
    """Return the first thing that a sentence names, else the phrase that it is about."""
    for file in (*features.edited_files, *features.other_files):
        if _is_in(file.rpartition("/")[2], sentence):
            return EntityKey(FILE, file)
    if named := next(iter(features.entities_in(sentence)), None):
        return named
    said = decisions.without_topic(sentence)
    if topic := _topic(sentence if cues.POINTS.search(said) else said, is_resolved=is_resolved):
        return EntityKey(CONCEPT, topic)
    # What it changes is what it is about, if that is clear.
    edited = [file for file in features.edited_files if not TEST_FILE.search(file)]
    return EntityKey(FILE, edited[0]) if 0 < len(edited) <= _MAX_EDITED else None


def _topic(sentence: str, *, is_resolved: bool = False) -> str:
    """Return the noun phrase of at most three words that a sentence seems to be about, or nothing.

    It is a name in backticks, the label of a line, or what stands before `should`, after an
    article, or after `use`; other words are a topic only if there are two, or if the sentence is
    what a reply was resolved to.
    """
    if _UNSPACED.search(sentence):
        found = _LATIN.findall(sentence) or _UNSPACED_NOUN.findall(sentence)
        return str(next(iter(found), "")).casefold()
    quoted = _QUOTED.search(sentence)
    if quoted is not None and quoted[1].casefold() not in lexicon.LITERALS:
        return quoted[1].removesuffix("()")
    label = _LABELLED.match(sentence)
    if label is not None and not lexicon.NO_TOPIC.intersection(label[1].casefold().split()):
        return label[1].casefold()
    best, topic = -is_resolved, ""
    for part in _BREAK.split(sentence.casefold()):
        words = part.split()
        for start, end in _noun_runs(words):
            phrase = words[start : end if end - start <= _MAX_WORDS else start + 2]
            while len(phrase) > 1 and phrase[-1].endswith(_NOT_NOUN):
                phrase.pop()
            # An adjective may stand between: "use whole cents".
            before = {*words[max(0, start - 2) : start]}
            score = 6 if before & lexicon.CHOOSES else 2 * bool(before & lexicon.TOPIC_LEADS)
            score = max(score, 3 * bool(before & lexicon.ARTICLES))
            score += 2 * (end < len(words) and words[end] in lexicon.MODALS) + (len(phrase) > 1)
            is_generic = len(phrase) == 1 and phrase[0] in lexicon.GENERIC_TOPICS
            if score > best and not is_generic and not phrase[-1].endswith(_NOT_NOUN):
                best, topic = score, " ".join(phrase)
    return topic


def _noun_runs(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where runs of words begin and end that may be nouns."""
    start = 0
    for place, word in enumerate((*words, "")):
        # "The retry limit should": a verb elsewhere.
        is_noun = words[place + 1 : place + 2] and words[place + 1] in lexicon.MODALS
        is_word = len(word) >= _MIN_WORD and _LETTER.search(word) is not None
        if not is_word or (word in lexicon.NO_TOPIC and not (is_noun and place > start)):
            if place > start:
                yield start, place
            start = place + 1


def _is_in(name: str, sentence: str) -> bool:
    pattern = rf"(?<![\w-]){re.escape(name[:_MAX_PHRASE])}(?![\w-])"
    return bool(name) and re.search(pattern, sentence, re.IGNORECASE) is not None
