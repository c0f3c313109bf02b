"""A pilot: some turns extracted and resolved in memory, and the requests that each of them takes.

The requests that are sent are those of the run itself, so that the journal answers them then. These
are all requests that extract a turn, as they depend on its session alone; and, for the first turns
of a group, those that resolve it. For any other turn the requests that resolve it are made and not
sent: the run makes them against a group that nobody knows yet.

The record of a request is that of its context, as with accounts: a request that Graphiti sends
belongs to the turn for which it is sent, though Graphiti does not know the turn.
"""

from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from typing_extensions import override

from turnetl.base.errors import BadTurn, RunStopped
from turnetl.base.model import Episode, GroupId, TurnId, Usage
from turnetl.estimation.sample import PendingTurn, Workload
from turnetl.extraction.port import Extractor
from turnetl.extraction.preview_builder import SilentModel
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import PrefetchedTurn, TurnAdmission, prefetch_turns
from turnetl.ingestion.commit import (
    MirroredGroup,
    ResolvedTurn,
    as_bad_turn,
    resolve_turn,
)
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.chat import ChatRequest, ChatResponse, ModelWrapper
from turnetl.llm.costs import charged_to, set_in_context
from turnetl.llm.embedders import Embedder
from turnetl.pipeline.previews import estimated_tokens


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request of a turn."""

    prompt: str
    tokens: int
    """Estimated tokens of its messages."""
    usage: Usage | None
    """Of its response, whenever it was paid for; None if it was not sent."""


Record = list[ObservedRequest]
"""The requests of one piece of work, in the order of their responses."""

_record: ContextVar[Record | None] = ContextVar("record", default=None)


def recording_to(record: Record) -> AbstractContextManager[None]:
    """Add the requests of this context, and of tasks started in it, to a record."""
    return set_in_context(_record, record)


class ObservedModel(ModelWrapper):
    """A model that sends its requests, and records them."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            response = await self._model.complete(request)
        except BadTurn as error:
            _observe(request, error.usage)
            raise
        _observe(request, response.usage)
        return response


class SimulatedModel(SilentModel):
    """A model that sends nothing, and records its requests."""

    @override
    async def known(self, request: ChatRequest) -> ChatResponse | None:
        known = await super().known(request)
        _observe(request, None if known is None else known.usage)
        return known


def _observe(request: ChatRequest, usage: Usage | None) -> None:
    record = _record.get()
    if record is not None:
        text = "\n".join(message.text for message in request.messages)
        record.append(ObservedRequest(request.prompt_name, estimated_tokens(text), usage))


_RUN_ID = "pilot"
"""Of receipts that are never written."""


@dataclass(frozen=True, slots=True)
class TurnRequests:
    """The requests of one turn."""

    turn_id: TurnId
    extraction: tuple[ObservedRequest, ...]
    resolution: tuple[ObservedRequest, ...]
    is_resolved: bool
    """Whether the requests that resolve it were sent, too, so that the run sends none."""

    @property
    def requests(self) -> tuple[ObservedRequest, ...]:
        return (*self.extraction, *self.resolution)


@dataclass
class PilotResult:
    """What a pilot has seen."""

    turns: list[TurnRequests] = field(default_factory=list)
    failed: int = 0
    """Turns that cannot be ingested; the run would quarantine them."""
    stopped: RunStopped | None = None
    """Why the pilot ended early."""


@dataclass(frozen=True, slots=True)
class PilotResources:
    """What a pilot uses; opened and closed by the caller."""

    store: GraphStore
    """Only read."""
    embedder: Embedder
    sending: Extractor[Any]
    """Over an `ObservedModel`."""
    simulating: Extractor[Any]
    """Over a `SimulatedModel`."""
    sending_summaries: SummaryRules
    """Over the model of `sending`."""
    simulating_summaries: SummaryRules
    """Over the model of `simulating`."""
    preview: Extractor[Any]
    """The `llm` extractor over the same."""
    admission: TurnAdmission
    """With the budget of the pilot."""
    clock: Callable[[], datetime]
    prefetch: int
    """Turns that may be extracted at the same time."""


