"""Turns and their contexts come in order and stay in memory no longer than necessary."""

import asyncio
import gc
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, episode
from turnetl.base.model import Episode, SessionId, TurnId
from turnetl.ingestion.admission import (
    MAX_PREFETCHED_CHARS,
    TurnAdmission,
    prefetch_turns,
    with_context,
)


def episodes_of(sessions: str) -> list[Episode]:
    return [
        episode(
            f"{session}{number}",
            session_id=SessionId(session),
            ordinal=number,
            started_at=START + timedelta(minutes=number),
        )
        for number, session in enumerate(sessions)
    ]


def contexts(episodes: list[Episode], size: int) -> dict[TurnId, tuple[TurnId, ...]]:
    found = {}
    for place, one in enumerate(episodes):
        before = [e for e in episodes[:place] if e.turn.session_id == one.turn.session_id]
        found[one.turn_id] = tuple(e.turn_id for e in before[-size:])
    return found


def test_each_turn_comes_with_the_turns_of_its_context_oldest_first() -> None:
    episodes = episodes_of("abababbaab")
    context = contexts(episodes, 3)
    found = list(with_context(episodes, context))
    assert [one.turn_id for one, _ in found] == [one.turn_id for one in episodes]
    for one, before in found:
        assert tuple(e.turn_id for e in before) == context[one.turn_id]


def test_turns_that_are_only_context_are_not_yielded() -> None:
    episodes = episodes_of("aaaa")
    context = {episodes[3].turn_id: (episodes[0].turn_id, episodes[2].turn_id)}
    ((one, before),) = with_context(episodes, context)
    assert (one, before) == (episodes[3], [episodes[0], episodes[2]])


@pytest.mark.parametrize(
    ("length", "window"), [(20, 6), (MAX_PREFETCHED_CHARS // 3, 4), (MAX_PREFETCHED_CHARS, 2)]
)
async def test_very_long_turns_are_not_prefetched_together(length: int, window: int) -> None:
    text = "x" * length
    episodes = [replace(one, text=text) for one in episodes_of("aaaaaaaa")]
    started: list[TurnId] = []

    async def extract(one: Episode, _: Sequence[Episode]) -> TurnId:
        started.append(one.turn_id)
        return one.turn_id

    context = {one.turn_id: () for one in episodes}
    yielded: list[TurnId] = []
    largest = 0
    admission = TurnAdmission()
    turns = with_context(episodes, context)
    prefetched = prefetch_turns(turns, extract, limit=6, admission=admission)
    async with aclosing(prefetched) as ahead:
        async for turn in ahead:
            await asyncio.sleep(0)
            largest = max(largest, len(started) - len(yielded))
            yielded.append(await turn.extraction)
    assert yielded == started == list(context)
    assert largest == window


def test_the_turns_of_completed_sessions_are_not_kept_in_memory() -> None:
    sessions = "".join(letter * 5 for letter in "abcdefghijklmnopqrstuvwxyz")
    context = contexts(episodes_of(sessions), 3)
    # Everything that exists already: otherwise each count would search it.
    gc.freeze()
    counts = [_episodes_in_memory() for _ in with_context(_generate(sessions), context)]
    gc.unfreeze()
    assert max(counts) <= 5


def _generate(sessions: str) -> Iterator[Episode]:
    for number in range(len(sessions)):
        yield episodes_of(sessions[: number + 1])[number]


def _episodes_in_memory() -> int:
    return sum(type(one) is Episode for one in gc.get_objects())
