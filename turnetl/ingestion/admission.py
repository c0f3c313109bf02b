"""Admission of turns by the budget, and their extraction ahead of the commit.

A budget pays for turns that are committed, not for their preparation. A turn starts if what is left
of the budget is likely to carry it, and every turn that has started before it, through to the
commit. All groups of a run share one admission. The expected cost of a turn is proportional to its
size: its characters, and a fixed part for the instructions that each of its requests contains.
"""

import asyncio
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Self

from turnetl.base.model import Episode, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.llm.costs import Account, Amount, amount_of, charged_to

if TYPE_CHECKING:  # a run without new turns does without it
    from turnetl.llm.budget import Budget

_MIN_REMAINING = 0.2
"""Share of the expected cost that a turn still needs, however much it has used."""
_CAUTION = 1.3
"""Margin of the expected costs if an error would waste what several turns have used."""
_NEAR_END, _CAUTION_NEAR_END = 0.8, 1.35
"""Share of the budget from which on a single turn has a margin, and this margin."""
_CAUTION_AHEAD = 2.0
"""Margin of the expected costs as long as turns are resolved ahead."""
_MIN_COMMITTED = 0.905
"""Share of what was paid that must be for committed turns, if the rest of a budget prepares the
next turn, which the next run commits."""


class AdmittedTurn:
    """A turn that has started and is not committed yet. On exit it is finished."""

    def __init__(self, admission: "TurnAdmission", chars: int, *, is_covered: bool) -> None:
        self.chars = chars
        self.account = Account(partial(admission.approve, self))
        self.is_covered = is_covered
        """Whether the budget was likely to carry the turn when it started."""
        self._admission = admission

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def commit(self, usage: Usage) -> None:
        """Count the turn as committed, at the usage of its responses, whenever they were paid."""
        account, cost = self.account, amount_of(usage)
        self._admission.paid += account.spent
        # What was reserved in vain at the end, on top of the cost.
        margin = (account.required - account.spent).at_least(Amount())
        if cost.tokens:
            self._admission.costs.learn(self.chars, cost, cost + margin)

    def finish(self) -> None:
        """Let other turns start in the place of this one. May be called more than once."""
        self._admission.finish(self)


@dataclass(slots=True, eq=False)
class _WaitingTurn:
    chars: int
    admitted: "asyncio.Future[AdmittedTurn]"


