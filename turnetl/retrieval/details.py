"""All that the index holds about one turn, session, entity or fact."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.base.results import INLINED, described
from turnetl.base.terms import Tokenizer
from turnetl.episode_text.conversation import Conversation, from_episode_text
from turnetl.index.conditions import Selection
from turnetl.index.lookup import IndexedItem, ItemKind, StatedFact
from turnetl.index.port import Field, IndexedFact, IndexedTurn
from turnetl.retrieval.endings import Endings, holding_first
from turnetl.retrieval.items import Namesake, TurnsAt, find_item
from turnetl.retrieval.sessions import Resume, resume_command
from turnetl.retrieval.turn_summary import TurnSummary, summarize, summarize_turn, titles

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_KIND = described("What the id leads to.")
_SAID = frozenset({"User", "Decision", "Preference"})
"""Labels of entities whose names are no names: texts hold these sentences in other words."""
_MAX_NAMING = 500
"""Turns that are searched for a name."""


@dataclass(frozen=True, slots=True)
class TurnDetails:
    """A turn."""

    summary: Annotated[TurnSummary, described("The turn.", name="turn")]
    conversation: Annotated[Conversation, INLINED]
    facts: Annotated[
        tuple[Fact, ...],
        described("What the turn states: first what holds, in the order in which it became valid."),
    ]
    previous: Annotated[
        TurnSummary | None, described("The turn before it in its session; null if none.")
    ]
    next: Annotated[
        TurnSummary | None, described("The turn after it in its session; null if none.")
    ]
    resume: Resume

    @property
    def kind(self) -> Annotated[Literal["turn"], _KIND]:
        return "turn"


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """A session."""

    session_id: Annotated[SessionId, described("Id of the session.")]
    turns: Annotated[tuple[TurnSummary, ...], described("Its turns, oldest first.")]
    """At least one."""
    resume: Resume

    @property
    def kind(self) -> Annotated[Literal["session"], _KIND]:
        return "session"


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """A turn that names an entity, and what it states about it."""

    turn: Annotated[TurnSummary, described("The turn.")]
    facts: Annotated[tuple[Fact, ...], described("The facts; none: its text names the entity.")]


@dataclass(frozen=True, slots=True)
class EntityDetails:
    """An entity, with the turns that state something about it or name it."""

    entity: Annotated[Entity, described("The entity.")]
    turns: Annotated[
        tuple[TurnFacts, ...],
        described("The last such turns, oldest first; those without facts before."),
    ]
    turn_count: Annotated[int, described("Number of such turns in all.")]
    fact_count: Annotated[int, described("Number of facts about the entity.")]
    others: Annotated[
        tuple[Namesake, ...],
        described("What else has the name, in other groups than the working folder's."),
    ] = ()

    @property
    def kind(self) -> Annotated[Literal["entity"], _KIND]:
        return "entity"


@dataclass(frozen=True, slots=True)
class FactDetails:
    """A fact."""

    indexed: Annotated[IndexedFact, INLINED]
    turns: Annotated[tuple[TurnSummary, ...], described("The turns that state it, oldest first.")]

    @property
    def kind(self) -> Annotated[Literal["fact"], _KIND]:
        return "fact"


Details = TurnDetails | SessionDetails | EntityDetails | FactDetails


def details(
    index: "PersistentIndex",
    text: str,
    directory: Path,
    *,
    limit: int,
    turns_at: TurnsAt = lambda *_: (),
) -> Details:
    """Return what an id, the beginning of one, the name of an entity or a path leads to.

    At most `limit` turns of an entity are returned; a path that starts with a dot is relative to
    the directory.
    """
    item, others = find_item(index, text, directory, turns_at)
    found = _details(index, item, limit)
    if found is None:
        raise BadUsage(f"the {item.kind} `{item.id}` was removed from the graph at this moment")
    return replace(found, others=others) if isinstance(found, EntityDetails) else found


def entity_details(
    index: "PersistentIndex", entity: Entity, *, limit: int, skip: int = 0
) -> EntityDetails:
    """Return an entity with the last turns that state something about it, then that name it."""
    stated = index.lookup().facts_about(entity.uuid)
    facts = facts_by_turn(stated)
    by_time = index.lookup().by_time
    ordered = [*by_time(naming_turns(index, entity) - facts.keys()), *by_time(facts)]
    end = max(0, len(ordered) - skip)
    last = ordered[max(0, end - limit) : end]
    turns = zip(last, summarize(index, last), strict=True)
    marked = Endings(index).marked_fact
    return EntityDetails(
        entity=entity,
        turns=tuple(
            TurnFacts(turn, tuple(holding_first(map(marked, facts.get(key, ())))))
            for key, turn in turns
        ),
        turn_count=len(ordered),
        fact_count=len(stated),
    )


def naming_turns(index: "PersistentIndex", entity: Entity) -> set[int]:
    """Return the turns of its group whose texts name the entity, by any of its names."""
    names = {entity.name, *entity.aliases} if _SAID.isdisjoint(entity.labels) else set[str]()
    file = entity.name.rpartition("/")[2]
    if "File" in entity.labels and len(index.lookup().files_ending_with(file)) == 1:
        names.add(file)
    keys = index.select(Selection(groups=(entity.group_id,)))
    found = set[int]()
    for name in sorted(names):
        terms = dict.fromkeys(Tokenizer().count(name), 1.0)
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        shares = index.term_shares(Field.TEXT, terms, keys, limit=_MAX_NAMING) if terms else {}
        texts = index.texts([*shares]).items()
        found.update(key for key, text in texts if pattern.search(text))
    return found


def holding_turns_first(turns: Iterable[TurnFacts]) -> list[TurnFacts]:
    """Return the turns newest first; those of whose facts none holds any more are last.

    Before these stand the turns without a fact.
    """
    newest = reversed(list(turns))

    def place(one: TurnFacts) -> int:
        is_over = all(fact.invalid_at for fact in one.facts)
        return 1 if not one.facts else 2 * is_over

    return sorted(newest, key=place)


def by_validity(fact: Fact) -> tuple[datetime, str]:
    return fact.valid_at or fact.created_at, fact.uuid


def _details(index: "PersistentIndex", item: IndexedItem, limit: int) -> Details | None:
    lookup = index.lookup()
    match item.kind:
        case ItemKind.TURN:
            key = lookup.turn_key(item.id)
            turn = index.turns([] if key is None else [key]).get(key or 0)
            return None if turn is None else _turn(index, turn)
        case ItemKind.SESSION:
            return _session(index, SessionId(item.id))
        case ItemKind.ENTITY:
            entity = lookup.entity(item.id)
            return None if entity is None else entity_details(index, entity, limit=limit)
        case ItemKind.FACT:
            fact = lookup.fact(item.id)
            if fact is None:
                return None
            marked = Endings(index).marked(fact.indexed)
            return FactDetails(marked, tuple(summarize(index, fact.turns)))


def _turn(index: "PersistentIndex", turn: IndexedTurn) -> TurnDetails:
    facts = [*map(Endings(index).marked, index.facts([turn.key])[turn.key])]
    neighbours = [turn.previous, next(iter(index.next_turns([turn.key], None)), None)]
    previous, following = (
        next(iter(summarize(index, [] if neighbour is None else [neighbour])), None)
        for neighbour in neighbours
    )
    return TurnDetails(
        summary=summarize_turn(turn, facts, titles(index, [turn])[turn.key]),
        conversation=from_episode_text(turn.text),
        facts=tuple(holding_first(sorted((one.fact for one in facts), key=by_validity))),
        previous=previous,
        next=following,
        resume=_resume(index, turn.receipt.session_id),
    )


def _session(index: "PersistentIndex", session_id: SessionId) -> SessionDetails | None:
    turns = summarize(index, index.lookup().session(session_id))
    if not turns:
        return None
    return SessionDetails(session_id, tuple(turns), _resume(index, session_id))


def _resume(index: "PersistentIndex", session_id: SessionId) -> str | None:
    """Return the command of the session's first turn, whose directory is the session's."""
    first = index.lookup().session(session_id)[:1]
    return next((resume_command(turn.receipt) for turn in index.turns(first).values()), None)


def facts_by_turn(stated: Iterable[StatedFact]) -> dict[int, list[Fact]]:
    facts: dict[int, list[Fact]] = {}
    for one in stated:
        for turn in one.turns:
            facts.setdefault(turn, []).append(one.indexed.fact)
    return facts
