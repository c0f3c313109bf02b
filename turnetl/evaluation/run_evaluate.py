"""Measure the search on the user's own turns. Writes nothing but the index and the journal."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from turnetl import wiring
from turnetl.base.batched import grouped
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, ModelUnusable, TurnetlError
from turnetl.base.graph_model import Receipt
from turnetl.base.model import TurnId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, RunCost, ignore_progress
from turnetl.base.text import plural
from turnetl.evaluation.question_set import (
    EvaluationQuestion,
    LocatedTurns,
    WrittenQuestions,
    read_question_file,
    sample_by_group,
    written_questions,
)
from turnetl.evaluation.recall import (
    Baseline,
    EvaluationReport,
    QuestionSource,
    Searcher,
    read_baseline,
    rerank_all,
)
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import Meter
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import OpenIndex, check_graph, current_index, repaired
from turnetl.pipeline.requested_model import requested_model
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_STAGE = "evaluate"
DEFAULT_QUESTIONS = 50
"""Turns about which a model writes a question."""


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The questions of an evaluation, and what is measured."""

    groups: tuple[str, ...] = ()
    """Group ids or project names that are searched; all if empty."""
    questions: Path | None = None
    """File of questions; None: those of the baseline, or a model writes them."""
    baseline: Path | None = None
    """File of an earlier evaluation, to compare with."""
    sample: int = DEFAULT_QUESTIONS
    """Turns about which a model writes a question, at least 1."""
    seed: int = 0
    """Equal seeds choose equal turns."""
    rerank: bool = False
    """Also measure the order of a model."""

    def __post_init__(self) -> None:
        if self.sample < 1:
            raise BadUsage(f"a sample has at least 1 turn, not {self.sample}")

    @property
    def source(self) -> QuestionSource:
        if self.questions is not None:
            return QuestionSource.FILE
        return QuestionSource.MODEL if self.baseline is None else QuestionSource.BASELINE


