"""Turns of the sample archives as one group, as many as a test needs, and the pipeline for them."""

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
from turnetl import pipeline
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, GroupId, SessionId, TurnId
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import Lake, LocalFiles
from turnetl.llm.embedders import Embedder
from turnetl.settings import Settings

NOW = datetime(2031, 1, 1, tzinfo=UTC)
CONTEXT = 3
"""Earlier turns of the session in a prompt."""

_NAME = re.compile(r"\b[\w-]+(?=[./][\w./-]*\w)|\b[A-Z][a-z]+[A-Z]\w+|\b[a-z]+_[a-z_]+\b")
_MAX_CHARS = 6_000
"""Characters of a turn that fits into one prompt without being truncated."""


def turns(archives: Path, lake: Path, size: int) -> list[Episode]:
    """Return `size` turns, oldest first; turns repeat with other names until there are enough."""
    settings = Settings(lake=lake, group=GROUP)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    kept = [
        episode
        for episode in Lake(lake).episodes(GROUP)
        if episode.noise is None and episode.turn.started_at and len(episode.text) < _MAX_CHARS
    ]
    return list(islice(repeat_with_variations(kept), size))


def previous_turns(episodes: Sequence[Episode], turn: Episode) -> list[TurnId]:
    """Return the last turns of the session before this one, oldest first."""
    session = turn.turn.session_id
    earlier = episodes[: episodes.index(turn)]
    return [episode.turn_id for episode in earlier if episode.turn.session_id == session][-CONTEXT:]


@dataclass
class RecordingExtractor:
    """Passes calls on to an extractor and keeps its results."""

    extractor: Extractor[Any]
    resolved: dict[TurnId, Resolved] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.extractor.name

    @property
    def model(self) -> str | None:
        return self.extractor.model

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        return self.extractor.recipe_parts(group, kind)

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> Any:
        return await self.extractor.extract(episode, context)

    async def resolve(
        self, episode: Episode, extracted: Any, group: GroupView, *, now: datetime
    ) -> Resolved:
        resolved = await self.extractor.resolve(episode, extracted, group, now=now)
        self.resolved[episode.turn_id] = resolved
        return resolved

    async def close(self) -> None:
        await self.extractor.close()

    @property
    def mentions(self) -> list[tuple[str, str]]:
        """Pairs of turn and entity."""
        return [
            (turn, entity)
            for turn, resolved in self.resolved.items()
            for entity in resolved.mentions
        ]


async def ingest(
    store: GraphStore,
    extractor: Extractor[Any],
    embedder: Embedder,
    episodes: Sequence[Episode],
    folder: Path,
    *,
    start: int = 0,
    summaries: SummaryRules | None = None,
) -> GroupContents:
    """Ingest the turns from `start` on; return the contents of the store."""
    run = IngestRun(
        "run", "test:1", TickingClock(), timedelta(minutes=30), prefetch=8, retry_delay=0
    )
    pipeline = TurnPipeline(
        store, extractor, embedder, Quarantine(LocalFiles(folder), GROUP), run, summaries=summaries
    )
    context = {episode.turn_id: previous_turns(episodes, episode) for episode in episodes[start:]}
    report = await pipeline.ingest(GROUP, episodes, context, lambda _: None)
    assert report.committed == len(context)
    return await store.load(GROUP)


class TickingClock:
    """Each call returns a time one second later."""

    def __init__(self) -> None:
        self._seconds = count()

    def __call__(self) -> datetime:
        return NOW + timedelta(seconds=next(self._seconds))


def repeat_with_variations(episodes: Sequence[Episode]) -> Iterator[Episode]:
    """Yield the turns again and again, each time a year later and with other names."""
    for repetition in count():
        for episode in episodes:
            yield _varied(episode, repetition) if repetition else episode


def _varied(episode: Episode, repetition: int) -> Episode:
    """Return the turn years later, some of its names replaced, some in capitals."""
    original, later = episode.turn, timedelta(days=365 * repetition)
    assert original.started_at is not None
    text = _NAME.sub(lambda name: _varied_name(name[0], repetition), episode.text)
    turn = replace(
        original,
        turn_id=ids.turn_id(original.group_id, original.format, f"{original.turn_id} {repetition}"),
        session_id=SessionId(f"{original.session_id} {repetition}"),
        started_at=original.started_at + later,
        ended_at=original.ended_at and original.ended_at + later,
    )
    return replace(episode, turn=turn, text=text, chunks=(text,), text_hash=ids.digest(text))


def _varied_name(name: str, repetition: int) -> str:
    digest = blake2b(f"{name} {repetition}".encode(), digest_size=1).digest()[0] % 8
    if digest == 0:
        return name.upper()
    return f"{name}{repetition}" if digest <= 2 else name


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[GraphStore]:
    store = await open_graph(url, user="", password="")
    await store.prepare()
    yield store
    await store.close()
