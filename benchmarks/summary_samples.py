"""A sample of the summaries of a graph with what they were made from, to be judged by a reader.

    python -m benchmarks.summary_samples [--seed 1] [--entities 30] [--sessions 10] [ARCHIVES ...]

The archives are ingested with the default extractor. Printed are summaries of entities, drawn from
the seed, each with the facts about the entity, latest first, and summaries of sessions, each with
the first line and the last paragraph of every turn and the facts that a summary may state. An
invalidated fact is marked with `-`. The default archives are those of tests/real_archives.py.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import real_archives
from turnetl import pipeline
from turnetl.base import clock
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.graph.open import open_graph
from turnetl.settings import Settings
from turnetl.summaries.group_sagas import STATED, SagaTurn, sagas_of

SHOWN_FACTS = 25


async def contents(archives: Sequence[str], folder: Path) -> list[GroupContents]:
    """Ingest the archives; return the groups."""
    settings = Settings(lake=folder / "lake")
    pipeline.parse_archives(archives, settings)
    pipeline.filter_turns(settings)
    await pipeline.ingest(settings, pipeline.RunOptions(), clock.now)
    store = await open_graph(f"ladybug://{folder / 'lake' / 'graph.lbug'}", user="", password="")
    groups = [await store.load(group) for group in await store.groups()]
    await store.close()
    return groups


def entity_lines(group: GroupContents, entity: Entity) -> Iterator[str]:
    about = [fact for fact in group.facts if entity.uuid in (fact.source, fact.target)]
    yield f"{group.group_id}: {entity.name} ({', '.join(entity.labels)}), {len(about)} facts"
    yield from (f"    | {line}" for line in entity.summary.splitlines())
    yield from fact_lines(about)


def session_lines(group: GroupContents, session: SessionId) -> Iterator[str]:
    receipts = [one for one in group.receipts if one.session_id == session]
    turns = {one.turn_id for one in receipts}
    yield f"{group.group_id}: session {session}, {len(turns)} turns"
    yield from (f"    | {line}" for line in sagas_of(group).text(session).splitlines())
    for one in receipts:
        text = group.texts[one.turn_id]
        turn = SagaTurn.of_text(one.turn_id, session, one.started_at, text)
        yield f"    {one.started_at:%Y-%m-%d %H:%M} {turn.intent} => {turn.outcome}"
    stated = [one for one in group.facts if turns & {*one.turns} and one.relation in STATED]
    yield from fact_lines(stated)


def fact_lines(facts: Sequence[Fact]) -> Iterator[str]:
    latest = sorted(facts, key=lambda one: (one.valid_at or one.created_at, one.uuid), reverse=True)
    for fact in latest[:SHOWN_FACTS]:
        at, mark = fact.valid_at or fact.created_at, "-" if fact.invalid_at else "+"
        yield f"    {mark} {at:%Y-%m-%d} {fact.relation}: {' '.join(fact.text.split())[:300]}"
    if len(latest) > SHOWN_FACTS:
        yield f"    and {len(latest) - SHOWN_FACTS} more"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="*", default=[str(real_archives.ARCHIVES_OR_SAMPLES)])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--entities", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        groups = asyncio.run(contents(arguments.archives, Path(folder)))
    drawn = random.Random(arguments.seed)
    entities = [(group, one) for group in groups for one in group.entities if one.summary]
    sessions = sorted({(one.group_id, one.session_id) for g in groups for one in g.receipts})
    by_id = {group.group_id: group for group in groups}
    print(f"{len(entities)} summaries of entities, {len(sessions)} of sessions")
    for number, (group, entity) in enumerate(
        drawn.sample(entities, min(arguments.entities, len(entities))), start=1
    ):
        print(f"\n{number}.", *entity_lines(group, entity), sep="\n")
    for number, (name, session) in enumerate(
        drawn.sample(sessions, min(arguments.sessions, len(sessions))), start=1
    ):
        print(f"\nsession {number}.", *session_lines(by_id[name], session), sep="\n")


if __name__ == "__main__":
    main()
