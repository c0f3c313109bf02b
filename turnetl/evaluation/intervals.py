"""How sure a measured share or difference is: intervals of 95 %, and paired tests."""

import math
import random
from collections.abc import Sequence

Interval = tuple[float, float]

_Z = 1.959964
"""Standard deviations of a normal distribution that hold 95 %."""
_SAMPLES = 2_000
_TAIL = 0.025
_DIGITS = 4


def wilson(part: int, whole: int) -> Interval:
    """Return the Wilson interval of a share; of nothing everything is possible."""
    if not whole:
        return 0.0, 1.0
    share, scale = part / whole, 1 + _Z * _Z / whole
    middle = (share + _Z * _Z / (2 * whole)) / scale
    half = _Z * math.sqrt(share * (1 - share) / whole + (_Z / (2 * whole)) ** 2) / scale
    return round(max(0.0, middle - half), _DIGITS), round(min(1.0, middle + half), _DIGITS)


def bootstrap(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the interval of the mean of values: of 2,000 samples with replacement.

    Equal seeds draw equal samples. Of a value per question, such as a difference, it is paired.
    """
    if not values:
        return 0.0, 0.0
    drawn = random.Random(seed)  # noqa: S311 - protects nothing
    means = sorted(math.fsum(drawn.choices(values, k=len(values))) for _ in range(_SAMPLES))
    low, high = means[int(_TAIL * _SAMPLES)], means[-int(_TAIL * _SAMPLES) - 1]
    return round(low / len(values), _DIGITS), round(high / len(values), _DIGITS)


def mcnemar(gained: int, lost: int) -> float:
    """Return the p-value of the exact two-sided McNemar test.

    It is the probability of a split at least as uneven as this one, if a question that changed is
    equally likely to be gained or lost.
    """
    changed = gained + lost
    tail = sum(math.comb(changed, count) for count in range(min(gained, lost) + 1))
    return min(1.0, math.ldexp(tail, 1 - changed))
