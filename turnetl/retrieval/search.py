"""Run a search: from the groups of a graph to hits, each with its best fact and its lineage.

It works on loaded groups, so every graph store returns the same hits. It reads and writes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.llm.embedders.port import Embedder
from turnetl.model import Entity, Fact, GroupContents, GroupId, Receipt, SessionId, TurnId
from turnetl.retrieval.ranking import RankedTurn, SearchableFact, SearchableTurn, rank

_MORE_FACTS = 4
"""Further facts in a hit."""
_PASSAGE_CHARS = 300
"""Maximum characters of a passage in a hit."""

PASSAGE = "PASSAGE"
"""The relation of a hit whose turn has no fact: its best passage is shown in place of one."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A turn, with the fact of it that matches the query best."""

    fact: str
    score: float
    """From 0 to 1: how much of the query was found."""
    relation: str
    """Relation of the fact, or `PASSAGE`."""
    valid_at: datetime | None
    invalid_at: datetime | None
    """When the fact stopped being valid; None if it still is."""
    group_id: GroupId
    session_id: SessionId
    turn_id: TurnId
    archive: str
    first_line: int
    last_line: int
    passage: str
    """The part of the turn's text that matches best."""
    more_facts: tuple[str, ...]
    """Further facts of the turn, best first."""


async def search(
    groups: Sequence[GroupContents],
    query: str,
    embedder: Embedder,
    *,
    limit: int = 10,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[SearchHit]:
    """Return the turns that match the query, best first, one hit per turn; possibly none.

    An entity counts for the turns that have a fact about it: by the terms of its name, labels and
    summary, and by the similarity of its name.

    Args:
        groups: the groups to search, all together.
        query: words, identifiers or a question; an empty query has no hits.
        embedder: embeds the query, and texts without a comparable vector in the graph.
        limit: maximum number of hits.
        since: only turns that started at that time or later.
        until: only turns that started before that time.
    """
    turns = list(_searchable_turns(groups, embedder, since, until))
    if not query.strip() or not turns or limit < 1:
        return []
    ranked = await rank(turns, query, embedder)
    return [_hit(turn) for turn in ranked[:limit]]


def _searchable_turns(
    groups: Sequence[GroupContents],
    embedder: Embedder,
    since: datetime | None,
    until: datetime | None,
) -> Iterator[SearchableTurn]:
    """Yield the turns of all groups, in the order of (group, session, time)."""
    for contents in sorted(groups, key=lambda group: group.group_id):
        facts = _facts_by_turn(contents, embedder)
        for receipt in sorted(contents.receipts, key=_session_and_time):
            if _is_within(receipt, since, until):
                text = contents.texts.get(receipt.turn_id, "")
                yield SearchableTurn(receipt, text, tuple(facts.get(receipt.turn_id, ())))


def _facts_by_turn(
    contents: GroupContents, embedder: Embedder
) -> dict[TurnId, list[SearchableFact]]:
    """Return the facts of each turn, oldest first."""
    # Vectors of another embedder, or of other dimensions, cannot be compared with the query's.
    profile = contents.profile
    is_comparable = (
        profile is not None
        and profile.embedder == embedder.name
        and profile.dimensions == embedder.dimensions
    )
    entities = {
        entity.uuid: entity if is_comparable else replace(entity, embedding=None)
        for entity in contents.entities
    }
    by_turn: dict[TurnId, list[SearchableFact]] = {}
    for fact in sorted(contents.facts, key=lambda fact: (fact.created_at, fact.uuid)):
        searchable = _searchable_fact(
            fact if is_comparable else replace(fact, embedding=None), entities
        )
        for turn in fact.turns:
            by_turn.setdefault(turn, []).append(searchable)
    return by_turn


def _searchable_fact(fact: Fact, entities: Mapping[str, Entity]) -> SearchableFact:
    endpoints = tuple(entities[uuid] for uuid in (fact.source, fact.target) if uuid in entities)
    text = " ".join((fact.text, *(entity.name for entity in endpoints)))
    return SearchableFact(fact, text, endpoints)


def _session_and_time(receipt: Receipt) -> tuple[SessionId, datetime, TurnId]:
    return receipt.session_id, receipt.started_at, receipt.turn_id


def _is_within(receipt: Receipt, since: datetime | None, until: datetime | None) -> bool:
    is_early = since is not None and receipt.started_at < since
    is_late = until is not None and receipt.started_at >= until
    return not is_early and not is_late


def _hit(ranked: RankedTurn) -> SearchHit:
    receipt = ranked.turn.receipt
    best = ranked.facts[0] if ranked.facts else None
    return SearchHit(
        fact=best.text if best else _truncate(ranked.passage),
        score=round(ranked.score, 4),
        relation=best.relation if best else PASSAGE,
        valid_at=best.valid_at if best else receipt.started_at,
        invalid_at=best.invalid_at if best else None,
        group_id=receipt.group_id,
        session_id=receipt.session_id,
        turn_id=receipt.turn_id,
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
        passage=_truncate(ranked.passage),
        more_facts=tuple(fact.text for fact in ranked.facts[1 : 1 + _MORE_FACTS]),
    )


def _truncate(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _PASSAGE_CHARS else f"{line[: _PASSAGE_CHARS - 1]}…"
