"""Turns that are resolved before the turns before them are committed, so that requests are sent.

The turns after the one that commits are resolved one after the other, each against the group as it
will be if the turns before it change what is guessed (`llm.ahead`). Nothing of it is written: the
commit resolves each turn again, against the group as it is, and finds the responses to the requests
that were guessed right. When a response shows that a guess was wrong, and when a turn was committed
with another result, the turns from there on are resolved again.
"""

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from turnetl.base.errors import BadTurn, TurnetlError
from turnetl.base.model import Change, Entity, Fact, TurnId
from turnetl.extraction.port import Extractor
from turnetl.graph.from_rows import in_order
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import Overlay
from turnetl.ingestion.admission import PrefetchedTurn
from turnetl.ingestion.commit import MirroredGroup, change_of, with_embeddings
from turnetl.llm.ahead import AheadModel, TurnAhead
from turnetl.llm.costs import charged_to
from turnetl.llm.embedders import Embedder

_Created = TypeVar("_Created", Entity, Fact)
Outcome = Mapping[str, object]
"""What a turn makes of each entity and fact, by uuid, without times of the run."""


@dataclass(slots=True, eq=False)
class AheadStep:
    """A turn that is resolved ahead."""

    turn: PrefetchedTurn
    requests: TurnAhead
    overlay: Overlay
    """The group after the turn, if the guesses are right."""
    change: Change | None = None
    """What the turn changes, if the guesses are right."""
    outcome: Outcome = field(default_factory=dict)

    def take_times(self, committed: Change) -> None:
        """Take the times at which a turn before this one created what this one changes."""
        if self.change is None:
            return
        times = {one.uuid: one.created_at for one in committed.entities}
        times |= {one.uuid: one.created_at for one in committed.facts}
        entities = [one.uuid for one in self.change.entities if one.uuid in times]
        facts = [one.uuid for one in self.change.facts if one.uuid in times]
        self.overlay.add(
            _with_times(map(self.overlay.entity, entities), times),
            _with_times(map(self.overlay.fact, facts), times),
        )
        self.change = replace(
            self.change,
            entities=tuple(_with_times(self.change.entities, times)),
            facts=tuple(_with_times(self.change.facts, times)),
        )


def outcome_of(change: Change) -> Outcome:
    entities = {
        one.uuid: (one.name, one.labels, one.summary, one.attributes) for one in change.entities
    }
    facts = {
        one.uuid: (one.source, one.target, one.text, one.turns, one.valid_at, one.invalid_at)
        for one in change.facts
    }
    return {**entities, **facts, **change.summary_texts}


def _with_times(
    items: Iterable[_Created | None], times: Mapping[str, datetime]
) -> Iterator[_Created]:
    for item in items:
        if item is not None:
            created_at = times.get(item.uuid)
            yield item if created_at is None else replace(item, created_at=created_at)


log = logging.getLogger(__name__)

MAX_UNUSED_SHARE = 0.15
"""Of all tokens: if more were spent on requests that ran ahead in vain, no turn runs ahead."""

_GRACE_PERIOD = 0.5
"""Seconds for attempts to end with their group: milliseconds, unless one awaits a response."""
_LATER = timedelta(days=365)
"""What runs ahead is created after what is committed meanwhile: facts are shown in that order."""


