"""CPU time of undoing turns, relative to that of ingesting them: at most twice as much.

    python -m benchmarks.undo [ladybug] [neo4j] [--turns 1000]

The synthetic turns of `benchmarks.commit`. Ingesting is the commits alone, without extraction,
resolution and embedding, so that the relation is an upper bound of the real one. Undoing is all of
it: records of the commits, plan, lease, present state and transactions. CPU time is that of this
process and of the server, if the benchmark started it.
"""

import time
from collections.abc import Sequence
from datetime import timedelta

from benchmarks.commit import PROFILE, BenchmarkGraph, run, server_cpu, synthetic
from tests.graph.sample_changes import NOW, TTL, receipt
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import Change, GroupId, Vector
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.undo import undo_turns

LIMIT = 2.0
"""CPU of an undo, relative to that of the ingest."""
LEASE = timedelta(minutes=10)


async def measure(name: str, graph: BenchmarkGraph, turns: int) -> None:
    """Print the CPU of ingesting and of undoing, and whether the limit is met."""
    await graph.store.prepare()
    await _round_trip(graph, GroupId("warm_up"), list(synthetic(GroupId("warm_up"), 100)))
    group = GroupId("bench")
    ingested, undone = await _round_trip(graph, group, list(synthetic(group, turns)))
    print(
        f"{name}: {turns:,} turns: ingest {ingested:.1f} s CPU, undo {undone:.1f} s CPU, "
        f"{undone / ingested:.2f} times (limit {LIMIT}: "
        f"{'met' if undone <= LIMIT * ingested else 'MISSED'})",
        flush=True,
    )


async def _round_trip(
    graph: BenchmarkGraph, group: GroupId, changes: Sequence[Change]
) -> tuple[float, float]:
    """Commit the changes and undo them; return the CPU seconds of both."""
    store = graph.store
    start = _cpu(graph)
    lease = await store.acquire(
        group, PROFILE, owner="bench", now=NOW, ttl=LEASE, is_dead=lambda _: False
    )
    for change in changes:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    await store.release(lease)
    committed = _cpu(graph)
    turns = [change.episode.turn_id for change in changes]
    undo_run = IngestRun("bench", "bench", lambda: NOW, LEASE)
    done = await undo_turns(
        store, group, turns, embed=_embed, run=undo_run, progress=lambda _: None
    )
    ended = _cpu(graph)
    if done.undone != len(changes) or await store.counts(group) != (0, 0, 0):
        raise AssertionError(f"{done.undone} of {len(changes)} turns were undone")
    return committed - start, ended - committed


async def _embed(_: GroupProfile, texts: Sequence[str]) -> Sequence[Vector]:
    raise AssertionError(f"{len(texts)} texts are embedded again though none changed")


def _cpu(graph: BenchmarkGraph) -> float:
    return time.process_time() + server_cpu(graph.server)


if __name__ == "__main__":
    run(measure, __doc__, 1_000)
