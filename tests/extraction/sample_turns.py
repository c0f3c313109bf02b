"""Six small turns, and functions that ingest them into a group in memory."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import builders
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Episode, SessionId
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup

NOW = builders.START + timedelta(days=400)

TURN_TEXTS = (
    "`cart.py` uses `sqlite`. `pytest -q` failed with `KeyError`.",
    "`KeyError` was caused by `cart.py`. `pytest -q` failed with `KeyError`.",
    "`Cart.py` uses `sqlite`. `cart.py` depends on `pricing.py`.",
    "`cart.py` no longer uses `sqlite`. `cart.py` uses `postgres` on 2026-03-01.",
    "`pricing.py` is pinned to `!2.1`. `orders.py` was split from `cart.py` on 2026-02-28.",
    "`pytest-q` was resolved by `pricing.py`. `cart.py` calls `cart.py`.",
)
"""Repeated names, also in other case and spelling; repeated facts; an invalidated fact; an entity
that only a fact names; a date in the past; a fact about one entity twice."""


empty_group = builders.empty_group


def episodes(texts: Sequence[str] = TURN_TEXTS) -> list[Episode]:
    return [_episode(ordinal, text) for ordinal, text in enumerate(texts)]


def _episode(ordinal: int, text: str) -> Episode:
    episode = builders.episode(
        f"p{ordinal}",
        ordinal=ordinal,
        session_id=SessionId("s1" if ordinal < 4 else "s2"),
        started_at=builders.START + timedelta(hours=ordinal),
    )
    rendered = f"user: {text}"
    return replace(episode, text=rendered, chunks=(rendered,))


def context(turns: Sequence[Episode], index: int) -> list[Episode]:
    """Return the last three turns of the session before the turn at `index`."""
    session = turns[index].turn.session_id
    return [turn for turn in turns[:index] if turn.turn.session_id == session][-3:]


async def ingest(
    extractor: Extractor[Any], turns: Sequence[Episode], group: MirrorGroup, embedder: ToyEmbedder
) -> list[Resolved]:
    """Extract, resolve and apply each turn, as the pipeline does, without a graph."""
    results = []
    for index, episode in enumerate(turns):
        extracted = await extractor.extract(episode, context(turns, index))
        resolved = await extractor.resolve(episode, extracted, group, now=NOW)
        await apply(group, episode, resolved, embedder)
        results.append(resolved)
    return results


async def apply(
    group: MirrorGroup, episode: Episode, resolved: Resolved, embedder: ToyEmbedder
) -> None:
    entities = [
        replace(entity, embedding=entity.embedding or (await embedder.embed([entity.name]))[0])
        for entity in resolved.entities
    ]
    facts = [
        replace(fact, embedding=fact.embedding or (await embedder.embed([fact.text]))[0])
        for fact in resolved.facts
    ]
    group.apply(builders.change(episode, entities, facts), builders.receipt(episode))
