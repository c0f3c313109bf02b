"""Compare the session-level data of a group with the turns that replace them, without search.

A new fact says what an old one says if their texts are similar and they share an entity. A fact of
several sessions counts for the first one, so that counts of sessions add up.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnetl.base import ids
from turnetl.base.batched import grouped
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import GroupContents, Receipt
from turnetl.base.model import Entity, Fact, GroupId, SessionId
from turnetl.base.user_files import read_tsv
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode
from turnetl.llm.embedders import Embedder
from turnetl.llm.vectors import Matrix, embedded
from turnetl.migration.comparison import (
    ComparedSession,
    DataSize,
    FactDates,
    GroupComparison,
    LostFact,
    SearchProbe,
)

_BLOCK = 256
"""Old facts in a block of the comparison: with 100,000 new facts, a block takes 100 MB."""
_TOKEN = re.compile(r"\w[\w.+#-]*\w|\w")


@dataclass(frozen=True, slots=True)
class FactStatement:
    """A fact as it is compared."""

    text: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedFacts:
    """Facts as they are compared, with the embeddings of their texts."""

    statements: Sequence[FactStatement]
    rows: Matrix


async def embedded_facts(
    facts: Iterable[Fact], entities: Iterable[Entity], embedder: Embedder
) -> EmbeddedFacts:
    said = stated(facts, entities)
    return EmbeddedFacts(said, await embedded([one.text for one in said], embedder))


@dataclass(frozen=True, slots=True)
class FactMatch:
    """The new fact that is most similar to an old one."""

    position: int | None
    """Of the new fact; None if there is none."""
    similarity: float
    """Their cosine, at least 0."""
    shares_entity: bool
    """Whether it is the most similar of those that share an entity; else none does."""


def best_matches(old: EmbeddedFacts, new: EmbeddedFacts) -> list[FactMatch]:
    """Return the best new fact for each old one, in their order.

    New facts that share an entity come first: that is a fact that is about an entity of the same
    name, or whose text names it. Of a path only the last part counts, and case does not.
    """
    if not new.statements:
        return [FactMatch(None, 0.0, shares_entity=False)] * len(old.statements)
    index = EntityIndex(new.statements)
    matches: list[FactMatch] = []
    for start in range(0, len(old.statements), _BLOCK):
        cosines = old.rows[start : start + _BLOCK] @ new.rows.T
        block = zip(old.statements[start : start + _BLOCK], cosines, strict=True)
        matches += [_best(row, index.sharing(fact.entities)) for fact, row in block]
    return matches


def entity_key(name: str) -> str:
    """Return what two names of one entity have in common: without folders and case."""
    stripped = " ".join(name.casefold().replace("\\", "/").split()).rstrip("/")
    return stripped.rpartition("/")[2] or stripped


class EntityIndex:
    """The new facts by the words of their texts and of the names of their entities."""

    def __init__(self, facts: Sequence[FactStatement]) -> None:
        postings = grouped(
            (word, position)
            for position, fact in enumerate(facts)
            for word in _words(" ".join((fact.text, *fact.entities)))
        )
        self._postings = {word: np.array(places) for word, places in postings.items()}

    def names(self, name: str) -> bool:
        return len(self._naming(name)) > 0

    def sharing(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the positions of the facts that name one of these entities, ascending."""
        found = [self._naming(name) for name in names]
        return np.unique(np.concatenate(found)) if found else _NONE

    def _naming(self, name: str) -> NDArray[np.int64]:
        lists = [self._postings.get(word, _NONE) for word in sorted(_words(entity_key(name)))]
        lists.sort(key=len)
        common = lists[0] if lists else _NONE
        for other in lists[1:]:
            common = np.intersect1d(common, other, assume_unique=True)
        return common


_NONE: NDArray[np.int64] = np.array([], dtype=np.int64)


def _best(cosines: Matrix, sharing: NDArray[np.int64]) -> FactMatch:
    shares = len(sharing) > 0
    position = int(sharing[cosines[sharing].argmax()]) if shares else int(cosines.argmax())
    return FactMatch(position, max(0.0, float(cosines[position])), shares_entity=shares)


def _words(text: str) -> set[str]:
    """Return the words of a text; a file name is one word, and its path has several."""
    return set(_TOKEN.findall(text.casefold().replace("\\", "/")))


_MARGIN = timedelta(hours=1)
"""Before and after a session, in which a fact of it may be dated."""


@dataclass(frozen=True, slots=True)
class OldData:
    """The session-level data that a migration replaces."""

    data: SessionLevelData
    """Only the episodes that turns replace, with what they mention and state."""
    sessions: Mapping[str, SessionId]
    """The session of each episode, by its uuid, as far as it is known."""


def replaced_part(data: SessionLevelData, moved: Collection[str]) -> SessionLevelData:
    """Return the part of session-level data that belongs to the episodes that turns replace."""
    episodes = tuple(one for one in data.episodes if one.uuid in moved)
    facts = tuple(fact for fact in data.facts if not set(moved).isdisjoint(fact.turns))
    mentions = tuple(one for one in data.mentions if one.episode in moved)
    named = {one.entity for one in mentions} | _ends(facts)
    entities = tuple(one for one in data.entities if one.uuid in named)
    return replace(data, episodes=episodes, facts=facts, mentions=mentions, entities=entities)


