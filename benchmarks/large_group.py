"""A large group in memory: how long it takes to build, how much memory it has, and a search of it.

    python -m benchmarks.large_group [--facts 100000] [--dimensions 256]

The group is made here, with random vectors, and sentences whose words are as frequent as those of
real facts (`benchmarks.fact_words`): what is measured is the group in memory and its indexes, not
the reads from a graph (`benchmarks.bulk_fill` and `benchmarks.undo` load graphs). CPU seconds; a
turn asks for candidates as Graphiti does: 8 times for entities, and for each of its 7 facts twice,
among all and among those of the same two entities, by vector and by terms. A turn ahead asks in an
overlay that holds the facts of the turns before it.
"""

import argparse
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.cost import at_most
from benchmarks.fact_words import FactWords
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, GroupId, TurnId, Vector
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.mirror.overlay import CandidateIndex, Overlay, OverlayCandidates
from turnetl.llm.embedders import floats
from turnetl.llm.vectors import pack

GROUP = GroupId("large")
START = datetime(2026, 1, 1, tzinfo=UTC)
FACTS_PER_ENTITY = 3
ENTITIES, FACTS, MANY_FACTS = 8, 7, 13
"""Of a turn; of a turn with many facts."""
LIMIT, MIN_SCORE = 20, 0.6
"""Graphiti's."""
MAX_SECONDS, MAX_MB, MAX_TURN_MS = 10, 1_000, 20
TURNS = 20
"""That are searched for, in the group and in the overlay each."""
FACTS_AHEAD = 40
"""In the overlay: those of four turns."""


@dataclass(frozen=True)
class SearchedTurn:
    """What the entities and facts of a turn are searched by."""

    entities: Sequence[Sequence[float]]
    facts: Sequence[Sequence[float]]
    sentences: Sequence[str]
    """Of the facts."""
    pairs: Sequence[frozenset[str]]
    """The two entities of each."""


class GroupMaker:
    """Makes entities and facts, the same for the same seed."""

    def __init__(self, dimensions: int) -> None:
        self._chance, self._vectors = random.Random(1), np.random.default_rng(1)
        self._words, self._dimensions = FactWords(seed=1), dimensions

    def entities(self, count: int) -> Iterator[Entity]:
        for number in range(count):
            name = f"file_{number}.py"
            at = START + timedelta(seconds=number)
            yield Entity(f"e{number}", GROUP, name, ("File",), "", at, embedding=self.vector())

    def facts(self, count: int, entities: int, first: int = 0) -> Iterator[Fact]:
        for number in range(first, first + count):
            at = START + timedelta(seconds=number)
            yield Fact(
                uuid=f"f{number}",
                group_id=GROUP,
                source=f"e{self._chance.randrange(entities)}",
                target=f"e{self._chance.randrange(entities)}",
                relation=self._words.relation(),
                text=self._words.sentence(),
                turns=(TurnId(f"t{number // 5}"),),
                created_at=at,
                valid_at=at,
                embedding=self.vector(),
            )

    def turn(self, entities: int, facts: int) -> SearchedTurn:
        return SearchedTurn(
            [floats(self.vector()) for _ in range(ENTITIES)],
            [floats(self.vector()) for _ in range(facts)],
            [self._words.sentence() for _ in range(facts)],
            [
                frozenset(f"e{number}" for number in self._chance.sample(range(entities), 2))
                for _ in range(facts)
            ],
        )

    def vector(self) -> Vector:
        numbers = self._vectors.standard_normal(self._dimensions)
        return pack(numbers / np.linalg.norm(numbers))


def main(facts: int, dimensions: int) -> None:
    maker, entities = GroupMaker(dimensions), facts // FACTS_PER_ENTITY
    contents = GroupContents(
        GROUP, None, tuple(maker.entities(entities)), tuple(maker.facts(facts, entities)), (), {}
    )
    started = time.process_time()
    group = MirrorGroup(contents)
    candidates = CandidateIndex(group)
    candidates.refresh()
    seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
    overlay = Overlay(group)
    overlay.add((), maker.facts(FACTS_AHEAD, entities, first=facts))
    ahead = OverlayCandidates(overlay, lambda _: candidates)
    ahead.refresh()
    print(f"{facts:,} facts, {entities:,} entities, {dimensions} dimensions")
    passed = [
        at_most("s to build it", seconds, MAX_SECONDS),
        at_most("MB, with what it was built from", megabytes, MAX_MB),
        at_most(
            "ms for the candidates of a turn",
            _searching(candidates, [maker.turn(entities, FACTS) for _ in range(TURNS)]),
            MAX_TURN_MS,
        ),
        at_most(
            "ms for those of a turn ahead",
            _searching(ahead, [maker.turn(entities, FACTS) for _ in range(TURNS)]),
            MAX_TURN_MS,
        ),
    ]
    many = _searching(candidates, [maker.turn(entities, MANY_FACTS) for _ in range(TURNS)])
    print(f"  {many:8.2f} ms for those of a turn with {MANY_FACTS} facts")
    sys.exit(not all(passed))


def _searching(candidates: CandidateIndex, turns: Sequence[SearchedTurn]) -> float:
    """Return the CPU time of searching for the candidates of a turn, in milliseconds."""
    started = time.process_time()
    for turn in turns:
        _search(candidates, turn)
    return (time.process_time() - started) / len(turns) * 1_000


def _search(candidates: CandidateIndex, turn: SearchedTurn) -> None:
    """Search for the candidates of one turn."""
    candidates.entities_near(turn.entities, LIMIT, MIN_SCORE)
    for pair, sentence, vector in zip(turn.pairs, turn.sentences, turn.facts, strict=True):
        candidates.facts_matching(sentence, LIMIT, pair)
        candidates.facts_near_between(pair, vector, LIMIT, MIN_SCORE)
    candidates.facts_near(turn.facts, LIMIT, MIN_SCORE)
    for sentence in turn.sentences:
        candidates.facts_matching(sentence, LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=256)
    arguments = parser.parse_args()
    main(arguments.facts, arguments.dimensions)