class Pilot:
    """Extracts and resolves turns of several groups. Writes nothing to the graph."""

    def __init__(self, resources: PilotResources, workloads: Sequence[Workload]) -> None:
        self._resources = resources
        self._workloads = {workload.group: workload for workload in workloads}
        self._groups: dict[GroupId, MirroredGroup] = {}
        self.result = PilotResult()

    async def answered(self, workload: Workload) -> list[TurnRequests]:
        """Return the first turns of a group whose requests the journal answers, in order."""
        found: list[TurnRequests] = []
        for episode, context in workload.episodes(workload.plan.turns.to_commit):
            extraction, resolution = Record(), Record()
            try:
                with recording_to(extraction), as_bad_turn(episode):
                    extracted = await self._resources.simulating.extract(episode, context)
                    with recording_to(resolution):
                        resolved = await self._resolve(episode, extracted, is_sent=False)
            except BadTurn:
                break
            if any(request.usage is None for request in (*extraction, *resolution)):
                break
            self._groups[resolved.receipt.group_id].apply(resolved)
            found.append(_turn_requests(episode, extraction, resolution, is_resolved=True))
        return found

    async def run(
        self,
        leading: Sequence[PendingTurn],
        drawn: Sequence[PendingTurn],
        progress: Callable[[int], None],
    ) -> PilotResult:
        """Send the requests of the turns, up to the budget.

        The model resolves the leading turns, with which their groups begin.
        """
        turns = [*leading, *drawn]
        resolved_by_model = {turn.turn_id for turn in leading}
        records: dict[TurnId, Record] = {turn.turn_id: Record() for turn in turns}
        prefetched = self._extractions(turns, records)
        try:
            async with aclosing(prefetched):
                async for turn in prefetched:
                    turn_id = turn.episode.turn_id
                    is_sent = turn_id in resolved_by_model
                    await self._take(turn, records[turn_id], is_sent=is_sent)
                    progress(len(self.result.turns))
        except RunStopped as error:
            self.result.stopped = error
        return self.result

    def _extractions(
        self, turns: Sequence[PendingTurn], records: Mapping[TurnId, Record]
    ) -> AsyncGenerator[PrefetchedTurn]:
        """Return the turns in order, each with its extraction, whose requests are recorded."""
        episodes = self._episodes(turns)

        async def extract(episode: Episode, context: Sequence[Episode]) -> Any:
            with recording_to(records[episode.turn_id]), as_bad_turn(episode):
                return await self._resources.sending.extract(episode, context)

        return prefetch_turns(
            iter([episodes[turn.turn_id] for turn in turns]),
            extract,
            limit=self._resources.prefetch,
            admission=self._resources.admission,
        )

    async def _take(self, turn: PrefetchedTurn, record: Record, *, is_sent: bool) -> None:
        resolution, episode = Record(), turn.episode
        with turn.admitted, charged_to(turn.admitted.account):
            try:
                extracted = await turn.extraction
                with recording_to(resolution):
                    resolved = await self._resolve(episode, extracted, is_sent=is_sent)
            except BadTurn:
                self.result.failed += 1
            else:
                self._groups[resolved.receipt.group_id].apply(resolved)
                turn.admitted.commit(resolved.change.usage)
        self.result.turns.append(_turn_requests(episode, record, resolution, is_resolved=is_sent))

    async def _resolve(self, episode: Episode, extracted: Any, *, is_sent: bool) -> ResolvedTurn:
        resources, group = self._resources, await self._group(episode.turn.group_id)
        rules = resources.sending_summaries if is_sent else resources.simulating_summaries
        return await resolve_turn(
            resources.sending if is_sent else resources.simulating,
            resources.embedder,
            episode,
            extracted,
            group.with_summariser(rules.summariser),
            run_id=_RUN_ID,
            now=resources.clock(),
        )

    async def _group(self, group: GroupId) -> MirroredGroup:
        if group not in self._groups:
            resources = self._resources
            contents = await self._workloads[group].contents(resources.store, resources.embedder)
            self._groups[group] = MirroredGroup.of(contents, resources.sending_summaries)
        return self._groups[group]

    def _episodes(
        self, turns: Iterable[PendingTurn]
    ) -> Mapping[TurnId, tuple[Episode, list[Episode]]]:
        wanted: dict[GroupId, set[TurnId]] = {}
        for turn in turns:
            wanted.setdefault(turn.group_id, set()).add(turn.turn_id)
        return {
            episode.turn_id: (episode, context)
            for group, of_group in wanted.items()
            for episode, context in self._workloads[group].episodes(of_group)
        }


async def survey(
    workload: Workload,
    turns: Collection[TurnId],
    simulating: Extractor[Any],
    progress: Callable[[int], None],
) -> list[TurnRequests]:
    """Return the requests that extract turns, as far as they are known without sending any.

    A request that follows from a response is known only if the journal has that response.
    """
    found: list[TurnRequests] = []
    for episode, context in workload.episodes(turns):
        record = Record()
        try:
            with recording_to(record), as_bad_turn(episode):
                await settle(await simulating.extract(episode, context))
        except BadTurn:
            pass  # its requests are recorded, and the run quarantines it
        found.append(_turn_requests(episode, record, (), is_resolved=False))
        progress(len(found))
    return found


async def settle(extracted: Any) -> None:
    """Wait for the facts of an extracted turn, whose requests may still be under way."""
    for chunk in getattr(extracted, "chunks", ()):
        await chunk.facts


def _turn_requests(
    episode: Episode,
    extraction: Iterable[ObservedRequest],
    resolution: Iterable[ObservedRequest],
    *,
    is_resolved: bool,
) -> TurnRequests:
    return TurnRequests(episode.turn_id, tuple(extraction), tuple(resolution), is_resolved)
