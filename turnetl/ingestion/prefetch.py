"""Extraction of turns ahead of their commit, each with the turns of its context."""

import asyncio
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any

from turnetl.base.model import Episode, TurnId
from turnetl.ingestion.admission import AdmittedTurn, TurnAdmission
from turnetl.llm.accounts import charged_to

Extract = Callable[[Episode, Sequence[Episode]], Coroutine[Any, Any, Any]]

MAX_PREFETCHED_CHARS = 20_000_000
"""Characters of prefetched turns: each occupies four bytes and more until it is committed."""


@dataclass(frozen=True, slots=True)
class PrefetchedTurn:
    """A turn whose extraction has started."""

    episode: Episode
    admitted: AdmittedTurn
    extraction: asyncio.Task[Any]
    """Running or complete."""


async def prefetch_turns(
    turns: Iterator[tuple[Episode, Sequence[Episode]]],
    extract: Extract,
    *,
    limit: int,
    admission: TurnAdmission,
    window: deque[PrefetchedTurn] | None = None,
) -> AsyncGenerator[PrefetchedTurn]:
    """Yield the turns in order, each with its extraction.

    Closing the generator cancels the running extractions.

    Args:
        turns: each with its context, from `with_context`.
        limit: maximum number of turns in extraction or extracted and not yet yielded; fewer if they
            are very long.
        admission: starts the turns. The receiver finishes each turn that it was yielded.
        window: an empty one, which holds the turns that have started and are not yielded yet.
    """
    window = deque() if window is None else window
    following = next(turns, None)
    try:
        while window or following is not None:
            while following is not None and len(window) < limit and not _is_too_large(window):
                chars = len(following[0].text)
                admitted = admission.try_start(chars) if window else await admission.start(chars)
                if admitted is None:
                    break
                admitted.account.place = len(window)
                window.append(_start(*following, extract, admitted))
                following = next(turns, None)
            for place, turn in enumerate(window):
                turn.admitted.account.place = place
            yield window.popleft()
    finally:
        for turn in window:
            turn.extraction.cancel()
        await asyncio.gather(*(turn.extraction for turn in window), return_exceptions=True)
        for turn in window:
            turn.admitted.finish()


def _start(
    episode: Episode, earlier: Sequence[Episode], extract: Extract, admitted: AdmittedTurn
) -> PrefetchedTurn:
    with charged_to(admitted.account):
        return PrefetchedTurn(episode, admitted, asyncio.create_task(extract(episode, earlier)))


def with_context(
    episodes: Iterable[Episode], context: Mapping[TurnId, Sequence[TurnId]]
) -> Iterator[tuple[Episode, list[Episode]]]:
    """Pair each turn to commit with the episodes of its context, in table order.

    An episode is kept in memory until the last turn that needs it, and no longer.

    Args:
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


def _is_too_large(window: Collection[PrefetchedTurn]) -> bool:
    return sum(len(turn.episode.text) for turn in window) > MAX_PREFETCHED_CHARS
