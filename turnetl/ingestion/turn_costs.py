"""What turns cost: learned from committed turns, expected of the turns of a plan.

The expected cost of a turn is proportional to its size: its characters, and a fixed part for the
instructions that each of its requests contains.
"""

from collections import deque
from collections.abc import Iterable
from math import ceil

from turnetl.base.model import Usage
from turnetl.llm.cost_bounds import Amount, amount_of

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
        """Whether the costs are known well enough for several turns at once."""
        return max(len(self._required), self._earlier_turns) >= _FEW

    def plan(self, turns: int, chars: int) -> None:
        """Add turns to the plan.

        Args:
            turns: their number.
            chars: characters of all their episodes.
        """
        self.planned_size += turns * _FIXED_CHARS + chars
        self._planned_turns += turns

    def finish(self, chars: int) -> None:
        """Remove a turn from the plan."""
        self.planned_size = max(self.planned_size - _FIXED_CHARS - chars, 0.0)

    def learn_earlier(self, usages: Iterable[Usage]) -> None:
        """Learn from turns that earlier runs committed, unless something is known already.

        Args:
            usages: of their responses; those without a model or a price teach nothing.
        """
        known = [amount_of(usage) for usage in usages if usage.calls and usage.cost is not None]
        if known and not self.is_known:
            self._earlier = sum(known, Amount()) * (1 / len(known))
            self._earlier_turns = len(known)

    def learn(self, chars: int, cost: Amount, required: Amount) -> None:
        """Learn from a committed turn.

        Args:
            chars: characters of its episode.
            cost: of its responses, whenever they were paid for.
            required: what had to be left of a budget so that it could be committed.
        """
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
        """Return the mean cost per unit of size."""
        if self._size:
            return self.cost * (1 / self._size)
        per_turn = max(self.planned_size / max(self._planned_turns, 1), _FIXED_CHARS)
        return (self._earlier or Amount()) * (1 / per_turn)


def _quantile(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[ceil(_QUANTILE * len(ordered)) - 1]
