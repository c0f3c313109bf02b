"""An extractor and a store that do what a test says."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnetl import ids
from turnetl.errors import BadTurn, GraphBusy
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore
from turnetl.model import Entity, Episode, Fact, GroupId


@dataclass
class PromptExtractor:
    """Two entities and a fact a turn; fails where the prompt says so, and remembers its calls."""

    extracted: list[str] = field(default_factory=list)
    contexts: dict[str, list[str]] = field(default_factory=dict)

    def recipe(self, group: GroupId, kind: str = "") -> str:  # noqa: ARG002 - for all the same
        return "words-1"

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> str:
        self.extracted.append(episode.turn_id)
        self.contexts[episode.turn_id] = [before.turn_id for before in context]
        await asyncio.sleep(0)
        if "cannot" in episode.turn.user_text:
            raise BadTurn("the model gave no JSON")
        if "surprise" in episode.turn.user_text:
            raise ZeroDivisionError("nobody thought of that")
        return episode.turn.user_text

    async def resolve(
        self, episode: Episode, extracted: str, group: MirrorGroup, *, now: datetime
    ) -> Resolved:
        of = episode.turn
        hub = Entity(
            ids.entity_id(of.group_id, "File", "a.py"), of.group_id, "a.py", ("File",), "", now
        )
        new = Entity(
            ids.entity_id(of.group_id, "Concept", extracted),
            of.group_id,
            extracted,
            ("Concept",),
            "",
            now,
        )
        fact = Fact(
            uuid=ids.fact_id(of.turn_id, new.uuid, "TOUCHED", hub.uuid, extracted),
            group_id=of.group_id,
            source=new.uuid,
            target=hub.uuid,
            name="TOUCHED",
            text=extracted,
            turns=(of.turn_id,),
            created_at=now,
            valid_at=of.started_at,
        )
        entities = [thing for thing in (hub, new) if group.entity(thing.uuid) is None]
        return Resolved(tuple(entities), (fact,), tuple(sorted({hub.uuid, new.uuid})))

    async def close(self) -> None:
        pass


class CrashingStore:
    """A store that dies where it is told to; everything else goes through."""

    def __init__(
        self,
        store: GraphStore,
        *,
        before: int = 0,
        after: int = 0,
        dies: BaseException | None = None,
    ) -> None:
        """Die before that commit with Ctrl-C, or for good with `dies`; or after that commit."""
        self._store = store
        self.before, self.after, self.dies = before, after, dies
        self.commits = 0
        self.acquired = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def acquire(self, *values: Any, **named: Any) -> Any:
        self.acquired += 1
        return await self._store.acquire(*values, **named)

    async def commit(self, *values: Any, **named: Any) -> bool:
        self.commits += 1
        if self.dies and self.commits >= self.before:
            raise self.dies
        if self.commits == self.before:
            raise KeyboardInterrupt
        written = await self._store.commit(*values, **named)
        if self.commits == self.after:
            raise GraphBusy("the connection broke after the commit")
        return written
