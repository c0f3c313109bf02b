"""A large group in memory: how long it takes to build, how much memory it has, and a search of it.

    python -m benchmarks.large_group [--facts 100000] [--dimensions 256]

The group is made here, with sentences and vectors of random words: what is measured is the group in
memory and its indexes, not the reads from a graph (`benchmarks.bulk_fill` and `benchmarks.undo`
load graphs). CPU seconds; a turn asks for candidates as Graphiti does, 8 times for entities and 13
times for facts, by vector and by terms.
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
from turnetl.graph.mirror.candidates import CandidateIndex
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph_model import GroupContents
from turnetl.llm.float_lists import floats
from turnetl.llm.vectors import pack
from turnetl.model import Entity, Fact, GroupId, TurnId, Vector

GROUP = GroupId("large")
START = datetime(2026, 1, 1, tzinfo=UTC)
FACTS_PER_ENTITY = 3
ENTITY_SEARCHES, FACT_SEARCHES = 8, 13
"""Of a turn."""
LIMIT, MIN_SCORE = 20, 0.6
"""Graphiti's."""
MAX_SECONDS, MAX_MB, MAX_TURN_MS = 10, 1_000, 20
_WORDS = tuple(f"word{number}" for number in range(20_000))


class GroupMaker:
    """Makes entities and facts, the same for the same seed."""

    def __init__(self, dimensions: int) -> None:
        self._chance, self._vectors = random.Random(1), np.random.default_rng(1)  # noqa: S311 - no secret
        self._dimensions = dimensions

    def entities(self, count: int) -> Iterator[Entity]:
        for number in range(count):
            name = f"{self._chance.choice(_WORDS)}_{number}.py"
            at = START + timedelta(seconds=number)
            yield Entity(f"e{number}", GROUP, name, ("File",), "", at, embedding=self.vector())

    def facts(self, count: int, entities: int) -> Iterator[Fact]:
        for number in range(count):
            at = START + timedelta(seconds=number)
            yield Fact(
                uuid=f"f{number}",
                group_id=GROUP,
                source=f"e{self._chance.randrange(entities)}",
                target=f"e{self._chance.randrange(entities)}",
                relation="USES",
                text=self.sentence(),
                turns=(TurnId(f"t{number // 5}"),),
                created_at=at,
                valid_at=at,
                embedding=self.vector(),
            )

    def sentence(self) -> str:
        return " ".join(self._chance.choices(_WORDS, k=12))

    def vector(self) -> Vector:
        numbers = self._vectors.standard_normal(self._dimensions)
        return pack(numbers / np.linalg.norm(numbers))


@dataclass(frozen=True)
class SearchedTurn:
    """What the entities and facts of a turn are searched by."""

    entities: Sequence[Sequence[float]]
    facts: Sequence[Sequence[float]]
    sentences: Sequence[str]


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
    turns = [_searched_turn(maker) for _ in range(20)]
    started = time.process_time()
    for turn in turns:
        _search(candidates, turn)
    milliseconds = (time.process_time() - started) / len(turns) * 1_000
    print(f"{facts:,} facts, {entities:,} entities, {dimensions} dimensions")
    passed = [
        at_most("s to build it", seconds, MAX_SECONDS),
        at_most("MB, with what it was built from", megabytes, MAX_MB),
        at_most("ms for the candidates of a turn", milliseconds, MAX_TURN_MS),
    ]
    sys.exit(not all(passed))


def _searched_turn(maker: GroupMaker) -> SearchedTurn:
    return SearchedTurn(
        [floats(maker.vector()) for _ in range(ENTITY_SEARCHES)],
        [floats(maker.vector()) for _ in range(FACT_SEARCHES)],
        [maker.sentence() for _ in range(FACT_SEARCHES)],
    )


def _search(candidates: CandidateIndex, turn: SearchedTurn) -> None:
    """Search for the candidates of one turn."""
    candidates.entities_near(turn.entities, LIMIT, MIN_SCORE)
    candidates.facts_near(turn.facts, LIMIT, MIN_SCORE)
    for sentence in turn.sentences:
        candidates.facts_matching(sentence, LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=256)
    arguments = parser.parse_args()
    main(arguments.facts, arguments.dimensions)
