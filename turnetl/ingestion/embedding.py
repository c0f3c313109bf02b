"""Embeddings of the entities and facts that a turn writes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from turnetl.base.model import Entity, Fact, Vector


async def with_embeddings(
    entities: Sequence[Entity],
    facts: Sequence[Fact],
    embed: Callable[[Sequence[str]], Awaitable[Sequence[Vector]]],
) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
    """Return the entities and facts, each with an embedding: of its name, or of its text.

    Args:
        entities: some have one already.
        facts: some have one already.
        embed: called once with all texts that are missing one, if there are any.
    """
    names = [entity.name for entity in entities if entity.embedding is None]
    texts = [fact.text for fact in facts if fact.embedding is None]
    vectors = iter(await embed([*names, *texts]) if names or texts else ())
    return (
        tuple(
            entity if entity.embedding is not None else replace(entity, embedding=next(vectors))
            for entity in entities
        ),
        tuple(
            fact if fact.embedding is not None else replace(fact, embedding=next(vectors))
            for fact in facts
        ),
    )
