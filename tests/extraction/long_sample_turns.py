"""Sixty turns and more out of archives, as of one group, in order, through the whole pipeline."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from typing import Any

from tests.builders import GROUP
from turnetl import ids, pipeline
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestRun, TurnPipeline
from turnetl.lake import Lake
from turnetl.llm.embedders.port import Embedder
from turnetl.model import Episode, GroupContents, GroupId, SessionId, TurnId
from turnetl.settings import Settings

NOW = datetime(2031, 1, 1, tzinfo=UTC)
CONTEXT = 3
"""Earlier turns of the session that stand in a prompt."""

_NAME = re.compile(r"\b[\w-]+(?=[./][\w./-]*\w)|\b[A-Z][a-z]+[A-Z]\w+|\b[a-z]+_[a-z_]+\b")
_LONGEST = 6_000
"""Characters of a turn: shown whole, and in one prompt."""


def turns(archives: Path, lake: Path, size: int) -> list[Episode]:
    """Return so many turns, oldest first; told again, with other names, until there are enough."""
    settings = Settings(lake=lake, group=GROUP)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    kept = [
        one
        for one in Lake(lake).episodes(GROUP)
        if one.noise is None and one.turn.started_at and len(one.text) < _LONGEST
    ]
    return list(islice(told_again(kept), size))


def shown_before(episodes: Sequence[Episode], turn: Episode) -> list[TurnId]:
    """Return the last turns of the session before this one, oldest first."""
    session = turn.turn.session_id
    earlier = episodes[: episodes.index(turn)]
    return [one.turn_id for one in earlier if one.turn.session_id == session][-CONTEXT:]


@dataclass
class Watched:
    """An extractor, and what came out of it."""

    extractor: Extractor[Any]
    resolved: dict[TurnId, Resolved] = field(default_factory=dict)

    def recipe(self, group: GroupId, kind: str = "") -> str:
        return self.extractor.recipe(group, kind)

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        return await self.extractor.extract(episode, context)

    async def resolve(
        self, episode: Episode, extracted: Any, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        resolved = await self.extractor.resolve(episode, extracted, group, now=now)
        self.resolved[episode.turn_id] = resolved
        return resolved

    async def close(self) -> None:
        await self.extractor.close()

    @property
    def mentions(self) -> list[tuple[str, str]]:
        """Pairs of turn and thing."""
        return [(turn, thing) for turn, one in self.resolved.items() for thing in one.mentions]


async def ingested(
    store: GraphStore,
    extractor: Extractor[Any],
    embedder: Embedder,
    episodes: Sequence[Episode],
    folder: Path,
    *,
    start: int = 0,
) -> GroupContents:
    """Put the turns through the pipeline, from `start` on; return what the store then holds."""
    run = IngestRun("run", "test:1", Clock(), timedelta(minutes=30), prefetch=8, retry_delay=0)
    pipeline = TurnPipeline(store, extractor, embedder, Quarantine(folder, GROUP), run)
    shown = {one.turn_id: shown_before(episodes, one) for one in episodes[start:]}
    done = await pipeline.ingest(GROUP, episodes, shown, lambda _: None)
    assert done.committed == len(shown)
    return await store.load(GROUP)


class Clock:
    """Every look at it is a second later."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> datetime:
        return NOW + timedelta(seconds=next(self._seconds))


def told_again(episodes: Sequence[Episode]) -> Iterator[Episode]:
    """Yield the turns, and then again and again, a year later each time, with other names."""
    for around in count():
        for one in episodes:
            yield _varied(one, around) if around else one


def _varied(one: Episode, around: int) -> Episode:
    """Return the turn a year later: some of its names are others, some in other letters."""
    of, later = one.turn, timedelta(days=365 * around)
    assert of.started_at is not None
    text = _NAME.sub(lambda name: _other(name[0], around), one.text)
    turn = replace(
        of,
        turn_id=ids.turn_id(of.group_id, of.format, f"{of.turn_id} {around}"),
        session_id=SessionId(f"{of.session_id} {around}"),
        started_at=of.started_at + later,
        ended_at=of.ended_at and of.ended_at + later,
    )
    return replace(one, turn=turn, text=text, parts=(text,), text_hash=ids.digest(text))


def _other(name: str, around: int) -> str:
    chance = blake2b(f"{name} {around}".encode(), digest_size=1).digest()[0] % 8
    if chance == 0:
        return name.upper()
    return f"{name}{around}" if chance <= 2 else name


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[GraphStore]:
    store = await open_graph(url, user="", password="")
    await store.prepare()
    yield store
    await store.close()
