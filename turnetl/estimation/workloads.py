"""The estimate of turns that are planned, whatever command is to ingest them: usage, time, disk.

The usage is predicted from a pilot, else from history, else from the prompts of the turns.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, RunCost, ignore_progress
from turnetl.estimation.extrapolation import (
    EarlierTurn,
    PredictedUsage,
    answered_usage,
    at_prices,
    disk_growth,
    earlier_turns,
    from_history,
    from_pilot,
    from_prompts,
    prompt_means,
    prompt_shares,
    speeds,
    with_lower_ends,
)
from turnetl.estimation.pilot import (
    ObservedModel,
    Pilot,
    PilotResources,
    PilotResult,
    SimulatedModel,
    TurnRequests,
    survey,
)
from turnetl.estimation.plan_report import Estimate, GroupEstimate, PilotSummary
from turnetl.estimation.sample import (
    NO_USAGE,
    PendingTurn,
    UsageRange,
    Workload,
    choose,
    draw,
    stratify,
)
from turnetl.graph.open import embedded_file
from turnetl.graph.port import GraphStore
from turnetl.index.files import index_folder
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.estimate_record import EstimateMethod, Range
from turnetl.llm.chat import ChatModel, model_for
from turnetl.llm.journal.store import JournalStats
from turnetl.llm.meter import EMBEDDINGS
from turnetl.llm.prices import Price, Prices
from turnetl.llm.stack import ModelStack
from turnetl.settings import Settings

MIN_PILOT = 8
"""Turns: with fewer there are not two of each length."""
_MAX_SURVEYED = 500
"""Turns whose prompts are built for lower bounds; more are estimated from these."""


@dataclass(frozen=True, slots=True)
class PilotOptions:
    """The size of a pilot, and which turns it draws."""

    turns: int
    seed: int = 0
    """Equal seeds draw equal turns."""

    def __post_init__(self) -> None:
        if self.turns < MIN_PILOT:
            raise BadUsage(f"a pilot has at least {MIN_PILOT} turns, not {self.turns}")


@dataclass(frozen=True, slots=True)
class ModelKnowledge:
    """What is known about the model of a run without asking it."""

    price: Callable[[str], Price | None]
    """Returns the price of the model of a prompt."""
    name_for: Callable[[str], str]
    """Returns the name of the model of a prompt."""
    history: Sequence[EarlierTurn]
    journal: JournalStats


@dataclass(frozen=True, slots=True)
class Prediction:
    """What turns will use, and from what it was predicted."""

    usage: PredictedUsage
    method: EstimateMethod
    basis: int
    """Turns from which it was predicted."""
    answered: tuple[TurnRequests, ...] = ()
    """Turns whose requests the journal answers, all of them."""
    answered_requests: int = 0
    answered_usage: Usage = field(default_factory=Usage)
    pilot: PilotResult | None = None


@dataclass(frozen=True, slots=True)
class Estimator:
    """Predicts what planned turns will use. Writes nothing to the graph."""

    workloads: Sequence[Workload]
    resources: PilotResources
    knowledge: ModelKnowledge
    progress: Progress

    async def predict(self, options: PilotOptions | None) -> Prediction:
        """Predict the usage; with a pilot, pay for its turns first."""
        pilot = Pilot(self.resources, self.workloads)
        price = self.knowledge.price
        answered = at_prices(
            [turn for workload in self.workloads for turn in await pilot.answered(workload)], price
        )
        done = {turn.turn_id for turn in answered}
        pending = [
            turn
            for workload in self.workloads
            for turn in workload.pending()
            if turn.turn_id not in done
        ]
        result = None
        if options is not None and pending:
            result = await self._run_pilot(pilot, done, options)
        piloted = at_prices(result.turns, price) if result is not None else []
        surveyed = at_prices(await self._survey(pending, piloted), price)
        requests, usage = answered_usage([*answered, *surveyed])
        predicted = self._predicted(pending, piloted, surveyed, answered)
        usage_range = predicted.usage
        if any(workload.undo is not None for workload in self.workloads):
            least = from_prompts((), surveyed, price=price)
            usage_range = with_lower_ends(usage_range, least)
        return replace(
            predicted,
            usage=usage_range,
            answered=tuple(answered),
            answered_requests=requests,
            answered_usage=usage,
            pilot=result,
        )

    def _predicted(
        self,
        pending: Sequence[PendingTurn],
        piloted: Sequence[TurnRequests],
        surveyed: Sequence[TurnRequests],
        answered: Sequence[TurnRequests],
    ) -> Prediction:
        known, model = self.knowledge, self.knowledge.name_for
        if not pending:
            return Prediction(PredictedUsage(NO_USAGE, {}, {}), EstimateMethod.JOURNAL, 0)
        if piloted:
            earlier = prompt_means(known.journal, model)
            by_pilot = from_pilot(
                pending, piloted, surveyed, answered, price=known.price, earlier=earlier
            )
            if by_pilot is not None:
                return Prediction(by_pilot, EstimateMethod.PILOT, len(piloted))
        shares = prompt_shares(known.journal, model)
        by_history = from_history(pending, known.history, surveyed, shares)
        if by_history is not None:
            return Prediction(by_history, EstimateMethod.HISTORY, len(known.history))
        bounds = from_prompts(pending, surveyed, price=known.price)
        return Prediction(bounds, EstimateMethod.BOUNDS, len(surveyed))

    async def _run_pilot(
        self, pilot: Pilot, answered: Collection[TurnId], options: PilotOptions
    ) -> PilotResult:
        turns = [turn for workload in self.workloads for turn in workload.pending()]
        leading, drawn = choose(turns, answered, options.turns, seed=options.seed)
        total = len(leading) + len(drawn)

        def advance(done: int) -> None:
            self.progress(ProgressUpdate("pilot", "turns", done, total))

        return await pilot.run(leading, drawn, advance)

    async def _survey(
        self, pending: Sequence[PendingTurn], piloted: Sequence[TurnRequests]
    ) -> list[TurnRequests]:
        """Look up what the journal has of the turns; build their prompts if nothing else is known.

        Without a journal, the prompts are needed for lower bounds only, and some are enough.
        """
        has_journal = bool(self.knowledge.journal.total.entries)
        is_bounded = not piloted and not self.knowledge.history
        if not has_journal and not is_bounded:
            return []
        seen = {turn.turn_id for turn in piloted}
        rest = [turn for turn in pending if turn.turn_id not in seen]
        if not has_journal:
            rest = draw(stratify(rest, _MAX_SURVEYED), _MAX_SURVEYED, seed=0) if rest else []
        wanted = {turn.turn_id for turn in rest}
        found: list[TurnRequests] = []
        for workload in self.workloads:
            before = len(found)

            def advance(done: int, before: int = before) -> None:
                self.progress(ProgressUpdate("estimate", "turns", before + done, len(rest)))

            turns = wanted.intersection(workload.plan.turns.to_commit)
            if turns:
                found += await survey(workload, turns, self.resources.preview, advance)
        return found


_COMMIT_SECONDS = 0.05
"""Of a turn, without its requests: resolving it in memory, and its transaction."""
_SLOW, _USUAL, _FAST = 20.0, 60.0, 200.0
"""Turns per second of a run without a model, where no earlier run says more."""
_SLOWER = 1.5
"""How much slower provider and machine may be in the run than in the pilot."""
_SPREAD = 2.0
"""How much faster or slower than a single earlier run another one may be."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The limits of a run."""

    concurrency: int
    """Requests in flight."""
    group_concurrency: int
    """Groups that are ingested at the same time."""
    requests_per_minute: int | None
    tokens_per_minute: int | None


