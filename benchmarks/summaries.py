"""Summaries over real turns: how many the gate refreshes, what it costs, what the others miss.

    python -m benchmarks.summaries [--sample 1] [--turns 300] [ARCHIVES ...]

The turns are extracted by the structural extractor and summarised by rules, in memory. The gate's
CPU time is that of its decisions, records and updates, without the text of the summaries. The audit
makes a new summary for every entity (or every n-th: `--sample`) that a turn touches and does not
summarise, and compares both texts: the cosine of their embeddings, and the facts that only the new
one has.
Then it counts the requests for summaries of turns that a model extracts, all in one group
(`benchmarks.summary_requests`); turns without a time get one, ten minutes apart. The default
archives are those of tests/real_archives.py.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.cost import at_least, at_most
from benchmarks.summary_requests import RequestTotals, count_requests
from tests import real_archives
from tests.builders import receipt
from turnetl import pipeline, wiring
from turnetl.base.model import Change, Episode, GroupId, Vector
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.mirror.group import MirrorGroup, empty_contents
from turnetl.ingestion.commit import MirroredGroup, resolve_turn
from turnetl.ingestion.summarize_report import ALIKE
from turnetl.ingestion.turn_summaries import missing_facts
from turnetl.lake import Lake
from turnetl.llm.embedders import Embedder
from turnetl.llm.vectors import unpack
from turnetl.settings import Settings
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_summaries import GroupSummaries, outcome
from turnetl.summaries.reasons import SKIPPED, GateReason
from turnetl.summaries.rule_summary import rule_summary

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = 3
ONE_GROUP = GroupId("all")
MIN_ALIKE, MAX_GATE_MS, MAX_SHARE = 95, 1.0, 35
"""Percent of the kept summaries that are alike, milliseconds, percent of `add_episode`'s."""


