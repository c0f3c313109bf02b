"""Predicts the usage of planned turns: from a pilot, else from history, else from their prompts."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnetl.base.errors import BadUsage
from turnetl.base.model import TurnId, Usage
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.estimation.estimate import (
    EarlierTurn,
    PredictedUsage,
    answered_usage,
    from_history,
    from_pilot,
    from_prompts,
    with_lower_ends,
)
from turnetl.estimation.history import prompt_means, prompt_shares
from turnetl.estimation.pilot import Pilot, PilotResources, PilotResult, TurnRequests, survey
from turnetl.estimation.present_prices import at_prices
from turnetl.estimation.sample import PendingTurn, choose, draw, stratify
from turnetl.estimation.usage_range import NO_USAGE
from turnetl.estimation.workload import Workload
from turnetl.extraction.port import Extractor
from turnetl.ingestion.estimate_record import EstimateMethod
from turnetl.llm.journal.stats import JournalStats
from turnetl.llm.prices import Price

MIN_PILOT = 8
"""Turns: with fewer there are not two of each length."""
_MAX_SURVEYED = 500
"""Turns whose prompts are built for lower bounds; more are estimated from these."""


@dataclass(frozen=True, slots=True)
class PilotOptions:
    """The size of a pilot, and which turns it draws.

    Raises:
        BadUsage: too few turns.
    """

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


class Estimator:
    """Predicts what planned turns will use. Writes nothing to the graph."""

    def __init__(
        self,
        workloads: Sequence[Workload],
        resources: PilotResources,
        preview: Extractor[Any],
        knowledge: ModelKnowledge,
        progress: Progress,
    ) -> None:
        """Make an estimator of one run.

        Args:
            workloads: the turns, group by group.
            resources: with which turns are extracted and resolved.
            preview: the `llm` extractor over a `SilentModel`.
            knowledge: what is known of the model.
            progress: called after each turn that is looked at.
        """
        self._workloads = workloads
        self._resources = resources
        self._preview = preview
        self._knowledge = knowledge
        self._progress = progress

    async def predict(self, options: PilotOptions | None) -> Prediction:
        """Predict the usage; with a pilot, pay for its turns first.

        Raises:
            ModelUnusable, ModelBusy: the model did not respond to the pilot.
        """
        pilot = Pilot(self._resources, self._workloads)
        price = self._knowledge.price
        answered = at_prices(
            [turn for workload in self._workloads for turn in await pilot.answered(workload)], price
        )
        done = {turn.turn_id for turn in answered}
        pending = [
            turn
            for workload in self._workloads
            for turn in workload.pending()
            if turn.turn_id not in done
        ]
        result = None
        if options is not None and pending:
            result = await self._run_pilot(pilot, done, options)
        piloted = at_prices(result.turns, price) if result is not None else []
        surveyed = await self._survey(pending, piloted, has_pilot=bool(piloted))
        surveyed = at_prices(surveyed, price)
        requests, usage = answered_usage([*answered, *surveyed])
        predicted = self._predicted(pending, piloted, surveyed, answered)
        usage_range = predicted.usage
        if any(workload.undo is not None for workload in self._workloads):
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
        known, model = self._knowledge, self._knowledge.name_for
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
        turns = [turn for workload in self._workloads for turn in workload.pending()]
        leading, drawn = choose(turns, answered, options.turns, seed=options.seed)
        total = len(leading) + len(drawn)

        def advance(done: int) -> None:
            self._progress(ProgressUpdate("pilot", "turns", done, total))

        return await pilot.run(leading, drawn, advance)

    async def _survey(
        self, pending: Sequence[PendingTurn], piloted: Sequence[TurnRequests], *, has_pilot: bool
    ) -> list[TurnRequests]:
        """Look up what the journal has of the turns; build their prompts if nothing else is known.

        Without a journal, the prompts are needed for lower bounds only, and some are enough.
        """
        has_journal = bool(self._knowledge.journal.total.entries)
        is_bounded = not has_pilot and len(self._knowledge.history) == 0
        if not has_journal and not is_bounded:
            return []
        seen = {turn.turn_id for turn in piloted}
        rest = [turn for turn in pending if turn.turn_id not in seen]
        if not has_journal:
            rest = draw(stratify(rest, _MAX_SURVEYED), _MAX_SURVEYED, seed=0) if rest else []
        wanted = {turn.turn_id for turn in rest}
        found: list[TurnRequests] = []
        for workload in self._workloads:
            before = len(found)

            def advance(done: int, before: int = before) -> None:
                self._progress(ProgressUpdate("estimate", "turns", before + done, len(rest)))

            turns = wanted.intersection(workload.plan.turns.to_commit)
            if turns:
                found += await survey(workload, turns, self._preview, advance)
        return found
