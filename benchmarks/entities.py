"""What the graph of a project would be about, to be read as its author would read it.

    python -m benchmarks.entities [--top 25] [--facts 12] [ARCHIVES ...]

Prints for each group the things most turns speak of and a sample of facts. Default archives: those
of tests/real.py.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

from tests import real
from turnetl import pipeline
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.lake import Lake
from turnetl.model import Entity, Episode, Fact, GroupContents, GroupId
from turnetl.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = 3


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="*", default=[str(real.ARCHIVES_OR_SAMPLES)])
    arguments.add_argument("--top", type=int, default=25)
    arguments.add_argument("--facts", type=int, default=12)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(lake=Path(folder))
        pipeline.parse_archives(given.archives, settings)
        pipeline.filter_turns(settings)
        lake = Lake(settings.lake)
        for group in lake.groups():
            kept = [e for e in lake.episodes(group) if e.noise is None and e.turn.started_at]
            if kept:
                asyncio.run(show(group, kept, given.top, given.facts))


async def show(group: GroupId, episodes: list[Episode], top: int, sample: int) -> None:
    start = time.process_time()
    entities, facts, mentions = await extracted(group, episodes)
    spent = (time.process_time() - start) / len(episodes)
    print(f"\n== {group}: {len(episodes)} turns, {len(entities)} entities, {len(facts)} facts, "
          f"{spent * 1000:.1f} ms CPU a turn")  # fmt: skip
    for uuid, count in mentions.most_common(top):
        print(f"{count:>6}  {'/'.join(entities[uuid].labels):<10} {entities[uuid].name}")
    chosen = random.Random(0).sample(facts, min(sample, len(facts)))  # noqa: S311, a sample
    for fact in sorted(chosen, key=lambda fact: fact.name):
        print(f"     {fact.name:<12} {fact.text}")


async def extracted(
    group: GroupId, episodes: list[Episode]
) -> tuple[dict[str, Entity], list[Fact], Counter[str]]:
    """Extract every turn as if the group were empty: things and facts as they are first said."""
    extractor = StructuralExtractor()
    empty = MirrorGroup(GroupContents(group, None, (), (), (), {}))
    sessions: dict[str, list[Episode]] = defaultdict(list)
    entities: dict[str, Entity] = {}
    facts: list[Fact] = []
    mentions: Counter[str] = Counter()
    for episode in episodes:
        before = sessions[episode.turn.session_id]
        found = await extractor.extract(episode, before[-CONTEXT:])
        before.append(episode)
        resolved = await extractor.resolve(episode, found, empty, now=NOW)
        entities.update({entity.uuid: entity for entity in resolved.entities})
        facts.extend(resolved.facts)
        mentions.update(resolved.mentions)
    return entities, facts, mentions


if __name__ == "__main__":
    main()
