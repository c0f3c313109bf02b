"""Extraction of turns ahead of their commit, each with the turns of its context."""

import asyncio
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any

from turnetl.model import Episode, TurnId

Extract = Callable[[Episode, Sequence[Episode]], Coroutine[Any, Any, Any]]

MAX_PREFETCHED_CHARS = 20_000_000
"""Characters of prefetched turns: each occupies four bytes and more until it is committed."""


async def prefetch_extractions(
    episodes: Iterable[Episode],
    context: Mapping[TurnId, Sequence[TurnId]],
    extract: Extract,
    *,
    limit: int,
) -> AsyncGenerator[tuple[Episode, asyncio.Task[Any]]]:
    """Yield the turns in order, each with its extraction, running or complete.

    Closing the generator cancels the running extractions.

    Args:
        episodes: see `with_context`.
        context: see `with_context`.
        extract: extracts a turn, given its context.
        limit: maximum number of turns in extraction or extracted and not yet yielded; fewer if they
            are very long.
    """
    window: deque[tuple[Episode, asyncio.Task[Any]]] = deque()
    try:
        for episode, earlier in with_context(episodes, context):
            window.append((episode, asyncio.create_task(extract(episode, earlier))))
            while len(window) >= limit or (len(window) > 1 and _is_too_large(window)):
                yield window.popleft()
        while window:
            yield window.popleft()
    finally:
        for _, task in window:
            task.cancel()
        await asyncio.gather(*(task for _, task in window), return_exceptions=True)


def with_context(
    episodes: Iterable[Episode], context: Mapping[TurnId, Sequence[TurnId]]
) -> Iterator[tuple[Episode, list[Episode]]]:
    """Pair each turn to commit with the episodes of its context, in table order.

    An episode is kept in memory until the last turn that needs it, and no longer.

    Args:
        episodes: the turns to commit and the turns of their context, in table order.
        context: for each turn to commit, the earlier turns to show.
    """
    references = Counter(earlier for turns in context.values() for earlier in turns)
    kept: dict[TurnId, Episode] = {}
    for episode in episodes:
        required = context.get(episode.turn_id)
        if required is not None:
            yield episode, [earlier for turn, earlier in kept.items() if turn in required]
            references.subtract(required)
            for turn in required:
                if not references[turn]:
                    kept.pop(turn, None)
        if references[episode.turn_id]:
            kept[episode.turn_id] = episode


def _is_too_large(window: Iterable[tuple[Episode, object]]) -> bool:
    return sum(len(episode.text) for episode, _ in window) > MAX_PREFETCHED_CHARS
