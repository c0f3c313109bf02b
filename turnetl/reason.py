"""The base of the enums whose members are counted or reported as reasons."""

from enum import StrEnum
from typing import Self


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
