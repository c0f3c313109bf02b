"""Totals predicted from a stratified sample, each with a prediction interval.

The method is that of survey sampling: the mean of each stratum times the turns of it that were not
drawn (Cochran, Sampling Techniques, chapter 5). The interval is that of Student's distribution with
the degrees of freedom after Satterthwaite. Nothing is random: equal samples give equal ranges.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

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
    """Return the total over the turns that were not drawn, plus what is known.

    Args:
        strata: the sample.
        known: part of the total that needs no prediction; may be negative.
        confidence: of the interval, two-sided.
    """
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
    """Return the quantile of Student's distribution.

    Exact for one and two degrees of freedom; from three on within 1 % (Abramowitz and Stegun,
    26.7.5). Degrees between are rounded down, which makes the interval wider.

    Args:
        probability: above 0.5.
        freedom: degrees of freedom, at least 1.
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