async def evaluate(
    settings: Settings,
    options: EvaluationOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> EvaluationReport:
    """Return how often each stage of the search finds the turn that answers a question."""
    check_graph(settings)
    baseline = None if options.baseline is None else read_baseline(options.baseline)

    async def work() -> EvaluationReport:
        async with (
            _model(settings, options, clock) as (model, meter),
            current_index(settings, clock, progress, meter=meter) as opened,
        ):
            evaluation = _Evaluation(settings, options, clock, model, meter, progress)
            return await evaluation.run(opened, baseline)

    return await repaired(settings, work)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    settings: Settings
    options: EvaluationOptions
    clock: Clock
    model: ChatModel | None
    meter: Meter | None
    progress: Progress

    async def run(self, opened: OpenIndex, baseline: Baseline | None) -> EvaluationReport:
        index, options = opened.index, self.options
        receipts = await self._receipts(index, options.groups)
        written = await self._questions(index, receipts, baseline)
        groups = tuple(sorted({one.group_id for one in receipts})) if options.groups else ()
        reranking = self.model if options.rerank else None
        selection = Selection(groups=groups)
        searcher = Searcher(
            index, opened.embedder, self.clock(), selection, reranking, wiring.thesaurus()
        )
        evaluated = []
        for done, question in enumerate(written.questions, 1):
            evaluated.append(await searcher.evaluated(question))
            self._report("searches", done, len(written.questions))
        stopped = written.stopped
        if reranking is not None and stopped is None:
            evaluated, stopped = await rerank_all(searcher, evaluated)
        return EvaluationReport(
            questions=tuple(evaluated),
            stages=searcher.stages,
            source=options.source,
            turns=len(receipts),
            turns_with_questions=index.status().turns_with_questions,
            without_question=written.without,
            failed=written.failed,
            embedder=(index.search_embedder or opened.embedder).name,
            model=None if self.model is None else self.model.name,
            usage=Usage() if self.meter is None else self.meter.total,
            stopped=None if stopped is None else str(stopped),
            baseline=baseline,
            evaluated_at=self.clock(),
            caught_up_at=index.caught_up_at,
            unread=opened.unread,
        )

    async def _receipts(self, index: PersistentIndex, names: Sequence[str]) -> list[Receipt]:
        """Return the receipts of all turns of these groups; of all groups without names."""
        known = sorted(group.group_id for group in index.groups() if group.turns)
        chosen = select_groups(known, names)
        with wiring.index_snapshot(self.settings) as snapshot:
            found = [
                receipt
                for group in chosen
                if snapshot is not None
                for receipt in await snapshot.receipts(group)
            ]
        if not found:
            raise BadUsage("the graph has no turn to search: run `turnetl backfill`")
        return found

    async def _questions(
        self, index: PersistentIndex, receipts: Sequence[Receipt], baseline: Baseline | None
    ) -> WrittenQuestions:
        if self.options.questions is not None:
            every = await self._receipts(index, ()) if self.options.groups else receipts
            asked = read_question_file(self.options.questions, LocatedTurns(every))
            return WrittenQuestions(_about(asked, receipts, f"`{self.options.questions}`"))
        if baseline is not None:
            asked = [one.question for one in baseline.questions]
            return WrittenQuestions(_about(asked, receipts, "the baseline"))
        return await self._written(index, receipts)

    async def _written(
        self, index: PersistentIndex, receipts: Sequence[Receipt]
    ) -> WrittenQuestions:
        by_group = grouped((one.group_id, one.turn_id) for one in receipts)
        sample = sample_by_group(by_group, self.options.sample, seed=self.options.seed)
        lookup = index.lookup()

        def text_of(turn: TurnId) -> str:
            key = lookup.turn_key(turn)
            return "" if key is None else index.turns([key])[key].text

        if self.model is None:
            raise AssertionError("questions are written by a model, which is opened for them")
        written = await written_questions(
            sample, text_of, self.model, lambda done: self._report("questions", done, len(sample))
        )
        if not written.questions:
            raise written.stopped or _no_question(written)
        return written

    def _report(self, name: str, done: int, total: int) -> None:
        cost = None
        if self.meter is not None:
            used = self.meter.total
            cost = RunCost(used.tokens, used.cost)
        self.progress(ProgressUpdate(_STAGE, name, done, total, cost))


def _no_question(written: WrittenQuestions) -> TurnetlError:
    """Return why an evaluation without any question ends, and what to do."""
    own = "questions of your own with --questions FILE"
    if written.failed:
        return ModelUnusable(
            f"there is no question about {plural(written.failed + written.without, 'turn')}: "
            f"{written.problem}; try another model, or give {own}"
        )
    return BadUsage(
        f"the model could think of no question about {plural(written.without, 'turn')}: give more "
        f"with --sample, or {own}"
    )


@asynccontextmanager
async def _model(
    settings: Settings, options: EvaluationOptions, clock: Clock
) -> AsyncIterator[tuple[ChatModel | None, Meter | None]]:
    """Open the model, if it writes the questions or reranks, and its meter."""
    writes = options.source is QuestionSource.MODEL
    if not (writes or options.rerank):
        yield None, None
        return
    purpose = "`turnetl evaluate` writes questions" if writes else "`--rerank` orders hits"
    other = "give questions of your own with --questions FILE" if writes else "leave it out"
    async with requested_model(settings, clock, purpose=purpose, alternative=other) as opened:
        yield opened


def _about(
    asked: Sequence[EvaluationQuestion], receipts: Sequence[Receipt], source: str
) -> list[EvaluationQuestion]:
    turns = {receipt.turn_id for receipt in receipts}
    found = [one for one in asked if not turns.isdisjoint(one.turns)]
    if not found:
        raise BadUsage(
            f"no question of {source} is about a turn that is searched: check --graph, --lake and "
            "--group"
        )
    if others := len(asked) - len(found):
        log.warning("%s of %s are about other turns: left out", plural(others, "question"), source)
    return found
