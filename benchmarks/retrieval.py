"""Recall of the search, compared with plain text search.

    python -m benchmarks.retrieval [--graph URL] [--misses] [ARCHIVES]

The benchmark ingests the archives with the structural extractor and searches them for the questions
of retrieval_questions.tsv, which are worded as a user would a year later. It prints recall@1, @5
and @10 of the right turn: by `turnetl search`, and by plain BM25 over the same turns' episode texts
and over their prompts and responses. The weights of the search were tuned on the half `tune`; the
other half, `held`, was seen during development, so it is not a blind test. Default archives: those
of tests/real_archives.py. The questions are about certain projects; without them nothing is
measured.

Exits with 1 if, over all questions, the search is not better than both BM25 rankings at every
depth.
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
from pathlib import Path

from tests import real_archives
from turnetl import pipeline
from turnetl.clock import now
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
NOT_FOUND = 10**6


@dataclass(frozen=True)
class BenchmarkQuestion:
    part: str
    kind: str
    text: str
    prompts: frozenset[str]
    """Native ids of the prompts whose turns answer the question; any of them counts."""


@dataclass(frozen=True)
class RankingResult:
    """One way to search: the rank of the right turn for each question, from 0."""

    name: str
    ranks: Sequence[int]
    seconds: float
    """CPU time per question."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--graph", help="URL; default: a Ladybug file for this run")
    arguments.add_argument(
        "--misses", action="store_true", help="print the questions whose turn is not first"
    )
    given = arguments.parse_args()
    if not all((given.archives / project).is_dir() for project in PROJECTS):
        print("Nothing to measure: the archives that the questions are about are missing.")
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(lake=Path(folder), graph=given.graph)
        asyncio.run(build(settings, given.archives))
        better = report(list(read_questions()), settings, misses=given.misses)
    if not better:
        sys.exit("the search is not better than plain BM25 at every depth")


async def build(settings: Settings, archives: Path) -> None:
    projects = [str(archives / project) for project in PROJECTS]
    await pipeline.backfill(projects, settings, pipeline.RunOptions(), now)


def read_questions() -> Iterator[BenchmarkQuestion]:
    with QUESTIONS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            prompts = frozenset(row["prompt"].split())
            yield BenchmarkQuestion(row["part"], row["kind"], row["question"], prompts)


def report(questions: Sequence[BenchmarkQuestion], settings: Settings, *, misses: bool) -> bool:
    """Print the table; return whether the search is better than both others at every depth."""
    lake = Lake(settings.lake)
    turns = [
        episode
        for group in lake.groups()
        for episode in lake.episodes(group)
        if episode.noise is None
    ]
    print(f"{len(turns)} turns, {len(questions)} questions")
    episode_texts = [turn.text for turn in turns]
    dialogue_texts = [f"{turn.turn.user_text}\n{turn.turn.assistant_text}" for turn in turns]
    turnetl_result = asyncio.run(by_search(questions, turns, settings))
    results = [
        by_bm25("BM25 over episode texts", questions, turns, episode_texts),
        by_bm25("BM25 over prompts + responses", questions, turns, dialogue_texts),
        turnetl_result,
    ]
    for part in ("tune", "held", ""):
        selected = [
            index for index, question in enumerate(questions) if part in ("", question.part)
        ]
        print(f"\n{part or 'all'}: {len(selected)} questions")
        for result in results:
            milliseconds = f"{1000 * result.seconds:5.0f} ms per question"
            print(f"  {result.name:30} {recall_line(result, selected)}  {milliseconds}")
    if misses:
        print_misses(questions, turnetl_result)
    return all(is_better(turnetl_result, other) for other in results if other is not turnetl_result)


def is_better(turnetl_result: RankingResult, other: RankingResult) -> bool:
    return all(hits_within(turnetl_result, depth) > hits_within(other, depth) for depth in DEPTHS)


def hits_within(result: RankingResult, depth: int) -> int:
    return sum(rank < depth for rank in result.ranks)


def recall_line(result: RankingResult, selected: Sequence[int]) -> str:
    recalls = (
        sum(result.ranks[index] < depth for index in selected) / len(selected) for depth in DEPTHS
    )
    return "  ".join(f"@{d} {recall:.2f}" for d, recall in zip(DEPTHS, recalls, strict=True))


def print_misses(questions: Sequence[BenchmarkQuestion], result: RankingResult) -> None:
    print()
    for rank, question in zip(result.ranks, questions, strict=True):
        if rank > 0:
            position = "not found" if rank == NOT_FOUND else f"at {rank + 1}"
            print(f"  {position:8} {question.part}  {question.text}")


async def by_search(
    questions: Sequence[BenchmarkQuestion], turns: Sequence[Episode], settings: Settings
) -> RankingResult:
    prompts = {turn.turn_id: turn.turn.prompt_id or "" for turn in turns}
    ranks = []
    start = time.process_time()
    for question in questions:
        hits = (await pipeline.search_turns(question.text, settings, now, limit=DEPTHS[-1])).hits
        found = (rank for rank, hit in enumerate(hits) if prompts[hit.turn_id] in question.prompts)
        ranks.append(next(found, NOT_FOUND))
    return RankingResult("turnetl search", ranks, (time.process_time() - start) / len(questions))


def by_bm25(
    name: str,
    questions: Sequence[BenchmarkQuestion],
    turns: Sequence[Episode],
    texts: Sequence[str],
) -> RankingResult:
    index = PlainBm25(texts)
    start = time.process_time()
    ranks = []
    for question in questions:
        scores = index.scores(question.text)
        order = sorted(range(len(turns)), key=lambda turn, scores=scores: -scores[turn])  # type: ignore[misc]
        found = (
            rank
            for rank, turn in enumerate(order)
            if turns[turn].turn.prompt_id in question.prompts and scores[turn] > 0
        )
        ranks.append(next(found, NOT_FOUND))
    return RankingResult(name, ranks, (time.process_time() - start) / len(questions))


class PlainBm25:
    """Okapi BM25 (k1 = 1.2, b = 0.75) over lower-case words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.counts = [Counter(words(text)) for text in texts]
        self.lengths = [count.total() for count in self.counts]
        self.mean = sum(self.lengths) / len(texts)
        self.document_frequency = Counter(word for count in self.counts for word in count)

    def scores(self, query: str) -> list[float]:
        terms = {word: self.idf(word) for word in words(query) if word in self.document_frequency}
        return [
            sum(idf * self.term_score(count, index, word) for word, idf in terms.items())
            for index, count in enumerate(self.counts)
        ]

    def idf(self, word: str) -> float:
        document_frequency = self.document_frequency[word]
        return math.log(
            1 + (len(self.counts) - document_frequency + 0.5) / (document_frequency + 0.5)
        )

    def term_score(self, count: Mapping[str, int], index: int, word: str) -> float:
        times = count.get(word, 0)
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * self.lengths[index] / self.mean))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    main()
