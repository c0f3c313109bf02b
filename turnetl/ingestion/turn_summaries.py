"""The summaries of a group, kept up to date with its turns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupContents, Lease
from turnetl.ingestion.commit import while_busy
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.model import Change, Episode, SummaryWrites
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_sagas import sagas_of
from turnetl.summaries.group_summaries import GroupSummaries, outcome
from turnetl.summaries.port import Summarised, Summariser
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import with_flushed
from turnetl.summaries.saga_summary import SagaTurn


@dataclass(frozen=True, slots=True)
class SummaryRules:
    """How a run summarises entities."""

    summariser: Summariser
    limits: GateLimits
    flushes: bool = True
    """Whether summaries that are still deferred are written at the end of the run."""

    def of_group(self, contents: GroupContents) -> "TurnSummaries":
        """Return the summaries of a group as the graph holds it, read under its lease."""
        return TurnSummaries(contents, self)


@dataclass(frozen=True, slots=True)
class SummarisedChange:
    """A change with the summaries that its turn writes, and why."""

    change: Change
    reasons: Mapping[GateReason, int]
    """How many summaries were refreshed and kept, by reason."""


class TurnSummaries:
    """Summarises the turns of one group, in the order of their commits."""

    def __init__(self, contents: GroupContents, rules: SummaryRules) -> None:
        """Start with a group as the graph holds it, read under its lease."""
        times = (receipt.started_at for receipt in contents.receipts)
        self._rules = rules
        self._group = GroupSummaries(
            contents.entities,
            contents.facts,
            contents.summaries.values(),
            max(times, default=None),
            rules.limits,
        )
        self._sagas = sagas_of(contents)
        # The latest turn and its record, which a flush extends.
        self._latest = next(reversed([*contents.summaries.items()]), None)

    async def summarise(self, change: Change, *, ends_run: bool) -> SummarisedChange:
        """Return the change with its summaries and their record. Applies nothing.

        Args:
            change: what the turn changes, with embeddings.
            ends_run: whether no other turn follows in this run.

        Raises:
            BadTurn: the summaries cannot be made.
        """
        at = change.episode.turn.started_at
        if at is None:
            raise AssertionError(f"turn {change.episode.turn_id} has no time and is never planned")
        plan = self._group.plan(change, at, ends_run=ends_run and self._rules.flushes)
        written = await self._rules.summariser.summarise((*plan.inputs, *plan.flushed))
        summarised = replace(
            with_texts(change, written),
            summaries=self._group.record(plan, written.texts),
            usage=change.usage + written.usage,
            saga_texts=self._sagas.after(_saga_turn(change.episode, at), change.facts),
        )
        return SummarisedChange(summarised, outcome(plan, written.texts))

    def apply(self, change: Change) -> None:
        """Apply a committed change."""
        at = change.episode.turn.started_at
        if at is not None:
            self._group.apply(change, change.summaries, at)
            self._sagas.add(_saga_turn(change.episode, at), change.facts)
        self._latest = change.episode.turn_id, change.summaries

    async def deferred(self) -> Summarised:
        """Return the summaries that are still deferred after the last commit. Writes nothing.

        Raises:
            BadTurn: the summaries cannot be made.
        """
        return await self._rules.summariser.summarise(self._group.unwritten())

    async def write_deferred(self, store: GraphStore, lease: Lease, run: IngestRun) -> Summarised:
        """Write the summaries that are still deferred after the last commit, if the run flushes.

        Raises:
            BadTurn: the summaries cannot be made.
            GraphBusy: the graph did not respond to any attempt.
            GraphUnusable: another run took the group over.
        """
        written = await self.deferred() if self._rules.flushes else Summarised({})
        if self._latest is not None and written.texts:
            turn, record = self._latest
            writes = SummaryWrites(written.texts, {turn: with_flushed(record, written.texts)})
            await while_busy(
                lambda: store.write_summaries(lease, writes, now=run.clock(), ttl=run.lease_ttl),
                retry_delay=run.retry_delay,
            )
        return written


def _saga_turn(episode: Episode, at: datetime) -> SagaTurn:
    # As the graph returns the text, which is split there.
    text = "\n\n".join(episode.chunks)
    return SagaTurn.of_text(episode.turn_id, episode.turn.session_id, at, text)


def with_texts(change: Change, written: Summarised) -> Change:
    """Return the change with new summaries, in its own entities and apart from them."""
    changed = {entity.uuid for entity in change.entities}
    return replace(
        change,
        entities=tuple(
            replace(entity, summary=written.texts.get(entity.uuid, entity.summary))
            for entity in change.entities
        ),
        summary_texts={uuid: text for uuid, text in written.texts.items() if uuid not in changed},
    )
