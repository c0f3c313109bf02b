"""How certain it must be that two entities are one, to merge them without a person.

    python -m benchmarks.duplicate_entities [--pairs]

`duplicate_entities.tsv` has pairs of names with their labels, each in a group of its own: whether
they are one entity, and whether both state the same about a third one (`shared`) or are joined by a
fact (`joined`). The threshold was chosen with the pairs of `train`; those of `unseen` were labelled
before, and not looked at. Vectors are those of the default embedder.
"""

import argparse
import asyncio
import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.ingestion.duplicate_entities import CERTAIN, find_duplicates
from turnetl.llm.embedders import BUILT_IN, Embedder
from turnetl.wiring import open_chosen_embedder

PAIRS = Path(__file__).with_name("duplicate_entities.tsv")
PARTS = ("train", "unseen")
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_GROUP = GroupId("pairs")


@dataclass(frozen=True)
class LabelledPair:
    names: tuple[str, str]
    labels: tuple[str, str]
    evidence: str
    part: str
    is_same: bool


@dataclass(frozen=True)
class MergeQuality:
    """What a threshold merges of some pairs."""

    merged: int
    right: int
    same: int
    """Pairs that are one entity."""

    @property
    def precision(self) -> float:
        return self.right / self.merged if self.merged else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.same if self.same else 1.0


def read_pairs() -> list[LabelledPair]:
    with PAIRS.open(encoding="utf-8", newline="") as file:
        return [
            LabelledPair(
                (row["name"], row["other"]),
                (row["label"], row["other_label"]),
                row["evidence"],
                row["part"],
                row["same"] == "yes",
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]


async def certainties(pairs: Sequence[LabelledPair], embedder: Embedder) -> list[float]:
    """Return how certain it is that each pair is one entity; 0 for one that is not found."""
    vectors = iter(await embedder.embed([name for pair in pairs for name in pair.names]))
    found = (find_duplicates(_group(pair, [next(vectors), next(vectors)])) for pair in pairs)
    return [max((one.certainty for one in of_pair), default=0.0) for of_pair in found]


def quality(
    pairs: Iterable[tuple[LabelledPair, float]], part: str, threshold: float
) -> MergeQuality:
    of_part = [(pair.is_same, certainty) for pair, certainty in pairs if pair.part == part]
    merged = [is_same for is_same, certainty in of_part if certainty >= threshold]
    return MergeQuality(len(merged), sum(merged), sum(is_same for is_same, _ in of_part))


def _group(pair: LabelledPair, vectors: Sequence[Vector]) -> GroupContents:
    named = zip("ab", pair.names, pair.labels, vectors, strict=True)
    entities = [
        Entity(uuid, _GROUP, name, (label,), "", _AT, embedding=vector)
        for uuid, name, label, vector in named
    ]
    facts = {
        "shared": [_fact("a", "third"), _fact("b", "third")],
        "joined": [_fact("a", "b")],
    }
    return GroupContents(_GROUP, None, tuple(entities), tuple(facts.get(pair.evidence, ())), (), {})


def _fact(source: str, target: str) -> Fact:
    return Fact(
        uuid=f"{source}-{target}",
        group_id=_GROUP,
        source=source,
        target=target,
        relation="USES",
        text=f"{source} uses {target}.",
        turns=(),
        created_at=_AT,
        valid_at=_AT,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="print what is wrong")
    arguments = parser.parse_args()
    pairs = read_pairs()
    rated = list(
        zip(pairs, asyncio.run(certainties(pairs, open_chosen_embedder(BUILT_IN))), strict=True)
    )
    for part in PARTS:
        for threshold in sorted({0.5, 0.7, 0.8, CERTAIN, 0.9, 0.95}):
            of = quality(rated, part, threshold)
            mark = "  <- --yes" if threshold == CERTAIN else ""
            print(
                f"{part:7} from {threshold:.2f}: precision {of.precision:.3f} "
                f"({of.right} of {of.merged}), recall {of.recall:.3f} of {of.same}{mark}"
            )
    for pair, certainty in rated if arguments.pairs else ():
        if pair.part == PARTS[0] and pair.is_same != (certainty >= CERTAIN):
            print(f"{certainty:.2f}  {'same' if pair.is_same else 'other'}  {pair}")


if __name__ == "__main__":
    main()