@dataclass
class Totals:
    """What the turns of all groups add up to."""

    turns: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    gate_seconds: float = 0.0
    kept: list[str] = field(default_factory=list)
    """Summaries that a turn kept."""
    fresh: list[str] = field(default_factory=list)
    """What a refresh would have made of each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="*", default=[str(real_archives.ARCHIVES_OR_SAMPLES)])
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--turns", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(lake=Path(folder))
        pipeline.parse_archives(arguments.archives, settings)
        pipeline.filter_turns(settings)
        rules = asyncio.run(measure(settings, arguments.sample))
        sys.exit(max(rules, asyncio.run(measure_requests(settings, arguments.turns))))


async def measure(settings: Settings, sample: int) -> int:
    """Summarise all groups of a lake; print the figures, and return the exit code."""
    lake, totals = Lake(settings.lake), Totals()
    async with wiring.embedder(settings) as embedder:
        for group in lake.groups():
            episodes = [e for e in lake.episodes(group) if e.noise is None and e.turn.started_at]
            await summarise(group, episodes, embedder, totals, sample)
        old, new = await embedder.embed(totals.kept), await embedder.embed(totals.fresh)
    decided = sum(totals.reasons.values())
    refreshed = sum(count for name, count in totals.reasons.items() if name not in SKIPPED)
    print(f"{totals.turns} turns, {decided} decisions, {refreshed} summaries written, "
          f"{100 * refreshed / decided:.0f} % of one per entity and turn")  # fmt: skip
    for name, count in totals.reasons.most_common():
        print(f"  {count:8} {name}")
    alike = 100 * float(np.mean(_cosines(old, new) >= ALIKE))
    missing = [missing_facts(*pair) for pair in zip(totals.kept, totals.fresh, strict=True)]
    print(f"  {len(missing):8} audited; {np.mean(missing):.2f} facts missing on average")
    gate = 1e3 * totals.gate_seconds / totals.turns
    within = (
        at_least("% of kept summaries within cosine 0.9 of a new one", alike, MIN_ALIKE),
        at_most("ms CPU of the gate per turn", gate, MAX_GATE_MS),
    )
    return 0 if all(within) else 1


async def measure_requests(settings: Settings, turns: int) -> int:
    """Count requests for summaries with each extractor that uses a model; return the exit code."""
    lake, within = Lake(settings.lake), []
    kept = [one for group in lake.groups() for one in lake.episodes(group) if one.noise is None]
    # Turns with a time are those of agents, whose names repeat.
    ordered = sorted(kept, key=lambda one: one.turn.started_at is None)[:turns]
    episodes = list(_with_times(ordered))
    async with wiring.embedder(settings) as embedder:
        for name in ("llm", "hybrid"):
            totals = RequestTotals()
            await count_requests(ONE_GROUP, episodes, embedder, totals, extractor_name=name)
            print(f"{name}: {totals.turns} turns")
            for way in ("gated", "add_episode", "each"):
                tokens = totals.tokens[way]
                print(f"  {totals.requests[way]:8,} requests, {tokens:10,} tokens: {way}")
            for unit in (totals.requests, totals.tokens):
                share = 100 * unit["gated"] / max(unit["add_episode"], 1)
                what = "requests" if unit is totals.requests else "tokens"
                within.append(at_most(f"% of add_episode's {what}, {name}", share, MAX_SHARE))
    return 0 if all(within) else 1


def _with_times(episodes: Sequence[Episode]) -> Iterator[Episode]:
    for number, episode in enumerate(episodes):
        turn = episode.turn
        at = turn.started_at or NOW + timedelta(minutes=10 * number)
        yield replace(episode, turn=replace(turn, group_id=ONE_GROUP, started_at=at))


async def summarise(
    group: GroupId, episodes: Sequence[Episode], embedder: Embedder, totals: Totals, sample: int
) -> None:
    """Summarise the turns of one group, as its first run would."""
    extractor = StructuralExtractor()
    mirror = MirrorGroup(empty_contents(group))
    summaries = GroupSummaries((), (), (), None, GateLimits())
    sessions: dict[str, list[Episode]] = {}
    for episode in sorted(episodes, key=lambda one: (one.turn.started_at, one.turn_id)):
        session = sessions.setdefault(episode.turn.session_id, [])
        extracted = await extractor.extract(episode, session[-CONTEXT:])
        session.append(episode)
        resolved = await resolve_turn(
            extractor, embedder, episode, extracted, MirroredGroup(mirror, None), run_id="", now=NOW
        )
        summarised = _summarise_turn(resolved.change, summaries, mirror, totals, sample)
        mirror.apply(summarised, receipt(episode))
        totals.turns += 1


def _summarise_turn(
    change: Change, summaries: GroupSummaries, mirror: MirrorGroup, totals: Totals, sample: int
) -> Change:
    at = change.episode.turn.started_at
    assert at is not None
    start = time.process_time()
    plan = summaries.plan(change, at)
    planned = time.process_time()
    texts = {given.entity.uuid: rule_summary(given.entity, given.facts) for given in plan.inputs}
    texts = {uuid: text for uuid, text in texts.items() if text}
    written = time.process_time()
    record = summaries.record(plan, texts)
    summaries.apply(change, record, at)
    totals.gate_seconds += planned - start + time.process_time() - written
    totals.reasons.update(outcome(plan, texts))
    entities = [replace(one, summary=texts.get(one.uuid, one.summary)) for one in change.entities]
    changed = {entity.uuid for entity in entities}
    others = {uuid: text for uuid, text in texts.items() if uuid not in changed}
    summarised = replace(change, entities=tuple(entities), summary_texts=others)
    # A deferred summary is not kept, but late.
    kept = [
        uuid
        for uuid, decision in plan.decisions.items()
        if decision in {GateReason.UNCHANGED, GateReason.LOW_DRIFT}
    ]
    _audit(kept, summarised, mirror, totals, sample)
    return summarised


def _audit(
    kept: Iterable[str], change: Change, mirror: MirrorGroup, totals: Totals, sample: int
) -> None:
    """Compare a sample of the summaries that the turn keeps with new ones."""
    for place, uuid in enumerate(kept):
        entity = mirror.entity(uuid)
        if (totals.turns + place) % sample or entity is None or not entity.summary:
            continue
        facts = {fact.uuid: fact for fact in (*mirror.facts, *change.facts)}
        about = [fact for fact in facts.values() if uuid in (fact.source, fact.target)]
        totals.kept.append(entity.summary)
        totals.fresh.append(rule_summary(entity, about))


def _cosines(old: Sequence[Vector], new: Sequence[Vector]) -> "np.ndarray":
    pairs = zip(old, new, strict=True)
    return np.array([float(np.dot(unpack(one), unpack(other))) for one, other in pairs])


if __name__ == "__main__":
    main()