@dataclass(eq=False)
class RunAhead:
    """Resolves the next turns of one group ahead of their commit."""

    extractor: Extractor[Any]
    """Sends its requests to `model`."""
    embedder: Embedder
    model: AheadModel
    group: MirroredGroup
    """As it is committed."""
    _: KW_ONLY
    depth: int
    """Turns after the one that commits, at least 1."""
    clock: Callable[[], datetime]
    may_run: Callable[[], bool]
    """Whether the budget of the run has room."""

    def __post_init__(self) -> None:
        self._turns: Sequence[PrefetchedTurn] = ()
        self._chain: deque[AheadStep] = deque()
        self._attempted: AheadStep | None = None
        """The turn after the last one of the chain, while it is being resolved."""
        self._attempts: set[asyncio.Task[None]] = set()
        self._requests: dict[TurnId, TurnAhead] = {}
        self._failed: TurnId | None = None
        """The turn that cannot be resolved ahead as long as nothing before it changes."""
        self._warned: set[TurnId] = set()

    @contextmanager
    def committing(
        self, turn: PrefetchedTurn, following: Iterable[PrefetchedTurn]
    ) -> Iterator[None]:
        """Run ahead of a turn while this context commits it, and share their requests.

        `following` are the turns after it whose extraction has started.
        """
        self._turns = [turn, *islice(following, self.depth)]
        self._advance()
        with self.model.committing(self._requests_of(turn)):
            try:
                yield
            except BadTurn:
                self._drop(0)
                self._end(turn)
                raise

    def committed(self, turn: PrefetchedTurn, change: Change) -> None:
        """Go on from the first of the turns to come: it was committed and applied to the group."""
        first = self._chain.popleft() if self._chain else None
        if first is not None and first.turn is turn and first.outcome == outcome_of(change):
            first.overlay.clear()
            for step in self._chain:
                step.take_times(change)
            if self._chain:
                self._chain[0].overlay.rebase(self.group.mirror)
        else:
            self._drop(0)
        self._end(turn)

    async def close(self) -> None:
        self._turns = ()
        self._drop(0)
        for requests in self._requests.values():
            self.model.release(requests)
        self._requests.clear()
        # They end with their next request. One that is cancelled before leaves coroutines of
        # Graphiti's that were never awaited, and a warning for each on the terminal.
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=_GRACE_PERIOD)
        for attempt in self._attempts:
            attempt.cancel()
        await asyncio.gather(*self._attempts, return_exceptions=True)

    def _end(self, turn: PrefetchedTurn) -> None:
        requests = self._requests.pop(turn.episode.turn_id, None)
        if requests is not None:
            self.model.release(requests)
        self._turns = [other for other in self._turns if other is not turn]
        self._failed = None
        self._advance()

    def _advance(self) -> None:
        """Resolve the next turn ahead, if none is being resolved."""
        if self._attempted is not None or (turn := self._following()) is None:
            return
        base = self._chain[-1].overlay if self._chain else self.group.mirror
        step = self._attempted = AheadStep(turn, self._requests_of(turn), Overlay(base))
        attempt = asyncio.create_task(self._resolve(step, base))
        self._attempts.add(attempt)
        attempt.add_done_callback(lambda done: self._finish(step, done))

    def _requests_of(self, turn: PrefetchedTurn) -> TurnAhead:
        requests = TurnAhead(_weak(self._on_wrong_guess))
        return self._requests.setdefault(turn.episode.turn_id, requests)

    def _finish(self, step: AheadStep, attempt: asyncio.Task[None]) -> None:
        self._attempts.discard(attempt)
        # Marks the exception as retrieved, also that of an attempt that was given up.
        error = None if attempt.cancelled() else attempt.exception()
        if step is not self._attempted:
            return
        self._attempted = None
        if error is None:
            self.model.keep_asked(step.requests)
            self._chain.append(step)
        else:
            turn_id = self._failed = step.turn.episode.turn_id
            is_expected = isinstance(error, TurnetlError) or turn_id in self._warned
            level = logging.DEBUG if is_expected else logging.WARNING
            self._warned.add(turn_id)
            log.log(level, "a turn cannot run ahead", extra={"turn_id": turn_id}, exc_info=error)
        self._advance()

    def _following(self) -> PrefetchedTurn | None:
        """Return the next turn to resolve ahead, if its extraction is complete."""
        number = len(self._chain)
        if number >= len(self._turns) or self.model.unused_share > MAX_UNUSED_SHARE:
            return None
        turn = self._turns[number]
        if turn.episode.turn_id == self._failed or not self.may_run():
            return None
        if not turn.extraction.done():
            turn.extraction.add_done_callback(lambda _: self._advance())
            return None
        is_extracted = not turn.extraction.cancelled() and turn.extraction.exception() is None
        return turn if is_extracted else None

    async def _resolve(self, step: AheadStep, group: GroupView) -> None:
        """Resolve a turn against the group after the turns of the chain."""
        turn = step.turn
        with charged_to(turn.admitted.account), self.model.attempt(step.requests):
            resolved = await self.extractor.resolve(
                turn.episode, turn.extraction.result(), group, now=self.clock() + _LATER
            )
            entities, facts = await with_embeddings(
                resolved.entities, resolved.facts, self.embedder.embed
            )
            change = change_of(
                turn.episode, replace(resolved, entities=entities, facts=facts), group
            )
            step.change, shown = await self._summarised(change)
        texts = shown.summary_texts.items()
        known = ((group.entity(uuid), text) for uuid, text in texts)
        others = [replace(entity, summary=text) for entity, text in known if entity is not None]
        step.overlay.add([*in_order(shown.entities), *others], in_order(shown.facts))
        step.outcome = outcome_of(shown)

    async def _summarised(self, change: Change) -> tuple[Change, Change]:
        if self.group.summaries is None:
            return change, change
        ahead = self.group.summaries.ahead()
        # The chain as it is now: a turn that was committed meanwhile is in the summaries already.
        for step in self._chain:
            if step.change is not None:
                ahead.apply(step.change)
        return await ahead.summarise(change)

    def _on_wrong_guess(self, requests: TurnAhead) -> None:
        numbers = (number for number, step in enumerate(self._chain) if step.requests is requests)
        self._drop(next(numbers, len(self._chain)))
        # In the next round: the responses to several requests of a turn often arrive together.
        asyncio.get_running_loop().call_soon(self._advance)

    def _drop(self, number: int) -> None:
        """Drop the turns from this one on; they are resolved again."""
        while len(self._chain) > number:
            self._chain.pop().requests.latest = None
        if self._attempted is not None:
            self._attempted.requests.latest = None
        self._attempted = self._failed = None


def _weak(method: Callable[[TurnAhead], None]) -> Callable[[TurnAhead], None]:
    """Return a function that calls the method as long as its object is in use.

    The requests of a turn are in the context of every task that it started: these would keep the
    group in memory after its last turn.
    """
    found = weakref.WeakMethod(method)

    def call(requests: TurnAhead) -> None:
        if (called := found()) is not None:
            called(requests)

    return call
