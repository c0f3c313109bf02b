"""The entity that a user names as the center of a search."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from turnetl.base.errors import BadUsage
from turnetl.base.model import Entity

_MAX_CANDIDATES = 8
"""Candidates that a message names."""
_SHORT_UUID = 8
"""Characters."""


def find_entity(entities: Iterable[Entity], reference: str) -> Entity:
    """Return the entity with this uuid, this exact name, or a uuid that begins so; in this order.

    Raises:
        BadUsage: no entity, or several; names the candidates.
    """
    known = list(entities)
    for matching in (
        [entity for entity in known if entity.uuid == reference],
        [entity for entity in known if entity.name == reference],
        [entity for entity in known if reference and entity.uuid.startswith(reference.lower())],
    ):
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise _ambiguous(reference, matching)
    raise _unknown(reference, known)


def _ambiguous(reference: str, candidates: Sequence[Entity]) -> BadUsage:
    in_groups = len({entity.group_id for entity in candidates}) > 1
    group = ", or its group with `--group`" if in_groups else ""
    return BadUsage(
        f"`{reference}` is {len(candidates):,} entities: {_listed(candidates)}; "
        f"name one by its uuid or the beginning of it{group}"
    )


def _unknown(reference: str, entities: Sequence[Entity]) -> BadUsage:
    by_name = {entity.name.lower(): entity for entity in reversed(entities)}
    close = get_close_matches(reference.lower(), by_name, n=_MAX_CANDIDATES)
    if close:
        hint = f"similar are {_listed([by_name[name] for name in close])}"
    else:
        hint = "a search with a NODE recipe lists entities with their uuids"
    return BadUsage(f"no entity of the searched groups is named `{reference}`; {hint}")


def _listed(candidates: Sequence[Entity]) -> str:
    """Return name, labels, group and the beginning of the uuid of the first candidates."""
    shortest = _distinct_length(candidates)
    named = [
        f"`{entity.name}` ({', '.join((*entity.labels, entity.group_id))}, "
        f"{entity.uuid[:shortest]})"
        for entity in candidates[:_MAX_CANDIDATES]
    ]
    more = len(candidates) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _distinct_length(candidates: Sequence[Entity]) -> int:
    """Return how many characters of the uuids tell the candidates apart, at least 8."""
    longest = max(len(entity.uuid) for entity in candidates)
    lengths = range(_SHORT_UUID, longest)
    is_distinct = (
        len({entity.uuid[:length] for entity in candidates}) == len(candidates)
        for length in lengths
    )
    return next((n for n, distinct in zip(lengths, is_distinct, strict=True) if distinct), longest)
