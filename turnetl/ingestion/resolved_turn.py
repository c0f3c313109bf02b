"""A turn resolved against its group: all that its commit writes."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph_model import Receipt
from turnetl.ingestion.bad_turns import as_bad_turn
from turnetl.ingestion.commit import build_change, build_receipt
from turnetl.ingestion.embedding import with_embeddings
from turnetl.llm.embedders.port import Embedder
from turnetl.model import Change, Episode


@dataclass(frozen=True, slots=True)
class ResolvedTurn:
    """What a commit of a turn writes, and what its extractor said of it."""

    change: Change
    receipt: Receipt
    resolved: Resolved


async def resolve_turn(
    extractor: Extractor[Any],
    embedder: Embedder,
    episode: Episode,
    extracted: Any,
    group: MirrorGroup,
    *,
    run_id: str,
    now: datetime,
) -> ResolvedTurn:
    """Resolve and embed an extracted turn. Does not change the group.

    Args:
        extractor: extracted the turn.
        embedder: embeds the names and facts that have no vector yet.
        episode: the turn.
        extracted: of `extractor.extract`.
        group: as it is after the commit before.
        run_id: of the run that commits it.
        now: the current time.

    Raises:
        BadTurn: this turn cannot be ingested; the others can.
    """
    with as_bad_turn(episode):
        found = await extractor.resolve(episode, extracted, group, now=now)
        entities, facts = await with_embeddings(found.entities, found.facts, embedder.embed)
        resolved = replace(found, entities=entities, facts=facts)
        change = build_change(episode, resolved, group)
        return ResolvedTurn(
            change, build_receipt(change, extractor, run_id=run_id, now=now), resolved
        )
