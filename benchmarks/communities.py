"""Communities of a large group: at most 20 s without requests.

    python -m benchmarks.communities [ladybug] [neo4j] [--entities 5000]

The entities are in clusters of 5 to 40, with four facts each, and every tenth fact leads to another
cluster. The command runs as a process, so that its time includes the start of Python: the first
build writes all communities, the second one finds nothing to do.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cost import at_most
from benchmarks.verify import graph
from tests.graph.sample_changes import NOW, TTL, change, entity, fact, receipt, turn_id, vector
from turnetl import wiring
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import Change, Entity, GroupId
from turnetl.graph.open import open_graph
from turnetl.settings import Settings

SECONDS = 20
GROUP = GroupId("bench")
_SIZES = (5, 40)
_FACTS = 4
"""Of an entity."""
_ACROSS = 10
"""Facts of which one leads to another cluster."""


def changes(entities: int, dimensions: int) -> Iterator[Change]:
    """Yield a turn for each cluster; later turns know all earlier entities."""
    drawn, known = random.Random(0), list[Entity]()
    while len(known) < entities:
        number = len(known)
        size = min(drawn.randint(*_SIZES), entities - number)
        names = [f"entity {number + offset}" for offset in range(size)]
        members = [entity(name, group=GROUP, embedding=vector(name, dimensions)) for name in names]
        known += members
        turn = turn_id(str(number), GROUP)
        facts = []
        for offset in range(size * _FACTS):
            source = members[offset % size]
            target = drawn.choice(known if offset % _ACROSS == 0 else members)
            text = f"{source.name} has to do with {target.name}, {offset}"
            facts.append(fact(turn, source, target, text, embedding=vector(text, dimensions)))
        yield change(str(number), members, facts, group_id=GROUP, ordinal=number)


async def fill(url: str, entities: int) -> None:
    async with wiring.embedder(Settings()) as embedder:
        profile = GroupProfile(embedder.name, embedder.dimensions, "bench")
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    lease = await store.acquire(
        GROUP, profile, owner="bench", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for each in changes(entities, profile.dimensions):
        await store.commit(lease, each, receipt(each), now=NOW, ttl=TTL)
    await store.release(lease)
    await store.close()


def build(url: str, folder: Path) -> tuple[float, dict[str, int]]:
    """Run the command; return its seconds and its counts."""
    arguments = ["communities", "build", "--lake", str(folder / "lake"), "--graph", url, "--json"]
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "turnetl", *arguments], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    [counts] = json.loads(process.stdout)["groups"]
    return seconds, counts


async def main(names: Sequence[str], entities: int) -> int:
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            async with graph(name, Path(folder)) as (url, _):
                await fill(url, entities)
                for run in ("first", "second"):
                    seconds, counts = build(url, Path(folder))
                    print(f"{name}: {entities:,} entities, {run} build: {counts}")
                    title = f"s, {run} build, {name}"
                    results.append(at_most(title, seconds, SECONDS))
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--entities", type=int, default=5_000)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.graphs, options.entities)))
