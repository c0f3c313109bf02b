"""Facts from what is said in a turn: decisions, rejections, preferences and reported problems.

Each statement is an entity of its own, named by a sentence that is understood alone.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise

from turnetl.base.model import Attribute, Episode, Turn
from turnetl.base.relations import DECIDED, PREFERS, REJECTED, REPORTED
from turnetl.episode_text import options, prose
from turnetl.episode_text.options import Offer, Reply
from turnetl.extraction.structural import decision_cues as cues
from turnetl.extraction.structural import decisions, entity_names, lexicon, problems
from turnetl.extraction.structural.decisions import Statement, StatementKind, TurnEvidence
from turnetl.extraction.structural.edit_sentences import is_definition
from turnetl.extraction.structural.edits import TEST_FILE, definition_label
from turnetl.extraction.structural.findings import (
    CONCEPT,
    DECISION,
    FILE,
    NUMBERED,
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
_REPEATED, _REPEATED_BY_AGENT = 0.9, 0.55
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
_CODE_NAME = re.compile(r"`(?:([^`\s]{2,60})|(\w+(?:\.\w+)+)[ (=][^`]{1,80})`")
_LETTER = re.compile(r"^[^\W\d_].*[^\W\d_]")
_LABELLED = re.compile(r"([A-Z][\w-]{2,20}(?: [\w-]{2,20}){1,2}): (?=\S)")
_NOT_NOUN = ("ed", "ly")
"""Endings of words that are rarely nouns."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z][\w.+#/-]+")
_UNSPACED_NOUN = re.compile(
    r"[\u30a0-\u30ff]{2,12}|(?:(?!我们|应该|必须|不要|默认|以后|改用"
    r"|使用)[\u4e00-\u9fff](?<![的在把用将里都和或是这那我你请不])){2,8}"
)
_CODE_COMMENT = re.compile(r"(?://|# |/\*|<!--|-- )")
_CODE_END = re.compile(r"\s+(?=//|# |/\*)|(?<=[;{}])\s+|\n")
_MAX_CODE = 100
_REMEMBERED = 64
"""Earlier turns: of several sessions at once."""
_MAX_STEERING, _MAX_PHRASE, _FEW_WORDS = 8, 60, 2
_MIN_WORD, _MAX_WORDS, _MAX_EDITED, _MAX_EDIT = 3, 3, 3, 8000


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
        yield from _fact(features, statement.kind, statement.sentence, text, title=title)


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
        yield from _fact(features, one.kind, sentence, text, said=one.said)


