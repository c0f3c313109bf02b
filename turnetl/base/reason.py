"""The base of the enums whose members are counted or reported as reasons."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self, TypeVar


class Reason(StrEnum):
    """A reason: its value is the key in tables, counts and `--json`, its sentence explains it."""

    sentence: str
    """What the reason means, for users."""

    def __new__(cls, value: str, sentence: str = "") -> Self:
        """Create a member that carries its sentence. A lookup by value calls no constructor."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member


R = TypeVar("R", bound=Reason)


def add_counts(counts: Mapping[R, int], more: Mapping[R, int]) -> Mapping[R, int]:
    """Return the sums, sorted by reason."""
    reasons = sorted({*counts, *more})
    return {reason: counts.get(reason, 0) + more.get(reason, 0) for reason in reasons}