def turns_part(contents: GroupContents, staying: SessionLevelData) -> GroupContents:
    """Return a group after its cutover without what other programs wrote and no turn uses."""
    turns = {receipt.turn_id for receipt in contents.receipts}
    facts = tuple(fact for fact in contents.facts if not turns.isdisjoint(fact.turns))
    foreign = {one.uuid for one in staying.entities} - _ends(facts)
    entities = tuple(one for one in contents.entities if one.uuid not in foreign)
    return replace(contents, facts=facts, entities=entities)


def compare(
    migration: TurnMigration,
    old: OldData,
    new: GroupContents,
    old_facts: EmbeddedFacts,
    new_facts: EmbeddedFacts,
    *,
    similarity: float,
) -> GroupComparison:
    """Compare old with new data, without search probes; `similarity` as in `Thresholds`."""
    said = new_facts.statements
    lost = {
        fact.uuid: _lost(fact, match, said)
        for fact, match in zip(old.data.facts, best_matches(old_facts, new_facts), strict=True)
        if not match.shares_entity or match.similarity < similarity
    }
    sides = _Sides(old, new)
    names = {one: sides.session(one, lost) for one in sides.sessions}
    known = [one for session, one in names.items() if session is not None]
    known.sort(key=lambda one: (one.started_at is None, one.started_at, one.session_id))
    rest = [names[None]] if None in names else []
    old_names, new_names = _names(old.data.entities), _names(new.entities)
    return GroupComparison(
        group=migration.group_id,
        migration_id=migration.migration_id,
        sessions=(*known, *rest),
        old=_old_size(old.data.episodes, old.data.entities, old.data.facts),
        new=DataSize(
            sum(receipt.chunks for receipt in new.receipts),
            len(new.entities),
            len(new.facts),
            sum(map(len, new.texts.values())),
        ),
        entities_lost=_lost_names(old_names, new_names, said),
        entities_gained=_gained(old_names, new_names),
        probes=(),
        are_probes_generated=True,
    )


class _Sides:
    def __init__(self, old: OldData, new: GroupContents) -> None:
        self._old = old
        self._new = new
        of_turns = {str(one.turn_id): one.session_id for one in new.receipts}
        sessions, data = old.sessions.get, old.data
        receipts = ((one.session_id, one) for one in new.receipts)
        self._receipts: dict[SessionId | None, list[Receipt]] = grouped(receipts)
        self._old_facts = grouped((_first(fact, old.sessions), fact) for fact in data.facts)
        self._episodes = grouped((sessions(one.uuid), one) for one in data.episodes)
        self._new_facts = grouped((_first(fact, of_turns), fact) for fact in new.facts)
        self._old_entities = {one.uuid: one for one in old.data.entities}
        self._new_entities = {one.uuid: one for one in new.entities}
        self._mentions = grouped((sessions(one.episode), one) for one in data.mentions)

    @property
    def sessions(self) -> set[SessionId | None]:
        """Return the sessions of the old episodes and of the turns; None if some have none."""
        return {*self._episodes, *self._old_facts, *self._receipts}

    def session(self, session: SessionId | None, lost: Mapping[str, LostFact]) -> ComparedSession:
        receipts = self._receipts.get(session, [])
        old = self._old_facts.get(session, [])
        new = self._new_facts.get(session, []) if session is not None else []
        mentioned = {one.entity for one in self._mentions.get(session, [])}
        old_entities = _found(mentioned | _ends(old), self._old_entities)
        new_entities = _found(_ends(new), self._new_entities)
        said = stated(new, new_entities)
        span = _span(receipts)
        losses = sorted(
            (lost[fact.uuid] for fact in old if fact.uuid in lost),
            key=lambda one: (one.similarity, one.uuid),
        )
        episodes = self._episodes.get(session, [])
        texts = self._new.texts
        old_names, new_names = _names(old_entities), _names(new_entities)
        return ComparedSession(
            session_id=session,
            format=receipts[0].format if receipts else "",
            started_at=span[0] if span else None,
            old=_old_size(episodes, old_entities, old),
            new=DataSize(
                sum(one.chunks for one in receipts),
                len(new_entities),
                len(new),
                sum(len(texts.get(one.turn_id, "")) for one in receipts),
            ),
            lost_facts=tuple(losses),
            entities_lost=_lost_names(old_names, new_names, said),
            entities_gained=_gained(old_names, new_names),
            old_dates=_dates(old, span),
            new_dates=_dates(new, span),
        )


def _first(fact: Fact, sessions: Mapping[str, SessionId]) -> SessionId | None:
    """Return the session of the first episode of a fact that has one."""
    return next((sessions[one] for one in fact.turns if one in sessions), None)


def _lost(fact: Fact, match: FactMatch, said: Sequence[FactStatement]) -> LostFact:
    return LostFact(
        uuid=fact.uuid,
        text=fact.text,
        valid_at=fact.valid_at,
        nearest="" if match.position is None else said[match.position].text,
        similarity=round(match.similarity, 4),
        shares_entity=match.shares_entity,
    )


