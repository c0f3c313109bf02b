"""Recall of the search, stage by stage, compared with plain text search.

    python -m benchmarks.retrieval [--graph URL] [--embedder NAME] [--misses] [--other | --blind]
                                   [--weights] [ARCHIVES]

The benchmark ingests the archives with the structural extractor and searches all of their turns for
questions that are worded as a user would a year later. It prints recall@1, @5 and @10 of the right
turn: by plain BM25 over the episode texts and over prompts and responses, and by the stages that
`turnetl evaluate` measures. The weights of the ranking were chosen with these
questions and, by cross-validation, with those of `--other`. Those of `--blind` were written before
and are to be looked at rarely: no turn that answers one of them answers a question of another set.
`--weights` prints the recall of all sets, and that of weights by cross-validation, and no stages.
`benchmarks.retrieval_matches` measures whether a search says that nothing matches.

Default archives: those of tests/real_archives.py. Without them nothing is measured. Turns of
archives without times are dated 2024. Exits with 1 if the search is not better than both BM25
rankings at every depth.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.plain_bm25 import PlainBm25
from benchmarks.questions import ABSENT, SEALED, BenchmarkQuestion, read_questions
from benchmarks.ranking_weights import (
    RecordedQuestion,
    print_cross_validated,
    print_line,
    recorded_turns,
)
from tests import real_archives
from turnetl import pipeline, wiring
from turnetl.base.clock import now
from turnetl.base.model import Episode, TurnId
from turnetl.evaluation.intervals import wilson
from turnetl.evaluation.recall import DEPTHS, RankingStage, Searcher
from turnetl.ingestion import plan
from turnetl.lake import Lake
from turnetl.pipeline.index import OpenIndex, current_index
from turnetl.retrieval.ranking import WEIGHTS
from turnetl.settings import Settings
from turnetl.settings.sections import EmbedderSettings

NOT_FOUND = 10**6
STAGES = {
    RankingStage.LEXICAL: "words",
    RankingStage.DENSE: "similarity alone",
    RankingStage.FUSION: "words + similarity",
    RankingStage.LATE_INTERACTION: "+ late interaction",
    RankingStage.SEARCH: "+ previous turn = search",
}


@dataclass(frozen=True)
class RankingResult:
    """One way to search: the rank of the right turn for each question, from 0."""

    name: str
    ranks: Sequence[int]
    seconds: float
    """CPU time per question."""


@dataclass(frozen=True)
class Corpus:
    turns: Sequence[Episode]
    names: dict[TurnId, frozenset[str]]
    """The id of each turn and the native id of its prompt."""

    def rank(self, question: BenchmarkQuestion, found: Sequence[TurnId]) -> int:
        ranks = (rank for rank, turn in enumerate(found) if self.names[turn] & question.turns)
        return next(ranks, NOT_FOUND)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--graph", help="URL; default: a Ladybug file for this run")
    arguments.add_argument("--embedder", default="local", help="as `embedder.provider` names it")
    sets = arguments.add_mutually_exclusive_group()
    sets.add_argument("--other", action="store_true", help="the second set of questions")
    sets.add_argument("--blind", action="store_true", help="the questions kept apart")
    arguments.add_argument(
        "--misses", action="store_true", help="print the questions whose turn is not first"
    )
    arguments.add_argument(
        "--weights", action="store_true", help="all sets, and weights by cross-validation"
    )
    given = arguments.parse_args()
    if not given.archives.is_dir():
        print("Nothing to measure: the archives that the questions are about are missing.")
        return
    parts = ("blind",) if given.blind else ("other",) if given.other else ("tune", "held")
    questions = [question for question in read_questions() if question.part in parts]
    projects = [str(path) for path in sorted(given.archives.iterdir()) if path.is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        embedder = EmbedderSettings.model_validate({"provider": given.embedder})
        settings = Settings(lake=Path(folder), graph=given.graph, embedder=embedder)
        better = asyncio.run(
            measure(settings, projects, questions, misses=given.misses, weights=given.weights)
        )
    if not better and not given.blind:
        sys.exit("the search is not better than plain BM25 at every depth")


async def measure(
    settings: Settings,
    projects: Sequence[str],
    questions: Sequence[BenchmarkQuestion],
    *,
    misses: bool,
    weights: bool,
) -> bool:
    """Print the tables; return whether the search is better than BM25 at every depth."""
    options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
    await pipeline.backfill(projects, settings, options, now)
    corpus = read_corpus(Lake(settings.lake))
    answered = [question for question in questions if question.kind != ABSENT]
    print(f"{len(corpus.turns)} turns, {len(answered)} questions")
    async with current_index(settings, now) as opened:
        if weights:
            await print_weights(corpus, opened)
            return True
        results = [
            *by_plain_bm25(answered, corpus),
            *[await by_stage(stage, answered, corpus, opened) for stage in STAGES],
        ]
        print_recall(answered, results)
    if misses:
        print_misses(answered, results[-1])
    return all(is_better(results[-1], other) for other in results[:2])


def read_corpus(lake: Lake) -> Corpus:
    turns = [
        episode
        for group in lake.groups()
        for episode in lake.episodes(group)
        if episode.noise is None
    ]
    names = {turn.turn_id: frozenset((turn.turn_id, turn.turn.prompt_id or "")) for turn in turns}
    return Corpus(turns, names)


def by_plain_bm25(questions: Sequence[BenchmarkQuestion], corpus: Corpus) -> list[RankingResult]:
    ways: Sequence[tuple[str, Callable[[Episode], str]]] = (
        ("BM25 over episode texts", lambda turn: turn.text),
        (
            "BM25 over prompts + responses",
            lambda turn: f"{turn.turn.user_text}\n{turn.turn.assistant_text}",
        ),
    )
    results = []
    for name, text in ways:
        index = PlainBm25([text(turn) for turn in corpus.turns])
        start = time.process_time()
        ranks = [corpus.rank(question, best(index, question, corpus)) for question in questions]
        seconds = (time.process_time() - start) / len(questions)
        results.append(RankingResult(name, ranks, seconds))
    return results


def best(index: PlainBm25, question: BenchmarkQuestion, corpus: Corpus) -> list[TurnId]:
    scores = index.scores(question.text)
    order = sorted(range(len(scores)), key=lambda position: -scores[position])
    return [corpus.turns[position].turn_id for position in order if scores[position] > 0]


async def by_stage(
    stage: RankingStage,
    questions: Sequence[BenchmarkQuestion],
    corpus: Corpus,
    opened: OpenIndex,
) -> RankingResult:
    searcher = Searcher(opened.index, opened.embedder, thesaurus=wiring.thesaurus())
    start = time.process_time()
    ranks = [
        corpus.rank(question, await searcher.found(question.text, stage)) for question in questions
    ]
    return RankingResult(STAGES[stage], ranks, (time.process_time() - start) / len(questions))


async def print_weights(corpus: Corpus, opened: OpenIndex) -> None:
    """Print the recall of each set, and that of weights by cross-validation over all sets."""
    of_parts: dict[str, list[RecordedQuestion]] = {}
    for question in read_questions():
        if question.kind != ABSENT:
            recorded = await recorded_question(question, corpus, opened)
            of_parts.setdefault(question.part, []).append(recorded)
    now = np.array([*WEIGHTS.values()])
    for part, questions in of_parts.items():
        name = f"{part}: {len(questions)} questions"
        print_line(name, [one.reciprocal_rank(now) for one in questions])
    of_parts.pop(SEALED, None)
    print_cross_validated([one for part in of_parts.values() for one in part], "sessions")


async def recorded_question(
    question: BenchmarkQuestion, corpus: Corpus, opened: OpenIndex
) -> RecordedQuestion:
    turns = await recorded_turns(
        opened.index, opened.embedder, question.text, thesaurus=wiring.thesaurus()
    )
    right = {turn for turn, names in corpus.names.items() if names & question.turns}
    sessions = [one.turn.session_id for one in corpus.turns if one.turn_id in right]
    return RecordedQuestion(
        min(sessions, default=""),
        np.array([one.evidence for one in turns]).reshape(-1, len(WEIGHTS)),
        np.array([one.name in right for one in turns], dtype=np.bool_),
        np.arange(len(turns)),
    )


def print_recall(questions: Sequence[BenchmarkQuestion], results: Sequence[RankingResult]) -> None:
    for kind in ("", *sorted({question.kind for question in questions})):
        selected = [
            index for index, question in enumerate(questions) if kind in ("", question.kind)
        ]
        print(f"\n{kind or 'all'}: {len(selected)} questions")
        for result in results:
            milliseconds = f"{1000 * result.seconds:5.0f} ms per question"
            print(f"  {result.name:30} {recall_line(result, selected)}  {milliseconds}")


def is_better(result: RankingResult, other: RankingResult) -> bool:
    return all(hits_within(result, depth) > hits_within(other, depth) for depth in DEPTHS)


def hits_within(result: RankingResult, depth: int) -> int:
    return sum(rank < depth for rank in result.ranks)


def recall_line(result: RankingResult, selected: Sequence[int]) -> str:
    """Return the recall at each depth, with its 95 % interval."""
    shares = []
    for depth in DEPTHS:
        found = sum(result.ranks[index] < depth for index in selected)
        low, high = wilson(found, len(selected))
        shares.append(f"@{depth} {found / len(selected):.2f} [{low:.2f} {high:.2f}]")
    return "  ".join(shares)


def print_misses(questions: Sequence[BenchmarkQuestion], result: RankingResult) -> None:
    print()
    for rank, question in zip(result.ranks, questions, strict=True):
        if rank > 0:
            position = "not found" if rank == NOT_FOUND else f"at {rank + 1}"
            print(f"  {position:9} {question.part}  {question.text}")


if __name__ == "__main__":
    main()
