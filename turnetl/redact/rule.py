"""A secret rule: a kind of secret that the native scanner does not find."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property


# Compared by identity: the hash of 150 rules with all fields takes as long as a search.
@dataclass(frozen=True, eq=False)
class SecretRule:
    """Detects a secret by its context or by its own form. The last matching group is the secret.

    A pattern without a literal uses only what both regex engines support: no look-around, no
    back-reference.
    """

    name: str
    pattern: str
    description: str
    plausible: Callable[[str], bool]
    """Returns whether a matched value can be a secret: code has other values in such places."""
    starts_word: bool = False
    """Whether a letter or digit before the secret (other than of an escaped newline) rules it out.

    It is not a part of the pattern, because a pattern that starts with a literal is many times
    faster.
    """

    skip: str = ""
    """Text to skip where the pattern fails. Without it, each position in that text is tried."""

    reversed_prefix: bytes = b""
    """Pattern, matched backwards from the start of the secret; what it matches belongs to it.

    For a secret that only its end identifies: a forward pattern would try every start.
    """

    locate: Callable[[bytes, re.Match[bytes]], Iterable[tuple[int, int]]] | None = None
    """Returns the secrets that a match announces, if they are not a group of it."""

    may_be_secret: Callable[[str], bool] | None = None
    """Returns whether a match of the whole pattern can be a secret, wherever it stands.

    For a pattern without a required literal that most texts match.
    """

    places: Callable[[bytes], Iterable[tuple[int, int]]] | None = None
    """Returns start and end of all matches of the whole pattern that can be secrets, and perhaps of
    others, faster than the pattern does."""

    before: str = ""
    """Pattern of what must precede the match, up to its start and within `before_bytes`."""

    before_bytes: int = 120

    @property
    def recipe(self) -> tuple[str | bytes, ...]:
        """Everything that determines what the rule redacts.

        Functions are included by their names: after a renaming, all archives are read again.
        """
        starts = "starts word" if self.starts_word else ""
        return (
            self.name,
            self.pattern,
            self.skip,
            self.plausible.__qualname__,
            starts,
            self.reversed_prefix,
            f"{self.before_bytes} {self.before}",
            self.locate.__qualname__ if self.locate is not None else "",
            self.may_be_secret.__qualname__ if self.may_be_secret is not None else "",
        )

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        pattern = f"{self.pattern}|{self.skip}" if self.skip else self.pattern
        return re.compile(_with_short_runs(pattern).encode())

    def is_preceded(self, data: bytes, start: int) -> bool:
        """Return whether what precedes a match that starts at `start` allows it."""
        if not self.before:
            return True
        return (
            self.compiled_before.search(data[max(0, start - self.before_bytes) : start]) is not None
        )

    @cached_property
    def compiled_before(self) -> re.Pattern[bytes]:
        return re.compile(_with_short_runs(rf"(?:{self.before})\Z").encode())

    @cached_property
    def compiled_prefix(self) -> re.Pattern[bytes]:
        return re.compile(self.reversed_prefix)


def _with_short_runs(pattern: str) -> str:
    """Return the pattern with a limit for each run of spaces and of backslashes.

    Several runs of any length in a row can be split in many ways: the time for a long line of them
    after a keyword would grow with the square of its length.
    """
    return _RUN.sub(lambda run: f"{run[1]}{{{int(run[2] == '+')},{_MAX_RUN}}}", pattern)


_RUN = re.compile(r"(\[ \\t\]|\\\\)([*+])(?![*+?])")
_MAX_RUN = 40
"""Spaces between two words, as in the columns of a table; JSON in JSON five times has 31
backslashes before a quote."""
