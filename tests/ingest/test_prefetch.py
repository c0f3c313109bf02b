"""Turns with their contexts: in order, and held no longer than needed."""

import asyncio
import gc
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, episode
from turnetl.ingest.prefetch import MAX_PREFETCHED_CHARS, prefetch_extractions, with_context
from turnetl.model import Episode, SessionId, TurnId


def turns(sessions: str) -> list[Episode]:
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


def test_each_turn_comes_with_the_turns_that_were_named_for_it_oldest_first() -> None:
    episodes = turns("abababbaab")
    context = contexts(episodes, 3)
    found = list(with_context(episodes, context))
    assert [one.turn_id for one, _ in found] == [one.turn_id for one in episodes]
    for one, before in found:
        assert tuple(e.turn_id for e in before) == context[one.turn_id]


def test_turns_that_are_there_for_the_context_alone_do_not_come_themselves() -> None:
    episodes = turns("aaaa")
    context = {episodes[3].turn_id: (episodes[0].turn_id, episodes[2].turn_id)}
    ((one, before),) = with_context(episodes, context)
    assert (one, before) == (episodes[3], [episodes[0], episodes[2]])


@pytest.mark.parametrize(
    ("length", "at_once"), [(20, 6), (MAX_PREFETCHED_CHARS // 3, 4), (MAX_PREFETCHED_CHARS, 2)]
)
async def test_very_long_turns_do_not_run_ahead_together(length: int, at_once: int) -> None:
    text = "x" * length
    episodes = [replace(one, text=text) for one in turns("aaaaaaaa")]
    begun: list[TurnId] = []

    async def extract(one: Episode, _: Sequence[Episode]) -> TurnId:
        begun.append(one.turn_id)
        return one.turn_id

    context = {one.turn_id: () for one in episodes}
    taken: list[TurnId] = []
    most = 0
    async with aclosing(prefetch_extractions(episodes, context, extract, limit=6)) as ahead:
        async for _, task in ahead:
            await asyncio.sleep(0)
            most = max(most, len(begun) - len(taken))
            taken.append(await task)
    assert taken == begun == list(context)
    assert most == at_once


def test_sessions_that_are_over_are_not_held_in_memory() -> None:
    sessions = "".join(sign * 5 for sign in "abcdefghijklmnopqrstuvwxyz")
    context = contexts(turns(sessions), 3)
    # All that exists already: else each count would look through it.
    gc.freeze()
    held = [_held() for _ in with_context(_one_by_one(sessions), context)]
    gc.unfreeze()
    assert max(held) <= 5


def _one_by_one(sessions: str) -> Iterator[Episode]:
    for number in range(len(sessions)):
        yield turns(sessions[: number + 1])[number]


def _held() -> int:
    return sum(type(one) is Episode for one in gc.get_objects())