class TurnAdmission:
    """Decides which turns of a run start. One object for all groups."""

    def __init__(self, budget: "Budget | None" = None, *, prepares: bool = True) -> None:
        """Admit turns to a budget.

        Args:
            budget: the budget of the run; None: no turn waits.
            prepares: whether the next run can use the responses of a turn that is not committed.
        """
        self.costs = TurnCosts()
        self.paid = Amount()
        """What this run had paid for each turn when it was committed, also in vain: for responses
        that were invalid or that ran ahead. Counted only with a budget."""
        self._budget = budget
        self._prepares = prepares
        self._started: list[AdmittedTurn] = []
        self._waiting: deque[_WaitingTurn] = deque()

    def try_start(self, chars: int) -> AdmittedTurn | None:
        """Start a turn that others of its group precede, if the budget covers all of them."""
        if self._budget is None or (not self._waiting and self._covers(chars)):
            return self._start(chars)
        return None

    def has_room_ahead(self) -> bool:
        """Return whether requests may be sent that the turns that have started may not need."""
        if self._budget is None:
            return True
        if self._waiting or not self.costs.is_certain:
            return False
        required = sum(map(self._still_required, self._started), Amount())
        return self._budget.covers(required * _CAUTION_AHEAD)

    async def start(self, chars: int) -> AdmittedTurn:
        """Start the next turn of a group, as soon as the budget covers it or no other turn runs.

        The groups start their turns in the order in which they ask.
        """
        if self._budget is None or (not self._waiting and self._may_start(chars)):
            return self._start(chars)
        waiting = _WaitingTurn(chars, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            return await waiting.admitted
        except asyncio.CancelledError:
            if waiting.admitted.done() and not waiting.admitted.cancelled():
                self.finish(waiting.admitted.result())
            else:
                self._waiting.remove(waiting)
                self._start_waiting()
            raise

    @contextmanager
    def flushing(self) -> Iterator[None]:
        """Count the requests of the block as paid for committed turns: for their summaries."""
        account = Account(lambda _: None)
        try:
            with charged_to(account):
                yield
        finally:
            self.paid += account.spent

    def finish(self, turn: AdmittedTurn) -> None:
        if turn in self._started:
            self._started.remove(turn)
            self._start_waiting()

    def approve(self, turn: AdmittedTurn, request: Amount) -> None:
        """Raise RunStopped if the turn, with this request, will hardly be committed in the budget.

        A turn that runs alone may have started although the budget does not cover it: the journal
        may hold its responses.
        """
        if self._budget is None or turn.is_covered:
            return
        required = self.costs.required(turn.chars) * self._caution()
        # A budget that is too small for any turn still brings the run forward.
        if not self.costs.is_known or not self.paid.tokens or self._budget.covers(required):
            turn.is_covered = True
        elif not self._may_prepare(turn.account.in_flight + request):
            raise self._budget.too_small("turn", required)

    def run_cost(self, used: Usage) -> RunCost:
        """Return the cost of the run so far, the expected one of its plan, and the budget."""
        budget, rest = self._budget, self.costs.expected()
        is_priced = used.cost is not None
        paid = self.paid if budget is not None else self.costs.cost
        expected = None if rest is None else (paid + rest).at_least(amount_of(used))
        return RunCost(
            tokens=used.tokens,
            usd=used.cost,
            expected_tokens=None if expected is None else round(expected.tokens),
            expected_usd=expected.usd if expected is not None and is_priced else None,
            budget_tokens=budget.tokens if budget is not None else None,
            budget_usd=budget.usd if budget is not None else None,
            committed_usd=self.paid.usd if budget is not None and is_priced else None,
            repeated_responses=budget.repeated if budget is not None else 0,
        )

    def _may_prepare(self, more: Amount) -> bool:
        if self._budget is None or not self._prepares or self._waiting:
            return False
        paid = self._budget.used + more
        return self.paid.tokens >= _MIN_COMMITTED * paid.tokens and (
            self._budget.usd is None or self.paid.usd >= _MIN_COMMITTED * paid.usd
        )

    def _start(self, chars: int) -> AdmittedTurn:
        turn = AdmittedTurn(self, chars, is_covered=self._covers(chars))
        self._started.append(turn)
        return turn

    def _start_waiting(self) -> None:
        while self._waiting and self._may_start(self._waiting[0].chars):
            waiting = self._waiting.popleft()
            if not waiting.admitted.cancelled():
                waiting.admitted.set_result(self._start(waiting.chars))

    def _may_start(self, chars: int) -> bool:
        return not self._started or self._covers(chars)

    def _covers(self, chars: int) -> bool:
        """Return whether the budget is likely to carry this turn and those that have started."""
        if self._budget is None:
            return True
        if not self.costs.is_known:
            return False
        if self._started and not self.costs.is_certain:
            return False
        started = (self._still_required(turn) for turn in self._started)
        required = sum(started, self.costs.required(chars))
        return self._budget.covers(required * (_CAUTION if self._started else self._caution()))

    def _caution(self) -> float:
        """Return the margin of a turn that runs alone.

        Near the end, a turn that is not committed is a greater loss than a rest that is not used.
        """
        is_near_end = self._budget is not None and not self._budget.covers(
            self._budget.used * (1 / _NEAR_END - 1)
        )
        return _CAUTION_NEAR_END if is_near_end else 1.0

    def _still_required(self, turn: AdmittedTurn) -> Amount:
        required = self.costs.required(turn.chars)
        return (required - turn.account.spent).at_least(required * _MIN_REMAINING)


_FIXED_CHARS = 10_000
"""Characters that cost as much as the instructions, schemas and graph contents of a turn."""
_SAMPLES = 50
"""Committed turns from which costs are learned: a group that grows makes turns dearer."""
_QUANTILE = 0.7
"""Share of the turns that must have required no more than what is kept for a turn."""
_FEW, _MARGIN_OF_FEW = 3, 1.1
"""With so few turns, the dearest of them says less."""
_MARGIN_OF_EARLIER = 1.3
"""For the costs of earlier runs, of which only the mean is known."""


class TurnCosts:
    """The costs of the turns of a run, over all its groups."""

    def __init__(self) -> None:
        self.planned_size = 0.0
        """Size of the turns that are planned and not yet finished."""
        self._planned_turns = 0
        self._earlier: Amount | None = None
        """Cost per turn in earlier runs."""
        self._earlier_turns = 0
        self._size = 0.0
        self.cost = Amount()
        """Of the turns that the run committed, whenever they were paid for."""
        self._required: deque[Amount] = deque(maxlen=_SAMPLES)
        """What had to be left of a budget for a turn, per unit of size."""

    @property
    def is_known(self) -> bool:
        return bool(self._required) or self._earlier is not None

    @property
    def is_certain(self) -> bool:
        """Whether the cost estimate is precise enough to admit several turns concurrently."""
        return max(len(self._required), self._earlier_turns) >= _FEW

    def plan(self, turns: int, chars: int) -> None:
        self.planned_size += turns * _FIXED_CHARS + chars
        self._planned_turns += turns

    def finish(self, chars: int) -> None:
        self.planned_size = max(self.planned_size - _FIXED_CHARS - chars, 0.0)

    def learn_earlier(self, usages: Iterable[Usage]) -> None:
        """Learn from turns of earlier runs with a model and a price, unless something is known."""
        known = [amount_of(usage) for usage in usages if usage.calls and usage.cost is not None]
        if known and not self.is_known:
            self._earlier = sum(known, Amount()) * (1 / len(known))
            self._earlier_turns = len(known)

    def learn(self, chars: int, cost: Amount, required: Amount) -> None:
        """Learn from a committed turn; `required` had to be left of a budget to commit it."""
        size = _FIXED_CHARS + chars
        self._size += size
        self.cost += cost
        self._required.append(required * (1 / size))

    def required(self, chars: int) -> Amount:
        """Return what must be left of a budget so that a turn is likely to be committed."""
        size = _FIXED_CHARS + chars
        if not self._required:
            return self._mean() * (size * _MARGIN_OF_EARLIER)
        margin = _MARGIN_OF_FEW if len(self._required) < _FEW else 1.0
        tokens = _quantile(amount.tokens for amount in self._required)
        usd = _quantile(amount.usd for amount in self._required)
        return Amount(tokens, usd) * (size * margin)

    def expected(self) -> Amount | None:
        """Return the expected cost of the planned turns that are not finished, if it is known."""
        return self._mean() * self.planned_size if self.is_known else None

    def _mean(self) -> Amount:
        if self._size:
            return self.cost * (1 / self._size)
        per_turn = max(self.planned_size / max(self._planned_turns, 1), _FIXED_CHARS)
        return (self._earlier or Amount()) * (1 / per_turn)


def _quantile(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[ceil(_QUANTILE * len(ordered)) - 1]


Extract = Callable[[Episode, Sequence[Episode]], Coroutine[Any, Any, Any]]

MAX_PREFETCHED_CHARS = 20_000_000
"""Characters of prefetched turns: each occupies four bytes and more until it is committed."""


@dataclass(frozen=True, slots=True)
class PrefetchedTurn:
    """A turn whose extraction has started."""

    episode: Episode
    admitted: AdmittedTurn
    extraction: asyncio.Task[Any]
    """Running or complete."""


async def prefetch_turns(
    turns: Iterator[tuple[Episode, Sequence[Episode]]],
    extract: Extract,
    *,
    limit: int,
    admission: TurnAdmission,
    window: deque[PrefetchedTurn] | None = None,
) -> AsyncGenerator[PrefetchedTurn]:
    """Yield the turns in order, each with its extraction.

    Closing the generator cancels the running extractions.

    Args:
        turns: each with its context, from `with_context`.
        limit: maximum number of turns in extraction or extracted and not yet yielded; fewer if they
            are very long.
        admission: starts the turns. The receiver finishes each turn that it was yielded.
        window: an empty one, which holds the turns that have started and are not yielded yet.
    """
    window = deque() if window is None else window
    following = next(turns, None)
    try:
        while window or following is not None:
            while following is not None and len(window) < limit and not _is_too_large(window):
                chars = len(following[0].text)
                admitted = admission.try_start(chars) if window else await admission.start(chars)
                if admitted is None:
                    break
                admitted.account.place = len(window)
                window.append(_start(*following, extract, admitted))
                following = next(turns, None)
            for place, turn in enumerate(window):
                turn.admitted.account.place = place
            yield window.popleft()
    finally:
        for turn in window:
            turn.extraction.cancel()
        await asyncio.gather(*(turn.extraction for turn in window), return_exceptions=True)
        for turn in window:
            turn.admitted.finish()


def _start(
    episode: Episode, earlier: Sequence[Episode], extract: Extract, admitted: AdmittedTurn
) -> PrefetchedTurn:
    with charged_to(admitted.account):
        return PrefetchedTurn(episode, admitted, asyncio.create_task(extract(episode, earlier)))


def with_context(
    episodes: Iterable[Episode], context: Mapping[TurnId, Sequence[TurnId]]
) -> Iterator[tuple[Episode, list[Episode]]]:
    """Pair each turn to commit with the episodes of its context, in table order.

    An episode is kept in memory until the last turn that needs it, and no longer.

    Args:
        context: for each turn to commit, the earlier turns to show.
    """
    references = Counter(earlier for turns in context.values() for earlier in turns)
    kept: dict[TurnId, Episode] = {}
    for episode in episodes:
        required = context.get(episode.turn_id)
        if required is not None:
            yield episode, [earlier for turn, earlier in kept.items() if turn in required]
            references.subtract(required)
            for turn in required:
                if not references[turn]:
                    kept.pop(turn, None)
        if references[episode.turn_id]:
            kept[episode.turn_id] = episode


def _is_too_large(window: Collection[PrefetchedTurn]) -> bool:
    return sum(len(turn.episode.text) for turn in window) > MAX_PREFETCHED_CHARS
