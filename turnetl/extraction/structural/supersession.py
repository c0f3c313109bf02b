"""Finds older decisions that a later decision replaces by name, and ends their facts.

Conservative: the older decision chose exactly the name that the later one rejects in favour of
another, and both sentences share a word about their subject, unless the later one has no words
besides its names. "polars instead of pandas in the report" does not end "use pandas for plots".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.base import ids
from turnetl.base.model import Episode, Fact
from turnetl.extraction.structural import choices
from turnetl.extraction.structural.prose import shorten
from turnetl.extraction.structural.statements import CHOSEN
from turnetl.graph.mirror.group import GroupView

_CHOOSING = ("DECIDED", "PREFERS")
_REJECTING = "REJECTED"
_MAX_QUOTE = 160


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
        for older in _replaced_by(fact, names, group):
            for part in _parts(older, group):
                ended[part.uuid] = replace(part, invalid_at=fact.valid_at, expired_at=now)
            links.append(_link(episode, fact, older, now))
            decisions.append(older.source)
        for later in _replacing(fact, names, group):
            links.append(_link(episode, later, fact, now))
            decisions.append(later.source)
            _end_own(own, fact, later, now)
    new = {fact.uuid: fact for fact in (*own.values(), *links)}
    return Superseded(tuple(new.values()), tuple(ended.values()), tuple(dict.fromkeys(decisions)))


def _replaced_by(fact: Fact, names: Mapping[str, str], group: GroupView) -> Iterator[Fact]:
    """Yield the facts of the group whose decision this fact replaces."""
    if fact.relation != _REJECTING or CHOSEN not in fact.attributes:
        return
    rejected = names[fact.target]
    for uuid in _uuids(fact.target, rejected, group):
        for relation in _CHOOSING:
            for older in group.valid_facts_to(uuid, relation):
                if _chose(older, rejected) and _is_replaced(older, fact):
                    yield older


def _replacing(fact: Fact, names: Mapping[str, str], group: GroupView) -> Iterator[Fact]:
    """Yield the facts of the group whose decision replaces that of this fact, of a late turn."""
    if fact.relation not in _CHOOSING or CHOSEN not in fact.attributes:
        return
    for uuid in _uuids(fact.target, names[fact.target], group):
        for later in group.valid_facts_to(uuid, _REJECTING):
            if CHOSEN in later.attributes and _is_replaced(fact, later):
                yield later


def _uuids(uuid: str, name: str, group: GroupView) -> list[str]:
    """Return the entities of that name: a package in one turn may be a concept in another."""
    named = (entity.uuid for entity in group.entities_named([name]))
    return list(dict.fromkeys([uuid, *named]))


def _chose(fact: Fact, name: str) -> bool:
    return str(fact.attributes.get(CHOSEN, "")).casefold() == name.casefold()


def _is_replaced(older: Fact, later: Fact) -> bool:
    if older.valid_at is None or later.valid_at is None or older.source == later.source:
        return False
    subject = _subject_words(later)
    return older.valid_at < later.valid_at and (
        not subject or not subject.isdisjoint(_subject_words(older))
    )


def _subject_words(fact: Fact) -> frozenset[str]:
    sentence = _sentence(fact)
    return choices.context_words(sentence, choices.choice(sentence))


def _sentence(fact: Fact) -> str:
    """Return the sentence after `The user decided: ` and the like."""
    return fact.text.partition(": ")[2]


def _parts(fact: Fact, group: GroupView) -> Iterator[Fact]:
    """Yield the valid facts of the same decision in the same turns: what it chose and rejected."""
    for relation in (*_CHOOSING, _REJECTING):
        for part in group.valid_facts(fact.source, relation):
            if part.turns == fact.turns:
                yield part


def _end_own(own: dict[str, Fact], fact: Fact, later: Fact, now: datetime) -> None:
    for part in list(own.values()):
        is_earlier = part.invalid_at is None or (
            later.valid_at is not None and later.valid_at < part.invalid_at
        )
        if part.source == fact.source and part.relation in (*_CHOOSING, _REJECTING) and is_earlier:
            own[part.uuid] = replace(part, invalid_at=later.valid_at, expired_at=now)


def _link(episode: Episode, later: Fact, older: Fact, now: datetime) -> Fact:
    turn = episode.turn
    new, old = (shorten(_sentence(fact), _MAX_QUOTE) for fact in (later, older))
    text = f"“{new}” supersedes “{old}”"
    return Fact(
        uuid=ids.fact_id(turn.turn_id, later.source, "SUPERSEDES", older.source, text),
        group_id=turn.group_id,
        source=later.source,
        target=older.source,
        relation="SUPERSEDES",
        text=text,
        turns=(turn.turn_id,),
        created_at=now,
        valid_at=later.valid_at,
        reference_time=turn.started_at,
    )
