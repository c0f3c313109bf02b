"""The estimate of turns that are planned, whatever command is to ingest them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import TurnId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, RunCost, ignore_progress
from turnetl.estimation.estimator import (
    Estimator,
    ModelKnowledge,
    PilotOptions,
    Prediction,
    RateLimits,
    from_latency,
    from_limits,
    from_speeds,
    without_model,
)
from turnetl.estimation.history import disk_growth, earlier_turns, speeds
from turnetl.estimation.pilot import ObservedModel, PilotResources, SilentModel
from turnetl.estimation.plan_report import Estimate, GroupEstimate, PilotSummary
from turnetl.estimation.sample import Workload
from turnetl.estimation.usage_range import NO_USAGE, exactly
from turnetl.graph.open import embedded_file
from turnetl.graph.port import GraphStore
from turnetl.index.files import index_folder
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.estimate_record import EstimateMethod, Range
from turnetl.llm.chat import ChatModel, model_for
from turnetl.llm.journal.store import JournalStats
from turnetl.llm.meter import EMBEDDINGS
from turnetl.llm.prices import Prices
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.previews import estimated_tokens
from turnetl.settings import Settings

_NO_JOURNAL = (
    "a pilot needs the journal, so that the run does not pay for the same responses again: remove "
    "the setting `journal`"
)


async def estimate_workloads(
    workloads: Sequence[Workload],
    store: GraphStore,
    settings: Settings,
    clock: Clock,
    *,
    pilot: PilotOptions | None = None,
    progress: Progress = ignore_progress,
) -> Estimate:
    """Return what it takes to ingest the turns. Writes nothing to the graph.

    Args:
        workloads: the turns, group by group.
        store: the graph that they would be ingested into; only read.
        settings: of that run: its lake, its journal, extractor, model and limits.
        clock: returns the current time.
        pilot: extract some of the turns and pay for it, up to the budget of the settings; None:
            send no request.
        progress: called after each turn that is looked at.

    Raises:
        BadUsage: a pilot without a journal.
        ModelUnusable, ModelBusy: the model did not respond to the pilot.
        GraphBusy, GraphUnusable: the graph cannot be read.
    """
    if not settings.uses_model:
        return await _without_model(workloads, store, settings)
    if pilot is not None and not settings.journal:
        raise BadUsage(_NO_JOURNAL)
    async with AsyncExitStack() as opened:
        stack = await opened.enter_async_context(wiring.model_stack(settings, clock))
        prices, model = wiring.prices(clock()), wiring.model(settings)
        opened.push_async_callback(model.close)
        knowledge = await _knowledge(store, settings, stack, prices, model)
        resources = await _resources(opened, store, settings, clock, stack=stack, model=model)
        simulated = _simulated(model, stack, settings)
        preview = wiring.model_extractor(settings)(simulated, resources.embedder)
        estimator = Estimator(workloads, resources, preview, knowledge, _with_cost(progress, stack))
        prediction = await estimator.predict(pilot)
        paid = dict(stack.meter.by_prompt()) if stack.meter is not None else {}
    summary = _pilot_summary(prediction, pilot, paid)
    return await _estimate(
        workloads, store, settings, prediction, pilot=summary, prices=prices, model=model
    )


def _with_cost(progress: Progress, stack: ModelStack) -> Progress:
    """Return the callback with the cost so far in each update."""

    def advance(update: ProgressUpdate) -> None:
        used = stack.used()
        progress(replace(update, cost=RunCost(used.tokens, used.cost)))

    return advance


async def _knowledge(
    store: GraphStore, settings: Settings, stack: ModelStack, prices: Prices, model: ChatModel
) -> ModelKnowledge:
    def name_for(prompt: str) -> str:
        return model_for(model, prompt).name

    extractor = settings.extractor_name
    history = await earlier_turns(
        wiring.lake(settings),
        store,
        extractor=extractor,
        model=model.name,
        price=prices.find(model.name),
    )
    stats = stack.journal.stats() if stack.journal is not None else JournalStats(Path())
    return ModelKnowledge(lambda prompt: prices.find(name_for(prompt)), name_for, history, stats)


async def _resources(
    opened: AsyncExitStack,
    store: GraphStore,
    settings: Settings,
    clock: Clock,
    *,
    stack: ModelStack,
    model: ChatModel,
) -> PilotResources:
    """Open what a pilot uses."""
    embedder = await opened.enter_async_context(wiring.embedder(settings, meter=stack.meter))
    construct = wiring.extractor_over(settings)
    observed = ObservedModel(wiring.model(settings, stack), estimated_tokens)
    silent = _simulated(model, stack, settings)
    sending, simulating = construct(observed, embedder), construct(silent, embedder)
    opened.push_async_callback(sending.close)
    opened.push_async_callback(simulating.close)
    return PilotResources(
        store,
        embedder,
        sending,
        simulating,
        wiring.flush_rules(settings, observed),
        wiring.flush_rules(settings, silent),
        TurnAdmission(stack.budget),
        clock,
        settings.prefetch,
    )


def _simulated(model: ChatModel, stack: ModelStack, settings: Settings) -> SilentModel:
    journal = stack.journal
    readable = journal if journal is not None and journal.path.exists() else None
    return SilentModel(model, readable, settings.llm.effort or "", estimated_tokens)


async def _estimate(
    workloads: Sequence[Workload],
    store: GraphStore,
    settings: Settings,
    prediction: Prediction,
    *,
    pilot: PilotSummary | None,
    prices: Prices,
    model: ChatModel,
) -> Estimate:
    """Return the estimate of a run with a model."""
    usage = prediction.usage
    by_group = Counter({one.group: len(one.plan.turns.to_commit) for one in workloads})
    limits = RateLimits(
        settings.llm.concurrency,
        settings.group_concurrency,
        settings.llm.requests_per_minute,
        settings.llm.tokens_per_minute,
    )
    earlier = speeds(await store.runs(), settings.extractor_name, model.name)
    seconds: Range | None = from_limits(usage, limits)
    if prediction.method is EstimateMethod.PILOT:
        seconds = from_latency(usage, by_group, limits)
    elif prediction.method is not EstimateMethod.BOUNDS:
        seconds = from_speeds(by_group.total(), earlier) or seconds
    names = sorted({model_for(model, prompt).name for prompt in (*usage.by_prompt, "")})
    return Estimate(
        method=prediction.method,
        extractor=settings.extractor_name,
        model=model.name,
        groups=tuple(_group(workload, usage.by_turn) for workload in workloads),
        total=usage.total,
        by_prompt=usage.by_prompt,
        basis=prediction.basis,
        answered_turns=len(prediction.answered),
        answered=prediction.answered_usage,
        answered_requests=prediction.answered_requests,
        seconds=seconds,
        disk=await _disk(
            workloads, store, settings, usage.total.requests, usage.total.completion_tokens
        ),
        pilot=pilot,
        missing_prices=tuple(prices.missing(name) for name in names if prices.find(name) is None),
    )


async def _without_model(
    workloads: Sequence[Workload], store: GraphStore, settings: Settings
) -> Estimate:
    groups = tuple(_group(workload, {}) for workload in workloads)
    turns = sum(group.turns for group in groups)
    earlier = speeds(await store.runs(), settings.extractor_name, None)
    nothing = exactly(0.0)
    return Estimate(
        method=EstimateMethod.NO_MODEL,
        extractor=settings.extractor_name,
        model=None,
        groups=groups,
        total=NO_USAGE,
        by_prompt={},
        basis=0,
        answered_turns=0,
        answered=Usage(),
        answered_requests=0,
        seconds=from_speeds(turns, earlier) or without_model(turns),
        disk=await _disk(workloads, store, settings, nothing, nothing),
        pilot=None,
        missing_prices=(),
    )


def _group(workload: Workload, by_turn: Mapping[TurnId, Usage]) -> GroupEstimate:
    pending = workload.pending()
    used = [by_turn[turn.turn_id] for turn in pending if turn.turn_id in by_turn]
    total = sum(used, Usage())
    return GroupEstimate(
        group=workload.group,
        turns=len(pending),
        chars=sum(turn.chars for turn in pending),
        chunks=sum(turn.chunks for turn in pending),
        text_tokens=sum(turn.tokens for turn in pending),
        requests=round(max(total.calls, 0)),
        tokens=round(max(total.tokens, 0)),
        cost=None if total.cost is None else max(total.cost, 0.0),
    )


async def _disk(
    workloads: Sequence[Workload],
    store: GraphStore,
    settings: Settings,
    requests: Range,
    completion_tokens: Range,
) -> Mapping[str, Range]:
    committed = 0
    for group in await store.groups():
        committed += len(await store.turn_ids(group))
    # What a redo ingests takes the place of what it undoes.
    added = [workload.plan.turns for workload in workloads if workload.undo is None]
    return disk_growth(
        sum(len(plan.to_commit) for plan in added),
        committed,
        graph=embedded_file(settings.graph_url),
        index=index_folder(settings.lake, settings.graph_url),
        requests=requests,
        completion_tokens=completion_tokens,
    )


def _pilot_summary(
    prediction: Prediction, options: PilotOptions | None, paid: Mapping[str, Usage]
) -> PilotSummary | None:
    result = prediction.pilot
    if options is None or result is None:
        return None
    return PilotSummary(
        asked=options.turns,
        turns=len(result.turns),
        failed=result.failed,
        usage_by_prompt={name: one for name, one in paid.items() if name != EMBEDDINGS},
        stopped=None if result.stopped is None else str(result.stopped),
    )
