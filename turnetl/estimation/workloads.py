"""The estimate of turns that are planned, whatever command is to ingest them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
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
from turnetl.estimation.extrapolation import PredictedUsage
from turnetl.estimation.history import disk_growth, earlier_turns, speeds
from turnetl.estimation.pilot import ObservedModel, PilotResources, SilentModel
from turnetl.estimation.plan_report import Estimate, GroupEstimate, PilotSummary
from turnetl.estimation.sample import Workload
from turnetl.estimation.usage_range import NO_USAGE, UsageRange
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
    """Return what it takes to ingest the turns into `store`. Writes nothing to the graph.

    With a pilot, some of the turns are extracted and paid for, up to the budget of the settings.
    """
    run = _EstimatedRun(workloads, store, settings, clock)
    if not settings.uses_model:
        nothing = PredictedUsage(NO_USAGE, {}, {})
        return await run.estimate(Prediction(nothing, EstimateMethod.NO_MODEL, 0), None)
    if pilot is not None and not settings.journal:
        raise BadUsage(_NO_JOURNAL)
    async with AsyncExitStack() as opened:
        stack = await opened.enter_async_context(wiring.model_stack(settings, clock))
        prices, model = wiring.prices(clock()), wiring.model(settings)
        opened.push_async_callback(model.close)
        knowledge = await run.knowledge(stack, prices, model)
        resources = await run.resources(opened, stack, model)
        simulated = run.simulated(stack, model)
        preview = wiring.model_extractor(settings)(simulated, resources.embedder)
        estimator = Estimator(workloads, resources, preview, knowledge, with_cost(progress, stack))
        prediction = await estimator.predict(pilot)
        paid = dict(stack.meter.by_prompt()) if stack.meter is not None else {}
    summary = _pilot_summary(prediction, pilot, paid)
    usage = prediction.usage
    names = sorted({model_for(model, prompt).name for prompt in (*usage.by_prompt, "")})
    missing = tuple(prices.missing(name) for name in names if prices.find(name) is None)
    estimate = await run.estimate(prediction, model.name)
    return replace(estimate, pilot=summary, missing_prices=missing)


def with_cost(progress: Progress, stack: ModelStack) -> Progress:
    """Return the callback with the cost so far in each update."""

    def advance(update: ProgressUpdate) -> None:
        used = stack.used()
        progress(replace(update, cost=RunCost(used.tokens, used.cost)))

    return advance


@dataclass(frozen=True, slots=True)
class _EstimatedRun:
    workloads: Sequence[Workload]
    store: GraphStore
    settings: Settings
    clock: Clock

    async def knowledge(
        self, stack: ModelStack, prices: Prices, model: ChatModel
    ) -> ModelKnowledge:
        def name_for(prompt: str) -> str:
            return model_for(model, prompt).name

        history = await earlier_turns(
            wiring.lake(self.settings),
            self.store,
            extractor=self.settings.extractor_name,
            model=model.name,
            price=prices.find(model.name),
        )
        stats = stack.journal.stats() if stack.journal is not None else JournalStats(Path())
        return ModelKnowledge(
            lambda prompt: prices.find(name_for(prompt)), name_for, history, stats
        )

    async def resources(
        self, opened: AsyncExitStack, stack: ModelStack, model: ChatModel
    ) -> PilotResources:
        settings = self.settings
        embedder = await opened.enter_async_context(wiring.embedder(settings, meter=stack.meter))
        construct = wiring.extractor_over(settings)
        observed = ObservedModel(wiring.model(settings, stack), estimated_tokens)
        silent = self.simulated(stack, model)
        sending, simulating = construct(observed, embedder), construct(silent, embedder)
        opened.push_async_callback(sending.close)
        opened.push_async_callback(simulating.close)
        return PilotResources(
            self.store,
            embedder,
            sending,
            simulating,
            wiring.flush_rules(settings, observed),
            wiring.flush_rules(settings, silent),
            TurnAdmission(stack.budget),
            self.clock,
            settings.prefetch,
        )

    def simulated(self, stack: ModelStack, model: ChatModel) -> SilentModel:
        journal = stack.journal
        readable = journal if journal is not None and journal.path.exists() else None
        return SilentModel(model, readable, self.settings.llm.effort or "", estimated_tokens)

    async def estimate(self, prediction: Prediction, model: str | None) -> Estimate:
        """Return the estimate but for the pilot and the prices that are missing."""
        usage, settings = prediction.usage, self.settings
        return Estimate(
            method=prediction.method,
            extractor=settings.extractor_name,
            model=model,
            groups=tuple(_group(workload, usage.by_turn) for workload in self.workloads),
            total=usage.total,
            by_prompt=usage.by_prompt,
            basis=prediction.basis,
            answered_turns=len(prediction.answered),
            answered=prediction.answered_usage,
            answered_requests=prediction.answered_requests,
            seconds=await self._seconds(prediction, model),
            disk=await self._disk(usage.total),
            pilot=None,
            missing_prices=(),
        )

    async def _seconds(self, prediction: Prediction, model: str | None) -> Range | None:
        usage, settings = prediction.usage, self.settings
        by_group = Counter({one.group: len(one.plan.turns.to_commit) for one in self.workloads})
        limits = RateLimits(
            settings.llm.concurrency,
            settings.group_concurrency,
            settings.llm.requests_per_minute,
            settings.llm.tokens_per_minute,
        )
        earlier = speeds(await self.store.runs(), settings.extractor_name, model)
        match prediction.method:
            case EstimateMethod.PILOT:
                return from_latency(usage, by_group, limits)
            case EstimateMethod.BOUNDS:
                return from_limits(usage, limits)
            case EstimateMethod.NO_MODEL:
                return from_speeds(by_group.total(), earlier) or without_model(by_group.total())
            case _:
                return from_speeds(by_group.total(), earlier) or from_limits(usage, limits)

    async def _disk(self, total: UsageRange) -> Mapping[str, Range]:
        committed = 0
        for group in await self.store.groups():
            committed += len(await self.store.turn_ids(group))
        # What a redo ingests takes the place of what it undoes.
        added = [workload.plan.turns for workload in self.workloads if workload.undo is None]
        return disk_growth(
            sum(len(plan.to_commit) for plan in added),
            committed,
            graph=embedded_file(self.settings.graph_url),
            index=index_folder(self.settings.lake, self.settings.graph_url),
            requests=total.requests,
            completion_tokens=total.completion_tokens,
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
