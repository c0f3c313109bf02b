"""Does search find the turn that answers, better than plain text search does?

    python -m benchmarks.retrieval [--graph URL] [--misses] [ARCHIVES]

Asks the questions of retrieval_questions.tsv, as a person would a year later, of a lake and a graph
made of the archives for this run, with the structural extractor. Prints recall@1, @5 and @10 of the
very turn: by `turnetl search`, and by plain BM25 over the same turns' episode texts and over their
prompts and answers. The weights of the search were tuned on the half called `tune`; the other half,
`held`, was seen meanwhile, so it is no blind test. Default archives: those of tests/real.py. The
questions are about certain projects; without them there is nothing to ask.

Exits with 1 if, over all questions, the search is not better than both BM25 rankings at each depth.
"""

import argparse
import asyncio
import csv
import math
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests import real
from turnetl import pipeline
from turnetl.lake import Lake
from turnetl.model import Episode
from turnetl.settings import Settings

QUESTIONS = Path(__file__).with_name("retrieval_questions.tsv")
PROJECTS = (
    "entireio__cli",
    "randlee__claude-history",
    "uzaxirr__raze",
    "d-kimuson__claude-code-viewer",
    "daaain__claude-code-log",
    "obra__episodic-memory",
)
DEPTHS = (1, 5, 10)
NOWHERE = 10**6


@dataclass(frozen=True)
class Question:
    part: str
    kind: str
    text: str
    prompts: frozenset[str]
    """Native ids of the prompts whose turns answer it; any of them will do."""


@dataclass(frozen=True)
class Answers:
    """One way to search: the place of the right turn for each question, from 0."""

    name: str
    places: Sequence[int]
    seconds: float
    """CPU a question."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real.ARCHIVES, type=Path)
    arguments.add_argument("--graph", help="URL; default: a Ladybug file for this run")
    arguments.add_argument("--misses", action="store_true", help="print what was not found")
    given = arguments.parse_args()
    if not all((given.archives / project).is_dir() for project in PROJECTS):
        print("Nothing to ask: the archives that the questions are about are not here.")
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(lake=Path(folder), graph=given.graph)
        asyncio.run(build(settings, given.archives))
        better = report(list(questions()), settings, misses=given.misses)
    if not better:
        sys.exit("the search is not better than plain BM25 at every depth")


async def build(settings: Settings, archives: Path) -> None:
    projects = [str(archives / project) for project in PROJECTS]
    await pipeline.backfill(projects, settings, pipeline.RunOptions(), lambda: datetime.now(UTC))  # noqa: TID251


def questions() -> Iterator[Question]:
    with QUESTIONS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            prompts = frozenset(row["prompt"].split())
            yield Question(row["part"], row["kind"], row["question"], prompts)


def report(asked: Sequence[Question], settings: Settings, *, misses: bool) -> bool:
    """Print the table; say whether the search is better than both others at every depth."""
    lake = Lake(settings.lake)
    turns = [one for group in lake.groups() for one in lake.episodes(group) if one.noise is None]
    print(f"{len(turns)} turns, {len(asked)} questions")
    episode_texts = [one.text for one in turns]
    spoken = [f"{one.turn.user_text}\n{one.turn.assistant_text}" for one in turns]
    ours = asyncio.run(by_search(asked, turns, settings))
    ways = [
        by_bm25("BM25 over episode texts", asked, turns, episode_texts),
        by_bm25("BM25 over prompts + answers", asked, turns, spoken),
        ours,
    ]
    for part in ("tune", "held", ""):
        chosen = [at for at, one in enumerate(asked) if part in ("", one.part)]
        print(f"\n{part or 'all'}: {len(chosen)} questions")
        for way in ways:
            print(f"  {way.name:30} {line(way, chosen)}  {1000 * way.seconds:5.0f} ms a question")
    if misses:
        print_misses(asked, ours)
    return all(is_better(ours, other) for other in ways if other is not ours)


def is_better(ours: Answers, other: Answers) -> bool:
    return all(found(ours, depth) > found(other, depth) for depth in DEPTHS)


def found(way: Answers, depth: int) -> int:
    return sum(place < depth for place in way.places)


def line(way: Answers, chosen: Sequence[int]) -> str:
    recalls = (sum(way.places[at] < depth for at in chosen) / len(chosen) for depth in DEPTHS)
    return "  ".join(f"@{d} {recall:.2f}" for d, recall in zip(DEPTHS, recalls, strict=True))


def print_misses(asked: Sequence[Question], way: Answers) -> None:
    print()
    for place, question in zip(way.places, asked, strict=True):
        if place > 0:
            where = "nowhere" if place == NOWHERE else f"at {place + 1}"
            print(f"  {where:8} {question.part}  {question.text}")


async def by_search(
    asked: Sequence[Question], turns: Sequence[Episode], settings: Settings
) -> Answers:
    prompts = {one.turn_id: one.turn.prompt_id or "" for one in turns}
    places = []
    start = time.process_time()
    for question in asked:
        hits = await pipeline.search_turns(question.text, settings, limit=DEPTHS[-1])
        found = (at for at, hit in enumerate(hits) if prompts[hit.turn_id] in question.prompts)
        places.append(next(found, NOWHERE))
    return Answers("turnetl search", places, (time.process_time() - start) / len(asked))


def by_bm25(
    name: str, asked: Sequence[Question], turns: Sequence[Episode], texts: Sequence[str]
) -> Answers:
    index = Plain(texts)
    start = time.process_time()
    places = []
    for question in asked:
        scores = index.scores(question.text)
        order = sorted(range(len(turns)), key=lambda at, of=scores: -of[at])  # type: ignore[misc]
        found = (
            place
            for place, at in enumerate(order)
            if turns[at].turn.prompt_id in question.prompts and scores[at] > 0
        )
        places.append(next(found, NOWHERE))
    return Answers(name, places, (time.process_time() - start) / len(asked))


class Plain:
    """Okapi BM25 (k1 = 1.2, b = 0.75) over lower-case words, as any text search has it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts = [Counter(words(text)) for text in texts]
        self.lengths = [count.total() for count in self.counts]
        self.mean = sum(self.lengths) / len(texts)
        self.having = Counter(word for count in self.counts for word in count)

    def scores(self, query: str) -> list[float]:
        terms = {word: self.rarity(word) for word in words(query) if word in self.having}
        return [
            sum(rarity * self.worth(count, at, word) for word, rarity in terms.items())
            for at, count in enumerate(self.counts)
        ]

    def rarity(self, word: str) -> float:
        having = self.having[word]
        return math.log(1 + (len(self.counts) - having + 0.5) / (having + 0.5))

    def worth(self, count: Mapping[str, int], at: int, word: str) -> float:
        times = count.get(word, 0)
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * self.lengths[at] / self.mean))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    main()