def stated(facts: Iterable[Fact], entities: Iterable[Entity]) -> list[FactStatement]:
    names = {one.uuid: one.name for one in entities}
    return [
        FactStatement(
            fact.text, tuple(names[end] for end in (fact.source, fact.target) if end in names)
        )
        for fact in facts
    ]


def _ends(facts: Iterable[Fact]) -> set[str]:
    """Return the uuids of the entities that facts are about."""
    return {end for fact in facts for end in (fact.source, fact.target)}


def _found(uuids: Iterable[str], entities: Mapping[str, Entity]) -> list[Entity]:
    return [entities[uuid] for uuid in sorted(uuids) if uuid in entities]


def _names(entities: Iterable[Entity]) -> dict[str, str]:
    """Return the names of entities by what they are compared by; without those without a name."""
    named = ((entity_key(one.name), one.name) for one in entities)
    return {key: name for key, name in named if key}


def _lost_names(
    old: Mapping[str, str], new: Mapping[str, str], said: Sequence[FactStatement]
) -> tuple[str, ...]:
    """Return the old names that neither an entity nor a fact of the new data has."""
    missing = {key: name for key, name in old.items() if key not in new}
    index = EntityIndex(said)
    return tuple(sorted(name for name in missing.values() if not index.names(name)))


def _gained(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for key, name in new.items() if key not in old))


def _span(receipts: Iterable[Receipt]) -> tuple[datetime, datetime] | None:
    """Return the beginning and the end of a session; None without turns."""
    times = [time for one in receipts for time in (one.started_at, one.ended_at) if time]
    return (min(times), max(times)) if times else None


def _dates(facts: Iterable[Fact], span: tuple[datetime, datetime] | None) -> FactDates:
    times = [fact.valid_at for fact in facts]
    dated = [time for time in times if time is not None]
    outside = 0
    if span is not None:
        first, last = span[0] - _MARGIN, span[1] + _MARGIN
        outside = sum(not first <= time <= last for time in dated)
    return FactDates(len(times), len(times) - len(dated), outside)


def _old_size(
    episodes: Sequence[UnrecordedEpisode], entities: Sequence[Entity], facts: Sequence[Fact]
) -> DataSize:
    chars = sum(len(one.text) for one in episodes)
    return DataSize(len(episodes), len(entities), len(facts), chars)


MOST_PROBES = 200
"""Generated for a group."""
_COLUMNS = ("question", "session")
_ROW_NEEDS = "a question and the id of its session, separated by a tab"
_FEWEST_WORDS = 3
"""Of an old fact that is a probe."""


def read_probes(path: Path) -> list[SearchProbe]:
    """Read a table of `question` and `session`, separated by tabs; questions may repeat."""
    sessions: dict[str, set[SessionId]] = {}
    for row in read_tsv(path, _COLUMNS, row_needs=_ROW_NEEDS):
        question, session = (row.values[name] for name in _COLUMNS)
        sessions.setdefault(question, set()).add(SessionId(session))
    return [SearchProbe(question, tuple(sorted(known))) for question, known in sessions.items()]


def generated_probes(old: OldData, *, limit: int = MOST_PROBES) -> list[SearchProbe]:
    """Return old facts as probes: each session gives one before any gives a second one."""
    sessions: dict[str, set[SessionId]] = {}
    for fact in old.data.facts:
        known = {old.sessions[one] for one in fact.turns if one in old.sessions}
        text = " ".join(fact.text.split())
        if known and len(text.split()) >= _FEWEST_WORDS:
            sessions.setdefault(text, set()).update(known)
    drawn = sorted(sessions, key=ids.digest)
    rounds: dict[SessionId, int] = {}
    turns: list[tuple[int, str]] = []
    for text in drawn:
        first = min(sessions[text])
        turns.append((rounds.get(first, 0), text))
        rounds[first] = rounds.get(first, 0) + 1
    turns.sort(key=lambda turn: turn[0])
    return [SearchProbe(text, tuple(sorted(sessions[text]))) for _, text in turns[:limit]]


def rank_of(probe: SearchProbe, found: Iterable[SessionId | None]) -> int | None:
    """Return the rank of the first right session, from 1; hits of one session count once."""
    seen: set[SessionId] = set()
    unknown = 0
    for session in found:
        if session in probe.sessions:
            return len(seen) + unknown + 1
        if session is None:
            unknown += 1
        else:
            seen.add(session)
    return None


def of_known_sessions(
    probes: Sequence[SearchProbe], groups: Mapping[GroupId, frozenset[SessionId]]
) -> dict[GroupId, list[SearchProbe]]:
    """Return the probes of each group: those with a session that it has."""
    for probe in probes:
        if all(sessions.isdisjoint(probe.sessions) for sessions in groups.values()):
            raise BadUsage(
                f"no migration has the session `{probe.sessions[0]}` of the question "
                f"`{probe.question}`: correct its id, or remove the question"
            )
    return {
        group: [probe for probe in probes if not sessions.isdisjoint(probe.sessions)]
        for group, sessions in groups.items()
    }
