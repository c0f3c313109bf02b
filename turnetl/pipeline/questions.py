"""Questions that turns answer, written by the configured model for the search index."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.index.catalog import StoredQuestions, text_digest
from turnetl.index.index_report import IndexReport, QuestionEstimate, QuestionReport
from turnetl.index.persistent import PersistentIndex
from turnetl.index.questions import PROMPT, add_questions, estimate_questions, used_text
from turnetl.llm.chat import ChatModel
from turnetl.llm.meter import Meter
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import advice_if_busy, check_graph, open_repaired, update_index
from turnetl.pipeline.requested_model import model_of_prompt, requested_model, warn_of_cost
from turnetl.settings import Settings

_STAGE = "questions"
_BATCH_TURNS = 100
"""Turns that are read together."""


async def estimate_index_questions(settings: Settings, clock: Clock) -> QuestionEstimate:
    """Estimate the usage of `turnetl index --questions`. Sends no request, writes nothing."""
    check_graph(settings)
    async with question_model(settings, clock) as (model, _):
        with wiring.index_snapshot(settings) as snapshot:
            stored = snapshot.questions() if snapshot is not None else ()
        async with wiring.store(settings, write=False) as store:
            return _estimate(await _texts_without(stored, store), model, clock)


async def update_index_with_questions(
    settings: Settings,
    clock: Clock,
    *,
    rebuild: bool = False,
    progress: Progress = ignore_progress,
) -> IndexReport:
    """Bring the index up to date, and write the questions of all turns that have none.

    Their cost is stated first. What is written stays, whatever ends the run. `rebuild` as of
    `update_index`; `progress` is called after each batch of questions too.
    """
    async with question_model(settings, clock) as (model, meter):
        report = await update_index(settings, clock, rebuild=rebuild, progress=progress)
        # The graph is closed meanwhile: others may write it.
        questions = await _write_questions(settings, clock, model, meter, progress)
    with wiring.index_snapshot(settings) as snapshot:
        status = snapshot.status() if snapshot is not None else report.status
    return replace(
        report, questions=questions, status=replace(status, turns_behind=report.status.turns_behind)
    )


async def _write_questions(
    settings: Settings, clock: Clock, model: ChatModel, meter: Meter, progress: Progress
) -> QuestionReport:
    async with wiring.embedder(settings, meter=meter) as embedder:
        with advice_if_busy(), await open_repaired(settings, embedder) as index:
            estimate = _estimate(_texts(index), model, clock)
            if estimate.turns:
                what = f"the questions of {estimate.turns:,} turns:"
                warn_of_cost(what, estimate.model, estimate.usage)
            turns, failed = await add_questions(
                index,
                embedder,
                model,
                lambda done, total: progress(ProgressUpdate(_STAGE, "turns", done, total)),
            )
    return QuestionReport(turns, failed, meter.total)


def question_model(
    settings: Settings, clock: Clock
) -> AbstractAsyncContextManager[tuple[ChatModel, Meter]]:
    return requested_model(
        settings, clock, purpose="`--questions` writes questions", alternative="omit the option"
    )


def _estimate(texts: Iterable[str], model: ChatModel, clock: Clock) -> QuestionEstimate:
    used, price = model_of_prompt(model, PROMPT, clock)
    return estimate_questions(texts, model=used, price=price)


def _texts(index: PersistentIndex) -> Iterator[str]:
    """Yield the texts of the turns without questions."""
    missing = index.turns_without_questions().tolist()
    for start in range(0, len(missing), _BATCH_TURNS):
        turns = index.turns(missing[start : start + _BATCH_TURNS])
        yield from (turn.text for turn in turns.values())


async def _texts_without(stored: Sequence[StoredQuestions], store: GraphStore) -> list[str]:
    """Return the beginning of the texts of all turns in the graph that are not among the stored."""
    digests = {one.turn_id: one.digest for one in stored}
    texts = []
    for group in select_groups(await store.groups(), ()):
        sequence = 0
        while commits := await store.commits(group, sequence, _BATCH_TURNS):
            sequence = commits[-1].sequence
            texts += [
                used_text(turn.text)
                for turn in commits
                if digests.get(turn.receipt.turn_id) != text_digest(turn.text)
            ]
    return texts
