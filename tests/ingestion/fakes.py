"""A scripted extractor, and a store that crashes where a test wants it to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnetl.base import ids
from turnetl.base.errors import BadTurn, GraphBusy
from turnetl.base.ids import RecipePart, RecipeParts
from turnetl.base.model import Entity, Episode, Fact, GroupId
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.port import GraphStore

WORDS_RECIPE = {"words": RecipePart("1")}


@dataclass
class PromptExtractor:
    """Extracts two entities and a fact from each prompt, and records its calls.

    Runs the contract of `Extractor`, but for what product code reads from a turn.

    It fails for a prompt that contains `cannot` or `surprise`.
    """

    extracted: list[str] = field(default_factory=list)
    contexts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "words"

    @property
    def model(self) -> str | None:
        return None

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:  # noqa: ARG002 - the same for all
        return WORDS_RECIPE

    async def extract(self, episode: Episode, context: Sequence[Episode]) -> str:
        self.extracted.append(episode.turn_id)
        self.contexts[episode.turn_id] = [earlier.turn_id for earlier in context]
        await asyncio.sleep(0)
        if "cannot" in episode.turn.user_text:
            raise BadTurn("the model gave no JSON")
        if "surprise" in episode.turn.user_text:
            raise ZeroDivisionError("nobody thought of that")
        return episode.turn.user_text

    async def resolve(
        self, episode: Episode, extracted: str, group: GroupView, *, now: datetime
    ) -> Resolved:
        turn = episode.turn
        hub = Entity(
            ids.entity_id(turn.group_id, "File", "a.py"), turn.group_id, "a.py", ("File",), "", now
        )
        new = Entity(
            ids.entity_id(turn.group_id, "Concept", extracted),
            turn.group_id,
            extracted,
            ("Concept",),
            "",
            now,
        )
        fact = Fact(
            uuid=ids.fact_id(turn.turn_id, new.uuid, "TOUCHED", hub.uuid, extracted),
            group_id=turn.group_id,
            source=new.uuid,
            target=hub.uuid,
            relation="TOUCHED",
            text=extracted,
            turns=(turn.turn_id,),
            created_at=now,
            valid_at=turn.started_at,
        )
        entities = [entity for entity in (hub, new) if group.entity(entity.uuid) is None]
        return Resolved(tuple(entities), (fact,), tuple(sorted({hub.uuid, new.uuid})))

    async def close(self) -> None:
        pass


class CrashingStore:
    """A store that crashes at a given commit and delegates everything else."""

    def __init__(
        self,
        store: GraphStore,
        *,
        before: int = 0,
        after: int = 0,
        error: BaseException | None = None,
    ) -> None:
        """Wrap a store.

        Args:
            store: the store.
            before: number of the commit before which Ctrl-C arrives; or, with `error`, from which
                on every commit raises it.
            after: number of the commit whose answer is lost.
            error: raised in place of Ctrl-C.
        """
        self._store = store
        self.before, self.after, self.error = before, after, error
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, *arguments: Any, **named: Any) -> bool:
        self.commits += 1
        if self.error and self.commits >= self.before:
            raise self.error
        if self.commits == self.before:
            raise KeyboardInterrupt
        written = await self._store.commit(*arguments, **named)
        if self.commits == self.after:
            raise GraphBusy("the connection broke after the commit")
        return written
