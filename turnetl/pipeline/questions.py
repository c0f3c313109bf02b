"""Questions that turns answer, written by the configured model for the search index."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.text import format_cost
from turnetl.graph.port import GraphStore
from turnetl.index.index_report import IndexReport, QuestionEstimate, QuestionReport
from turnetl.index.persistent import PersistentIndex
from turnetl.index.question_table import StoredQuestions, text_digest
from turnetl.index.questions import PROMPT, add_questions, estimate_questions, used_text
from turnetl.llm.chat import ChatModel, model_for
from turnetl.llm.meter import Meter
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import advice_if_busy, check_graph, open_repaired, update_index
from turnetl.pipeline.requested_model import requested_model
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_STAGE = "questions"
_BATCH_TURNS = 100
"""Turns that are read together."""


async def estimate_index_questions(settings: Settings, clock: Clock) -> QuestionEstimate:
    """Estimate the usage of `turnetl index --questions`. Sends no request, writes nothing.

    Args:
        settings: the graph, its index, and the model.
        clock: returns the current time, for the prices.

    Raises:
        BadUsage: no model is configured.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
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

    Their cost is stated first. What is written stays, whatever ends the run.

    Args:
        settings: as for `update_index`, and the model with its budget.
        clock: returns the current time.
        rebuild: delete the index first, but for the questions.
        progress: called after each group, and after each batch of questions.

    Raises:
        BadUsage: no model is configured.
        TurnetlError: as `update_index`, the model and the embedder.
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
            _state_cost(_estimate(_texts(index), model, clock))
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
    """Open the model that writes the questions, and its meter.

    Raises:
        BadUsage: no model is configured.
    """
    return requested_model(
        settings, clock, purpose="`--questions` writes questions", alternative="omit the option"
    )


def _state_cost(estimate: QuestionEstimate) -> None:
    if estimate.turns:
        log.warning(
            "asking `%s` for the questions of %s turns: about %s tokens, cost %s; responses in the "
            "journal cost nothing",
            estimate.model,
            f"{estimate.turns:,}",
            f"{estimate.usage.tokens:,}",
            format_cost(estimate.usage.cost),
        )


def _estimate(texts: Iterable[str], model: ChatModel, clock: Clock) -> QuestionEstimate:
    used = model_for(model, PROMPT)
    price = wiring.prices(clock()).find(used.name)
    return estimate_questions(texts, model=used.name, price=price)


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
