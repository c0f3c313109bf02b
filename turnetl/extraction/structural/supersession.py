"""Finds what a decision chooses, and older decisions that a later one replaces, and ends these.

Only single names are found, such as `polars` or `EventPayload.APIKey`: a phrase like "the old way"
names nothing that another decision could name again.

Conservative. Either the older decision chose exactly the name that the later one rejects in favour
of another, and both sentences share a word about their subject, unless the later one has no words
besides its names: "polars instead of pandas in the report" does not end "use pandas for plots". Or
both choose different names for the same subject, or answer the same question differently. Or both
are about the same thing in nearly the same words, and one negates the other, or they differ in a
number or in words that exclude each other. Only facts of the same target or session are compared.
A turn that seems to take back a decision in other words is linked and ends nothing. An edit ends
what an earlier one did to the same lines.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from turnetl.base import ids
from turnetl.base.model import Episode, Fact, GroupId
from turnetl.base.relations import (
    ADDED,
    CHANGED,
    DECIDED,
    DECIDING,
    DELETED,
    DEPENDS_ON,
    PREFERS,
    REJECTED,
    SUPERSEDES,
)
from turnetl.episode_text.prose import shorten
from turnetl.extraction.structural import lexicon
from turnetl.extraction.structural.decision_cues import NEGATES, NUMBER
from turnetl.extraction.structural.decisions import content_words, without_topic
from turnetl.extraction.structural.edits import AFTER, BEFORE, NEEDS
from turnetl.extraction.structural.findings import FILE, PACKAGE, UndoneEdits
from turnetl.graph.mirror.group import GroupView

CHOSEN = "chosen"
"""The attribute of a fact with the name of the entity that its decision chooses."""
SESSION = "session"
"""The attribute of a decision with the session that states it."""
INSTEAD = "decided instead"
"""What a user does who begins with `no` or `actually`."""
_NAME = r"(?:`([^`\s]{2,60})`|([A-Za-z][\w.+#/-]{1,39}))"
_END = (
    r"(?![\w-])(?=\W*$|[ ]?[,.;:!?)(\u2013\u2014]| (?:for|in|when|so|because|since|as|to|and|on"
    r"|at|here|by|with)\b)"
)
_USE = (
    r"\b(?:use|uses|used|using|prefer|keep|adopt|adopted|chose|return|returns|store"
    r"|stores|call|calls|write|run) (?:the |an? )?"
)
_MOVE = (
    r"(?:switch(?:ed|ing)?|migrat(?:e|ed|ing)|mov(?:e|ed|ing)|chang(?:e|ed|ing))"
    r"(?: back| over| away)?"
)
_CHOSEN_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_USE}{_NAME} (?:instead of|rather than|over|and not) (?:the )?{_NAME}{_END}",
        rf"^{_NAME} (?:instead of|rather than|over|replaces) (?:the (?:old )?)?{_NAME}{_END}",
        rf"{_USE}{_NAME}, not (?:the )?{_NAME}{_END}",
        rf"\bback to (?:the )?{_NAME} from (?:the )?{_NAME}{_END}",
        rf"{_NAME} (?:replaces|supersedes) (?:the (?:old |previous )?)?{_NAME}{_END}",
    )
)
_REJECTED_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:replaced?|replacing|swap) (?:the )?{_NAME} (?:with|by|for) (?:the )?{_NAME}{_END}",
        rf"\b{_MOVE} from (?:the )?{_NAME} to (?:the )?{_NAME}{_END}",
        rf"\b(?:changed?|renamed?|switch(?:ed)?|convert(?:ed)?) {_NAME} (?:in)?to {_NAME}{_END}",
        rf"\b(?:drop|remove) {_NAME}(?:,| and) use {_NAME}{_END}",
        rf"\bno longer (?:use )?{_NAME},? but (?:use )?{_NAME}{_END}",
        rf"\b(?:instead of|rather than) {_NAME},? (?:we |I )?(?:use|prefer) (?:the )?{_NAME}{_END}",
        rf"\bnot (?:use )?{_NAME},? but (?:use )?{_NAME}{_END}",
    )
)
_CHOSEN = re.compile(
    r"\b(?:use|using|go with|going with|stick with|switch(?:ed)? (?:back )?to|(?:go|move|change) "
    r"back to|settled on|decided on|opted for"
    rf"|adopt|chose|prefer|move to|standardi[sz]e on|keep) (?:the )?{_NAME}{_END}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")
_MIN_NAME = 2
_CHOOSING = (DECIDED, PREFERS)
_OPPOSITES = tuple(
    (
        re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{other})(?!\w)", re.IGNORECASE),
    )
    for one, other in (
        ("enabled?|on|opt-in", "disabled?|off|opt-out"),
        ("true", "false"),
        ("always", "never"),
        ("single|one", "multiple|several|many"),
        ("automatic(?:ally)?", "manual(?:ly)?"),
        ("0-based|zero-based", "1-based|one-based"),
        ("ascending", "descending"),
        ("sync|synchronous(?:ly)?", "async|asynchronous(?:ly)?"),
        ("tabs", "spaces"),
        ("before|first", "after|last"),
        ("public", "private"),
        ("required|mandatory", "optional"),
        ("allow(?:ed|s)?|accepts?", "forbid(?:den)?|den(?:y|ied)|rejects?"),
        ("keep|add", "remove|drop|delete"),
        ("include", "exclude"),
        ("show", "hide"),
    )
)
_MIN_SHARE, _SAME, _MIN_SHARED = 0.6, 0.7, 2
"""Of the words of the shorter of two sentences that say the opposite of each other."""
_TAKES_BACK = re.compile(
    r"\b(?:instead(?! of)|after all|no longer|not? .{1,30} any ?more|revert|undo|back to"
    r"|changed my mind|get rid of|actually)\b",
    re.IGNORECASE,
)
_LINKED = 0.4
"""Of the words of the shorter sentence, if the later one seems to take back the older one."""
_ADDS = re.compile(r"\b(?:also|too|as well|both|additionally|in addition)\b", re.IGNORECASE)
_ANSWERED = re.compile(
    r"^Asked \u201c(.{1,400}?)\u201d,? the user (?:answered: |chose )(.*)", re.DOTALL
)
_MAX_QUOTE = 160


@dataclass(frozen=True, slots=True)
class Choice:
    chosen: str = ""
    rejected: str = ""
    """What the choice replaces; with it there is always a `chosen`."""


def choice(sentence: str) -> Choice:
    """Return the first pair of names in a sentence, else the name that it chooses."""
    for patterns, is_chosen_first in ((_CHOSEN_FIRST, True), (_REJECTED_FIRST, False)):
        for pattern in patterns:
            for match in pattern.finditer(sentence):
                first, second = _names(match)
                if first and second and first.casefold() != second.casefold():
                    return Choice(first, second) if is_chosen_first else Choice(second, first)
    names = (_names(match)[0] for match in _CHOSEN.finditer(sentence))
    return Choice(next(filter(None, names), ""))


def context_words(sentence: str, chosen: Choice) -> frozenset[str]:
    """Return what the decision is about, apart from its names: words of three letters and more."""
    named = {chosen.chosen.casefold(), chosen.rejected.casefold()}
    words = {word.casefold() for word in _WORD.findall(_without_names(sentence, chosen))}
    return frozenset(words - named - lexicon.DECISION_WORDS - lexicon.KEYPHRASE_STOP_WORDS)


def _without_names(sentence: str, chosen: Choice) -> str:
    for name in filter(None, (chosen.chosen, chosen.rejected)):
        sentence = sentence.replace(name, " ")
    return sentence


def _names(match: re.Match[str]) -> list[str]:
    """Return the names of a match, in order; an empty string for a word that is no name."""
    groups = match.groups()
    pairs = zip(groups[::2], groups[1::2], strict=True)
    return [quoted.removesuffix("()") if quoted else _name(word or "") for quoted, word in pairs]


def _name(word: str) -> str:
    """Return an unquoted word if it can be a name: no pronoun, no adjective, no gerund."""
    word = word.rstrip("./-")
    folded = word.casefold()
    is_common = folded in lexicon.KEYPHRASE_STOP_WORDS or folded in lexicon.DECISION_WORDS
    return "" if is_common or folded.endswith("ing") or len(word) < _MIN_NAME else word


@dataclass(frozen=True, slots=True)
class Superseded:
    """The effect of replaced decisions on the facts of a turn and of its group."""

    facts: tuple[Fact, ...]
    """The facts of the turn, with an end if a later decision is already in the group; then the
    SUPERSEDES facts."""
    ended: tuple[Fact, ...]
    """Facts of the group in their new state."""
    decisions: tuple[str, ...]
    """Uuids of the decisions of other turns that the SUPERSEDES facts connect."""


def supersede(
    episode: Episode,
    facts: Iterable[Fact],
    names: Mapping[str, str],
    group: GroupView,
    now: datetime,
) -> Superseded:
    """Return the facts of a turn and of the group after the decisions of the turn.

    Turns may arrive late, so the turn may hold either of the two decisions. The older one ends at
    the time of the later one. `names` has the names of the facts' entities, by uuid; the group is
    without the turn.
    """
    own = {fact.uuid: fact for fact in facts}
    ended: dict[str, Fact] = {}
    links: list[Fact] = []
    decisions: list[str] = []
    for fact in list(own.values()):
        for other in _others(fact, names, group):
            later, older = (fact, other) if _is_later(fact, other) else (other, fact)
            effect = _effect(later, older)
            if not effect:
                continue
            links.append(_link(episode, later, older, effect, now))
            decisions.append(_statement(other))
            if effect is _Effect.LINKS:
                continue
            if older is other:
                for part in _parts(other, group):
                    ended[part.uuid] = replace(part, invalid_at=fact.valid_at, expired_at=now)
            else:
                _end_own(own, fact, other, now)
    new = {fact.uuid: fact for fact in (*own.values(), *links)}
    return Superseded(tuple(new.values()), tuple(ended.values()), tuple(dict.fromkeys(decisions)))


def _others(fact: Fact, names: Mapping[str, str], group: GroupView) -> Iterator[Fact]:
    """Yield the decisions of the group about the same thing or of the same session.

    For a preference they are all other preferences.
    """
    if fact.relation == PREFERS:
        yield from group.valid_facts(fact.source, PREFERS)
    elif fact.relation in DECIDING:
        # A package in one turn may be a concept in another.
        named = (entity.uuid for entity in group.entities_named([names[fact.target]]))
        found = [
            other
            for uuid in dict.fromkeys([fact.target, *named])
            for relation in DECIDING
            for other in group.valid_facts_to(uuid, relation)
        ]
        found += group.valid_facts_with(SESSION, str(fact.attributes.get(SESSION, "")))
        unique = {other.uuid: other for other in found}
        yield from (other for other in unique.values() if other.relation in DECIDING)


class _Effect(Enum):
    ENDS = "supersedes"
    LINKS = "may supersede"
    """A later turn says something else; whether it takes the decision back is not sure."""


def _is_later(fact: Fact, other: Fact) -> bool:
    return bool(fact.valid_at and other.valid_at and fact.valid_at > other.valid_at)


def _effect(later: Fact, older: Fact) -> _Effect | None:
    if not _is_later(later, older) or _statement(older) == _statement(later):
        return None
    is_same = later.target == older.target or later.relation == PREFERS
    if is_same and _rejects_choice(later, older):
        return _Effect.ENDS
    judges = (_chooses_other, _answers_anew, _says_opposite, _corrects)
    if any(ends(later, older) for ends in judges):
        return _Effect.ENDS
    new, old = content_words(_sentence(later)), content_words(_sentence(older))
    shared = len(new & old)
    seems = shared > _MIN_SHARED and shared >= _LINKED * min(len(new), len(old))
    return _Effect.LINKS if seems and _TAKES_BACK.search(_sentence(later)) else None


def _chooses_other(later: Fact, older: Fact) -> bool:
    """Return whether both choose a name for the same subject: use X for it, then use Y for it."""
    new, old = choice(_sentence(later)), choice(_sentence(older))
    names = {new.chosen.casefold(), old.chosen.casefold()}
    if "" in names or len(names) == 1 or REJECTED in (later.relation, older.relation):
        return False
    if _ADDS.search(_sentence(later)):
        return False
    subject = context_words(_sentence(later), new) - {old.chosen.casefold()}
    return bool(subject) and subject == context_words(_sentence(older), old) - names


def _answers_anew(later: Fact, older: Fact) -> bool:
    new, old = _ANSWERED.match(later.text), _ANSWERED.match(older.text)
    return bool(new and old and new[1].casefold() == old[1].casefold() and new[2] != old[2])


def _corrects(later: Fact, older: Fact) -> bool:
    """Return whether the user says `no` or `actually` to the decision, in the same session."""
    if not later.text.startswith(f"The user {INSTEAD}: ") or older.relation == REJECTED:
        return False
    new, old = content_words(_sentence(later)), content_words(_sentence(older))
    shared = len(new & old)
    is_same_session = later.attributes.get(SESSION) == older.attributes.get(SESSION)
    names = {choice(_sentence(fact)).chosen.casefold() for fact in (later, older)} - {""}
    is_about = later.target == older.target or shared >= _MIN_SHARED or len(names) > 1
    is_about = is_about and shared > 0
    return is_same_session and is_about and shared >= _LINKED * min(len(new), len(old))


def _rejects_choice(later: Fact, older: Fact) -> bool:
    """Return whether the older decision chose what the later one rejects in favour of another.

    Both facts have the same target, or are preferences.
    """
    chosen, new = older.attributes.get(CHOSEN), choice(_sentence(later))
    if chosen is None or older.relation not in _CHOOSING:
        return False
    if later.relation == PREFERS and new.rejected.casefold() != str(chosen).casefold():
        return False
    if later.relation != PREFERS and (later.relation != REJECTED or CHOSEN not in later.attributes):
        return False
    subject, old = context_words(_sentence(later), new), _sentence(older)
    return not subject or not subject.isdisjoint(context_words(old, choice(old)))


def _says_opposite(later: Fact, older: Fact) -> bool:
    new, old = _sentence(later), _sentence(older)
    first, second = content_words(new), content_words(old)
    shared = len(first & second)
    is_near = shared >= _MIN_SHARED and shared >= _MIN_SHARE * min(len(first), len(second))
    is_same = shared >= _SAME * max(len(first), len(second))
    # Or each has one word of its own.
    if later.target != older.target and not is_same:
        is_near = False
    if not is_near and (not shared or len(first ^ second) > _MIN_SHARED):
        return False
    numbers, before = set(NUMBER.findall(new)), set(NUMBER.findall(old))
    # "Limit uploads to 20 MB" and "limit downloads to 50 MB" each have a word of their own.
    is_part = first <= second or second <= first
    if numbers and before and numbers.isdisjoint(before) and (is_part or is_same):
        return True
    negated, was_negated = (
        fact.relation == REJECTED or NEGATES.search(_sentence(fact)) is not None
        for fact in (later, older)
    )
    is_taken_back = negated != was_negated and (
        is_same or (later.target == older.target and shared > _MIN_SHARED)
    )
    return is_taken_back or excludes(new, old)


def excludes(new: str, old: str) -> bool:
    """Return whether two sentences have words that exclude each other, such as `on` and `off`."""
    return any(
        (one.search(new) and other.search(old) and not one.search(old))
        or (other.search(new) and one.search(old) and not other.search(old))
        for one, other in _OPPOSITES
    )


def undone_decisions(
    undone: Iterable[UndoneEdits], group_id: GroupId, group: GroupView, now: datetime
) -> Iterator[Fact]:
    """Yield what the agent decided about files in turns whose edits Git took back, with its end."""
    for one in undone:
        file = ids.entity_id(group_id, FILE, ids.folded_name(FILE, one.file))
        for fact in group.valid_facts_to(file, DECIDED):
            is_earlier = one.at is None or fact.valid_at is None or fact.valid_at <= one.at
            if _is_agents(fact) and is_earlier and not one.turns.isdisjoint(fact.turns):
                yield replace(fact, invalid_at=one.at, expired_at=now)


_ENDS: Mapping[str, tuple[str, ...]] = {
    DELETED: (ADDED, CHANGED, DEPENDS_ON),
    ADDED: (DELETED,),
    CHANGED: (CHANGED,),
}
"""What a later fact about the same thing ends."""


def ended_edits(
    facts: Iterable[Fact], names: Mapping[str, str], group: GroupView, now: datetime
) -> Iterator[Fact]:
    """Yield the facts of a turn, and those of its group, that no longer hold, with their ends.

    What was added and is removed, a line that changed again; with a line that is taken back ends
    what the agent decided about it. Turns may arrive late: either of the two facts may be the one
    of the turn. `names` has the names of entities by uuid.
    """
    for fact in facts:
        if fact.relation not in _ENDS or fact.valid_at is None:
            continue
        name = ids.folded_name(PACKAGE, names[fact.target].removeprefix(NEEDS))
        needed = ids.entity_id(fact.group_id, PACKAGE, name)
        for relation in (*_ENDS, DEPENDS_ON):
            for other in group.valid_facts(fact.source, relation):
                earlier, later = sorted(
                    (fact, other), key=lambda one: (one.valid_at or now, one.uuid)
                )
                if other.uuid != fact.uuid and _no_longer_holds(earlier, later, needed):
                    ended = [earlier, *_taken_back(earlier, later, group)]
                    yield from (
                        replace(one, invalid_at=later.valid_at, expired_at=now) for one in ended
                    )


def _no_longer_holds(earlier: Fact, later: Fact, needed: str) -> bool:
    if earlier.relation not in _ENDS.get(later.relation, ()) or earlier.valid_at == later.valid_at:
        return False
    # With a file, all that is in it is removed.
    is_whole_file = later.relation == DELETED and later.target == later.source
    if not is_whole_file and earlier.target not in {later.target, needed}:
        return False
    written = _lines(earlier, AFTER)
    return later.relation != CHANGED or bool(written and written <= _lines(later, BEFORE))


def _taken_back(earlier: Fact, later: Fact, group: GroupView) -> Iterator[Fact]:
    """Yield what the agent decided about lines that are again what they were before."""
    if later.relation != CHANGED or _lines(earlier, BEFORE) != _lines(later, AFTER):
        return
    written = content_words(f"{earlier.text} {earlier.attributes.get(AFTER, '')}")
    for end in dict.fromkeys((earlier.source, earlier.target)):
        for fact in group.valid_facts_to(end, DECIDED):
            is_of_turn = not set(fact.turns).isdisjoint(earlier.turns)
            shared = written & content_words(_sentence(fact))
            is_about = end != earlier.source or len(shared) >= _MIN_SHARED
            if is_of_turn and is_about and _is_agents(fact):
                yield fact


def _lines(fact: Fact, side: str) -> frozenset[str]:
    return frozenset(str(fact.attributes.get(side, "")).split("\n")) - {""}


def _is_agents(fact: Fact) -> bool:
    return fact.text.startswith("The agent ")


def _statement(fact: Fact) -> str:
    return fact.target if fact.relation == PREFERS else fact.source


def _sentence(fact: Fact) -> str:
    """Return the sentence after `The user decided: ` and the like."""
    return without_topic(fact.text.partition(": ")[2])


def _parts(fact: Fact, group: GroupView) -> Iterator[Fact]:
    """Yield the valid facts of the same decision in the same turns: what it chose and rejected."""
    if fact.relation == PREFERS:
        yield fact
        return
    for relation in DECIDING:
        for part in group.valid_facts(fact.source, relation):
            if part.turns == fact.turns:
                yield part


def _end_own(own: dict[str, Fact], fact: Fact, later: Fact, now: datetime) -> None:
    for part in list(own.values()):
        is_earlier = part.invalid_at is None or (
            later.valid_at is not None and later.valid_at < part.invalid_at
        )
        is_part = part.source == fact.source and part.relation in DECIDING
        if is_earlier and (part.uuid == fact.uuid or is_part):
            own[part.uuid] = replace(part, invalid_at=later.valid_at, expired_at=now)


def _link(episode: Episode, later: Fact, older: Fact, effect: _Effect, now: datetime) -> Fact:
    turn = episode.turn
    source, target = _statement(later), _statement(older)
    new, old = (shorten(_sentence(fact), _MAX_QUOTE) for fact in (later, older))
    text = f"“{new}” supersedes “{old}”"
    if effect is _Effect.LINKS:
        text = f"A later turn says “{new}”; it may replace “{old}”"
    return Fact(
        uuid=ids.fact_id(turn.turn_id, source, SUPERSEDES, target, text),
        group_id=turn.group_id,
        source=source,
        target=target,
        relation=SUPERSEDES,
        text=text,
        turns=(turn.turn_id,),
        created_at=now,
        valid_at=later.valid_at,
        reference_time=turn.started_at,
    )
