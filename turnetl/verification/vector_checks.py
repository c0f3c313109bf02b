"""Check that each vector is that of its name or text: another one is found by other queries."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

import numpy as np

from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Vector
from turnetl.llm.vectors import stack, unpack
from turnetl.verification.check import Check
from turnetl.verification.graph_checks import Examples

EmbedAgain = Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]

_BATCH = 1000
"""Texts that are embedded together."""
_TOLERANCE = 1e-3
"""Difference of a number that another processor may compute."""
_Embedded = tuple[str, str, Vector]
"""What it is, with its id; its name or text; its embedding."""


async def vector_checks(contents: GroupContents, embed: EmbedAgain | None) -> list[Examples]:
    """Return what is wrong with the vectors of a group; missing ones are not compared.

    Args:
        contents: of the group.
        embed: the embedder that the group was filled with; None: only a vector without a direction
            is found.
    """
    embedded = list(_embedded(contents))
    wrong = [what for what, _, vector in embedded if not _has_direction(vector)]
    if embed is not None:
        for start in range(0, len(embedded), _BATCH):
            wrong += await _other_than_computed(embedded[start : start + _BATCH], embed)
    return [(Check.WRONG_VECTORS, sorted(set(wrong)))]


def _embedded(contents: GroupContents) -> Iterator[_Embedded]:
    for entity in contents.entities:
        if entity.embedding:
            yield f"entity {entity.uuid}", entity.name, entity.embedding
    for fact in contents.facts:
        if fact.embedding:
            yield f"fact {fact.uuid}", fact.text, fact.embedding


def _has_direction(vector: Vector) -> bool:
    numbers = unpack(vector)
    return bool(np.isfinite(numbers).all() and numbers.any())


async def _other_than_computed(batch: Sequence[_Embedded], embed: EmbedAgain) -> list[str]:
    expected = await embed([text for _, text, _ in batch])
    # A vector of other dimensions is a finding of its own.
    compared = [
        (what, vector, computed)
        for (what, _, vector), computed in zip(batch, expected, strict=True)
        if len(vector) == len(computed)
    ]
    if not compared:
        return []
    stored = stack([vector for _, vector, _ in compared])
    again = stack([vector for _, _, vector in compared])
    close = np.isclose(stored, again, rtol=0, atol=_TOLERANCE)
    is_same = [bool(row.all()) for row in close]
    return [what for (what, _, _), same in zip(compared, is_same, strict=True) if not same]
