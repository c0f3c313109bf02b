"""The usage of many turns, predicted from that of some: totals of a stratified sample, as ranges.

The method is that of survey sampling: the mean of each stratum times the turns of it that were not
drawn (Cochran, Sampling Techniques, chapter 5). The interval is that of Student's distribution with
the degrees of freedom after Satterthwaite. Nothing is random: equal samples give equal ranges.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import NormalDist, fmean, variance
from typing import Annotated

from turnetl.base.model import Usage
from turnetl.base.results import described
from turnetl.ingestion.estimate_record import Range

CONFIDENCE = 0.95
"""Share of samples whose range holds the actual total, if the sample is like the rest."""
MIN_SAMPLE = 2
"""Values of a stratum from which its variance can be computed."""


def exactly(amount: float) -> Range:
    """Return the range of an amount that is known."""
    return Range(amount, amount, amount)


def at_least(amount: float) -> Range:
    """Return the range of an amount of which only a lower bound is known."""
    return Range(amount, amount, None)


@dataclass(frozen=True, slots=True)
class StratumValues:
    """The values of the drawn turns of a stratum, and how many turns they stand for."""

    values: tuple[float, ...]
    """At least `MIN_SAMPLE`, unless `others` is 0."""
    others: int
    """Turns of the stratum whose value is not known."""


def predict(
    strata: Sequence[StratumValues], *, known: float = 0.0, confidence: float = CONFIDENCE
) -> Range:
    """Return the total over the turns that were not drawn, plus what is known, also if negative."""
    expected, parts = known, list[tuple[float, int]]()
    for stratum in strata:
        if not stratum.others:
            continue
        drawn = len(stratum.values)
        expected += stratum.others * fmean(stratum.values)
        # The error of the mean, and that of the sum of the single turns.
        spread = stratum.others**2 / drawn + stratum.others
        parts.append((spread * variance(stratum.values), drawn - 1))
    total = sum(part for part, _ in parts)
    if total <= 0:
        return exactly(max(expected, 0.0))
    freedom = total**2 / sum(part**2 / degrees for part, degrees in parts)
    margin = student_quantile((1 + confidence) / 2, freedom) * math.sqrt(total)
    return Range(*(max(end, 0.0) for end in (expected - margin, expected, expected + margin)))


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's distribution for a probability above 0.5.

    Exact for one and two degrees of freedom; from three on within 1 % (Abramowitz and Stegun,
    26.7.5). Degrees between are rounded down, which makes the interval wider.
    """
    degrees = max(math.floor(freedom), 1)
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:  # noqa: PLR2004 - the case with a formula of its own
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / degrees**power for power, term in enumerate(terms, start=1)))


UsageByPrompt = Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class UsageRange:
    """Requests, tokens and cost, each with its interval."""

    requests: Annotated[Range, described("Attempts of requests to send.", digits=0)]
    prompt_tokens: Annotated[Range, described("Tokens of the requests.", digits=0)]
    completion_tokens: Annotated[Range, described("Tokens of the responses.", digits=0)]
    tokens: Annotated[Range, described("Tokens of both.", digits=0)]
    seconds: Range
    """Spent waiting for responses, summed over all requests."""
    cost: Annotated[
        Range | None, described("US dollars; null if the price of a model is unknown.", digits=6)
    ]

    def scaled(self, factor: float) -> "UsageRange":
        return self._each(self, lambda amount, _: amount * factor)

    def widened(self, completion_tokens: float, cost: float) -> "UsageRange":
        """Add half the interval of an error to both ends, in tokens of responses and US dollars."""
        return replace(
            self,
            completion_tokens=_widened(self.completion_tokens, completion_tokens),
            tokens=_widened(self.tokens, completion_tokens),
            cost=None if self.cost is None else _widened(self.cost, cost),
        )

    def down_to(self, least: "UsageRange") -> "UsageRange":
        """Return it with lower ends that are not above those of another one."""
        return self._each(least, _down_to)

    def _each(self, other: "UsageRange", combined: Callable[[Range, Range], Range]) -> "UsageRange":
        changed = {name: combined(getattr(self, name), getattr(other, name)) for name in _METRICS}
        cost = self.cost
        if cost is not None and other.cost is not None:
            cost = combined(cost, other.cost)
        return UsageRange(**changed, cost=cost)


NO_USAGE = UsageRange(*(exactly(0.0) for _ in range(6)))

_METRICS: Mapping[str, Callable[[Usage], float]] = {
    "requests": attrgetter("calls"),
    "prompt_tokens": attrgetter("prompt_tokens"),
    "completion_tokens": attrgetter("completion_tokens"),
    "tokens": attrgetter("tokens"),
    "seconds": attrgetter("seconds"),
}


def predict_usage(
    strata: Sequence[tuple[Sequence[UsageByPrompt], int]],
    known: Iterable[UsageByPrompt],
    prompt: str | None = None,
) -> UsageRange:
    """Return the usage of the turns that were not drawn plus the known one.

    Args:
        strata: what the drawn turns of each use, and how many turns they stand for.
        prompt: of the requests; None: all.
    """
    drawn = [([_select(one, prompt) for one in usages], others) for usages, others in strata]
    added = sum((_select(one, prompt) for one in known), Usage())

    def total(metric: Callable[[Usage], float]) -> Range:
        values = (StratumValues(tuple(map(metric, usages)), others) for usages, others in drawn)
        return predict(list(values), known=metric(added))

    ranges = {name: total(metric) for name, metric in _METRICS.items()}
    usages = [added, *(usage for of_stratum, _ in drawn for usage in of_stratum)]
    is_priced = all(usage.cost is not None for usage in usages)
    return UsageRange(**ranges, cost=total(_cost) if is_priced else None)


def minimum_usage(known: Iterable[UsageByPrompt], prompt: str | None = None) -> UsageRange:
    """Return the usage of which only a part is known, as lower bounds."""
    added = sum((_select(one, prompt) for one in known), Usage())
    ranges = {name: at_least(metric(added)) for name, metric in _METRICS.items()}
    return UsageRange(**ranges, cost=None if added.cost is None else at_least(added.cost))


def scaled(usage: Usage, factor: float) -> Usage:
    """Return a multiple of a usage, in whole requests and tokens."""
    return Usage(
        round(usage.calls * factor),
        round(usage.prompt_tokens * factor),
        round(usage.completion_tokens * factor),
        None if usage.cost is None else usage.cost * factor,
        round(usage.cached_tokens * factor),
        usage.seconds * factor,
    )


def prompts_of(usages: Iterable[UsageByPrompt]) -> list[str]:
    return sorted({prompt for usage in usages for prompt in usage})


def _widened(amount: Range, margin: float) -> Range:
    """Return the amount with an independent error added to its own."""
    if amount.high is None:
        return amount
    low = amount.expected - math.hypot(amount.expected - amount.low, margin)
    high = amount.expected + math.hypot(amount.high - amount.expected, margin)
    return Range(max(low, 0.0), amount.expected, high)


def _down_to(amount: Range, least: Range) -> Range:
    return Range(min(amount.low, least.low), amount.expected, amount.high)


def _select(usage: UsageByPrompt, prompt: str | None) -> Usage:
    if prompt is not None:
        return usage.get(prompt, Usage())
    return sum(usage.values(), Usage())


def _cost(usage: Usage) -> float:
    return usage.cost or 0.0
