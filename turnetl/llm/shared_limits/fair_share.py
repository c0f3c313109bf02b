"""An amount divided among several who want some of it."""

from collections.abc import Sequence


def fair_shares(amount: int, wants: Sequence[int]) -> list[int]:
    """Return what each one gets: at most what it wants, and the same for all that want more.

    Args:
        amount: to divide; what nobody wants is left.
        wants: not negative. What cannot be divided equally goes to the first ones.
    """
    level = _level(max(amount, 0), wants)
    shares = [min(want, level) for want in wants]
    left = max(amount, 0) - sum(shares)
    for index, want in enumerate(wants):
        if left and want > level:
            shares[index] += 1
            left -= 1
    return shares


def _level(amount: int, wants: Sequence[int]) -> int:
    """Return what each one may get at most, so that the sum is not above the amount."""
    left, level = amount, 0
    for count, want in enumerate(sorted(wants)):
        level = left // (len(wants) - count)
        if want > level:
            return level
        left -= want
    return max(wants, default=level)
