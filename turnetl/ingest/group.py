"""One group, from its episodes table into the graph, with an account of every turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turnetl.errors import Later, TurnetlError
from turnetl.extraction.port import Extractor
from turnetl.graph.port import GraphStore
from turnetl.ingest import plan as planning
from turnetl.ingest.pipeline import Pipeline, Run
from turnetl.ingest.plan import Plan, Scope
from turnetl.ingest.quarantine import Quarantine
from turnetl.lake import Lake
from turnetl.llm.port import Embedder
from turnetl.model import GroupId


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Every turn of a group once: committed, skipped, quarantined, pending or noise."""

    group: GroupId
    turns: int
    committed: int
    """In this run."""
    skipped: int
    """In the graph before this run."""
    quarantined: int
    pending: int
    """Neither in the graph nor against a rule: for their reasons see `waiting`."""
    waiting: Mapping[str, int]
    noise: Mapping[str, int]
    stale: int
    episodes: int
    """In the graph, as are entities and facts."""
    entities: int
    facts: int
    error: str | None = None
    """Why the group was not finished."""
    exit_code: int = field(default=0)
    again: bool = False
    """Whether the same may work in a moment: the graph or the provider was busy."""

    @property
    def ready(self) -> int:
        """Turns that wait for nothing but a run."""
        return self.waiting.get(planning.READY, 0)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a group is ingested with; opened by the caller, shared by all groups."""

    lake: Lake
    store: GraphStore
    extractor: Extractor[Any]
    embedder: Embedder
    context_turns: int


async def plan(group: GroupId, tools: Tools, scope: Scope) -> Plan:
    """Say what is left of the group, from lake and graph."""
    return planning.make(
        group,
        tools.lake.scan_episodes(group).select(planning.COLUMNS).collect(),
        await tools.store.receipts(group),
        Quarantine(tools.lake.root, group).turns(),
        scope,
        recipe=tools.extractor.recipe,
        context_turns=tools.context_turns,
    )


async def ingest(
    group: GroupId, tools: Tools, scope: Scope, run: Run, progress: Callable[[int, int], None]
) -> GroupReport:
    """Commit what is left of the group; writes nothing if nothing is left.

    Args:
        group: a group with an episodes table.
        tools: lake, graph, extractor and embedder.
        scope: which turns.
        run: who writes.
        progress: told (turns dealt with, turns to do).

    Returns:
        The account, also of a group that could not be finished: what was committed stays.
    """
    before = await plan(group, tools, scope)
    error: TurnetlError | None = None
    if before.todo:
        progress(0, len(before.todo))
        try:
            await _carry(before, tools, run, lambda done: progress(done, len(before.todo)))
        except TurnetlError as stopped:
            error = stopped
    after = await plan(group, tools, scope) if before.todo else before
    report = await account(after, tools.store)
    committed = after.committed - before.committed
    return replace(
        report,
        committed=committed,
        skipped=after.committed - committed,
        error=None if error is None else str(error),
        exit_code=0 if error is None else error.exit_code,
        again=isinstance(error, Later),
    )


async def account(now: Plan, store: GraphStore) -> GroupReport:
    """Say how a group stands, without doing anything."""
    episodes, entities, facts = await store.counts(now.group)
    waiting = {name: count for name, count in now.gaps.items() if name != planning.QUARANTINED}
    if now.todo:
        waiting[planning.READY] = len(now.todo)
    return GroupReport(
        group=now.group,
        turns=now.turns,
        committed=0,
        skipped=now.committed,
        quarantined=now.gaps.get(planning.QUARANTINED, 0),
        pending=sum(waiting.values()),
        waiting=waiting,
        noise=now.noise,
        stale=now.stale,
        episodes=episodes,
        entities=entities,
        facts=facts,
    )


async def _carry(todo: Plan, tools: Tools, run: Run, progress: Callable[[int], None]) -> None:
    needed = set(todo.todo).union(*todo.context.values())
    pipeline = Pipeline(
        tools.store, tools.extractor, tools.embedder, Quarantine(tools.lake.root, todo.group), run
    )
    await pipeline.ingest(
        todo.group, tools.lake.episodes(todo.group, needed), todo.context, progress
    )