def _fact(
    features: TurnFeatures,
    kind: StatementKind,
    sentence: str,
    text: str,
    *,
    about: str = "",
    said: str = "",
    title: str = "",
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
    target = target or next(_topics(features, about, title), None)
    if target is None:
        return
    attributes = {SESSION: features.turn.session_id}
    attributes |= {CHOSEN: target.name} if chosen.chosen else {}
    source = EntityKey(DECISION, name)
    yield FactDraft(_RANK, source, relation, target, text, at, attributes=attributes)
    if chosen.rejected and (other := features.entity_named(chosen.rejected, about)) is not None:
        against = f"`{chosen.rejected}` was rejected in favour of `{chosen.chosen}`: {sentence}"
        yield FactDraft(_RANK, source, REJECTED, other, against, at, attributes=attributes)


def _topics(features: TurnFeatures, sentence: str, title: str) -> Iterator[EntityKey]:
    """Yield what a statement may be about, the surest first.

    That is what it names, the file of which the edits have its words, a phrase that earlier turns
    have, too, one of a few edited files, what the prompt or turns before it are about, the plan of
    that title, and the first noun.
    """
    for file in (*features.edited_files, *features.other_files):
        if _is_in(file.rpartition("/")[2], sentence):
            yield EntityKey(FILE, file)
    yield from features.entities_in(sentence)
    yield from _named(features, sentence)
    yield from _edited_for(features, sentence, features.calls)
    phrases = list(_phrases(decisions.without_topic(sentence).casefold()))
    yield from _recurring(features, phrases)
    changed = [file for file in features.edited_files if not TEST_FILE.search(file)]
    if 0 < len(changed) <= _MAX_EDITED:
        yield EntityKey(FILE, changed[0])
    for turn, calls in [(features.turn, features.calls), *reversed(features.earlier)]:
        for text in (sentence, features.prompt_summary):
            yield from _edited_for(features, text, calls)
            yield from _named_by(features, turn)
    yield from (EntityKey(CONCEPT, one) for one in (title, *phrases[:1]) if one)


def _named_by(features: TurnFeatures, turn: Turn) -> Iterator[EntityKey]:
    """Yield the files, then the tickets and pull requests, that the prompt of a turn names."""
    prompt = prose.clip(turn.user_text, *prose.PROMPT_LIMITS)
    files = filter(None, map(features.paths.mentioned, entity_names.paths(prompt)))
    yield from (EntityKey(FILE, file) for file in files)
    yield from (one for one in features.entities_in(prompt) if one.label in NUMBERED)


def _named(features: TurnFeatures, sentence: str) -> Iterator[EntityKey]:
    """Yield what a sentence has in backticks, as the label of a line, or in Latin letters."""
    for one in _CODE_NAME.finditer(sentence):
        name = (one[1] or one[2]).removesuffix("()")
        yield from _defined(features, name)
        is_file = "/" in name and entity_names.is_file_like(name)
        if is_file and (file := features.paths.mentioned(name)):
            yield EntityKey(FILE, file)
        elif name.casefold() not in lexicon.LITERALS:
            yield EntityKey(CONCEPT, name)
    label = _LABELLED.match(sentence)
    if label is not None and not lexicon.NO_TOPIC.intersection(label[1].casefold().split()):
        yield EntityKey(CONCEPT, label[1].casefold())
    if _UNSPACED.search(sentence) and (latin := _LATIN.search(sentence)):
        yield EntityKey(CONCEPT, latin[0].casefold())


def _defined(features: TurnFeatures, name: str) -> Iterator[EntityKey]:
    """Yield the definition of that name that the turn edited."""
    for call in features.calls:
        for part in call.changes if call.kind in WRITE_KINDS and call.targets else ():
            file = features.paths.file(part.path or call.targets[0])
            if file and is_definition(part, name):
                yield EntityKey(definition_label(file, part.name), part.name)


def _edited_for(
    features: TurnFeatures, sentence: str, calls: Iterable[ClassifiedCall]
) -> Iterator[EntityKey]:
    """Yield the file of which the edits share most words with a sentence, if they share two."""
    texts: dict[str, str] = defaultdict(str)
    for call in calls:
        if call.kind in WRITE_KINDS and call.took_place:
            changes = " ".join(f"{one.name} {one.detail}" for one in call.changes)
            for file in filter(None, map(features.paths.file, call.targets)):
                texts[file] = f"{texts[file]} {call.detail} {changes}"[:_MAX_EDIT]
    words = decisions.content_words(sentence)
    shared = {
        file: len(words & decisions.content_words(text))
        for file, text in texts.items()
        if not TEST_FILE.search(file)
    }
    best = max(shared, key=shared.__getitem__, default="")
    if shared.get(best, 0) >= _FEW_WORDS:
        yield EntityKey(FILE, best)


def _recurring(features: TurnFeatures, phrases: Iterable[str]) -> Iterator[EntityKey]:
    """Yield the two or three words of a phrase that earlier turns have most often, if any has."""
    turns = (turn for turn, _ in features.earlier)
    earlier = " ".join(f"{one.user_text} {one.assistant_text}" for one in turns).casefold()
    several = [one for one in phrases if " " in one]
    pairs = (" ".join(pair) for one in several for pair in pairwise(one.split()))
    counts = {one: earlier.count(one) for one in (*several, *pairs)}
    best = max(counts, key=counts.__getitem__, default="")
    if counts.get(best):
        yield EntityKey(CONCEPT, best)


def _phrases(sentence: str) -> Iterator[str]:
    """Yield the runs of at most three words that may be nouns, but for words of any project."""
    if _UNSPACED.search(sentence):
        yield from _UNSPACED_NOUN.findall(sentence)
        return
    for part in _BREAK.split(sentence):
        words = part.split()
        for start, end in _noun_runs(words):
            phrase = words[start : end if end - start <= _MAX_WORDS else start + 2]
            while phrase and phrase[-1].endswith(_NOT_NOUN):
                phrase.pop()
            while phrase and phrase[0].endswith(_NOT_NOUN):
                del phrase[0]
            if not lexicon.GENERIC_TOPICS.issuperset(phrase):
                yield " ".join(phrase)


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