def from_latency(
    usage: PredictedUsage, turns_by_group: Mapping[GroupId, int], limits: RateLimits
) -> Range:
    """Return seconds: that of the limit which is reached first.

    Requests in flight and requests and tokens per minute limit all requests together. The turns of
    a group are resolved one after the other, each prompt of a turn after the one before it.
    """
    path = sum(usage.seconds_by_prompt.get(prompt, 0.0) for prompt in usage.resolution_prompts)
    paths = [turns * (path + _COMMIT_SECONDS) for turns in turns_by_group.values()]
    serial = max([*paths, sum(paths) / limits.group_concurrency], default=0.0)
    total, expected = usage.total, max(usage.total.requests.expected, 1.0)

    def seconds(requests: float, tokens: float, waiting: float) -> float:
        return max(
            waiting / limits.concurrency,
            serial * requests / expected,
            _minutes(requests, limits.requests_per_minute),
            _minutes(tokens, limits.tokens_per_minute),
        )

    ends = [
        seconds(*amounts)
        for amounts in zip(
            *(
                (one.low, one.expected, one.high or one.expected)
                for one in (total.requests, total.tokens, total.seconds)
            ),
            strict=True,
        )
    ]
    low, middle, high = ends
    return Range(low, middle, high * _SLOWER)


