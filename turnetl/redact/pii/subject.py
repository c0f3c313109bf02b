"""A subject of personal data: its rules, and which texts they are tried on."""

from dataclasses import dataclass

from turnetl.redact.rule import SecretRule


@dataclass(frozen=True)
class PiiSubject:
    """Rules for one kind of personal data.

    The rules run on candidates only, so their patterns may use look-around. The length of a match
    is bounded: the time for a text is proportional to its length.
    """

    prefilter: str
    """Matches every text in which a rule can match; without look-around."""
    rules: tuple[SecretRule, ...]


WORD_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
"""Precedes a word: nothing of another word, but the letter of an escaped newline, as in JSON."""
NAME_START = r"(?:(?<![\w$.-])|(?<=\\[nrt]))"
"""Precedes the name of a variable."""
