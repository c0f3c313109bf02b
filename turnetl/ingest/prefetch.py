"""Turns that are extracted ahead of the commit, each with the turns of its context."""

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

MOST_TEXT = 20_000_000
"""Characters of turns that run ahead: each takes four bytes and more until it is committed."""


async def extracted(
    episodes: Iterable[Episode],
    context: Mapping[TurnId, Sequence[TurnId]],
    extract: Extract,
    *,
    most: int,
) -> AsyncGenerator[tuple[Episode, asyncio.Task[Any]]]:
    """Yield the turns in order, each with its extraction under way or done.

    Who closes this breaks off those that are under way.

    Args:
        episodes, context: as `with_context`.
        extract: says what a turn holds, given its context.
        most: turns that are extracted at once or wait to be taken; fewer if they are very long.
    """
    window: deque[tuple[Episode, asyncio.Task[Any]]] = deque()
    try:
        for episode, before in with_context(episodes, context):
            window.append((episode, asyncio.create_task(extract(episode, before))))
            while len(window) >= most or (len(window) > 1 and _text(window) > MOST_TEXT):
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

    An episode is held until the last turn that needs it, and no longer.

    Args:
        episodes: the turns to commit and those that stand in their context, in table order.
        context: for each turn to commit, the turns before it to show.
    """
    needed = Counter(before for turns in context.values() for before in turns)
    held: dict[TurnId, Episode] = {}
    for episode in episodes:
        wanted = context.get(episode.turn_id)
        if wanted is not None:
            yield episode, [one for turn, one in held.items() if turn in wanted]
            needed.subtract(wanted)
            for turn in wanted:
                if not needed[turn]:
                    held.pop(turn, None)
        if needed[episode.turn_id]:
            held[episode.turn_id] = episode


def _text(window: Iterable[tuple[Episode, object]]) -> int:
    return sum(len(episode.text) for episode, _ in window)