def from_speeds(turns: int, speeds: Sequence[float]) -> Range | None:
    """Return seconds at the speeds of earlier runs, in turns per second; None if there are none."""
    if not speeds:
        return None
    mean = sum(speeds) / len(speeds)
    fastest, slowest = max(*speeds, mean * _SPREAD), min(*speeds, mean / _SPREAD)
    return Range(turns / fastest, turns / mean, turns / slowest)


def without_model(turns: int) -> Range:
    """Return seconds for turns that need no request, without an earlier run."""
    return Range(turns / _FAST, turns / _USUAL, turns / _SLOW)


def from_limits(usage: PredictedUsage, limits: RateLimits) -> Range | None:
    """Return the seconds below which the limits per minute do not let a run end, if any."""
    least = max(
        _minutes(usage.total.requests.low, limits.requests_per_minute),
        _minutes(usage.total.tokens.low, limits.tokens_per_minute),
    )
    return Range(least, least, None) if least else None


def _minutes(amount: float, per_minute: int | None) -> float:
    return 60 * amount / per_minute if per_minute else 0.0


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
        estimator = Estimator(workloads, resources, knowledge, with_cost(progress, stack))
        prediction = await estimator.predict(pilot)
        paid = dict(stack.meter.by_prompt()) if stack.meter is not None else {}
    summary = _pilot_summary(prediction, pilot, paid)
    usage = prediction.usage
    names = sorted({model_for(model, prompt).name for prompt in (*usage.by_prompt, "")})
    missing = tuple(prices.missing(name) for name in names if prices.find(name) is None)
    return await run.estimate(prediction, model.name, pilot=summary, missing_prices=missing)


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
        settings, journal = self.settings, stack.journal
        embedder = await opened.enter_async_context(wiring.embedder(settings, meter=stack.meter))
        construct = wiring.extractor_over(settings)
        observed = ObservedModel(wiring.model(settings, stack))
        readable = journal if journal is not None and journal.path.exists() else None
        simulated = SimulatedModel(model, readable, settings.llm.effort or "")
        sending, simulating = construct(observed, embedder), construct(simulated, embedder)
        opened.push_async_callback(sending.close)
        opened.push_async_callback(simulating.close)
        return PilotResources(
            self.store,
            embedder,
            sending,
            simulating,
            wiring.flush_rules(settings, observed),
            wiring.flush_rules(settings, simulated),
            wiring.model_extractor(settings)(simulated, embedder),
            TurnAdmission(stack.budget),
            self.clock,
            settings.prefetch,
        )

    async def estimate(
        self,
        prediction: Prediction,
        model: str | None,
        *,
        pilot: PilotSummary | None = None,
        missing_prices: tuple[str, ...] = (),
    ) -> Estimate:
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
            pilot=pilot,
            missing_prices=missing_prices,
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
