"""Six small turns, and a group that takes them in."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import builders
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import Episode, SessionId

NOW = builders.START + timedelta(days=400)

SAID = (
    "`cart.py` uses `sqlite`. `pytest -q` failed with `KeyError`.",
    "`KeyError` was caused by `cart.py`. `pytest -q` failed with `KeyError`.",
    "`Cart.py` uses `sqlite`. `cart.py` depends on `pricing.py`.",
    "`cart.py` no longer uses `sqlite`. `cart.py` uses `postgres` on 2026-03-01.",
    "`pricing.py` is pinned to `!2.1`. `orders.py` was split from `cart.py` on 2026-02-28.",
    "`pytest-q` was resolved by `pricing.py`. `cart.py` calls `cart.py`.",
)
"""Names again, in other letters, as in a fuzzy one; facts again; an end; an end that nothing named;
a date in the past; a loop."""


empty_group = builders.empty_group


def episodes(said: Sequence[str] = SAID) -> list[Episode]:
    return [_episode(ordinal, one) for ordinal, one in enumerate(said)]


def _episode(ordinal: int, said: str) -> Episode:
    whole = builders.episode(
        f"p{ordinal}",
        ordinal=ordinal,
        session_id=SessionId("s1" if ordinal < 4 else "s2"),
        started_at=builders.START + timedelta(hours=ordinal),
    )
    text = f"user: {said}"
    return replace(whole, text=text, parts=(text,))


async def take_in(
    extractor: Extractor[Any], turns: Sequence[Episode], group: MirrorGroup, embedder: ToyEmbedder
) -> list[Resolved]:
    """Extract, resolve and apply each turn, as the pipeline does, without a graph."""
    results = []
    for place, episode in enumerate(turns):
        session = [t for t in turns[:place] if t.turn.session_id == episode.turn.session_id]
        extracted = await extractor.extract(episode, session[-3:])
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
