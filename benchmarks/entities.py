"""Print the entities and facts that the structural extractor finds in archives, for review.

    python -m benchmarks.entities [--top 25] [--facts 12] [ARCHIVES ...]

Prints for each group the entities that most turns mention, and a sample of its facts; at the end,
the share of all facts that touch the entity of their project, which connects nothing if most facts
do. The default archives are those of tests/real_archives.py.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

from tests import real_archives
from turnetl import pipeline
from turnetl.base.model import Entity, Episode, Fact, GroupId
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.lake import Lake
from turnetl.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="*", default=[str(real_archives.ARCHIVES_OR_SAMPLES)])
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--facts", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(lake=Path(folder))
        pipeline.parse_archives(arguments.archives, settings)
        pipeline.filter_turns(settings)
        lake = Lake(settings.lake)
        hub = Counter[str]()
        for group in lake.groups():
            episodes = [e for e in lake.episodes(group) if e.noise is None and e.turn.started_at]
            if episodes:
                hub += asyncio.run(show(group, episodes, arguments.top, arguments.facts))
    print(f"\n{hub['at project']} of {hub['facts']} facts touch the entity of their project "
          f"({hub['at project'] / max(1, hub['facts']):.0%})")  # fmt: skip


async def show(group: GroupId, episodes: list[Episode], top: int, sample: int) -> Counter[str]:
    """Print one group; return its number of facts and of those that touch the project."""
    start = time.process_time()
    entities, facts, mentions = await extract(group, episodes)
    cpu_seconds = (time.process_time() - start) / len(episodes)
    projects = {uuid for uuid, entity in entities.items() if entity.name == group}
    at_project = sum(bool({fact.source, fact.target} & projects) for fact in facts)
    print(f"\n== {group}: {len(episodes)} turns, {len(entities)} entities, {len(facts)} facts, "
          f"{at_project / max(1, len(facts)):.0%} of them at the project, "
          f"{cpu_seconds * 1000:.1f} ms CPU per turn")  # fmt: skip
    for uuid, count in mentions.most_common(top):
        print(f"{count:>6}  {'/'.join(entities[uuid].labels):<10} {entities[uuid].name}")
    selected = random.Random(0).sample(facts, min(sample, len(facts)))
    for fact in sorted(selected, key=lambda fact: fact.relation):
        print(f"     {fact.relation:<12} {fact.text}")
    return Counter({"facts": len(facts), "at project": at_project})


async def extract(
    group: GroupId, episodes: list[Episode]
) -> tuple[dict[str, Entity], list[Fact], Counter[str]]:
    """Extract every turn against an empty group, so that entities and facts are as first found."""
    extractor = StructuralExtractor()
    empty = MirrorGroup(empty_contents(group))
    sessions: dict[str, list[Episode]] = defaultdict(list)
    entities: dict[str, Entity] = {}
    facts: list[Fact] = []
    mentions: Counter[str] = Counter()
    for episode in episodes:
        session = sessions[episode.turn.session_id]
        extracted = await extractor.extract(episode, session[-CONTEXT:])
        session.append(episode)
        resolved = await extractor.resolve(episode, extracted, empty, now=NOW)
        entities.update({entity.uuid: entity for entity in resolved.entities})
        facts.extend(resolved.facts)
        mentions.update(resolved.mentions)
    return entities, facts, mentions


if __name__ == "__main__":
    main()
